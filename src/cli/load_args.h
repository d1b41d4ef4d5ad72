/* Loads on the command line (METHOD section 11): which ones, how long, and what a good request keeps. */
#ifndef JTOK_CLI_LOAD_ARGS_H
#define JTOK_CLI_LOAD_ARGS_H

#include <stdbool.h>
#include "base/arena.h"
#include "base/err.h"
#include "base/span.h"
#include "model/plan.h"

struct load_choices {
    int64_t concurrency;
    double rate;
    enum arrival_kind arrivals; /* absent: not given, as all of these */
    double burstiness;
    const char *trace, *loads, *how_long, *slo;
};

/* Rows for a struct of options with a member `load` (for .c files with schema/table.h). */
#define LOAD_OPTIONS(options)                                                                                          \
    {"--concurrency", 0, "N",                                                                                          \
     .field = I64_AS("concurrency", options, load.concurrency,                                                         \
                     "Keep N requests in flight: the next one is sent as one ends.", RANGE(1, 1e6))},                  \
        {"--rate", 0, "R",                                                                                             \
         .field = F64_AS("rate", options, load.rate, "Send R requests a second, without waiting for answers.",         \
                         RANGE(1e-6, 1e6))},                                                                           \
        {"--arrivals", 0, "KIND",                                                                                      \
         .field = {.key = "arrivals",                                                                                  \
                   .type = FIELD_ENUM,                                                                                 \
                   .offset = OFFSET_OF_TYPE(options, load.arrivals, enum arrival_kind),                                \
                   .width = ENUM_WIDTH(arrival_kind),                                                                  \
                   .names = arrival_kind_names,                                                                        \
                   .doc = "With --rate: how requests come; poisson unless given."}},                                   \
        {"--burstiness", 0, "B",                                                                                       \
         .field = F64_AS("burstiness", options, load.burstiness,                                                       \
                         "With --rate: gamma arrivals of shape B; below 1 is burstier than Poisson, above 1 is more "  \
                         "even.",                                                                                      \
                         RANGE(1e-3, 1e6))},                                                                           \
        {"--trace", 0, "FILE",                                                                                         \
         .field = TEXT_AS("trace", options, load.trace,                                                                \
                          "Send requests at the times of a CSV file: a column t_s, time or timestamp in seconds or "   \
                          "dates, or t_ms in milliseconds.")},                                                         \
        {"--loads", 0, "LIST",                                                                                         \
         .field = TEXT_AS("loads", options, load.loads,                                                                \
                          "Several loads in one life, one after another: concurrency=1,8,64 or rate=1,2,4, also "      \
                          "mixed, and burst for all at once.")},                                                       \
        {"--for", 0, "TIME",                                                                                           \
         .field = TEXT_AS("for", options, load.how_long,                                                               \
                          "How long each load sends requests: 90s, 10m, 1h. With --count, whichever is first.")},      \
    {                                                                                                                  \
        "--slo", 0, "LIMITS",                                                                                          \
            .field = TEXT_AS("slo", options, load.slo,                                                                 \
                             "What a good request keeps, for goodput: ttft=2s,tpot=50ms,e2e=60s, or some of them.")    \
    }

/* Puts the choices into the plan: loads that are named replace the plan's. `counted`: requests.count is what --count
 * says, and is meant for each load where there are any. ERR_PLAN has all problems. Texts live in the arena. */
bool load_args_apply(const struct load_choices *o, bool counted, struct arena *a, struct plan *plan, struct err *e);

/* What --for says where it is the length of one window. ERR_PLAN: it is not a time. */
bool load_args_for(const char *text, double *ret_s, struct err *e);

/* "90", "90s", "1.5m", "2h", "50ms" in seconds. */
bool load_args_seconds(struct span text, double *ret_s);

#endif
