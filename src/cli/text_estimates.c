#include "cli/texts.h"

#include <math.h>
#include "base/must.h"
#include "report/number.h"
#include "report/report.h"
#include "report/table.h"
#include "text/wrap.h"

static const char *share_text(const struct quantity *q, struct arena *a)
{
    return quantity_has_value(q) ? arena_format(a, "%.2f %%", 100 * q->value) : number_text_quantity(a, q);
}

static void put_table(const struct estimate *list, size_t n, bool ranged, struct arena *a, struct buf *out)
{
    struct table t;
    table_init(&t, a, "rrrrrrl");
    static const char *const head[] = {"N", "E(N), J", "J/request", "J/token", "start and stop J/request", "share"};
    for (size_t i = 0; i < 6; i++)
        table_cell(&t, head[i]);
    table_cell(&t, ranged ? "range of E(N), J" : "");
    for (size_t i = 0; i < n; i++) {
        const struct estimate *s = &list[i];
        table_cell(&t, number_text_i64(a, s->requests));
        table_cell(&t, number_text_instrument(a, &s->total_j));
        table_cell(&t, number_text_quantity(a, &s->per_request_j));
        table_cell(&t, number_text_quantity(a, &s->j_per_token));
        table_cell(&t, number_text_quantity(a, &s->overhead_per_request_j));
        table_cell(&t, share_text(&s->overhead_share, a));
        table_cell(&t, isnan(s->low_j)
                           ? ""
                           : arena_format(a, "%s to %s", number_text(a, s->low_j, 5), number_text(a, s->high_j, 5)));
    }
    table_put(&t, out, 0);
}

void text_estimates(const struct result *r, const struct estimate *list, size_t n, struct arena *a, struct buf *out)
{
    must(n > 0);
    const struct result_estimate *x = &r->estimate;
    buf_fmt(out, "Run %s%s%s\n", r->about.run_id ? r->about.run_id : "without id",
            r->about.simulated ? ", SIMULATED" : "",
            r->formal                              ? ", formal"
            : result_standing(r) == STANDING_VALID ? ", valid, under other loads"
                                                   : ", excluded from the formal results");
    buf_fmt(out, "E(N) = %s J + N x %s J; energy per request from: %s.\n\n", number_text_instrument(a, &x->fixed_j),
            number_text_instrument(a, &x->e_request_j), x->source ? x->source : "not recorded");
    put_table(list, n, x->ranged, a, out);
    buf_byte(out, '\n');
    if (x->ranged)
        text_wrap(out,
                  "The three ways to compute the energy of a request differ by more than 10 %, so the range is shown.",
                  0, 0, REPORT_COLUMNS);
    text_wrap(
        out,
        "± is the instrument's own uncertainty; the assumed limits of the sensors are under \"calibration\" in the "
        "JSON. The estimate holds for this load and configuration, without idle gaps between requests. Where there "
        "is a measured value, use that.",
        0, 0, REPORT_COLUMNS);
}
