#include "cli/texts.h"

#include "base/must.h"
#include "report/number.h"
#include "report/table.h"

void text_listing(const struct listed_run *runs, size_t n, struct arena *a, struct buf *out)
{
    must(n > 0);
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
