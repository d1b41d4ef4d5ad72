/* Each way in which a run's files can contradict each other or hold what can't be right, in a folder that is sealed
 * like any other: named, excluded, and no J/token is measured from it. And what looks like one and is none. */
#include "check.h"
#define LIFE_REQUESTS 60
#include <stdlib.h>
#include <unistd.h>
#include "analysis/analyze.h"
#include "cli/run_folder.h"
#include "model/record_order.h"
#include "text/file_read.h"

struct bench {
    struct arena a;
    char runs[64];
};

static int setup(void **state)
{
    struct bench *b = calloc(1, sizeof *b);

    strcpy(b->runs, access("/dev/shm", W_OK) == 0 ? "/dev/shm/jtok_contradict_XXXXXX" : "/tmp/jtok_contradict_XXXXXX");
    assert_non_null(mkdtemp(b->runs));
    *state = b;
    return 0;
}

static int teardown(void **state)
{
    struct bench *b = *state;
    char command[100];

    snprintf(command, sizeof command, "rm -rf %s", b->runs);
    assert_int_equal(system(command), 0);
    arena_done(&b->a);
    free(b);
    return 0;
}

/* ---- one thing spoilt, everything else as it was written ---- */

static void tokens_of_2_40(struct records *r)
{
    r->requests[7].completion_tokens = INT64_C(1) << 40;
}

static void prompt_of_2_31(struct records *r)
{
    r->requests[7].prompt_tokens = INT64_C(1) << 31;
}

static void usage_not_as_said(struct records *r)
{
    r->requests[7].completion_tokens++;
}

static void first_time_absurd(struct records *r)
{
    r->requests[7].submit_ns = INT64_MAX;
}

static void request_dropped(struct records *r)
{
    r->request_count--;
}

static void request_doubled(struct records *r)
{
    r->requests[r->request_count - 1] = r->requests[3];
}

static void request_beyond_the_plan(struct records *r)
{
    r->requests[r->request_count - 1].id = LIFE_REQUESTS;
}

static void chunk_dropped(struct records *r)
{
    r->chunk_count--;
    memmove(&r->chunks[500], &r->chunks[501], (r->chunk_count - 500) * sizeof *r->chunks);
}

static void chunks_gone(struct records *r)
{
    r->chunk_count = 0;
}

static void chunk_of_another_request(struct records *r)
{
    r->chunks[500].request = r->chunks[501].request;
}

static void chunk_without_tokens(struct records *r)
{
    r->chunks[500].kind = CHUNK_OTHER;
}

static void chunk_with_more_bytes(struct records *r)
{
    r->chunks[500].bytes++;
}

static void stamp_shared(struct records *r)
{
    r->chunks[500].stamp = STAMP_SHARED;
}

static void first_moved(struct records *r)
{
    r->requests[7].first_ns++;
}

static void last_moved(struct records *r)
{
    r->requests[7].last_ns--;
}

static void end_before_last(struct records *r)
{
    r->requests[7].end_ns = r->requests[7].last_ns - 2 * LIFE_MS;
}

static void sent_before_submit(struct records *r)
{
    r->requests[7].sent_ns = r->requests[7].submit_ns - 2 * LIFE_MS;
}

static void warmup_out_of_order(struct records *r)
{
    r->warmups[3].head_ns = r->warmups[3].submit_ns - 2 * LIFE_MS;
}

static void set_mark(struct records *r, enum boundary id, int64_t by_ns)
{
    for (size_t i = 0; i < r->boundary_count; i++)
        if (r->boundaries[i].id == id)
            r->boundaries[i].t_ns += by_ns;
}

static void formal_start_moved(struct records *r)
{
    set_mark(r, BOUNDARY_FORMAL_START, -20 * LIFE_MS);
}

/* Before the first token: no window of the requests lies within the stage. */
static void formal_end_at_its_start(struct records *r)
{
    set_mark(r, BOUNDARY_FORMAL_END, INT64_C(1) - 30 * LIFE_S);
}

static void formal_end_moved(struct records *r)
{
    set_mark(r, BOUNDARY_FORMAL_END, 20 * LIFE_MS);
}

static void warmup_start_moved(struct records *r)
{
    set_mark(r, BOUNDARY_WARMUP_START, -LIFE_S / 2);
}

static void warmup_end_moved(struct records *r)
{
    set_mark(r, BOUNDARY_WARMUP_END, LIFE_S / 2);
}

static void ready_before_its_proof(struct records *r)
{
    set_mark(r, BOUNDARY_READY, -LIFE_S);
}

static void release_end_moved(struct records *r)
{
    set_mark(r, BOUNDARY_RELEASE_END, LIFE_S);
}

static void marks_out_of_order(struct records *r)
{
    set_mark(r, BOUNDARY_SERVICE_START, -2 * LIFE_S); /* before the baseline's end */
}

static void pairs_missing(struct records *r)
{
    r->clock_count -= 3;
    memmove(&r->clocks[60], &r->clocks[63], (r->clock_count - 60) * sizeof *r->clocks);
}

static void pairs_end_early(struct records *r)
{
    r->clock_count = 100;
}

static void one_gpu_twice(struct records *r)
{
    r->gpus[1].uuid = r->gpus[0].uuid;
}

static void gpus_swapped(struct records *r)
{
    const char *uuid = r->gpus[0].uuid;
    r->gpus[0].uuid = r->gpus[1].uuid;
    r->gpus[1].uuid = uuid;
}

static void one_index_twice(struct records *r)
{
    r->gpus[1].index = r->gpus[0].index;
}

static void gpu_missing(struct records *r)
{
    r->gpu_count = 1;
}

static void power_hours_later(struct records *r)
{
    r->gpus[0].instant[50].t_ns += 3 * 3600 * LIFE_S;
}

static void stamps_a_day_later(struct records *r)
{
    r->gpus[0].buffer[50].realtime_us += INT64_C(86400) * 1000000;
}

static void power_of_another_kind(struct records *r)
{
    r->gpus[0].instant[50].mw = 2900000; /* of a board of 700 W */
}

static void buffer_of_another_kind(struct records *r)
{
    r->gpus[0].buffer[2500].mw = 2900000;
}

static void energy_jumps(struct records *r)
{
    for (size_t i = 500; i < r->gpus[0].counter_count; i++)
        r->gpus[0].counter[i].mj += 10000000; /* 10 kJ in 0.1 s */
}

static void negative_power(struct records *r)
{
    r->gpus[0].instant[50].mw = -78500;
}

static void utilisation_over_all(struct records *r)
{
    r->gpus[0].state[50].utilisation = 101;
}

struct contradiction {
    const char *name;
    void (*spoil)(struct records *r);
    size_t gpus;
    const char *damage; /* in what is said; null: nothing is, and a check of its own excludes */
};

static void memory_beyond_the_board(struct records *r)
{
    r->gpus[0].state[30].memory_used_bytes = r->gpus[0].memory_total_bytes + 1;
}

static const struct contradiction contradictions[] = {
    {"tokens of 2^40", tokens_of_2_40, 1, "requests.csv: line 18: completion_tokens: '1099511627776' is out of range"},
    {"prompt of 2^31", prompt_of_2_31, 1, "requests.csv: line 18: prompt_tokens: '2147483648' is out of range"},
    {"usage not as said", usage_not_as_said, 1, "formal request 7: completion_tokens is 41, by chunks.csv 40"},
    {"absurd time", first_time_absurd, 1, "submit_ns: '9223372036854775807' is out of range"},
    {"request dropped", request_dropped, 1,
     "belongs to a request that requests.csv does not have; there are 20 such lines"},
    {"request doubled", request_doubled, 1, "formal request 3: it is there twice"},
    {"request beyond the plan", request_beyond_the_plan, 1, "formal request 60: the plan has no such request"},
    {"chunk dropped", chunk_dropped, 1, "events is 20, by chunks.csv 19"},
    {"chunks gone", chunks_gone, 1, "events is 20, by chunks.csv 0; left out, with others"},
    {"chunk of another", chunk_of_another_request, 1, "events is 20, by chunks.csv"},
    {"chunk without tokens", chunk_without_tokens, 1, "token_chunks is 20, by chunks.csv 19"},
    {"chunk with more bytes", chunk_with_more_bytes, 1, "text_bytes is 160, by chunks.csv 161"},
    {"stamp shared", stamp_shared, 1, "shared_stamps is 0, by chunks.csv 1"},
    {"first moved", first_moved, 1, "formal request 7: first_ns is"},
    {"last moved", last_moved, 1, "formal request 7: last_ns is"},
    {"end before last", end_before_last, 1, "formal request 7: a chunk in chunks.csv came after it had ended"},
    {"sent before submit", sent_before_submit, 1, "formal request 7: submit_ns is 0.002000 s later than sent_ns"},
    {"warm-up out of order", warmup_out_of_order, 1, "warmup request 2: submit_ns is 0.002000 s later than head_ns"},
    {"formal_start moved", formal_start_moved, 1, "marks.csv: formal_start is at 42.980000 s, but by requests.csv"},
    {"formal_end at its start", formal_end_at_its_start, 1,
     "marks.csv: formal_end is at 43.000000 s, but by requests.csv"},
    {"formal_end moved", formal_end_moved, 1, "marks.csv: formal_end is at 73.020000 s, but by requests.csv"},
    {"warmup_start moved", warmup_start_moved, 1, "marks.csv: warmup_start is at 40.500000 s"},
    {"warmup_end moved", warmup_end_moved, 1, "marks.csv: warmup_end is at 42.950000 s"},
    {"ready before its proof", ready_before_its_proof, 1, "marks.csv: ready is at 39.000000 s"},
    {"release_end moved", release_end_moved, 1, "marks.csv: release_end is at 75.000000 s"},
    {"marks out of order", marks_out_of_order, 1, NULL},
    {"pairs missing", pairs_missing, 1, "clock.csv: no pair from 59.000 to 63.000 s"},
    {"pairs end early", pairs_end_early, 1, "clock.csv: no pair from 99.000 to 106.000 s"},
    {"one GPU twice", one_gpu_twice, 2, "gpus.csv: lines 2 and 3 are both GPU-00000000"},
    {"GPUs swapped", gpus_swapped, 2,
     "gpus.csv: line 2 is GPU-00000001-0000-0000-0000-000000000000, which is "
     "GPU number 2 of the plan"},
    {"one index twice", one_index_twice, 2, "gpus.csv: lines 2 and 3 have the same index 0"},
    {"GPU missing", gpu_missing, 2, NULL},
    {"power hours later", power_hours_later, 1, "instant.csv: 1 row is more than an hour before or after the run"},
    {"stamps a day later", stamps_a_day_later, 1, "buffer.csv: 1 row is more than an hour before or after the run"},
    {"power of another kind", power_of_another_kind, 1, "instant.csv: 1 row of GPU 0 is over 2800 W"},
    {"buffer of another kind", buffer_of_another_kind, 1, "buffer.csv: 1 row of GPU 0 is over 2800 W"},
    {"energy jumps", energy_jumps, 1, "counter.csv: 31 rows of GPU 0 are over 2800 W"},
    {"memory beyond the board", memory_beyond_the_board, 1,
     "gpu_state.csv: 1 row of GPU 0 with more memory in use than its 161061273600 bytes"},
    {"negative power", negative_power, 1, "instant.csv: line 52: mw: '-78500' is out of range"},
    {"utilisation over all", utilisation_over_all, 1, "gpu_state.csv: line 52: utilisation: '101' is out of range"},
};

static struct result evaluate(struct bench *b, const char *folder, const char **ret_damage)
{
    struct records r;
    struct result result;
    struct method m = method_default();
    struct err e = {0};

    assert_ok(records_load(folder, &b->a, &r, &e), e);
    assert_ok(analyze(&r, &m, &b->a, &result, &e), e);
    *ret_damage = r.damage;
    return result;
}

static struct result spoil_and_evaluate(struct bench *b, const struct contradiction *c, int64_t day,
                                        const char **ret_damage)
{
    struct records r = life_records(&b->a, c->gpus);
    struct err e = {0};

    life_warmups(&r, &b->a);
    c->spoil(&r);
    const char *folder = write_folder(&r, b->runs, "run", LIFE_OFFSET_NS + day * 86400 * LIFE_S, &b->a);
    assert_ok(archive_seal(folder, &e), e);
    return evaluate(b, folder, ret_damage);
}

static void each_contradiction_is_named(void **state)
{
    bool right = true;

    for (size_t i = 0; i < sizeof contradictions / sizeof *contradictions; i++) {
        const struct contradiction *c = &contradictions[i];
        const char *damage;
        struct result x = spoil_and_evaluate(*state, c, (int64_t)i, &damage);
        const struct result_metrics *m = &x.metrics;
        bool named = c->damage ? damage && strstr(damage, c->damage) : !damage;
        bool measured = m->formal_j_per_token.state == Q_MEASURED || m->lifecycle_j_per_token.state == Q_MEASURED ||
                        m->steady_j_per_token.state == Q_MEASURED || m->saturated_j_per_token.state == Q_MEASURED;

        if (c->spoil == marks_out_of_order)
            measured = false; /* the order of the marks is looked at by verification */
        if (x.formal || !named || measured) {
            print_error("%s: %s, %s, said: %s\n", c->name, x.formal ? "formal" : "excluded",
                        measured ? "measured" : "not measured", damage ? damage : "nothing");
            right = false;
        }
    }
    assert_true(right);
}

/* ---- what is right, though it looks odd ---- */

static void nothing(struct records *r)
{
    (void)r;
}

/* A server may tell a request that fails any count. */
static void wild_usage_of_a_failure(struct records *r)
{
    struct rec_request *q = &r->requests[7];
    q->verdict = VERDICT_BAD_USAGE;
    q->completion_tokens = INT64_C(1) << 40;
    q->prompt_tokens = -1;
    q->detail = "more than the max_tokens asked for";
}

/* Beside a clock step no converted stamp has an order. */
static void clock_was_set(struct records *r)
{
    for (size_t i = 45; i < r->clock_count; i++)
        r->clocks[i].offset_ns += 5 * LIFE_S;
    r->requests[7].head_ns = r->requests[7].submit_ns - LIFE_S;
}

static void read_times_beside_stamps(struct records *r)
{
    r->requests[7].notes = NOTE_STAMP_MISSING;
    r->requests[7].head_ns = r->requests[7].submit_ns - 2 * LIFE_MS;
}

static void a_failed_reading(struct records *r)
{
    r->gpus[0].instant[50].mw = -1;
    r->gpus[0].counter[500].mj = -1;
    r->gpus[0].state[50].utilisation = -1;
}

static void answered_before_it_was_read(struct records *r)
{
    r->requests[7].sent_ns = r->requests[7].head_ns + LIFE_S;
}

static void a_late_pair(struct records *r)
{
    r->clocks[60].t_ns += LIFE_S - LIFE_MS;
}

static void what_is_right_is_not_damage(void **state)
{
    static const struct contradiction cases[] = {
        {"nothing", nothing, 1, NULL},
        {"nothing, on two GPUs", nothing, 2, NULL},
        {"wild usage of a failure", wild_usage_of_a_failure, 1, NULL},
        {"the clock was set", clock_was_set, 1, NULL},
        {"read times beside stamps", read_times_beside_stamps, 1, NULL},
        {"a failed reading", a_failed_reading, 1, NULL},
        {"answered before it was read", answered_before_it_was_read, 1, NULL},
        {"a late pair", a_late_pair, 1, NULL},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *damage;
        struct result x = spoil_and_evaluate(*state, &cases[i], 1000 + (int64_t)i, &damage);

        if (damage)
            fail_msg("%s: %s", cases[i].name, damage);
        assert_int_equal(x.checks[CODE_RECORDS_DAMAGED].outcome, CHECK_PASSED);
        assert_int_equal(x.metrics.formal_j_per_token.state, Q_MEASURED);
    }
}

/* A run that was killed: what had not reached the disk is no damage, and its J/token is not measured. */
static void a_killed_run_is_not_damaged(void **state)
{
    struct bench *b = *state;
    struct records r = life_records(&b->a, 1);
    struct err e = {0};
    const char *damage;

    life_warmups(&r, &b->a);
    r.boundary_count = 7; /* to formal_start */
    r.request_count = 20;
    const char *folder = write_folder(&r, b->runs, "killed", LIFE_OFFSET_NS, &b->a);
    r.run.series_count = 0;
    assert_ok(archive_write_run(folder, &r.run, &e), e);
    struct result x = evaluate(b, folder, &damage);
    assert_null(damage);
    assert_false(x.formal);
    assert_true(x.metrics.formal_j_per_token.state == Q_NOT_RECORDED);
    assert_true(x.metrics.lifecycle_j_per_token.state == Q_NOT_RECORDED);
}

/* ---- values of documents that would become sizes, indexes and divisors ---- */

static void replace(struct bench *b, const char *folder, const char *name, const char *key, const char *value)
{
    const char *path = arena_format(&b->a, "%s/%s", folder, name);
    struct buf text = {0};
    struct err e = {0};

    assert_ok(file_read(path, 0, &text, &e), e);
    const char *at = strstr(buf_text(&text), arena_format(&b->a, "\"%s\": ", key));
    assert_non_null(at);
    at += strlen(key) + 4;
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "%.*s%s%s", (int)(at - text.p), text.p, value, at + strcspn(at, ",\n"));
    fclose(f);
    buf_done(&text);
}

static void stored_numbers_obey_their_ranges(void **state)
{
    static const struct {
        const char *name, *key, *value, *said;
    } cases[] = {
        {"plan.json", "count", "1099511627776", "requests.count"},
        {"plan.json", "count", "-1", "requests.count"},
        {"plan.json", "count", "0", "requests.count"},
        {"plan.json", "grid_s", "0", "method.grid_s"},
        {"plan.json", "grid_s", "1e-300", "method.grid_s"},
        {"plan.json", "grid_s", "1e300", "method.grid_s"},
        {"plan.json", "grid_s", "null", "plan.json"},
        {"plan.json", "hold_s", "null", "plan.json"},
        {"plan.json", "hold_s", "1e19", "method.hold_s"},
        {"plan.json", "baseline_s", "-20", "method.baseline_s"},
        {"plan.json", "failed_share", "2", "method.failed_share"},
        {"plan.json", "sensor_percent", "1e9", "power.sensor_percent"},
        {"plan.json", "warmup_requests", "9007199254740993", "method.warmup_requests"},
        {"client.json", "wall_ns", "-1", "client.json"},
        {"client.json", "cpu_ns", "9223372036854775807", "client.json"},
        {"run.json", "rows", "-9223372036854775808", "run.json"},
        {"run.json", "gpu_simulated", "null", "gpu_simulated"},
    };
    struct bench *b = *state;
    struct err e = {0};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct records r = life_records(&b->a, 1), loaded;
        const char *folder = write_folder(&r, b->runs, "ranges", LIFE_OFFSET_NS + (int64_t)i * 86400 * LIFE_S, &b->a);
        struct result x;
        struct method m = method_default();

        replace(b, folder, cases[i].name, cases[i].key, cases[i].value);
        assert_ok(archive_seal(folder, &e), e);
        bool read = records_load(folder, &b->a, &loaded, &e) && analyze(&loaded, &m, &b->a, &x, &e);
        const char *said = read ? loaded.damage : e.text;
        if (!said || !strstr(said, cases[i].said))
            fail_msg("%s: %s as %s: %s", cases[i].name, cases[i].key, cases[i].value, said ? said : "nothing was said");
        if (read)
            assert_false(x.formal);
    }
}

/* The analysis itself takes none of them for a size or a divisor either. */
static void wild_numbers_in_memory_break_nothing(void **state)
{
    static const double wild[] = {0, -1, 1e-300, 1e300, NAN, INFINITY, -INFINITY};
    struct bench *b = *state;
    struct method m = method_default();
    struct err e = {0};

    for (size_t i = 0; i < sizeof wild / sizeof *wild; i++) {
        struct records r = life_records(&b->a, 1);
        struct result x;

        r.plan.method.grid_s = r.plan.method.hold_s = wild[i];
        records_order(&r);
        assert_ok(analyze(&r, &m, &b->a, &x, &e), e);
        assert_false(x.formal);
        assert_false(x.release.closed);
    }
    for (int shift = 31; shift < 63; shift++) {
        struct records r = life_records(&b->a, 1);
        struct result x;

        r.requests[7].completion_tokens = INT64_C(1) << shift;
        r.plan.requests.count = shift % 2 ? INT64_C(1) << shift : r.plan.requests.count;
        records_order(&r);
        assert_ok(analyze(&r, &m, &b->a, &x, &e), e);
        assert_int_equal(x.load.successful, LIFE_REQUESTS - 1);
        assert_int_equal(x.load.output_tokens, (LIFE_REQUESTS - 1) * 2 * LIFE_CHUNKS);
        assert_false(x.formal);
        if (shift % 2) {
            assert_int_equal(x.checks[CODE_REQUEST_UNACCOUNTED].outcome, CHECK_FAILED);
            assert_int_equal(x.metrics.formal_j_per_token.state, Q_NOT_RECORDED);
        }
    }
}

/* ---- files ---- */

static void a_missing_file_is_named(void **state)
{
    struct bench *b = *state;
    struct err e = {0};

    for (enum csv_file t = 0; t < CSV_COUNT; t++)
        for (int counted = 0; counted < 2; counted++) {
            struct records r = life_records(&b->a, 1);
            const char *damage,
                *folder = write_folder(&r, b->runs, "files",
                                       LIFE_OFFSET_NS + ((int64_t)t * 2 + counted) * 86400 * LIFE_S, &b->a);

            if (!counted) { /* as older versions wrote it */
                r.run.series_count = 0;
                assert_ok(archive_write_run(folder, &r.run, &e), e);
            }
            assert_int_equal(unlink(arena_format(&b->a, "%s/%s", folder, csv_records_file(t))), 0);
            assert_ok(archive_seal(folder, &e), e);
            struct result x = evaluate(b, folder, &damage);
            assert_false(x.formal);
            assert_non_null(damage);
            if (!strstr(damage, arena_format(&b->a, "%s is missing", csv_records_file(t))))
                fail_msg("%s: %s", csv_records_file(t), damage);
            assert_true(x.metrics.formal_j_per_token.state != Q_MEASURED);
            assert_true(x.metrics.lifecycle_j_per_token.state != Q_MEASURED);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_contradiction_is_named, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_right_is_not_damage, setup, teardown),
        cmocka_unit_test_setup_teardown(a_killed_run_is_not_damaged, setup, teardown),
        cmocka_unit_test_setup_teardown(stored_numbers_obey_their_ranges, setup, teardown),
        cmocka_unit_test_setup_teardown(wild_numbers_in_memory_break_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(a_missing_file_is_named, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
