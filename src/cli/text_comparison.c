#include "cli/texts.h"

#include <math.h>
#include <string.h>
#include "base/must.h"
#include "cli/show.h"
#include "cli/sides.h"
#include "report/number.h"
#include "report/report.h"
#include "report/table.h"
#include "text/wrap.h"

static const char *signed_text(struct arena *a, const struct quantity *q)
{
    return arena_format(a, "%s%s", q->value > 0 ? "+" : "", number_text_instrument(a, q));
}

/* ---- one run a side ---- */

static void put_singles(const struct comparison *c, struct arena *a, struct buf *out)
{
    static const char *const head[] = {"", "A", "B", "B - A", "B / A", ""};
    struct table t;
    table_init(&t, a, "lrrrrl");
    for (size_t i = 0; i < SCHEMA_COUNT(head); i++)
        table_cell(&t, head[i]);
    for (size_t i = 0; i < c->row_count; i++) {
        const struct comparison_row *r = &c->rows[i];
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
    for (size_t i = 0; i < c->row_count; i++)
        if (!isnan(c->rows[i].between.p_least))
            return arena_format(a, "; with so few runs it cannot be below %.2g", c->rows[i].between.p_least);
    return "";
}

static void put_groups(const struct comparison *c, struct arena *a, struct buf *out)
{
    static const char *const head[] = {"", "A (sd)", "B (sd)", "B / A", "95 %", "p", "difference"};
    struct table t;
    table_init(&t, a, "lrrrlrl");
    for (size_t i = 0; i < SCHEMA_COUNT(head); i++)
        table_cell(&t, head[i]);
    for (size_t i = 0; i < c->row_count; i++) {
        const struct comparison_row *r = &c->rows[i];
        table_cell(&t, r->key);
        table_cell(&t, r->why ? "" : side_text(a, &r->a_runs));
        table_cell(&t, r->why ? "" : side_text(a, &r->b_runs));
        table_cell(&t, r->why ? "" : number_text(a, r->ratio.value, 4));
        table_cell(&t, r->why ? "" : interval_text(a, r->between.low, r->between.high));
        table_cell(&t, r->why ? "" : p_text(a, &r->between));
        table_cell(&t, verdict_text(r));
    }
    table_put(&t, out, 2);
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

/* ---- both ---- */

static const struct comparison_row *row_with_key(const struct comparison *c, const char *key)
{
    for (size_t i = 0; i < c->row_count; i++)
        if (strcmp(c->rows[i].key, key) == 0)
            return &c->rows[i];
    return NULL;
}

/* The answer first, in one sentence. */
static void put_answer(const struct comparison *c, struct arena *a, struct buf *out)
{
    const struct comparison_row *r = row_with_key(c, "formal_j_per_token");
    if (!r || r->why || r->ratio.state != Q_MEASURED)
        return;
    const char *sum =
        arena_format(a, "B takes %.2f %% %s energy per output token than A in the formal stage (%s against %s J)",
                     100 * fabs(r->ratio.value - 1), r->ratio.value < 1 ? "less" : "more",
                     number_text(a, r->b.value, 4), number_text(a, r->a.value, 4));
    const char *text;
    if (c->a_count == 1 && c->b_count == 1)
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

static void put_subject(const struct comparison *c, const struct result *first, struct arena *a, struct buf *out)
{
    buf_str(out, "   ");
    text_wrap(out,
              arena_format(a, "%s on %s, scenario %s; output tokens differ by %.1f %%", first->about.model,
                           c->same_boards ? "the same boards" : "boards of one kind", first->about.scenario,
                           100 * c->tokens_difference.value),
              3, 3, REPORT_COLUMNS);
}

static void put_not_compared(const struct comparison *c, struct arena *a, struct buf *out)
{
    for (size_t i = 0; i < c->row_count; i++)
        if (c->rows[i].why) {
            buf_str(out, "  not compared: ");
            text_wrap(out, arena_format(a, "%s, because %s", c->rows[i].key, c->rows[i].why), 16, 4, REPORT_COLUMNS);
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

void text_comparison(const struct comparison *c, const struct run_list *x, const struct run_list *y, struct arena *a,
                     struct buf *out)
{
    must(x->count > 0 && y->count > 0);
    sides_put("A", x, a, out);
    sides_put("B", y, a, out);
    if (c->reasons.count) {
        sides_put_refusal(&c->reasons, out);
        return;
    }
    put_subject(c, x->runs[0].result, a, out);
    put_answer(c, a, out);
    buf_byte(out, '\n');
    bool single = c->a_count == 1 && c->b_count == 1;
    (single ? put_singles : put_groups)(c, a, out);
    put_not_compared(c, a, out);
    if (single)
        put_calibration(c, a, out);
    sides_put_items(&c->notes, out);
    for (size_t i = 0; i < c->differences.count; i++)
        show_item(arena_format(a, "The plans differ in %s: \"%s\" and \"%s\".", c->differences.items[i].key,
                               c->differences.items[i].a, c->differences.items[i].b),
                  out);
}
