#include "analysis/stat.h"

#include <math.h>
#include <string.h>
#include "analysis/energy.h"
#include "analysis/release.h"
#include "analysis/stages.h"
#include "base/must.h"
#include "base/num.h"
#include "base/time.h"
#include "base/typed.h"
#include "model/limits.h"
#include "schema/table.h"

/* ---- tables ---- */

static const struct field stat_gpu_fields[] = {
    I64(stat_gpu, index, "The device library's number of it.", FLAGS(FIELD_NAMES_ITEM)),
    TEXT(stat_gpu, uuid, "UUID."),
    TEXT(stat_gpu, name, "Model name."),
    OBJECT(stat_gpu, energy, energy_set, "Energy of this GPU."),
    QUANTITY(stat_gpu, average_w, "Average power.", UNIT("W")),
    QUANTITY(stat_gpu, idle_w, "Power before, which is not subtracted.", UNIT("W")),
};
static const struct schema stat_gpu_schema = SCHEMA(stat_gpu, "One GPU in one run of a command.");

static const struct field stat_once_fields[] = {
    TEXT(stat_once, run, "Id of the run.", FLAGS(FIELD_NAMES_ITEM)),
    I64(stat_once, began_realtime_ns, "When jtok began, by the wall clock.", UNIT("ns")),
    I64(stat_once, exit_status, "Exit status of the command; 128 + the signal that ended it."),
    F64(stat_once, duration_s, "From just before its start to the end of the last process of its group.", UNIT("s")),
    OBJECT(stat_once, energy, energy_set, "All GPUs together; the headline is the counter's."),
    QUANTITY(stat_once, average_w, "Average power of all GPUs together.", UNIT("W")),
    QUANTITY(stat_once, idle_w, "Power before, which is not subtracted.", UNIT("W")),
    QUANTITY(stat_once, power_back_s,
             "From the command's end until power was back at its level before, and stayed there for 5 s.", UNIT("s")),
    ENUM(stat_once, idle, check_outcome, "Was every GPU idle before?"),
    TEXT(stat_once, idle_why, "Why not; null: they were, or it was not looked at."),
    TEXT(stat_once, left_running, "Processes that the command left behind in other process groups."),
    BOOL(stat_once, valid, "No check failed or lacks its records."),
    OBJECTS(stat_once, checks, check_count, result_check, "The checks that apply to a command."),
    OBJECTS(stat_once, gpus, gpu_count, stat_gpu, "Each GPU."),
};
static const struct schema stat_once_schema = SCHEMA(stat_once, "One run of a command.");

static const struct field sample_fields[] = {
    I64(sample, n, "Runs that count: not interrupted, with an energy."),
    F64(sample, mean, "Mean."),
    F64(sample, sd, "Sample standard deviation; null below two runs."),
    F64(sample, low, "Lower end of Student's 95 % interval of the mean."),
    F64(sample, high, "Upper end."),
};
static const struct schema sample_schema = SCHEMA(sample, "What the repetitions say together.");

static const struct field stat_result_fields[] = {
    TEXT(stat_result, jtok_version, "Version of the program that recorded."),
    TEXT(stat_result, method_id, "The method that it was recorded under."),
    TEXT(stat_result, command, "The command, as a shell would take it."),
    BOOL(stat_result, simulated, "The GPUs are a simulation."),
    F64(stat_result, sensor_percent, "Accuracy limit of the boards' power sensors.", UNIT("%")),
    TEXT(stat_result, sensor_source, "Where that limit comes from; null: assumed."),
    OBJECTS(stat_result, runs, run_count, stat_once, "Each run."),
    OBJECT(stat_result, energy_j, sample, "Energy between runs.", UNIT("J")),
    OBJECT(stat_result, duration_s, sample, "Duration between runs.", UNIT("s")),
    OBJECT(stat_result, average_w, sample, "Average power between runs.", UNIT("W")),
};
const struct schema stat_result_schema = SCHEMA(stat_result, "What a command took: jtok stat.");

/* ---- the instruments ---- */

/* `precise` is fitted on all that was recorded: before, the command, and after. */
static struct meters fitted(const struct run_series *series, const struct records *r, int64_t start_ns, int64_t end_ns,
                            struct arena *a)
{
    const struct meters m = meters_make(series, &r->plan, a);
    int64_t from_ns = stages_first_of_both(&m), to_ns = stages_last_of_both(&m, ABSENT_I64);
    if (from_ns == ABSENT_I64 || to_ns == ABSENT_I64 || from_ns > start_ns || to_ns < end_ns)
        return m;
    return meters_fitted(m, from_ns, to_ns, to_ns, a);
}

/* ---- doubts ---- */

/* Of all GPUs: what is known of their counters against `precise`, and the squares of what is left. */
struct edge_sum {
    double known, counter_squares, precise_squares, edge_squares;
};

static void widen_gpu(struct energy_set *e, double edge_j, struct edge_sum *sum)
{
    energy_widen(e, edge_j);
    const struct counter_doubt d = energy_between_jumps(e);
    e->counter.instrument = fabs(d.known) + d.rest;
    e->headline.instrument = e->counter.instrument;
    sum->known += d.known;
    sum->counter_squares += d.rest * d.rest;
    sum->precise_squares += e->precise.instrument * e->precise.instrument;
    sum->edge_squares += edge_j * edge_j;
}

/* Of each GPU, then of the sum: known differences with their signs, what is left as a root. */
static void widen_edges(const struct meters *m, int64_t start_ns, int64_t end_ns, struct result_stage_gpu *rows,
                        struct energy_set *all)
{
    struct edge_sum sum = {0};
    for (size_t i = 0; i < m->gpu_count; i++) {
        widen_gpu(&rows[i].energy, doubt_edges_j(&m->gpus[i].buffer, start_ns, end_ns), &sum);
        rows[i].average_w = quantity_over(&rows[i].energy.headline, time_s(end_ns - start_ns), "it took no time");
    }
    all->counter.instrument = fabs(sum.known) + sqrt(sum.counter_squares);
    energy_widen(all, sqrt(sum.edge_squares));
    all->precise.instrument = sqrt(sum.precise_squares);
    all->headline.instrument = all->counter.instrument;
}

/* ---- checks ---- */

struct judging {
    const struct records *r;
    struct arena *a;
    struct stat_once *once;
    const struct result_stage_gpu *rows;
    const struct gpu_baseline *baseline;
    const struct clock_line *clocks;
    int64_t start_ns, end_ns;
};

static void decide(struct judging *j, enum check_code code, enum check_outcome outcome, const char *why)
{
    struct stat_once *o = j->once;
    must(o->check_count < CODE_COUNT && why);
    o->checks[o->check_count++] = (struct result_check){.code = code, .outcome = outcome, .why = why};
    o->valid = o->valid && !check_excludes(outcome);
}

static const char *gpu_words(const struct judging *j, size_t i)
{
    const struct rec_gpu *g = &j->r->gpus[i];
    return arena_format(j->a, "GPU %lld (%.12s)", (long long)g->index, g->uuid ? g->uuid : "no UUID");
}

static void stat_check_covered(struct judging *j)
{
    const struct quantity *q = &j->once->energy.headline;
    if (q->state == Q_NOT_COVERED)
        decide(j, CODE_NOT_COVERED, CHECK_FAILED, arena_format(j->a, "The command is not covered: %s.", q->why));
    else if (!quantity_has_value(q))
        decide(j, CODE_NOT_COVERED, CHECK_NOT_RECORDED,
               arena_format(j->a, "There is no energy by the counter: %s.", q->why ? q->why : "it was not recorded"));
    else
        decide(j, CODE_NOT_COVERED, CHECK_PASSED, "The command has samples on both sides of its ends.");
}

/* The counter is cumulative: what its readings lack is not a gap in the sum. */
static void check_gap(struct judging *j)
{
    bool known = quantity_has_value(&j->once->energy.headline);
    decide(j, CODE_SAMPLE_GAP, known ? CHECK_PASSED : CHECK_NOT_RECORDED,
           known ? "A counter has no gap in its sum." : "There is no energy by the counter.");
}

static void check_void(struct judging *j)
{
    for (size_t i = 0; i < j->r->gpu_count; i++)
        if (j->rows[i].counter_void) {
            decide(j, CODE_COUNTER_VOID, CHECK_FAILED,
                   arena_format(j->a, "The counter of %s is void: %s.", gpu_words(j, i), j->rows[i].counter_void));
            return;
        }
    bool known = quantity_has_value(&j->once->energy.counter);
    decide(j, CODE_COUNTER_VOID, known ? CHECK_PASSED : CHECK_NOT_RECORDED,
           known ? "The counter rose on every GPU." : "There is no energy by the counter.");
}

/* Two instruments of each GPU against each other; under 10 s that is told, and not judged. */
static void check_difference(struct judging *j, enum check_code code, const char *what, bool grid)
{
    enum check_outcome outcome = CHECK_PASSED;
    const char *text = NULL;
    for (size_t i = 0; i < j->r->gpu_count; i++) {
        const struct result_stage_gpu *x = &j->rows[i];
        const struct quantity *d = grid ? &x->grid_disagreement : &x->counter_disagreement;
        double limit = grid ? x->grid_disagreement_limit : METHOD_COUNTER_DISAGREES;
        bool known = quantity_has_value(d), shorter = j->once->duration_s < METHOD_JUDGED_S;
        bool lacks = !grid && j->r->gpus[i].buffer_count == 0, over = known && !(fabs(d->value) <= limit);
        enum check_outcome own = shorter || lacks ? CHECK_NOT_JUDGED
                                 : !known         ? CHECK_NOT_RECORDED
                                 : over           ? CHECK_FAILED
                                                  : CHECK_PASSED;
        const char *said = known ? arena_format(j->a, "%s %+.2f %%", gpu_words(j, i), 100 * d->value)
                                 : arena_format(j->a, "%s has no such pair", gpu_words(j, i));
        text = text ? arena_format(j->a, "%s; %s", text, said) : said;
        bool worse = own == CHECK_FAILED || (own == CHECK_NOT_RECORDED && outcome != CHECK_FAILED) ||
                     (own == CHECK_NOT_JUDGED && outcome == CHECK_PASSED);
        outcome = worse ? own : outcome;
    }
    decide(j, code, text ? outcome : CHECK_NOT_RECORDED,
           arena_format(j->a, "%s: %s%s.", what, text ? text : "no GPU was recorded",
                        j->once->duration_s < METHOD_JUDGED_S ? " (under 10 s: reported, not judged)" : ""));
}

/* Of a short command the power has a doubt that counts: beyond it only. */
static void stat_check_power(struct judging *j)
{
    bool known = j->r->gpu_count > 0, looked = false;
    for (size_t i = 0; i < j->r->gpu_count; i++) {
        const struct quantity *w = &j->rows[i].average_w, *idle = &j->baseline[i].w;
        double limit = (double)j->r->gpus[i].power_limit_mw / 1e3;
        double band = fmax(METHOD_IDLE_SHARE * quantity_value(idle), METHOD_IDLE_W);
        bool limited = j->r->gpus[i].power_limit_mw != ABSENT_I64;
        known = known && quantity_has_value(w) && limited;
        looked |= quantity_has_value(idle);
        if (!quantity_has_value(w))
            continue;
        bool low =
            quantity_has_value(idle) && j->once->idle == CHECK_PASSED && w->value + w->instrument < idle->value - band;
        if (!low && !(limited && w->value - w->instrument > METHOD_POWER_FACTOR * limit))
            continue;
        decide(j, CODE_POWER_OUT_OF_RANGE, CHECK_FAILED,
               low ? arena_format(j->a, "%s drew %.1f W on average, below its idle %.1f W.", gpu_words(j, i), w->value,
                                  idle->value)
                   : arena_format(j->a, "%s drew %.1f W on average, above 1.1 times its limit of %.0f W.",
                                  gpu_words(j, i), w->value, limit));
        return;
    }
    decide(j, CODE_POWER_OUT_OF_RANGE, known && looked ? CHECK_PASSED : CHECK_NOT_JUDGED,
           known && looked ? "Average power lies between idle and 1.1 times the limit."
                           : "Average power, the power before or the power limit is not known.");
}

/* While the command ran: one that is known not to be of its tree. */
static void stat_check_processes(struct judging *j)
{
    bool unknown = j->r->gpu_count == 0;
    for (size_t i = 0; i < j->r->gpu_count; i++) {
        const struct rec_gpu *g = &j->r->gpus[i];
        for (size_t k = 0; k < g->process_count; k++) {
            const struct rec_process *p = &g->process[k];
            if (p->t_ns < j->start_ns || p->t_ns > j->end_ns)
                continue;
            unknown |= p->own < 0;
            if (p->own != 0)
                continue;
            decide(j, CODE_FOREIGN_PROCESS, CHECK_FAILED,
                   arena_format(j->a, "Process %lld, which is not the command's, was on %s while the command ran.",
                                (long long)p->pid, gpu_words(j, i)));
            return;
        }
        for (size_t k = 0; k < g->state_count; k++)
            unknown |= g->state[k].processes < 0;
    }
    decide(j, CODE_FOREIGN_PROCESS, unknown ? CHECK_NOT_JUDGED : CHECK_PASSED,
           unknown ? "Whose compute processes were on the GPUs can't be told here."
                   : "No other compute process was seen on the GPUs while the command ran.");
}

static void stat_check_records(struct judging *j)
{
    const struct records *r = j->r;
    bool interrupted = records_boundary(r, BOUNDARY_INTERRUPTED) != ABSENT_I64 &&
                       records_boundary(r, BOUNDARY_INTERRUPTED) <= j->end_ns;
    decide(j, CODE_INTERRUPTED, interrupted ? CHECK_FAILED : CHECK_PASSED,
           interrupted ? "A signal to jtok interrupted the command." : "The command was not interrupted.");
    bool pairs = r->clock_count >= 2;
    size_t steps = j->clocks->step_count;
    decide(j, CODE_CLOCK_STEP,
           !pairs  ? CHECK_NOT_RECORDED
           : steps ? CHECK_FAILED
                   : CHECK_PASSED,
           !pairs  ? "The offset between the two clocks was not recorded."
           : steps ? "The system's clock was set by over 1 ms meanwhile."
                   : "The clocks did not step.");
    decide(j, CODE_RECORDS_DAMAGED, r->damage ? CHECK_FAILED : CHECK_PASSED,
           r->damage ? arena_format(j->a, "The records are damaged: %s.", r->damage) : "The records are whole.");
}

static void check_all(struct judging *j)
{
    j->once->checks = arena_array(j->a, CODE_COUNT, sizeof *j->once->checks);
    j->once->valid = true;
    stat_check_covered(j);
    check_gap(j);
    check_void(j);
    check_difference(j, CODE_COUNTER_DISAGREES, "Buffer against counter, shifted by the counter's delay", false);
    check_difference(j, CODE_GRID_DISAGREES, "Grid against counter", true);
    stat_check_power(j);
    stat_check_processes(j);
    stat_check_records(j);
}

/* ---- one run ---- */

static int64_t exit_status(const struct records *r)
{
    int64_t status = ABSENT_I64;
    for (size_t i = 0; i < r->boundary_count; i++)
        if (r->boundaries[i].id == BOUNDARY_COMMAND_END && r->boundaries[i].note &&
            !num_i64(span_of(r->boundaries[i].note), &status))
            status = ABSENT_I64;
    return status;
}

static const char *left_running(const struct records *r, struct arena *a)
{
    const char *text = NULL;
    for (size_t i = 0; i < r->fact_count; i++)
        if (strcmp(r->facts[i].name, "command.left_running") == 0 && r->facts[i].seen)
            text = text ? arena_format(a, "%s, %s", text, r->facts[i].seen) : r->facts[i].seen;
    return text;
}

static void judge_idle(struct judging *j)
{
    struct stat_once *o = j->once;
    o->idle_w = j->r->gpu_count ? quantity_of(0) : quantity_absent(Q_NOT_RECORDED, "no GPU was recorded");
    bool looked = records_boundary(j->r, BOUNDARY_BASELINE_START) != ABSENT_I64;
    o->idle = looked ? CHECK_PASSED : CHECK_NOT_JUDGED;
    for (size_t i = 0; i < j->r->gpu_count; i++) {
        const struct gpu_baseline *b = &j->baseline[i];
        quantity_add(&o->idle_w, &b->w);
        if (!looked || b->idle == CHECK_PASSED || o->idle == CHECK_FAILED)
            continue;
        o->idle = b->idle;
        o->idle_why = arena_format(j->a, "%s: %s", gpu_words(j, i), b->why ? b->why : "not recorded");
    }
    if (!looked)
        o->idle_w = quantity_absent(Q_NOT_RECORDED, "power before was not looked at");
}

static struct quantity powers_back(const struct judging *j)
{
    const struct records *r = j->r;
    if (!quantity_has_value(&j->once->idle_w))
        return quantity_absent(Q_NOT_RECORDED, "the level before is not known");
    const struct recovery back =
        release_power(&r->plan.method, r->gpus, j->baseline, r->gpu_count, j->end_ns, INT64_MAX, j->a);
    int64_t limit_ns = duration_ns(r->plan.method.release_wait_s);
    bool late = limit_ns != ABSENT_I64 && back.t11_ns > j->end_ns + limit_ns;
    if (back.t11_ns == ABSENT_I64 || late)
        return quantity_absent(Q_NOT_REACHED, back.why ? back.why : "power came back too late");
    return quantity_of(time_s(back.t11_ns - j->end_ns));
}

static void fill_gpus(struct judging *j)
{
    struct stat_once *o = j->once;
    o->gpu_count = j->r->gpu_count;
    o->gpus = arena_array(j->a, o->gpu_count, sizeof *o->gpus);
    for (size_t i = 0; i < o->gpu_count; i++)
        o->gpus[i] = (struct stat_gpu){.index = j->r->gpus[i].index,
                                       .uuid = j->r->gpus[i].uuid,
                                       .name = j->r->gpus[i].name,
                                       .energy = j->rows[i].energy,
                                       .average_w = j->rows[i].average_w,
                                       .idle_w = j->baseline[i].w};
}

static struct stat_once not_run(const struct records *r, struct arena *a)
{
    static const char WHY[] = "the command did not run to its end";
    struct stat_once o;
    schema_absent_as(&stat_once_schema, &o, CHECK_NOT_CHECKED, WHY);
    o.run = r->run.id;
    o.began_realtime_ns = r->run.began_realtime_ns;
    o.energy.headline_series = SERIES_COUNTER;
    o.left_running = left_running(r, a);
    return o;
}

struct stat_once stat_judge(const struct records *r, struct arena *a)
{
    must(r->plan.object == OBJECT_STAT);
    struct stat_once o = not_run(r, a);
    struct judging j = {.r = r,
                        .a = a,
                        .once = &o,
                        .start_ns = records_boundary(r, BOUNDARY_COMMAND_START),
                        .end_ns = records_boundary(r, BOUNDARY_COMMAND_END)};
    if (j.start_ns == ABSENT_I64 || j.end_ns == ABSENT_I64 || j.end_ns <= j.start_ns)
        return o;
    const struct run_series series = run_series_make(r, a);
    const struct meters meters = fitted(&series, r, j.start_ns, j.end_ns, a);
    const struct measure what = {.from_ns = j.start_ns, .to_ns = j.end_ns, .sampled = true, .headline = SERIES_COUNTER};
    struct result_stage_gpu *rows = arena_array(a, r->gpu_count, sizeof *rows);
    o.exit_status = exit_status(r);
    o.duration_s = time_s(j.end_ns - j.start_ns);
    o.energy = meters_energy(&meters, &what, rows, a);
    widen_edges(&meters, j.start_ns, j.end_ns, rows, &o.energy);
    o.average_w = quantity_over(&o.energy.headline, o.duration_s, "the command took no time");
    j.rows = rows;
    j.baseline = baseline_judge(r, a);
    j.clocks = &series.clocks;
    judge_idle(&j);
    o.power_back_s = powers_back(&j);
    fill_gpus(&j);
    check_all(&j);
    return o;
}

/* ---- all of them ---- */

static const char *as_typed(const struct plan_stat *p, struct arena *a)
{
    struct buf b = {0};
    typed_put(&b, (const char *const *)p->command, p->command_count);
    const char *text = arena_copy(a, b.p, b.n);
    buf_done(&b);
    return text;
}

/* An interrupted run did not do what the others did. */
static bool is_used(const struct stat_once *o)
{
    bool interrupted = false;
    for (size_t i = 0; i < o->check_count; i++)
        interrupted |= o->checks[i].code == CODE_INTERRUPTED && o->checks[i].outcome != CHECK_PASSED;
    return !interrupted && quantity_has_value(&o->energy.headline);
}

struct stat_result stat_gather(const struct records *first, struct stat_once *runs, size_t n, struct arena *a)
{
    must(first && runs && n > 0);
    struct stat_result x = {.jtok_version = first->run.jtok_version,
                            .method_id = first->run.method_id,
                            .command = as_typed(&first->plan.stat, a),
                            .simulated = first->run.gpu_simulated,
                            .sensor_percent = first->plan.power.sensor_percent,
                            .sensor_source = first->plan.power.sensor_source,
                            .runs = runs,
                            .run_count = n};
    double *j = arena_array(a, n, sizeof *j), *s = arena_array(a, n, sizeof *s), *w = arena_array(a, n, sizeof *w);
    size_t counted = 0;
    for (size_t i = 0; i < n; i++) {
        if (!is_used(&runs[i]))
            continue;
        j[counted] = runs[i].energy.headline.value;
        s[counted] = runs[i].duration_s;
        w[counted++] = runs[i].average_w.value;
    }
    x.energy_j = sample_of(j, counted);
    x.duration_s = sample_of(s, counted);
    x.average_w = sample_of(w, counted);
    return x;
}

/* ---- as a result ---- */

static void take_checks(struct result *x, const struct stat_once *o)
{
    for (size_t i = 0; i < x->check_count; i++) {
        x->checks[i].outcome = CHECK_NOT_JUDGED;
        x->checks[i].why = "Not asked of a command.";
    }
    for (size_t i = 0; i < o->check_count; i++)
        x->checks[o->checks[i].code] = o->checks[i];
}

static struct result_gpu board_of(const struct rec_gpu *g)
{
    struct result_gpu x = {.uuid = g->uuid, .name = g->name, .index = g->index};
    x.power_limit_w = g->power_limit_mw == ABSENT_I64 ? (double)NAN : (double)g->power_limit_mw / 1000;
    x.partitioned = g->partitioned;
    x.instant_source = g->instant_source;
    return x;
}

static struct result_point point_of(const struct records *r, const struct stat_once *o, struct arena *a)
{
    struct result_point p;
    result_point_absent(&p, "not of a command");
    p.number = 0;
    p.setting = as_typed(&r->plan.stat, a);
    p.start_ns = p.window.start_ns = records_boundary(r, BOUNDARY_COMMAND_START);
    p.end_ns = p.window.end_ns = records_boundary(r, BOUNDARY_COMMAND_END);
    p.reached = !isnan(o->duration_s);
    p.why = p.reached ? NULL : "the command did not run to its end";
    p.window.duration_s = o->duration_s;
    p.window.energy = o->energy;
    p.window.average_w = o->average_w;
    return p;
}

struct result *stat_as_result(const struct records *r, const struct stat_once *once, struct arena *a)
{
    must(r->plan.object == OBJECT_STAT);
    struct result *x = arena_alloc(a, sizeof *x);
    result_absent(x, a, "not of a command");
    x->about.run_id = r->run.id;
    x->about.name = r->plan.name;
    x->about.jtok_version = r->run.jtok_version;
    x->about.method_id = r->run.method_id;
    x->about.simulated = r->run.gpu_simulated;
    take_checks(x, once);
    x->gpu_count = r->gpu_count;
    x->gpus = arena_array(a, r->gpu_count, sizeof *x->gpus);
    for (size_t i = 0; i < r->gpu_count; i++)
        x->gpus[i] = board_of(&r->gpus[i]);
    struct result_point *point = arena_alloc(a, sizeof *point);
    *point = point_of(r, once, a);
    const double none = __builtin_nan("");
    x->loads = (struct result_loads){.object = OBJECT_STAT,
                                     .standing = once->valid ? STANDING_VALID : STANDING_EXCLUDED,
                                     .slo = {none, none, none},
                                     .points = point,
                                     .point_count = 1};
    return x;
}
