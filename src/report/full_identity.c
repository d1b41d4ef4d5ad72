/* The whole report: what the engine said of itself. */
#include "report/internal.h"
#include "text/wrap.h"

enum { STATE_COLUMN = 22, VALUE_COLUMN = 38 };

static const char *finding_words(struct report *p, const struct result_identity *x)
{
    if (!x->seen)
        return arena_format(&p->arena, "%s by the plan", report_or(p, x->stated, "nothing"));
    const char *value = x->source ? arena_format(&p->arena, "%s (%s)", x->seen, x->source) : x->seen;
    return x->state == CHECK_FAILED ? arena_format(&p->arena, "%s, but the plan says %s", value, x->stated) : value;
}

void full_identity(struct report *p)
{
    static const char *const states[CHECK_OUTCOME_COUNT] = {[CHECK_PASSED] = "verified",
                                                            [CHECK_FAILED] = "wrong",
                                                            [CHECK_NOT_STATED] = "not stated",
                                                            [CHECK_NOT_JUDGED] = "not verifiable",
                                                            [CHECK_NOT_RECORDED] = "not recorded"};
    const struct result_about *about = &p->r->about;
    if (about->identity_count == 0)
        return;
    report_heading(p, "What the engine said of itself, against the plan");
    for (size_t i = 0; i < about->identity_count; i++) {
        const struct result_identity *x = &about->identity[i];
        if (!x->seen && !x->stated)
            continue;
        const char *state = (size_t)x->state < CHECK_OUTCOME_COUNT ? states[x->state] : NULL;
        buf_fmt(p->out, "  %-*s%-*s", STATE_COLUMN - 2, report_or(p, x->name, "?"), VALUE_COLUMN - STATE_COLUMN,
                state ? state : "not known");
        text_wrap(p->out, finding_words(p, x), VALUE_COLUMN, VALUE_COLUMN, REPORT_COLUMNS);
    }
}
