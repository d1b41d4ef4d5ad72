/* The stage of a plan's loads (METHOD section 11): silence, load, silence, load. */
#include "base/must.h"
#include "model/limits.h"
#include "run/gpu_check.h"
#include "run/stages.h"

/* How long before its start a load is waited for: what is done then would be late behind its first requests. */
#define START_EARLY_NS (20 * MS_NS)
/* Connections of a burst are opened that long before it at least, beside METHOD section 4's silence: waves of 64 each
 * 10 ms. */
#define BURST_LEAD_NS    SECOND_NS
#define BURST_CONNECT_NS (MS_NS / 4)
#define SCRAPE_NS        SECOND_NS
#define CANCEL_LIMIT_NS  (5 * SECOND_NS)

/* What the loads of one run share on their way. */
struct going {
    struct stage_machine *machine;
    struct service *service; /* null: the server is not jtok's */
    struct observer *observer;
    const struct asking *asking;
    struct load_list *loads;
};

static void boundary(struct stage_machine *m, enum boundary id, int64_t t_ns, const struct load *l)
{
    stage_boundary(m, id, t_ns, arena_format(m->arena, "%d", (int)l->number));
}

static bool has_sent_all(void *self)
{
    const struct load *l = self;
    return l->last_ns != ABSENT_I64;
}

static bool has_ended(void *self)
{
    const struct load *l = self;
    return l->ended;
}

static bool is_closed(void *self)
{
    const struct load *l = self;
    return l->closed;
}

static bool is_connected(void *self)
{
    return load_is_connected(self);
}

static bool is_caught_up(void *self)
{
    return scrape_is_caught_up(self);
}

/* Silence up to the load's start, or, where opening its connections takes longer, up to what that takes. */
static bool wait_silence(const struct going *g, struct load *l, int64_t start)
{
    struct stage_machine *m = g->machine;
    if (load_is_paced(l)) {
        start = time_later(start, stage_now_ns(m) + load_lead_ns(l) + START_EARLY_NS);
        load_begin(l, start);
        return stage_pause(m, start - START_EARLY_NS - stage_now_ns(m));
    }
    int64_t connect = start - BURST_LEAD_NS - (int64_t)l->count * BURST_CONNECT_NS - METHOD_SILENCE_NS;
    if (!stage_pause(m, time_later(connect - stage_now_ns(m), 0)))
        return false;
    load_connect(l);
    return stage_wait(m, is_connected, l, INT64_MAX) && stage_pause(m, time_later(start - stage_now_ns(m), 0));
}

static bool be_silent(const struct going *g, struct load *l, size_t first, int64_t since)
{
    struct stage_machine *m = g->machine;
    struct err e;
    load_plan(l, g->asking->site, (size_t)l->number, first);
    if (!load_open(l, ask_address(g->asking->ask), &e))
        return stage_fail_with(m, &e);
    stage_enter(m, RUN_SILENCE);
    if (l->number > 0)
        return wait_silence(g, l, since + METHOD_SILENCE_LOADS_NS);
    scrape_start(g->asking->scrape, SCRAPE_NS);
    gpu_check(g->observer);
    return stage_wait(m, is_caught_up, g->asking->scrape, INT64_MAX) &&
           wait_silence(g, l, since + METHOD_SILENCE_FIRST_NS);
}

/* What is still open is cancelled, and recorded as such. */
static void cancel(const struct going *g, struct load *l)
{
    struct stage_machine *m = g->machine;
    if (!l->client)
        return;
    load_cancel(l);
    stage_leave(m);
    if (l->start_ns != ABSENT_I64)
        stage_wait(m, is_closed, l, stage_now_ns(m) + CANCEL_LIMIT_NS);
}

static bool fail_unsent(const struct going *g, const struct load *l)
{
    const struct rec_request *q = &l->first_failure;
    return stage_fail(g->machine, ERR_ENGINE,
                      "No request of load %d was sent, since no connection to %s could be opened.%s%s", (int)l->number,
                      l->address.text, l->failed && q->detail ? " " : "", l->failed && q->detail ? q->detail : "");
}

static bool send_load(const struct going *g, struct load *l)
{
    struct stage_machine *m = g->machine;
    observer_boundary(g->observer);
    if (!load_is_paced(l) && !load_submit(l))
        return fail_unsent(g, l);
    stage_enter(m, RUN_LOAD);
    boundary(m, BOUNDARY_LOAD_START, l->start_ns, l);
    if (l->number == 0) {
        stage_boundary(m, BOUNDARY_FORMAL_START, l->start_ns, NULL);
        scrape_note_before(g->asking->scrape);
    }
    bool through = stage_wait(m, has_sent_all, l, INT64_MAX);
    if (through)
        boundary(m, BOUNDARY_LOAD_LAST, l->last_ns, l);
    through = through && stage_wait(m, has_ended, l, INT64_MAX);
    observer_boundary(g->observer);
    if (!through)
        cancel(g, l);
    else if (l->sent == 0)
        through = fail_unsent(g, l);
    return through;
}

/* Whatever has become of it, its end is written down where it had one, and it is closed. */
static bool go_through(const struct going *g, struct load *l, size_t first, int64_t since)
{
    struct stage_machine *m = g->machine;
    bool silent = be_silent(g, l, first, since);
    bool sent = silent && send_load(g, l);
    if (!silent)
        cancel(g, l);
    if (silent && l->end_ns != ABSENT_I64 && l->sent > 0)
        boundary(m, BOUNDARY_LOAD_END, l->end_ns, l);
    if (g->service)
        service_take_fingerprint(g->service, load_fingerprint(l));
    if (sent)
        stage_wait(m, is_closed, l, stage_now_ns(m) + CANCEL_LIMIT_NS);
    load_close(l);
    return sent;
}

bool stage_loads(struct stage_machine *m, struct service *s, struct observer *v, const struct asking *a,
                 struct load_list *loads, struct rec_client *ret_client)
{
    must(loads->count > 0);
    struct going g = {.machine = m, .service = s, .observer = v, .asking = a, .loads = loads};
    bool through = true;
    size_t first = 0;
    int64_t since = stage_now_ns(m), end = ABSENT_I64;
    for (size_t i = 0; i < loads->count && through; i++) {
        struct load *l = &loads->items[i];
        through = go_through(&g, l, first, since);
        first += l->sent;
        since = l->end_ns;
        end = l->sent > 0 ? time_later(end, l->end_ns) : end;
    }
    if (end != ABSENT_I64) {
        stage_boundary(m, BOUNDARY_FORMAL_END, end, NULL);
        if (s)
            observer_watch_release(v, end);
    }
    *ret_client = load_list_condition(loads);
    return through;
}
