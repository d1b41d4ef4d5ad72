#include "cli/texts.h"

#include <math.h>
#include <string.h>
#include "base/must.h"
#include "base/utf8.h"
#include "cli/show.h"
#include "cli/sides.h"
#include "report/number.h"
#include "report/report.h"
#include "report/table.h"
#include "report/words.h"
#include "schema/table.h"
#include "text/wrap.h"

static const char *signed_text(struct arena *a, const struct quantity *q)
{
    return arena_format(a, "%s%s", q->value > 0 ? "+" : "", number_text_instrument(a, q));
}

/* ---- one run a side ---- */

/* Rows of formal runs, or of one load. */
struct rows {
    const struct comparison_row *items;
    size_t count;
};

static void put_singles(const struct rows *c, struct arena *a, struct buf *out)
{
    static const char *const head[] = {"", "A", "B", "B - A", "B / A", ""};
    struct table t;
    table_init(&t, a, "lrrrrl");
    for (size_t i = 0; i < SCHEMA_COUNT(head); i++)
        table_cell(&t, head[i]);
    for (size_t i = 0; i < c->count; i++) {
        const struct comparison_row *r = &c->items[i];
        table_cell(&t, r->key);
        table_cell(&t, number_text_quantity(a, &r->a));
        table_cell(&t, number_text_quantity(a, &r->b));
        table_cell(&t, r->why ? "" : signed_text(a, &r->difference));
        table_cell(&t, r->why ? "" : number_text_instrument(a, &r->ratio));
        table_cell(&t, r->why ? "no value" : "");
    }
    table_put(&t, out, 2);
}

/* ---- several ---- */

static const char *interval_text(struct arena *a, double low, double high)
{
    return isnan(low) ? "" : arena_format(a, "%s–%s", number_text(a, low, 4), number_text(a, high, 4));
}

static const char *p_text(struct arena *a, const struct between_runs *b)
{
    return isnan(b->p) ? "" : arena_format(a, "%.2g", b->p);
}

static const char *verdict_text(const struct comparison_row *r)
{
    static const char *const texts[] = {"", "none seen", "B lower", "B higher"};
    return r->why ? "no value" : texts[r->verdict];
}

/* "0.05512" of one run, "0.05512 (0.92 %)" of several: with the standard deviation. */
static const char *side_text(struct arena *a, const struct sample *s)
{
    const char *mean = number_text(a, s->mean, 4);
    double percent = 100 * fabs(s->sd / s->mean);
    int places = percent < 1 ? 2 : percent < 10 ? 1 : 0;
    return isnan(s->sd) ? mean : arena_format(a, "%s (%.*f %%)", mean, places, percent);
}

static const char *least_text(struct arena *a, const struct comparison *c)
{
    for (size_t k = 0; k <= c->load_count; k++) {
        const struct compared_load *l = k ? &c->loads[k - 1] : NULL;
        const struct rows r = l ? (struct rows){l->rows, l->row_count} : (struct rows){c->rows, c->row_count};
        for (size_t i = 0; i < r.count; i++)
            if (!isnan(r.items[i].between.p_least))
                return arena_format(a, "; with so few runs it cannot be below %.2g", r.items[i].between.p_least);
    }
    return "";
}

static void put_groups(const struct rows *c, struct arena *a, struct buf *out)
{
    static const char *const head[] = {"", "A (sd)", "B (sd)", "B / A", "95 %", "p", "difference"};
    struct table t;
    table_init(&t, a, "lrrrlrl");
    for (size_t i = 0; i < SCHEMA_COUNT(head); i++)
        table_cell(&t, head[i]);
    for (size_t i = 0; i < c->count; i++) {
        const struct comparison_row *r = &c->items[i];
        table_cell(&t, r->key);
        table_cell(&t, r->why ? "" : side_text(a, &r->a_runs));
        table_cell(&t, r->why ? "" : side_text(a, &r->b_runs));
        table_cell(&t, r->why ? "" : number_text(a, r->ratio.value, 4));
        table_cell(&t, r->why ? "" : interval_text(a, r->between.low, r->between.high));
        table_cell(&t, r->why ? "" : p_text(a, &r->between));
        table_cell(&t, verdict_text(r));
    }
    table_put(&t, out, 2);
}

static void put_chance(const struct comparison *c, struct arena *a, struct buf *out)
{
    buf_str(out, "\n  ");
    text_wrap(
        out,
        arena_format(a,
                     "sd: standard deviation between the runs of a side. 95 %%: Welch's interval of B / A between "
                     "runs, which decides from %d runs per side on. p: permutation test, for information only%s.",
                     COMPARE_DECIDES, least_text(a, c)),
        2, 2, REPORT_COLUMNS);
    if (c->compared)
        show_item(
            arena_format(a,
                         "By construction, about one in twenty comparisons of identical set-ups shows a difference. "
                         "The probability that at least one of these %lld metrics does is up to %.0f %%.",
                         (long long)c->compared, 100 * c->chance),
            out);
}

/* ---- no comparison ---- */

static const char *quantity_text(struct arena *a, const struct quantity *q)
{
    const char *value = number_text_instrument(a, q);
    return quantity_has_value(q) && q->state != Q_MEASURED ? arena_format(a, "[%s]", value) : value;
}

static void put_beside(const struct rows *c, struct arena *a, struct buf *out)
{
    static const char *const head[] = {"", "A", "B", ""};
    struct table t;
    table_init(&t, a, "lrrl");
    for (size_t i = 0; i < SCHEMA_COUNT(head); i++)
        table_cell(&t, head[i]);
    for (size_t i = 0; i < c->count; i++) {
        table_cell(&t, c->items[i].key);
        table_cell(&t, quantity_text(a, &c->items[i].a));
        table_cell(&t, quantity_text(a, &c->items[i].b));
        table_cell(&t, c->items[i].unit);
    }
    table_put(&t, out, 2);
}

static void put_banner(const struct comparison *c, struct buf *out)
{
    buf_str(out, "\nNOT A COMPARISON. The values are only shown side by side (--anyway), and nothing\n"
                 "follows from their difference, because:\n");
    sides_put_items(&c->reasons, out);
}

/* ---- both ---- */

static const struct comparison_row *row_with_key(const struct rows *c, const char *key)
{
    for (size_t i = 0; i < c->count; i++)
        if (strcmp(c->items[i].key, key) == 0)
            return &c->items[i];
    return NULL;
}

static bool is_single(const struct comparison *c)
{
    return c->a_count == 1 && c->b_count == 1;
}

/* "B takes 3.1 % less energy per output token than A": the key that an answer is about, and its words. */
struct answer_words {
    const char *key, *words, *unit;
};

static struct answer_words answer_of(const struct comparison *c)
{
    if (ENUM_ABSENT(c->object))
        return (struct answer_words){"formal_j_per_token", "energy per output token than A in the formal stage", "J"};
    if (c->object == OBJECT_STAT)
        return (struct answer_words){"energy_j", "energy than A for the command", "J"};
    return (struct answer_words){"j_per_token", "energy per output token than A", "J"};
}

/* The answer first, in one sentence. */
static void put_answer(const struct comparison *c, const struct rows *rows, struct arena *a, struct buf *out)
{
    const struct answer_words about = answer_of(c);
    const struct comparison_row *r = row_with_key(rows, about.key);
    if (!r || r->why || r->ratio.state != Q_MEASURED)
        return;
    const char *sum = arena_format(a, "B takes %.2f %% %s %s (%s against %s %s)", 100 * fabs(r->ratio.value - 1),
                                   r->ratio.value < 1 ? "less" : "more", about.words, number_text(a, r->b.value, 4),
                                   number_text(a, r->a.value, 4), about.unit);
    const char *text;
    if (is_single(c))
        text = arena_format(
            a, "%s. With one run each, the spread between runs is unknown, so this says nothing about the set-ups.",
            sum);
    else if (r->verdict == COMPARED_NONE)
        text = arena_format(a, "%s. With fewer than %d runs per side, this says nothing about the set-ups.", sum,
                            COMPARE_DECIDES);
    else
        text = arena_format(a, "%s. The 95 %% interval between runs is %+.2f to %+.2f %%, so %s.", sum,
                            100 * (r->between.low - 1), 100 * (r->between.high - 1),
                            r->verdict == COMPARED_ALIKE ? "no difference is seen" : "the set-ups differ");
    buf_byte(out, '\n');
    text_wrap(out, text, 0, 0, REPORT_COLUMNS);
}

static const char *boards_text(const struct comparison *c)
{
    return c->same_boards ? "the same boards" : "boards of one kind";
}

static void put_subject(const struct comparison *c, const struct result *first, struct arena *a, struct buf *out)
{
    const char *text = arena_format(a, "on %s", boards_text(c));
    if (first->about.thinking)
        text = arena_format(a, "(thinking %s) %s", first->about.thinking, text);
    if (ENUM_ABSENT(c->object))
        text = arena_format(a, "%s %s, scenario %s; output tokens differ by %.1f %%", first->about.model, text,
                            first->about.scenario, 100 * c->tokens_difference.value);
    else if (first->about.model)
        text = arena_format(a, "%s %s", first->about.model, text);
    buf_str(out, "   ");
    text_wrap(out, text, 3, 3, REPORT_COLUMNS);
}

static void put_not_compared(const struct rows *c, struct arena *a, struct buf *out)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->items[i].why) {
            buf_str(out, "  not compared: ");
            text_wrap(out, arena_format(a, "%s, because %s", c->items[i].key, c->items[i].why), 16, 4, REPORT_COLUMNS);
        }
}

/* One board in both runs has one error of its sensor, which a ratio does not have. */
static void put_calibration(const struct comparison *c, struct arena *a, struct buf *out)
{
    buf_str(out, "\n  ");
    text_wrap(out,
              arena_format(a, "± is the instrument's own uncertainty. The calibration of the sensors %s.",
                           c->same_boards ? "cancels in B / A and scales B - A by one factor"
                                          : "is under \"calibration\" in the JSON, for both boards"),
              2, 2, REPORT_COLUMNS);
}

static void put_row_table(const struct comparison *c, const struct rows *rows, struct arena *a, struct buf *out)
{
    (c->anyway ? put_beside : is_single(c) ? put_singles : put_groups)(rows, a, out);
    if (!c->anyway)
        put_not_compared(rows, a, out);
}

/* ---- loads ---- */

/* Energy per token at each load, before all that is known of each. */
static void put_curve_table(const struct comparison *c, struct arena *a, struct buf *out)
{
    static const char *const head[] = {"load", "A J/token", "B J/token", "B / A", ""};
    struct table t;
    table_init(&t, a, "lrrrl");
    for (size_t i = 0; i < SCHEMA_COUNT(head); i++)
        table_cell(&t, head[i]);
    for (size_t i = 0; i < c->load_count; i++) {
        const struct compared_load *l = &c->loads[i];
        const struct rows rows = {l->rows, l->row_count};
        const struct comparison_row *r = row_with_key(&rows, "j_per_token");
        bool good = r && !r->why;
        table_cell(&t, words_load(l->setting, a));
        table_cell(&t, good ? number_text_quantity(a, &r->a) : "");
        table_cell(&t, good ? number_text_quantity(a, &r->b) : "");
        table_cell(&t, !good          ? ""
                       : is_single(c) ? number_text_instrument(a, &r->ratio)
                                      : number_text(a, r->ratio.value, 4));
        table_cell(&t, !good ? "not compared" : r->verdict == COMPARED_NONE ? "" : verdict_text(r));
    }
    buf_byte(out, '\n');
    table_put(&t, out, 2);
}

static void put_compared_load(const struct comparison *c, const struct compared_load *l, struct arena *a,
                              struct buf *out)
{
    const struct rows rows = {l->rows, l->row_count};
    const bool numbered = c->object != OBJECT_STAT && c->object != OBJECT_WATCH;
    const char *name = numbered ? arena_format(a, "Load %lld: ", (long long)l->number) : "",
               *text = l->b_setting ? arena_format(a, "%s%s in A, %s in B", name, l->setting, l->b_setting)
                                    : arena_format(a, "%s%s", name, l->setting);
    buf_byte(out, '\n');
    text_wrap(out, utf8_line(a, text), 0, 2, REPORT_COLUMNS);
    if (l->why) {
        buf_str(out, "  not compared: ");
        text_wrap(out, l->why, 16, 4, REPORT_COLUMNS);
        return;
    }
    put_row_table(c, &rows, a, out);
}

static void put_compared_loads(const struct comparison *c, struct arena *a, struct buf *out)
{
    if (c->load_count > 1 && !c->anyway)
        put_curve_table(c, a, out);
    for (size_t i = 0; i < c->load_count; i++)
        put_compared_load(c, &c->loads[i], a, out);
}

static void put_all(const struct comparison *c, struct arena *a, struct buf *out)
{
    const struct rows rows = {c->rows, c->row_count};
    if (rows.count) {
        buf_byte(out, '\n');
        put_row_table(c, &rows, a, out);
    }
    put_compared_loads(c, a, out);
}

/* ---- the page ---- */

static void put_differences(const struct comparison *c, struct arena *a, struct buf *out)
{
    static const char SETTING[] = "engine.in_force.";
    for (size_t i = 0; i < c->differences.count; i++) {
        const struct plan_difference *d = &c->differences.items[i];
        bool setting = strncmp(d->key, SETTING, strlen(SETTING)) == 0;
        show_item(arena_format(a, "The %s in %s: \"%s\" and \"%s\".",
                               setting ? "engines' settings differ" : "plans differ",
                               setting ? d->key + strlen(SETTING) : d->key, d->a, d->b),
                  out);
    }
}

static void put_anyway(const struct comparison *c, struct arena *a, struct buf *out)
{
    put_banner(c, out);
    put_all(c, a, out);
    buf_str(out, "\n  ± is the instrument's own uncertainty. [ ]: not fit for use.\n");
    put_differences(c, a, out);
}

void text_comparison(const struct comparison *c, const struct run_list *x, const struct run_list *y, struct arena *a,
                     struct buf *out)
{
    must(x->count > 0 && y->count > 0);
    sides_put("A", x, a, out);
    sides_put("B", y, a, out);
    if (c->reasons.count) {
        c->anyway ? put_anyway(c, a, out) : sides_put_refusal(&c->reasons, out);
        return;
    }
    put_subject(c, x->runs[0].result, a, out);
    if (c->load_count <= 1)
        put_answer(c,
                   &(struct rows){c->load_count ? c->loads[0].rows : c->rows,
                                  c->load_count ? c->loads[0].row_count : c->row_count},
                   a, out);
    put_all(c, a, out);
    if (is_single(c))
        put_calibration(c, a, out);
    else
        put_chance(c, a, out);
    sides_put_items(&c->notes, out);
    put_differences(c, a, out);
}
