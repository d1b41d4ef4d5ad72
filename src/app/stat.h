/* `jtok stat`: runs a command, once or several times, and says what it took (METHOD section 11, "Any command"). Prints
 * nothing. */
#ifndef JTOK_APP_STAT_H
#define JTOK_APP_STAT_H

#include "analysis/compare_same.h"
#include "analysis/stat.h"
#include "base/err.h"
#include "model/plan.h"

enum { STAT_REPEAT_MAX = 1000 };

struct stat_request {
    const struct plan *plan; /* GPUs and power; the rest is filled in here */
    char **command;          /* null-terminated, at least one word */
    double idle_s;
    int64_t repeat;   /* 1 to STAT_REPEAT_MAX */
    const char *keep; /* folder that the runs' folders are made in and stay in; null: a scratch folder, removed */
};

struct stat_report {
    struct stat_result result; /* run_count 0: no run has records */
    bool started;              /* the command, at least once */
    int64_t status; /* the command's: of the first run whose status is not 0, else 0; 126 or 127 where it can't be
                       started; ABSENT_I64: it was not come to */
    bool interrupted;
    struct err failure; /* kind ERR_NONE: none. What went wrong first, of jtok's own or in the start of the command */
};

/* Runs it as often as is asked for; fewer times after a failure or a signal. Each run is evaluated from its records
 * alone. Call from a process without threads. Everything lives in the arena. */
struct stat_report stat_measure(const struct stat_request *o, struct arena *a);

/* What a kept folder's records say, as the result of a single run. ERR_RECORDS. */
bool stat_read(const char *folder, struct arena *a, struct stat_result *ret_result, struct err *e);

/* The same as one run of a comparison, with its plan, run and exit status; the seal must be there and hold.
 * ERR_RECORDS. O(records). */
bool stat_read_run(const char *folder, struct arena *a, struct compare_run *ret_run, struct err *e);

/* Does the folder hold the run of a command? False also where its plan can't be read. */
bool stat_is_recorded(const char *folder, struct arena *a);

#endif
