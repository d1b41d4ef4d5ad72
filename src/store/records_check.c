/* Tables that are right each by itself and contradict each other. Pure. */
#include "store/records_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "base/must.h"
#include "base/time.h"
#include "model/limits.h"
#include "store/csv_records.h"

enum { REQUESTS_MAX = 4000000 }; /* as a plan may ask for */

void damage_add(struct damage *d, const char *format, ...)
{
    char text[600];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    buf_str(&d->lines, text);
    buf_byte(&d->lines, '\n');
}

/* ---- GPUs ---- */

static size_t place_in_plan(const struct plan *p, const char *uuid)
{
    size_t i = 0;
    while (i < p->gpu_count && !(p->gpus[i] && strcmp(p->gpus[i], uuid) == 0))
        i++;
    return i;
}

void check_gpus(struct records *r, struct damage *d)
{
    must(r->gpus || r->gpu_count == 0);
    if (r->gpu_count > RECORD_GPUS_MAX) {
        damage_add(d, "gpus.csv names %zu GPUs, but a run may have %d at most; no series is used", r->gpu_count,
                   RECORD_GPUS_MAX);
        r->gpu_count = 0;
    }
    for (size_t i = 0; i < r->gpu_count; i++) {
        const struct rec_gpu *g = &r->gpus[i];
        size_t place = place_in_plan(&r->plan, g->uuid);
        if (place < r->plan.gpu_count && place != i)
            damage_add(d, "gpus.csv: line %zu is %s, which is GPU number %zu of the plan", i + 2, g->uuid, place + 1);
        for (size_t k = 0; k < i; k++) {
            if (strcmp(g->uuid, r->gpus[k].uuid) == 0) {
                damage_add(d, "gpus.csv: lines %zu and %zu are both %s; no series is used", k + 2, i + 2, g->uuid);
                r->gpu_count = 0;
                return;
            }
            if (g->index == r->gpus[k].index)
                damage_add(d, "gpus.csv: lines %zu and %zu have the same index %lld", k + 2, i + 2,
                           (long long)g->index);
        }
    }
}

/* ---- one request ---- */

/* What the chunks of one request add up to. */
struct chunk_sums {
    int64_t first_token_ns, last_token_ns; /* in the order of the file; ABSENT_I64: none */
    int64_t first_ns, last_ns;             /* of all its chunks */
    int64_t bytes;
    uint32_t events, tokens, shared; /* chunks, token chunks, those of them that share a stamp */
    int32_t running;                 /* the highest count that a chunk names; -1: none */
};

enum request_time {
    CONNECT,
    CONNECTED,
    SUBMIT,
    SENT,
    HEAD,
    ROLE,
    FIRST,
    FIRST_VISIBLE,
    LAST,
    FINISH,
    USAGE,
    END,
    TIMES
};
static const char *const time_names[TIMES] = {"connect", "connected",     "submit", "sent",   "head",  "role",
                                              "first",   "first_visible", "last",   "finish", "usage", "end"};

/* Times that follow one another, where both are there. A server may answer before it has read the whole request. */
static const struct {
    enum request_time earlier, later;
} orders[] = {
    {CONNECT, CONNECTED},  {CONNECTED, SENT}, {SUBMIT, SENT}, {SUBMIT, HEAD},
    {SUBMIT, END},         {HEAD, ROLE},      {HEAD, FIRST},  {FIRST, FIRST_VISIBLE},
    {FIRST_VISIBLE, LAST}, {FIRST, LAST},     {HEAD, FINISH}, {HEAD, USAGE},
    {ROLE, END},           {LAST, END},       {FINISH, END},  {USAGE, END},
};

static bool order_fault(const struct rec_request *q, struct buf *fault)
{
    if (q->notes & NOTE_STAMP_MISSING) /* times of two kinds stand side by side */
        return false;
    const int64_t t_ns[TIMES] = {q->connect_ns, q->connected_ns, q->submit_ns, q->sent_ns,
                                 q->head_ns,    q->role_ns,      q->first_ns,  q->first_visible_ns,
                                 q->last_ns,    q->finish_ns,    q->usage_ns,  q->end_ns};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        int64_t a = t_ns[orders[i].earlier], b = t_ns[orders[i].later];
        if (a == ABSENT_I64 || b == ABSENT_I64 || a <= b + METHOD_CLOCK_STEP_NS)
            continue;
        buf_fmt(fault, "%s_ns is %.6f s later than %s_ns", time_names[orders[i].earlier], time_s(a - b),
                time_names[orders[i].later]);
        return true;
    }
    return false;
}

static void put_number_or_none(struct buf *b, int64_t value)
{
    if (value == ABSENT_I64)
        buf_str(b, "empty");
    else
        buf_i64(b, value);
}

/* What the engine said last is the highest count that a chunk of it names. */
static bool chunks_fault(const struct rec_request *q, const struct chunk_sums *s, bool stepped, struct buf *fault)
{
    bool counted = q->verdict == VERDICT_OK && s->running >= 0;
    const struct {
        const char *name;
        int64_t own, chunks;
        bool time; /* an empty one says that there was none */
    } sums[] = {
        {"events", q->events, s->events, false},
        {"token_chunks", q->token_chunks, s->tokens, false},
        {"shared_stamps", q->shared_stamps, s->shared, false},
        {"text_bytes", q->text_bytes, s->bytes, false},
        {"completion_tokens", q->completion_tokens, counted ? s->running : q->completion_tokens, false},
        {"first_ns", q->first_ns, s->first_token_ns, true},
        {"last_ns", q->last_ns, s->last_token_ns, true},
    };

    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
        if (sums[i].own == sums[i].chunks || (sums[i].own == ABSENT_I64 && !sums[i].time))
            continue;
        buf_fmt(fault, "%s is ", sums[i].name);
        put_number_or_none(fault, sums[i].own);
        buf_str(fault, ", by chunks.csv ");
        put_number_or_none(fault, sums[i].chunks);
        return true;
    }
    if (!stepped && s->events && q->submit_ns != ABSENT_I64 && s->first_ns < q->submit_ns - METHOD_CLOCK_STEP_NS)
        buf_str(fault, "a chunk in chunks.csv came before it was submitted");
    else if (!stepped && s->events && q->end_ns != ABSENT_I64 && s->last_ns > q->end_ns + METHOD_CLOCK_STEP_NS)
        buf_str(fault, "a chunk in chunks.csv came after it had ended");
    return fault->n > 0;
}

/* ---- all of them ---- */

/* Rows by id, sums by row. */
struct ledger {
    uint32_t *row_of; /* UINT32_MAX: none */
    uint32_t ids;
    struct chunk_sums *sums;
    size_t strays, stray_line;
};

static struct ledger make_ledger(const struct rec_request *requests, size_t count, int64_t limit, struct arena *a)
{
    struct ledger l = {.sums = arena_array(a, count, sizeof *l.sums)};
    for (size_t i = 0; i < count; i++)
        if (requests[i].id < limit && requests[i].id >= l.ids)
            l.ids = requests[i].id + 1;
    l.row_of = arena_array(a, l.ids, sizeof *l.row_of);
    memset(l.row_of, 0xff, l.ids * sizeof *l.row_of);
    for (size_t i = count; i-- > 0;) {
        l.sums[i] = (struct chunk_sums){.first_token_ns = ABSENT_I64,
                                        .last_token_ns = ABSENT_I64,
                                        .first_ns = INT64_MAX,
                                        .last_ns = INT64_MIN,
                                        .running = -1};
        if (requests[i].id < limit)
            l.row_of[requests[i].id] = (uint32_t)i;
    }
    return l;
}

/* The one pass over all chunks. */
static void add_chunks(struct ledger *l, const struct rec_chunk *chunks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct rec_chunk *c = &chunks[i];
        uint32_t row = c->request < l->ids ? l->row_of[c->request] : UINT32_MAX;
        if (row == UINT32_MAX) {
            l->stray_line = l->strays++ ? l->stray_line : i + 2;
            continue;
        }
        struct chunk_sums *s = &l->sums[row];
        int64_t t_ns = c->t_ns;

        s->events++;
        s->bytes += c->bytes;
        s->running = c->running > s->running ? c->running : s->running;
        s->first_ns = t_ns < s->first_ns ? t_ns : s->first_ns;
        s->last_ns = t_ns > s->last_ns ? t_ns : s->last_ns;
        if (!chunk_has_tokens(c))
            continue;
        if (s->tokens++ == 0)
            s->first_token_ns = t_ns;
        s->last_token_ns = t_ns;
        s->shared += c->stamp == STAMP_SHARED;
    }
}

static bool clock_was_set(const struct records *r)
{
    for (size_t i = 1; i < r->clock_count; i++)
        if (time_apart(r->clocks[i].offset_ns, r->clocks[i - 1].offset_ns) > METHOD_CLOCK_STEP_NS)
            return true;
    return false;
}

/* Ids are below this; ABSENT_I64: not known, as loads go through the set again and again, or through a part of it. */
static int64_t requests_of_plan(const struct plan *p)
{
    return p->load_count > 0 ? ABSENT_I64 : p->requests.count;
}

/* Requests left out, and the first of them in words. */
struct left_out {
    size_t count;
    char first[300];
};

static void leave_out_request(struct left_out *l, const struct rec_request *q, const char *why)
{
    if (l->count++ == 0)
        snprintf(l->first, sizeof l->first, "%s request %u: %s", request_stage_names[q->stage], (unsigned)q->id, why);
}

static void tell_left_out(const struct left_out *l, struct damage *d)
{
    if (l->count)
        damage_add(d, "requests.csv: %s; left out%s", l->first, l->count > 1 ? ", with others" : "");
}

/* Readiness and warm-up: only their times. */
static void check_warmups(struct records *r, bool stepped, struct left_out *out)
{
    struct buf fault = {0};
    size_t kept = 0;
    for (size_t i = 0; i < r->warmup_count; i++) {
        buf_clear(&fault);
        if (!stepped && order_fault(&r->warmups[i], &fault))
            leave_out_request(out, &r->warmups[i], buf_text(&fault));
        else
            r->warmups[kept++] = r->warmups[i];
    }
    r->warmup_count = kept;
    buf_done(&fault);
}

void check_requests(struct records *r, const struct rec_chunk *chunks, size_t count, bool all, struct damage *d)
{
    must(chunks || count == 0);
    struct arena scratch = {0};
    struct buf fault = {0};
    struct left_out out = {0};
    int64_t planned = requests_of_plan(&r->plan), limit = planned == ABSENT_I64 ? REQUESTS_MAX : planned;
    struct ledger l = make_ledger(r->requests, r->request_count, limit, &scratch);
    bool stepped = clock_was_set(r);
    size_t kept = 0;
    add_chunks(&l, chunks, count);
    check_warmups(r, stepped, &out);
    for (size_t i = 0; i < r->request_count; i++) {
        const struct rec_request *q = &r->requests[i];
        buf_clear(&fault);
        if (q->id >= limit)
            leave_out_request(&out, q, "the plan has no such request");
        else if (l.row_of[q->id] != i)
            leave_out_request(&out, q, "it is there twice");
        else if (chunks_fault(q, &l.sums[i], stepped, &fault) || (!stepped && order_fault(q, &fault)))
            leave_out_request(&out, q, buf_text(&fault));
        else
            r->requests[kept++] = *q;
    }
    r->request_count = kept;
    tell_left_out(&out, d);
    if (all && l.strays)
        damage_add(
            d, "chunks.csv: line %zu belongs to a request that requests.csv does not have; there are %zu such lines",
            l.stray_line, l.strays);
    buf_done(&fault);
    arena_done(&scratch);
}

/* ---- boundaries ---- */

static void check_boundary(const struct records *r, enum boundary id, int64_t event_ns, const char *event,
                           struct damage *d)
{
    int64_t t_ns = records_boundary(r, id);
    if (t_ns != ABSENT_I64 && event_ns != ABSENT_I64 && time_apart(t_ns, event_ns) > METHOD_BOUNDARY_NS)
        damage_add(d, "marks.csv: %s is at %.6f s, but %s at %.6f s", boundary_names[id], time_s(t_ns), event,
                   time_s(event_ns));
}

/* First submission and last end of the requests of a stage; ABSENT_I64 of none. */
static void span_requests(const struct rec_request *q, size_t n, int stage, int64_t *ret_first, int64_t *ret_last,
                          size_t *ret_count)
{
    *ret_first = *ret_last = ABSENT_I64;
    *ret_count = 0;
    for (size_t i = 0; i < n; i++) {
        if (q[i].stage != stage)
            continue;
        ++*ret_count;
        if (q[i].submit_ns != ABSENT_I64 && (*ret_first == ABSENT_I64 || q[i].submit_ns < *ret_first))
            *ret_first = q[i].submit_ns;
        if (q[i].end_ns > *ret_last)
            *ret_last = q[i].end_ns;
    }
}

static void check_boundaries(const struct records *r, bool whole, struct damage *d)
{
    int64_t first, last, gone = records_boundary(r, BOUNDARY_EXIT),
                         memory = records_boundary(r, BOUNDARY_MEMORY_RELEASED),
                         power = records_boundary(r, BOUNDARY_POWER_RECOVERED);
    size_t count;
    span_requests(r->requests, r->request_count, REQUEST_FORMAL, &first, &last, &count);
    int64_t planned = requests_of_plan(&r->plan);
    if (whole && count && (planned == ABSENT_I64 || (int64_t)count == planned)) {
        if (r->plan.load_count == 0) /* a load starts with a time, to which its first request may be late */
            check_boundary(r, BOUNDARY_FORMAL_START, first, "by requests.csv the first formal request was submitted",
                           d);
        check_boundary(r, BOUNDARY_FORMAL_END, last, "by requests.csv the last formal request ended", d);
    }
    span_requests(r->warmups, r->warmup_count, REQUEST_WARMUP, &first, &last, &count);
    if (whole && count && (int64_t)count == r->plan.method.warmup_requests) {
        check_boundary(r, BOUNDARY_WARMUP_START, first, "by requests.csv the first warm-up request was submitted", d);
        check_boundary(r, BOUNDARY_WARMUP_END, last, "by requests.csv the last warm-up request ended", d);
    }
    span_requests(r->warmups, r->warmup_count, REQUEST_READY, &first, &last, &count);
    int64_t ready = records_boundary(r, BOUNDARY_READY);
    if (ready != ABSENT_I64 && last != ABSENT_I64 && ready < last - METHOD_BOUNDARY_NS)
        damage_add(d, "marks.csv: ready is at %.6f s, but by requests.csv the request that proved it ended at %.6f s",
                   time_s(ready), time_s(last));
    if (gone != ABSENT_I64 && memory != ABSENT_I64 && power != ABSENT_I64) {
        int64_t latest = gone > memory ? gone : memory;
        check_boundary(r, BOUNDARY_RELEASE_END, latest > power ? latest : power,
                       "the latest of exit, memory_released and power_recovered is", d);
    }
}

/* ---- clocks ---- */

/* From the first boundary to the last; with under two pairs the clocks are not judged at all (clock_step). */
static void check_pairs(const struct records *r, struct damage *d)
{
    if (r->clock_count < 2 || !r->boundary_count)
        return;
    int64_t before = r->boundaries[0].t_ns, end = r->boundaries[r->boundary_count - 1].t_ns;
    for (size_t i = 0; before < end; i++) {
        int64_t next = i < r->clock_count && r->clocks[i].t_ns < end ? r->clocks[i].t_ns : end;
        if (next - before > METHOD_PAIR_NS) {
            damage_add(d, "clock.csv: no pair from %.3f to %.3f s", time_s(before), time_s(next));
            return;
        }
        before = next > before ? next : before;
    }
}

/* ---- what is beyond the run and the board ---- */

struct span_ns {
    int64_t from, to;
};

/* Cuts a series in order of time to a span; every series begins with its time. */
static void cut_series(void *items, size_t *count, size_t size, struct span_ns span, const char *file, struct damage *d)
{
    char *p = items;
    size_t from = 0, to = *count;
    int64_t t;
    while (from < to && (memcpy(&t, p + from * size, sizeof t), t < span.from))
        from++;
    while (to > from && (memcpy(&t, p + (to - 1) * size, sizeof t), t > span.to))
        to--;
    if (to - from == *count)
        return;
    damage_add(d, "%s: %zu %s more than an hour before or after the run; left out", file, *count - (to - from),
               *count - (to - from) == 1 ? "row is" : "rows are");
    memmove(p, p + from * size, (to - from) * size);
    *count = to - from;
}

/* The most that the board may draw, as far as it says; 0: it doesn't. */
static int64_t limit_mw(const struct rec_gpu *g)
{
    const int64_t limits[] = {g->power_limit_mw, g->power_limit_default_mw, g->power_limit_max_mw};
    int64_t most = 0;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        most = limits[i] > most ? limits[i] : most;
    return most;
}

static void tell_burst(const char *file, size_t lost, size_t gpu, int64_t most_mw, struct damage *d)
{
    if (lost)
        damage_add(d, "%s: %zu row%s of GPU %zu %s over %.0f W, four times its limit; left out", file, lost,
                   lost == 1 ? "" : "s", gpu, lost == 1 ? "is" : "are", (double)most_mw / 1000);
}

static void cut_power(struct rec_gpu *g, size_t gpu, struct damage *d)
{
    int64_t most = METHOD_BURST_FACTOR * limit_mw(g);
    size_t kept = 0;
    if (!most)
        return;
    for (size_t i = 0; i < g->instant_count; i++)
        if (g->instant[i].mw <= most)
            g->instant[kept++] = g->instant[i];
    size_t lost = g->instant_count - kept;
    g->instant_count = kept;
    tell_burst("instant.csv", lost, gpu, most, d);
    kept = 0;
    for (size_t i = 0; i < g->buffer_count; i++)
        if (g->buffer[i].mw <= most)
            g->buffer[kept++] = g->buffer[i];
    lost = g->buffer_count - kept;
    g->buffer_count = kept;
    tell_burst("buffer.csv", lost, gpu, most, d);
    /* A counter's step comes up to a second late: it stands for that much longer. */
    const struct rec_counter *before = NULL;
    kept = 0;
    for (size_t i = 0; i < g->counter_count; i++) {
        struct rec_counter x = g->counter[i];
        if (before && x.mj >= 0 &&
            (double)(x.mj - before->mj) > (double)most * (time_s(x.t_ns - before->t_ns) + METHOD_COUNTER_LATE_S))
            continue;
        g->counter[kept] = x;
        before = x.mj >= 0 ? &g->counter[kept] : before;
        kept++;
    }
    lost = g->counter_count - kept;
    g->counter_count = kept;
    tell_burst("counter.csv", lost, gpu, most, d);
}

/* Memory that the board doesn't have. */
static void cut_memory(struct rec_gpu *g, size_t gpu, struct damage *d)
{
    size_t kept = 0;
    if (g->memory_total_bytes <= 0)
        return;
    for (size_t i = 0; i < g->state_count; i++)
        if (g->state[i].memory_used_bytes <= g->memory_total_bytes)
            g->state[kept++] = g->state[i];
    if (kept < g->state_count)
        damage_add(d, "gpu_state.csv: %zu row%s of GPU %zu with more memory in use than its %lld bytes; left out",
                   g->state_count - kept, g->state_count - kept == 1 ? "" : "s", gpu, (long long)g->memory_total_bytes);
    g->state_count = kept;
}

static void cut_beyond(struct records *r, struct damage *d)
{
    if (!r->boundary_count)
        return;
    struct span_ns run = {r->boundaries[0].t_ns - METHOD_BEYOND_NS,
                          r->boundaries[r->boundary_count - 1].t_ns + METHOD_BEYOND_NS},
                   real = {INT64_MAX, INT64_MIN};

    cut_series(r->clocks, &r->clock_count, sizeof *r->clocks, run, "clock.csv", d);
    cut_series(r->metrics, &r->metrics_count, sizeof *r->metrics, run, "metrics.csv", d);
    for (size_t i = 0; i < r->clock_count; i++) {
        int64_t offset = r->clocks[i].offset_ns;
        real.from = offset < real.from ? offset : real.from;
        real.to = offset > real.to ? offset : real.to;
    }
    for (size_t g = 0; g < r->gpu_count; g++) {
        struct rec_gpu *x = &r->gpus[g];
        cut_series(x->instant, &x->instant_count, sizeof *x->instant, run, "instant.csv", d);
        cut_series(x->counter, &x->counter_count, sizeof *x->counter, run, "counter.csv", d);
        cut_series(x->state, &x->state_count, sizeof *x->state, run, "gpu_state.csv", d);
        cut_series(x->process, &x->process_count, sizeof *x->process, run, "processes.csv", d);
        if (r->clock_count)
            cut_series(x->buffer, &x->buffer_count, sizeof *x->buffer,
                       (struct span_ns){(real.from + run.from) / 1000, (real.to + run.to) / 1000}, "buffer.csv", d);
        cut_power(x, g, d);
        cut_memory(x, g, d);
    }
}

void check_sequence(struct records *r, bool whole, struct damage *d)
{
    check_boundaries(r, whole, d);
    cut_beyond(r, d);
    check_pairs(r, d);
}
