/* The whole report: the stages, the start by phase, the GPUs and how they came to rest. */
#include <math.h>
#include <string.h>
#include "base/must.h"
#include "report/internal.h"
#include "report/words.h"

/* ---- stages ---- */

static const struct quantity *series_of(const struct result_stage *s, enum series_id series)
{
    return energy_series((struct energy_set *)(uintptr_t)&s->energy, series);
}

/* The headline series is marked; a stage's sum of different ones (the lifecycle) marks none. */
static const char *series_cell(struct report *p, const struct result_stage *s, enum series_id series)
{
    must(series < SERIES_COUNT);
    bool headline = s->energy.headline_series == series && s->stage != STAGE_LIFECYCLE;
    return arena_format(&p->arena, "%s%s", report_cell(p, series_of(s, series)), headline ? "*" : " ");
}

/* A stage with no energy by any series has its reason below the tables instead of a row. */
static bool has_energy(const struct result_stage *s)
{
    for (enum series_id k = 0; k < SERIES_COUNT; k++)
        if (quantity_has_value(series_of(s, k)))
            return true;
    return quantity_has_value(&s->energy.headline);
}

static void series_table(struct report *p)
{
    struct table t;
    table_init(&t, &p->arena, "lddddddd");
    full_head_row(&t, (const char *const[]){"", "s", "counter ", "power 1 s ", "+ boundaries ", "power 20 ms ",
                                            "precise ", "W", NULL});
    for (size_t i = 0; i < p->r->stage_count; i++) {
        const struct result_stage *s = &p->r->stages[i];
        if (!has_energy(s))
            continue;
        table_cell(&t, words_stage(s->stage));
        table_cell(&t, full_seconds(p, s->duration_s));
        table_cell(&t, series_cell(p, s, SERIES_COUNTER));
        table_cell(&t, series_cell(p, s, SERIES_GRID));
        table_cell(&t, series_cell(p, s, SERIES_BOUNDARY));
        table_cell(&t, series_cell(p, s, SERIES_BUFFER));
        table_cell(&t, series_cell(p, s, SERIES_PRECISE));
        table_cell(&t, report_cell(p, &s->average_w));
    }
    table_put(&t, p->out, 2);
}

/* What a reader must not take for more than it is. */
static void stage_warnings(struct report *p)
{
    for (size_t i = 0; i < p->r->stage_count; i++) {
        const struct result_stage *s = &p->r->stages[i];
        if (has_energy(s) && s->contradiction)
            report_line(p, arena_format(&p->arena, "The instruments contradict each other in \"%s\": %s.",
                                        words_stage(s->stage), s->contradiction));
    }
}

static void headline_table(struct report *p)
{
    struct table t;
    table_init(&t, &p->arena, "ldllddd");
    full_head_row(&t, (const char *const[]){"", "counts", "instrument", "calibration", "at 1 s/counter",
                                            "at 20 ms/counter", "counts/precise", NULL});
    for (size_t i = 0; i < p->r->stage_count; i++) {
        const struct result_stage *s = &p->r->stages[i];
        if (!has_energy(s))
            continue;
        table_cell(&t, words_stage(s->stage));
        table_cell(&t, report_cell(p, &s->energy.headline));
        table_cell(&t, number_text_uncertainty(&p->arena, s->energy.headline.instrument));
        table_cell(&t, number_text_uncertainty(&p->arena, s->energy.headline.calibration));
        table_cell(&t, report_percent(p, &s->grid_difference, true));
        table_cell(&t, report_percent(p, &s->buffer_difference, true));
        table_cell(&t, report_percent(p, &s->sampling_error, true));
    }
    buf_byte(p->out, '\n');
    table_put(&t, p->out, 2);
}

/* Each GPU's part of the three stages, where there are several. */
static void gpu_table(struct report *p)
{
    static const enum stage_id stages[] = {STAGE_STARTUP, STAGE_FORMAL, STAGE_RELEASE};
    const struct result *r = p->r;
    if (r->gpu_count < 2)
        return;
    struct table t;
    table_init(&t, &p->arena, "ldlldddd");
    full_head_row(&t, (const char *const[]){"", "counts", "instrument", "calibration", "counter", "power 1 s",
                                            "power 20 ms", "W", NULL});
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        const struct result_stage *s = result_stage_of(r, stages[i]);
        for (size_t g = 0; g < s->gpu_count; g++) {
            must((size_t)s->gpus[g].gpu < r->gpu_count);
            const struct energy_set *e = &s->gpus[g].energy;
            table_cell(&t, arena_format(&p->arena, "%s, GPU %lld", words_stage(s->stage),
                                        (long long)r->gpus[s->gpus[g].gpu].index));
            table_cell(&t, report_cell(p, &e->headline));
            table_cell(&t, number_text_uncertainty(&p->arena, e->headline.instrument));
            table_cell(&t, number_text_uncertainty(&p->arena, e->headline.calibration));
            table_cell(&t, report_cell(p, &e->counter));
            table_cell(&t, report_cell(p, &e->grid));
            table_cell(&t, report_cell(p, &e->buffer));
            table_cell(&t, report_cell(p, &s->gpus[g].average_w));
        }
    }
    buf_byte(p->out, '\n');
    table_put(&t, p->out, 2);
}

static bool same_reason(const struct quantity *x, const struct quantity *y)
{
    return x->state == y->state && strcmp(x->why ? x->why : "", y->why ? y->why : "") == 0;
}

/* Reasons of what is absent in the two tables; a series that lacks every stage for one reason is named once. */
static void stage_reasons(struct report *p)
{
    static const char *const heads[SERIES_COUNT] = {"power 1 s", "+ boundaries", "counter", "power 20 ms", "precise"};
    const size_t most = (1 + SERIES_COUNT) * p->r->stage_count;
    const struct quantity **all = arena_array(&p->arena, most, sizeof *all);
    const char **names = arena_array(&p->arena, most, sizeof *names);
    size_t n = 0;
    /* First what counts, then each series. */
    for (size_t row = 0; row <= SERIES_COUNT; row++) {
        const enum series_id k = row ? (enum series_id)(row - 1) : SERIES_COUNT;
        size_t first = n;
        bool same = true;
        for (size_t i = 0; i < p->r->stage_count; i++) {
            const struct result_stage *s = &p->r->stages[i];
            if (!has_energy(s))
                continue;
            all[n] = row == 0 ? &s->energy.headline : series_of(s, k);
            same = same && (n == first || same_reason(all[n], all[first]));
            names[n++] = arena_format(&p->arena, "%s (%s)", row == 0 ? "what counts" : heads[k], words_stage(s->stage));
        }
        if (same && n > first + 1) {
            n = first + 1;
            names[first] = row == 0 ? "what counts" : heads[k];
        }
    }
    report_reasons(p, all, names, n);
}

/* jtok's own waits, which are in the stages' energy. */
static void put_waits(struct report *p)
{
    const char *text = NULL;
    for (size_t i = 0; i < p->r->stage_count; i++) {
        const struct result_stage *s = &p->r->stages[i];
        if (isnan(s->wait_s))
            continue;
        const char *joules = quantity_has_value(&s->wait_j)
                                 ? arena_format(&p->arena, "%s J %s (%s)", report_cell(p, &s->wait_j),
                                                number_text_uncertainty(&p->arena, s->wait_j.instrument),
                                                report_percent(p, &s->wait_share, false))
                                 : report_cell(p, &s->wait_j);
        text = arena_format(&p->arena, "%s%s: %s s, %s", text ? arena_format(&p->arena, "%s; ", text) : "",
                            words_stage(s->stage), number_text(&p->arena, s->wait_s, 3), joules);
    }
    if (text)
        report_item(p, 2, 4, "jtok's own waits:",
                    arena_format(
                        &p->arena,
                        "%s. They are part of the stage; the share leaves out the silence before the requests.", text));
}

static void full_phases(struct report *p)
{
    static const char *const names[PHASE_COUNT] = {[PHASE_PROCESS] = "process, imports, to the first use of a GPU",
                                                   [PHASE_WEIGHTS] = "weights loaded",
                                                   [PHASE_COMPILE] = "compiled",
                                                   [PHASE_GRAPHS] = "graphs captured",
                                                   [PHASE_SERVING] = "answering",
                                                   [PHASE_READY] = "ready: a first request answered",
                                                   [PHASE_WARMUP] = "warm-up requests answered",
                                                   [PHASE_REST] = "the rest"};
    const struct result *r = p->r;
    if (r->startup_phase_count < 2) /* nothing cuts it */
        return;
    bool precise = quantity_has_value(&result_stage_of(r, STAGE_STARTUP)->energy.precise);
    report_heading(p, "The start by phase, each up to what its name says (by %s)",
                   precise ? "the power of 20 ms, scaled to the counter" : "the counter");
    struct table t;
    table_init(&t, &p->arena, "lddd");
    full_head_row(&t, (const char *const[]){"", "s", "J", "W", NULL});
    for (size_t i = 0; i < r->startup_phase_count; i++) {
        const struct result_phase *x = &r->startup_phases[i];
        must(x->phase < PHASE_COUNT);
        table_cell(&t, names[x->phase]);
        table_cell(&t, full_seconds(p, x->duration_s));
        table_cell(&t, report_cell(p, &x->energy_j));
        table_cell(&t, report_cell(p, &x->average_w));
    }
    table_put(&t, p->out, 2);
}

void full_stages(struct report *p)
{
    const struct result *r = p->r;
    report_heading(p, "Energy by stage and instrument, J, all GPUs together (* counts, by %s)",
                   headline_names[r->method.headline]);
    series_table(p);
    report_line(p,
                "counter: the board's energy counter. power 1 s: read once a second; + boundaries: also where a stage "
                "begins or ends. power 20 ms: the driver's own samples; precise: these, scaled to the counter.");
    headline_table(p);
    gpu_table(p);
    stage_warnings(p);
    stage_reasons(p);
    for (size_t i = 0; i < r->stage_count; i++) {
        const struct result_stage *s = &r->stages[i];
        struct quantity absent = s->energy.headline;
        const struct quantity *one = &absent;
        const char *name = words_stage(s->stage);
        absent.why = s->why ? s->why : absent.why;
        if (!has_energy(s))
            report_reasons(p, &one, &name, 1);
    }
    put_waits(p);
    full_phases(p);
}

/* ---- GPUs, release ---- */

void full_gpus(struct report *p)
{
    const struct result *r = p->r;
    const struct result_release *x = &r->release;
    report_heading(p, "GPUs, and how they came to rest (s after the last answer)");
    struct table t;
    table_init(&t, &p->arena, "rldddddd");
    full_head_row(&t, (const char *const[]){"", "UUID", "idle W", "sd W", "serving W", "ready W", "memory back",
                                            "power back", NULL});
    for (size_t i = 0; i < r->gpu_count; i++) {
        const struct result_gpu *g = &r->gpus[i];
        table_cell(&t, number_text_i64(&p->arena, g->index));
        table_cell(&t, g->uuid ? arena_format(&p->arena, "%.12s", g->uuid) : "not recorded");
        table_cell(&t, report_cell(p, &g->baseline_w));
        table_cell(&t, isnan(g->baseline_sd_w) ? "not recorded" : arena_format(&p->arena, "%.2f", g->baseline_sd_w));
        table_cell(&t, isnan(g->formal_mean_w) ? "not recorded" : arena_format(&p->arena, "%.1f", g->formal_mean_w));
        table_cell(&t, quantity_has_value(&g->ready_level_w) ? arena_format(&p->arena, "%.1f", g->ready_level_w.value)
                                                             : report_cell(p, &g->ready_level_w));
        table_cell(&t, quantity_has_value(&g->memory_released_s) ? full_seconds(p, g->memory_released_s.value)
                                                                 : report_cell(p, &g->memory_released_s));
        table_cell(&t, quantity_has_value(&g->power_recovered_s) ? full_seconds(p, g->power_recovered_s.value)
                                                                 : report_cell(p, &g->power_recovered_s));
    }
    table_put(&t, p->out, 2);
    if (x->closed)
        buf_fmt(p->out, "  At rest after %s s: processes gone %s, memory back %s, power back %s\n",
                full_seconds(p, x->end_s.value), full_seconds(p, x->exit_s.value),
                full_seconds(p, x->memory_released_s.value), full_seconds(p, x->power_recovered_s.value));
    else
        report_item(p, 2, 4, "Not at rest:", x->why ? x->why : "no reason was recorded");
    if (quantity_has_value(&x->resolution_j))
        report_line(p, arena_format(&p->arena,
                                    "Power is read once a second, so the stop may have ended up to one second, %s J at "
                                    "idle power, earlier. That is not part of its ±.",
                                    number_text(&p->arena, x->resolution_j.value, 3)));
    if (x->hold_restarts > 0)
        report_line(p, arena_format(&p->arena,
                                    "Power rose above idle again after the engine was gone. Up to the first sample at "
                                    "idle, %s s after the last answer, the stop took %s J.",
                                    full_seconds(p, x->first_in_band_s.value), report_cell(p, &x->first_in_band_j)));
}
