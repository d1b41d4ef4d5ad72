#include "http/exchange.h"

#include <assert.h>
#include <stdio.h>
#include "base/must.h"

enum { REOPEN_MAX = 3 }; /* a server that keeps closing what is opened ahead */

static int64_t run_time(const struct exchange *x, int64_t monotonic_ns)
{
    return monotonic_ns - x->terms->options->origin_ns;
}

static struct loop *loop_of(const struct exchange *x)
{
    return x->terms->means.loop;
}

/* ---- limits of time ---- */

struct limit {
    int64_t at_ns;
    enum verdict verdict;
    double limit_s;
};

static void sooner(struct limit *l, int64_t from_ns, double limit_s, enum verdict v)
{
    assert(from_ns != ABSENT_I64);
    if (!(limit_s > 0) || limit_s > 1e9)
        return;
    int64_t at = from_ns + (int64_t)(limit_s * 1e9);
    if (at < l->at_ns)
        *l = (struct limit){at, v, limit_s};
}

/* The earliest limit of METHOD's timers that applies now. */
static struct limit next_limit(const struct exchange *x)
{
    const struct client_options *o = x->terms->options;
    const struct plan_limits *p = &o->limits;
    const struct response *r = &x->response;
    const struct conn *k = &x->conn;
    struct limit l = {.at_ns = INT64_MAX};
    if (r->over) {
        l.at_ns = x->over_ns + o->linger_ns;
        return l;
    }
    if (k->state == CONN_CONNECTING)
        sooner(&l, x->opened_ns, p->connect_s, VERDICT_CONNECT_TIMEOUT);
    if (r->record.submit_ns != ABSENT_I64)
        sooner(&l, r->record.submit_ns + o->origin_ns, p->total_s, VERDICT_TOTAL_TIMEOUT);
    if (k->state == CONN_SENDING && !(k->write_error && r->have_tokens)) /* then it is the silence that counts */
        sooner(&l, k->progress_ns, p->write_s, VERDICT_WRITE_TIMEOUT);
    if (r->head_begun && !r->head_ended)
        sooner(&l, x->head_begun_ns, p->head_s, VERDICT_HEAD_TIMEOUT);
    if (k->state == CONN_RECEIVING && !r->have_tokens)
        sooner(&l, r->record.sent_ns + o->origin_ns, p->first_token_s, VERDICT_FIRST_TOKEN_TIMEOUT);
    if (r->have_tokens)
        sooner(&l, r->last_event_ns + o->origin_ns, p->idle_s, VERDICT_IDLE_TIMEOUT);
    return l;
}

static void arm(struct exchange *x)
{
    struct limit l = next_limit(x);
    if (l.at_ns != INT64_MAX)
        loop_timer_set(loop_of(x), &x->timer, l.at_ns);
    else
        loop_timer_stop(loop_of(x), &x->timer);
}

/* ---- ends ---- */

static void close_all(struct exchange *x)
{
    must(x->response.over); /* each request has a verdict before it is gone */
    response_close(&x->response);
    conn_close(&x->conn);
    loop_timer_stop(loop_of(x), &x->timer);
    client_on_gone(x);
    response_done(&x->response);
}

/* After anything that may have ended the request or the need for its connection. False: the connection is gone. */
static bool after_event(struct exchange *x, bool was_over, int64_t now)
{
    if (x->response.over && !was_over) {
        x->over_ns = now;
        client_on_ended(x);
    }
    if (x->response.closing) {
        close_all(x);
        return false;
    }
    if (x->response.over && !was_over)
        arm(x);
    return true;
}

static void on_timer(struct timer *t)
{
    struct exchange *x = t->owner;
    int64_t now = clock_now_ns();
    struct limit l = next_limit(x);
    if (now < l.at_ns) {
        arm(x);
        return;
    }
    if (x->response.over) {
        x->response.closing = true;
        close_all(x);
        return;
    }
    bool opening = x->conn.state == CONN_CONNECTING;
    if (!x->request && !client_on_spare_lost(x, true))
        return;
    response_timeout(&x->response, l.verdict, run_time(x, now), l.limit_s);
    if (opening)
        client_on_opened(x);
    after_event(x, false, now);
}

void exchange_cancel(struct exchange *x)
{
    if (x->conn.state == CONN_GONE)
        return;
    bool was_over = x->response.over;
    int64_t now = clock_now_ns();
    response_fail(&x->response, VERDICT_CANCELLED, run_time(x, now), "The run was stopped.");
    x->response.closing = true;
    if (x->conn.state == CONN_CONNECTING)
        client_on_opened(x);
    after_event(x, was_over, now);
}

/* ---- opening ---- */

static void on_failed(struct conn *k, int number)
{
    struct exchange *x = k->owner;
    if (!x->request && !client_on_spare_lost(x, true))
        return;
    int64_t now = clock_now_ns();
    bool was_over = x->response.over;
    char why[600];
    conn_explain(&x->terms->options->address, number, why, sizeof why);
    response_fail(&x->response, VERDICT_CONNECT_FAILED, run_time(x, now), "%s", why);
    client_on_opened(x);
    after_event(x, was_over, now);
}

static void on_opened(struct conn *k)
{
    struct exchange *x = k->owner;
    assert(!x->response.over);
    x->response.record.connected_ns = run_time(x, clock_now_ns());
    loop_timer_stop(loop_of(x), &x->timer);
    client_on_opened(x);
    if (x->wanted)
        exchange_submit(x);
}

static void handshake_begins(struct exchange *x)
{
    x->opened_ns = clock_now_ns();
    x->response.record.connect_ns = run_time(x, x->opened_ns);
    x->response.record.connected_ns = ABSENT_I64;
}

void exchange_open(struct exchange *x)
{
    must(x->conn.state == CONN_NEW);
    handshake_begins(x);
    conn_open(&x->conn, &x->terms->options->address);
    if (x->conn.state == CONN_CONNECTING)
        arm(x);
}

/* A connection opened ahead that is of no use any more: nothing was sent on it, so another one takes its place. */
static void on_spoilt(struct conn *k)
{
    struct exchange *x = k->owner;
    if (!x->request && !client_on_spare_lost(x, false))
        return;
    if (x->reopened++ == REOPEN_MAX) {
        int64_t now = clock_now_ns();
        response_fail(&x->response, VERDICT_CONNECT_FAILED, run_time(x, now),
                      "The server closed the connection %d times before the request could be sent.", REOPEN_MAX + 1);
        after_event(x, false, now);
        return;
    }
    x->response.record.notes |= NOTE_REOPENED;
    handshake_begins(x);
    conn_reopen(k);
    if (k->state == CONN_CONNECTING)
        arm(x);
}

/* ---- sending ---- */

static void on_written(struct conn *k)
{
    struct exchange *x = k->owner;
    assert(x->response.record.submit_ns != ABSENT_I64);
    x->response.record.sent_ns = run_time(x, k->progress_ns);
    arm(x);
}

/* Can the first byte be given now? What is spoilt is opened again. */
static bool is_ready(struct exchange *x)
{
    if (x->conn.state != CONN_OPEN)
        return false;
    bool spoilt = conn_is_spoilt(&x->conn);
    if (spoilt)
        on_spoilt(&x->conn);
    return !spoilt;
}

void exchange_submit(struct exchange *x)
{
    must(!x->response.over && x->request);
    struct conn *k = &x->conn;
    x->wanted = true;
    if (x->terms->paced && !is_ready(x))
        return;
    int64_t now = clock_now_ns();
    if (x->response.record.submit_ns == ABSENT_I64) {
        x->response.record.submit_ns = run_time(x, now);
        client_on_submitted(x, now);
    }
    if (k->state == CONN_NEW)
        exchange_open(x);
    if (k->state != CONN_OPEN)
        return;
    if (!x->terms->paced && x->terms->options->connect == CONNECT_AHEAD && conn_is_spoilt(k)) {
        on_spoilt(k);
        return;
    }
    const struct span parts[] = {x->terms->head, span_of(x->length), x->request->body};
    conn_send(k, parts, 3, now);
    if (k->state == CONN_SENDING)
        arm(x);
}

/* ---- reading ---- */

static bool on_received(struct conn *k, const struct conn_read *read)
{
    assert(read->bytes.n > 0);
    struct exchange *x = k->owner;
    struct response *r = &x->response;
    client_on_read(x, read);
    bool was_over = r->over, had_tokens = r->have_tokens, head = r->head_begun && !r->head_ended;
    struct response_arrival a = {
        .t_ns = run_time(x, read->t_ns), .no_stamp = !read->stamped, .doubtful = read->doubtful};
    response_feed(r, read->bytes, a, &x->terms->out);
    bool head_now = r->head_begun && !r->head_ended;
    if (head_now && !head)
        x->head_begun_ns = read->read_ns;
    if (!after_event(x, was_over, read->read_ns))
        return false;
    if (!r->over && (head_now != head || had_tokens != r->have_tokens))
        arm(x);
    return true;
}

static void on_ended(struct conn *k, int number, int64_t now)
{
    struct exchange *x = k->owner;
    bool was_over = x->response.over;
    if (number)
        response_broken(&x->response, run_time(x, now), number);
    else
        response_eof(&x->response, run_time(x, now), &x->terms->out);
    x->response.closing = true;
    after_event(x, was_over, now);
}

/* ---- life of the struct ---- */

const struct conn_events exchange_events = {
    .opened = on_opened,
    .failed = on_failed,
    .spoilt = on_spoilt,
    .written = on_written,
    .received = on_received,
    .ended = on_ended,
};

void exchange_bind(struct exchange *x, const struct client_request *r, int64_t intended_ns)
{
    must(!x->request && r);
    x->request = r;
    snprintf(x->length, sizeof x->length, "%zu\r\n\r\n", r->body.n);
    struct rec_request *q = &x->response.record;
    q->id = r->id;
    q->intended_ns = intended_ns;
    q->max_tokens = r->max_tokens;
    q->prompt_tokens_sent = r->prompt_tokens > 0 ? r->prompt_tokens : ABSENT_I64;
    q->prompt_digest = r->prompt_digest;
    q->body_bytes = (int64_t)r->body.n;
}

void exchange_init(struct exchange *x, const struct exchange_terms *t, const struct client_request *r)
{
    must(t->client && t->options && t->head.n);
    *x = (struct exchange){.terms = t};
    conn_init(&x->conn, &t->means, x);
    x->timer = (struct timer){.fire = on_timer, .owner = x};
    response_init(&x->response, t->options->event_max);
    x->response.record.stage = (uint8_t)t->options->stage;
    x->response.record.load = t->options->load;
    if (r)
        exchange_bind(x, r, ABSENT_I64);
}

void exchange_done(struct exchange *x)
{
    conn_close(&x->conn);
    loop_timer_stop(loop_of(x), &x->timer);
    response_done(&x->response);
}
