/* Parts of a result of which several steps of an analysis know something each. */
#ifndef JTOK_ANALYSIS_ASSEMBLE_H
#define JTOK_ANALYSIS_ASSEMBLE_H

#include "analysis/formal.h"
#include "analysis/lag.h"
#include "analysis/latency.h"
#include "analysis/release.h"
#include "analysis/split.h"
#include "analysis/windows.h"

/* Every GPU: the board, its fit, baseline, release and level; `levels` null: there was no formal stage. */
struct result_gpu *assemble_gpus(const struct records *r, const struct meters *m, const struct gpu_baseline *baseline,
                                 const struct gpu_release *release, const struct levels *levels, struct arena *a);

/* The release: what its end was, and what it took. */
struct result_release assemble_release(const struct release_verdict *v, struct quantity first_in_band_j);

/* Each rule: what it split, and how even its windows are. */
struct result_attribution assemble_attribution(const struct split *s, const struct windows *w, struct arena *a);

/* The rows of all requests, with their place in completion order and what each rule gave them. */
struct result_request *assemble_requests(const struct request_table *t, const struct formal *f, const struct split *s,
                                         const struct windows *w, struct arena *a);

#endif
