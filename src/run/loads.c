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
/* A boundary needs a sample behind it: so much more than two of the grid. */
#define BEHIND_NS (SECOND_NS / 4)

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

/* On a running service its user may end a load (Ctrl-C), and the result follows. */
static bool has_sent_or_is_asked(void *self)
{
    const struct load *l = self;
    return l->last_ns != ABSENT_I64 || l->site->machine->asked;
}

static bool is_asked(void *self)
{
    const struct stage_machine *m = self;
    return m->asked;
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

static bool loads_are_caught_up(void *self)
{
    return scrape_is_caught_up(self);
}

/* False where it was cut short, or where the user wants no further load. */
static bool pause_until(struct stage_machine *m, int64_t t_ns)
{
    stage_wait(m, is_asked, m, t_ns);
    return !m->asked && stage_pause(m, 0);
}

/* Silence up to the load's start, or, where opening its connections takes longer, up to what that takes. */
static bool wait_silence(const struct going *g, struct load *l, int64_t start)
{
    struct stage_machine *m = g->machine;
    if (load_is_paced(l)) {
        start = time_later(start, stage_now_ns(m) + load_lead_ns(l) + START_EARLY_NS);
        load_begin(l, start);
        return pause_until(m, start - START_EARLY_NS);
    }
    int64_t connect = start - BURST_LEAD_NS - (int64_t)l->count * BURST_CONNECT_NS - METHOD_SILENCE_NS;
    if (!pause_until(m, connect))
        return false;
    load_connect(l);
    return stage_wait(m, is_connected, l, INT64_MAX) && pause_until(m, start);
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
    if (!g->service) /* the look before it was silent */
        return wait_silence(g, l, since);
    scrape_start(g->asking->scrape, SCRAPE_NS);
    gpu_check(g->observer);
    return stage_wait(m, loads_are_caught_up, g->asking->scrape, INT64_MAX) &&
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
    m->asks = !g->service;
    bool through = stage_wait(m, has_sent_or_is_asked, l, INT64_MAX);
    if (through && l->last_ns == ABSENT_I64)
        load_finish(l);
    through = through && stage_wait(m, has_sent_all, l, INT64_MAX);
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

/* The last load's end, of a life, or of the loads on a running service, which its user may have ended. */
static void end_loads(const struct going *g, int64_t end_ns)
{
    struct stage_machine *m = g->machine;
    stage_boundary(m, BOUNDARY_FORMAL_END, end_ns, m->asked ? "asked" : NULL);
    if (g->service) {
        observer_watch_release(g->observer, end_ns);
        return;
    }
    stage_wait(m, NULL, NULL, stage_now_ns(m) + 2 * g->observer->o.grid_ns + BEHIND_NS);
    scrape_stop(g->asking->scrape);
}

bool stage_loads(struct stage_machine *m, struct service *s, struct observer *v, const struct asking *a,
                 struct load_list *loads, struct rec_client *ret_client)
{
    must(loads->count > 0);
    struct going g = {.machine = m, .service = s, .observer = v, .asking = a, .loads = loads};
    bool through = true;
    size_t first = 0;
    int64_t since = stage_now_ns(m), end = ABSENT_I64;
    for (size_t i = 0; i < loads->count && through && !m->asked; i++) {
        struct load *l = &loads->items[i];
        through = go_through(&g, l, first, since);
        first += l->sent;
        since = l->end_ns;
        end = l->sent > 0 ? time_later(end, l->end_ns) : end;
    }
    if (end != ABSENT_I64)
        end_loads(&g, end);
    m->asks = false;
    *ret_client = load_list_condition(loads);
    return through || (m->asked && m->interrupts == 0 && m->failure.kind == ERR_NONE);
}
