/* A result for people (text) and for spreadsheets (CSV). Pure: the same result gives the same bytes.
 *
 * What is absent shows its state ("not recorded"), never 0 and never a blank. Numbers in the text are rounded to what
 * their uncertainty supports (report/number.h); the CSV has them in full. JSON is result.json itself. */
#ifndef JTOK_REPORT_REPORT_H
#define JTOK_REPORT_REPORT_H

#include <stdbool.h>
#include "base/buf.h"
#include "model/result.h"

enum { REPORT_COLUMNS = 100, SCREEN_COLUMNS = 80, SCREEN_LINES = 40 };

struct report_options {
    bool colour;     /* ANSI escapes; for a terminal */
    bool unsealed;   /* nothing proves that the result is what the run gave: said first */
    const char *run; /* what the reader calls the run's folder; null: by its id */
};

/* What a reader needs of one run, within SCREEN_COLUMNS and SCREEN_LINES whatever the result holds: the same lines in
 * the same order for every run. First FORMAL, VALID (every check passed, but analysed under other rules than the
 * method's) or EXCLUDED with its reason; then J/token with its ±. What must not be used (all numbers of an excluded
 * run) is in brackets. No word that METHOD must explain: the phrases are in report/words.h. */
void report_screen(const struct result *r, const struct report_options *options, struct buf *out);

/* All of it, for a terminal of at least REPORT_COLUMNS: every metric, every stage by every instrument, steady state
 * under each rule, estimate, release, and each check with the numbers behind it. */
void report_full(const struct result *r, const struct report_options *options, struct buf *out);

/* Every check and flag with its outcome and the numbers behind it: what excludes first. */
void report_checks(const struct result *r, const struct report_options *options, struct buf *out);

/* One line a value: metric (its path in result.json; a list's items by their name), unit, value, state, why,
 * instrument, calibration. The first columns are those of result.json's tables, so the two never differ. */
void report_csv(const struct result *r, struct buf *out);

#endif
