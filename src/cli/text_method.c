#include "cli/texts.h"

#include "analysis/verify.h"
#include "model/method.h"
#include "report/report.h"
#include "report/table.h"
#include "schema/visit.h"
#include "text/wrap.h"

struct parameters {
    struct arena *arena;
    struct buf *out;
};

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

static void put_parameter(void *self, const struct visit *v)
{
    struct parameters *p = self;
    const struct field *f = v->slot.field;
    struct buf value = {0};
    slot_put(&v->slot, &value);
    buf_fmt(p->out, "  %-16s %-14s ", v->path, buf_text(&value));
    buf_done(&value);
    text_wrap(p->out, arena_format(p->arena, "%s (%s)", f->doc, allowed_text(f, p->arena)), 34, 34, REPORT_COLUMNS);
}

static void put_codes(struct buf *out)
{
    buf_str(out, "\nChecks: a run is formal if every check passes or has nothing to judge\n");
    for (enum check_code i = 0; i < CODE_COUNT; i++) {
        buf_fmt(out, "  %-22s ", check_code_names[i]);
        text_wrap(out, check_code_meaning(i), 25, 25, REPORT_COLUMNS);
    }
    buf_str(out, "\nFlags: shown with the result; what a flag affects stays out of comparisons\n");
    for (enum flag_code i = 0; i < FLAG_COUNT; i++) {
        buf_fmt(out, "  %-22s ", flag_code_names[i]);
        text_wrap(out, flag_code_meaning(i), 25, 25, REPORT_COLUMNS);
    }
}

void text_method(struct arena *a, struct buf *out)
{
    struct method m = method_default();
    buf_fmt(out, "Method %s\n\n", METHOD_ID);
    text_wrap(
        out,
        "jtok measures the GPU energy of an LLM inference service over one cold start: startup, formal requests, "
        "release; per output token, with its uncertainty. The source method is Benchmark 1.5. Where it is silent, jtok "
        "decides; each such decision is marked [D] and stored with every result. docs/METHOD.md has the whole method.",
        0, 0, REPORT_COLUMNS);
    buf_str(out, "\nParameters (jtok analyze --set KEY=VALUE), with the method's own values\n");
    schema_visit(&method_schema, &m, "",
                 &(struct visitor){.self = &(struct parameters){a, out}, .value = put_parameter});
    buf_str(out, "\nDecisions of jtok, each with its section of docs/METHOD.md\n");
    for (size_t i = 0; i < method_decision_count; i++) {
        const struct method_decision *d = &method_decisions[i];
        buf_fmt(out, "  [D] %s  %s\n      ", d->section, d->id);
        text_wrap(out, d->text, 6, 6, REPORT_COLUMNS);
    }
    put_codes(out);
}
