#include "store/trace.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/arena.h"
#include "base/must.h"
#include "base/num.h"
#include "base/utf8.h"
#include "text/csv.h"
#include "text/file_read.h"

enum { COLUMNS_MAX = 64, SHOWN = 40 };
static const uint64_t file_max = UINT64_C(8) << 30;
static const double longest_s = 1e9;

static const struct time_column {
    const char *name;
    double unit_s;
} columns[] = {
    {"t_s", 1},     {"time_s", 1},     {"arrival_s", 1},       {"time", 1}, {"timestamp", 1}, {"arrived_at", 1},
    {"t_ms", 1e-3}, {"time_ms", 1e-3}, {"timestamp_ms", 1e-3},
};

struct trace_reader {
    const char *name;
    size_t column, column_count;
    double unit_s;
    struct trace trace;
    size_t capacity;
    double first_s, last_s;
    size_t line;
    char shown[2 * SHOWN + 4];
};

/* ---- dates ---- */

static bool take_digits(struct span *s, int n, int *ret_value)
{
    int value = 0;
    if (s->n < (size_t)n)
        return false;
    for (int i = 0; i < n; i++) {
        if (!isdigit((unsigned char)s->p[i]))
            return false;
        value = 10 * value + (s->p[i] - '0');
    }
    *s = (struct span){s->p + n, s->n - (size_t)n};
    *ret_value = value;
    return true;
}

static bool take_one(struct span *s, const char *of)
{
    if (!s->n || !strchr(of, *s->p))
        return false;
    *s = (struct span){s->p + 1, s->n - 1};
    return true;
}

/* Days from 1970-01-01 in the Gregorian calendar, counted in years that begin in March. */
static double days_of(int year, int month, int day)
{
    year -= month <= 2;
    int era = year / 400, of_era = year % 400;
    int of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    int leap_days = of_era / 4 - of_era / 100;
    return (double)era * 146097 + of_era * 365 + leap_days + of_year - 719468;
}

static bool date_s(struct span s, double *ret_s)
{
    int year, month, day, hour, minute, second;
    if (!take_digits(&s, 4, &year) || !take_one(&s, "-") || !take_digits(&s, 2, &month) || !take_one(&s, "-") ||
        !take_digits(&s, 2, &day) || !take_one(&s, " T") || !take_digits(&s, 2, &hour) || !take_one(&s, ":") ||
        !take_digits(&s, 2, &minute) || !take_one(&s, ":") || !take_digits(&s, 2, &second))
        return false;
    double fraction = 0, step = 0.1;
    if (take_one(&s, "."))
        for (int digit; take_digits(&s, 1, &digit); step /= 10)
            fraction += step * digit;
    take_one(&s, "Z");
    if (s.n || month < 1 || month > 12 || day < 1 || day > 31 || hour > 24 || minute > 59 || second > 60)
        return false;
    *ret_s = days_of(year, month, day) * 86400 + hour * 3600 + minute * 60 + second + fraction;
    return true;
}

/* ---- records ---- */

static const char *shown(struct trace_reader *r, struct span field)
{
    utf8_ascii((struct span){field.p, field.n < SHOWN ? field.n : SHOWN}, r->shown, sizeof r->shown);
    return r->shown;
}

static bool time_of(const struct trace_reader *r, struct span field, double *ret_s)
{
    double value;
    if (date_s(field, ret_s))
        return true;
    if (!num_f64(field, &value))
        return false;
    *ret_s = value * r->unit_s;
    return true;
}

static bool take_time(struct trace_reader *r, struct span field, double scale, struct err *e)
{
    double s;
    if (!time_of(r, field, &s))
        return err_set(e, ERR_PLAN, "%s:%zu: \"%s\" is not a time. Give seconds, or a date and time.", r->name, r->line,
                       shown(r, field));
    struct trace *t = &r->trace;
    if (t->count == 0)
        r->first_s = r->last_s = s;
    if (s < r->last_s)
        return err_set(e, ERR_PLAN, "%s:%zu: The time %s is before the one of the line above. Sort the file by time.",
                       r->name, r->line, shown(r, field));
    double from_start = (s - r->first_s) * scale;
    if (!(from_start <= longest_s))
        return err_set(e, ERR_PLAN, "%s:%zu: The time %s is over 30 years after the first one. Correct it.", r->name,
                       r->line, shown(r, field));
    if (t->count == r->capacity) {
        r->capacity = r->capacity ? 2 * r->capacity : 1024;
        t->times_ns = mem_grow(t->times_ns, r->capacity, sizeof *t->times_ns);
    }
    t->times_ns[t->count++] = (int64_t)(from_start * 1e9 + 0.5);
    r->last_s = s;
    return true;
}

/* The first record: a header, or in a file of one column a time already. */
static bool take_head(struct trace_reader *r, const struct span *fields, size_t n, struct err *e)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < sizeof columns / sizeof *columns; k++)
            if (fields[i].n == strlen(columns[k].name) && strncasecmp(fields[i].p, columns[k].name, fields[i].n) == 0) {
                r->column = i;
                r->column_count = n;
                r->unit_s = columns[k].unit_s;
                return true;
            }
    return err_set(e, ERR_PLAN,
                   "%s:%zu: The file has no column of times. Name one of its columns t_s, time or timestamp (seconds), "
                   "or t_ms (milliseconds).",
                   r->name, r->line);
}

static bool take_record(struct trace_reader *r, struct span *fields, size_t n, double scale, struct err *e)
{
    for (size_t i = 0; i < n; i++)
        fields[i] = span_trim(fields[i]);
    bool headless = r->column_count == 0 && n == 1;
    double ignored;
    if (r->column_count == 0 && !(headless && time_of(r, fields[0], &ignored)))
        return take_head(r, fields, n, e);
    if (headless)
        r->column_count = 1;
    if (n != r->column_count)
        return err_set(e, ERR_PLAN, "%s:%zu: The line has %zu columns, but the first has %zu.", r->name, r->line, n,
                       r->column_count);
    return take_time(r, fields[r->column], scale, e);
}

bool trace_read(struct span text, const char *name, double scale, struct trace *ret_trace, struct err *e)
{
    must(name && scale > 0);
    struct trace_reader r = {.name = name, .unit_s = 1};
    struct buf whole = {0};
    buf_add(&whole, text.p, text.n);
    if (whole.n && whole.p[whole.n - 1] != '\n')
        buf_byte(&whole, '\n');
    struct csv c;
    csv_init(&c, buf_span(&whole));
    struct span fields[COLUMNS_MAX + 1];
    bool good = true;
    for (size_t n; good && (n = csv_next(&c, fields, COLUMNS_MAX)) > 0;) {
        r.line = c.line;
        if (n == 1 && span_trim(fields[0]).n == 0) /* an empty line */
            continue;
        if (n > COLUMNS_MAX)
            good = err_set(e, ERR_PLAN, "%s:%zu: The line has over %d columns.", name, r.line, (int)COLUMNS_MAX);
        else
            good = take_record(&r, fields, n, scale, e);
    }
    buf_done(&whole);
    if (good && r.trace.count == 0)
        good = err_set(e, ERR_PLAN, "%s has no times. Give one a line, in seconds.", name);
    if (good)
        *ret_trace = r.trace;
    else
        free(r.trace.times_ns);
    return good;
}

bool trace_load(const char *path, double scale, int stop_fd, struct trace *ret_trace, struct err *e)
{
    struct buf text = {0};
    char sha256[DIGEST_HEX];
    bool good = file_read_input(path, file_max, stop_fd, &text, sha256, e) &&
                trace_read(buf_span(&text), path, scale, ret_trace, e);
    if (good)
        memcpy(ret_trace->sha256, sha256, sizeof sha256);
    buf_done(&text);
    return good;
}

void trace_done(struct trace *t)
{
    free(t->times_ns);
    *t = (struct trace){0};
}
