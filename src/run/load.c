/* Requests of the three kinds as a client's load, and what comes back counted on its way to the records. */
#include "run/internal.h"

#include <stdlib.h>
#include "text/json.h"

enum { READY_TOKENS = 8 };

static void count_request(void *self, const struct rec_request *q)
{
    struct run *r = self;
    struct load *l = q->stage == REQUEST_FORMAL ? &r->formal : &r->other;
    if (q->verdict == VERDICT_OK) {
        l->succeeded++;
    } else if (l->failed++ == 0) {
        l->first_failure = *q;
        l->first_failure.detail = q->detail ? arena_text(r->arena, q->detail) : NULL;
    }
    r->recorders.request(r->recorders.self, q);
}

static void forward_chunk(void *self, const struct rec_chunk *c, size_t n)
{
    struct run *r = self;
    r->recorders.chunk(r->recorders.self, c, n);
}

static void forward_clock(void *self, const struct rec_clock *c)
{
    struct run *r = self;
    r->recorders.clock(r->recorders.self, c);
}

static void load_connected(void *self)
{
    struct run *r = self;
    (r->formal.client ? &r->formal : &r->other)->connected = true;
    loop_stop(r->loop);
}

static void load_ended(void *self, int64_t end_ns)
{
    struct run *r = self;
    struct load *l = r->formal.client ? &r->formal : &r->other;
    l->ended = true;
    l->end_ns = end_ns;
    const char *fingerprint = client_fingerprint(l->client);
    if (fingerprint && !r->identity.fingerprint)
        r->identity.fingerprint = arena_text(r->arena, fingerprint);
    loop_stop(r->loop);
}

static void load_closed(void *self)
{
    struct run *r = self;
    (r->formal.client ? &r->formal : &r->other)->closed = true;
    loop_stop(r->loop);
}

static struct engine_request formal_request(struct run *r, size_t i, struct buf *text)
{
    const struct request_row *row = request_set_row(&r->set, i);
    struct engine_request q = {
        .max_tokens = r->set.max_tokens[i], .forced = r->plan->requests.lengths.ignore_eos, .extra = row->extra};
    if (row->messages.n) {
        q.has_messages = true;
        q.messages = row->messages;
        return q;
    }
    struct json j;
    json_init(&j, row->prompt);
    json_next(&j);
    buf_clear(text);
    json_text(&j, text);
    q.prompt = buf_span(text);
    return q;
}

static struct engine_request plain_request(struct run *r, int stage, size_t i)
{
    /* METHOD: warm-up answers have 64 tokens, whatever the formal ones have. */
    bool forced = stage == REQUEST_WARMUP ? engine_forces_warmup(r->plan) : r->plan->requests.lengths.ignore_eos;
    return (struct engine_request){
        .prompt = span_of(stage == REQUEST_READY ? "Say that you are ready." : engine_warmup_prompt(i)),
        .max_tokens = stage == REQUEST_READY ? READY_TOKENS : r->plan->method.warmup_tokens,
        .forced = forced,
        .plain = true,
    };
}

void load_make(struct run *r, struct load *l, int stage, size_t count)
{
    *l = (struct load){.stage = stage, .count = count, .start_ns = ABSENT_I64, .end_ns = ABSENT_I64};
    l->requests = mem_zero(count, sizeof *l->requests);
    size_t *offsets = mem_zero(count + 1, sizeof *offsets);
    struct buf text = {0};
    for (size_t i = 0; i < count; i++) {
        struct engine_request q = stage == REQUEST_FORMAL ? formal_request(r, i, &text) : plain_request(r, stage, i);
        l->requests[i] = (struct client_request){
            .id = (uint32_t)i,
            .max_tokens = q.max_tokens,
            .prompt_digest = stage == REQUEST_FORMAL ? request_set_row(&r->set, i)->digest : 0,
        };
        engine_put_body(r->plan, &q, &l->bodies);
        offsets[i + 1] = l->bodies.n;
    }
    /* Spans only now: the buffer moves while it grows. */
    for (size_t i = 0; i < count; i++)
        l->requests[i].body = (struct span){l->bodies.p + offsets[i], offsets[i + 1] - offsets[i]};
    free(offsets);
    buf_done(&text);
}

bool load_open(struct run *r, struct load *l, struct err *e)
{
    struct client_options o;
    client_defaults(&o);
    struct address list[ADDRESSES_MAX];
    int addresses = 0;
    if (!address_resolve(r->plan->engine.host, (int)r->plan->engine.port, list, &addresses, e))
        return false;
    o.address = list[0];
    if (r->poll_address_known)
        o.address = r->poll_address;
    r->sink = (struct record_sink){.self = r, .request = count_request, .chunk = forward_chunk, .clock = forward_clock};
    o.path = engine_request_path(r->plan);
    o.api_key = r->api_key;
    o.stage = l->stage;
    o.connect = l->stage == REQUEST_FORMAL ? r->plan->requests.connect : CONNECT_WITH_REQUEST;
    o.limits = r->plan->limits;
    o.origin_ns = r->origin_ns;
    o.sink = &r->sink;
    o.chunks = l->stage == REQUEST_FORMAL;
    o.self = r;
    o.connected = load_connected;
    o.ended = load_ended;
    o.closed = load_closed;
    return client_open(r->loop, &o, l->requests, l->count, &l->client, e);
}

void load_done(struct load *l)
{
    client_close(l->client);
    l->client = NULL;
    free(l->requests);
    l->requests = NULL;
    buf_done(&l->bodies);
}
