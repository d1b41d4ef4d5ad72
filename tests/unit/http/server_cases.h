/* The cases of server.cases, whose head says how they are written. Anything wrong with the file ends the test with its
 * line. */
#ifndef JTOK_TESTS_SERVER_CASES_H
#define JTOK_TESTS_SERVER_CASES_H

#include "base/arena.h"
#include "base/span.h"
#include "model/record.h"

enum step_kind {
    STEP_SEND,   /* the bytes of `text` */
    STEP_CHUNK,  /* one HTTP chunk with these bytes */
    STEP_REPEAT, /* the bytes `n` times */
    STEP_WAIT,   /* n milliseconds */
    STEP_CLOSE,  /* in order */
    STEP_RESET,  /* RST */
    STEP_SHUT,   /* half-close: no more from the server, which goes on reading */
    STEP_SILENT, /* nothing more comes: the client's limit decides */
    STEP_END,    /* behind the last step: the server keeps the connection until the client closes */
};

struct step {
    enum step_kind kind;
    struct span text;
    int64_t n;
};

struct server_case {
    const char *name;
    const struct step *steps; /* up to one of kind CLOSE, RESET, SHUT, SILENT or END */
    enum verdict verdict;
    unsigned notes;     /* but NOTE_STAMP_MISSING, which depends on the socket */
    int64_t tokens;     /* completion_tokens; ABSENT_I64: none */
    int64_t chunks;     /* token chunks */
    const char *detail; /* must be part of it; null: any */
    int64_t max_tokens; /* sent; ABSENT_I64: none */
    int status;         /* -1: none */
};

struct server_cases {
    struct arena arena;
    struct server_case *list;
    size_t n;
};

/* The cases of one part of the file, in its order. */
void server_cases_load(struct server_cases *ret_cases, const char *part);
void server_cases_done(struct server_cases *c);

/* The case of that name, which must be there. */
const struct server_case *server_case_named(const struct server_cases *c, const char *name);

/* Is this what the case expects? Prints what is not. `how` says what was done to it. */
bool server_case_is_met(const struct server_case *c, const struct rec_request *r, const char *how);

#endif
