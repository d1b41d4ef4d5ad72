/* Paced loads (METHOD section 11): requests are drawn when they are needed, each on a connection that was opened a
 * little ahead. A slot holds a request while it is drawn, open or in flight, and is used again. */
#include <assert.h>
#include <stdlib.h>
#include "base/arena.h"
#include "base/must.h"
#include "http/client_private.h"
#include "http/limits.h"

enum {
    SLOT_BLOCK = 64,
    SPARES_MAX = 64, /* connections opened in advance of the requests of a closed loop */
    REFUSED_MAX =
        64,   /* connections in a row that could not be opened: a closed loop ends, it would only go on failing */
    FEW = 16, /* in flight: a batch holds one event, so a pause costs a wakeup more and saves none */
};
/* After a slice of sending, that much for reading. Between connections, where some could not be opened, at most this. A
 * closed loop waits for ends, so the loop pauses for less than METHOD section 4 allows. */
static const int64_t READ_NS = 100000, REFUSED_GAP_NS = 100 * MS_NS, CLOSED_PAUSE_NS = 400000;

struct pace_slot {
    struct exchange exchange; /* first: an exchange's slot is itself */
    struct client_request request;
    struct buf body;
    int64_t intended_ns;    /* CLOCK_MONOTONIC; ABSENT_I64: a closed loop's */
    struct pace_slot *next; /* in a queue, or among the free ones */
    bool busy, queued;
};

struct queue {
    struct pace_slot *first, *last;
};

struct pacing {
    struct client_pace pace;
    struct pace_slot **blocks; /* they never move */
    size_t block_count;
    struct pace_slot *unused;
    struct pace_slot *drawn; /* open loop: the next one, whose connection is not opened yet */
    struct queue queue;      /* open loop: in the order of intended times; closed loop: spares that are open */
    size_t spares;           /* closed loop: opening, or open without a request */
    size_t engaged;          /* closed loop: requests that are to be sent or in flight */
    size_t pending;          /* handshakes */
    size_t refused;          /* connections in a row that could not be opened */
    size_t unsent;           /* counted in the client's total, neither sent nor ended */
    int64_t start_ns;        /* CLOCK_MONOTONIC */
    int64_t last_ns;         /* run time from which on nothing was sent */
    bool begun, exhausted, by_time, last_noted;
    struct timer open, send, stop;
};

static bool is_closed_loop(const struct pacing *p)
{
    return p->pace.in_flight > 0;
}

static struct client *client_of(const struct exchange *x)
{
    return x->terms->client;
}

static struct pace_slot *slot_of(struct exchange *x)
{
    return (struct pace_slot *)x;
}

/* ---- slots ---- */

static struct pace_slot *slot_take(struct client *c)
{
    struct pacing *p = c->pacing;
    if (!p->unused) {
        struct pace_slot *block = mem_zero(SLOT_BLOCK, sizeof *block);
        p->blocks = mem_grow(p->blocks, p->block_count + 1, sizeof(void *));
        p->blocks[p->block_count++] = block;
        for (int i = 0; i < SLOT_BLOCK; i++) {
            block[i].next = p->unused;
            p->unused = &block[i];
        }
    }
    struct pace_slot *s = p->unused;
    p->unused = s->next;
    s->next = NULL;
    s->busy = true;
    s->intended_ns = ABSENT_I64;
    buf_clear(&s->body);
    exchange_init(&s->exchange, &c->terms, NULL);
    return s;
}

/* One that still stands in the queue is free when it has left it. */
static void slot_free(struct pacing *p, struct pace_slot *s)
{
    s->busy = false;
    if (s->queued)
        return;
    s->next = p->unused;
    p->unused = s;
}

static void queue_add(struct queue *q, struct pace_slot *s)
{
    assert(!s->queued);
    s->queued = true;
    s->next = NULL;
    if (q->last)
        q->last->next = s;
    else
        q->first = s;
    q->last = s;
}

static struct pace_slot *queue_pop(struct queue *q)
{
    struct pace_slot *s = q->first;
    q->first = s->next;
    if (!q->first)
        q->last = NULL;
    s->queued = false;
    return s;
}

/* The first one that is still of use, and stays; null: none. */
static struct pace_slot *queue_first(struct pacing *p)
{
    while (p->queue.first && !p->queue.first->busy)
        slot_free(p, queue_pop(&p->queue));
    return p->queue.first;
}

/* Its connection is closed, and nobody is told. */
static void slot_drop(struct pacing *p, struct pace_slot *s)
{
    exchange_done(&s->exchange);
    slot_free(p, s);
}

/* ---- the end ---- */

bool paced_is_over(const struct client *c)
{
    return c->pacing->exhausted && c->pacing->last_noted;
}

int64_t paced_last_ns(const struct client *c)
{
    return c->pacing->last_ns;
}

/* Nothing more is sent where nothing more is drawn and all that was has been sent, and the time is over where that ends
 * the load. */
static void check_last(struct client *c)
{
    struct pacing *p = c->pacing;
    int64_t until = p->by_time ? p->start_ns + p->pace.for_ns : p->start_ns;
    if (!p->exhausted || p->unsent > 0 || p->last_noted || (p->by_time && !c->ends.cancelled && clock_now_ns() < until))
        return;
    int64_t sent = c->submission.first_ns == ABSENT_I64 ? INT64_MIN : c->submission.last_ns;
    p->last_noted = c->ends.notify_last = true;
    p->last_ns = (c->ends.cancelled ? time_sooner(time_later(sent, until), clock_now_ns()) : time_later(sent, until)) -
                 c->o.origin_ns;
    client_notify_soon(c);
    client_check_ends(c);
}

static void close_spares(struct client *c)
{
    struct pacing *p = c->pacing;
    for (size_t i = 0; i < p->block_count * SLOT_BLOCK; i++) {
        struct pace_slot *s = &p->blocks[i / SLOT_BLOCK][i % SLOT_BLOCK];
        if (s->busy && !s->exchange.request)
            slot_drop(p, s);
    }
    p->spares = 0;
}

static void exhaust(struct client *c, bool by_time)
{
    struct pacing *p = c->pacing;
    if (p->exhausted)
        return;
    p->exhausted = true;
    p->by_time = by_time;
    loop_timer_stop(c->loop, &p->open);
    if (is_closed_loop(p))
        close_spares(c);
    check_last(c);
}

static void on_stop(struct timer *t)
{
    struct client *c = t->owner;
    exhaust(c, true);
    check_last(c);
}

/* ---- drawing ---- */

/* The next request, into the slot. False: there is none. */
static bool draw_request(struct client *c, struct pace_slot *s, int64_t *ret_offset_ns)
{
    struct pacing *p = c->pacing;
    s->request = (struct client_request){.max_tokens = ABSENT_I64};
    return p->pace.next(p->pace.self, &s->request, ret_offset_ns, &s->body);
}

/* From here on it counts. */
static void engage(struct client *c, struct pace_slot *s)
{
    struct pacing *p = c->pacing;
    exchange_bind(&s->exchange, &s->request,
                  s->intended_ns == ABSENT_I64 ? ABSENT_I64 : s->intended_ns - c->o.origin_ns);
    c->progress.total++;
    p->unsent++;
    p->engaged += is_closed_loop(p);
}

/* ---- connections ahead ---- */

static int64_t gap_ns(const struct client *c)
{
    int64_t gap = WAVE_GAP_NS / c->o.wave;
    for (size_t i = 0; i < c->pacing->refused && gap < REFUSED_GAP_NS; i++)
        gap *= 2;
    return gap < REFUSED_GAP_NS ? gap : REFUSED_GAP_NS;
}

static void open_slot(struct client *c, struct pace_slot *s)
{
    s->exchange.pending = true;
    c->pacing->pending++;
    exchange_open(&s->exchange);
}

static size_t spares_wanted(const struct pacing *p)
{
    size_t most = (size_t)p->pace.in_flight, ahead = most < SPARES_MAX ? most : SPARES_MAX;
    return most + ahead - p->engaged;
}

static void open_spare(struct client *c)
{
    struct pacing *p = c->pacing;
    if (p->spares >= spares_wanted(p))
        return;
    if (p->pending < (size_t)c->o.wave) {
        p->spares++;
        open_slot(c, slot_take(c));
    }
    int64_t now = clock_now_ns();
    bool waited = now >= p->start_ns && p->engaged < (size_t)p->pace.in_flight && p->refused == 0 &&
                  p->pending < (size_t)c->o.wave;
    loop_timer_set(c->loop, &p->open, waited ? now : now + gap_ns(c));
}

/* The next one of an open loop is drawn as its forerunner's connection is opened, so that its time is known. */
static void draw_ahead(struct client *c)
{
    struct pacing *p = c->pacing;
    struct pace_slot *s = slot_take(c);
    int64_t offset = 0;
    bool drawn = draw_request(c, s, &offset);
    if (!drawn || offset >= p->pace.for_ns) {
        slot_free(p, s);
        exhaust(c, drawn);
        return;
    }
    s->intended_ns = p->start_ns + offset;
    p->drawn = s;
}

static void enqueue(struct client *c, struct pace_slot *s)
{
    struct pacing *p = c->pacing;
    engage(c, s);
    queue_add(&p->queue, s);
    if (p->queue.first == s)
        loop_timer_set(c->loop, &p->send, s->intended_ns);
    open_slot(c, s);
}

static void open_next(struct client *c)
{
    struct pacing *p = c->pacing;
    int64_t now = clock_now_ns();
    struct pace_slot *s = p->drawn;
    if (now >= s->intended_ns - p->pace.ahead_ns && p->pending < (size_t)c->o.wave) {
        p->drawn = NULL;
        enqueue(c, s);
        draw_ahead(c);
        s = p->drawn;
    }
    if (!s)
        return;
    /* Half of the time gone: no more waves, so that it is open in time if it can be. */
    int64_t soonest = s->intended_ns - now < p->pace.ahead_ns / 2 ? now : now + gap_ns(c);
    loop_timer_set(c->loop, &p->open, time_later(s->intended_ns - p->pace.ahead_ns, soonest));
}

static void on_open(struct timer *t)
{
    struct client *c = t->owner;
    struct pacing *p = c->pacing;
    if (p->exhausted)
        return;
    if (is_closed_loop(p))
        open_spare(c);
    else if (p->drawn)
        open_next(c);
}

/* A closed loop has room for a request: it is sent behind the event that made it. */
static void send_soon(struct client *c)
{
    struct pacing *p = c->pacing;
    if (p->begun && !p->exhausted)
        loop_timer_set(c->loop, &p->send, time_later(p->start_ns, clock_now_ns()));
}

void paced_on_opened(struct exchange *x)
{
    struct client *c = client_of(x);
    struct pacing *p = c->pacing;
    must(p->pending > 0);
    p->pending--;
    if (x->conn.state != CONN_OPEN)
        return;
    p->refused = 0;
    if (x->request)
        return;
    queue_add(&p->queue, slot_of(x));
    send_soon(c);
}

/* Where a request waits for a connection and none can be opened, the request has failed. */
bool paced_on_spare_lost(struct exchange *x, bool refused)
{
    struct client *c = client_of(x);
    struct pacing *p = c->pacing;
    struct pace_slot *s = slot_of(x);
    p->spares--;
    p->refused += refused;
    bool waited = refused && !p->exhausted && clock_now_ns() >= p->start_ns && p->engaged < (size_t)p->pace.in_flight;
    int64_t none;
    bool bound = waited && draw_request(c, s, &none);
    if (bound) {
        engage(c, s);
    } else {
        p->pending -= x->pending;
        x->pending = false;
        slot_drop(p, s);
    }
    if (waited && (!bound || p->refused >= REFUSED_MAX))
        exhaust(c, false);
    else if (!p->exhausted)
        loop_timer_set(c->loop, &p->open, clock_now_ns() + gap_ns(c));
    return bound;
}

/* ---- sending ---- */

static void send_at_time(struct client *c)
{
    struct pacing *p = c->pacing;
    int64_t began = clock_now_ns(), now = began;
    struct pace_slot *s;
    while ((s = queue_first(p)) && s->intended_ns <= now) {
        queue_pop(&p->queue);
        if (!s->exchange.response.over)
            exchange_submit(&s->exchange);
        now = clock_now_ns();
        if (now - began > SLICE_NS) {
            loop_timer_set(c->loop, &p->send, now + READ_NS);
            return;
        }
    }
    if (s)
        loop_timer_set(c->loop, &p->send, s->intended_ns);
}

static void send_into_room(struct client *c)
{
    struct pacing *p = c->pacing;
    int64_t began = clock_now_ns(), now = began, none;
    if (p->pace.for_ns <= now - p->start_ns)
        exhaust(c, true);
    struct pace_slot *s;
    while (!p->exhausted && p->engaged < (size_t)p->pace.in_flight && (s = queue_first(p))) {
        if (!draw_request(c, s, &none)) {
            exhaust(c, false);
            return;
        }
        queue_pop(&p->queue);
        p->spares--;
        engage(c, s);
        exchange_submit(&s->exchange);
        now = clock_now_ns();
        if (now - began > SLICE_NS) {
            loop_timer_set(c->loop, &p->send, now + READ_NS);
            break;
        }
    }
    if (!p->exhausted && p->refused == 0)
        loop_timer_set(c->loop, &p->open, now);
}

static void on_send(struct timer *t)
{
    struct client *c = t->owner;
    if (!c->submission.begun) {
        client_start_measuring(c);
        loop_pause(c->loop, c->ends.all_ended ? 0 : c->o.pause_ns);
        if (c->ends.notify_last || c->ends.notify_ended || c->ends.notify_closed) /* all have failed by now */
            client_notify_soon(c);
    }
    if (is_closed_loop(c->pacing))
        send_into_room(c);
    else
        send_at_time(c);
}

void paced_on_submitted(struct client *c)
{
    must(c->pacing->unsent > 0);
    c->pacing->unsent--;
    check_last(c);
}

void paced_on_ended(struct exchange *x)
{
    struct client *c = client_of(x);
    struct pacing *p = c->pacing;
    if (x->response.record.submit_ns == ABSENT_I64) {
        must(p->unsent > 0);
        p->unsent--;
    }
    if (is_closed_loop(p)) {
        must(p->engaged > 0);
        p->engaged--;
        send_soon(c);
    }
    check_last(c);
}

void paced_on_gone(struct exchange *x)
{
    slot_free(client_of(x)->pacing, slot_of(x));
}

/* ---- life ---- */

int64_t client_lead_ns(const struct client_pace *pace)
{
    must(pace->ahead_ns > 0);
    struct client_options o;
    client_defaults(&o);
    int64_t handshakes = (pace->in_flight + SPARES_MAX) * (WAVE_GAP_NS / o.wave);
    return pace->in_flight > 0 ? time_later(pace->ahead_ns, handshakes + handshakes / 2) : pace->ahead_ns;
}

bool client_open_paced(struct loop *l, const struct client_options *o, const struct client_pace *pace,
                       struct client **ret_client, struct err *e)
{
    must(pace->next && pace->in_flight >= 0 && pace->for_ns > 0 && pace->ahead_ns > 0);
    int64_t files;
    size_t known = pace->in_flight > 0 ? (size_t)pace->in_flight + SPARES_MAX : 1;
    struct client *c;
    if (!limits_files(known, &files, e) || !limits_ports(&o->address, known, e) || !limits_files_most(&files, e) ||
        !client_make(l, o, files, &c, e))
        return false;
    c->o.connect = CONNECT_AHEAD;
    c->terms.paced = true;
    c->terms.means.source = &c->source;
    struct pacing *p = mem_zero(1, sizeof *p);
    p->pace = *pace;
    p->open = (struct timer){.fire = on_open, .owner = c};
    p->send = (struct timer){.fire = on_send, .owner = c};
    p->stop = (struct timer){.fire = on_stop, .owner = c};
    if (pace->in_flight > 0)
        c->o.pause_ns = pace->in_flight > FEW ? time_sooner(c->o.pause_ns, CLOSED_PAUSE_NS) : 0;
    c->pacing = p;
    *ret_client = c;
    return true;
}

void client_begin(struct client *c, int64_t start_ns)
{
    struct pacing *p = c->pacing;
    must(p && !p->begun && !c->ends.cancelled);
    p->begun = true;
    p->start_ns = start_ns + c->o.origin_ns;
    loop_prompt(c->loop, &p->send);
    if (p->pace.for_ns < INT64_MAX - p->start_ns)
        loop_timer_set(c->loop, &p->stop, p->start_ns + p->pace.for_ns);
    loop_timer_set(c->loop, &p->send, p->start_ns);
    if (!is_closed_loop(p))
        draw_ahead(c);
    if (!p->exhausted)
        loop_timer_set(c->loop, &p->open, time_later(p->start_ns - client_lead_ns(&p->pace), clock_now_ns()));
}

static void stop_timers(struct client *c)
{
    struct timer *timers[] = {&c->pacing->open, &c->pacing->send, &c->pacing->stop};
    for (int i = 0; i < 3; i++)
        loop_timer_stop(c->loop, timers[i]);
    loop_prompt(c->loop, NULL);
}

/* What was drawn and whose time has not come was never sent. */
static void drop_early(struct client *c, struct pace_slot *s)
{
    s->exchange.request = NULL;
    c->progress.total--;
    c->pacing->unsent--;
    slot_drop(c->pacing, s);
}

void client_finish(struct client *c)
{
    struct pacing *p = c->pacing;
    int64_t now = clock_now_ns();
    must(p && p->begun);
    if (p->last_noted)
        return;
    if (p->drawn)
        slot_drop(p, p->drawn);
    p->drawn = NULL;
    for (size_t i = 0; i < p->block_count * SLOT_BLOCK; i++) {
        struct pace_slot *s = &p->blocks[i / SLOT_BLOCK][i % SLOT_BLOCK];
        if (s->busy && s->exchange.request && s->queued && s->intended_ns > now && !s->exchange.response.over)
            drop_early(c, s);
    }
    p->pace.for_ns = time_later(now - p->start_ns, 0);
    loop_timer_set(c->loop, &p->stop, p->start_ns + p->pace.for_ns);
}

void paced_cancel(struct client *c)
{
    struct pacing *p = c->pacing;
    int64_t now = clock_now_ns();
    stop_timers(c);
    p->exhausted = true;
    if (p->drawn)
        slot_drop(p, p->drawn);
    p->drawn = NULL;
    for (size_t i = 0; i < p->block_count * SLOT_BLOCK; i++) {
        struct pace_slot *s = &p->blocks[i / SLOT_BLOCK][i % SLOT_BLOCK];
        if (!s->busy)
            continue;
        if (!s->exchange.request)
            slot_drop(p, s);
        else if (s->queued && s->intended_ns > now && !s->exchange.response.over)
            drop_early(c, s);
        else
            exchange_cancel(&s->exchange);
    }
    check_last(c);
}

void paced_done(struct client *c)
{
    struct pacing *p = c->pacing;
    stop_timers(c);
    for (size_t i = 0; i < p->block_count; i++) {
        for (int k = 0; k < SLOT_BLOCK; k++) {
            if (p->blocks[i][k].busy)
                exchange_done(&p->blocks[i][k].exchange);
            buf_done(&p->blocks[i][k].body);
        }
        free(p->blocks[i]);
    }
    free(p->blocks);
    free(p);
}
