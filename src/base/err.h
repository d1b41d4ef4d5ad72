/* Errors as values.
 *
 * A function that can fail returns bool and takes `struct err *` last but for its `ret_*` parameters, which stay
 * untouched on failure. The text is a full sentence for a person: what failed, where (file, line, GPU, request), the
 * value seen, and what to do. Library code neither prints nor exits; a command prints the text once and maps the kind
 * to an exit code. */
#ifndef JTOK_BASE_ERR_H
#define JTOK_BASE_ERR_H

#include <stdbool.h>

enum err_kind {
    ERR_NONE,
    ERR_USAGE,       /* the command line is wrong */
    ERR_PLAN,        /* the plan or the request set is wrong */
    ERR_SYSTEM,      /* the operating system refused: file, memory, limit, full disk */
    ERR_DEVICE,      /* no GPU driver; a GPU is missing, lost, or can't be measured */
    ERR_BUSY,        /* the machine isn't in a normal state: GPU in use, port taken, no idle baseline */
    ERR_ENGINE,      /* the engine did not start, get ready, or is not what the plan says */
    ERR_RECORDS,     /* a run folder is damaged, unreadable or inconsistent */
    ERR_REFUSED,     /* the method forbids it: a comparison of runs that are no pair, for example */
    ERR_INTERRUPTED, /* the user stopped it */
    ERR_INTERNAL,    /* a fault in jtok */
};

struct err {
    enum err_kind kind;
    char text[2000];
};

/* The value of the three below: false. */
static inline bool err_is_set(void)
{
    return false;
}

/* Sets kind and text, a full sentence; the text is cut, never overrun. Its value is false, so that `return
 * err_set(...)` reads well; as a macro, so that the compiler and the analyzers see that the caller has failed. `e` may
 * be null. O(length). */
#define err_set(e, kind, ...) (err_put(e, kind, __VA_ARGS__), err_is_set())

/* The same; ": ", the text of errno `number` and a full stop follow the format's text. */
#define err_set_errno(e, kind, number, ...) (err_put_errno(e, kind, number, __VA_ARGS__), err_is_set())

/* Puts "prefix: " before the text already there; the kind stays. Its value is false. */
#define err_prefix(e, ...) (err_put_prefix(e, __VA_ARGS__), err_is_set())

void err_put(struct err *e, enum err_kind kind, const char *format, ...) __attribute__((format(printf, 3, 4)));
void err_put_errno(struct err *e, enum err_kind kind, int number, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void err_put_prefix(struct err *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
