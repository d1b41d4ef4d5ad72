/* The one-screen report: lines, rows, numbers that fit. */
#include <math.h>
#include <string.h>
#include "base/columns.h"
#include "base/must.h"
#include "base/utf8.h"
#include "report/screen.h"

enum { NAME_LEAST = 5 }; /* columns of a row's name that are left in any case */

/* ---- lines ---- */

void screen_line(struct screen *s, enum report_look look, size_t led, const char *text)
{
    must(text && led <= strlen(text) && s->lines < SCREEN_LINES);
    const char *shown = columns_cut(&s->p.arena, utf8_line(&s->p.arena, text), SCREEN_COLUMNS);
    size_t n = strlen(shown), lead = led < n ? led : n;
    while (n > lead && shown[n - 1] == ' ')
        n--;
    if (lead)
        report_look(&s->p, look, arena_copy(&s->p.arena, shown, lead));
    buf_add(s->p.out, shown + lead, n - lead);
    buf_byte(s->p.out, '\n');
    s->lines++;
}

void screen_text(struct screen *s, const char *text)
{
    screen_line(s, LOOK_FAINT, 0, text);
}

void screen_blank(struct screen *s)
{
    screen_text(s, "");
}

/* ---- tables whose rows may stand in brackets ---- */

void screen_table_init(struct screen *s, struct screen_table *table, const char *align, const char *const *names)
{
    must(s->p.out && names);
    *table = (struct screen_table){.n = 1};
    table_init(&table->t, &s->p.arena, align);
    for (; *names; names++)
        table_cell(&table->t, *names);
    table_end_row(&table->t);
}

void screen_cell(struct screen_table *table, const char *text)
{
    table_cell(&table->t, text);
}

void screen_row_end(struct screen_table *table, bool bracket)
{
    must(table->n > 0 && table->n < ROWS_MAX);
    table_end_row(&table->t);
    table->bracket[table->n++] = bracket;
}

static void put_plain(struct screen *s, struct span row, bool bracket, size_t widest, const char *strong)
{
    struct arena *a = &s->p.arena;
    const char *end = widest + 4 > SCREEN_COLUMNS ? "]" : " ]";
    const char *text = arena_format(a, "%c %.*s", bracket ? '[' : ' ', SPAN_ARG(row));
    if (bracket)
        text = arena_format(a, "%s%*s%s", text, (int)(widest - columns_count(row)), "", end);
    const char *until = strong ? strstr(text, strong) : NULL;
    screen_line(s, LOOK_HEADING, until ? (size_t)(until - text) + strlen(strong) : 0, text);
}

/* The heading stands at the edge, what is behind it in its columns. */
static void put_heading(struct screen *s, struct span row, const char *heading)
{
    size_t n = strlen(heading);
    must(row.n >= n && memcmp(row.p, heading, n) == 0);
    screen_line(s, LOOK_HEADING, n,
                arena_format(&s->p.arena, "%s%*s%.*s", heading, SCREEN_INDENT, "", (int)(row.n - n), row.p + n));
}

/* The rows as they stand in `b`; returns the columns of the widest. */
static size_t table_rows(const struct screen_table *table, struct buf *b, struct span *ret_list, size_t *ret_count)
{
    size_t widest = 0, n = 0;
    table_put(&table->t, b, 0);
    for (const char *at = buf_text(b); *at; at += ret_list[n++].n + 1) {
        must(n < table->n);
        ret_list[n] = (struct span){at, strcspn(at, "\n")};
        size_t columns = columns_count(ret_list[n]);
        widest = columns > widest ? columns : widest;
    }
    *ret_count = n;
    return widest;
}

size_t screen_table_columns(const struct screen_table *table)
{
    struct buf b = {0};
    struct span list[ROWS_MAX];
    size_t n, widest = table_rows(table, &b, list, &n);
    buf_done(&b);
    return widest + 2 * SCREEN_INDENT;
}

/* Cuts the names in the first column by so many columns: a number that is cut is another number. */
static void cut_names(struct screen *s, const struct screen_table *table, size_t excess)
{
    size_t longest = 0;
    for (size_t i = 0; i < table->t.count; i += table->t.columns) {
        size_t n = columns_text(table->t.cells[i]);
        longest = n > longest ? n : longest;
    }
    const size_t room = longest > excess + NAME_LEAST ? longest - excess : NAME_LEAST;
    for (size_t i = 0; i < table->t.count; i += table->t.columns)
        table->t.cells[i] = columns_cut(&s->p.arena, table->t.cells[i], room);
}

static bool has_brackets(const struct screen_table *table)
{
    for (size_t i = 0; i < table->n; i++)
        if (table->bracket[i])
            return true;
    return false;
}

void screen_table_put(struct screen *s, const struct screen_table *table, const char *heading, const char *strong)
{
    struct buf b = {0};
    struct span list[ROWS_MAX];
    size_t n, widest = table_rows(table, &b, list, &n);
    const size_t room = SCREEN_COLUMNS - SCREEN_INDENT - has_brackets(table); /* of which the last is for "]" */
    if (widest > room && table->t.align[0] == 'l') {
        cut_names(s, table, widest - room);
        buf_clear(&b);
        widest = table_rows(table, &b, list, &n);
    }
    for (size_t i = 0; i < n; i++)
        if (i == 0 && heading)
            put_heading(s, list[i], heading);
        else
            put_plain(s, list[i], table->bracket[i], widest, strong);
    buf_done(&b);
}

void screen_sentence(struct screen *s, bool bracket, const char *text)
{
    text = columns_cut(&s->p.arena, text, SCREEN_COLUMNS - 4);
    screen_text(s, arena_format(&s->p.arena, bracket ? "[ %s ]" : "  %s", text));
}

/* ---- numbers ---- */

bool screen_has(const struct quantity *q)
{
    return quantity_has_value(q) && isfinite(q->value);
}

const char *screen_absence(const struct quantity *q)
{
    return quantity_has_value(q) ? "not recorded" : quantity_state_words(q);
}

const char *screen_within(struct screen *s, const char *text, double value, size_t columns)
{
    return columns_text(text) <= columns ? text : arena_format(&s->p.arena, "%.1e", value);
}

const char *screen_doubt(struct screen *s, double doubt)
{
    const char *text = isfinite(doubt) ? number_text_uncertainty(&s->p.arena, doubt) : "";
    return columns_text(text) <= 11 ? text : arena_format(&s->p.arena, "± %.1e", doubt);
}

const char *screen_rounded(struct screen *s, double value, int digits, size_t columns)
{
    must(digits > 0 && columns >= 8); /* what an exponent takes */
    return !isfinite(value) ? "not recorded"
                            : screen_within(s, number_text(&s->p.arena, value, digits), value, columns);
}

const char *screen_fixed(struct screen *s, double value, int places, size_t columns)
{
    must(places >= 0 && columns >= 7);
    struct buf b = {0};
    if (!isfinite(value))
        return "";
    number_put(&b, value, places);
    const char *text = arena_copy(&s->p.arena, b.p, b.n);
    buf_done(&b);
    return screen_within(s, text, value, columns);
}

bool screen_out_of_use(const struct screen *s, const struct quantity *q)
{
    return result_standing(s->r) == STANDING_EXCLUDED || q->state == Q_EXCLUDED;
}

const char *screen_j_per_token(const struct screen *s)
{
    return s->r->about.simulated ? "J/token SIMULATED" : "J/token";
}
