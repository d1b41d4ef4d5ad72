/* Shared by the parts of verification; private to src/analysis/verify*.c. */
#ifndef JTOK_ANALYSIS_VERIFY_INTERNAL_H
#define JTOK_ANALYSIS_VERIFY_INTERNAL_H

#include <math.h>
#include "analysis/verify.h"
#include "model/limits.h"

/* Of a flag that has no number behind it, or no limit; of a count that is not known. */
#define NO_NUMBER ((double)NAN)

struct verify {
    const struct records *r;
    const struct method *m;
    struct arena *a;
    const struct result *result;
    struct result_check *checks; /* to be filled, by code */
    struct result_flag *flags;
};

/* Decides a check or a flag: the outcome, and a sentence of what was compared and seen. */
void verify_set(struct verify *v, enum check_code code, enum check_outcome outcome, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void verify_flag(struct verify *v, enum flag_code code, enum check_outcome outcome, double value, double limit,
                 const char *format, ...) __attribute__((format(printf, 6, 7)));
/* One without a number. */
void verify_flag_bare(struct verify *v, enum flag_code code, enum check_outcome outcome, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The facts of one group ("plan", "gpu" ...), counted by outcome; `failed` and `open` describe those that failed and
 * those that were not recorded or not checked: "identity.model is "b" where "a" was expected; ...". Null: none. */
struct fact_group {
    size_t count, by_outcome[CHECK_OUTCOME_COUNT];
    const char *failed, *open;
    const char *unstated, *unjudged; /* names of those that the plan does not state, or that can't be seen */
};
struct fact_group verify_facts(struct verify *v, const char *group);

/* Seconds of a time since the run began; NaN for ABSENT_I64. */
double verify_seconds(int64_t t_ns);

/* "GPU 0 (GPU-1a2b3c4d)": how sentences name a GPU. */
const char *verify_gpu_name(struct verify *v, size_t gpu);

/* Does the engine hold memory on a GPU while it serves? 1: yes, 0: no, -1: the records don't tell. */
int verify_holds_memory(const struct verify *v, size_t gpu);

/* The parts, each filling the checks and flags that its comment in its file names. */
void verify_setup(struct verify *v);
void verify_energy(struct verify *v);
void verify_requests(struct verify *v);
void verify_sequence(struct verify *v);
void verify_flags(struct verify *v);

#endif
