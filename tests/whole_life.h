/* A whole life of a service as records, made in memory: one or more GPUs whose power is a step function, requests that
 * generate at an even rate, everything recorded that METHOD asks for. Analysed as it is, it is formal and in steady
 * state; a test spoils one thing and looks at what comes out. The engine's count is read each second and 5 ms after the
 * formal end.
 *
 *     0     1        21  22      40 41 42  43       73  74      75                 108 s
 *     baseline idle      startup   warm-up  formal    exit  power recovered   hold end
 *     78.5 W             122 W              500 W            78.5 W */
#ifndef JTOK_TESTS_WHOLE_LIFE_H
#define JTOK_TESTS_WHOLE_LIFE_H

#include <math.h>
#include <string.h>
#include "model/record.h"

#define LIFE_S  INT64_C(1000000000)
#define LIFE_MS INT64_C(1000000)

#ifndef LIFE_REQUESTS
#define LIFE_REQUESTS 400
#endif

enum {
    LIFE_CHUNKS = 20, /* of two tokens each */
    LIFE_END_S = 108,
    LIFE_GPUS_MAX = 4,
};
#define LIFE_OFFSET_NS (INT64_C(1790000000) * LIFE_S)
#define LIFE_IDLE_MW   78500

struct life_step {
    int64_t t_ns;
    int64_t mw;
};

/* Power of each GPU: a step holds until the next one. */
static const struct life_step life_usual[] = {{0, LIFE_IDLE_MW},
                                              {22 * LIFE_S, 122000},
                                              {43 * LIFE_S, 500000},
                                              {73 * LIFE_S, 122000},
                                              {74 * LIFE_S, LIFE_IDLE_MW}};

struct life_power {
    const struct life_step *steps;
    size_t count;
};

static inline int64_t life_mw(const struct life_power *p, int64_t t_ns)
{
    size_t i = p->count - 1;
    while (i && p->steps[i].t_ns > t_ns)
        i--;
    return p->steps[i].mw;
}

/* Energy since 0, mJ: mW times ns over 1e9 would overflow only after 18 000 s at 500 W. */
static inline int64_t life_mj(const struct life_power *p, int64_t t_ns)
{
    int64_t mw_ms = 0;
    for (size_t i = 0; i < p->count; i++) {
        int64_t end_ns = i + 1 < p->count && p->steps[i + 1].t_ns < t_ns ? p->steps[i + 1].t_ns : t_ns;
        if (end_ns > p->steps[i].t_ns)
            mw_ms += p->steps[i].mw * ((end_ns - p->steps[i].t_ns) / LIFE_MS);
    }
    return mw_ms / 1000;
}

static inline void life_gpu(struct rec_gpu *g, int index, const struct life_power *p, struct arena *a)
{
    *g = (struct rec_gpu){.uuid = arena_format(a, "GPU-%08d-0000-0000-0000-000000000000", index),
                          .name = "NVIDIA H200",
                          .pci = "00000000:01:00.0",
                          .index = index,
                          .power_limit_mw = 700000,
                          .power_limit_default_mw = 700000,
                          .power_limit_min_mw = 200000,
                          .power_limit_max_mw = 700000,
                          .memory_total_bytes = INT64_C(150) << 30,
                          .partitioned = 0,
                          .persistence = 1,
                          .architecture = 9,
                          .instant_source = "field 186 scope 0"};
    g->instant_count = g->state_count = LIFE_END_S + 1;
    g->instant = arena_array(a, g->instant_count, sizeof *g->instant);
    g->state = arena_array(a, g->state_count, sizeof *g->state);
    g->process = arena_array(a, g->state_count, sizeof *g->process);
    for (int64_t s = 0; s <= LIFE_END_S; s++) {
        bool engine = s >= 25 && s < 74;
        g->instant[s] = (struct rec_instant){
            .t_ns = s * LIFE_S, .width_ns = 2000, .mw = (int32_t)life_mw(p, s * LIFE_S), .late_ns = 50000};
        g->state[s] = (struct rec_gpu_state){.t_ns = s * LIFE_S,
                                             .memory_used_bytes = engine ? INT64_C(130) << 30 : INT64_C(615) << 20,
                                             .slowdowns = engine ? 0 : 1,
                                             .utilisation = s >= 43 && s < 73 ? 98 : 0,
                                             .sm_mhz = engine ? 1980 : 345,
                                             .temperature_c = 40,
                                             .processes = engine};
        if (engine)
            g->process[g->process_count++] =
                (struct rec_process){.t_ns = s * LIFE_S, .pid = 4242, .memory_bytes = INT64_C(129) << 30, .own = 1};
    }
    g->counter_count = LIFE_END_S * 10;
    g->counter = arena_array(a, g->counter_count, sizeof *g->counter);
    for (size_t i = 0; i < g->counter_count; i++)
        g->counter[i] = (struct rec_counter){.t_ns = (int64_t)i * 100 * LIFE_MS,
                                             .mj = 1000000 + life_mj(p, (int64_t)i * 100 * LIFE_MS),
                                             .width_ns = 4000000};
    g->buffer_count = LIFE_END_S * 50;
    g->buffer = arena_array(a, g->buffer_count, sizeof *g->buffer);
    for (size_t i = 0; i < g->buffer_count; i++)
        g->buffer[i] = (struct rec_buffer){.realtime_us = (LIFE_OFFSET_NS + (int64_t)i * 20 * LIFE_MS) / 1000,
                                           .mw = (int32_t)life_mw(p, (int64_t)i * 20 * LIFE_MS)};
}

static inline void life_marks(struct records *r, struct arena *a)
{
    static const struct rec_boundary marks[] = {
        {1 * LIFE_S, BOUNDARY_BASELINE_START, NULL},       {21 * LIFE_S, BOUNDARY_BASELINE_END, NULL},
        {22 * LIFE_S, BOUNDARY_SERVICE_START, NULL},       {40 * LIFE_S, BOUNDARY_READY, NULL},
        {41 * LIFE_S, BOUNDARY_WARMUP_START, NULL},        {42 * LIFE_S + 450 * LIFE_MS, BOUNDARY_WARMUP_END, NULL},
        {43 * LIFE_S, BOUNDARY_FORMAL_START, NULL},        {73 * LIFE_S, BOUNDARY_FORMAL_END, NULL},
        {73 * LIFE_S + 15 * LIFE_MS, BOUNDARY_STOP, NULL}, {74 * LIFE_S, BOUNDARY_EXIT, NULL},
        {74 * LIFE_S, BOUNDARY_MEMORY_RELEASED, NULL},     {74 * LIFE_S, BOUNDARY_POWER_RECOVERED, NULL},
        {74 * LIFE_S, BOUNDARY_RELEASE_END, NULL},         {106 * LIFE_S, BOUNDARY_HOLD_END, NULL},
    };
    r->boundary_count = sizeof marks / sizeof *marks;
    r->boundaries = arena_array(a, r->boundary_count + 2, sizeof *r->boundaries); /* room for a test's own */
    memcpy(r->boundaries, marks, sizeof marks);
}

/* Request i generates from 43.1 s + 65 ms * i for 3.8 s: about 58 at a time. */
static inline void life_requests(struct records *r, struct arena *a)
{
    r->request_count = LIFE_REQUESTS;
    r->requests = arena_array(a, LIFE_REQUESTS + 1, sizeof *r->requests);
    r->chunks = arena_array(a, (size_t)LIFE_REQUESTS * LIFE_CHUNKS, sizeof *r->chunks);
    for (uint32_t i = 0; i < LIFE_REQUESTS; i++) {
        struct rec_request q = rec_request_absent();
        int64_t first_ns = 43 * LIFE_S + 100 * LIFE_MS + i * 65 * LIFE_MS;
        q.id = i;
        q.stage = REQUEST_FORMAL;
        q.verdict = VERDICT_OK;
        q.status = 200;
        q.connect_ns = 42 * LIFE_S + 500 * LIFE_MS;
        q.connected_ns = q.connect_ns + LIFE_MS;
        q.submit_ns = 43 * LIFE_S + i * 10000;
        q.sent_ns = q.submit_ns + 20000;
        q.head_ns = q.sent_ns + 5 * LIFE_MS;
        q.role_ns = q.first_ns = q.first_visible_ns = first_ns;
        q.last_ns = first_ns + (LIFE_CHUNKS - 1) * 200 * LIFE_MS;
        q.finish_ns = q.usage_ns = q.end_ns = q.last_ns;
        if (i == LIFE_REQUESTS - 1)
            q.end_ns = 73 * LIFE_S; /* formal_end */
        q.closed_ns = q.end_ns + LIFE_MS;
        q.prompt_tokens = 30;
        q.completion_tokens = 2 * LIFE_CHUNKS;
        q.token_chunks = LIFE_CHUNKS;
        q.events = LIFE_CHUNKS;
        q.text_bytes = 8 * LIFE_CHUNKS;
        q.prompt_digest = 1000 + i;
        q.finish_reason = "length";
        r->requests[i] = q;
    }
    /* In order of time, then request: chunk k of request i comes at 65 i + 200 k ms. */
    for (int64_t t_ms = 0; r->chunk_count < (size_t)LIFE_REQUESTS * LIFE_CHUNKS; t_ms += 5)
        for (int64_t k = LIFE_CHUNKS - 1; k >= 0; k--) {
            int64_t i = (t_ms - 200 * k) / 65;
            if (t_ms >= 200 * k && (t_ms - 200 * k) % 65 == 0 && i < LIFE_REQUESTS)
                r->chunks[r->chunk_count++] = (struct rec_chunk){.t_ns = 43 * LIFE_S + (100 + t_ms) * LIFE_MS,
                                                                 .request = (uint32_t)i,
                                                                 .running = (int32_t)(2 * (k + 1)),
                                                                 .bytes = 8,
                                                                 .kind = CHUNK_TEXT,
                                                                 .stamp = STAMP_KERNEL};
        }
}

/* One that proves readiness, then eight together: 8 and 512 tokens. */
static inline void life_warmups(struct records *r, struct arena *a)
{
    r->warmup_count = 9;
    r->warmups = arena_array(a, r->warmup_count, sizeof *r->warmups);
    for (uint32_t i = 0; i < r->warmup_count; i++) {
        struct rec_request q = rec_request_absent();
        q.id = i ? i - 1 : 0;
        q.stage = i ? REQUEST_WARMUP : REQUEST_READY;
        q.verdict = VERDICT_OK;
        q.status = 200;
        q.submit_ns = q.connect_ns = i ? 41 * LIFE_S : 39 * LIFE_S + 900 * LIFE_MS;
        q.sent_ns = q.connected_ns = q.submit_ns + LIFE_MS;
        q.head_ns = q.first_ns = q.first_visible_ns = q.submit_ns + 5 * LIFE_MS;
        q.last_ns = q.finish_ns = q.usage_ns = q.end_ns = i ? 42 * LIFE_S + 450 * LIFE_MS : 40 * LIFE_S;
        q.closed_ns = q.end_ns + LIFE_MS;
        q.prompt_tokens = 10;
        q.completion_tokens = i ? 64 : 8;
        q.token_chunks = q.events = 2;
        q.finish_reason = "length";
        r->warmups[i] = q;
    }
}

static inline void life_side(struct records *r, struct arena *a)
{
    r->clock_count = LIFE_END_S + 1;
    r->clocks = arena_array(a, r->clock_count, sizeof *r->clocks);
    for (int64_t s = 0; s <= LIFE_END_S; s++)
        r->clocks[s] = (struct rec_clock){.t_ns = s * LIFE_S, .offset_ns = LIFE_OFFSET_NS, .width_ns = 60};
    r->metrics = arena_array(a, LIFE_END_S, sizeof *r->metrics);
    for (int64_t s = 40; s < 74; s++) {
        int64_t t_ns = s * LIFE_S + (s < 73 ? 500 : 5) * LIFE_MS;
        double tokens = s < 42 ? 100 : 612, ended = s < 42 ? 1 : 9;
        for (size_t c = 0; c < r->chunk_count; c++)
            tokens += r->chunks[c].t_ns <= t_ns ? 2 : 0;
        for (size_t q = 0; q < r->request_count; q++)
            ended += r->requests[q].end_ns <= t_ns;
        struct rec_metrics *m = &r->metrics[r->metrics_count++];
        *m = rec_metrics_absent();
        m->t_ns = t_ns;
        m->took_ns = 3 * LIFE_MS;
        m->running = 58;
        m->waiting = 0;
        m->kv_cache_used = 0.2;
        m->preemptions = 0;
        m->prompt_tokens = 12000;
        m->generation_tokens = tokens;
        m->requests_ended = ended;
    }
    static const struct rec_fact facts[] = {
        {0, "plan.requests_sha256", CHECK_PASSED, "aa", "aa", NULL},
        {0, "preflight.disk", CHECK_PASSED, NULL, "812 GB free", NULL},
        {40 * LIFE_S, "identity.model", CHECK_PASSED, "m", "m", NULL},
        {40 * LIFE_S, "gpu.no_other", CHECK_PASSED, NULL, "none", NULL},
    };
    r->fact_count = sizeof facts / sizeof *facts;
    r->facts = arena_array(a, r->fact_count + 6, sizeof *r->facts);
    memcpy(r->facts, facts, sizeof facts);
    r->client = (struct rec_client){.submit_window_ns = 4 * LIFE_MS,
                                    .connect_wall_ns = 40 * LIFE_MS,
                                    .lag_p99_ns = 300000,
                                    .handle_p50_ns = 60000,
                                    .handle_p99_ns = 900000,
                                    .handle_max_ns = 2 * LIFE_MS,
                                    .cpu_ns = 2 * LIFE_S,
                                    .wall_ns = 30 * LIFE_S,
                                    .stamps_kernel = LIFE_REQUESTS * LIFE_CHUNKS};
}

/* Everything, in `a`. */
static inline struct records life_with_power(struct arena *a, size_t gpus, struct life_power power)
{
    struct records r = {.sealed = true};
    plan_defaults(&r.plan);
    r.plan.name = "a test life";
    r.plan.scenario = "chat";
    r.plan.engine.kind = ENGINE_VLLM;
    r.plan.model.id = "example/Model-8B";
    r.plan.model.revision = "0123456789abcdef0123456789abcdef01234567";
    r.plan.model.precision = "bf16";
    r.plan.model.total_parameters = 8.03e9;
    r.plan.requests.count = LIFE_REQUESTS;
    r.plan.requests.sha256 = "aa";
    r.plan.requests.continuous_usage = true;
    r.plan.gpu_count = r.gpu_count = gpus;
    r.plan.gpus = arena_array(a, gpus, sizeof *r.plan.gpus);
    r.gpus = arena_array(a, gpus, sizeof *r.gpus);
    for (size_t g = 0; g < gpus; g++) {
        life_gpu(&r.gpus[g], (int)g, &power, a);
        r.plan.gpus[g] = r.gpus[g].uuid;
    }
    r.run = (struct rec_run){.id = "20261130T010000Z-a-test-life",
                             .jtok_version = "0.1.0",
                             .method_id = "jtok-1",
                             .began_realtime_ns = LIFE_OFFSET_NS,
                             .host = "host",
                             .engine_version = "0.24.0",
                             .stamp_source = "kernel",
                             .engine_exit_status = 0,
                             .prefix_cache = 0,
                             .snapshot_bytes = ABSENT_I64,
                             .snapshot_resident_bytes = ABSENT_I64,
                             .own_request_tokens = ABSENT_I64,
                             .own_requests_max = ABSENT_I64,
                             .secrets_replaced = 0,
                             .plan_sha256 = "bb"};
    life_marks(&r, a);
    life_requests(&r, a);
    life_side(&r, a);
    return r;
}

static inline struct records life_records(struct arena *a, size_t gpus)
{
    return life_with_power(a, gpus, (struct life_power){life_usual, sizeof life_usual / sizeof *life_usual});
}

#endif
