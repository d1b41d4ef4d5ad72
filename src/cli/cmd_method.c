#include <string.h>
#include "analysis/verify.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/show.h"
#include "model/method.h"
#include "model/result.h"
#include "report/report.h"
#include "report/table.h"
#include "schema/json.h"
#include "text/json.h"

static const char *default_text(const struct method *m, const struct field *f, struct arena *a)
{
    const void *at = (const char *)m + f->offset;
    if (f->type == FIELD_ENUM)
        return f->names[*(const int *)at];
    if (f->type == FIELD_I64)
        return arena_format(a, "%lld", (long long)*(const int64_t *)at);
    return arena_format(a, "%g", *(const double *)at);
}

static const char *allowed_text(const struct field *f, struct arena *a)
{
    if (f->type == FIELD_I64)
        return arena_format(a, "%.0f to %.0f", f->min, f->max);
    if (f->type != FIELD_ENUM)
        return arena_format(a, "%g to %g", f->min, f->max);
    const char *text = "";
    for (size_t i = 0; f->names[i]; i++)
        text = arena_format(a, "%s%s%s", text, i ? ", " : "", f->names[i]);
    return text;
}

static void put_parameters(struct arena *a, struct buf *out)
{
    struct method m = method_default();
    buf_str(out, "\nParameters (analyze --set KEY=VALUE), with the method's own values\n");
    for (size_t i = 0; i < method_schema.count; i++) {
        const struct field *f = &method_schema.fields[i];
        buf_fmt(out, "  %-16s %-14s ", f->key, default_text(&m, f, a));
        text_wrap(out, arena_format(a, "%s (%s)", f->doc, allowed_text(f, a)), 34, 34, REPORT_COLUMNS);
    }
}

static void put_codes(struct buf *out)
{
    buf_str(out, "\nChecks: a run is formal when each one passes, or has nothing to judge\n");
    for (int i = 0; i < CODE_COUNT; i++) {
        buf_fmt(out, "  %-22s ", check_code_names[i]);
        text_wrap(out, check_code_meaning(i), 25, 25, REPORT_COLUMNS);
    }
    buf_str(out, "\nMarks: shown with the result, and what they touch stays out of comparisons\n");
    for (int i = 0; i < FLAG_COUNT; i++) {
        buf_fmt(out, "  %-22s ", flag_code_names[i]);
        text_wrap(out, flag_code_meaning(i), 25, 25, REPORT_COLUMNS);
    }
}

static void put_text(struct arena *a, struct buf *out)
{
    buf_fmt(out, "Method %s\n\n", METHOD_ID);
    text_wrap(out,
              "jtok measures the GPU energy of an LLM inference service over one cold start: startup, formal requests, "
              "release; "
              "per output token, with what is known of its uncertainty. The source method is Benchmark 1.5. Where that "
              "is silent, jtok "
              "decides; each "
              "such decision is marked [D] and stored with every result. docs/METHOD.md has the whole method.",
              0, 0, REPORT_COLUMNS);
    put_parameters(a, out);
    buf_str(out, "\nDecisions of jtok's own, with the section of docs/METHOD.md\n");
    for (size_t i = 0; i < method_decision_count; i++) {
        const struct method_decision *d = &method_decisions[i];
        buf_fmt(out, "  [D] %s  %s\n      ", d->section, d->id);
        text_wrap(out, d->text, 6, 6, REPORT_COLUMNS);
    }
    put_codes(out);
}

static void put_json(struct buf *out)
{
    struct method m = method_default();
    struct json_writer w;
    json_writer_init(&w, out, 2);
    json_put_object(&w);
    json_put_key(&w, "id");
    json_put_text(&w, METHOD_ID);
    json_put_key(&w, "parameters");
    schema_json_put(&method_schema, &m, &w);
    json_put_key(&w, "decisions");
    json_put_array(&w);
    for (size_t i = 0; i < method_decision_count; i++)
        schema_json_put(&method_decision_schema, &method_decisions[i], &w);
    json_put_array_end(&w);
    json_put_object_end(&w);
    buf_byte(out, '\n');
}

static bool put_method(void *self, const struct args *args, struct arena *a, struct buf *out, int *ret_code,
                       struct err *e)
{
    (void)args, (void)ret_code;
    const char *format = *(const char **)self;
    if (strcmp(format, "json") == 0)
        put_json(out);
    else if (strcmp(format, "text") == 0)
        put_text(a, out);
    else
        return err_set(e, ERR_USAGE, "method: there is no format \"%s\". Give text or json.", format);
    return true;
}

int cmd_method(int argc, char **argv)
{
    const char *format = "text";
    const struct arg options[] = {{"--format", ARG_TEXT, "NAME", "text (default) or json", &format, 'f'}};
    const struct args_spec spec = {
        .command = "method",
        .summary = "Prints the method: its parameters, every decision that the source leaves open [D], the checks and "
                   "the marks.",
        .example = "jtok method",
        .options = options,
        .option_count = 1,
    };
    return show_command(&spec, argc, argv, put_method, &format);
}
