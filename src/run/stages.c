/* The stages of METHOD section 3, one function each. Every way out of a started engine goes through stop and release.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "run/internal.h"

extern char **environ;

/* /metrics is read each second; sooner while something waits for the engine's count, which is waited for no longer than
 * METHOD section 3 allows. */
#define SCRAPE_NS        SECOND_NS
#define SCRAPE_SOON_NS   (SECOND_NS / 5)
#define SETTLE_PERIOD_NS (SECOND_NS / 40)
#define SETTLE_LIMIT_NS  SECOND_NS

static int64_t seconds(double s)
{
    return (int64_t)(s * 1e9);
}

/* ---- baseline ---- */

static bool idle_decided(struct run *r)
{
    return r->idle.state != IDLE_WATCHING;
}

static void note_memory_before(struct run *r)
{
    for (size_t g = 0; g < r->gpu_count; g++)
        r->memory_before[g] = r->live[g].memory_used_bytes;
}

bool stage_baseline(struct run *r)
{
    run_enter(r, RUN_BASELINE);
    idle_init(&r->idle, (uint32_t)r->gpu_count, seconds(r->plan->method.grid_s), seconds(r->plan->method.baseline_s),
              seconds(r->plan->method.baseline_wait_s));
    r->idle_open = true;
    /* The rule itself ends the wait; the margin is for a sampler that gives nothing at all. */
    int64_t deadline =
        run_now_ns(r) + seconds(r->plan->method.baseline_s + r->plan->method.baseline_wait_s) + 60 * SECOND_NS;
    bool decided = run_wait(r, idle_decided, deadline);
    r->idle_open = false;
    if (!decided)
        return r->interrupts == 0 && run_fail(r, ERR_DEVICE, "The GPUs gave no power readings for the baseline.");
    if (r->idle.start_ns != ABSENT_I64) {
        run_mark(r, BOUNDARY_BASELINE_START, r->idle.start_ns, NULL);
        run_mark(r, BOUNDARY_BASELINE_END, r->idle.end_ns, NULL);
    }
    if (r->idle.state == IDLE_REFUSED) {
        struct buf b = {0};
        idle_refusal(&r->idle, run_gpu_name, r, &b);
        run_fail(r, ERR_BUSY,
                 "The machine did not become idle within %.0f s, so there is no baseline. %s Stop what runs "
                 "there (%s shows it), wait until power is steady, and start again.",
                 r->plan->method.baseline_wait_s, buf_text(&b), r->device->kind->tool);
        buf_done(&b);
        return false;
    }
    note_memory_before(r);
    return true;
}

/* ---- start ---- */

/* What the engine inherits and what jtok sets for it, without the secrets. */
static void note_environment(struct run *r)
{
    r->record.environment = arena_array(r->arena, r->launch.env_count, sizeof *r->record.environment);
    for (size_t i = 0; i < r->launch.env_count; i++) {
        const char *equals = strchr(r->launch.env[i], '=');
        if (!equals) /* no variable: a program may be given any strings */
            continue;
        struct span name = {r->launch.env[i], (size_t)(equals - r->launch.env[i])};
        struct buf value = {0};
        if (secrets_is_name(name) && equals[1])
            buf_fmt(&value, "[secret:%.*s]", SPAN_ARG(name));
        else
            r->record.secrets_replaced += (int64_t)secrets_replace(&r->secrets, span_of(equals + 1), &value);
        r->record.environment[r->record.environment_count++] =
            (struct field_pair){arena_copy(r->arena, name.p, name.n), arena_text(r->arena, buf_text(&value))};
        buf_done(&value);
    }
}

/* Hashing must have left the page cache as it was: startup energy depends on it. */
static void note_residency(struct run *r)
{
    r->record.snapshot_resident_bytes = r->has_snapshot ? r->snapshot.resident_bytes : ABSENT_I64;
    if (!r->has_snapshot)
        return;
    int64_t before = r->snapshot.resident_bytes, now = snapshot_resident_bytes(&r->snapshot);
    bool known = before != ABSENT_I64 && now != ABSENT_I64;
    run_fact(r, "snapshot.page_cache",
             !known                                 ? CHECK_NOT_RECORDED
             : now - before > RESIDENCY_SLACK_BYTES ? CHECK_FAILED
                                                    : CHECK_PASSED,
             before == ABSENT_I64 ? NULL : arena_format(r->arena, "%lld bytes", (long long)before),
             now == ABSENT_I64 ? NULL : arena_format(r->arena, "%lld bytes", (long long)now));
}

static bool make_launch(struct run *r, struct err *e)
{
    char *absolute = realpath(r->folder, NULL);
    if (!absolute)
        return err_set(e, ERR_SYSTEM, "%s: the run folder has gone.", r->folder);
    struct engine_site site = {.cache_folder = arena_format(r->arena, "%s/" ENGINE_CACHE, absolute),
                               .environment = (const char *const *)environ};
    const char *work = arena_format(r->arena, "%s/" ENGINE_WORK, absolute);
    free(absolute);
    if (mkdir(site.cache_folder, 0777) != 0 || mkdir(work, 0777) != 0)
        return err_set(e, ERR_SYSTEM, "%s: the engine's own folders could not be made there. Check the free space.",
                       r->folder);
    if (!engine_launch_make(r->plan, &site, r->arena, &r->launch, e))
        return false;
    for (const char **f = r->launch.cache_folders; f && *f; f++)
        mkdir(*f, 0777);
    struct child_spec spec = {.argv = r->launch.argv, .env = r->launch.env, .folder = work};
    note_environment(r);
    note_residency(r);
    sampler_mark(r->sampler);
    run_mark(r, BOUNDARY_SERVICE_START, run_now_ns(r), NULL);
    return child_start(r->child, &spec, NULL, e);
}

/* Polls until the health path says ready. */
static bool wait_until_ready(struct run *r)
{
    int64_t limit = run_now_ns(r) + seconds(r->plan->limits.ready_s);
    for (;;) {
        int64_t asked = run_now_ns(r);
        struct http_get_result answer;
        if (!run_get(r, engine_health_path(r->plan), 5 * SECOND_NS, &answer))
            return false;
        struct err e = {0};
        int status = answer.outcome == HTTP_GET_ANSWERED ? answer.status : 0;
        switch (engine_health_answer(r->plan, status, &e)) {
        case ENGINE_READY:
            return true;
        case ENGINE_WRONG:
            return run_fail_with(r, &e);
        case ENGINE_NOT_YET:
            break;
        }
        if (run_now_ns(r) >= limit)
            return run_fail(r, ERR_ENGINE,
                            "The engine was not ready after %.0f s (limits.ready_s): %s%s answered %s. %s",
                            r->plan->limits.ready_s, r->plan->engine.host, engine_health_path(r->plan),
                            status ? arena_format(r->arena, "%d", status) : "nothing", run_log_tail(r));
        int64_t next = asked + ENGINE_POLL_NS;
        if (!run_pause(r, next - run_now_ns(r)))
            return false;
    }
}

static bool load_is_closed(struct run *r)
{
    return r->other.closed;
}

/* Sends readiness or warm-up requests and waits until every one has ended. */
static bool send_other(struct run *r, int stage, size_t count)
{
    struct err e;
    load_done(&r->other);
    load_make(r, &r->other, stage, count);
    if (!load_open(r, &r->other, &e))
        return run_fail_with(r, &e);
    r->other.start_ns = client_submit(r->other.client);
    if (stage == REQUEST_WARMUP && r->other.start_ns != ABSENT_I64)
        run_mark(r, BOUNDARY_WARMUP_START, r->other.start_ns, NULL);
    if (!run_wait(r, load_is_closed, INT64_MAX)) {
        client_cancel(r->other.client);
        return false;
    }
    struct client_progress p = client_progress_read(r->other.client);
    r->told.tokens += (double)p.tokens;
    r->told.requests += (double)p.succeeded;
    if (r->other.failed == 0)
        return true;
    const struct rec_request *q = &r->other.first_failure;
    return run_fail(r, ERR_ENGINE, "%zu of %zu %s requests failed, the first with \"%s\"%s%s. %s", r->other.failed,
                    count, stage == REQUEST_READY ? "readiness" : "warm-up", verdict_names[q->verdict],
                    q->detail ? ": " : "", q->detail ? q->detail : "", run_log_tail(r));
}

static bool identify(struct run *r)
{
    struct err e;
    struct http_get_result answer;
    if (!run_get(r, "/v1/models", 10 * SECOND_NS, &answer))
        return false;
    int status = answer.outcome == HTTP_GET_ANSWERED ? answer.status : 0;
    if (!engine_read_models(r->plan, &r->identity, status, answer.body, &e))
        return run_fail_with(r, &e);
    const char *about = engine_about_path(r->plan, &r->identity);
    if (about) {
        if (!run_get(r, about, 10 * SECOND_NS, &answer))
            return false;
        status = answer.outcome == HTTP_GET_ANSWERED ? answer.status : 0;
        if (!engine_read_about(r->plan, &r->identity, status, answer.body, &e))
            return run_fail_with(r, &e);
    }
    struct rec_fact *facts;
    size_t n;
    engine_identity_facts(r->plan, &r->identity, run_now_ns(r), &facts, &n);
    for (size_t i = 0; i < n; i++)
        r->recorders.fact(r->recorders.self, &facts[i]);
    return engine_identity_judge(facts, n, &e) || run_fail_with(r, &e);
}

/* What the processes on one GPU hold: the engine's own, those of others, and those that can't be told apart. */
struct holders {
    bool listed; /* the list could be read, and each process told apart */
    int64_t own_bytes;
    size_t own, others;
    struct buf text; /* of the others: "pid 12 (512 MiB), pid 14" */
};

static struct holders holders_of(struct run *r, uint32_t gpu)
{
    struct holders h = {.listed = true};
    struct device_process list[DEVICE_PROCESSES_MAX];
    size_t n = 0;
    if (r->device->ops->processes(r->device->self, gpu, list, &n) != READ_OK) {
        h.listed = false;
        return h;
    }
    for (size_t i = 0; i < n; i++) {
        int own = child_owns_pid(r->child, list[i].pid);
        h.listed = h.listed && own >= 0;
        if (own > 0) {
            h.own++;
            h.own_bytes += list[i].memory_bytes == ABSENT_I64 ? 0 : list[i].memory_bytes;
            continue;
        }
        buf_fmt(&h.text, "%spid %lld", h.others++ ? ", " : "", (long long)list[i].pid);
        if (list[i].memory_bytes != ABSENT_I64)
            buf_fmt(&h.text, " (%lld MiB)", (long long)(list[i].memory_bytes >> 20));
    }
    return h;
}

/* By the sum of what a GPU holds, where its processes can't be told apart (another namespace of process ids). */
static int by_sum(int64_t before, int64_t now)
{
    return before == ABSENT_I64 || now == ABSENT_I64 ? CHECK_NOT_RECORDED
           : now - before > METHOD_MEMORY_BYTES      ? CHECK_PASSED
                                                     : CHECK_FAILED;
}

/* A GPU of the plan: the engine must hold memory on it. */
static void check_own_gpu(struct run *r, size_t g)
{
    const struct rec_gpu *gpu = &r->device->gpus[r->gpu_list[g]].info;
    struct holders h = holders_of(r, r->gpu_list[g]);
    int64_t before = r->memory_before[g], now = r->live[g].memory_used_bytes;
    if (h.listed)
        run_fact(r, "gpu.memory", h.own ? CHECK_PASSED : CHECK_FAILED, "memory of the engine's own processes",
                 arena_format(r->arena, "GPU %lld: %zu of its processes, %lld MiB", (long long)gpu->index, h.own,
                              (long long)(h.own_bytes >> 20)));
    else
        run_fact(r, "gpu.memory", by_sum(before, now), "new memory",
                 by_sum(before, now) == CHECK_NOT_RECORDED
                     ? NULL
                     : arena_format(r->arena, "GPU %lld: %+lld MiB in all", (long long)gpu->index,
                                    (long long)((now - before) / (1 << 20))));
    buf_done(&h.text);
}

/* Any other GPU: the engine must hold none. What another user's process holds there is named, and judged by nobody. */
static void check_other_gpu(struct run *r, uint32_t d)
{
    const struct rec_gpu *gpu = &r->device->gpus[d].info;
    struct holders h = holders_of(r, d);
    int outcome = h.own ? CHECK_FAILED : h.listed ? CHECK_PASSED : CHECK_NOT_JUDGED;
    const char *of_others = h.others ? arena_format(r->arena, "; of others: %s", buf_text(&h.text)) : "";
    run_fact(r, "gpu.other_memory", outcome, "no process of the engine",
             arena_format(r->arena, "GPU %lld: %s%s", (long long)gpu->index,
                          h.own      ? arena_format(r->arena, "%zu of its processes", h.own)
                          : h.listed ? "none"
                                     : "its processes can't be told from others",
                          of_others));
    buf_done(&h.text);
}

/* After ready (METHOD section 3, "GPUs"). */
static void check_gpus(struct run *r)
{
    for (uint32_t d = 0; d < r->device->gpu_count; d++) {
        bool own = false;
        for (size_t g = 0; g < r->gpu_count; g++)
            own |= r->gpu_list[g] == d;
        if (!own && !r->device->gpus[d].fault)
            check_other_gpu(r, d);
    }
    for (size_t g = 0; g < r->gpu_count; g++)
        check_own_gpu(r, g);
}

static void note_tree(struct run *r)
{
    struct child_process *list;
    size_t n;
    if (!child_list(r->child, r->arena, &list, &n, NULL))
        return;
    for (size_t i = 0; i < n; i++) {
        struct buf b = {0};
        buf_fmt(&b, "process tree: pid %lld, parent %lld, %s, %s", (long long)list[i].pid, (long long)list[i].ppid,
                list[i].name, list[i].command);
        r->recorders.log(r->recorders.self, run_now_ns(r), 'j', buf_span(&b));
        buf_done(&b);
    }
}

bool stage_start(struct run *r)
{
    run_enter(r, RUN_START);
    struct err e;
    if (!make_launch(r, &e))
        return run_fail_with(r, &e);
    if (!wait_until_ready(r) || !identify(r) || !run_scrape_once(r))
        return false;
    /* What the engine has generated to warm itself up by now is no request's. */
    if (r->counts_tokens)
        r->own = r->count;
    if (!send_other(r, REQUEST_READY, 1))
        return false;
    sampler_mark(r->sampler);
    run_mark(r, BOUNDARY_READY, run_now_ns(r), NULL);
    note_tree(r);
    return true;
}

/* ---- warm-up and formal requests ---- */

/* The engine keeps no count of tokens, as far as the plan or its answers say: there is nothing to wait for. */
static bool has_no_count(const struct run *r)
{
    return !r->scraping || (r->scraped && !r->counts_tokens);
}

/* What the engine must have counted by the end of the warm-up. */
static struct usage_count known_before(const struct run *r)
{
    return (struct usage_count){r->own.tokens + r->told.tokens, r->own.requests + r->told.requests};
}

bool stage_warmup(struct run *r)
{
    run_enter(r, RUN_WARMUP);
    run_scrape_start(r, SCRAPE_NS);
    size_t count = (size_t)r->plan->method.warmup_requests;
    if (count > 0) {
        sampler_mark(r->sampler);
        if (!send_other(r, REQUEST_WARMUP, count))
            return false;
        run_mark(r, BOUNDARY_WARMUP_END, r->other.end_ns, NULL);
        sampler_mark(r->sampler);
    }
    load_done(&r->other);
    return true;
}

/* The engine's count has caught up with what is known to have been generated. It is not waited for for long: the GPUs
 * idle meanwhile, and analysis makes do without. */
static bool is_caught_up(struct run *r)
{
    enum { TRIES = 5 };
    return has_no_count(r) || r->scrapes >= TRIES || (r->counted && !(r->count.tokens < known_before(r).tokens));
}

static bool formal_is_connected(struct run *r)
{
    return r->formal.connected || r->plan->requests.connect != CONNECT_AHEAD;
}

/* What is to be done between warm-up and formal start is done at the same time: it costs joules that belong to nobody
 * (METHOD section 3, "Waiting in a stage"). */
bool stage_connect(struct run *r)
{
    run_enter(r, RUN_CONNECT);
    struct err e;
    if (!load_open(r, &r->formal, &e))
        return run_fail_with(r, &e);
    run_scrape_start(r, SCRAPE_SOON_NS);
    if (r->plan->requests.connect == CONNECT_AHEAD)
        client_connect(r->formal.client);
    check_gpus(r);
    bool through = run_wait(r, is_caught_up, INT64_MAX);
    r->scrape_period_ns = SCRAPE_NS;
    through = through && run_wait(r, formal_is_connected, INT64_MAX);
    if (!through)
        client_cancel(r->formal.client);
    return through;
}

static bool formal_has_ended(struct run *r)
{
    return r->formal.ended;
}

static bool formal_is_closed(struct run *r)
{
    return r->formal.closed;
}

bool stage_formal(struct run *r)
{
    sampler_mark(r->sampler);
    r->formal.start_ns = client_submit(r->formal.client);
    if (r->formal.start_ns == ABSENT_I64)
        return run_fail(r, ERR_ENGINE, "None of the %zu connections to %s could be opened, so no request was sent.",
                        r->set.count, r->poll_address.text);
    run_mark(r, BOUNDARY_FORMAL_START, r->formal.start_ns, NULL);
    /* As analysis has it: the latest answer since the warm-up, if it has caught up; else what is known. */
    r->before = r->counted && !(r->count.tokens < known_before(r).tokens) ? r->count : known_before(r);
    run_enter(r, RUN_FORMAL);
    bool ended = run_wait(r, formal_has_ended, INT64_MAX);
    sampler_mark(r->sampler);
    if (!ended) {
        client_cancel(r->formal.client);
        r->stopping = true;
        run_wait(r, formal_is_closed, run_now_ns(r) + 5 * SECOND_NS);
    }
    if (r->formal.ended) {
        run_mark(r, BOUNDARY_FORMAL_END, r->formal.end_ns, NULL);
        run_watch_release(r, r->formal.end_ns);
    }
    r->formal_client = client_read(r->formal.client);
    return ended;
}

/* Has the engine counted all that is known to have been generated, or can't that be told? A request that failed may
 * have left any number. */
static bool count_is_settled(struct run *r)
{
    struct client_progress p = client_progress_read(r->formal.client);
    if (has_no_count(r) || !r->counted)
        return has_no_count(r);
    struct usage_own own = {engine_own_request_tokens(&r->identity), r->identity.own_requests_max};
    struct usage_verdict v =
        usage_judge(r->before, r->count, r->told, (struct usage_count){(double)p.tokens, (double)p.succeeded}, own);
    return p.failed > 0 || usage_agrees(&v);
}

/* The engine's own token counter may lag with its front end: it is read until it agrees (METHOD section 3, "Waiting in
 * a stage"), within a limit, since the wait is part of the release. */
void stage_settle(struct run *r)
{
    run_scrape_start(r, SETTLE_PERIOD_NS);
    run_wait(r, count_is_settled, r->formal.end_ns + SETTLE_LIMIT_NS);
}

/* ---- stop and release ---- */

void run_watch_release(struct run *r, int64_t from_ns)
{
    if (r->release_open)
        return;
    double baseline_w[TICK_GPUS_MAX];
    for (size_t g = 0; g < r->gpu_count; g++) {
        baseline_w[g] = r->idle.verdict[g].mean_w;
        r->memory_back_ns[g] = ABSENT_I64;
    }
    release_init(&r->release, (uint32_t)r->gpu_count, baseline_w, seconds(r->plan->method.grid_s),
                 seconds(r->plan->method.hold_s));
    r->release_from_ns = from_ns;
    r->release_open = true;
}

static bool engine_is_gone(struct run *r)
{
    return r->gone_ns != ABSENT_I64;
}

/* Deaf to interrupts: after SIGKILL this is short, and what is left behind would hold the GPU. */
static bool wait_until_gone(struct run *r, int64_t ns)
{
    int64_t deadline = run_now_ns(r) + ns;
    while (!engine_is_gone(r) && run_now_ns(r) < deadline)
        loop_run(r->loop, deadline + r->origin_ns);
    return engine_is_gone(r);
}

void stage_stop(struct run *r)
{
    run_enter(r, RUN_STOP);
    r->stopping = true;
    run_scrape_stop(r);
    sampler_mark(r->sampler);
    run_mark(r, BOUNDARY_STOP, run_now_ns(r), NULL);
    run_watch_release(r, run_now_ns(r)); /* where the run never got to the formal end */
    struct child_stop_times times = {
        .main_ns = seconds(r->plan->limits.stop_s), .group_ns = 10 * SECOND_NS, .kill_ns = 30 * SECOND_NS};
    child_stop(r->child, &times);
    if (!run_wait(r, engine_is_gone, run_now_ns(r) + times.main_ns + times.group_ns + times.kill_ns + SECOND_NS))
        child_kill(r->child);
    if (!wait_until_gone(r, 5 * SECOND_NS))
        run_fail(r, ERR_ENGINE,
                 "Processes of the engine are still there after SIGTERM and SIGKILL: see release.survivor "
                 "in facts.csv. They hold the GPU; a process in state D usually needs a reboot.");
    sampler_mark(r->sampler);
    if (r->gone_ns != ABSENT_I64)
        run_mark(r, BOUNDARY_EXIT, r->gone_ns, NULL);
}

static bool memory_is_back(struct run *r)
{
    int64_t latest = ABSENT_I64;
    for (size_t g = 0; g < r->gpu_count; g++) {
        if (r->memory_back_ns[g] == ABSENT_I64)
            return false;
        if (r->memory_back_ns[g] > latest)
            latest = r->memory_back_ns[g];
    }
    r->memory_released_ns = latest;
    return true;
}

static bool release_is_closed(struct run *r)
{
    bool memory = memory_is_back(r);
    if (memory && r->release.recovered_ns != ABSENT_I64 && r->stage == RUN_RELEASE)
        run_enter(r, RUN_HOLD);
    if (r->stage == RUN_HOLD && r->release.recovered_ns == ABSENT_I64)
        run_enter(r, RUN_RELEASE);
    return memory && engine_is_gone(r) && r->release.closed;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Out of time, or out of hope: a hold that began in time may prove itself, a GPU that can't be read never does. */
static bool release_is_over(struct run *r)
{
    return release_is_closed(r) || sampler_lost(r->sampler) > 0 ||
           (run_now_ns(r) >= r->release_until_ns && r->stage != RUN_HOLD);
}

static bool never(struct run *r)
{
    (void)r;
    return false;
}

void stage_release(struct run *r)
{
    run_enter(r, RUN_RELEASE);
    int64_t wait = seconds(r->plan->method.release_wait_s), grid = seconds(r->plan->method.grid_s);
    r->release_until_ns = r->release_from_ns + wait;
    if (!run_wait(r, release_is_over, r->release_until_ns) && r->stage == RUN_HOLD)
        run_wait(r, release_is_over, r->release_until_ns + seconds(r->plan->method.hold_s) + 4 * grid);
    int64_t end = later(later(r->gone_ns, r->memory_released_ns), r->release.recovered_ns);
    if (r->memory_released_ns != ABSENT_I64)
        run_mark(r, BOUNDARY_MEMORY_RELEASED, r->memory_released_ns, NULL);
    if (release_is_closed(r) && end <= r->release_until_ns) {
        run_mark(r, BOUNDARY_POWER_RECOVERED, r->release.recovered_ns, NULL);
        run_mark(r, BOUNDARY_RELEASE_END, end, NULL);
        run_mark(r, BOUNDARY_HOLD_END, r->release.closed_ns, NULL);
    } else {
        struct buf b = {0};
        release_describe(&r->release, run_gpu_name, r, &b);
        if (r->memory_released_ns == ABSENT_I64)
            buf_fmt(&b, "%sMemory or compute processes are still on a GPU.", b.n ? " " : "");
        run_mark(r, BOUNDARY_RELEASE_TIMEOUT, run_now_ns(r), buf_text(&b));
        buf_done(&b);
        r->release.closed = false;
    }
    /* A boundary needs a sample behind it. */
    run_wait(r, never, run_now_ns(r) + 2 * grid + SECOND_NS / 4);
}
