#include "analysis/split.h"

#include <assert.h>
#include <math.h>
#include "analysis/attribution.h"
#include "model/limits.h"
#include "base/must.h"

/* ---- the choice of E(t) ---- */

struct choice {
    enum curve_source source;
    struct energy_curve curve; /* of a source */
    struct quantity scale, formal_j;
};

static bool all_cover(const struct formal *f, bool buffer)
{
    for (size_t i = 0; i < f->meters->gpu_count; i++) {
        const struct gpu_series *g = &f->meters->gpus[i];
        if (!curve_covers(buffer ? &g->buffer : &g->grid, f->start_ns, f->end_ns))
            return false;
    }
    return f->meters->gpu_count > 0;
}

static struct energy_curve by_power(const struct formal *f, bool buffer, double scale, struct arena *a)
{
    size_t n = f->meters->gpu_count;
    const struct curve **curves = arena_array(a, n, sizeof *curves);
    for (size_t i = 0; i < n; i++)
        curves[i] = buffer ? &f->meters->gpus[i].buffer : &f->meters->gpus[i].grid;
    return energy_curve_of_power(curves, n, scale, a);
}

static struct energy_curve by_counter(const struct formal *f, struct arena *a)
{
    size_t n = f->meters->gpu_count;
    const struct counter **counters = arena_array(a, n, sizeof *counters);
    for (size_t i = 0; i < n; i++)
        counters[i] = &f->meters->gpus[i].counter;
    return energy_curve_of_counters(counters, n, a);
}

static struct choice choose_parts(const struct formal *f, struct arena *a)
{
    const struct energy_set *e = &f->stage->energy;
    const struct quantity no_scale =
        quantity_absent(Q_NOT_RECORDED, "E(t) is not the buffer, or there is no counter to scale it to");
    if (all_cover(f, true)) {
        bool scale = quantity_has_value(&e->counter) && e->buffer.value > 0;
        double by = scale ? e->counter.value / e->buffer.value : 1;
        return (struct choice){CURVE_BUFFER, by_power(f, true, by, a), scale ? quantity_of(by) : no_scale,
                               scale ? e->counter : e->buffer};
    }
    if (quantity_has_value(&e->counter))
        return (struct choice){CURVE_COUNTER, by_counter(f, a), no_scale, e->counter};
    if (all_cover(f, false))
        return (struct choice){CURVE_GRID, by_power(f, false, 1, a), no_scale, e->grid};
    return (struct choice){
        .source = CURVE_NONE,
        .scale = no_scale,
        .formal_j = quantity_absent(Q_NOT_COVERED, "no series of power covers the formal stage on every GPU")};
}

static struct choice choose_drawn(const struct formal *f, struct arena *a)
{
    struct choice c = choose_parts(f, a);
    if (c.source != CURVE_NONE && c.curve.n < 2) {
        c.source = CURVE_NONE;
        c.formal_j = quantity_absent(Q_UNDEFINED, "no GPU's counter changed, so there is no energy to split");
    }
    return c;
}

/* ---- under each rule ---- */

static struct quantity failed_energy(const struct formal *f, const struct energy_curve *c, struct arena *a)
{
    const struct token_chains *s = f->chains;
    struct interval *x = arena_array(a, s->request_count, sizeof *x);
    size_t n = 0;
    for (size_t i = 0; i < s->request_count; i++) {
        const struct rec_request *q = &s->requests[i];
        if (!s->chains[i].success && q->submit_ns != ABSENT_I64)
            x[n++] = (struct interval){q->submit_ns, q->end_ns == ABSENT_I64 ? f->end_ns : q->end_ns};
    }
    return quantity_of(attribution_union_j(c, f->start_ns, f->end_ns, x, n));
}

static int64_t count_by_interval(const struct token_chains *s)
{
    int64_t n = 0;
    for (size_t i = 0; i < s->request_count; i++)
        n += s->chains[i].by_interval;
    return n;
}

static struct split_rule split_by(const struct formal *f, const struct choice *c, enum rule rule, struct arena *a)
{
    assert(c->source != CURVE_NONE);
    const struct attribution x = attribute(f->chains, &c->curve, f->start_ns, f->end_ns, rule, a);
    double formal_j = c->formal_j.value, apart_j = fabs(x.attributed_j + x.none_j - formal_j);
    struct quantity closure = formal_j > 0 ? quantity_of(apart_j / formal_j)
                                           : quantity_absent(Q_UNDEFINED, "the formal stage took no energy");
    return (struct split_rule){.attributed_j = quantity_of(x.attributed_j),
                               .no_generation_j = quantity_of(x.none_j),
                               .closure = closure,
                               .closed = formal_j > 0 ? closure.value <= METHOD_CLOSURE : x.attributed_j == 0,
                               .by_interval = rule == RULE_GAP ? count_by_interval(f->chains) : ABSENT_I64,
                               .energy_j = x.energy_j};
}

struct split split_formal(const struct formal *f, struct arena *a)
{
    must(f->start_ns < f->end_ns && f->stage->stage == STAGE_FORMAL);
    const struct choice c = choose_drawn(f, a);
    struct split s = {.source = c.source, .scale = c.scale, .formal_j = c.formal_j};
    const struct quantity none = quantity_absent(c.formal_j.state, c.formal_j.why);
    s.failed_active_j = c.source == CURVE_NONE ? none : failed_energy(f, &c.curve, a);
    for (int k = 0; k < RULE_COUNT; k++)
        s.rules[k] = c.source == CURVE_NONE ? (struct split_rule){.attributed_j = none,
                                                                  .no_generation_j = none,
                                                                  .closure = none,
                                                                  .by_interval = ABSENT_I64}
                                            : split_by(f, &c, (enum rule)k, a);
    return s;
}
