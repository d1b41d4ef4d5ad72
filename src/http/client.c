#include "http/client.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "base/must.h"
#include "base/utf8.h"
#include "http/client_private.h"
#include "http/limits.h"
#include "model/limits.h"

enum { RECEIVE_BUFFER = 256 << 10 };

_Static_assert(sizeof(struct exchange) <= 2048, "4 KiB a request hold the connection and what it grows to");

void client_defaults(struct client_options *o)
{
    *o = (struct client_options){
        .path = "/v1/chat/completions",
        .stage = REQUEST_FORMAL,
        .connect = CONNECT_AHEAD,
        .limits = plan_limits_default(),
        .event_max = RESPONSE_EVENT_MAX,
        .load = -1,
        .pause_ns = 800000,
        .wave = 64,
        .silence_ns = METHOD_SILENCE_NS,
        .linger_ns = 250000000,
    };
}

/* ---- notifying the owner ---- */

/* The owner is notified of ends behind the submission only: an owner that waits for `connected` meets one order of
 * callbacks, also where every connection has failed. */
void client_notify_soon(struct client *c)
{
    if (!c->submission.begun && !c->ends.cancelled)
        return;
    loop_timer_set(c->loop, &c->ends.timer, clock_now_ns());
}

/* One callback a time, and nothing of the client is touched behind it: it may have closed the client. */
static void on_notify(struct timer *t)
{
    struct client *c = t->owner;
    if (c->ends.notify_last) {
        c->ends.notify_last = false;
        if (c->ends.notify_ended || c->ends.notify_closed)
            client_notify_soon(c);
        if (c->o.last)
            c->o.last(c->o.self, paced_last_ns(c));
        return;
    }
    if (c->ends.notify_ended) {
        c->ends.notify_ended = false;
        if (c->ends.notify_closed)
            client_notify_soon(c);
        if (c->o.ended)
            c->o.ended(c->o.self, c->ends.last_ns);
        return;
    }
    if (c->ends.notify_closed) {
        c->ends.notify_closed = false;
        if (c->o.closed)
            c->o.closed(c->o.self);
    }
}

/* ---- records ---- */

static void flush_chunks(struct client *c)
{
    if (c->batch_count && c->o.chunks && c->o.sink->chunk)
        c->o.sink->chunk(c->o.sink->self, c->batch, c->batch_count);
    c->batch_count = 0;
}

static void on_chunk(void *self, const struct rec_chunk *chunk)
{
    struct client *c = self;
    assert(c->batch_count <= CHUNK_BATCH);
    c->seen.record.events++;
    c->seen.record.stamps_kernel += chunk->stamp == STAMP_KERNEL;
    c->seen.record.stamps_shared += chunk->stamp == STAMP_SHARED;
    c->seen.record.stamps_read += chunk->stamp == STAMP_READ;
    c->progress.token_chunks += chunk_has_tokens(chunk);
    if (c->batch_count == CHUNK_BATCH)
        flush_chunks(c);
    c->batch[c->batch_count++] = *chunk;
}

static void on_fingerprint(void *self, struct span fingerprint)
{
    struct client *c = self;
    if (c->seen.fingerprint[0])
        return;
    utf8_ascii(fingerprint, c->seen.fingerprint, sizeof c->seen.fingerprint);
}

/* Bytes at the front of `text` that stand together somewhere in the key, at most. O(key * length). */
static size_t key_piece(const char *text, const char *key)
{
    assert(key);
    size_t most = 0;
    for (; *key; key++) {
        size_t n = 0;
        while (key[n] && key[n] == text[n])
            n++;
        most = n > most ? n : most;
    }
    return most;
}

/* A server may echo the key in its error, and a long error is cut, perhaps within the key: any piece of eight bytes or
 * more is hidden, of a shorter key the whole. */
static void hide_key(const struct client *c, const char *text, struct buf *b)
{
    enum { PIECE = 8 };
    const char *key = c->o.api_key ? c->o.api_key : "";
    size_t n = strlen(key), least = n < PIECE ? n : PIECE;
    while (*text) {
        size_t piece = n ? key_piece(text, key) : 0;
        if (piece && piece >= least) {
            buf_str(b, "***");
            text += piece;
        } else {
            buf_byte(b, *text++);
        }
    }
}

static void deliver_request(struct exchange *x)
{
    struct client *c = x->terms->client;
    struct rec_request r = x->response.record;
    struct buf detail = {0};
    if (r.detail) {
        hide_key(c, r.detail, &detail);
        r.detail = buf_text(&detail);
    }
    flush_chunks(c);
    c->o.sink->request(c->o.sink->self, &r);
    if (c->o.request)
        c->o.request(c->o.self, &r);
    buf_done(&detail);
}

static void freeze(struct client *c)
{
    if (c->seen.frozen)
        return;
    struct rec_client now = client_read(c);
    c->seen.record = now;
    c->seen.frozen = true;
}

void client_on_submitted(struct exchange *x, int64_t now_ns)
{
    struct client *c = x->terms->client;
    assert(c->submission.begun);
    if (c->submission.first_ns == ABSENT_I64)
        c->submission.first_ns = now_ns;
    c->submission.last_ns = now_ns;
    c->progress.sent++;
    c->progress.running++;
    if (c->pacing)
        paced_on_submitted(c);
}

void client_on_read(struct exchange *x, const struct conn_read *r)
{
    struct seen *s = &x->terms->client->seen;
    s->record.reads += !s->frozen;
    if (r->stamped)
        hist_add(&s->handled, r->waited_ns);
}

void client_check_ends(struct client *c)
{
    bool whole = !c->pacing || paced_is_over(c);
    if (whole && !c->ends.all_ended && c->ends.ended == c->progress.total) {
        c->ends.all_ended = c->ends.notify_ended = true;
        freeze(c);
        loop_pause(c->loop, 0);
        client_notify_soon(c);
    }
    if (whole && !c->ends.all_gone && c->ends.gone == c->progress.total) {
        c->ends.all_gone = c->ends.notify_closed = true;
        loop_timer_stop(c->loop, &c->clock_timer);
        client_notify_soon(c);
    }
}

void client_on_ended(struct exchange *x)
{
    struct client *c = x->terms->client;
    must(c->ends.ended < c->progress.total);
    const struct rec_request *r = &x->response.record;
    c->ends.ended++;
    c->progress.running -= r->submit_ns != ABSENT_I64;
    if (r->verdict == VERDICT_OK) {
        c->progress.succeeded++;
        c->progress.tokens += r->completion_tokens;
    } else {
        c->progress.failed++;
    }
    if (r->end_ns > c->ends.last_ns)
        c->ends.last_ns = r->end_ns;
    if (c->pacing)
        paced_on_ended(x);
    client_check_ends(c);
}

void client_on_gone(struct exchange *x)
{
    struct client *c = x->terms->client;
    must(c->ends.gone < c->ends.ended); /* each ends first, and once */
    deliver_request(x);
    c->ends.gone++;
    if (c->pacing)
        paced_on_gone(x);
    client_check_ends(c);
}

bool client_on_spare_lost(struct exchange *x, bool refused)
{
    must(x->terms->client->pacing);
    return paced_on_spare_lost(x, refused);
}

static void on_clock(struct timer *t)
{
    struct client *c = t->owner;
    stamps_refresh(&c->stamps);
    flush_chunks(c);
    loop_timer_set(c->loop, t, clock_now_ns() + STAMPS_REFRESH_NS);
}

/* ---- opening ahead ---- */

static void on_wave(struct timer *t)
{
    struct client *c = t->owner;
    assert(c->opening.over + c->opening.pending <= c->count);
    if (c->opening.over == c->count) {
        if (c->o.connected)
            c->o.connected(c->o.self);
        return;
    }
    size_t end = c->opening.next + (size_t)c->o.wave;
    if (end > c->count)
        end = c->count;
    while (c->opening.next < end) {
        struct exchange *x = &c->exchanges[c->opening.next++];
        if (x->conn.state != CONN_NEW)
            continue;
        x->pending = true;
        c->opening.pending++;
        exchange_open(x);
    }
}

void client_on_opened(struct exchange *x)
{
    struct client *c = x->terms->client;
    if (!x->pending)
        return;
    x->pending = false;
    if (c->pacing) {
        paced_on_opened(x);
        return;
    }
    c->opening.pending--;
    c->opening.over++;
    int64_t now = clock_now_ns();
    c->opening.end_ns = now;
    if (!c->opening.active) /* cancelled: there is nothing to wait for */
        return;
    if (c->opening.over == c->count)
        loop_timer_set(c->loop, &c->opening.timer, now + c->o.silence_ns);
    else if (c->opening.pending == 0)
        loop_timer_set(c->loop, &c->opening.timer, now + WAVE_GAP_NS);
}

void client_connect(struct client *c)
{
    must(!c->pacing && c->o.connect == CONNECT_AHEAD && !c->opening.active && c->opening.next == 0);
    c->opening.active = true;
    c->opening.start_ns = clock_now_ns();
    loop_timer_set(c->loop, &c->opening.timer, c->opening.start_ns);
}

/* ---- submission ---- */

static void on_sweep(struct timer *t)
{
    struct client *c = t->owner;
    int64_t began = clock_now_ns();
    while (c->submission.next < c->count) {
        struct exchange *x = &c->exchanges[c->submission.next++];
        if (x->conn.state != CONN_GONE && !x->response.over)
            exchange_submit(x);
        int64_t now = clock_now_ns();
        if (now - began > SLICE_NS && c->submission.next < c->count) {
            loop_timer_set(c->loop, t, now);
            return;
        }
    }
    if (c->ends.ended < c->count)
        loop_pause(c->loop, c->o.pause_ns);
}

void client_start_measuring(struct client *c)
{
    must(!c->submission.begun);
    c->submission.begun = true;
    loop_lag_start(c->loop);
    c->submission.wall_start_ns = clock_now_ns();
    c->submission.cpu_start_ns = clock_thread_cpu_ns();
}

int64_t client_submit(struct client *c)
{
    must(!c->pacing);
    client_start_measuring(c);
    c->opening.active = false;
    loop_timer_stop(c->loop, &c->opening.timer);
    loop_pause(c->loop, 0);
    on_sweep(&c->submission.timer);
    if (c->ends.notify_ended || c->ends.notify_closed)
        client_notify_soon(c);
    return c->submission.first_ns == ABSENT_I64 ? ABSENT_I64 : c->submission.first_ns - c->o.origin_ns;
}

void client_cancel(struct client *c)
{
    c->opening.active = false;
    c->ends.cancelled = true;
    loop_timer_stop(c->loop, &c->opening.timer);
    loop_timer_stop(c->loop, &c->submission.timer);
    c->submission.next = c->opening.next = c->count;
    for (size_t i = 0; i < c->count; i++)
        exchange_cancel(&c->exchanges[i]);
    if (c->pacing)
        paced_cancel(c);
    if (c->ends.notify_ended || c->ends.notify_closed)
        client_notify_soon(c);
}

/* ---- reading ---- */

struct client_progress client_progress_read(const struct client *c)
{
    return c->progress;
}

const char *client_fingerprint(const struct client *c)
{
    return c->seen.fingerprint[0] ? c->seen.fingerprint : NULL;
}

struct rec_client client_read(const struct client *c)
{
    struct rec_client r = c->seen.record;
    if (c->seen.frozen || !c->submission.begun)
        return r;
    struct loop_lag lag = loop_lag_read(c->loop);
    r.submit_window_ns = c->submission.first_ns == ABSENT_I64 ? 0 : c->submission.last_ns - c->submission.first_ns;
    r.connect_wall_ns = c->opening.end_ns - c->opening.start_ns;
    r.wakeups = lag.passes;
    r.lag_p50_ns = lag.p50_ns;
    r.lag_p99_ns = lag.p99_ns;
    r.lag_max_ns = lag.max_ns;
    r.handle_p50_ns = hist_quantile(&c->seen.handled, 0.50);
    r.handle_p99_ns = hist_quantile(&c->seen.handled, 0.99);
    r.handle_max_ns = c->seen.handled.max;
    r.cpu_ns = clock_thread_cpu_ns() - c->submission.cpu_start_ns;
    r.wall_ns = clock_now_ns() - c->submission.wall_start_ns;
    return r;
}

/* ---- opening and closing the client ---- */

static bool make_head(struct client *c, struct err *e)
{
    const char *texts[] = {c->o.path, c->o.address.host, c->o.api_key};
    const char *names[] = {"path of the request", "host", "API key"};
    for (int i = 0; i < 3; i++)
        for (const char *p = texts[i]; p && *p; p++)
            if ((unsigned char)*p < 0x20 || *p == 0x7f || (*p == ' ' && i == 0))
                return err_set(e, ERR_PLAN,
                               "The %s contains the byte 0x%02x, which HTTP does not allow there. Remove it.", names[i],
                               (unsigned char)*p);
    buf_fmt(&c->head, "POST %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: jtok\r\n", c->o.path, c->o.address.host);
    buf_str(&c->head, "Content-Type: application/json\r\nAccept: text/event-stream\r\nAccept-Encoding: identity\r\n"
                      "Connection: close\r\n");
    if (c->o.api_key)
        buf_fmt(&c->head, "Authorization: Bearer %s\r\n", c->o.api_key);
    buf_str(&c->head, "Content-Length: ");
    return true;
}

bool client_make(struct loop *l, const struct client_options *o, int64_t files, struct client **ret_client,
                 struct err *e)
{
    must(o->sink && o->sink->request && o->path && o->wave > 0 && o->event_max > 0);
    struct client *c = mem_zero(1, sizeof *c);
    c->loop = l;
    c->o = *o;
    if (!make_head(c, e)) {
        buf_done(&c->head);
        free(c);
        return false;
    }
    c->submission.first_ns = ABSENT_I64;
    c->ends.last_ns = INT64_MIN;
    c->seen.record.open_files_limit = files;
    c->opening.timer = (struct timer){.fire = on_wave, .owner = c};
    c->submission.timer = (struct timer){.fire = on_sweep, .owner = c};
    c->ends.timer = (struct timer){.fire = on_notify, .owner = c};
    c->clock_timer = (struct timer){.fire = on_clock, .owner = c};
    stamps_open(&c->stamps, o->origin_ns, o->sink);
    c->terms = (struct exchange_terms){
        .client = c,
        .options = &c->o,
        .means = {.loop = c->loop,
                  .events = &exchange_events,
                  .stamps = &c->stamps,
                  .buffer = mem_alloc(RECEIVE_BUFFER),
                  .size = RECEIVE_BUFFER},
        .head = buf_span(&c->head),
        .out = {.chunk = on_chunk, .self = c, .fingerprint = on_fingerprint, .shapes = &c->shapes},
    };
    loop_timer_set(l, &c->clock_timer, clock_now_ns() + STAMPS_REFRESH_NS);
    *ret_client = c;
    return true;
}

bool client_open(struct loop *l, const struct client_options *o, const struct client_request *requests, size_t count,
                 struct client **ret_client, struct err *e)
{
    int64_t files;
    struct client *c;
    if (count == 0)
        return err_set(e, ERR_PLAN, "The load has no requests. Give at least one.");
    if (!limits_files(count, &files, e) || !limits_ports(&o->address, count, e) || !client_make(l, o, files, &c, e))
        return false;
    c->count = c->progress.total = count;
    c->requests = mem_alloc(count * sizeof *requests);
    memcpy(c->requests, requests, count * sizeof *requests);
    c->exchanges = mem_zero(count, sizeof *c->exchanges);
    for (size_t i = 0; i < count; i++)
        exchange_init(&c->exchanges[i], &c->terms, &c->requests[i]);
    *ret_client = c;
    return true;
}

void client_close(struct client *c)
{
    if (!c)
        return;
    if (!c->ends.all_gone)
        client_cancel(c);
    struct timer *timers[] = {&c->opening.timer, &c->submission.timer, &c->ends.timer, &c->clock_timer};
    for (int i = 0; i < 4; i++)
        loop_timer_stop(c->loop, timers[i]);
    for (size_t i = 0; i < c->count; i++)
        exchange_done(&c->exchanges[i]);
    if (c->pacing)
        paced_done(c);
    stamps_close(&c->stamps);
    buf_done(&c->head);
    free(c->terms.means.buffer);
    free(c->exchanges);
    free(c->requests);
    free(c);
}
