/* The flags, but for usage_not_verifiable (verify_requests.c). */
#include "analysis/verify_internal.h"

#include <string.h>

static void flag_simulated(struct verify *v)
{
    bool gpu = v->r->run.gpu_simulated, engine = v->r->run.engine_simulated || v->r->plan.engine.simulated;
    const char *what = gpu && engine ? "GPU and engine are simulated"
                       : gpu         ? "The GPU is simulated"
                       : engine      ? "The engine is simulated"
                                     : "Nothing is simulated";
    verify_flag_bare(v, FLAG_SIMULATED, gpu || engine ? CHECK_FAILED : CHECK_PASSED, "%s.", what);
}

static void flag_steady(struct verify *v)
{
    if (result_has_loads(v->result)) {
        verify_flag_bare(v, FLAG_STEADY_NOT_REACHED, CHECK_NOT_JUDGED, "Steady state is looked for in a burst alone.");
        return;
    }
    const struct result_steady *s = &v->result->steady;
    bool over = records_boundary(v->r, BOUNDARY_FORMAL_END) == ABSENT_I64;
    const char *why = over ? "The formal stage is incomplete"
                      : s->reached
                          ? "Steady state was reached"
                          : arena_format(v->a, "No steady state: %s", s->why ? s->why : "no reason was recorded");
    verify_flag(v, FLAG_STEADY_NOT_REACHED,
                over         ? CHECK_NOT_RECORDED
                : s->reached ? CHECK_PASSED
                             : CHECK_FAILED,
                s->lowest_cv, v->m->cv_limit, "%s.", why);
}

/* The window that was idle while owed for the largest share; null: of none it could be told. */
static const struct result_point *laggard(const struct verify *v)
{
    const struct result_point *worst = NULL;
    for (size_t i = 0; i < v->result->loads.point_count; i++) {
        const struct result_point *p = &v->result->loads.points[i];
        if (p->reached && p->lag.measurable &&
            (!worst || p->lag.idle_owed_share.value > worst->lag.idle_owed_share.value))
            worst = p;
    }
    return worst;
}

static void flag_lag_loads(struct verify *v)
{
    const struct result_point *p = laggard(v);
    if (!p) {
        verify_flag(v, FLAG_DELIVERY_LAG, CHECK_NOT_RECORDED, NO_NUMBER, v->m->lag_share,
                    "Not measurable in the window of any load.");
        return;
    }
    double share = p->lag.idle_owed_share.value;
    verify_flag(v, FLAG_DELIVERY_LAG, p->lag.delivery_lag ? CHECK_FAILED : CHECK_PASSED, share, v->m->lag_share,
                "In the window of load %lld the GPUs idled %.2f s (%.3g %%) while requests were outstanding, more than "
                "in any other; over %.3g %% is delivery lag.",
                (long long)p->number, p->lag.idle_owed_s.value, 100 * share, 100 * v->m->lag_share);
}

static void flag_lag(struct verify *v)
{
    if (result_has_loads(v->result)) {
        flag_lag_loads(v);
        return;
    }
    const struct result_lag *l = &v->result->lag;
    double share = quantity_has_value(&l->idle_owed_share) ? l->idle_owed_share.value : NO_NUMBER;
    if (!l->measurable)
        verify_flag(v, FLAG_DELIVERY_LAG, CHECK_NOT_RECORDED, share, v->m->lag_share, "Not measurable: %s.",
                    l->why ? l->why : "no power buffer");
    else
        verify_flag(v, FLAG_DELIVERY_LAG, l->delivery_lag ? CHECK_FAILED : CHECK_PASSED, share, v->m->lag_share,
                    "The GPUs idled %.2f s (%.3g %% of the formal stage) while requests were outstanding; over %.3g %% "
                    "is delivery lag.",
                    l->idle_owed_s.value, 100 * share, 100 * v->m->lag_share);
}

/* How far apart a burst was sent, or how late the requests of open loops; NaN: there were none. */
struct sending {
    double s, limit_s;
    const char *said;
};

static struct sending sending_of(struct verify *v)
{
    struct sending x = {verify_seconds(v->r->client.submit_window_ns), METHOD_CLIENT_SUBMIT_S, ""};
    if (!result_has_loads(v->result)) {
        x.said = arena_format(v->a, " and sent all requests within %.3g s (limit %g s)", x.s, x.limit_s);
        return x;
    }
    x = (struct sending){NO_NUMBER, METHOD_LATENESS_S, ""};
    for (size_t i = 0; i < v->result->loads.point_count; i++) {
        const struct quantity *late = &v->result->loads.points[i].times.lateness_s.p99;
        if (quantity_has_value(late) && !(late->value <= x.s))
            x.s = late->value;
    }
    if (!isnan(x.s))
        x.said = arena_format(v->a, " and sent within %.3g ms of the intended times at P99 (limit %g ms)", 1000 * x.s,
                              1000 * x.limit_s);
    return x;
}

/* The client was the bottleneck when its loop had no time left, handled what had arrived late, or could not send all at
 * once. */
static void flag_client(struct verify *v)
{
    const struct rec_client *c = &v->r->client;
    if (c->wall_ns <= 0 || c->cpu_ns < 0 || c->handle_p99_ns < 0 || c->submit_window_ns < 0) {
        verify_flag_bare(v, FLAG_CLIENT_LIMITED, CHECK_NOT_RECORDED, "The client's own timings were not recorded.");
        return;
    }
    const struct sending sending = sending_of(v);
    double cpu = (double)c->cpu_ns / (double)c->wall_ns, handle_s = verify_seconds(c->handle_p99_ns);
    const char *numbers =
        arena_format(v->a,
                     "its loop used %.3g %% of a core (limit %g %%), handled arrivals within %.3g ms at P99 "
                     "(limit %g ms)%s",
                     100 * cpu, 100 * METHOD_CLIENT_CPU, 1000 * handle_s, 1000 * METHOD_CLIENT_HANDLE_S, sending.said);
    if (cpu > METHOD_CLIENT_CPU)
        verify_flag(v, FLAG_CLIENT_LIMITED, CHECK_FAILED, cpu, METHOD_CLIENT_CPU, "The client had no time left: %s.",
                    numbers);
    else if (handle_s > METHOD_CLIENT_HANDLE_S)
        verify_flag(v, FLAG_CLIENT_LIMITED, CHECK_FAILED, handle_s, METHOD_CLIENT_HANDLE_S, "The client came late: %s.",
                    numbers);
    else if (sending.s > sending.limit_s)
        verify_flag(v, FLAG_CLIENT_LIMITED, CHECK_FAILED, sending.s, sending.limit_s,
                    "The client could not send %s: %s.",
                    result_has_loads(v->result) ? "at the intended times" : "all at once", numbers);
    else
        verify_flag(v, FLAG_CLIENT_LIMITED, CHECK_PASSED, cpu, METHOD_CLIENT_CPU, "The client kept up: %s.", numbers);
}

/* METHOD section 4, "One stamp, many tokens". */
static void flag_merged(struct verify *v)
{
    const struct result_load *l = &v->result->load;
    if (l->merged_tokens == ABSENT_I64) {
        verify_flag(v, FLAG_ARRIVALS_MERGED, CHECK_NOT_RECORDED, NO_NUMBER, METHOD_MERGED_SHARE,
                    "No token chunk of a successful request was recorded.");
        return;
    }
    double share = l->later_tokens > 0 ? (double)l->merged_tokens / (double)l->later_tokens : 0;
    verify_flag(
        v, FLAG_ARRIVALS_MERGED, share > METHOD_MERGED_SHARE ? CHECK_FAILED : CHECK_PASSED, share, METHOD_MERGED_SHARE,
        "%.3g %% of the tokens that came after their request's first arrival, or in its only one, came over %lld "
        "at a time (limit %g %%)%s.",
        100 * share, (long long)l->merged_limit, 100 * METHOD_MERGED_SHARE,
        share > METHOD_MERGED_SHARE
            ? ": a proxy, a gateway or the server's front end holds them back, so TTFT, TPOT and "
              "ITL are not the server's"
            : "");
}

/* The hold that proves the recovery of power began again after the engine was gone. */
static void flag_hold(struct verify *v)
{
    const struct result_release *x = &v->result->release;
    if (x->hold_restarts == ABSENT_I64)
        verify_flag(v, FLAG_HOLD_RESTARTED, CHECK_NOT_RECORDED, NO_NUMBER, 0, "The run did not reach its release.");
    else if (x->hold_restarts)
        verify_flag(v, FLAG_HOLD_RESTARTED, CHECK_FAILED, (double)x->hold_restarts, 0,
                    "Power left its band again, or was not read, %lld time%s after the engine was gone and its memory "
                    "free; up to the first sample in band the release took %.4g J.",
                    (long long)x->hold_restarts, x->hold_restarts == 1 ? "" : "s",
                    quantity_has_value(&x->first_in_band_j) ? x->first_in_band_j.value : NO_NUMBER);
    else
        verify_flag(v, FLAG_HOLD_RESTARTED, CHECK_PASSED, 0, 0, "Power stayed in its band once the engine was gone.");
}

static void flag_repeats(struct verify *v)
{
    int64_t repeated = v->result->load.repeated_prompts, cache = v->r->run.prefix_cache;
    if (repeated == ABSENT_I64)
        verify_flag(v, FLAG_REPEATED_PROMPTS, CHECK_NOT_RECORDED, NO_NUMBER, 0,
                    "The prompts' digests were not recorded.");
    else if (!repeated)
        verify_flag(v, FLAG_REPEATED_PROMPTS, CHECK_PASSED, 0, 0, "No prompt repeats.");
    else if (cache == ABSENT_I64)
        verify_flag(v, FLAG_REPEATED_PROMPTS, CHECK_NOT_RECORDED, (double)repeated, 0,
                    "%lld requests repeat an earlier prompt; whether the engine's prefix cache was on is not known.",
                    (long long)repeated);
    else
        verify_flag(v, FLAG_REPEATED_PROMPTS, cache ? CHECK_FAILED : CHECK_PASSED, (double)repeated, 0,
                    "%lld requests repeat an earlier prompt, with the engine's prefix cache %s.", (long long)repeated,
                    cache ? "on" : "off");
}

/* Share of the formal stage's state samples with a slowdown; the GPU with the most counts. Samples lie on an even
 * grid. */
static void flag_throttled(struct verify *v)
{
    const struct records *r = v->r;
    int64_t from_ns = records_boundary(r, BOUNDARY_FORMAL_START), to_ns = records_boundary(r, BOUNDARY_FORMAL_END),
            slowdowns = 0;
    double share = 0;
    size_t read = 0;
    for (size_t g = 0; g < r->gpu_count; g++) {
        size_t n = 0, slow = 0;
        for (size_t i = 0; i < r->gpus[g].state_count; i++) {
            const struct rec_gpu_state *s = &r->gpus[g].state[i];
            if (to_ns == ABSENT_I64 || s->t_ns < from_ns || s->t_ns > to_ns || s->slowdowns == ABSENT_I64)
                continue;
            n++;
            slow += (s->slowdowns & SLOWDOWNS_PROTECTIVE) != 0;
            slowdowns |= s->slowdowns & SLOWDOWNS_PROTECTIVE;
        }
        read += n;
        if (n && (double)slow / (double)n > share)
            share = (double)slow / (double)n;
    }
    if (!read)
        verify_flag(v, FLAG_THROTTLED, CHECK_NOT_RECORDED, NO_NUMBER, 0,
                    "Why the clock was reduced, if it was, was not recorded in the formal stage.");
    else if (share > 0)
        verify_flag(v, FLAG_THROTTLED, CHECK_FAILED, share, 0, "%.3g %% of the formal stage under%s%s%s%s.",
                    100 * share, slowdowns & SLOWDOWN_THERMAL_SOFTWARE ? " software thermal" : "",
                    slowdowns & SLOWDOWN_THERMAL_HARDWARE ? " hardware thermal" : "",
                    slowdowns & SLOWDOWN_POWER_BRAKE ? " power-brake" : "",
                    slowdowns & SLOWDOWN_HARDWARE ? " hardware slowdown" : " slowdown");
    else
        verify_flag(v, FLAG_THROTTLED, CHECK_PASSED, 0, 0, "No slowdown in %zu samples.", read);
}

static void flag_identity(struct verify *v)
{
    struct fact_group g = verify_facts(v, "identity");
    if (!g.count)
        verify_flag_bare(v, FLAG_IDENTITY_NOT_VERIFIABLE, CHECK_NOT_RECORDED, "The engine was not asked.");
    else if (g.unjudged)
        verify_flag(v, FLAG_IDENTITY_NOT_VERIFIABLE, CHECK_FAILED, (double)g.by_outcome[CHECK_NOT_JUDGED], 0,
                    "The engine gives no way to check %s; %zu other properties were checked.", g.unjudged,
                    g.by_outcome[CHECK_PASSED] + g.by_outcome[CHECK_FAILED]);
    else
        verify_flag(v, FLAG_IDENTITY_NOT_VERIFIABLE, CHECK_PASSED, 0, 0, "What the plan states could be checked.");
}

/* The page cache between the look at the snapshot and the engine's start. */
static void flag_warmed(struct verify *v)
{
    const struct rec_fact *f = NULL;
    for (size_t i = 0; i < v->r->fact_count; i++)
        if (v->r->facts[i].name && strcmp(v->r->facts[i].name, "snapshot.page_cache") == 0)
            f = &v->r->facts[i];
    if (!v->r->plan.model.snapshot)
        verify_flag_bare(v, FLAG_PAGE_CACHE_WARMED, CHECK_NOT_JUDGED,
                         "The plan names no snapshot, so nothing of it was read before the start.");
    else if (!f || f->outcome == CHECK_NOT_RECORDED)
        verify_flag_bare(v, FLAG_PAGE_CACHE_WARMED, CHECK_NOT_RECORDED,
                         "How much of the snapshot was in the page cache was not recorded.");
    else if (f->outcome == CHECK_FAILED)
        verify_flag_bare(
            v, FLAG_PAGE_CACHE_WARMED, CHECK_FAILED,
            "The engine's start found %s of the snapshot in the page cache, where %s were before it was hashed.",
            f->seen ? f->seen : "more", f->expected ? f->expected : "less");
    else
        verify_flag_bare(v, FLAG_PAGE_CACHE_WARMED, CHECK_PASSED,
                         "The page cache held %s of the snapshot, as before it was looked at.",
                         f->seen ? f->seen : "nothing");
}

static void flag_late(struct verify *v)
{
    double period_s = v->r->plan.method.grid_s, latest_s = 0;
    size_t n = 0, late = 0;
    for (size_t g = 0; g < v->r->gpu_count; g++)
        for (size_t i = 0; i < v->r->gpus[g].instant_count; i++) {
            const struct rec_instant *s = &v->r->gpus[g].instant[i];
            if (s->tag != INSTANT_GRID || s->late_ns == ABSENT_I64)
                continue;
            double late_s = verify_seconds(s->late_ns);
            n++;
            late += late_s > METHOD_LATE_PERIODS * period_s;
            latest_s = late_s > latest_s ? late_s : latest_s;
        }
    if (!n || isnan(period_s))
        verify_flag(v, FLAG_SAMPLER_LATE, CHECK_NOT_RECORDED, NO_NUMBER, METHOD_LATE_PERIODS,
                    "The samples' lateness was not recorded.");
    else
        verify_flag(v, FLAG_SAMPLER_LATE, late ? CHECK_FAILED : CHECK_PASSED, latest_s / period_s, METHOD_LATE_PERIODS,
                    "%zu of %zu samples came over half a period late; the latest was %.3g ms late (period %g ms).",
                    late, n, 1000 * latest_s, 1000 * period_s);
}

/* jtok's own waits in startup and release. */
static void flag_wait(struct verify *v)
{
    static const enum stage_id stages[] = {STAGE_STARTUP, STAGE_RELEASE};
    bool silence = v->r->plan.requests.connect == CONNECT_AHEAD;
    double share = NO_NUMBER;
    const char *text = NULL;
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        const struct result_stage *s = result_stage_of(v->result, stages[i]);
        if (!quantity_has_value(&s->wait_share))
            continue;
        if (!(s->wait_share.value <= share))
            share = s->wait_share.value;
        text = arena_join(
            v->a, text, "; ",
            arena_format(v->a, "%.3g s and %.3g J in %s, %.3g %% of it%s", s->wait_s, s->wait_j.value,
                         stage_id_names[stages[i]], 100 * s->wait_share.value,
                         stages[i] == STAGE_STARTUP && silence ? " without the silence before the formal start" : ""));
    }
    if (!text)
        verify_flag(v, FLAG_OBSERVER_WAIT, CHECK_NOT_RECORDED, share, METHOD_WAIT_SHARE,
                    "No energy was recorded from warm-up to formal start and from formal end to stop.");
    else
        verify_flag(v, FLAG_OBSERVER_WAIT, share > METHOD_WAIT_SHARE ? CHECK_FAILED : CHECK_PASSED, share,
                    METHOD_WAIT_SHARE, "jtok waited %s; over %g %% is flagged.", text, 100 * METHOD_WAIT_SHARE);
}

void verify_flags(struct verify *v)
{
    flag_simulated(v);
    flag_steady(v);
    flag_lag(v);
    flag_client(v);
    flag_merged(v);
    flag_hold(v);
    flag_repeats(v);
    flag_throttled(v);
    flag_identity(v);
    flag_warmed(v);
    flag_late(v);
    flag_wait(v);
}
