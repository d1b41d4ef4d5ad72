#include "run/stages.h"

#include "base/must.h"
#include "base/time.h"
#include "run/gpu_check.h"

/* /metrics is read each second; sooner while something waits for the engine's count, which is waited for no longer than
 * METHOD section 3 allows. */
#define SCRAPE_NS        SECOND_NS
#define SCRAPE_SOON_NS   (SECOND_NS / 5)
#define SETTLE_PERIOD_NS (SECOND_NS / 40)
#define SETTLE_LIMIT_NS  SECOND_NS

/* ---- baseline ---- */

static bool idle_is_decided(void *self)
{
    return observer_idle_is_decided(self);
}

static bool refuse_baseline(struct stage_machine *m, struct observer *v, double waited_s)
{
    struct buf b = {0};
    idle_refusal(&v->idle, observer_gpu_name, v, &b);
    stage_fail(m, ERR_BUSY,
               "The machine did not become idle within %.0f s, so there is no baseline. %s Stop what runs "
               "there (%s shows it), wait until power is steady, and start again.",
               waited_s, buf_text(&b), v->o.device->kind->tool);
    buf_done(&b);
    return false;
}

bool stage_baseline(struct stage_machine *m, const struct plan_method *method, struct observer *v)
{
    stage_enter(m, RUN_BASELINE);
    observer_judge_idle(v, time_of_seconds(method->baseline_s), time_of_seconds(method->baseline_wait_s));
    /* The rule itself ends the wait; the margin is for a sampler that gives nothing at all. */
    int64_t deadline = stage_now_ns(m) + time_of_seconds(method->baseline_s + method->baseline_wait_s) + 60 * SECOND_NS;
    bool decided = stage_wait(m, idle_is_decided, v, deadline);
    observer_stop_idle(v);
    if (!decided)
        return m->interrupts == 0 &&
               stage_fail(m, ERR_DEVICE,
                          "The GPUs gave no power samples, so there is no baseline. \"jtok doctor\" shows "
                          "what can be read of them.");
    if (v->idle.start_ns != ABSENT_I64) {
        stage_boundary(m, BOUNDARY_BASELINE_START, v->idle.start_ns, NULL);
        stage_boundary(m, BOUNDARY_BASELINE_END, v->idle.end_ns, NULL);
    }
    return v->idle.state != IDLE_REFUSED || refuse_baseline(m, v, method->baseline_wait_s);
}

/* ---- readiness and warm-up ---- */

static bool load_is_closed(void *self)
{
    const struct load *l = self;
    return l->closed;
}

static bool fail_own(struct stage_machine *m, const struct service *s, const struct load *l)
{
    const struct rec_request *q = &l->first_failure;
    return stage_fail(m, ERR_ENGINE, "%zu of %zu %s requests failed, the first with \"%s\"%s%s. %s", l->failed,
                      l->count, l->stage == REQUEST_READY ? "readiness" : "warm-up", verdict_names[q->verdict],
                      q->detail ? ": " : "", q->detail ? q->detail : "", service_log_tail(s));
}

/* Sends readiness or warm-up requests and waits until every one has ended. */
static bool send_own(struct stage_machine *m, struct service *s, const struct asking *a, enum request_stage stage,
                     size_t count)
{
    struct err e;
    struct load *l = a->own;
    load_close(l);
    load_make(l, a->site, stage, count);
    if (!load_open(l, ask_address(a->ask), &e))
        return stage_fail_with(m, &e);
    if (load_submit(l) && stage == REQUEST_WARMUP)
        stage_boundary(m, BOUNDARY_WARMUP_START, l->start_ns, NULL);
    bool closed = stage_wait(m, load_is_closed, l, INT64_MAX);
    service_take_fingerprint(s, load_fingerprint(l));
    if (!closed) {
        load_cancel(l);
        return false;
    }
    struct client_progress p = load_progress(l);
    scrape_take_told(a->scrape, &p);
    return l->failed == 0 || fail_own(m, s, l);
}

bool stage_start(struct stage_machine *m, struct service *s, struct observer *v, struct folder *f,
                 const struct asking *a)
{
    stage_enter(m, RUN_START);
    struct err e;
    if (!service_prepare(s, f->path, &e))
        return stage_fail_with(m, &e);
    folder_note_environment(f, &s->launch);
    folder_note_residency(f, m);
    observer_boundary(v);
    stage_boundary(m, BOUNDARY_SERVICE_START, stage_now_ns(m), NULL);
    if (!service_start(s, &e))
        return stage_fail_with(m, &e);
    if (!service_wait_ready(s, a->ask) || !service_identify(s, a->ask) || !scrape_once(a->scrape))
        return false;
    /* What the engine has generated to warm itself up by now is no request's. */
    scrape_note_own(a->scrape);
    if (!send_own(m, s, a, REQUEST_READY, 1))
        return false;
    observer_boundary(v);
    stage_boundary(m, BOUNDARY_READY, stage_now_ns(m), NULL);
    service_find_outside(s, ask_address(a->ask));
    service_note_tree(s);
    return true;
}

bool stage_warmup(struct stage_machine *m, struct service *s, struct observer *v, const struct asking *a)
{
    stage_enter(m, RUN_WARMUP);
    scrape_start(a->scrape, SCRAPE_NS);
    size_t count = (size_t)a->site->plan->method.warmup_requests;
    if (count > 0) {
        observer_boundary(v);
        if (!send_own(m, s, a, REQUEST_WARMUP, count))
            return false;
        stage_boundary(m, BOUNDARY_WARMUP_END, a->own->end_ns, NULL);
        observer_boundary(v);
    }
    load_close(a->own);
    return true;
}

/* ---- formal requests ---- */

static bool is_caught_up(void *self)
{
    return scrape_is_caught_up(self);
}

static bool list_is_connected(void *self)
{
    return load_list_is_connected(self);
}

bool stage_connect(struct stage_machine *m, struct observer *v, const struct asking *a, struct load_list *formal)
{
    must(formal->count > 0);
    stage_enter(m, RUN_CONNECT);
    struct err e;
    for (size_t i = 0; i < formal->count; i++)
        if (!load_open(&formal->items[i], ask_address(a->ask), &e))
            return stage_fail_with(m, &e);
    scrape_start(a->scrape, SCRAPE_SOON_NS);
    for (size_t i = 0; i < formal->count; i++)
        load_connect(&formal->items[i]);
    gpu_check(v);
    bool through = stage_wait(m, is_caught_up, a->scrape, INT64_MAX);
    scrape_slow(a->scrape, SCRAPE_NS);
    through = through && stage_wait(m, list_is_connected, formal, INT64_MAX);
    for (size_t i = 0; i < formal->count && !through; i++)
        load_cancel(&formal->items[i]);
    return through;
}

static bool load_has_ended(void *self)
{
    const struct load *l = self;
    return l->ended;
}

static bool submit(struct stage_machine *m, struct load *l)
{
    return load_submit(l) || stage_fail(m, ERR_ENGINE,
                                        "None of the %zu connections to %s could be opened, so no request was sent. "
                                        "requests.csv gives the reason of each.",
                                        l->count, l->address.text);
}

static bool send_formal(struct stage_machine *m, struct load *l)
{
    return submit(m, l) && stage_wait(m, load_has_ended, l, INT64_MAX);
}

static bool list_is_closed(void *self)
{
    return load_list_is_closed(self);
}

/* What is still open is cancelled, and recorded as such. */
static void cancel_formal(struct stage_machine *m, struct load_list *formal)
{
    for (size_t i = 0; i < formal->count; i++)
        load_cancel(&formal->items[i]);
    stage_leave(m);
    stage_wait(m, list_is_closed, formal, stage_now_ns(m) + 5 * SECOND_NS);
}

bool stage_formal(struct stage_machine *m, struct service *s, struct observer *v, struct scrape *c,
                  struct load_list *formal, struct rec_client *ret_client)
{
    must(formal->count > 0);
    observer_boundary(v);
    if (!submit(m, &formal->items[0]))
        return false;
    stage_boundary(m, BOUNDARY_FORMAL_START, load_list_start_ns(formal), NULL);
    scrape_note_before(c);
    stage_enter(m, RUN_FORMAL);
    bool ended = stage_wait(m, load_has_ended, &formal->items[0], INT64_MAX);
    for (size_t i = 1; i < formal->count && ended; i++)
        ended = send_formal(m, &formal->items[i]);
    observer_boundary(v);
    if (!ended)
        cancel_formal(m, formal);
    int64_t end = load_list_end_ns(formal);
    if (end != ABSENT_I64) {
        stage_boundary(m, BOUNDARY_FORMAL_END, end, NULL);
        observer_watch_release(v, end);
    }
    for (size_t i = 0; i < formal->count; i++)
        service_take_fingerprint(s, load_fingerprint(&formal->items[i]));
    *ret_client = load_list_condition(formal);
    return ended;
}

struct settling {
    const struct scrape *scrape;
    const struct load_list *formal;
    const struct service *service;
};

static bool count_is_settled(void *self)
{
    const struct settling *w = self;
    struct client_progress p = load_list_progress(w->formal);
    return scrape_is_settled(w->scrape, &p, service_own_usage(w->service));
}

bool stage_settle(struct stage_machine *m, struct service *s, struct scrape *c, const struct load_list *formal)
{
    must(load_list_end_ns(formal) != ABSENT_I64 && (m->stage == RUN_FORMAL || m->stage == RUN_LOAD));
    struct settling w = {.scrape = c, .formal = formal, .service = s};
    scrape_start(c, SETTLE_PERIOD_NS);
    stage_wait(m, count_is_settled, &w, load_list_end_ns(formal) + SETTLE_LIMIT_NS);
    return true;
}

/* ---- stop and release ---- */

bool stage_stop(struct stage_machine *m, struct service *s, struct observer *v, struct scrape *c)
{
    must(m->leaving);
    stage_enter(m, RUN_STOP);
    scrape_stop(c);
    observer_boundary(v);
    stage_boundary(m, BOUNDARY_STOP, stage_now_ns(m), NULL);
    observer_watch_release(v, stage_now_ns(m)); /* where the run never got to the formal end */
    bool stopped = service_stop(s);
    observer_boundary(v);
    if (service_is_gone(s))
        stage_boundary(m, BOUNDARY_EXIT, s->gone_ns, NULL);
    return stopped;
}

struct releasing {
    struct stage_machine *machine;
    const struct service *service;
    const struct observer *observer;
    int64_t until_ns;
};

/* The stage is the hold as long as memory and power are back. */
static bool release_is_closed(struct releasing *w)
{
    struct stage_machine *m = w->machine;
    const struct release *r = &w->observer->release;
    bool memory = observer_memory_back_ns(w->observer) != ABSENT_I64, power = r->recovered_ns != ABSENT_I64;
    if (memory && power && m->stage == RUN_RELEASE)
        stage_enter(m, RUN_HOLD);
    if (m->stage == RUN_HOLD && !power)
        stage_enter(m, RUN_RELEASE);
    return memory && service_is_gone(w->service) && r->closed;
}

/* Out of time, or out of hope: a hold that began in time may prove itself, a GPU that can't be read never does. */
static bool release_is_over(void *self)
{
    struct releasing *w = self;
    return release_is_closed(w) || observer_lost(w->observer) > 0 ||
           (stage_now_ns(w->machine) >= w->until_ns && w->machine->stage != RUN_HOLD);
}

static void note_timeout(struct stage_machine *m, struct observer *v)
{
    struct buf b = {0};
    release_describe(&v->release, observer_gpu_name, v, &b);
    if (observer_memory_back_ns(v) == ABSENT_I64)
        buf_fmt(&b, "%sMemory or compute processes are still on a GPU.", b.n ? " " : "");
    stage_boundary(m, BOUNDARY_RELEASE_TIMEOUT, stage_now_ns(m), buf_text(&b));
    buf_done(&b);
}

bool stage_release(struct stage_machine *m, struct service *s, struct observer *v)
{
    must(m->leaving && v->release_on);
    stage_enter(m, RUN_RELEASE);
    const struct release *r = &v->release;
    const struct plan_method *method = &s->plan->method;
    int64_t grid = v->o.grid_ns;
    struct releasing w = {.machine = m,
                          .service = s,
                          .observer = v,
                          .until_ns = v->release_from_ns + time_of_seconds(method->release_wait_s)};
    if (!stage_wait(m, release_is_over, &w, w.until_ns) && m->stage == RUN_HOLD)
        stage_wait(m, release_is_over, &w, w.until_ns + v->o.hold_ns + 4 * grid);
    int64_t memory = observer_memory_back_ns(v);
    int64_t end = time_later(time_later(s->gone_ns, memory), r->recovered_ns);
    if (memory != ABSENT_I64)
        stage_boundary(m, BOUNDARY_MEMORY_RELEASED, memory, NULL);
    bool released = release_is_closed(&w) && end <= w.until_ns;
    if (released) {
        stage_boundary(m, BOUNDARY_POWER_RECOVERED, r->recovered_ns, NULL);
        stage_boundary(m, BOUNDARY_RELEASE_END, end, NULL);
        stage_boundary(m, BOUNDARY_HOLD_END, r->closed_ns, NULL);
    } else {
        note_timeout(m, v);
    }
    /* A boundary needs a sample behind it. */
    stage_wait(m, NULL, NULL, stage_now_ns(m) + 2 * grid + SECOND_NS / 4);
    return released;
}
