#include "http/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "model/limits.h"
#include "http/limits.h"
#include "http/conn.h"

/* A slice of the sweep, after which the loop reads; a pause between waves, in which a busy server can accept. */
static const int64_t SLICE_NS = 500000, WAVE_GAP_NS = 10000000;

_Static_assert(sizeof(struct conn) <= 2048, "4 KiB a stream hold the connection and what it grows to");

void client_defaults(struct client_options *o)
{
    *o = (struct client_options){
        .path = "/v1/chat/completions",
        .stage = REQUEST_FORMAL,
        .connect = CONNECT_AHEAD,
        .limits = plan_limits_default(),
        .event_max = RESPONSE_EVENT_MAX,
        .pause_ns = 800000,
        .wave = 64,
        .silence_ns = METHOD_SILENCE_NS,
        .linger_ns = 250000000,
    };
}

/* ---- telling the owner ---- */

/* Ends are told behind the submission only: an owner that waits for `connected` meets one order of callbacks, also
 * where every connection has failed. */
static void tell_soon(struct client *c)
{
    if (!c->submitting && !c->cancelled)
        return;
    loop_timer_set(c->loop, &c->tell_timer, clock_now_ns());
}

/* One callback a time, and nothing of the client is touched behind it: it may have closed the client. */
static void on_tell(struct timer *t)
{
    struct client *c = t->owner;
    if (c->tell_ended) {
        c->tell_ended = false;
        if (c->tell_closed)
            tell_soon(c);
        if (c->o.ended)
            c->o.ended(c->o.self, c->last_end_ns);
        return;
    }
    if (c->tell_closed) {
        c->tell_closed = false;
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
    c->seen.events++;
    c->seen.stamps_kernel += chunk->stamp == STAMP_KERNEL;
    c->seen.stamps_shared += chunk->stamp == STAMP_SHARED;
    c->seen.stamps_read += chunk->stamp == STAMP_READ;
    c->progress.token_chunks += chunk_has_tokens(chunk);
    if (c->batch_count == CHUNK_BATCH)
        flush_chunks(c);
    c->batch[c->batch_count++] = *chunk;
}

static void on_fingerprint(void *self, struct span fingerprint)
{
    struct client *c = self;
    if (c->fingerprint[0])
        return;
    snprintf(c->fingerprint, sizeof c->fingerprint, "%.*s", SPAN_ARG(fingerprint));
}

/* Bytes at the front of `text` that stand together somewhere in the key, at most. O(key * length). */
static size_t key_piece(const char *text, const char *key)
{
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

static void give_request(struct conn *k)
{
    struct client *c = k->client;
    struct rec_request r = k->response.record;
    struct buf detail = {0};
    if (r.detail) {
        hide_key(c, r.detail, &detail);
        r.detail = buf_text(&detail);
    }
    flush_chunks(c);
    c->o.sink->request(c->o.sink->self, &r);
    buf_done(&detail);
}

static void freeze(struct client *c)
{
    if (c->frozen)
        return;
    struct rec_client now = client_read(c);
    c->seen = now;
    c->frozen = true;
}

void client_on_ended(struct conn *k)
{
    struct client *c = k->client;
    const struct rec_request *r = &k->response.record;
    c->ended++;
    c->progress.running -= r->submit_ns != ABSENT_I64;
    if (r->verdict == VERDICT_OK) {
        c->progress.succeeded++;
        c->progress.tokens += r->completion_tokens;
    } else {
        c->progress.failed++;
    }
    if (r->end_ns > c->last_end_ns)
        c->last_end_ns = r->end_ns;
    if (c->ended == c->count) {
        freeze(c);
        loop_pause(c->loop, 0);
        c->tell_ended = true;
        tell_soon(c);
    }
}

void client_on_gone(struct conn *k)
{
    struct client *c = k->client;
    give_request(k);
    if (++c->gone == c->count) {
        loop_timer_stop(c->loop, &c->clock_timer);
        c->tell_closed = true;
        tell_soon(c);
    }
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
    if (c->opened_or_failed == c->count) {
        if (c->o.connected)
            c->o.connected(c->o.self);
        return;
    }
    size_t end = c->next_connect + (size_t)c->o.wave;
    if (end > c->count)
        end = c->count;
    while (c->next_connect < end) {
        struct conn *k = &c->conns[c->next_connect++];
        if (k->state != CONN_NEW)
            continue;
        k->pending = true;
        c->handshakes++;
        conn_open(k);
    }
}

void client_on_opened(struct conn *k)
{
    struct client *c = k->client;
    if (!k->pending)
        return;
    k->pending = false;
    c->handshakes--;
    c->opened_or_failed++;
    int64_t now = clock_now_ns();
    c->connect_end_ns = now;
    if (!c->connecting) /* cancelled: there is nothing to wait for */
        return;
    if (c->opened_or_failed == c->count)
        loop_timer_set(c->loop, &c->wave_timer, now + c->o.silence_ns);
    else if (c->handshakes == 0)
        loop_timer_set(c->loop, &c->wave_timer, now + WAVE_GAP_NS);
}

void client_connect(struct client *c)
{
    c->connecting = true;
    c->connect_start_ns = clock_now_ns();
    loop_timer_set(c->loop, &c->wave_timer, c->connect_start_ns);
}

/* ---- submission ---- */

static void on_sweep(struct timer *t)
{
    struct client *c = t->owner;
    int64_t began = clock_now_ns();
    while (c->next_submit < c->count) {
        struct conn *k = &c->conns[c->next_submit++];
        if (k->state != CONN_GONE && !k->response.over)
            conn_submit(k);
        int64_t now = clock_now_ns();
        if (now - began > SLICE_NS && c->next_submit < c->count) {
            loop_timer_set(c->loop, t, now);
            return;
        }
    }
    if (c->ended < c->count)
        loop_pause(c->loop, c->o.pause_ns);
}

int64_t client_submit(struct client *c)
{
    c->submitting = true;
    c->connecting = false;
    loop_timer_stop(c->loop, &c->wave_timer);
    loop_pause(c->loop, 0);
    loop_lag_start(c->loop);
    c->wall_start_ns = clock_now_ns();
    c->cpu_start_ns = clock_thread_cpu_ns();
    on_sweep(&c->sweep_timer);
    if (c->tell_ended || c->tell_closed)
        tell_soon(c);
    return c->first_submit_ns == ABSENT_I64 ? ABSENT_I64 : run_time(c, c->first_submit_ns);
}

void client_cancel(struct client *c)
{
    c->connecting = false;
    c->cancelled = true;
    loop_timer_stop(c->loop, &c->wave_timer);
    loop_timer_stop(c->loop, &c->sweep_timer);
    c->next_submit = c->next_connect = c->count;
    for (size_t i = 0; i < c->count; i++)
        conn_cancel(&c->conns[i]);
    if (c->tell_ended || c->tell_closed)
        tell_soon(c);
}

/* ---- reading ---- */

struct client_progress client_progress_read(const struct client *c)
{
    return c->progress;
}

const char *client_fingerprint(const struct client *c)
{
    return c->fingerprint[0] ? c->fingerprint : NULL;
}

struct rec_client client_read(const struct client *c)
{
    struct rec_client r = c->seen;
    if (c->frozen || !c->submitting)
        return r;
    struct loop_lag lag = loop_lag_read(c->loop);
    r.submit_spread_ns = c->first_submit_ns == ABSENT_I64 ? 0 : c->last_submit_ns - c->first_submit_ns;
    r.connect_wall_ns = c->connect_end_ns - c->connect_start_ns;
    r.wakeups = lag.passes;
    r.lag_p50_ns = lag.p50_ns;
    r.lag_p99_ns = lag.p99_ns;
    r.lag_max_ns = lag.max_ns;
    r.handle_p50_ns = hist_quantile(&c->handled, 0.50);
    r.handle_p99_ns = hist_quantile(&c->handled, 0.99);
    r.handle_max_ns = c->handled.max;
    r.cpu_ns = clock_thread_cpu_ns() - c->cpu_start_ns;
    r.wall_ns = clock_now_ns() - c->wall_start_ns;
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
                return err_set(e, ERR_PLAN, "The %s holds a byte that HTTP does not allow there (0x%02x).", names[i],
                               (unsigned char)*p);
    buf_fmt(&c->head, "POST %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: jtok\r\n", c->o.path, c->o.address.host);
    buf_str(&c->head, "Content-Type: application/json\r\nAccept: text/event-stream\r\nAccept-Encoding: identity\r\n"
                      "Connection: close\r\n");
    if (c->o.api_key)
        buf_fmt(&c->head, "Authorization: Bearer %s\r\n", c->o.api_key);
    buf_str(&c->head, "Content-Length: ");
    return true;
}

bool client_open(struct loop *l, const struct client_options *o, const struct client_request *requests, size_t count,
                 struct client **ret_client, struct err *e)
{
    int64_t files;
    if (count == 0)
        return err_set(e, ERR_PLAN, "The load has no request: give it at least one.");
    if (!limits_files(count, &files, e) || !limits_ports(&o->address, count, e))
        return false;
    struct client *c = mem_zero(1, sizeof *c);
    c->loop = l;
    c->o = *o;
    c->count = count;
    if (!make_head(c, e)) {
        buf_done(&c->head);
        free(c);
        return false;
    }
    c->requests = mem_alloc(count * sizeof *requests);
    memcpy(c->requests, requests, count * sizeof *requests);
    c->buffer = mem_alloc(RECEIVE_BUFFER);
    c->out = (struct response_out){on_chunk, c, on_fingerprint, &c->shapes};
    c->first_submit_ns = ABSENT_I64;
    c->last_end_ns = INT64_MIN;
    c->progress.total = count;
    c->seen.open_files_limit = files;
    c->wave_timer = (struct timer){.fire = on_wave, .owner = c};
    c->sweep_timer = (struct timer){.fire = on_sweep, .owner = c};
    c->tell_timer = (struct timer){.fire = on_tell, .owner = c};
    c->clock_timer = (struct timer){.fire = on_clock, .owner = c};
    c->conns = mem_zero(count, sizeof *c->conns);
    for (size_t i = 0; i < count; i++)
        conn_init(&c->conns[i], c, &c->requests[i]);
    stamps_open(&c->stamps, o->origin_ns, o->sink);
    loop_timer_set(l, &c->clock_timer, clock_now_ns() + STAMPS_REFRESH_NS);
    *ret_client = c;
    return true;
}

void client_close(struct client *c)
{
    if (!c)
        return;
    if (c->gone < c->count)
        client_cancel(c);
    struct timer *timers[] = {&c->wave_timer, &c->sweep_timer, &c->tell_timer, &c->clock_timer};
    for (int i = 0; i < 4; i++)
        loop_timer_stop(c->loop, timers[i]);
    for (size_t i = 0; i < c->count; i++)
        conn_done(&c->conns[i]);
    stamps_close(&c->stamps);
    buf_done(&c->head);
    free(c->buffer);
    free(c->conns);
    free(c->requests);
    free(c);
}
