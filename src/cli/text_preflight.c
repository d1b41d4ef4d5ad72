#include "cli/texts.h"

#include <string.h>
#include "report/report.h"
#include "text/wrap.h"

enum { STATE = 8, LABEL = 18 };

static void put_line(const struct preflight_line *x, struct buf *out)
{
    static const char spaces[] = "                    ";
    int pad = (int)strlen(x->label) < LABEL ? LABEL - (int)strlen(x->label) : 1;
    buf_fmt(out, "%-*s%s%.*s", STATE, preflight_state_names[x->state], x->label, pad, spaces);
    if (!x->advice || x->state == PREFLIGHT_WARNED)
        text_wrap(out, x->seen ? x->seen : "n/a", STATE + LABEL, STATE + LABEL, SCREEN_COLUMNS - 2);
    if (!x->advice)
        return;
    if (x->state == PREFLIGHT_WARNED)
        buf_fmt(out, "%*s", STATE + LABEL, "");
    text_wrap(out, x->advice, STATE + LABEL, STATE + LABEL, SCREEN_COLUMNS - 2);
}

void text_preflight(const struct doctor_plan *d, const char *margin, struct buf *out)
{
    struct buf text = {0};
    for (size_t i = 0; i < d->line_count; i++)
        put_line(&d->lines[i], &text);
    buf_fmt(&text, "%lld passed, %lld warned, %lld failed.\n", (long long)d->passed, (long long)d->warned,
            (long long)d->failed);
    for (const char *at = buf_text(&text); *at;) {
        size_t n = strcspn(at, "\n");
        buf_fmt(out, "%s%.*s\n", margin, (int)n, at);
        at += n + (at[n] == '\n');
    }
    buf_done(&text);
}
