/* From generated tokens to chunks.
 *
 * Without a limit a step's tokens go out in one burst at its end. With a limited front end they queue, one chunk a
 * request and step, and are delivered in that order at the given rate: so delivery falls behind and the GPU idles while
 * answers are still owed. A share of the requests (front_merge) gets all that waits as one chunk once it is generated
 * whole: the large last chunks of the recorded runs. */
#include "server.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/clock.h"
#include "http.h"
#include "words.h"

enum { FRONT_TURN_NS = 1000000, CACHE_BLOCK = 16, CUT_AT_CHUNK = 3, ERROR_AT_CHUNK = 2 };

#define CORE_FAILURE "EngineCore encountered an issue. See stack trace (above) for the root cause."

static void put_event(struct server *s)
{
    http_chunk(&s->scratch, buf_span(&s->event));
    buf_clear(&s->event);
}

static void put_error(struct server *s)
{
    buf_str(&s->event, "data: ");
    http_error_body(&s->event, 500, "InternalServerError", NULL, CORE_FAILURE);
    buf_str(&s->event, "\n\n");
    put_event(s);
    answer_done(&s->event);
    put_event(s);
    http_last_chunk(&s->scratch);
}

void deliver_start(struct server *s, struct peer *c)
{
    const struct options *o = s->options;
    struct answer *a = &c->answer;
    bool known = o->prefix_cache && seen_before(&s->seen, a->ask.prompt_hash);
    c->cached_tokens = known ? (a->ask.prompt_tokens - 1) / CACHE_BLOCK * CACHE_BLOCK : 0;
    c->generated = c->delivered = c->chunks = c->steps = 0;
    c->admitted_ns = c->first_ns = c->last_ns = 0;
    c->arrived_ns = clock_now_ns();
    c->merges = words_share(words_mix(a->hash, 3)) < o->front_merge;
    a->no_usage = options_strike(o, FAULT_NO_USAGE, c->number);
    s->owed++;
    s->telling.dirty = true;
    if (options_strike(o, FAULT_SILENT, c->number))
        return;
    c->job = batch_add(&s->batch, c, a->ask.prompt_tokens, c->cached_tokens, a->total_tokens);
    peer_log(s, c, "POST", a->ask.chat ? "/v1/chat/completions" : "/v1/completions", 200);
    if (!a->ask.stream)
        return;
    buf_clear(&s->scratch);
    http_stream_head(&s->scratch, c->close);
    peer_send(s, c, buf_span(&s->scratch));
}

/* The tenth request is the first behind a proof of readiness and eight of a warm-up. */
enum { OWN_LATE_AT = 9 };

/* What vLLM notes of a request when it has ended: stamps of its core, and of its front end for the whole. */
static void observe_end(struct metrics *m, const struct options *o, const struct peer *c, int64_t now_ns)
{
    const int64_t tokens = c->answer.total_tokens, generated_ns = c->last_ns - c->first_ns;
    metrics_observe(&m->queue, c->admitted_ns - c->arrived_ns);
    metrics_observe(&m->prefill, c->first_ns - c->admitted_ns);
    metrics_observe(&m->tpot, tokens > 1 ? generated_ns / (tokens - 1) : 0);
    metrics_observe(&m->e2e, now_ns - c->arrived_ns);
    m->itl.sum_s += (double)generated_ns / 1e9;
    m->itl.count += c->steps - 1;
    if (o->step_tokens <= 1)
        return;
    m->drafts += c->steps - 1;
    m->accepted += tokens - c->steps;
}

static void count(struct server *s, struct peer *c, int64_t to)
{
    const struct answer *a = &c->answer;
    if (s->telling.live.prompt_tokens == 0) /* the first request of all */
        s->telling.live.generation_tokens += s->options->own_tokens - s->options->own_tokens / 2;
    if (c->delivered == 0 && c->number == OWN_LATE_AT) {
        s->telling.live.generation_tokens += OWN_TOKENS * s->options->own_late;
        s->telling.live.length += s->options->own_late;
    }
    if (c->delivered == 0) {
        s->telling.live.prompt_tokens += a->ask.prompt_tokens;
        s->telling.live.cache_queries += s->options->prefix_cache ? a->ask.prompt_tokens : 0;
        s->telling.live.cache_hits += c->cached_tokens;
        metrics_observe(&s->telling.live.ttft, clock_now_ns() - c->arrived_ns);
    }
    s->telling.live.generation_tokens += to - c->delivered;
    if (to == a->total_tokens)
        observe_end(&s->telling.live, s->options, c, clock_now_ns());
    if (to == a->total_tokens)
        ++*(a->stopped ? &s->telling.live.stopped : &s->telling.live.length);
    c->delivered = to;
    c->chunks++;
    s->telling.dirty = true;
}

static void finish(struct server *s, struct peer *c)
{
    if (c->job >= 0)
        batch_remove(&s->batch, c->job);
    c->job = -1;
    peer_request_over(s, c);
    peer_next(s, c);
}

static void deliver_whole(struct server *s, struct peer *c)
{
    buf_clear(&s->event);
    answer_whole(&c->answer, &s->event);
    buf_clear(&s->scratch);
    http_answer(&s->scratch, 200, "application/json", buf_span(&s->event), c->close);
    buf_clear(&s->event);
    peer_send(s, c, buf_span(&s->scratch));
    finish(s, c);
}

/* Faults that strike in the middle of a stream; true when they took the place of the chunk, which waits in s->event. */
static bool struck(struct server *s, struct peer *c)
{
    const struct options *o = s->options;
    if (c->chunks == ERROR_AT_CHUNK && options_strike(o, FAULT_ERROR_IN_STREAM, c->number)) {
        buf_clear(&s->event);
        put_error(s);
        peer_send(s, c, buf_span(&s->scratch));
        s->telling.live.aborted++;
        finish(s, c);
        return true;
    }
    bool reset = options_strike(o, FAULT_RESET, c->number);
    if (c->chunks != CUT_AT_CHUNK)
        return false;
    if (reset || options_strike(o, FAULT_CUT, c->number)) {
        size_t before = s->scratch.n;
        put_event(s);
        s->scratch.n = before + (s->scratch.n - before) / 2;
        peer_send(s, c, buf_span(&s->scratch));
        peer_close(s, c, reset);
        return true;
    }
    if (options_strike(o, FAULT_CRASH, c->number) && s->tree.core > 0)
        kill(s->tree.core, SIGKILL);
    if (options_strike(o, FAULT_KILLED, c->number)) {
        fflush(stdout);
        kill(getpid(), SIGKILL);
    }
    return false;
}

static void deliver(struct server *s, struct peer *c, int64_t to)
{
    const struct answer *a = &c->answer;
    int64_t from = c->delivered;
    bool last = to == a->total_tokens;
    if (!a->ask.stream && !last)
        return;
    count(s, c, to);
    if (!a->ask.stream) {
        deliver_whole(s, c);
        return;
    }
    buf_clear(&s->scratch);
    buf_clear(&s->event);
    if (from == 0 && a->ask.chat) {
        answer_role(a, &s->event);
        put_event(s);
    }
    answer_tokens(a, from, to, &s->event);
    if (struck(s, c))
        return;
    put_event(s);
    if (last && a->ask.include_usage && !a->no_usage) {
        answer_usage(a, &s->event);
        put_event(s);
    }
    if (last && !options_strike(s->options, FAULT_NO_DONE, c->number)) {
        answer_done(&s->event);
        put_event(s);
    }
    if (last)
        http_last_chunk(&s->scratch);
    peer_send(s, c, buf_span(&s->scratch));
    if (last && !c->dead)
        finish(s, c);
}

void deliver_got(void *server, int32_t job)
{
    struct server *s = server;
    const struct job *j = &s->batch.jobs[job];
    struct peer *c = j->owner;
    c->generated = j->generated;
    c->last_ns = s->step_ends_ns;
    c->first_ns = c->steps++ ? c->first_ns : c->last_ns;
    if (j->state == JOB_DONE) {
        c->job = -1;
        batch_remove(&s->batch, job);
    }
    if (s->options->front_rate <= 0)
        deliver(s, c, c->generated);
    else if (c->answer.ask.stream || c->job < 0)
        front_push(&s->front, (struct front_item){.serial = c->serial, .fd = c->fd, .generated = c->generated},
                   clock_now_ns());
}

void deliver_front(struct server *s, int64_t now_ns)
{
    while (s->front.count && s->front.next_ns <= now_ns) {
        struct front_item item = front_pop(&s->front);
        struct peer *c = item.fd < s->peer_capacity ? s->peers[item.fd] : NULL;
        if (!c || c->serial != item.serial || c->delivered >= item.generated)
            continue;
        s->front.next_ns += options_ns(s->options, 1 / s->options->front_rate);
        deliver(s, c, c->merges && c->job < 0 ? c->generated : item.generated);
    }
}

int64_t deliver_front_ns(const struct server *s)
{
    return s->front.count ? s->front.next_ns + FRONT_TURN_NS : INT64_MAX;
}

void deliver_failed(struct server *s)
{
    for (int fd = 0; fd < s->peer_capacity; fd++) {
        struct peer *c = s->peers[fd];
        if (!c || !c->answer.total_tokens)
            continue;
        buf_clear(&s->scratch);
        buf_clear(&s->event);
        if (c->answer.ask.stream) {
            put_error(s);
        } else {
            http_error_body(&s->event, 500, "InternalServerError", NULL, CORE_FAILURE);
            http_answer(&s->scratch, 500, "application/json", buf_span(&s->event), true);
        }
        c->close = true;
        s->telling.live.aborted++;
        peer_send(s, c, buf_span(&s->scratch));
        if (!c->dead)
            finish(s, c);
    }
}

struct metrics deliver_metrics(const struct server *s)
{
    struct metrics m = s->telling.live;
    m.waiting = s->batch.waiting.count;
    m.running = s->owed - m.waiting;
    m.kv_usage = (double)s->batch.kv_used / (double)s->options->kv_tokens;
    m.preemptions = s->batch.preemptions;
    return m;
}
