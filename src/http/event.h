/* What one event of a stream says: a pure reading of its JSON, in one pass, without allocation (private to http).
 *
 * Duplicate keys: the last one counts, whatever stood before it is forgotten, at every level. Values of an unexpected
 * type are read over. */
#ifndef JTOK_HTTP_EVENT_H
#define JTOK_HTTP_EVENT_H

#include <stdbool.h>
#include <stdint.h>
#include "base/buf.h"
#include "base/span.h"

enum usage_count { USAGE_COUNT_MISSING, USAGE_COUNT_NULL, USAGE_COUNT_INTEGER, USAGE_COUNT_OTHER };

struct event_usage {
    bool present; /* a non-null `usage` */
    enum usage_count count_kind;
    int64_t count;                     /* completion_tokens, with USAGE_COUNT_INTEGER */
    int64_t prompt, reasoning, cached; /* ABSENT_I64 */
};

struct event_choices {
    bool any;                    /* `choices` isn't empty */
    bool role;                   /* some delta names a role */
    uint64_t visible, reasoning; /* UTF-8 bytes of output */
    bool finished;               /* some finish reason that isn't null or "" */
    bool failed;                 /* one of them is "abort" or "error", in whichever choice */
    struct span finish;          /* the last such reason, where one failed that one; as it stands between its quotes */
};

struct event_said {
    struct event_choices choices;
    struct event_usage usage;
    struct span fingerprint; /* system_fingerprint, as it stands between its quotes; null or not said: empty */
    bool error;              /* a non-null, non-empty top-level `error` (object or string), or "object":"error" */
    const char *fault;       /* when event_read failed: what is wrong with the JSON, a phrase */
    size_t fault_at;         /* and after how many bytes */
};

/* False where `text` isn't one JSON object (RFC 8259, depth 64). O(bytes). */
bool event_read(struct span text, struct event_said *ret_said);

/* Appends what an error's JSON says for people (error.message, error as a string, message, detail), decoded; nothing
 * where there is none. */
void event_error_text(struct span text, struct buf *b);

#endif
