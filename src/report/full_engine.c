/* The whole report: what the engine says of itself, beside what its clients saw. */
#include <math.h>
#include "base/must.h"
#include "report/internal.h"

/* "2.660 s", or the state in words. */
static const char *scaled(struct report *p, const struct quantity *q, double scale, const char *unit)
{
    if (!quantity_has_value(q) || isnan(q->value))
        return report_cell(p, q);
    return arena_format(&p->arena, "%s%s", number_text(&p->arena, scale * q->value, 4), unit);
}

static const char *mean_text(struct report *p, const struct result_engine_mean *x, double scale, const char *unit,
                             const char *by)
{
    if (!quantity_has_value(&x->mean))
        return arena_format(&p->arena, "%s by %s", report_cell(p, &x->mean), by);
    return arena_format(&p->arena, "%s by %s (%s)", scaled(p, &x->mean, scale, unit), by,
                        number_text_i64(&p->arena, x->n));
}

/* "3.460 s by jtok (750), 3.380 s by the engine (750): 0.080 s apart". */
static void side_by_side(struct report *p, const char *name, const struct result_engine_mean *client,
                         const struct result_engine_mean *engine, const struct quantity *difference, double scale,
                         const char *unit)
{
    struct arena *a = &p->arena;
    const char *text = mean_text(p, engine, scale, unit, "the engine");
    if (client->n != ABSENT_I64)
        text = arena_format(a, "%s, %s", mean_text(p, client, scale, unit, "jtok"), text);
    if (quantity_has_value(difference))
        text = arena_format(a, "%s: %s apart", text, scaled(p, difference, scale, unit));
    full_item(p, name, text);
}

static void put_times(struct report *p, const struct result_engine_times *t)
{
    side_by_side(p, "TTFT, mean", &t->client_ttft_s, &t->ttft_s, &t->ttft_difference_s, 1, " s");
    full_item(p, "  the engine's",
              arena_format(&p->arena, "queue %s (%s of it), prefill %s, its front end %s",
                           scaled(p, &t->queue_s.mean, 1, " s"), report_percent(p, &t->queue_share, false),
                           scaled(p, &t->prefill_s.mean, 1, " s"), scaled(p, &t->front_end_s, 1, " s")));
    side_by_side(p, "TPOT, mean", &t->client_tpot_s, &t->tpot_s, &t->tpot_difference_s, 1000, " ms");
    side_by_side(p, "E2E, mean", &t->client_e2e_s, &t->e2e_s, &t->e2e_difference_s, 1, " s");
    full_item(p, "ITL, mean", mean_text(p, &t->itl_s, 1000, " ms", "the engine"));
    if (quantity_has_value(&t->ttft_difference_s))
        report_line(p, "Apart is what lies between jtok's socket and the engine's clock: the connection, HTTP, and the "
                       "engine's front end before it notes an arrival and after it notes a token. (n): how many.");
}

static const char *gauge_text(struct report *p, const struct result_engine_gauge *g, double scale, const char *unit)
{
    if (!quantity_has_value(&g->mean))
        return report_cell(p, &g->mean);
    return arena_format(&p->arena, "%s in the mean, %s at most", scaled(p, &g->mean, scale, unit),
                        scaled(p, &g->max, scale, unit));
}

static void put_use(struct report *p, const struct result_engine *x)
{
    struct arena *a = &p->arena;
    full_item(p, "running", gauge_text(p, &x->running, 1, ""));
    full_item(p, "waiting", gauge_text(p, &x->waiting, 1, ""));
    full_item(p, "KV cache in use",
              arena_format(a, "%s; preemptions: %s", gauge_text(p, &x->kv_cache_used, 100, " %"),
                           report_cell(p, &x->preemptions)));
    full_item(p, "prefix cache",
              arena_format(a, "held %s of %s prompt tokens: %s", report_cell(p, &x->prefix_hits),
                           report_cell(p, &x->prefix_queries), report_percent(p, &x->prefix_hit_share, false)));
    if (quantity_value(&x->accepted_share) > 0)
        full_item(p, "drafts",
                  arena_format(a, "%s of %s drafted tokens accepted: %s; %s tokens a step",
                               report_cell(p, &x->accepted_tokens), report_cell(p, &x->drafted_tokens),
                               report_percent(p, &x->accepted_share, false), scaled(p, &x->accepted_length, 1, "")));
}

static void put_reasons(struct report *p, const struct result_engine *x)
{
    const struct result_engine_times *t = &x->times;
    const struct quantity *const all[] = {
        &t->ttft_s.mean,  &t->queue_s.mean, &t->prefill_s.mean,     &t->tpot_s.mean, &t->e2e_s.mean, &t->itl_s.mean,
        &x->running.mean, &x->waiting.mean, &x->kv_cache_used.mean, &x->preemptions, &x->prefix_hits};
    static const char *const names[] = {"TTFT",    "queue",   "prefill",  "TPOT",        "E2E",         "ITL",
                                        "running", "waiting", "KV cache", "preemptions", "prefix cache"};
    report_reasons(p, all, names, sizeof names / sizeof *names);
    /* A difference of two that are there has a reason of its own. */
    const struct quantity *const apart[] = {&t->ttft_difference_s, &t->tpot_difference_s, &t->e2e_difference_s,
                                            &t->front_end_s};
    const struct quantity *const of[][2] = {{&t->ttft_s.mean, &t->client_ttft_s.mean},
                                            {&t->tpot_s.mean, &t->client_tpot_s.mean},
                                            {&t->e2e_s.mean, &t->client_e2e_s.mean},
                                            {&t->queue_s.mean, &t->prefill_s.mean}};
    static const char *const pairs[] = {"TTFT apart", "TPOT apart", "E2E apart", "front end"};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (quantity_has_value(of[i][0]) && quantity_has_value(of[i][1]))
            report_reasons(p, &apart[i], &pairs[i], 1);
}

void full_engine(struct report *p, const struct result_engine *x)
{
    must(x);
    /* Of results that do not hold it, and of runs whose engine was never asked. */
    if (x->first_ns == ABSENT_I64 && !quantity_has_value(&x->running.mean)) {
        full_item(p, "by its /metrics", report_or(p, x->why, "not recorded"));
        return;
    }
    if (x->why)
        full_item(p, "by its /metrics", arena_format(&p->arena, "no times and counts: %s", x->why));
    else
        put_times(p, &x->times);
    put_use(p, x);
    if (!x->why)
        put_reasons(p, x);
}
