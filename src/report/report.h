/* A result for people (text) and for spreadsheets (CSV). Pure: the same result gives the same bytes.
 *
 * What is absent shows its state and reason alike in both ("not recorded: ..."), never 0 and never a blank. Numbers in
 * the text are rounded to what their uncertainty supports (report/number.h); the CSV has them in full. JSON is
 * result.json itself (store/fields_json.h). */
#ifndef JTOK_REPORT_REPORT_H
#define JTOK_REPORT_REPORT_H

#include <stdbool.h>
#include "base/buf.h"
#include "model/result.h"

enum { REPORT_COLUMNS = 100 };

/* For a terminal of at least 100 columns. Leads with what can be trusted: simulated or not, formal or excluded with its
 * reasons, marks, the analysis' differences from the method; then the metrics, latencies, requests, every stage by
 * every series, steady state for each reading and K, saturation and delivery, the estimate, the release, and each check
 * with the numbers behind it. `colour`: with ANSI escapes. */
void report_full(const struct result *r, bool colour, struct buf *out);

/* One line a value: metric (its path in result.json; a list's items by their name), unit, value, state, why,
 * instrument, calibration. The first columns are those of result.json's tables, so the two never differ. */
void report_csv(const struct result *r, struct buf *out);

/* The header line of report_csv. */
void report_csv_header(struct buf *out);

/* Any object of a schema, as report_csv writes a result: rows without the header line; `prefix` goes before each path.
 */
void report_csv_rows(const struct schema *s, const void *object, const char *prefix, struct buf *out);

#endif
