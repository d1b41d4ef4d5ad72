/* The bytes of an answer, shaped as vLLM 0.24.0 sends them: one function an event. No sockets, no clock. */
#ifndef JTOK_SIM_ENGINE_WIRE_H
#define JTOK_SIM_ENGINE_WIRE_H

#include <stdbool.h>
#include <stdint.h>
#include "ask.h"
#include "base/buf.h"
#include "options.h"

/* The last chunk's system_fingerprint, as an engine writes it: version and a digest of its configuration. */
#define WIRE_VERSION     "0.24.0-simulated"
#define WIRE_FINGERPRINT "vllm-" WIRE_VERSION "-51a7ed0c"

struct answer {
    const struct options *options;
    struct ask ask;
    uint64_t hash; /* of prompt and seed: decides text and length */
    uint64_t id;
    int64_t created_s; /* of the epoch */
    int64_t total_tokens;
    int64_t reasoning_tokens; /* the first of them */
    bool stopped;             /* finish reason stop, else length */
    bool no_usage;            /* a fault */
};

/* Decides length, reasoning part and finish reason from the request and the seed. */
void answer_init(struct answer *a, const struct options *o, const struct ask *ask, uint64_t id, int64_t created_s);

/* Events, appended to b without their HTTP chunk frame. Tokens of an event are [from, to) of the answer; the one that
 * ends at total_tokens carries the finish reason. */
void answer_role(const struct answer *a, struct buf *b);
void answer_tokens(const struct answer *a, int64_t from, int64_t to, struct buf *b);
void answer_usage(const struct answer *a, struct buf *b);
void answer_done(struct buf *b);

/* The object of a request that is not streamed, whole. */
void answer_whole(const struct answer *a, struct buf *b);

/* A string's content between quotes, escaped as JSON. */
void wire_text(struct buf *b, const char *text);

#endif
