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
    ERR_DEVICE,      /* no NVIDIA driver, a GPU is missing, lost, or can't be measured */
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

/* Sets kind and text; the text is cut, never overrun. Returns false, so that `return err_set(...)` reads well. `e` may
 * be null. O(length). */
bool err_set(struct err *e, enum err_kind kind, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* As err_set, with ": " and the text of errno `number` at the end. */
bool err_set_errno(struct err *e, enum err_kind kind, int number, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Puts "prefix: " before the text already there; the kind stays. Returns false. */
bool err_prefix(struct err *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
