/* A service that runs already, for the tests of `jtok attach` and `jtok watch`: a simulated engine that the test
 * starts, and its users. */
#ifndef JTOK_TESTS_PROGRAM_SITE_H
#define JTOK_TESTS_PROGRAM_SITE_H

#include "program/harness.h"

#define ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define LIBRARY   "power.library=" JTOK_BIN "/libnvidia-ml.so.1"

enum { USERS = 4 };

struct site {
    struct life l;
    int port;
    char url[64];
    pid_t engine, users[USERS];
};

/* An engine with these options (null-terminated; null: none more), ready, and no user. */
void site_open(struct site *s, const char *const *engine);
void site_close(struct site *s);

void site_start_engine(struct site *s, const char *const *options);
void site_stop_engine(struct site *s);

/* Users that ask again and again, each for answers of another length. */
void site_start_users(struct site *s);
void site_stop_users(struct site *s);

/* GET of a path: the status, 0 without an answer. */
int site_status_of(int port, const char *path);

/* What the simulated GPUs really took over [from, to] of a run, J. */
double site_truth_j(const struct site *s, const struct records *r, int64_t from_ns, int64_t to_ns);

#endif
