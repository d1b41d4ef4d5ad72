/* What commands print as text of what the use cases and the analysis give: pure functions, for a terminal of
 * REPORT_COLUMNS. */
#ifndef JTOK_CLI_TEXTS_H
#define JTOK_CLI_TEXTS_H

#include "analysis/analyze.h"
#include "analysis/compare.h"
#include "analysis/compare_rank.h"
#include "analysis/gate.h"
#include "analysis/stat.h"
#include "app/doctor.h"
#include "app/doctor_plan.h"
#include "app/identify.h"
#include "app/listing.h"
#include "app/prove.h"
#include "app/run_list.h"
#include "base/buf.h"

void text_comparison(const struct comparison *c, const struct run_list *a_side, const struct run_list *b_side,
                     struct arena *a, struct buf *out);
void text_gate(const struct gate *g, const struct run_list *base, const struct run_list *candidate, struct arena *a,
               struct buf *out);
void text_ranking(const struct ranked_runs *k, struct arena *a, struct buf *out);
void text_estimates(const struct result *r, const struct estimate *list, size_t n, struct arena *a, struct buf *out);
void text_listing(const struct listed_run *runs, size_t n, struct arena *a, struct buf *out);
void text_method(struct arena *a, struct buf *out);
void text_identification(const struct identification *d, struct arena *a, struct buf *out);
void text_doctor(const struct doctor *d, struct arena *a, struct buf *out);

/* What was looked at before a run, a line each, and how many of each kind; `margin` stands in front of each line. */
void text_preflight(const struct doctor_plan *d, const char *margin, struct buf *out);

/* A command's energy: a dozen lines for a single run. `kept`: the folder that its run folders are in; null: none is. */
void text_stat(const struct stat_result *x, const char *kept, struct arena *a, struct buf *out);

/* How long a run with loads takes, as comments behind its plan. `load_s`: how long each load sends, NaN where the
 * engine decides. */
void text_timetable(const struct plan *p, const double *load_s, struct arena *a, struct buf *out);

/* As much as was found out. */
void text_proof(const struct proof *p, const char *folder, struct arena *a, struct buf *out);

#endif
