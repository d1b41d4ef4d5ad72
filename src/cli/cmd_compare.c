#include <math.h>
#include <string.h>
#include "analysis/compare.h"
#include "analysis/compare_repeats.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/evaluate.h"
#include "cli/exit.h"
#include "cli/show.h"
#include "report/number.h"
#include "report/report.h"
#include "report/table.h"

static const char *signed_text(struct arena *a, const struct quantity *q)
{
    return arena_format(a, "%s%s", q->value > 0 ? "+" : "", number_text_repeatable(a, q));
}

/* Repeatability (k = 2) is known for energies only. */
static const char *reading_of(const struct comparison_row *r)
{
    if (isnan(r->difference.instrument))
        return "one run each";
    if (fabs(r->difference.value) <= r->difference.instrument)
        return "no difference seen";
    return r->difference.value > 0 ? "B higher" : "B lower";
}

static void put_rows(const struct comparison *c, struct arena *a, struct buf *out)
{
    struct table t;
    table_init(&t, a, "lrrrrl");
    static const char *const head[] = {"", "A", "B", "B - A", "B / A", ""};
    for (size_t i = 0; i < 6; i++)
        table_cell(&t, head[i]);
    for (size_t i = 0; i < c->row_count; i++) {
        const struct comparison_row *r = &c->rows[i];
        table_cell(&t, arena_format(a, "%s, %s", r->metric, r->unit));
        table_cell(&t, number_text_quantity(a, &r->a));
        table_cell(&t, number_text_quantity(a, &r->b));
        table_cell(&t, r->why ? "" : signed_text(a, &r->difference));
        table_cell(&t, r->why ? "" : number_text_repeatable(a, &r->ratio));
        table_cell(&t, r->why ? "not compared" : reading_of(r));
    }
    table_put(&t, out, 2);
    for (size_t i = 0; i < c->row_count; i++)
        if (c->rows[i].why) {
            buf_fmt(out, "  not compared: ");
            text_wrap(out, arena_format(a, "%s, because %s", c->rows[i].metric, c->rows[i].why), 16, 4, REPORT_COLUMNS);
        }
}

static void put_refusal(const char *const *reasons, size_t n, struct buf *out)
{
    buf_str(out, "\nNot compared: the method refuses it.\n");
    for (size_t i = 0; i < n; i++)
        show_item(reasons[i], out);
}

static void put_text(const struct comparison *c, const struct result *x, const struct result *y, struct arena *a,
                     struct buf *out)
{
    const struct result *both[] = {x, y};
    for (size_t i = 0; i < 2; i++)
        buf_fmt(out, "%c  %s  %s %s%s\n", "AB"[i], both[i] -> run_id ? both[i] -> run_id : "without id",
                both[i]->engine ? both[i]->engine : "", both[i]->engine_version ? both[i]->engine_version : "",
                both[i]->simulated ? "  SIMULATED" : "");
    if (c->reason_count) {
        put_refusal(c->reasons, c->reason_count, out);
        return;
    }
    buf_fmt(out, "   %s on %s, scenario %s; output tokens differ by %.1f %%\n\n", x->model ? x->model : "",
            c->same_boards ? "the same boards" : "boards of one kind", x->scenario ? x->scenario : "",
            100 * c->tokens_difference.value);
    put_rows(c, a, out);
    buf_fmt(out, "\n  ± is the instrument's own doubt. The sensors' limit %s.\n",
            c->same_boards ? "cancels in B / A and scales B - A by the same factor"
                           : "of both boards is in the JSON's `calibration`");
    for (size_t i = 0; i < c->note_count; i++)
        show_item(c->notes[i], out);
}

/* ---- repetitions ---- */

enum { SIDE_MAX = 32 };

/* One side of the comparison: one run, or several of one configuration. */
struct side {
    struct result *runs;
    size_t count;
};

static bool read_side(const char *list, struct arena *a, struct side *ret, struct err *e)
{
    struct side s = {.runs = arena_array(a, SIDE_MAX, sizeof *s.runs)};
    while (*list) {
        size_t n = strcspn(list, ",");
        if (s.count == SIDE_MAX)
            return err_set(e, ERR_USAGE, "compare: over %d runs on one side.", SIDE_MAX);
        if (n && !evaluate_stored(arena_copy(a, list, n), a, &s.runs[s.count++], e))
            return false;
        list += n + (list[n] == ',');
    }
    if (!s.count)
        return err_set(e, ERR_USAGE, "compare: a run folder is missing. Usage: jtok compare A B");
    *ret = s;
    return true;
}

static const char *repeats_text(struct arena *a, const struct repeats *r)
{
    const char *mean = number_text(a, r->mean, NUMBER_DIGITS);
    if (isnan(r->sd))
        return arena_format(a, "%s, one run", mean);
    return arena_format(a, "%s, sd %s [%s, %s]", mean, number_text(a, r->sd, 2), number_text(a, r->low, NUMBER_DIGITS),
                        number_text(a, r->high, NUMBER_DIGITS));
}

static void put_repeated(const struct repeated *k, const struct side *x, const struct side *y, struct arena *a,
                         struct buf *out)
{
    const struct side *const both[] = {x, y};
    for (size_t i = 0; i < 2; i++) {
        const struct result *first = &both[i]->runs[0];
        buf_fmt(out, "%c  %zu run%s of %s %s%s, the first is %s\n", "AB"[i], both[i] -> count,
                both[i] -> count == 1 ? "" : "s", first->engine ? first->engine : "",
                first->engine_version ? first->engine_version : "", first->simulated ? ", SIMULATED" : "",
                first->run_id ? first->run_id : "without id");
    }
    if (k->reason_count) {
        put_refusal(k->reasons, k->reason_count, out);
        return;
    }
    struct table t;
    table_init(&t, a, "lllrr");
    static const char *const head[] = {"", "A", "B", "B / A", "p"};
    for (size_t i = 0; i < 5; i++)
        table_cell(&t, head[i]);
    for (size_t i = 0; i < k->row_count; i++) {
        const struct repeated_row *r = &k->rows[i];
        table_cell(&t, arena_format(a, "%s, %s", r->metric, r->unit));
        table_cell(&t, r->why ? "not compared:" : repeats_text(a, &r->a));
        table_cell(&t, r->why ? r->why : repeats_text(a, &r->b));
        table_cell(&t, r->why ? "" : number_text(a, r->ratio, 4));
        table_cell(&t, r->why ? "" : isnan(r->p) ? "absent" : arena_format(a, "%.3g", r->p));
    }
    buf_byte(out, '\n');
    table_put(&t, out, 2);
    buf_str(out, "\n  Mean, sample standard deviation, 95 % bootstrap interval of the mean; p: two-sided permutation "
                 "test. A side with\n"
                 "  one run has no spread, and then there is no test.\n");
}

static bool compare(void *self, const struct args *args, struct arena *a, struct buf *out, int *ret_code, struct err *e)
{
    const char *format = *(const char **)self;
    struct side x, y;
    if (!show_knows(format, e) || !read_side(args->operands[0], a, &x, e) || !read_side(args->operands[1], a, &y, e))
        return false;
    if (x.count > 1 || y.count > 1) {
        struct repeated k;
        compare_repeated(x.runs, x.count, y.runs, y.count, a, &k);
        if (strcmp(format, "text") == 0)
            put_repeated(&k, &x, &y, a, out);
        else
            show_document(&repeated_schema, &k, format, out);
        *ret_code = k.reason_count ? EXIT_REFUSED : EXIT_OK;
        return true;
    }
    struct comparison c;
    compare_runs(x.runs, y.runs, a, &c);
    if (strcmp(format, "text") == 0)
        put_text(&c, x.runs, y.runs, a, out);
    else
        show_document(&comparison_schema, &c, format, out);
    *ret_code = c.reason_count ? EXIT_REFUSED : EXIT_OK;
    return true;
}

int cmd_compare(int argc, char **argv)
{
    const char *format = "text";
    const struct arg options[] = {{"--format", ARG_TEXT, "NAME", "text (default), json or csv", &format, 'f'}};
    const struct args_spec spec = {
        .command = "compare",
        .operands = "A B",
        .operands_min = 2,
        .operands_max = 2,
        .summary = "Two runs side by side, with differences and their uncertainty, where the method allows it.",
        .more = "Both must be formal and a pair: same model, revision, scenario and request set, same GPUs or the same "
                "kind,\n"
                "limit and number, output tokens at most 20 % apart. Otherwise every reason against it is named.\n"
                "A and B may each be several runs of one configuration, with commas between: then means, standard\n"
                "deviations, intervals and a test are given. Exit code: 0 compared, 8 refused.",
        .example = "jtok compare runs/20261130T010000Z-vllm runs/20261130T020000Z-sglang\n"
                   "jtok compare runs/vllm-1,runs/vllm-2,runs/vllm-3 runs/sglang-1,runs/sglang-2,runs/sglang-3",
        .options = options,
        .option_count = 1,
    };
    return show_command(&spec, argc, argv, compare, &format);
}
