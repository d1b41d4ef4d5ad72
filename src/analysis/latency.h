/* Times, counts and failures of the formal requests (METHOD section 4). */
#ifndef JTOK_ANALYSIS_LATENCY_H
#define JTOK_ANALYSIS_LATENCY_H

#include "analysis/series.h"
#include "analysis/tokens.h"
#include "model/result.h"

struct request_table {
    struct result_request *rows; /* of each request, in order of id */
    size_t n;
    int64_t nulled; /* requests with a time beside a clock step, which is absent then */
};

/* The times of each request; its place in completion order and its energies are absent. O(requests). */
struct request_table latency_table(const struct token_chains *s, const struct clock_line *clocks,
                                   int64_t formal_start_ns, struct arena *a);

/* One time of a request, for what takes several in the same way. */
double latency_tpot_s(const struct result_request *q);
double latency_e2e_s(const struct result_request *q);

/* The load as a whole. Expected O(chunks + requests log requests). */
struct result_load latency_load(const struct token_chains *s, const struct request_table *t,
                                const struct clock_line *clocks, struct quantity peak_concurrency, struct arena *a);

#endif
