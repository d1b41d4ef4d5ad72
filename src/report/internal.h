/* Shared by the parts of the text report; private to src/report. */
#ifndef JTOK_REPORT_INTERNAL_H
#define JTOK_REPORT_INTERNAL_H

#include "report/number.h"
#include "report/report.h"
#include "report/table.h"

/* Where in the text a terminal's colours change. They are kept apart until the text has been made fit to be shown. */
struct report_escape {
    size_t at;
    const char *code;
};

struct report {
    const struct result *r;
    struct buf *out; /* &text */
    struct buf text; /* as it stands in the result: made fit to be shown at the end */
    struct arena arena;
    struct report_escape *escapes; /* in order of `at` */
    size_t escape_count, escape_capacity;
};

void report_init(struct report *p, const struct result *r);

/* Says of a folder without a seal that it has none. */
void report_seal(struct report *p, const struct report_options *options);

/* Appends the text, made fit to be shown, and releases it. */
void report_done(struct report *p, bool colour, struct buf *out);

enum report_look { LOOK_HEADING, LOOK_GOOD, LOOK_BAD, LOOK_MARK, LOOK_FAINT };

/* `text` in a look, where colours are wanted. */
void report_look(struct report *p, enum report_look look, const char *text);

/* An empty line and a heading. */
void report_heading(struct report *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "    name   text", the text wrapped behind column `indent`. */
void report_item(struct report *p, size_t left, size_t indent, const char *name, const char *text);

/* A sentence of its own, wrapped. */
void report_line(struct report *p, const char *text);

/* `text` in one line fit to be shown (names come from servers and files); `absent` where it is null or empty. */
const char *report_or(struct report *p, const char *text, const char *absent);

/* A quantity in a table's cell: the number, or the state in words. */
const char *report_cell(struct report *p, const struct quantity *q);

/* "+0.05 %" of a share; or the state in words. */
const char *report_percent(struct report *p, const struct quantity *q, bool sign);

/* Below a table: "names: state: why" for the quantities that are not simply measured, each reason once. */
void report_reasons(struct report *p, const struct quantity *const *list, const char *const *names, size_t n);

/* A table's first row; `names` ends with null. */
void full_head_row(struct table *t, const char *const *names);

/* "26.43", or "not recorded" for NaN. */
const char *full_seconds(struct report *p, double s);

/* "  name   text": one line of a section. */
void full_item(struct report *p, const char *name, const char *text);

/* A row of a table of percentiles: name, unit (null: the table has no such column), mean, P50, P90, P95, P99, max and
 * their number. What has no median has no row. */
void full_percentiles(struct report *p, struct table *t, const char *name, const char *unit, double scale,
                      const struct percentiles *x);

/* The sections of the whole report. */
void full_trust(struct report *p);
void full_stages(struct report *p);
void full_loads(struct report *p);
void full_latencies(struct report *p);
void full_requests(struct report *p);
void full_steady(struct report *p);
void full_delivery(struct report *p);
void full_estimate(struct report *p);
void full_engine(struct report *p, const struct result_engine *x); /* without a heading */
void full_gpus(struct report *p);
void full_identity(struct report *p);
void full_checks(struct report *p);

#endif
