#include "cli/sides.h"

#include "base/must.h"
#include "cli/show.h"
#include "report/report.h"
#include "report/table.h"
#include "text/wrap.h"

void sides_put(const char *letter, const struct run_list *s, struct arena *a, struct buf *out)
{
    must(s->count > 0);
    const struct result *first = s->runs[0].result;
    const char *text = arena_format(a, "%s  %zu run%s of %s%s%s%s: ", letter, s->count, s->count == 1 ? "" : "s",
                                    first->about.engine                  ? first->about.engine
                                    : first->loads.object == OBJECT_STAT ? "a command"
                                                                         : "an unknown engine",
                                    first->about.engine_version ? " " : "",
                                    first->about.engine_version ? first->about.engine_version : "",
                                    first->about.simulated ? ", SIMULATED" : "");
    for (size_t i = 0; i < s->count; i++)
        text = arena_format(a, "%s%s%s", text, i ? ", " : "", compare_id(s->runs[i].result));
    text_wrap(out, text, 0, 3, REPORT_COLUMNS);
}

void sides_put_items(const struct sentences *items, struct buf *out)
{
    for (size_t i = 0; i < items->count; i++)
        show_item(items->items[i], out);
}

void sides_put_refusal(const struct sentences *reasons, struct buf *out)
{
    must(reasons->count > 0);
    buf_str(out, "\nNot compared, because the method does not allow it:\n");
    sides_put_items(reasons, out);
}
