/* JSON reader: a pull reader over one span (RFC 8259), strict, bounded depth, no allocation.
 *
 * Strict: no comments, no trailing commas, no NaN or infinities, one value and nothing but white space behind it. By
 * METHOD section 4: depth 64 (the outermost container is 1; a number or string inside does not nest); duplicate keys
 * reach the caller in order (the last wins); invalid UTF-8, lone surrogates and \u0000 inside strings are kept as
 * bytes, never refused.
 *
 *     struct json j;
 *     json_init(&j, text);
 *     for (enum json_kind k; (k = json_next(&j)) != JSON_END;) { if (k == JSON_ERROR) ...; }
 *
 * Within an object, tokens alternate JSON_KEY and value. O(bytes) over a whole document. */
#ifndef JTOK_TEXT_JSON_H
#define JTOK_TEXT_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/buf.h"
#include "base/span.h"

enum { JSON_DEPTH_MAX = 64 };

enum json_kind {
    JSON_ERROR, /* and for ever after; see fault and json_error_offset */
    JSON_END,   /* the whole value was read */
    JSON_OBJECT,
    JSON_OBJECT_END,
    JSON_ARRAY,
    JSON_ARRAY_END,
    JSON_KEY,
    JSON_STRING,
    JSON_NUMBER,
    JSON_TRUE,
    JSON_FALSE,
    JSON_NULL,
};

struct json {
    const char *start, *at, *end;
    enum json_kind kind; /* the token just read */
    struct span raw; /* of KEY and STRING: the bytes between the quotes, escapes as they stand; of NUMBER: its text */
    bool escaped;    /* raw holds at least one backslash */
    uint8_t depth;   /* containers open now */
    uint8_t expect;  /* private */
    uint64_t is_object; /* private: one bit a level */
    const char *fault;  /* after JSON_ERROR: what is wrong, a phrase ("a comma without a value") */
};

void json_init(struct json *j, struct span text);

/* The next token. */
enum json_kind json_next(struct json *j);

/* Skips the value that comes next (after a JSON_KEY, or an array element), or, when the token just read opened a
 * container, the rest of that container. Returns JSON_ERROR on a fault, else anything else. */
enum json_kind json_skip(struct json *j);

/* Number of bytes before the token that failed; with `fault`, enough for an error message. */
size_t json_error_offset(const struct json *j);

/* Is the KEY or STRING just read equal to `text`? Escapes are decoded on the way; no copy. */
static inline bool json_is(const struct json *j, const char *text) __attribute__((always_inline));

/* The decoded bytes of the KEY or STRING just read, appended to b (surrogate pairs joined, lone surrogates as their
 * three bytes, \u0000 as a zero byte). */
void json_text(const struct json *j, struct buf *b);

/* Bytes of the KEY or STRING just read before its first lone surrogate (an escape \ud800 to \udfff without its other
 * half, which stands for no character); raw.n where there is none. */
size_t json_lone_surrogate(const struct json *j);

/* The value of an object's last member of that name, as it stands; an empty span where there is none, or no object.
 * O(bytes). */
struct span json_member(struct span object, struct span name);

/* The same as a text of the arena. */
const char *json_copy(const struct json *j, struct arena *a);

/* Length in bytes of what json_text would append, without decoding. */
size_t json_text_length(const struct json *j);

/* The NUMBER just read as an integer; 5.0 and 5e0 are integers. False when it isn't one or out of int64 range. */
bool json_i64(const struct json *j, int64_t *ret_value);
bool json_f64(const struct json *j, double *ret_value);

/* The first byte from p on that can't stand for itself inside a string (a quote, a backslash, a control character), or
 * end. */
const char *json_plain_end(const char *p, const char *end);

bool json_is_decoded(const struct json *j, const char *text); /* for json_is */

/* In the header, so that a constant text costs a comparison of lengths. */
static inline bool json_is(const struct json *j, const char *text)
{
    return j->escaped ? json_is_decoded(j, text) : span_is(j->raw, text);
}

/* JSON writer: appends to a buffer, commas and (with indent > 0) line breaks in the right places. Keys come out in the
 * order given. Assertion failure on misuse (a value where a key belongs). */
struct json_writer {
    struct buf *out;
    int indent;                   /* spaces a level; 0: one line */
    int depth;                    /* private */
    uint64_t nonempty, is_object; /* private: one bit a level */
    bool after_key, complete;     /* private */
};

void json_writer_init(struct json_writer *w, struct buf *out, int indent);
void json_put_object(struct json_writer *w);
void json_put_object_end(struct json_writer *w);
void json_put_array(struct json_writer *w);
void json_put_array_end(struct json_writer *w);
void json_put_key(struct json_writer *w, const char *key);
/* Invalid UTF-8 becomes U+FFFD; what is unsafe to show (base/utf8.h) is escaped. */
void json_put_string(struct json_writer *w, struct span text);
void json_put_text(struct json_writer *w, const char *text); /* null pointer: null */
void json_put_i64(struct json_writer *w, int64_t value);
void json_put_f64(struct json_writer *w, double value); /* NaN: null; infinities are an assertion failure */
void json_put_bool(struct json_writer *w, bool value);
void json_put_null(struct json_writer *w);
void json_put_raw(struct json_writer *w, struct span json); /* a whole value, already JSON */

/* Appends a JSON document as it stands but for what is unsafe to show, which can only be inside its strings and is
 * escaped there: the same values. Invalid UTF-8 becomes U+FFFD. O(bytes). */
void json_show(struct buf *out, struct span document);

#endif
