/* Every reason code and every mark, each from the records of one life with one thing spoilt, and no code beside it. */
#include "check.h"
#include "whole_life.h"
#include "analysis/analyze.h"
#include "model/record_order.h"

struct spoilt {
    const char *name;
    void (*spoil)(struct records *r, struct arena *a);
    const char *codes; /* that fail, in the order of enum check_code, a space behind each */
    const char *marks; /* that the run carries, likewise */
};

static void failed_names(const struct result *r, char *ret_codes, char *ret_marks)
{
    *ret_codes = *ret_marks = 0;
    for (size_t i = 0; i < r->check_count; i++)
        if (r->checks[i].outcome == CHECK_FAILED)
            sprintf(ret_codes + strlen(ret_codes), "%s ", check_code_names[r->checks[i].code]);
    for (size_t i = 0; i < r->flag_count; i++)
        if (r->flags[i].outcome == CHECK_FAILED)
            sprintf(ret_marks + strlen(ret_marks), "%s ", flag_code_names[r->flags[i].code]);
}

static struct result judge(const struct records *r, struct arena *a)
{
    struct method m = method_default();
    struct result result;
    struct err e = {0};
    struct records in_order = *r;
    records_order(&in_order);
    assert_ok(analyze(&in_order, &m, a, &result, &e), e);
    assert_int_equal(result.check_count, CODE_COUNT);
    assert_int_equal(result.flag_count, FLAG_COUNT);
    for (size_t i = 0; i < CODE_COUNT; i++) {
        assert_int_equal(result.checks[i].code, i);
        assert_non_null(result.checks[i].why);
    }
    for (size_t i = 0; i < FLAG_COUNT; i++) {
        assert_int_equal(result.flags[i].code, i);
        assert_non_null(result.flags[i].why);
    }
    return result;
}

static void add_mark(struct records *r, int64_t t_ns, enum boundary id, const char *note)
{
    r->boundaries[r->boundary_count++] = (struct rec_boundary){t_ns, id, note};
}

static void drop_mark(struct records *r, enum boundary id)
{
    size_t n = 0;
    for (size_t i = 0; i < r->boundary_count; i++)
        if (r->boundaries[i].id != id)
            r->boundaries[n++] = r->boundaries[i];
    r->boundary_count = n;
}

/* Only the requests below n were sent. */
static void keep_requests(struct records *r, uint32_t n)
{
    size_t kept = 0, before = r->chunk_count;
    for (size_t i = 0; i < r->chunk_count; i++)
        if (r->chunks[i].request < n)
            r->chunks[kept++] = r->chunks[i];
    r->chunk_count = kept;
    r->request_count = n;
    r->plan.requests.count = n;
    double lost = 2 * (double)(before - kept);
    for (size_t i = 0; i < r->metrics_count; i++)
        r->metrics[i].generation_tokens -= r->metrics[i].t_ns >= 73 * LIFE_S ? lost : 0;
}

/* ---- what is spoilt ---- */

static void nothing(struct records *r, struct arena *a)
{
    (void)r;
    (void)a;
}
static void plan_fact(struct records *r, struct arena *a)
{
    (void)a;
    r->facts[0].outcome = CHECK_FAILED;
}
static void other_prompt(struct records *r, struct arena *a)
{
    (void)a;
    r->plan.requests.random.input.kind = INPUT_FIXED;
    for (size_t i = 0; i < r->request_count; i++)
        r->requests[i].prompt_tokens = r->requests[i].prompt_tokens_sent = 1024;
    r->requests[3].prompt_tokens = 1025; /* as an engine that puts its own first token in front */
}

static void other_version(struct records *r, struct arena *a)
{
    (void)a;
    r->plan.engine.version = "0.23.0";
}
static void identity_fact(struct records *r, struct arena *a)
{
    (void)a;
    r->facts[2].outcome = CHECK_FAILED;
}
static void preflight_fact(struct records *r, struct arena *a)
{
    (void)a;
    r->facts[1].outcome = CHECK_FAILED;
}
static void other_gpu(struct records *r, struct arena *a)
{
    (void)a;
    r->plan.gpus[0] = "GPU-other";
}
static void one_gpu_more(struct records *r, struct arena *a)
{
    (void)a;
    r->plan.gpu_count = 2;
    static const char *two[] = {"GPU-00000000-0000-0000-0000-000000000000", "GPU-2"};
    r->plan.gpus = two;
}
static void mig(struct records *r, struct arena *a)
{
    (void)a;
    r->gpus[0].partitioned = 1;
}
static void no_new_memory(struct records *r, struct arena *a)
{
    (void)a;
    r->gpus[0].process_count = 0;
    for (size_t i = 0; i < r->gpus[0].state_count; i++)
        r->gpus[0].state[i].memory_used_bytes = (INT64_C(615) << 20) + (i == 50 ? (INT64_C(64) << 20) : 0);
}
/* Its processes are listed, and hold nothing. */
static void own_hold_nothing(struct records *r, struct arena *a)
{
    (void)a;
    for (size_t i = 0; i < r->gpus[0].process_count; i++)
        r->gpus[0].process[i].memory_bytes = 0;
}
static void unknown_precision(struct records *r, struct arena *a)
{
    (void)a;
    r->plan.model.precision = NULL;
}
static void warmed(struct records *r, struct arena *a)
{
    struct rec_fact *facts = arena_array(a, r->fact_count + 1, sizeof *facts);
    memcpy(facts, r->facts, r->fact_count * sizeof *facts);
    facts[r->fact_count] = (struct rec_fact){
        .name = "snapshot.page_cache", .outcome = CHECK_FAILED, .expected = "0 of 16 GB", .seen = "9 of 16 GB"};
    r->facts = facts;
    r->fact_count++;
    r->plan.model.snapshot = "/srv/model";
}
static void gpu_fact(struct records *r, struct arena *a)
{
    (void)a;
    r->facts[3].outcome = CHECK_FAILED;
}
static void foreign(struct records *r, struct arena *a)
{
    (void)a;
    r->gpus[0].process[20].own = 0;
}
static void restless(struct records *r, struct arena *a)
{
    (void)a;
    r->gpus[0].instant[10].mw = 95000;
}
static void counter_begins_late(struct records *r, struct arena *a)
{
    (void)a;
    r->gpus[0].counter += 435;
    r->gpus[0].counter_count -= 435;
}
static void grid_gap(struct records *r, struct arena *a)
{
    (void)a;
    struct rec_gpu *g = &r->gpus[0];
    memmove(g->instant + 30, g->instant + 34, (g->instant_count - 34) * sizeof *g->instant);
    g->instant_count -= 4;
}
static void counter_backward(struct records *r, struct arena *a)
{
    (void)a;
    r->gpus[0].counter[300].mj = 1;
}
static void buffer_off(struct records *r, struct arena *a)
{
    (void)a;
    for (size_t i = 22 * 50; i < 43 * 50; i++)
        r->gpus[0].buffer[i].mw = r->gpus[0].buffer[i].mw / 100 * 102;
}
static void grid_off(struct records *r, struct arena *a)
{
    (void)a;
    for (size_t i = 0; i < r->gpus[0].instant_count; i++)
        if (r->gpus[0].instant[i].t_ns >= 43 * LIFE_S && r->gpus[0].instant[i].t_ns < 73 * LIFE_S)
            r->gpus[0].instant[i].mw = 575000;
}
static void power_usage(struct records *r, struct arena *a)
{
    (void)a;
    r->gpus[0].instant_source = "power_usage";
}
static void without_buffer(struct records *r, struct arena *a)
{
    (void)a;
    r->gpus[0].buffer_count = 0;
}
static void low_limit(struct records *r, struct arena *a)
{
    (void)a;
    r->gpus[0].power_limit_mw = 450000;
}
static void request_missing(struct records *r, struct arena *a)
{
    (void)a;
    r->plan.requests.count = LIFE_REQUESTS + 1;
}
static void request_outside(struct records *r, struct arena *a)
{
    (void)a;
    r->requests[7].submit_ns -= 2 * LIFE_MS;
}
static void server_counts_more(struct records *r, struct arena *a)
{
    (void)a;
    for (size_t i = 0; i < r->metrics_count; i++)
        r->metrics[i].generation_tokens += r->metrics[i].t_ns > 60 * LIFE_S;
}
static void five_fail(struct records *r, struct arena *a)
{
    (void)a;
    for (size_t i = 0; i < 5; i++)
        r->requests[80 * i].verdict = VERDICT_TRUNCATED;
}
static void never_cools(struct records *r, struct arena *a)
{
    (void)a;
    for (size_t i = 74; i < r->gpus[0].instant_count; i++)
        r->gpus[0].instant[i].mw = 122000;
    drop_mark(r, BOUNDARY_POWER_RECOVERED);
    drop_mark(r, BOUNDARY_RELEASE_END);
    drop_mark(r, BOUNDARY_HOLD_END);
}
static void times_out(struct records *r, struct arena *a)
{
    never_cools(r, a);
    add_mark(r, 107 * LIFE_S, BOUNDARY_RELEASE_TIMEOUT, NULL);
}
static void gives_up(struct records *r, struct arena *a)
{
    (void)a;
    add_mark(r, 60 * LIFE_S, BOUNDARY_FAILED, "the engine closed every connection.");
}
static void dies_early(struct records *r, struct arena *a)
{
    (void)a;
    drop_mark(r, BOUNDARY_EXIT);
    add_mark(r, 73 * LIFE_S + 10 * LIFE_MS, BOUNDARY_EXIT, NULL);
}
static void interrupted(struct records *r, struct arena *a)
{
    (void)a;
    add_mark(r, 60 * LIFE_S, BOUNDARY_INTERRUPTED, "SIGINT in the formal stage.");
}
static void clock_set(struct records *r, struct arena *a)
{
    (void)a;
    for (size_t i = 50; i < r->clock_count; i++)
        r->clocks[i].offset_ns += 5 * LIFE_MS;
}
static void not_sealed(struct records *r, struct arena *a)
{
    (void)a;
    r->sealed = false;
}
static void damaged(struct records *r, struct arena *a)
{
    (void)a;
    r->damage = "chunks.csv.zst: the hash differs";
}
static void mark_missing(struct records *r, struct arena *a)
{
    (void)a;
    drop_mark(r, BOUNDARY_WARMUP_END);
}
static void short_hold(struct records *r, struct arena *a)
{
    (void)a;
    r->plan.method.hold_s = 10;
}

/* All but the first chunk of each request come with its last one, as out of a proxy. */
static void in_two_pieces(struct records *r, struct arena *a)
{
    (void)a;
    for (size_t i = 0; i < r->chunk_count; i++)
        if (r->chunks[i].t_ns != r->requests[r->chunks[i].request].first_ns)
            r->chunks[i].t_ns = r->requests[r->chunks[i].request].last_ns;
}
static void rises_again(struct records *r, struct arena *a)
{
    (void)a;
    r->gpus[0].instant[76].mw = 100000;
}
static void simulated_gpu(struct records *r, struct arena *a)
{
    (void)a;
    r->run.gpu_simulated = true;
}
static void few_requests(struct records *r, struct arena *a)
{
    (void)a;
    keep_requests(r, 150);
}
static void busy_client(struct records *r, struct arena *a)
{
    (void)a;
    r->client.cpu_ns = 28 * LIFE_S;
}
static void late_client(struct records *r, struct arena *a)
{
    (void)a;
    r->client.handle_p99_ns = 21 * LIFE_MS;
}
static void slow_sweep(struct records *r, struct arena *a)
{
    (void)a;
    r->client.submit_window_ns = 1100 * LIFE_MS;
}
static void repeats(struct records *r, struct arena *a)
{
    (void)a;
    r->requests[9].prompt_digest = r->requests[8].prompt_digest;
    r->run.prefix_cache = 1;
}
static void slowdown(struct records *r, struct arena *a)
{
    (void)a;
    r->gpus[0].state[50].slowdowns = 0x40;
}
static void silent_identity(struct records *r, struct arena *a)
{
    (void)a;
    r->facts[r->fact_count++] =
        (struct rec_fact){40 * LIFE_S, "identity.revision", CHECK_NOT_RECORDED, "x", NULL, NULL};
}
static void no_metrics(struct records *r, struct arena *a)
{
    (void)a;
    r->plan.engine.metrics_path = "";
    r->metrics_count = 0;
}
static void no_server_count(struct records *r, struct arena *a)
{
    (void)a;
    for (size_t i = 0; i < r->metrics_count; i++)
        r->metrics[i].generation_tokens = NAN;
}
static void late_sample(struct records *r, struct arena *a)
{
    (void)a;
    r->gpus[0].instant[50].late_ns = 501 * LIFE_MS;
}

static void late_stop(struct records *r, struct arena *a)
{
    (void)a;
    for (size_t i = 0; i < r->boundary_count; i++)
        if (r->boundaries[i].id == BOUNDARY_STOP)
            r->boundaries[i].t_ns += 200 * LIFE_MS;
}
static void slow_connecting(struct records *r, struct arena *a)
{
    (void)a;
    for (size_t i = 0; i < r->boundary_count; i++)
        if (r->boundaries[i].id == BOUNDARY_WARMUP_END)
            r->boundaries[i].t_ns -= 400 * LIFE_MS;
}

/* An engine of four workers, each of which warms itself up by a request of 8 tokens: three before the readings of these
 * records, the fourth within the formal stage. */
static void own_request(struct records *r, struct arena *a)
{
    r->run.engine_name = "sglang";
    r->run.own_request_tokens = 8;
    r->run.own_requests_max = 4;
    r->warmup_count = 9;
    r->warmups = arena_array(a, 9, sizeof *r->warmups);
    for (size_t i = 0; i < 9; i++) {
        r->warmups[i] = rec_request_absent();
        r->warmups[i].stage = i ? REQUEST_WARMUP : REQUEST_READY;
        r->warmups[i].completion_tokens = i ? 64 : 100; /* 612 in all */
    }
    for (size_t i = 0; i < r->metrics_count; i++) {
        int own = r->metrics[i].t_ns > 60 * LIFE_S ? 4 : 3;
        r->metrics[i].generation_tokens += 8 * own;
        r->metrics[i].requests_ended += own;
    }
}

static void each_code_comes_alone(void **state)
{
    (void)state;
    static const struct spoilt cases[] = {
        {"nothing", nothing, "", ""},
        {"plan fact", plan_fact, "plan_mismatch ", ""},
        {"other version", other_version, "plan_mismatch ", ""},
        {"other prompt", other_prompt, "plan_mismatch ", ""},
        {"identity fact", identity_fact, "identity_wrong ", ""},
        {"preflight fact", preflight_fact, "preflight_failed ", ""},
        {"other GPU", other_gpu, "gpu_mismatch ", ""},
        {"one GPU more", one_gpu_more, "gpu_mismatch ", ""},
        {"MIG", mig, "gpu_mismatch ", ""},
        {"no new memory", no_new_memory, "gpu_mismatch ", ""},
        {"own processes hold nothing", own_hold_nothing, "gpu_mismatch ", ""},
        {"precision unknown", unknown_precision, "identity_unknown ", ""},
        {"page cache warmed", warmed, "", "page_cache_warmed "},
        {"GPU fact", gpu_fact, "gpu_mismatch ", ""},
        {"foreign process", foreign, "foreign_process ", ""},
        {"restless baseline", restless, "baseline_not_idle ", ""},
        {"counter begins late", counter_begins_late, "not_covered ", ""},
        {"grid gap", grid_gap, "sample_gap ", ""},
        {"counter backward", counter_backward, "counter_void ", ""},
        {"buffer off", buffer_off, "counter_disagrees ", ""},
        {"grid off", grid_off, "grid_disagrees ", ""},
        {"power usage", power_usage, "", "averaged_power "},
        {"without buffer", without_buffer, "", "no_buffer "},
        {"low limit", low_limit, "power_out_of_range ", ""},
        {"request missing", request_missing, "request_unaccounted ", ""},
        {"request outside", request_outside, "request_unaccounted ", ""},
        {"server counts more", server_counts_more, "usage_disagrees ", ""},
        {"five fail", five_fail, "too_many_failed ", ""},
        {"times out", times_out, "release_timed_out release_not_closed ", ""},
        {"never cools", never_cools, "release_not_closed ", ""},
        {"gives up", gives_up, "engine_failed ", ""},
        {"dies early", dies_early, "engine_failed ", ""},
        {"interrupted", interrupted, "interrupted ", ""},
        {"clock set", clock_set, "clock_step ", ""},
        {"not sealed", not_sealed, "records_damaged ", ""},
        {"damaged", damaged, "records_damaged ", ""},
        {"mark missing", mark_missing, "records_damaged ", ""},
        {"short hold", short_hold, "method_shortened ", ""},
        {"in two pieces", in_two_pieces, "", "arrivals_merged "},
        {"rises again", rises_again, "", "hold_restarted "},
        {"simulated", simulated_gpu, "", "simulated "},
        {"few requests", few_requests, "", "steady_not_reached "},
        {"busy client", busy_client, "", "client_limited "},
        {"late client", late_client, "", "client_limited "},
        {"slow sweep", slow_sweep, "", "client_limited "},
        {"repeats", repeats, "", "repeated_prompts "},
        {"slowdown", slowdown, "", "throttled "},
        {"silent identity", silent_identity, "", "identity_not_verifiable "},
        {"no metrics", no_metrics, "", "usage_not_verifiable "},
        {"no server count", no_server_count, "", "usage_not_verifiable "},
        {"late sample", late_sample, "", "sampler_late "},
        {"late stop", late_stop, "", "observer_wait "},
        {"slow connecting", slow_connecting, "", "observer_wait "},
        {"own request", own_request, "", "engine_own_requests "},
    };
    bool code_seen[CODE_COUNT] = {0}, mark_seen[FLAG_COUNT] = {[FLAG_DELIVERY_LAG] = true}; /* its own test */
    bool right = true;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        struct records r = life_records(&a, 1);
        cases[i].spoil(&r, &a);
        struct result result = judge(&r, &a);
        char codes[1000], marks[1000];
        failed_names(&result, codes, marks);
        if (strcmp(codes, cases[i].codes) != 0 || strcmp(marks, cases[i].marks) != 0) {
            print_error("%s: failed \"%s\", marks \"%s\"\n", cases[i].name, codes, marks);
            for (size_t c = 0; c < result.check_count; c++)
                print_error("    %-20s %d %s\n", check_code_names[c], result.checks[c].outcome, result.checks[c].why);
            for (size_t c = 0; c < result.flag_count; c++)
                print_error("    %-20s %d %s\n", flag_code_names[c], result.flags[c].outcome, result.flags[c].why);
            right = false;
        }
        /* A mark never takes the formal state from a run, a failed code always does. */
        if (cases[i].codes[0] == 0)
            assert_true(result.formal);
        else
            assert_false(result.formal);
        for (size_t c = 0; c < CODE_COUNT; c++)
            code_seen[c] = code_seen[c] || result.checks[c].outcome == CHECK_FAILED;
        for (size_t c = 0; c < FLAG_COUNT; c++)
            mark_seen[c] = mark_seen[c] || result.flags[c].outcome == CHECK_FAILED;
        arena_done(&a);
    }
    assert_true(right);
    for (size_t c = 0; c < CODE_COUNT; c++)
        assert_true(code_seen[c]);
    for (size_t c = 0; c < FLAG_COUNT; c++)
        assert_true(mark_seen[c]);
}

/* Where a mark names the gap, nothing was compared, so nothing passed. */
static void what_a_mark_names_is_not_judged(void **state)
{
    (void)state;
    static const struct {
        void (*spoil)(struct records *, struct arena *);
        int check_code, flag_code;
    } cases[] = {{no_metrics, CODE_USAGE_DISAGREES, FLAG_USAGE_NOT_VERIFIABLE},
                 {no_server_count, CODE_USAGE_DISAGREES, FLAG_USAGE_NOT_VERIFIABLE},
                 {without_buffer, CODE_COUNTER_DISAGREES, FLAG_NO_BUFFER}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        struct records r = life_records(&a, 1);
        cases[i].spoil(&r, &a);
        struct result result = judge(&r, &a);
        assert_int_equal(result.flags[cases[i].flag_code].outcome, CHECK_FAILED);
        assert_int_equal(result.checks[cases[i].check_code].outcome, CHECK_NOT_JUDGED);
        assert_true(result.formal);
        arena_done(&a);
    }
}

/* The mark says what the engine's metrics answered, the last time; older records do not hold it. */
static void the_metrics_answer_is_told(void **state)
{
    (void)state;
    for (int noted = 0; noted < 2; noted++) {
        struct arena a = {0};
        struct records r = life_records(&a, 1);
        no_server_count(&r, &a);
        size_t n = r.fact_count;
        struct rec_fact *facts = arena_array(&a, n + 2, sizeof *facts);
        memcpy(facts, r.facts, n * sizeof *facts);
        facts[n] = facts[n + 1] =
            (struct rec_fact){.t_ns = 5, .name = "metrics.answer", .outcome = CHECK_NOT_JUDGED, .seen = "status 503"};
        facts[n + 1].seen = "status 404: start SGLang with --enable-metrics";
        r.facts = facts;
        r.fact_count += noted ? 2 : 0;
        struct result result = judge(&r, &a);
        const struct result_flag *m = &result.flags[FLAG_USAGE_NOT_VERIFIABLE];
        assert_int_equal(m->outcome, CHECK_FAILED);
        assert_string_equal(m->why, noted ? "The engine's metrics gave status 404: start SGLang with --enable-metrics."
                                          : "The engine's /metrics hold no count of generated tokens.");
        assert_true(result.formal);
        arena_done(&a);
    }
}

/* The GPU is done 4 s before its streams: 4 of 30 s idle while owed. */
static void a_front_end_that_lags_is_marked(void **state)
{
    (void)state;
    static const struct life_step steps[] = {{0, LIFE_IDLE_MW},          {22 * LIFE_S, 122000}, {43 * LIFE_S, 500000},
                                             {64 * LIFE_S, 122000},      {68 * LIFE_S, 500000}, {73 * LIFE_S, 122000},
                                             {74 * LIFE_S, LIFE_IDLE_MW}};
    struct arena a = {0};
    struct records r = life_with_power(&a, 1, (struct life_power){steps, sizeof steps / sizeof *steps});
    struct result result = judge(&r, &a);
    assert_int_equal(result.flags[FLAG_DELIVERY_LAG].outcome, CHECK_FAILED);
    assert_close(result.flags[FLAG_DELIVERY_LAG].value, 4.0 / 30, 0.002);
    assert_close(result.flags[FLAG_DELIVERY_LAG].limit, 0.01, 0);
    arena_done(&a);
}

struct missing {
    int code;
    void (*remove)(struct records *r, struct arena *a);
};

static void without_facts(struct records *r, struct arena *a)
{
    (void)a;
    r->fact_count = 0;
}
static void without_states(struct records *r, struct arena *a)
{
    (void)a;
    r->gpus[0].state_count = r->gpus[0].process_count = 0;
}
static void strangers(struct records *r, struct arena *a)
{
    (void)a;
    for (size_t i = 0; i < r->gpus[0].process_count; i++)
        r->gpus[0].process[i].own = -1;
}
static void without_counter(struct records *r, struct arena *a)
{
    (void)a;
    r->gpus[0].counter_count = 0;
}
static void without_clocks(struct records *r, struct arena *a)
{
    (void)a;
    r->clock_count = 0;
}
static void unsettled(struct records *r, struct arena *a)
{
    (void)a;
    r->metrics_count--;
}
static void uncounted_plan(struct records *r, struct arena *a)
{
    (void)a;
    r->plan.requests.count = ABSENT_I64;
}
static void without_limit(struct records *r, struct arena *a)
{
    (void)a;
    r->gpus[0].power_limit_mw = ABSENT_I64;
}

/* What the records lack is neither passed nor failed, and such a run is never formal. */
static void what_was_not_recorded_is_not_judged(void **state)
{
    (void)state;
    static const struct missing cases[] = {
        {CODE_PLAN_MISMATCH, without_facts},      {CODE_IDENTITY_WRONG, without_facts},
        {CODE_PREFLIGHT_FAILED, without_facts},   {CODE_GPU_MISMATCH, without_facts},
        {CODE_GPU_MISMATCH, without_states},      {CODE_FOREIGN_PROCESS, without_states},
        {CODE_FOREIGN_PROCESS, strangers},        {CODE_BASELINE_NOT_IDLE, without_states},
        {CODE_COUNTER_VOID, without_counter},     {CODE_COUNTER_DISAGREES, without_counter},
        {CODE_GRID_DISAGREES, without_counter},   {CODE_CLOCK_STEP, without_clocks},
        {CODE_USAGE_DISAGREES, unsettled},        {CODE_REQUEST_UNACCOUNTED, uncounted_plan},
        {CODE_POWER_OUT_OF_RANGE, without_limit},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        struct records r = life_records(&a, 1);
        cases[i].remove(&r, &a);
        struct result result = judge(&r, &a);
        if (result.checks[cases[i].code].outcome != CHECK_NOT_RECORDED) {
            print_error("case %zu, %s: %s\n", i, check_code_names[cases[i].code], result.checks[cases[i].code].why);
            fail();
        }
        assert_false(result.formal);
        arena_done(&a);
    }
}

/* Compared with nothing is not passed: facts that were all left out judge nothing. */
static void facts_left_out_pass_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *prefix;
        int code;
    } cases[] = {
        {"plan.", CODE_PLAN_MISMATCH}, {"identity.", CODE_IDENTITY_WRONG}, {"preflight.", CODE_PREFLIGHT_FAILED}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        struct records r = life_records(&a, 1);
        for (size_t k = 0; k < r.fact_count; k++)
            if (strncmp(r.facts[k].name, cases[i].prefix, strlen(cases[i].prefix)) == 0)
                r.facts[k].outcome = CHECK_NOT_JUDGED;
        struct result result = judge(&r, &a);
        if (result.checks[cases[i].code].outcome != CHECK_NOT_JUDGED)
            fail_msg("%s: %s", cases[i].prefix, result.checks[cases[i].code].why);
        arena_done(&a);
    }
}

/* Limits are where the method puts them. */
static void limits_are_inclusive_as_the_method_says(void **state)
{
    (void)state;
    struct arena a = {0};
    /* 4 of 400 failed is the limit of 1 %, not over it. */
    struct records r = life_records(&a, 1);
    for (size_t i = 0; i < 4; i++)
        r.requests[i].verdict = VERDICT_TRUNCATED;
    assert_int_equal(judge(&r, &a).checks[CODE_TOO_MANY_FAILED].outcome, CHECK_PASSED);
    /* A sample half a period late is not yet late. */
    r = life_records(&a, 1);
    r.gpus[0].instant[50].late_ns = 500 * LIFE_MS;
    assert_int_equal(judge(&r, &a).flags[FLAG_SAMPLER_LATE].outcome, CHECK_PASSED);
    /* With a failed request the counts may be 2 % apart: 16 000 tokens of the clients and 320 more. */
    r = life_records(&a, 1);
    r.requests[3].verdict = VERDICT_TRUNCATED;
    for (size_t i = 0; i < r.metrics_count; i++)
        r.metrics[i].generation_tokens += r.metrics[i].t_ns > 60 * LIFE_S ? 320 : 0;
    assert_int_equal(judge(&r, &a).checks[CODE_USAGE_DISAGREES].outcome, CHECK_PASSED);
    /* Prompts that repeat with the cache off are no mark; with a cache that nobody knows of, not recorded. */
    r = life_records(&a, 1);
    r.requests[9].prompt_digest = r.requests[8].prompt_digest;
    assert_int_equal(judge(&r, &a).flags[FLAG_REPEATED_PROMPTS].outcome, CHECK_PASSED);
    r.run.prefix_cache = ABSENT_I64;
    assert_int_equal(judge(&r, &a).flags[FLAG_REPEATED_PROMPTS].outcome, CHECK_NOT_RECORDED);
    arena_done(&a);
}

/* Without a reading between warm-up and formal start, the cold engine's count starts at zero with the warm-up's usage.
 */
static void the_count_before_may_come_from_the_warm_up(void **state)
{
    (void)state;
    struct arena a = {0};
    struct records r = life_records(&a, 1);
    size_t n = 0;
    for (size_t i = 0; i < r.metrics_count; i++)
        if (r.metrics[i].t_ns > 43 * LIFE_S)
            r.metrics[n++] = r.metrics[i];
    r.metrics_count = n;
    assert_int_equal(judge(&r, &a).checks[CODE_USAGE_DISAGREES].outcome, CHECK_NOT_RECORDED);
    r.warmup_count = 9;
    r.warmups = arena_array(&a, 9, sizeof *r.warmups);
    for (size_t i = 0; i < 9; i++) {
        r.warmups[i] = rec_request_absent();
        r.warmups[i].completion_tokens = i ? 64 : 100; /* 612 in all */
    }
    assert_int_equal(judge(&r, &a).checks[CODE_USAGE_DISAGREES].outcome, CHECK_PASSED);
    r.warmups[0].completion_tokens = 99;
    assert_int_equal(judge(&r, &a).checks[CODE_USAGE_DISAGREES].outcome, CHECK_FAILED);
    /* An engine that generated one token for itself before the first request. */
    struct rec_metrics *more = arena_array(&a, r.metrics_count + 1, sizeof *more);
    memcpy(more, r.metrics, r.metrics_count * sizeof *more);
    more[r.metrics_count] = more[0];
    struct rec_metrics *own = &more[r.metrics_count++];
    r.metrics = more;
    own->t_ns = 20 * LIFE_S;
    own->took_ns = LIFE_MS;
    own->generation_tokens = 1;
    r.warmups[0].submit_ns = 20 * LIFE_S + LIFE_MS; /* the answer was there when it was submitted */
    assert_int_equal(judge(&r, &a).checks[CODE_USAGE_DISAGREES].outcome, CHECK_PASSED);
    r.warmups[0].submit_ns--; /* it was not: that reading may hold some of it */
    assert_int_equal(judge(&r, &a).checks[CODE_USAGE_DISAGREES].outcome, CHECK_FAILED);
    r.warmups[0].submit_ns++;
    own->generation_tokens = 2;
    assert_int_equal(judge(&r, &a).checks[CODE_USAGE_DISAGREES].outcome, CHECK_FAILED);
    own->generation_tokens = 1;
    /* A reading between warm-up and formal start counts only when it has caught up with these 612 tokens. */
    struct rec_metrics *between = arena_array(&a, r.metrics_count + 1, sizeof *between);
    memcpy(between, r.metrics, r.metrics_count * sizeof *between);
    between[r.metrics_count] = *own;
    r.metrics = between;
    between += r.metrics_count++;
    between->t_ns = records_boundary(&r, BOUNDARY_WARMUP_END) + LIFE_MS;
    between->generation_tokens = 611;
    assert_int_equal(judge(&r, &a).checks[CODE_USAGE_DISAGREES].outcome, CHECK_PASSED);
    between->generation_tokens = 613;
    assert_int_equal(judge(&r, &a).checks[CODE_USAGE_DISAGREES].outcome, CHECK_FAILED);
    arena_done(&a);
}

/* What can be wrong about a request of the engine's own: then it explains nothing, and the sentence says what. */
static void own_requests_explain_only_what_they_are(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t tokens, max;      /* as known of the engine */
        double more_tokens, more; /* counted after 60 s beside the one request */
        double before;            /* counted in every reading beside the three */
        bool fails;
        enum check_outcome outcome;
        const char *part;
    } cases[] = {
        {"as it is", 8, 4, 0, 0, 0, false, CHECK_PASSED, "16008 generated tokens"},
        {"as it is", 8, 4, 0, 0, 0, false, CHECK_PASSED, "the other 8 are those of 1 request of its own"},
        {"unknown version", ABSENT_I64, 4, 0, 0, 0, false, CHECK_FAILED, "generates tokens for itself is not known"},
        {"unknown number", 8, ABSENT_I64, 0, 0, 0, false, CHECK_FAILED, "generates tokens for itself is not known"},
        {"all had come", 8, 3, 0, 0, 0, false, CHECK_FAILED, "1 requests of its own, of which 3 of 3 had come before"},
        {"one token more", 8, 4, 1, 0, 0, false, CHECK_FAILED, "no whole number of its own requests of 8 tokens"},
        {"another's request", 8, 4, 0, 1, 0, false, CHECK_FAILED, "it ended 2 more than were asked"},
        {"eight tokens of another's", 8, 9, 8, 0, 0, false, CHECK_FAILED, "it ended 1 more than were asked"},
        {"others before", 8, 4, 0, 0, 5, false, CHECK_FAILED, "its counts before the formal stage are not the sum"},
        {"count of requests unknown", 8, 4, 0, NAN, 0, false, CHECK_FAILED, "count of ended requests was not recorded"},
        {"fewer", 8, 4, -9, 0, 0, false, CHECK_FAILED, "15999 generated tokens"},
        {"a request failed", 8, 4, 0, 0, 0, true, CHECK_PASSED, "2 % is allowed where requests failed"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        struct records r = life_records(&a, 1);
        own_request(&r, &a);
        r.run.own_request_tokens = cases[i].tokens;
        r.run.own_requests_max = cases[i].max;
        for (size_t m = 0; m < r.metrics_count; m++) {
            bool late = r.metrics[m].t_ns > 60 * LIFE_S;
            r.metrics[m].generation_tokens += cases[i].before + (late ? cases[i].more_tokens : 0);
            r.metrics[m].requests_ended += late ? cases[i].more : 0;
        }
        if (cases[i].fails)
            r.requests[7].verdict = VERDICT_TRUNCATED;
        struct result q = judge(&r, &a);
        const struct result_check *c = &q.checks[CODE_USAGE_DISAGREES];
        if (c->outcome != cases[i].outcome || !strstr(c->why, cases[i].part))
            fail_msg("%s: %s, expected \"%s\"", cases[i].name, c->why, cases[i].part);
        bool carried = cases[i].outcome == CHECK_PASSED && !cases[i].fails;
        assert_int_equal(q.flags[FLAG_ENGINE_OWN_REQUESTS].outcome, carried          ? CHECK_FAILED
                                                                    : cases[i].fails ? CHECK_NOT_JUDGED
                                                                                     : CHECK_PASSED);
        arena_done(&a);
    }
}

/* Of the readings after the formal stage the first that agrees counts, else the last, as older records have it that
 * read until two were equal. */
static void which_reading_counts(void **state)
{
    (void)state;
    enum { MOST = 4 };
    static const struct {
        int n, off[MOST]; /* readings after the end: beside what the clients were told */
        int outcome, counted;
    } cases[] = {
        {0, {0}, CHECK_NOT_RECORDED, 0},           {1, {0}, CHECK_PASSED, 16000},
        {2, {0, 0}, CHECK_PASSED, 16000},          {3, {-50, -10, 0}, CHECK_PASSED, 16000},
        {3, {-50, 0, 0}, CHECK_PASSED, 16000},     {2, {-50, -10}, CHECK_FAILED, 15990},
        {3, {-50, -10, -10}, CHECK_FAILED, 15990}, {2, {0, 3}, CHECK_PASSED, 16000},
        {2, {3, 3}, CHECK_FAILED, 16003},          {4, {-9, 5, 0, 7}, CHECK_PASSED, 16000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int backward = 0; backward < 2; backward++) {
            struct arena a = {0};
            struct records r = life_records(&a, 1);
            size_t before = r.metrics_count - 1;
            struct rec_metrics last = r.metrics[before];
            struct rec_metrics *m = arena_array(&a, before + MOST, sizeof *m);
            memcpy(m, r.metrics, before * sizeof *m);
            for (int k = 0; k < cases[i].n; k++) {
                int at = backward ? cases[i].n - 1 - k : k; /* rows in any order */
                struct rec_metrics *x = &m[before + (size_t)at];
                *x = last;
                x->t_ns = 73 * LIFE_S + k * 5 * LIFE_MS; /* the first at the very end */
                x->generation_tokens += cases[i].off[k];
            }
            r.metrics = m;
            r.metrics_count = before + (size_t)cases[i].n;
            struct result q = judge(&r, &a);
            const struct result_check *c = &q.checks[CODE_USAGE_DISAGREES];
            assert_int_equal(c->outcome, cases[i].outcome);
            if (cases[i].n)
                assert_non_null(strstr(c->why, arena_format(&a, "counted %d generated", cases[i].counted)));
            arena_done(&a);
        }
}

/* What a server said of a failed request may be anything; it adds nothing to the sum. */
static void a_wild_count_adds_nothing(void **state)
{
    (void)state;
    static const int64_t wild[] = {INT64_MAX, INT64_C(2147483648), -3, INT64_MIN + 1};
    for (size_t i = 0; i < sizeof wild / sizeof *wild; i++) {
        struct arena a = {0};
        struct records r = life_records(&a, 1);
        for (size_t k = 0; k < 2; k++) {
            r.requests[k].verdict = VERDICT_BAD_USAGE;
            r.requests[k].completion_tokens = wild[i];
        }
        assert_int_equal(judge(&r, &a).checks[CODE_USAGE_DISAGREES].outcome, CHECK_PASSED);
        arena_done(&a);
    }
}

static void every_code_has_a_meaning(void **state)
{
    (void)state;
    for (int i = 0; i < CODE_COUNT; i++)
        assert_true(strlen(check_code_meaning((enum check_code)i)) > 10);
    for (int i = 0; i < FLAG_COUNT; i++)
        assert_true(strlen(flag_code_meaning((enum flag_code)i)) > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_code_comes_alone),
        cmocka_unit_test(what_a_mark_names_is_not_judged),
        cmocka_unit_test(the_metrics_answer_is_told),
        cmocka_unit_test(a_front_end_that_lags_is_marked),
        cmocka_unit_test(what_was_not_recorded_is_not_judged),
        cmocka_unit_test(facts_left_out_pass_nothing),
        cmocka_unit_test(limits_are_inclusive_as_the_method_says),
        cmocka_unit_test(the_count_before_may_come_from_the_warm_up),
        cmocka_unit_test(own_requests_explain_only_what_they_are),
        cmocka_unit_test(which_reading_counts),
        cmocka_unit_test(a_wild_count_adds_nothing),
        cmocka_unit_test(every_code_has_a_meaning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
