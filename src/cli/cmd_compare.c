#include <math.h>
#include <string.h>
#include "analysis/compare.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/evaluate.h"
#include "cli/exit.h"
#include "cli/show.h"
#include "report/number.h"
#include "report/report.h"
#include "report/table.h"
#include "store/fields_json.h"

static const char *with_uncertainty(struct arena *a, const struct quantity *q)
{
    const char *value = number_text_quantity(a, q),
               *u = quantity_has_value(q) ? number_text_uncertainty(a, q->repeatability) : "";
    return *u ? arena_format(a, "%s %s", value, u) : value;
}

static const char *signed_text(struct arena *a, const struct quantity *q)
{
    return arena_format(a, "%s%s", q->value > 0 ? "+" : "", with_uncertainty(a, q));
}

/* Repeatability (k = 2) is known for energies only. */
static const char *reading_of(const struct comparison_row *r)
{
    if (isnan(r->difference.repeatability))
        return "one run each";
    if (fabs(r->difference.value) <= r->difference.repeatability)
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
        table_cell(&t, r->why ? "" : with_uncertainty(a, &r->ratio));
        table_cell(&t, r->why ? "not compared" : reading_of(r));
    }
    table_put(&t, out, 2);
    for (size_t i = 0; i < c->row_count; i++)
        if (c->rows[i].why) {
            buf_fmt(out, "  not compared: ");
            text_wrap(out, arena_format(a, "%s, because %s", c->rows[i].metric, c->rows[i].why), 16, 4, REPORT_COLUMNS);
        }
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
        buf_str(out, "\nNot compared: the method refuses it.\n");
        for (size_t i = 0; i < c->reason_count; i++) {
            buf_str(out, "  - ");
            text_wrap(out, c->reasons[i], 4, 4, REPORT_COLUMNS);
        }
        return;
    }
    buf_fmt(out, "   %s on %s, scenario %s; output tokens differ by %.1f %%\n\n", x->model ? x->model : "",
            c->same_boards ? "the same boards" : "boards of one kind", x->scenario ? x->scenario : "",
            100 * c->tokens_difference.value);
    put_rows(c, a, out);
    buf_fmt(out, "\n  ± is repeatability, k = 2. The sensors' limit %s.\n",
            c->same_boards ? "cancels in B / A and scales B - A by the same factor"
                           : "of both boards is in the JSON's `absolute`");
    for (size_t i = 0; i < c->note_count; i++) {
        buf_str(out, "  - ");
        text_wrap(out, c->notes[i], 4, 4, REPORT_COLUMNS);
    }
}

static bool compare(const char *const *folders, const char *format, struct arena *a, struct buf *out,
                    struct comparison *c, struct err *e)
{
    if (strcmp(format, "none") != 0 && !show_knows(format, e))
        return false;
    struct result *r = arena_array(a, 2, sizeof *r);
    if (!evaluate_stored(folders[0], a, &r[0], e) || !evaluate_stored(folders[1], a, &r[1], e))
        return false;
    compare_runs(&r[0], &r[1], a, c);
    if (strcmp(format, "text") == 0) {
        put_text(c, &r[0], &r[1], a, out);
    } else if (strcmp(format, "json") == 0) {
        fields_json_write(&comparison_schema, c, out);
    } else if (strcmp(format, "csv") == 0) {
        buf_str(out, "metric,unit,value,state,why,repeatability,absolute\n");
        report_csv_rows(&comparison_schema, c, "", out);
    }
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
                "Exit code: 0 compared, 8 refused.",
        .example = "jtok compare runs/20261130T010000Z-vllm runs/20261130T020000Z-sglang",
        .options = options,
        .option_count = 1,
    };
    struct args args;
    int code;
    if (!args_take(&spec, argc, argv, &args, &code))
        return code;
    struct arena a = {0};
    struct err e = {0};
    struct buf out = {0};
    struct comparison c = {0};
    if (!compare(args.operands, format, &a, &out, &c, &e) || !show_flush(&out, &e))
        code = exit_with(&e);
    else
        code = c.reason_count ? EXIT_REFUSED : EXIT_OK;
    buf_done(&out);
    arena_done(&a);
    return code;
}
