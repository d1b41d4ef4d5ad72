/* Runs the program itself for the end-to-end tests: a real process with its own scratch folder and simulated GPU state.
 */
#ifndef JTOK_TESTS_PROGRAM_HARNESS_H
#define JTOK_TESTS_PROGRAM_HARNESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/arena.h"
#include "model/record.h"
#include "model/result.h"

struct life {
    char scratch[128]; /* own folder below $TMPDIR */
    char state[160];   /* its simulated GPU state file */
    char runs[160];
    pid_t pid;
    int code;         /* exit code, or 128 + signal */
    char *out, *err;  /* what it printed, NUL-terminated; valid after life_wait */
    char folder[512]; /* of the run: the first line of stdout; "" without one */
    struct arena arena;
};

void life_open(struct life *l);
void life_close(struct life *l); /* removes the scratch folder */

/* Starts the program with these arguments (null-terminated, without argv[0]); "RUNS" is replaced by the runs folder.
 * env: null-terminated "NAME=value" besides this process's own and JTOK_SIM_STATE; may be null. */
void life_start(struct life *l, const char *const *arguments, const char *const *env);

/* A file in the scratch folder. */
void life_file(struct life *l, const char *name, const char *text);

/* A whole plan on the simulation, as a file; its path. `engine_options` ends the engine's command (", --x, '1'"),
 * `more` is further YAML, as life_requests gives it: three short prompts, `more` inside the braces. The method's times
 * are shortened. */
const char *life_plan(struct life *l, const char *engine_options, const char *more);
const char *life_requests(struct life *l, const char *more);

/* Waits until stderr holds `text`; fails the test after `limit_s` or when the process ends first. */
void life_wait_for(struct life *l, const char *text, double limit_s);
void life_signal(struct life *l, int number);

/* Waits for the end; fails the test after `limit_s`. Returns the exit code. */
int life_wait(struct life *l, double limit_s);

/* All of it: start and wait. */
int life_run(struct life *l, const char *const *arguments, const char *const *env, double limit_s);

/* The records of l->folder, in l->arena. */
struct records *life_records(struct life *l);
struct result *life_result(struct life *l); /* result.json */

/* What the engine says of the life's only load, or of a load, is what its clients saw: the same number of requests, and
 * times that differ by what lies between two sockets of one machine. */
void life_check_engine(const struct result_engine *x, int64_t requests);

/* CLOCK_MONOTONIC of the run's begin, from its clock pairs. */
int64_t life_origin_ns(const struct records *r);

/* Processes that carry this life's state file in their environment: what a run left behind. */
int life_survivors(const struct life *l);

/* Runs one more command of the program ("analyze", folder) and gives its exit code; output in l->out, l->err. */
int life_also(struct life *l, const char *const *arguments);

#endif
