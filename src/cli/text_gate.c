#include "cli/texts.h"

#include <math.h>
#include "cli/show.h"
#include "cli/sides.h"

void text_gate(const struct gate *g, const struct run_list *base, const struct run_list *candidate, struct arena *a,
               struct buf *out)
{
    buf_fmt(out, "%s: %s%s%s may %s by at most %.4g %%\n", gate_outcome_names[g->outcome], g->metric,
            g->load ? " of load " : "", g->load ? g->load : "", gate_change_names[g->change], 100 * g->limit);
    sides_put("A", base, a, out);
    sides_put("B", candidate, a, out);
    if (g->comparison.reasons.count) {
        sides_put_refusal(&g->comparison.reasons, out);
        return;
    }
    if (!isnan(g->value))
        show_item(arena_format(a, "%s of B against A: %+.2f %%", gate_change_names[g->change], 100 * g->value), out);
    if (g->interval)
        show_item(arena_format(a, "%+.2f to %+.2f %% by %s", 100 * g->low, 100 * g->high, g->interval), out);
    show_item(g->why, out);
    sides_put_items(&g->comparison.notes, out);
}
