#include "cli/load_args.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "base/must.h"
#include "base/num.h"
#include "schema/problems.h"
#include "schema/set.h"

enum { LOADS_MAX = 100 };

struct applying {
    const struct load_choices *o;
    struct plan *plan;
    struct problems problems;
    struct plan_load loads[LOADS_MAX];
    size_t count;
};

static void __attribute__((format(printf, 3, 4))) problem(struct applying *p, const char *option, const char *text, ...)
{
    char said[400];
    va_list arguments;
    va_start(arguments, text);
    vsnprintf(said, sizeof said, text, arguments);
    va_end(arguments);
    problems_add_at(&p->problems, option, 0, 0, NULL, "%s", said);
}

/* ---- texts ---- */

bool load_args_seconds(struct span text, double *ret_s)
{
    static const struct {
        const char *name;
        double s;
    } units[] = {{"ms", 1e-3}, {"s", 1}, {"min", 60}, {"m", 60}, {"h", 3600}, {"", 1}};
    size_t digits = 0;
    while (digits < text.n && strchr("0123456789.", text.p[digits]))
        digits++;
    struct span unit = {text.p + digits, text.n - digits};
    double value;
    if (digits == 0 || !num_f64((struct span){text.p, digits}, &value))
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (span_is(unit, units[i].name)) {
            *ret_s = value * units[i].s;
            return true;
        }
    return false;
}

/* Cuts off the first item of a list with commas. False at its end. */
static bool next_item(struct span *list, struct span *ret_item)
{
    if (!list->p)
        return false;
    const char *comma = memchr(list->p, ',', list->n);
    size_t n = comma ? (size_t)(comma - list->p) : list->n;
    *ret_item = span_trim((struct span){list->p, n});
    *list = comma ? (struct span){comma + 1, list->n - n - 1} : (struct span){0};
    return true;
}

/* "name=value", or a value alone: then `ret_name` is empty. */
static struct span split_item(struct span item, struct span *ret_name)
{
    const char *equals = item.n ? memchr(item.p, '=', item.n) : NULL;
    size_t n = equals ? (size_t)(equals - item.p) : 0;
    *ret_name = (struct span){item.p, n};
    return equals ? (struct span){equals + 1, item.n - n - 1} : item;
}

/* ---- loads ---- */

static struct plan_load *add_load(struct applying *p, enum load_kind kind)
{
    if (p->count == LOADS_MAX) {
        problem(p, "--loads", "These are over 100 loads. Take several runs.");
        p->count = 0;
    }
    struct plan_load *l = &p->loads[p->count++];
    *l = plan_load_default();
    l->kind = kind;
    return l;
}

/* One value of --loads, typed as the plan's key is. */
static void add_value(struct applying *p, enum load_kind kind, struct span value)
{
    struct plan_load *l = add_load(p, kind);
    schema_set(&plan_load_schema, l, "--loads", span_of(load_kind_names[kind]), value, &p->problems);
}

static void read_loads(struct applying *p, const char *text)
{
    struct span list = span_of(text), item, name, kind = {0};
    while (next_item(&list, &item)) {
        struct span value = split_item(item, &name);
        if (!name.n && span_is(value, "burst")) {
            add_load(p, LOAD_BURST);
            kind = (struct span){0};
            continue;
        }
        kind = name.n ? name : kind;
        if (span_is(kind, "concurrency"))
            add_value(p, LOAD_CONCURRENCY, value);
        else if (span_is(kind, "rate"))
            add_value(p, LOAD_RATE, value);
        else {
            problem(p, "--loads",
                    "\"%.*s\" is not a load. Give for example concurrency=1,8,64 or rate=1,2,4, and burst for all at "
                    "once.",
                    SPAN_ARG(item));
            return;
        }
    }
}

/* Which of the options name loads: one of them may. */
static void apply_loads(struct applying *p)
{
    const struct load_choices *o = p->o;
    const struct {
        const char *name;
        bool given;
    } ways[] = {{"--concurrency", o->concurrency != ABSENT_I64},
                {"--rate", !isnan(o->rate)},
                {"--trace", o->trace},
                {"--loads", o->loads}};
    const char *first = NULL;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (ways[i].given && first)
            problem(p, ways[i].name, "%s names the load already. Keep one of them; --loads takes a list.", first);
        if (ways[i].given && !first)
            first = ways[i].name;
    }
    if (p->problems.count)
        return;
    if (o->concurrency != ABSENT_I64)
        add_load(p, LOAD_CONCURRENCY)->concurrency = o->concurrency;
    if (!isnan(o->rate))
        add_load(p, LOAD_RATE)->rate = o->rate;
    if (o->trace)
        add_load(p, LOAD_TRACE)->file = o->trace;
    if (o->loads)
        read_loads(p, o->loads);
}

/* ---- what is said of all of them ---- */

static void take_arrivals(struct applying *p)
{
    const struct load_choices *o = p->o;
    bool kind = !ENUM_ABSENT(o->arrivals), shape = !isnan(o->burstiness), used = false;
    for (size_t i = 0; i < p->count; i++) {
        struct plan_load *l = &p->loads[i];
        if (l->kind != LOAD_RATE)
            continue;
        used = true;
        if (kind)
            l->arrivals = o->arrivals;
        if (shape) {
            l->burstiness = o->burstiness;
            l->arrivals = kind ? o->arrivals : ARRIVAL_GAMMA;
        }
    }
    if ((kind || shape) && !used)
        problem(p, kind ? "--arrivals" : "--burstiness",
                "There is no load by rate that it could be meant for. Give --rate, or leave it out.");
}

static bool read_time(const char *text, double *ret_s)
{
    double s;
    if (!load_args_seconds(span_of(text), &s) || !(s >= 0.1 && s <= 1e7))
        return false;
    *ret_s = s;
    return true;
}

bool load_args_for(const char *text, double *ret_s, struct err *e)
{
    return read_time(text, ret_s) ||
           err_set(e, ERR_PLAN, "--for: \"%s\" is not a time from 0.1 s on. Give for example 90s, 10m or 1h.", text);
}

static void apply_time(struct applying *p)
{
    double s;
    bool used = false;
    if (!p->o->how_long)
        return;
    if (!read_time(p->o->how_long, &s)) {
        problem(p, "--for", "\"%s\" is not a time from 0.1 s on. Give for example 90s, 10m or 1h.", p->o->how_long);
        return;
    }
    for (size_t i = 0; i < p->count; i++) {
        bool timed = p->loads[i].kind != LOAD_BURST;
        used |= timed;
        if (timed)
            p->loads[i].for_s = s;
    }
    if (!used)
        problem(p, "--for",
                "There is no load that it could end: all requests at once end by themselves. Give --concurrency, "
                "--rate, --trace or --loads.");
}

/* The count is each load's. The set is the whole file, which the loads go on in; random prompts go on without end. */
static void apply_count(struct applying *p, bool counted)
{
    int64_t *count = &p->plan->requests.count;
    for (size_t i = 0; i < p->count && counted; i++)
        p->loads[i].count = *count;
    if (counted && !plan_is_random(p->plan))
        *count = ABSENT_I64;
}

static void take_slo(struct applying *p)
{
    struct plan_slo *slo = &p->plan->slo;
    const struct {
        const char *name;
        double *s;
    } limits[] = {{"ttft", &slo->ttft_s}, {"tpot", &slo->tpot_s}, {"e2e", &slo->e2e_s}};
    struct span list = p->o->slo ? span_of(p->o->slo) : (struct span){0}, item, name;
    while (next_item(&list, &item)) {
        double s = 0, *limit = NULL;
        struct span value = split_item(item, &name);
        for (size_t i = 0; i < 3; i++)
            if (span_is(name, limits[i].name))
                limit = limits[i].s;
        if (!limit || !load_args_seconds(value, &s) || !(s >= 1e-6 && s <= 1e6))
            problem(p, "--slo",
                    "\"%.*s\" is not a limit. Give some of ttft, tpot and e2e, for example ttft=2s,tpot=50ms.",
                    SPAN_ARG(item));
        else
            *limit = s;
    }
}

bool load_args_apply(const struct load_choices *o, bool counted, struct arena *a, struct plan *plan, struct err *e)
{
    must(o && plan);
    struct applying p = {.o = o, .plan = plan};
    problems_init(&p.problems, a, NULL);
    apply_loads(&p);
    if (p.count == 0 && p.problems.count == 0 && plan->load_count <= LOADS_MAX) { /* the plan's own */
        p.count = plan->load_count;
        if (p.count)
            memcpy(p.loads, plan->loads, p.count * sizeof *p.loads);
    }
    if (p.problems.count == 0) {
        take_arrivals(&p);
        apply_time(&p);
    }
    take_slo(&p);
    if (!problems_none(&p.problems, ERR_PLAN, e))
        return false;
    if (p.count == 0)
        return true;
    apply_count(&p, counted);
    plan->loads = arena_array(a, p.count, sizeof *plan->loads);
    memcpy(plan->loads, p.loads, p.count * sizeof *plan->loads);
    plan->load_count = p.count;
    return true;
}
