#include "golden/coverage.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/doubt.h"
#include "analysis/energy.h"

static const int64_t SECOND = 1000000000, MS = 1000000;
enum { GPUS_MAX = 8, STAGES_MAX = 64 };

/* ---- rows ---- */

static struct coverage_row *row_of(struct coverage *c, const char *name)
{
    for (size_t i = 0; i < c->count; i++)
        if (strcmp(c->rows[i].name, name) == 0)
            return &c->rows[i];
    if (c->count == COVERAGE_ROWS_MAX)
        abort();
    struct coverage_row *row = &c->rows[c->count++];
    *row = (struct coverage_row){0};
    snprintf(row->name, sizeof row->name, "%s", name);
    row->doubts = mem_zero(COVERAGE_CASES_MAX, sizeof *row->doubts);
    row->errors = mem_zero(COVERAGE_CASES_MAX, sizeof *row->errors);
    return row;
}

__attribute__((format(printf, 4, 5))) static void add(struct coverage *c, const struct quantity *q, double truth,
                                                      const char *format, ...)
{
    char name[96];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    if (!quantity_has_value(q) || isnan(truth))
        return;
    struct coverage_row *row = row_of(c, name);
    if (isnan(q->instrument)) {
        row->without++;
        return;
    }
    if (row->n == COVERAGE_CASES_MAX)
        abort();
    double error = fabs(q->value - truth);
    row->held += error <= q->instrument;
    row->doubts[row->n] = q->instrument / truth;
    row->errors[row->n++] = error / truth;
}

static int compare_doubles(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

double coverage_median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, compare_doubles);
    return n == 0 ? (double)NAN : n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

void coverage_done(struct coverage *c)
{
    for (size_t i = 0; i < c->count; i++) {
        free(c->rows[i].doubts);
        free(c->rows[i].errors);
    }
    c->count = 0;
}

/* ---- stages ---- */

struct stage {
    const char *kind;
    int64_t from_ns, to_ns;
    bool sampled; /* startup, formal, lifecycle */
};

struct stages {
    struct stage x[STAGES_MAX];
    size_t n;
    int64_t life_from_ns, life_to_ns;
};

static void stage_add(struct stages *s, const char *kind, int64_t from_ns, int64_t to_ns, bool sampled)
{
    if (s->n < STAGES_MAX && from_ns != ABSENT_I64 && to_ns != ABSENT_I64 && to_ns > from_ns)
        s->x[s->n++] = (struct stage){kind, from_ns, to_ns, sampled};
}

/* The bursts of a recording without a service: rises of the power over half of its range. */
static void find_bursts(const struct curve *power, struct stages *s)
{
    double low = power->w[0], high = power->w[0];
    for (size_t i = 0; i < power->n; i++) {
        low = fmin(low, power->w[i]);
        high = fmax(high, power->w[i]);
    }
    double half = (low + high) / 2;
    int64_t last = ABSENT_I64;
    for (size_t i = 1; i < power->n; i++) {
        if (!(power->w[i - 1] < half && power->w[i] >= half) || (last != ABSENT_I64 && power->t_ns[i] - last < SECOND))
            continue;
        if (last != ABSENT_I64)
            stage_add(s, "burst", last - 60 * MS, power->t_ns[i] - 60 * MS, false);
        else
            s->life_from_ns = power->t_ns[i] - 60 * MS;
        last = power->t_ns[i];
        s->life_to_ns = last - 60 * MS;
    }
}

static struct stages stages_of(const struct records *r, const struct curve *power)
{
    struct stages s = {.life_from_ns = records_boundary(r, BOUNDARY_SERVICE_START)};
    int64_t formal = records_boundary(r, BOUNDARY_FORMAL_START), end = records_boundary(r, BOUNDARY_FORMAL_END);
    static const enum boundary ends[] = {BOUNDARY_EXIT, BOUNDARY_MEMORY_RELEASED, BOUNDARY_POWER_RECOVERED};
    for (size_t i = 0; i < 3; i++)
        if (records_boundary(r, ends[i]) > s.life_to_ns)
            s.life_to_ns = records_boundary(r, ends[i]);
    if (s.life_from_ns == ABSENT_I64 || formal == ABSENT_I64 || end == ABSENT_I64 || s.life_to_ns <= end) {
        s = (struct stages){0};
        find_bursts(power, &s);
        return s;
    }
    stage_add(&s, "startup", s.life_from_ns, formal, true);
    stage_add(&s, "formal", formal, end, true);
    stage_add(&s, "release", end, s.life_to_ns, false);
    for (int64_t t = formal; t + 10 * SECOND <= end; t += 10 * SECOND)
        stage_add(&s, "10 s slice", t, t + 10 * SECOND, false);
    return s;
}

/* ---- grids drawn from a buffer ---- */

struct bench {
    struct arena a;
    struct gpu_series recorded[GPUS_MAX], drawn[GPUS_MAX];
    struct fit fits[GPUS_MAX], none[GPUS_MAX];
    size_t n;
    struct stages stages;
};

static struct meters meters_of(const struct bench *b, const struct gpu_series *series, struct fit *fits)
{
    return (struct meters){.gpus = series,
                           .gpu_count = b->n,
                           .grid_period_s = 1,
                           .from_ns = b->stages.life_from_ns,
                           .to_ns = b->stages.life_to_ns,
                           .fits = fits};
}

/* Power at one phase of each second, as read from the buffer. */
static struct curve draw_grid(const struct curve *buffer, int64_t phase_ns, struct arena *a)
{
    size_t most = (size_t)((buffer->t_ns[buffer->n - 1] - buffer->t_ns[0]) / SECOND) + 2;
    struct curve c = {.t_ns = arena_array(a, most, sizeof *c.t_ns),
                      .w = arena_array(a, most, sizeof *c.w),
                      .j = arena_array(a, most, sizeof *c.j)};
    for (int64_t t = buffer->t_ns[0] + phase_ns; t <= buffer->t_ns[buffer->n - 1]; t += SECOND) {
        size_t k = c.n++;
        c.t_ns[k] = t;
        c.w[k] = curve_power(buffer, t);
        c.j[k] = k ? c.j[k - 1] + 0.5 * (c.w[k] + c.w[k - 1]) : 0;
    }
    return c;
}

/* Counter at t + L, GPU `gpu` or all. */
static double shifted_counter(const struct bench *b, int64_t from_ns, int64_t to_ns, size_t gpu)
{
    double sum = 0;
    for (size_t g = gpu < b->n ? gpu : 0; g < (gpu < b->n ? gpu + 1 : b->n); g++) {
        const struct counter *c = &b->recorded[g].counter;
        int64_t lag_ns = b->fits[g].lag_ns;
        if (!counter_covers(c, from_ns + lag_ns, to_ns + lag_ns))
            return (double)NAN;
        sum += counter_energy(c, to_ns + lag_ns) - counter_energy(c, from_ns + lag_ns);
    }
    return sum;
}

static const char *who(const struct bench *b, size_t gpu)
{
    return b->n == 1 ? "" : gpu < b->n ? ", one GPU" : ", sum of GPUs";
}

static void judge_stages(struct coverage *c, const struct bench *b, const struct meters *m, const char *label,
                         const char *beside, struct arena *a)
{
    for (size_t i = 0; i < b->stages.n; i++) {
        const struct stage *s = &b->stages.x[i];
        struct result_stage_gpu rows[GPUS_MAX];
        const struct measure what = {.from_ns = s->from_ns, .to_ns = s->to_ns, .sampled = s->sampled};
        const struct energy_set e = meters_energy(m, &what, rows, a);
        for (size_t g = 0; b->n > 1 && g < b->n; g++)
            add(c, &rows[g].energy.grid, shifted_counter(b, s->from_ns, s->to_ns, g), "%s: %s, grid %s%s", label,
                s->kind, beside, who(b, g));
        add(c, &e.grid, shifted_counter(b, s->from_ns, s->to_ns, METERS_ALL), "%s: %s, grid %s%s", label, s->kind,
            beside, who(b, METERS_ALL));
    }
}

static const struct stage *stage_named(const struct bench *b, const char *kind)
{
    for (size_t i = 0; i < b->stages.n; i++)
        if (strcmp(b->stages.x[i].kind, kind) == 0)
            return &b->stages.x[i];
    return NULL;
}

static void judge_lifecycle(struct coverage *c, const struct bench *b, const struct meters *m, const char *label,
                            const char *beside, bool counted, struct arena *a)
{
    const struct stage *startup = stage_named(b, "startup"), *formal = stage_named(b, "formal"),
                       *release = stage_named(b, "release");
    if (!startup || !formal || !release)
        return;
    double truth = shifted_counter(b, startup->from_ns, release->to_ns, METERS_ALL);
    const struct measure what = {.from_ns = startup->from_ns, .to_ns = release->to_ns, .sampled = true};
    const struct energy_set e = meters_energy(m, &what, NULL, a);
    add(c, &e.grid, truth, "%s: lifecycle, grid %s", label, beside);
    if (!counted)
        return;
    const struct part parts[] = {{startup->from_ns, startup->to_ns, SERIES_GRID},
                                 {formal->from_ns, formal->to_ns, SERIES_COUNTER},
                                 {release->from_ns, release->to_ns, SERIES_GRID}};
    struct quantity q = meters_parts(m, parts, 3, true, METERS_ALL, a);
    add(c, &q, truth, "%s: lifecycle, headline %s", label, beside);
}

static void bench_open(struct bench *b, const struct records *r)
{
    struct clock_line clocks = clock_line_make(r->clocks, r->clock_count, &b->a);
    b->n = r->gpu_count < GPUS_MAX ? r->gpu_count : GPUS_MAX;
    for (size_t g = 0; g < b->n; g++)
        gpu_series_make(&r->gpus[g], &clocks, &b->a, &b->recorded[g]);
    b->stages = stages_of(r, &b->recorded[0].buffer);
    for (size_t g = 0; g < b->n; g++) {
        b->fits[g] = fit_make(&b->recorded[g], b->stages.life_from_ns, b->stages.life_to_ns, &b->a);
        b->none[g] = fit_absent("without a buffer");
    }
}

void coverage_of_recording(struct coverage *c, const char *label, const struct records *r, int phases)
{
    struct bench b = {0};
    bench_open(&b, r);
    for (int k = 0; k < phases; k++) {
        struct arena scratch = {0};
        for (int without = 0; without < 3; without++) {
            static const char *const beside[] = {"beside the buffer", "beside the counter", "alone"};
            for (size_t g = 0; g < b.n; g++) {
                b.drawn[g] = b.recorded[g];
                b.drawn[g].grid = draw_grid(&b.recorded[g].buffer, k * SECOND / phases, &scratch);
                if (without >= 1)
                    b.drawn[g].buffer = (struct curve){0};
                if (without >= 2)
                    b.drawn[g].counter = (struct counter){.first_ns = ABSENT_I64, .last_ns = ABSENT_I64};
            }
            const struct meters m = meters_of(&b, b.drawn, without ? b.none : b.fits);
            judge_stages(c, &b, &m, label, beside[without], &scratch);
            judge_lifecycle(c, &b, &m, label, beside[without], without < 2, &scratch);
        }
        arena_done(&scratch);
    }
    arena_done(&b.a);
}

/* ---- synthetic runs ---- */

/* splitmix64 (Steele, Lea, Flood 2014), as a number in [0, 1). */
static double draw(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

struct imperfect {
    double gain, bend, lag_s;
    bool locked;
    uint64_t seed;
};

/* The driver's buffer of a true power: means over 20 ms, a gain that is off and bends with power, stamps off by up to
 * 1.5 ms. */
static struct curve make_buffer(const struct curve *truth, const struct imperfect *x, struct arena *a)
{
    uint64_t state = x->seed;
    struct curve c = {.t_ns = arena_array(a, truth->n, sizeof *c.t_ns),
                      .w = arena_array(a, truth->n, sizeof *c.w),
                      .j = arena_array(a, truth->n, sizeof *c.j)};
    for (size_t i = 1; i < truth->n; i++) {
        int64_t step = truth->t_ns[i] - truth->t_ns[i - 1], t = truth->t_ns[i] - step / 2;
        double w = (truth->j[i] - truth->j[i - 1]) / ((double)step * 1e-9);
        size_t k = c.n++;
        c.t_ns[k] = t + (int64_t)((draw(&state) - 0.5) * 3e6);
        c.w[k] = floor(w * (1 + x->gain + x->bend * w / 700) * 1000 + 0.5) / 1000;
        c.j[k] = k ? c.j[k - 1] + (double)(c.t_ns[k] - c.t_ns[k - 1]) * 0.5e-9 * (c.w[k] + c.w[k - 1]) : 0;
    }
    return c;
}

/* A counter of whole mJ that changes each 100.06 ms and says what was drawn `lag_s` ago; read 5 ms after each change,
 * or by a reader on a 100 ms grid of its own that sees the change up to 100 ms late, a little earlier each time. */
static struct counter make_counter(const struct curve *truth, const struct imperfect *x, struct arena *a)
{
    uint64_t state = x->seed + 7;
    int64_t from = truth->t_ns[0] + 300 * MS, to = truth->t_ns[truth->n - 1] - 300 * MS, step = 100060000;
    size_t most = (size_t)((to - from) / step) + 4;
    struct counter c = {.t_ns = arena_array(a, most, sizeof *c.t_ns),
                        .mj = arena_array(a, most, sizeof *c.mj),
                        .still_ns = arena_array(a, most, sizeof *c.still_ns),
                        .locked = arena_array(a, most, sizeof *c.locked),
                        .first_ns = from - step,
                        .first_still_ns = from - step};
    double phase = draw(&state);
    for (int64_t t = from; t < to && c.n < most; t += step) {
        int64_t late = x->locked ? 5 * MS + (int64_t)(draw(&state) * 2e6)
                                 : 100 * MS - (int64_t)(phase * 1e8 + (double)(t - from)) % (100 * MS);
        c.t_ns[c.n] = c.still_ns[c.n] = c.last_ns = t + late;
        c.mj[c.n] = (int64_t)(curve_energy(truth, t - (int64_t)(x->lag_s * 1e9)) * 1000);
        c.locked[c.n++] = x->locked;
    }
    return c;
}

static void judge_synthetic(struct coverage *c, struct bench *b, const char *label, const struct imperfect *x,
                            const char *reader)
{
    struct arena a = {0};
    const struct curve *truth = &b->recorded[0].buffer;
    struct gpu_series *s = &b->drawn[0];
    uint64_t state = x->seed + 3;
    *s = (struct gpu_series){.buffer = make_buffer(truth, x, &a), .counter = make_counter(truth, x, &a)};
    s->grid = draw_grid(truth, (int64_t)(draw(&state) * 1e9), &a);
    struct fit fit = fit_make(s, b->stages.life_from_ns, b->stages.life_to_ns, &a);
    struct meters m = meters_of(b, s, &fit);
    m.gpu_count = 1;
    for (size_t i = 0; i < b->stages.n; i++) {
        const struct stage *g = &b->stages.x[i];
        const struct measure what = {.from_ns = g->from_ns, .to_ns = g->to_ns, .sampled = g->sampled};
        double drawn = curve_energy(truth, g->to_ns) - curve_energy(truth, g->from_ns);
        const struct energy_set e = meters_energy(&m, &what, NULL, &a);
        add(c, &e.precise, drawn, "%s: %s, precise, %s reader", label, g->kind, reader);
        add(c, &e.counter, drawn, "%s: %s, counter, %s reader", label, g->kind, reader);
        add(c, &e.grid, drawn, "%s: %s, grid, %s reader", label, g->kind, reader);
    }
    arena_done(&a);
}

void coverage_synthetic(struct coverage *c, const char *label, const struct records *r, int runs)
{
    struct bench b = {0};
    bench_open(&b, r);
    uint64_t state = 11;
    for (int i = 0; i < runs; i++) {
        struct imperfect x = {.gain = (draw(&state) - 0.5) * 0.002,
                              .bend = (draw(&state) - 0.5) * 0.002,
                              .lag_s = draw(&state) * 0.005,
                              .locked = i % 2 == 0,
                              .seed = (uint64_t)i * 1000 + 1};
        judge_synthetic(c, &b, label, &x, x.locked ? "locked" : "drifting");
    }
    arena_done(&b.a);
}

/* ---- windows of loads ---- */

enum { LIFE_MS = 60000, LOAD_MS = 15000, BUFFER_MS = 20, COUNTER_MS = 100 };

/* A life's power, each millisecond: idle, and from `from_ms` on for `ms` a load whose steps last 5 to 60 ms at powers
 * of their own. The load's first and last step are as high as any other. */
static struct curve make_life(int from_ms, int ms, uint64_t *state, struct arena *a)
{
    struct curve c = {.t_ns = arena_array(a, LIFE_MS, sizeof *c.t_ns),
                      .w = arena_array(a, LIFE_MS, sizeof *c.w),
                      .j = arena_array(a, LIFE_MS, sizeof *c.j),
                      .n = LIFE_MS};
    double level = 250 + 400 * draw(state), w = level;
    int left = 0;
    for (int i = 0; i < LIFE_MS; i++) {
        bool loaded = i >= from_ms && i < from_ms + ms;
        if (left-- == 0) {
            left = 5 + (int)(55 * draw(state));
            w = level * (0.8 + 0.4 * draw(state));
        }
        c.t_ns[i] = i * MS;
        c.w[i] = loaded ? w : 118 + 4 * draw(state);
        c.j[i] = i ? c.j[i - 1] + 0.5e-3 * (c.w[i] + c.w[i - 1]) : 0;
    }
    return c;
}

/* Every BUFFER_MS-th point, from a phase on: what make_buffer takes its means between. */
static struct curve thin(const struct curve *x, int phase, struct arena *a)
{
    size_t most = x->n / BUFFER_MS + 1;
    struct curve c = {.t_ns = arena_array(a, most, sizeof *c.t_ns),
                      .w = arena_array(a, most, sizeof *c.w),
                      .j = arena_array(a, most, sizeof *c.j)};
    for (size_t i = (size_t)phase; i < x->n; i += BUFFER_MS, c.n++) {
        c.t_ns[c.n] = x->t_ns[i];
        c.w[c.n] = x->w[i];
        c.j[c.n] = x->j[i];
    }
    return c;
}

/* A request is sent up to 10 ms before the GPU works on it, and its answer's end comes up to 5 ms after that. */
static void judge_window(struct coverage *c, const struct meters *m, const struct curve *truth, int from_ms, int ms,
                         uint64_t *state)
{
    int64_t begin = from_ms * MS - (int64_t)(draw(state) * 1e7),
            end = (from_ms + ms) * MS + (int64_t)(draw(state) * 5e6);
    int64_t early = from_ms * MS + ms * MS / 4 + (int64_t)(draw(state) * 1e8);
    int64_t late = (from_ms + ms) * MS - ms * MS / 10 - (int64_t)(draw(state) * 1e8);
    const struct {
        const char *kind;
        int64_t from_ns, to_ns;
    } windows[] = {{"a closed loop", begin, late}, {"an open loop or a watch", early, late}, {"a burst", begin, end}};
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
        struct arena a = {0};
        const struct measure what = {.from_ns = windows[i].from_ns, .to_ns = windows[i].to_ns};
        double drawn = curve_energy(truth, what.to_ns) - curve_energy(truth, what.from_ns);
        struct result_stage_gpu row;
        struct energy_set e = meters_energy(m, &what, &row, &a);
        meters_widen(m, what.from_ns, what.to_ns, &row, &e);
        if (windows[i].to_ns == end) { /* a burst */
            const struct counter_doubt d = energy_between_jumps(&e);
            e.counter.instrument = fabs(d.known) + d.rest;
        } else if (windows[i].from_ns == begin) { /* a closed loop */
            e.counter.instrument += doubt_edge_j(&m->gpus[0].buffer, begin);
        }
        add(c, &e.counter, drawn, "window of %s, %g s, counter", windows[i].kind, ms / 1e3);
        add(c, &e.precise, drawn, "window of %s, %g s, precise", windows[i].kind, ms / 1e3);
        arena_done(&a);
    }
}

void coverage_windows(struct coverage *c, int runs)
{
    static const int lengths_ms[] = {1000, 3000, 10000, 30000};
    uint64_t state = 23;
    for (int i = 0; i < runs * 4; i++) {
        struct arena a = {0};
        struct imperfect x = {.gain = (draw(&state) - 0.5) * 0.002,
                              .bend = (draw(&state) - 0.5) * 0.002,
                              .lag_s = draw(&state) * 0.005,
                              .locked = true,
                              .seed = (uint64_t)i * 1000 + 1};
        const int from_ms = LOAD_MS + (int)(draw(&state) * COUNTER_MS); /* at any phase of the counter's steps */
        const struct curve truth = make_life(from_ms, lengths_ms[i % 4], &state, &a);
        const struct curve thinned = thin(&truth, (int)(draw(&state) * BUFFER_MS), &a);
        struct gpu_series s = {.buffer = make_buffer(&thinned, &x, &a), .counter = make_counter(&truth, &x, &a)};
        s.grid = draw_grid(&truth, (int64_t)(draw(&state) * 1e9), &a);
        const struct bench b = {.n = 1, .stages = {.life_from_ns = SECOND, .life_to_ns = LIFE_MS * MS - SECOND}};
        struct fit fit = fit_make(&s, b.stages.life_from_ns, b.stages.life_to_ns, &a);
        const struct meters m = meters_of(&b, &s, &fit);
        judge_window(c, &m, &truth, from_ms, lengths_ms[i % 4], &state);
        arena_done(&a);
    }
}
