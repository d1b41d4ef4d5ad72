#include "run/load.h"

#include <stdlib.h>
#include "base/must.h"
#include "engine/engine.h"
#include "model/limits.h"
#include "store/arrivals.h"
#include "text/json.h"

enum { READY_TOKENS = 8 };

/* ---- what comes back ---- */

static void on_load_request(void *self, const struct rec_request *q)
{
    struct load *l = self;
    if (q->verdict == VERDICT_OK) {
        l->succeeded++;
    } else if (l->failed++ == 0) {
        l->first_failure = *q;
        l->first_failure.detail = q->detail ? arena_text(l->site->machine->arena, q->detail) : NULL;
    }
}

static void on_load_connected(void *self)
{
    struct load *l = self;
    l->connected = true;
    stage_wake(l->site->machine);
}

static void on_load_last(void *self, int64_t t_ns)
{
    struct load *l = self;
    l->last_ns = t_ns;
    stage_wake(l->site->machine);
}

static void on_load_ended(void *self, int64_t end_ns)
{
    struct load *l = self;
    must(!l->ended);
    l->ended = true;
    l->end_ns = end_ns;
    l->sent = client_progress_read(l->client).sent;
    if (!l->draw && l->start_ns != ABSENT_I64)
        l->last_ns = l->start_ns + client_read(l->client).submit_window_ns;
    stage_wake(l->site->machine);
}

static void on_load_closed(void *self)
{
    struct load *l = self;
    must(l->ended);
    l->closed = true;
    stage_wake(l->site->machine);
}

/* ---- bytes ---- */

static struct engine_request formal_request(const struct plan *plan, const struct request_ask *ask)
{
    return (struct engine_request){.has_messages = ask->messages.n > 0,
                                   .prompt = ask->prompt,
                                   .messages = ask->messages,
                                   .ids = ask->ids,
                                   .max_tokens = ask->max_tokens,
                                   .forced = plan->requests.lengths.ignore_eos,
                                   .extra = ask->extra};
}

static struct engine_request plain_request(const struct plan *plan, enum request_stage stage, size_t i)
{
    /* METHOD: warm-up answers have 64 tokens, whatever the formal ones have. */
    bool forced = stage == REQUEST_WARMUP ? engine_forces_warmup(plan) : plan->requests.lengths.ignore_eos;
    return (struct engine_request){
        .prompt = span_of(stage == REQUEST_READY ? "Say that you are ready." : engine_warmup_prompt(i)),
        .max_tokens = stage == REQUEST_READY ? READY_TOKENS : plan->method.warmup_tokens,
        .forced = forced,
        .plain = true,
    };
}

/* Request i of its kind, its body behind what stands in `bodies`: the span is for the caller to set, as that moves. */
static struct client_request make_request(const struct load_site *site, enum request_stage stage, size_t i,
                                          struct buf *text, struct buf *bodies)
{
    struct request_ask ask = {.prompt_tokens = ABSENT_I64};
    if (stage == REQUEST_FORMAL)
        ask = request_set_ask(site->set, i, text);
    struct engine_request q =
        stage == REQUEST_FORMAL ? formal_request(site->plan, &ask) : plain_request(site->plan, stage, i);
    engine_put_body(site->plan, &q, bodies);
    return (struct client_request){
        .id = (uint32_t)i,
        .max_tokens = q.max_tokens,
        .prompt_digest = ask.digest,
        .prompt_tokens = ask.prompt_tokens == ABSENT_I64 ? 0 : ask.prompt_tokens,
    };
}

/* Those of the formal kind go on from place l->first of the set. */
static void make_requests(struct load *l)
{
    l->requests = mem_zero(l->count, sizeof *l->requests);
    size_t *offsets = mem_zero(l->count + 1, sizeof *offsets);
    struct buf text = {0};
    for (size_t i = 0; i < l->count; i++) {
        l->requests[i] = make_request(l->site, l->stage, l->first + i, &text, &l->bodies);
        offsets[i + 1] = l->bodies.n;
    }
    /* Spans only now: the buffer moves while it grows. */
    for (size_t i = 0; i < l->count; i++)
        l->requests[i].body = (struct span){l->bodies.p + offsets[i], offsets[i + 1] - offsets[i]};
    free(offsets);
    buf_done(&text);
}

void load_make(struct load *l, const struct load_site *site, enum request_stage stage, size_t count)
{
    must(!l->client && !l->requests && !l->draw);
    must(stage != REQUEST_FORMAL || count <= site->set->count);
    *l = (struct load){.site = site,
                       .stage = stage,
                       .count = count,
                       .number = -1,
                       .start_ns = ABSENT_I64,
                       .last_ns = ABSENT_I64,
                       .end_ns = ABSENT_I64};
    make_requests(l);
}

/* ---- a paced load's requests ---- */

struct draw {
    struct arrivals arrivals; /* open loop */
    size_t drawn;
    struct buf text;
};

static bool draw_next(void *self, struct client_request *ret_request, int64_t *ret_intended_ns, struct buf *body)
{
    struct load *l = self;
    struct draw *d = l->draw;
    *ret_intended_ns = 0;
    if (l->planned->count != ABSENT_I64 && d->drawn >= (size_t)l->planned->count)
        return false;
    if (l->planned->kind != LOAD_CONCURRENCY && !arrivals_next(&d->arrivals, ret_intended_ns))
        return false;
    *ret_request = make_request(l->site, REQUEST_FORMAL, l->first + d->drawn++, &d->text, body);
    ret_request->body = buf_span(body);
    return true;
}

void load_plan(struct load *l, const struct load_site *site, size_t number, size_t first)
{
    must(!l->client && !l->requests && !l->draw && number < site->plan->load_count && site->set->count > 0);
    const struct plan_load *planned = &site->plan->loads[number];
    *l = (struct load){.site = site,
                       .stage = REQUEST_FORMAL,
                       .planned = planned,
                       .number = (int32_t)number,
                       .first = first,
                       .start_ns = ABSENT_I64,
                       .last_ns = ABSENT_I64,
                       .end_ns = ABSENT_I64};
    if (planned->kind == LOAD_BURST) {
        l->count = planned->count == ABSENT_I64 ? site->set->count : (size_t)planned->count;
        make_requests(l);
        return;
    }
    l->draw = mem_zero(1, sizeof *l->draw);
    if (planned->kind != LOAD_CONCURRENCY)
        l->draw->arrivals = arrivals_begin(planned, site->traces ? &site->traces[number] : NULL);
}

bool load_is_paced(const struct load *l)
{
    return l->draw != NULL;
}

static struct client_pace pace_of(const struct load *l)
{
    const struct plan_load *p = l->planned;
    bool timed = p->for_s < 1e9; /* not where it is absent */
    return (struct client_pace){.in_flight = p->kind == LOAD_CONCURRENCY ? p->concurrency : 0,
                                .for_ns = timed ? time_of_seconds(p->for_s) : INT64_MAX,
                                .ahead_ns = METHOD_AHEAD_NS,
                                .next = draw_next};
}

/* ---- sending ---- */

static bool connects_ahead(const struct load *l)
{
    return l->stage == REQUEST_FORMAL && l->site->plan->requests.connect == CONNECT_AHEAD;
}

bool load_open(struct load *l, const struct address *known, struct err *e)
{
    must((l->requests || l->draw) && !l->client);
    const struct load_site *site = l->site;
    const struct plan_engine *engine = &site->plan->engine;
    struct address list[ADDRESSES_MAX];
    int addresses = 0;
    if (!address_resolve(engine->host, (int)engine->port, list, &addresses, e))
        return false;
    struct client_options o;
    client_defaults(&o);
    o.address = l->address = known ? *known : list[0];
    o.path = engine_request_path(site->plan);
    o.api_key = site->api_key;
    o.stage = l->stage;
    o.connect = connects_ahead(l) ? CONNECT_AHEAD : CONNECT_WITH_REQUEST;
    o.limits = site->plan->limits;
    o.origin_ns = site->machine->origin_ns;
    o.sink = &site->machine->records;
    o.chunks = l->stage == REQUEST_FORMAL;
    o.load = l->number;
    o.self = l;
    o.request = on_load_request;
    o.connected = on_load_connected;
    o.last = on_load_last;
    o.ended = on_load_ended;
    o.closed = on_load_closed;
    if (l->draw) {
        struct client_pace pace = pace_of(l);
        pace.self = l;
        return client_open_paced(site->machine->loop, &o, &pace, &l->client, e);
    }
    return client_open(site->machine->loop, &o, l->requests, l->count, &l->client, e);
}

int64_t load_lead_ns(const struct load *l)
{
    must(l->draw);
    struct client_pace pace = pace_of(l);
    return client_lead_ns(&pace);
}

void load_begin(struct load *l, int64_t start_ns)
{
    must(l->client && l->draw && l->start_ns == ABSENT_I64);
    l->start_ns = start_ns;
    client_begin(l->client, start_ns);
}

void load_connect(struct load *l)
{
    must(l->client && !l->draw && l->start_ns == ABSENT_I64);
    if (connects_ahead(l))
        client_connect(l->client);
}

bool load_is_connected(const struct load *l)
{
    return l->connected || !connects_ahead(l);
}

bool load_submit(struct load *l)
{
    must(l->client && !l->draw && l->start_ns == ABSENT_I64);
    l->start_ns = client_submit(l->client);
    return l->start_ns != ABSENT_I64;
}

void load_finish(struct load *l)
{
    must(l->client && l->start_ns != ABSENT_I64);
    if (l->draw)
        client_finish(l->client);
}

void load_cancel(struct load *l)
{
    must(l->client);
    client_cancel(l->client);
}

void load_close(struct load *l)
{
    if (l->client && l->planned) {
        l->progress = client_progress_read(l->client);
        l->condition = client_read(l->client);
    }
    client_close(l->client);
    l->client = NULL;
    free(l->requests);
    l->requests = NULL;
    buf_done(&l->bodies);
    if (l->draw)
        buf_done(&l->draw->text);
    free(l->draw);
    l->draw = NULL;
}

struct client_progress load_progress(const struct load *l)
{
    return l->client ? client_progress_read(l->client) : l->progress;
}

const char *load_fingerprint(const struct load *l)
{
    const char *text = l->client ? client_fingerprint(l->client) : NULL;
    return text ? arena_text(l->site->machine->arena, text) : NULL;
}

/* ---- a list ---- */

struct load_list load_list_plan(const struct load_site *site, struct arena *a)
{
    must(site->plan->load_count > 0);
    struct load_list list = {.items = arena_array(a, site->plan->load_count, sizeof *list.items),
                             .count = site->plan->load_count};
    for (size_t i = 0; i < list.count; i++)
        list.items[i] = (struct load){.site = site,
                                      .stage = REQUEST_FORMAL,
                                      .planned = &site->plan->loads[i],
                                      .number = (int32_t)i,
                                      .start_ns = ABSENT_I64,
                                      .last_ns = ABSENT_I64,
                                      .end_ns = ABSENT_I64};
    return list;
}

const struct load *load_list_current(const struct load_list *l)
{
    const struct load *current = NULL;
    for (size_t i = 0; i < l->count; i++)
        if (l->items[i].planned && (l->items[i].client || l->items[i].end_ns != ABSENT_I64))
            current = &l->items[i];
    return current;
}

struct client_progress load_list_progress(const struct load_list *l)
{
    struct client_progress sum = {0};
    for (size_t i = 0; i < l->count; i++) {
        struct client_progress p = load_progress(&l->items[i]);
        sum.total += p.total;
        sum.sent += p.sent;
        sum.running += p.running;
        sum.succeeded += p.succeeded;
        sum.failed += p.failed;
        sum.token_chunks += p.token_chunks;
        sum.tokens += p.tokens;
    }
    return sum;
}

size_t load_list_answered(const struct load_list *l)
{
    size_t n = 0;
    for (size_t i = 0; i < l->count; i++)
        n += l->items[i].succeeded + l->items[i].failed;
    return n;
}

bool load_list_is_connected(const struct load_list *l)
{
    for (size_t i = 0; i < l->count; i++)
        if (!load_is_connected(&l->items[i]))
            return false;
    return true;
}

int64_t load_list_start_ns(const struct load_list *l)
{
    return l->count ? l->items[0].start_ns : ABSENT_I64;
}

int64_t load_list_end_ns(const struct load_list *l)
{
    int64_t end = ABSENT_I64;
    for (size_t i = 0; i < l->count; i++) {
        if (!l->items[i].ended)
            return ABSENT_I64;
        /* No check against its start: after a step of the clock a kernel's stamp may lie before it. */
        end = l->items[i].end_ns > end ? l->items[i].end_ns : end; /* ABSENT_I64 is the lowest */
    }
    return end;
}

bool load_list_is_closed(const struct load_list *l)
{
    for (size_t i = 0; i < l->count; i++)
        if (l->items[i].client && !l->items[i].closed)
            return false;
    return true;
}

static void raise_to(int64_t *most, int64_t value)
{
    *most = value > *most ? value : *most;
}

static void add_condition(struct rec_client *sum, const struct rec_client *c)
{
    raise_to(&sum->submit_window_ns, c->submit_window_ns);
    sum->connect_wall_ns += c->connect_wall_ns;
    sum->wakeups += c->wakeups;
    sum->reads += c->reads;
    sum->events += c->events;
    raise_to(&sum->lag_p50_ns, c->lag_p50_ns);
    raise_to(&sum->lag_p99_ns, c->lag_p99_ns);
    raise_to(&sum->lag_max_ns, c->lag_max_ns);
    raise_to(&sum->handle_p50_ns, c->handle_p50_ns);
    raise_to(&sum->handle_p99_ns, c->handle_p99_ns);
    raise_to(&sum->handle_max_ns, c->handle_max_ns);
    sum->cpu_ns += c->cpu_ns;
    sum->wall_ns += c->wall_ns;
    sum->stamps_kernel += c->stamps_kernel;
    sum->stamps_shared += c->stamps_shared;
    sum->stamps_read += c->stamps_read;
    raise_to(&sum->open_files_limit, c->open_files_limit);
}

struct rec_client load_list_condition(const struct load_list *l)
{
    struct rec_client sum = {0};
    bool first = true;
    for (size_t i = 0; i < l->count; i++) {
        const struct load *load = &l->items[i];
        if (!load->client && load->condition.wall_ns == 0)
            continue;
        struct rec_client c = load->client ? client_read(load->client) : load->condition;
        if (first)
            sum = c; /* as it is, what is absent too */
        else
            add_condition(&sum, &c);
        first = false;
    }
    return sum;
}

void load_list_close(struct load_list *l)
{
    for (size_t i = 0; i < l->count; i++)
        load_close(&l->items[i]);
}
