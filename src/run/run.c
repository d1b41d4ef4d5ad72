#include "run/run.h"

#include <ftw.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "base/utf8.h"
#include "model/method.h"
#include "run/ending.h"
#include "run/internal.h"
#include "store/work_digest.h"
#include "text/digest.h"

extern char **environ;

const char *const run_stage_names[] = {"prepare", "baseline", "start", "warmup", "connect", "formal",
                                       "stop",    "release",  "hold",  "done",   NULL};

enum { TICK_NS = 250000000, SCRAPE_LIMIT_NS = 2000000000, BODY_MAX = 4 << 20 };

/* ---- small things that every stage uses ---- */

int64_t run_now_ns(const struct run *r)
{
    return clock_now_ns() - r->origin_ns;
}

bool run_fail(struct run *r, enum err_kind kind, const char *format, ...)
{
    struct err e;
    va_list arguments;
    va_start(arguments, format);
    char text[sizeof e.text];
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    err_set(&e, kind, "%s", text);
    return run_fail_with(r, &e);
}

bool run_fail_with(struct run *r, const struct err *e)
{
    if (r->failure.kind == ERR_NONE) {
        r->failure = *e;
        if (r->recorder)
            run_mark(r, BOUNDARY_FAILED, run_now_ns(r), e->text);
        loop_stop(r->loop);
    }
    return false;
}

void run_mark(struct run *r, enum boundary id, int64_t t_ns, const char *note)
{
    r->recorders.boundary(r->recorders.self, &(struct rec_boundary){.t_ns = t_ns, .id = id, .note = note});
}

void run_fact(struct run *r, const char *name, int outcome, const char *expected, const char *seen)
{
    r->recorders.fact(r->recorders.self,
                      &(struct rec_fact){
                          .t_ns = run_now_ns(r), .name = name, .outcome = outcome, .expected = expected, .seen = seen});
}

const char *run_gpu_name(void *self, uint32_t gpu)
{
    struct run *r = self;
    const struct rec_gpu *g = &r->device->gpus[r->gpu_list[gpu]].info;
    return arena_format(r->arena, "GPU %lld (%s)", (long long)g->index, g->uuid);
}

const char *run_log_tail(struct run *r)
{
    if (r->tail_count == 0)
        return "It wrote nothing.";
    struct buf b = {0};
    buf_str(&b, "The end of its output:");
    size_t first = r->tail_count, bytes = 0;
    while (first > 0 && r->tail_count - first < LOG_TAIL_LINES) {
        bytes += strlen(r->tail[(first - 1) % LOG_TAIL_LINES]) + 3;
        if (bytes > LOG_TAIL_TOLD && first < r->tail_count)
            break;
        first--;
    }
    for (size_t i = first; i < r->tail_count; i++)
        buf_fmt(&b, "\n  %s", r->tail[i % LOG_TAIL_LINES]);
    const char *text = arena_text(r->arena, buf_text(&b));
    buf_done(&b);
    return text;
}

void run_enter(struct run *r, int stage)
{
    r->stage = stage;
    r->stage_start_ns = run_now_ns(r);
    run_show(r);
}

static double live_watts(const struct run *r)
{
    double watts = 0;
    for (size_t g = 0; g < r->gpu_count; g++) {
        if (r->live[g].sequence == 0 || r->live[g].mw < 0)
            return NAN;
        watts += r->live[g].mw / 1e3;
    }
    return watts;
}

void run_show(struct run *r)
{
    if (!r->options->progress)
        return;
    int64_t now = run_now_ns(r);
    struct run_view v = {
        .stage = r->stage,
        .elapsed_ns = now,
        .stage_elapsed_ns = now - r->stage_start_ns,
        .watts = live_watts(r),
        .chunks_per_s = NAN,
        .note = r->note,
        .folder = r->folder,
        .interrupted = r->interrupts > 0,
    };
    if (r->formal.client) {
        struct client_progress p = client_progress_read(r->formal.client);
        if (r->formal.start_ns != ABSENT_I64)
            v.requests = (int64_t)p.total;
        v.done = (int64_t)p.succeeded;
        v.failed = (int64_t)p.failed;
        v.running = (int64_t)p.running;
        if (now - r->rate_ns >= 900000000) {
            r->rate = r->rate_ns ? (double)(p.token_chunks - r->rate_chunks) / ((double)(now - r->rate_ns) / 1e9) : NAN;
            r->rate_ns = now;
            r->rate_chunks = p.token_chunks;
        }
        v.chunks_per_s = r->rate;
    }
    r->options->progress(r->options->self, &v);
}

/* ---- what comes in on the loop ---- */

bool run_signalled(struct run *r, struct err *e)
{
    struct signalfd_siginfo info;
    return read(r->signals.fd, &info, sizeof info) == sizeof info &&
           !err_set(e, ERR_INTERRUPTED, "Interrupted before anything was started; nothing was written.");
}

static void on_signal(struct watch *w, uint32_t events)
{
    (void)events;
    struct run *r = w->owner;
    struct signalfd_siginfo info;
    if (read(w->fd, &info, sizeof info) != sizeof info)
        return;
    if (r->interrupts++ == 0) {
        run_mark(r, BOUNDARY_INTERRUPTED, run_now_ns(r), run_stage_names[r->stage]);
        run_show(r);
    }
    loop_stop(r->loop);
}

static void on_tick(struct timer *t)
{
    struct run *r = t->owner;
    run_show(r);
    struct err e;
    if (r->recorder && recorder_failed(r->recorder, &e))
        run_fail_with(r, &e);
    loop_timer_set(r->loop, t, clock_now_ns() + TICK_NS);
}

static void take_memory(struct run *r, uint32_t gpu, const struct sampler_live *s)
{
    bool back = s->processes <= 0 && s->memory_used_bytes != ABSENT_I64 && r->memory_before[gpu] != ABSENT_I64 &&
                s->memory_used_bytes <= r->memory_before[gpu] + METHOD_MEMORY_BYTES;
    if (back && r->memory_back_ns[gpu] == ABSENT_I64)
        r->memory_back_ns[gpu] = s->t_ns;
}

static void take_sample(struct run *r, uint32_t gpu, const struct sampler_live *s)
{
    r->live[gpu] = *s;
    struct tick_sample sample = {.t_ns = s->t_ns,
                                 .watts = s->mw < 0 ? NAN : s->mw / 1e3,
                                 .utilisation = s->utilisation,
                                 .processes = s->processes};
    if (r->idle_open && s->t_ns >= r->t0_ns)
        idle_feed(&r->idle, gpu, &sample);
    if (r->release_open && s->t_ns >= r->release_from_ns) {
        release_feed(&r->release, gpu, &sample);
        take_memory(r, gpu, s);
    }
}

static void on_wake(void *self)
{
    struct run *r = self;
    if (!r->sampler)
        return;
    for (uint32_t g = 0; g < r->gpu_count; g++) {
        struct sampler_live fresh[SAMPLER_RING];
        size_t n = sampler_grid_since(r->sampler, g, r->grid_seen[g], fresh, SAMPLER_RING);
        for (size_t i = 0; i < n; i++)
            take_sample(r, g, &fresh[i]);
        if (n) {
            r->grid_seen[g] = fresh[n - 1].sequence;
            loop_stop(r->loop); /* every condition that a stage waits for may have changed */
        }
    }
    if (sampler_lost(r->sampler))
        run_fail(
            r, ERR_DEVICE,
            "A GPU was lost during the run (it fell off the bus, or access was taken away): see gpu.lost in facts.csv, "
            "then look at dmesg for Xid messages. The records up to here are kept.");
}

static void on_grid(void *self, uint32_t gpu)
{
    (void)gpu;
    struct run *r = self;
    loop_wake(r->loop);
}

static int8_t own_process(void *self, int64_t pid)
{
    struct run *r = self;
    return (int8_t)child_owns_pid(r->child, pid);
}

/* The first line that tells each step of the start. */
static void note_milestone(struct run *r, int64_t t_ns, struct span line)
{
    int milestone = r->stage < RUN_FORMAL ? engine_milestone(line) : -1;
    if (milestone < 0 || r->milestones[milestone])
        return;
    r->milestones[milestone] = true;
    r->recorders.fact(r->recorders.self, &(struct rec_fact){.t_ns = t_ns,
                                                            .name = milestone_names[milestone],
                                                            .outcome = CHECK_NOT_JUDGED,
                                                            .seen = arena_copy(r->arena, line.p, line.n)});
}

static void on_line(void *self, int64_t t_ns, char stream, struct span line, bool cut)
{
    (void)cut;
    struct run *r = self;
    r->recorders.log(r->recorders.self, t_ns - r->origin_ns, stream, line);
    engine_read_log(r->plan, &r->identity, line);
    note_milestone(r, t_ns - r->origin_ns, line);
    struct buf masked = {0};
    secrets_replace(&r->secrets, line, &masked);
    utf8_show_from(&masked, 0, false);
    char *slot = r->tail[r->tail_count++ % LOG_TAIL_LINES];
    snprintf(slot, LOG_TAIL_BYTES, "%.*s", SPAN_ARG(buf_span(&masked)));
    buf_done(&masked);
    const char *progress = engine_progress(r->plan, slot);
    if (progress) {
        snprintf(r->note_text, sizeof r->note_text, "%s", progress);
        r->note = r->note_text;
    }
}

static void on_exited(void *self, int64_t t_ns, int status)
{
    (void)t_ns;
    struct run *r = self;
    r->record.engine_exit_status = status;
    if (!r->may_exit && !r->stopping)
        run_fail(r, ERR_ENGINE, "The engine ended by itself with %s %d in the stage \"%s\". %s",
                 status >= 128 ? "signal" : "exit status", status >= 128 ? status - 128 : status,
                 run_stage_names[r->stage], run_log_tail(r));
    loop_stop(r->loop);
}

static void on_gone(void *self, int64_t t_ns)
{
    struct run *r = self;
    r->gone_ns = t_ns - r->origin_ns;
    loop_stop(r->loop);
}

static void on_stuck(void *self, const struct child_process *left, size_t n)
{
    struct run *r = self;
    for (size_t i = 0; i < n; i++)
        run_fact(
            r, "release.survivor", CHECK_FAILED, "no process of the engine",
            arena_format(r->arena, "pid %lld (%s), state %c", (long long)left[i].pid, left[i].name, left[i].state));
}

static void on_orphaned(void *self, const char *why)
{
    struct run *r = self;
    run_fail(r, ERR_SYSTEM, "%s", why);
}

bool run_wait(struct run *r, bool (*done)(struct run *r), int64_t deadline_ns)
{
    for (;;) {
        if (done && done(r))
            return true;
        if (r->stopping ? r->interrupts > 1 : r->failure.kind != ERR_NONE || r->interrupts > 0)
            return false;
        if (run_now_ns(r) >= deadline_ns)
            return false;
        loop_run(r->loop, deadline_ns == INT64_MAX ? INT64_MAX : deadline_ns + r->origin_ns);
    }
}

bool run_pause(struct run *r, int64_t ns)
{
    run_wait(r, NULL, run_now_ns(r) + ns);
    return r->stopping ? r->interrupts <= 1 : r->failure.kind == ERR_NONE && r->interrupts == 0;
}

/* ---- GETs ---- */

static void poll_answered(void *self, const struct http_get_result *result)
{
    struct run *r = self;
    r->poll = NULL;
    buf_clear(&r->poll_body);
    buf_add(&r->poll_body, result->body.p, result->body.n);
    r->poll_result = *result;
    r->poll_result.body = buf_span(&r->poll_body);
    r->poll_result.detail = result->detail ? arena_text(r->arena, result->detail) : NULL;
    r->poll_result.location = result->location ? arena_text(r->arena, result->location) : NULL;
    if (result->outcome == HTTP_GET_ANSWERED && result->address) {
        r->poll_address = *result->address;
        r->poll_address_known = true;
    }
    r->poll_done = true;
    loop_stop(r->loop);
}

static bool poll_is_done(struct run *r)
{
    return r->poll_done;
}

static const char *authorization(struct run *r, struct buf *b)
{
    if (!r->api_key)
        return NULL;
    buf_fmt(b, "Authorization: Bearer %s", r->api_key);
    return buf_text(b);
}

bool run_get(struct run *r, const char *path, int64_t timeout_ns, struct http_get_result *ret_result)
{
    struct err e;
    struct buf header = {0};
    r->poll_done = false;
    struct http_get_options o = {.host = r->plan->engine.host,
                                 .port = (int)r->plan->engine.port,
                                 .path = path,
                                 .header = authorization(r, &header),
                                 .timeout_ns = timeout_ns,
                                 .body_max = BODY_MAX,
                                 .done = poll_answered,
                                 .self = r};
    bool started = http_get_start(r->loop, &o, &r->poll, &e);
    buf_done(&header);
    if (!started)
        return run_fail_with(r, &e);
    if (!run_wait(r, poll_is_done, INT64_MAX)) {
        if (r->poll)
            http_get_cancel(r->poll);
        r->poll = NULL;
        return false;
    }
    *ret_result = r->poll_result;
    return true;
}

/* An answer without a count of generated tokens leaves a fact, each status once in a row: the records say why nothing
 * could be compared. */
static void tell_metrics_lack(struct run *r, const struct http_get_result *result)
{
    bool answered = result->outcome == HTTP_GET_ANSWERED;
    struct engine_metrics_answer answer = {.status = answered ? result->status : -1,
                                           .location = result->location,
                                           .body = result->body,
                                           .detail = result->detail};
    if (answer.status != r->metrics_status)
        run_fact(r, "metrics.answer", CHECK_NOT_JUDGED, "a count of generated tokens",
                 engine_metrics_lack(r->plan, &answer, r->arena));
    r->metrics_status = answer.status;
}

/* Records an answer of /metrics, or that there was none. */
static void take_metrics(struct run *r, const struct http_get_result *result)
{
    bool answered = result->outcome == HTTP_GET_ANSWERED, good = answered && result->status == 200;
    struct span body = good ? result->body : (struct span){0};
    struct rec_metrics m = engine_read_metrics(body);
    m.t_ns = result->sent_ns - r->origin_ns;
    m.took_ns = answered ? result->done_ns - result->sent_ns : ABSENT_I64;
    r->recorders.metrics(r->recorders.self, &m, body);
    r->scraped |= answered;
    if (m.t_ns >= r->count_from_ns)
        r->scrapes++;
    if (isnan(m.generation_tokens)) {
        tell_metrics_lack(r, result);
        return;
    }
    r->counts_tokens = true;
    r->counted = m.t_ns >= r->count_from_ns;
    r->count = (struct usage_count){m.generation_tokens, m.requests_ended};
}

bool run_scrape_once(struct run *r)
{
    const char *path = engine_metrics_path(r->plan);
    struct http_get_result answer;
    if (!path)
        return true;
    if (!run_get(r, path, SCRAPE_LIMIT_NS, &answer))
        return false;
    take_metrics(r, &answer);
    return true;
}

static void scrape_answered(void *self, const struct http_get_result *result)
{
    struct run *r = self;
    r->scrape = NULL;
    take_metrics(r, result);
    loop_stop(r->loop);
}

static void on_scrape(struct timer *t)
{
    struct run *r = t->owner;
    if (!r->scraping)
        return;
    /* An answer that is still outstanding is load enough: this turn is left out. */
    if (!r->scrape) {
        struct err e;
        struct buf header = {0};
        struct http_get_options o = {.host = r->plan->engine.host,
                                     .port = (int)r->plan->engine.port,
                                     .path = engine_metrics_path(r->plan),
                                     .header = authorization(r, &header),
                                     .timeout_ns = SCRAPE_LIMIT_NS,
                                     .body_max = BODY_MAX,
                                     .done = scrape_answered,
                                     .self = r};
        if (!http_get_start(r->loop, &o, &r->scrape, &e))
            r->scrape = NULL;
        buf_done(&header);
    }
    loop_timer_set(r->loop, t, clock_now_ns() + r->scrape_period_ns);
}

void run_scrape_start(struct run *r, int64_t period_ns)
{
    run_scrape_stop(r);
    r->count_from_ns = run_now_ns(r);
    r->counted = false;
    r->scrapes = 0;
    if (!engine_metrics_path(r->plan))
        return;
    r->scraping = true;
    r->scrape_period_ns = period_ns;
    r->scrape_timer = (struct timer){.fire = on_scrape, .owner = r};
    loop_timer_set(r->loop, &r->scrape_timer, clock_now_ns());
}

void run_scrape_stop(struct run *r)
{
    if (!r->scraping)
        return;
    r->scraping = false;
    loop_timer_stop(r->loop, &r->scrape_timer);
    if (r->scrape)
        http_get_cancel(r->scrape);
    r->scrape = NULL;
}

/* ---- life of the struct ---- */

bool run_open(struct plan *plan, struct arena *a, const struct run_options *o, struct run **ret_run, struct err *e)
{
    struct run *r = mem_zero(1, sizeof *r);
    *r = (struct run){.plan = plan, .arena = a, .options = o, .gone_ns = ABSENT_I64, .memory_released_ns = ABSENT_I64};
    preflight_init(&r->preflight, a);
    engine_identity_init(&r->identity, a);
    /* Blocked before any thread or child exists, so that a signal is read from the loop and nowhere else. */
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    struct sigaction hangup;
    if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
        sigaddset(&set, SIGHUP); /* a lost terminal, but for nohup */
    signal(SIGPIPE, SIG_IGN);
    struct child_events events = {
        .self = r, .line = on_line, .exited = on_exited, .gone = on_gone, .stuck = on_stuck, .orphaned = on_orphaned};
    if (!child_open(&r->child, &events, e) || !loop_open(&r->loop, e) || !child_attach(r->child, r->loop, e)) {
        run_close(r);
        return false;
    }
    sigprocmask(SIG_BLOCK, &set, NULL);
    r->signals = (struct watch){.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), .ready = on_signal, .owner = r};
    loop_on_wake(r->loop, on_wake, r);
    *ret_run = r;
    return true;
}

void run_close(struct run *r)
{
    if (!r)
        return;
    sampler_close(r->sampler);
    child_close(r->child);
    if (r->loop)
        loop_close(r->loop);
    if (r->signals.fd > 0)
        close(r->signals.fd);
    device_close(r->device);
    idle_done(&r->idle);
    request_set_done(&r->set);
    preflight_done(&r->preflight);
    secrets_done(&r->secrets);
    buf_done(&r->poll_body);
    free(r);
}

/* ---- executing ---- */

static const char *cpu_model(struct arena *a)
{
    FILE *f = fopen("/proc/cpuinfo", "re");
    char line[512];
    const char *model = NULL;
    while (f && !model && fgets(line, sizeof line, f))
        if (strncmp(line, "model name", 10) == 0 && strchr(line, ':')) {
            struct span s = span_of(strchr(line, ':') + 1);
            s.n -= s.n && s.p[s.n - 1] == '\n';
            s = span_trim(s);
            model = arena_copy(a, s.p, s.n);
        }
    if (f)
        fclose(f);
    return model;
}

static void describe_run(struct run *r)
{
    struct utsname u = {0};
    uname(&u);
    r->record = (struct rec_run){
        .id = archive_id(r->folder, r->arena),
        .jtok_version = JTOK_VERSION,
        .method_id = METHOD_ID,
        .began_realtime_ns = clock_realtime_ns(),
        .host = arena_text(r->arena, u.nodename),
        .kernel = arena_format(r->arena, "%s %s", u.sysname, u.release),
        .cpu = cpu_model(r->arena),
        .driver_version = r->device->driver_version,
        .library_version = r->device->library_version,
        .gpu_simulated = r->device->simulated,
        .engine_simulated = r->plan->engine.simulated,
        .engine_exit_status = ABSENT_I64,
        .prefix_cache = ABSENT_I64,
        .snapshot_bytes = r->has_snapshot ? r->snapshot.bytes : ABSENT_I64,
        .snapshot_resident_bytes = ABSENT_I64,
        .own_request_tokens = ABSENT_I64,
        .own_requests_max = ABSENT_I64,
    };
}

static bool make_folder(struct run *r, struct err *e)
{
    const char *label = r->plan->name ? r->plan->name : r->plan->model.id;
    if (!archive_create(r->plan->runs, label, clock_realtime_ns(), r->arena, &r->folder, e))
        return false;
    r->origin_ns = clock_now_ns();
    describe_run(r);
    int64_t bytes = preflight_record_bytes((int64_t)r->set.count, r->set.total_max_tokens);
    if (!preflight_disk(&r->preflight, r->folder, bytes, e) && !r->options->despite_preflight) {
        rmdir(r->folder); /* nothing is in it yet */
        r->folder = NULL;
        return false;
    }
    size_t places = 0;
    struct plan masked = secrets_mask_plan(&r->secrets, r->plan, r->arena, &places);
    static const char source_name[] = "plan.yaml";
    char sha256[65];
    if (!archive_write_plan(r->folder, &masked, sha256, e))
        return false;
    if (r->options->plan_source) {
        struct buf source = {0};
        places += secrets_replace(&r->secrets, span_of(r->options->plan_source), &source);
        bool written = archive_write_file(r->folder, source_name, buf_span(&source), e);
        buf_done(&source);
        if (!written)
            return false;
    }
    r->record.plan_sha256 = arena_text(r->arena, sha256);
    r->record.secrets_replaced = (int64_t)places;
    struct rec_gpu *gpus = arena_array(r->arena, r->gpu_count, sizeof *gpus);
    for (size_t g = 0; g < r->gpu_count; g++)
        gpus[g] = r->device->gpus[r->gpu_list[g]].info;
    return archive_write_gpus(r->folder, gpus, r->gpu_count, e) && archive_write_run(r->folder, &r->record, e) &&
           recorder_open(&r->recorder, r->folder, &(struct recorder_options){.secrets = &r->secrets}, e);
}

static bool begin_recording(struct run *r, struct err *e)
{
    r->recorders = recorder_sink(r->recorder);
    for (size_t i = 0; i < r->preflight.fact_count; i++)
        r->recorders.fact(r->recorders.self, &r->preflight.facts[i]);
    for (size_t g = 0; g < r->gpu_count; g++)
        run_fact(r, "gpu.uuid", CHECK_PASSED, r->plan->gpus[g], r->device->gpus[r->gpu_list[g]].info.uuid);
    if (!loop_add(r->loop, &r->signals, EPOLLIN, e))
        return false;
    r->tick = (struct timer){.fire = on_tick, .owner = r};
    loop_timer_set(r->loop, &r->tick, clock_now_ns() + TICK_NS);
    r->t0_ns = run_now_ns(r) + SAMPLER_LEAD_NS + 100000000;
    struct sampler_options o = {
        .gpus = r->gpu_list,
        .gpu_count = r->gpu_count,
        .origin_ns = r->origin_ns,
        .t0_ns = r->t0_ns + r->origin_ns,
        .grid_ns = (int64_t)(r->plan->method.grid_s * 1e9),
        .stagger_ns = SAMPLER_SPREAD,
        .sink = &r->recorders,
        .self = r,
        .own = own_process,
        .on_grid = on_grid,
    };
    return sampler_open(r->device, &o, &r->sampler, e);
}

static void compare_with_plan(struct run *r, const char *name, const char *expected, const char *seen)
{
    int outcome = !seen ? CHECK_NOT_RECORDED : strcmp(expected, seen) == 0 ? CHECK_PASSED : CHECK_FAILED;
    run_fact(r, name, outcome, expected, seen);
}

/* Is what ran still what was frozen? The requests are those that were read once, before the start, and are asked for
 * again here, from memory: the file may have been a pipe, and what became of it since changes nothing. What the engine
 * says of itself are the identity facts. */
static void check_plan(struct run *r)
{
    char work[DIGEST_HEX];
    work_digest(r->plan, &r->set, work);
    compare_with_plan(r, "plan.requests_sha256", r->plan->requests.sha256, r->set.sha256);
    compare_with_plan(r, "plan.work_sha256", r->plan->requests.work_sha256, work);
    compare_with_plan(r, "plan.requests_count", arena_format(r->arena, "%zu", r->set.count),
                      arena_format(r->arena, "%zu", r->formal.succeeded + r->formal.failed));
    if (r->has_snapshot) {
        char sha256[DIGEST_HEX], digest[DIGEST_HEX];
        bool read = snapshot_again(&r->preflight, &r->snapshot, sha256, digest, NULL);
        compare_with_plan(r, "plan.snapshot_sha256", r->plan->model.snapshot_sha256, read ? sha256 : NULL);
        compare_with_plan(r, "plan.snapshot_digest", r->plan->model.snapshot_digest, read ? digest : NULL);
    }
}

/* The documents that are known at the end only; the folder stays unsealed. */
static void finish(struct run *r)
{
    run_scrape_stop(r);
    loop_timer_stop(r->loop, &r->tick);
    loop_remove(r->loop, &r->signals);
    sampler_close(r->sampler);
    r->sampler = NULL;
    r->record.engine_version = r->identity.version;
    r->record.engine_fingerprint = r->identity.fingerprint;
    r->record.engine_name = r->identity.name;
    r->record.own_request_tokens = engine_own_request_tokens(&r->identity);
    r->record.own_requests_max = r->identity.own_requests_max;
    if (r->identity.prefix_cache >= 0)
        r->record.prefix_cache = r->identity.prefix_cache;
    else if (engine_prefix_cache_argument(r->plan) >= 0)
        r->record.prefix_cache = engine_prefix_cache_argument(r->plan);
    bool served = r->formal_client.wall_ns > 0;
    if (served)
        r->record.stamp_source = r->formal_client.stamps_kernel > 0 ? "kernel" : "read";
    if (!ending_write(r->recorder, r->folder, served ? &r->formal_client : NULL, &r->record, &r->unwritten) &&
        r->failure.kind == ERR_NONE)
        r->failure = r->unwritten;
    r->recorder = NULL;
}

static int remove_one(const char *path, const struct stat *s, int type, struct FTW *f)
{
    (void)s, (void)type, (void)f;
    return remove(path);
}

/* Compile caches may hold gigabytes and serve no other run: they would only weigh on the folder. What the engine left
 * in its working folder stays. */
static void remove_caches(struct run *r)
{
    nftw(arena_format(r->arena, "%s/" ENGINE_CACHE, r->folder), remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    rmdir(arena_format(r->arena, "%s/" ENGINE_WORK, r->folder));
}

bool run_execute(struct run *r, struct run_outcome *ret_outcome, struct err *e)
{
    if (!make_folder(r, e) || !begin_recording(r, e)) {
        if (r->recorder) {
            recorder_close(r->recorder, NULL, NULL);
            r->recorder = NULL;
        }
        if (r->folder)
            err_prefix(e, "%s", r->folder);
        return false;
    }
    load_make(r, &r->formal, REQUEST_FORMAL, r->set.count); /* here its time is in no stage */
    bool through = stage_baseline(r) && stage_start(r) && stage_warmup(r) && stage_connect(r) && stage_formal(r);
    if (through)
        stage_settle(r);
    if (child_is_started(r->child)) {
        stage_stop(r);
        stage_release(r);
    }
    load_done(&r->formal);
    load_done(&r->other);
    run_enter(r, RUN_DONE);
    if (through)
        check_plan(r);
    finish(r);
    remove_caches(r);
    *ret_outcome = (struct run_outcome){
        .folder = r->folder,
        .went_through = through && r->interrupts == 0 && r->failure.kind == ERR_NONE && r->release.closed,
        .interrupted = r->interrupts > 0,
        .failure = r->failure,
        .unwritten = r->unwritten,
    };
    return true;
}
