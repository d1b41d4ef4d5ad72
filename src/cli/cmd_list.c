#include <string.h>
#include "cli/args.h"
#include "cli/commands.h"
#include "app/evaluate.h"
#include "cli/show.h"
#include "report/number.h"
#include "report/table.h"
#include "store/archive.h"
#include "text/json.h"

/* What a list says of one run. */
struct line {
    const char *id, *model, *engine, *verdict;
    int64_t tokens;
    struct quantity formal, lifecycle, steady;
    bool simulated;
};

static const char *verdict_of(const struct archive_entry *x, const struct result *r, struct arena *a)
{
    size_t failed = 0, open = 0;
    const char *first = NULL;
    if (!r)
        return !x->sealed      ? x->has_result ? "not sealed" : "broken off or running"
               : x->has_result ? "damaged"
                               : "no result";
    if (result_is_older(r))
        return arena_format(a, "%s under %s", r->formal ? "formal" : "excluded", r->method_id ? r->method_id : "?");
    if (r->formal)
        return "formal";
    for (size_t i = 0; i < r->check_count; i++) {
        bool fails = r->checks[i].outcome == CHECK_FAILED;
        if (!check_excludes(r->checks[i].outcome))
            continue;
        /* What cut a run short explains the rest. */
        bool cause = i == CODE_INTERRUPTED || i == CODE_ENGINE_FAILED;
        first = fails && (!first || cause) ? check_code_names[r->checks[i].code] : first;
        failed += fails;
        open += !fails;
    }
    if (!failed)
        return arena_format(a, "excluded: %zu undecided", open);
    return failed == 1 ? arena_format(a, "excluded: %s", first)
                       : arena_format(a, "excluded: %s and %zu more", first, failed - 1);
}

static struct line line_of(const struct archive_entry *x, struct arena *a)
{
    struct quantity none = quantity_absent(Q_NOT_RECORDED, x->fault ? x->fault : "no result");
    struct line l = {.id = x->id, .formal = none, .lifecycle = none, .steady = none, .tokens = ABSENT_I64};
    struct result *r = arena_alloc(a, sizeof *r);
    struct err e;
    if (x->fault) {
        l.verdict = arena_format(a, "unreadable: %s", x->fault);
        return l;
    }
    bool has = x->has_result && evaluate_stored(x->folder, a, r, &e);
    l.verdict = verdict_of(x, has ? r : NULL, a);
    /* The seal names the result; plan.json and run.json are not held against it here. */
    const char *engine = has                                  ? r->engine
                         : x->plan.engine.kind == ENGINE_VLLM ? "vllm"
                                                              : "openai",
               *version = has ? r->engine_version : x->run.engine_version;
    l.model = has ? r->model : x->plan.model.id;
    l.engine = engine && version ? arena_format(a, "%s %s", engine, version) : engine;
    l.simulated = x->run.gpu_simulated || x->run.engine_simulated || x->plan.engine.simulated || (has && r->simulated);
    if (has) {
        l.formal = r->metrics.formal_j_per_token;
        l.lifecycle = r->metrics.lifecycle_j_per_token;
        l.steady = r->metrics.steady_j_per_token;
        l.tokens = r->load.output_tokens;
    }
    return l;
}

static void put_text(const struct line *lines, size_t n, struct arena *a, struct buf *out)
{
    struct table t;
    table_init(&t, a, "lllrdddl");
    static const char *const head[] = {"run",    "model",     "engine", "tokens", "steady J/token",
                                       "formal", "lifecycle", "verdict"};
    for (size_t i = 0; i < 8; i++)
        table_cell(&t, head[i]);
    for (size_t i = 0; i < n; i++) {
        const struct line *l = &lines[i];
        table_cell(&t, l->id);
        table_cell(&t, l->model ? l->model : "not recorded");
        table_cell(&t, l->engine ? l->engine : "not recorded");
        table_cell(&t, number_text_i64(a, l->tokens));
        table_cell(&t, number_text_quantity(a, &l->steady));
        table_cell(&t, number_text_quantity(a, &l->formal));
        table_cell(&t, number_text_quantity(a, &l->lifecycle));
        table_cell(&t, arena_format(a, "%s%s", l->simulated ? "SIMULATED, " : "", l->verdict));
    }
    table_put(&t, out, 0);
}

static void put_quantity(struct json_writer *w, const char *key, const struct quantity *q)
{
    json_put_key(w, key);
    json_put_f64(w, quantity_has_value(q) ? q->value : __builtin_nan(""));
}

static void put_json(const struct line *lines, size_t n, struct buf *out)
{
    struct json_writer w;
    json_writer_init(&w, out, 2);
    json_put_array(&w);
    for (size_t i = 0; i < n; i++) {
        const struct line *l = &lines[i];
        json_put_object(&w);
        json_put_key(&w, "run");
        json_put_text(&w, l->id);
        json_put_key(&w, "model");
        json_put_text(&w, l->model);
        json_put_key(&w, "engine");
        json_put_text(&w, l->engine);
        json_put_key(&w, "simulated");
        json_put_bool(&w, l->simulated);
        json_put_key(&w, "verdict");
        json_put_text(&w, l->verdict);
        json_put_key(&w, "output_tokens");
        if (l->tokens == ABSENT_I64)
            json_put_null(&w);
        else
            json_put_i64(&w, l->tokens);
        put_quantity(&w, "steady_j_per_token", &l->steady);
        put_quantity(&w, "formal_j_per_token", &l->formal);
        put_quantity(&w, "lifecycle_j_per_token", &l->lifecycle);
        json_put_object_end(&w);
    }
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
    struct archive_entry *entries;
    size_t n;
    if (!archive_list(directory, a, &entries, &n, e))
        return false;
    struct line *lines = arena_array(a, n, sizeof *lines);
    for (size_t i = 0; i < n; i++)
        lines[i] = line_of(&entries[i], a);
    if (!text)
        put_json(lines, n, out);
    else if (n)
        put_text(lines, n, a, out);
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
