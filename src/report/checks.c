/* What can be trusted: the verdict with the checks that exclude and the flags, and all the others. */
#include "base/columns.h"
#include "base/must.h"
#include "report/internal.h"
#include "report/report.h"
#include "text/wrap.h"

/* A name in its look, padded by what the escapes do not count. */
static void put_code(struct report *p, enum report_look look, const char *name, const char *text)
{
    enum { INDENT = 29 }; /* the longest name and two spaces */
    must(columns_text(name) + 4 < INDENT);
    buf_str(p->out, "    ");
    report_look(p, look, name);
    buf_fmt(p->out, "%*s", (int)(INDENT - 4 - columns_text(name)), "");
    text_wrap(p->out, text, INDENT, INDENT, REPORT_COLUMNS);
}

static void put_excluded(struct report *p)
{
    const struct result *r = p->r;
    buf_str(p->out, "  ");
    report_look(p, LOOK_BAD, "EXCLUDED");
    buf_fmt(p->out, "  not a %s run: %s\n", result_has_loads(r) ? "valid" : "formal", result_checks_text(r, &p->arena));
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < r->check_count; i++) {
            const struct result_check *c = &r->checks[i];
            must(c->code < CODE_COUNT);
            if (pass == 0 && c->outcome == CHECK_FAILED)
                put_code(p, LOOK_BAD, check_code_names[c->code], report_or(p, c->why, "failed"));
            if (pass == 1 && c->outcome == CHECK_NOT_RECORDED)
                put_code(p, LOOK_FAINT, check_code_names[c->code],
                         arena_format(&p->arena, "not recorded: %s", report_or(p, c->why, "")));
            if (pass == 1 && c->outcome == CHECK_NOT_CHECKED)
                put_code(p, LOOK_FAINT, check_code_names[c->code],
                         arena_format(&p->arena, "not checked%s%s", c->why ? ": " : "", report_or(p, c->why, "")));
        }
}

void full_trust(struct report *p)
{
    const struct result *r = p->r;
    if (r->about.simulated) {
        buf_str(p->out, "  ");
        report_look(p, LOOK_BAD, "SIMULATED");
        buf_fmt(p->out, "  %s No figure below is a measurement of hardware.\n",
                report_or(p, r->flags[FLAG_SIMULATED].why, ""));
    }
    const enum run_standing standing = result_standing(r);
    if (standing != STANDING_EXCLUDED) {
        buf_str(p->out, "  ");
        report_look(p, LOOK_GOOD, r->about.differences || standing == STANDING_VALID ? "VALID" : "FORMAL");
        buf_fmt(p->out, "  %s\n", result_checks_text(r, &p->arena));
        if (r->loads.shortened)
            buf_fmt(p->out, "  SHORTENED, so compared with nothing. %s\n", r->loads.shortened);
    } else {
        put_excluded(p);
    }
    bool any = false;
    for (size_t i = 0; i < r->flag_count; i++) {
        const struct result_flag *m = &r->flags[i];
        must(m->code < FLAG_COUNT);
        if (m->outcome != CHECK_FAILED || m->code == FLAG_SIMULATED)
            continue;
        if (!any)
            buf_str(p->out, "  flags\n");
        any = true;
        put_code(p, LOOK_MARK, flag_code_names[m->code], report_or(p, m->why, ""));
    }
    if (r->about.differences) {
        buf_str(p->out, "  ");
        report_look(p, LOOK_MARK, "OTHER RULES THAN THE METHOD'S");
        buf_fmt(p->out, "  analysed with %s\n", report_or(p, r->about.differences, ""));
    }
}

/* `words`: what each enum check_outcome is called here. */
static void outcome_line(struct report *p, const char *name, enum check_outcome outcome, const char *const *words,
                         const char *why)
{
    enum { NAME = 26, INDENT = 40 };
    must(outcome < CHECK_OUTCOME_COUNT);
    const char *word = words[outcome];
    buf_fmt(p->out, "  %-*s", NAME - 2, name);
    buf_str(p->out, word);
    buf_fmt(p->out, "%*s", (int)(INDENT - NAME - columns_text(word)), "");
    text_wrap(p->out, why ? why : "no reason was recorded", INDENT, INDENT, REPORT_COLUMNS);
}

/* What failed, or could not be decided, and the flags that the run carries stand at the top of the report. */
void full_checks(struct report *p)
{
    static const char *const check_texts[] = {"not checked",  "passed",     "failed",
                                              "not recorded", "not stated", "not judged"};
    static const char *const flag_texts[] = {"not checked", "no", "yes", "not recorded", "not stated", "not judged"};
    const struct result *r = p->r;
    report_heading(p, "Checks that exclude nothing (docs/CHECKS.md: what each of them is, and what to do about it)");
    for (size_t i = 0; i < r->check_count; i++)
        if (!check_excludes(r->checks[i].outcome))
            outcome_line(p, check_code_names[r->checks[i].code], r->checks[i].outcome, check_texts, r->checks[i].why);
    report_heading(p, "Other flags");
    for (size_t i = 0; i < r->flag_count; i++)
        if (r->flags[i].outcome != CHECK_FAILED)
            outcome_line(p, flag_code_names[r->flags[i].code], r->flags[i].outcome, flag_texts, r->flags[i].why);
}

void report_checks(const struct result *r, const struct report_options *options, struct buf *out)
{
    struct report p;
    report_init(&p, r);
    report_seal(&p, options);
    full_trust(&p);
    full_checks(&p);
    report_done(&p, options->colour, out);
}
