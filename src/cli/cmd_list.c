#include <string.h>
#include "cli/args.h"
#include "cli/commands.h"
#include "app/listing.h"
#include "cli/show.h"
#include "report/number.h"
#include "report/table.h"
#include "schema/json.h"
#include "text/json.h"

static void put_text(const struct listed_run *runs, size_t n, struct arena *a, struct buf *out)
{
    struct table t;
    table_init(&t, a, "lllrdddl");
    static const char *const head[] = {"run",    "model",     "engine", "tokens", "steady J/token",
                                       "formal", "lifecycle", "verdict"};
    for (size_t i = 0; i < 8; i++)
        table_cell(&t, head[i]);
    for (size_t i = 0; i < n; i++) {
        const struct listed_run *l = &runs[i];
        table_cell(&t, l->id);
        table_cell(&t, l->model ? l->model : "not recorded");
        table_cell(&t, l->engine ? l->engine : "not recorded");
        table_cell(&t, number_text_i64(a, l->output_tokens));
        table_cell(&t, number_text_quantity(a, &l->steady));
        table_cell(&t, number_text_quantity(a, &l->formal));
        table_cell(&t, number_text_quantity(a, &l->lifecycle));
        table_cell(&t, arena_format(a, "%s%s", l->simulated ? "SIMULATED, " : "", l->verdict));
    }
    table_put(&t, out, 0);
}

static void put_json(const struct listed_run *runs, size_t n, struct buf *out)
{
    struct json_writer w;
    json_writer_init(&w, out, 2);
    json_put_array(&w);
    for (size_t i = 0; i < n; i++)
        schema_json_put(&listed_run_schema, &runs[i], &w);
    json_put_array_end(&w);
    buf_byte(out, '\n');
}

static bool list(void *self, const struct args *args, struct arena *a, struct buf *out, int *ret_code, struct err *e)
{
    const char *format = *(const char **)self, *directory = args->operand_count ? args->operands[0] : "runs";
    (void)ret_code;
    bool text = strcmp(format, "text") == 0;
    if (!text && strcmp(format, "json") != 0)
        return err_set(e, ERR_USAGE, "list: there is no format \"%s\". Give text or json.", format);
    struct listed_run *runs;
    size_t n;
    if (!listing_read(directory, a, &runs, &n, e))
        return false;
    if (!text)
        put_json(runs, n, out);
    else if (n)
        put_text(runs, n, a, out);
    else
        buf_fmt(out, "There are no runs in %s.\n", directory);
    return true;
}

int cmd_list(int argc, char **argv)
{
    const char *format = "text";
    const struct arg options[] = {{"--format", ARG_TEXT, "NAME", "text (default) or json", &format, 'f'}};
    const struct args_spec spec = {
        .command = "list",
        .operands = "[DIR]",
        .operands_max = 1,
        .summary =
            "Lists the runs of a folder (default: runs), oldest first, each with its verdict and energies per token.",
        .example = "jtok list runs",
        .options = options,
        .option_count = 1,
    };
    return show_command(&spec, argc, argv, list, &format);
}
