#include "check.h"
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/buf.h"
#include "base/clock.h"
#include "run/recorder.h"
#include "store/records.h"
#include "text/file_read.h"

struct fixture {
    struct arena arena;
    char folder[64];
    struct err e;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct plan plan;

    strcpy(f->folder, "/tmp/jtok_rec_XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    plan_defaults(&plan);
    assert_ok(archive_write_plan(f->folder, &plan, NULL, &f->e), f->e);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(system(arena_format(&f->arena, "rm -rf %s", f->folder)), 0);
    arena_done(&f->arena);
    free(f);
    return 0;
}

static void finish_documents(struct fixture *f, size_t gpus, struct recorder_counts *counts)
{
    struct rec_gpu gpu[4] = {
        {.uuid = "a"}, {.uuid = "b", .index = 1}, {.uuid = "c", .index = 2}, {.uuid = "d", .index = 3}};
    struct rec_run run = {.id = "r"};
    if (counts) {
        run.series = counts->series;
        run.series_count = counts->series_count;
    }

    assert_ok(archive_write_run(f->folder, &run, &f->e), f->e);
    assert_ok(archive_write_gpus(f->folder, gpu, gpus, &f->e), f->e);
}

static size_t file_lines(struct fixture *f, const char *name, struct buf *b)
{
    size_t lines = 0;

    buf_clear(b);
    assert_ok(file_read(arena_format(&f->arena, "%s/%s", f->folder, name), 0, b, &f->e), f->e);
    for (size_t i = 0; i < b->n; i++)
        lines += b->p[i] == '\n';
    return lines;
}

/* ---- what went in comes out ---- */

enum { THREADS = 4, ROUNDS = 2000, WITH_CHUNKS = 1 };

struct feeder {
    struct record_sink sink;
    uint32_t number;
    pthread_t thread;
};

/* Values that depend on (thread, round) alone, so that the reader can compute them again. */
static struct rec_chunk chunk_of(uint32_t thread, uint32_t i, uint32_t k)
{
    return (struct rec_chunk){.t_ns = (int64_t)i * 1000 + thread * 10 + k,
                              .request = thread * ROUNDS + WITH_CHUNKS,
                              .running = i % 3 ? (int32_t)i : -1,
                              .bytes = i * 7 % 50,
                              .kind = (uint8_t)(i % 7),
                              .stamp = (uint8_t)(i % 3)};
}

/* The sums of its thread's chunks. */
static void add_chunks(struct rec_request *r, uint32_t thread)
{
    r->submit_ns = ABSENT_I64;
    for (uint32_t i = 0; i < ROUNDS; i++)
        for (uint32_t k = 0; k < 3; k++) {
            struct rec_chunk c = chunk_of(thread, i, k);

            r->events++;
            r->text_bytes += c.bytes;
            if (!chunk_has_tokens(&c))
                continue;
            r->token_chunks++;
            r->shared_stamps += c.stamp == STAMP_SHARED;
            r->first_ns = r->token_chunks == 1 ? c.t_ns : r->first_ns;
            r->last_ns = c.t_ns;
        }
}

static struct rec_request request_of(uint32_t thread, uint32_t i)
{
    struct rec_request r = rec_request_absent();

    r.id = thread * ROUNDS + i;
    r.stage = i % 10 ? REQUEST_FORMAL : REQUEST_WARMUP;
    r.verdict = (uint8_t)(i % VERDICT_COUNT);
    r.notes = (uint16_t)(i % 64);
    r.status = i % 2 ? 200 : -1;
    r.submit_ns = i % 4 ? (int64_t)i * 1000003 : ABSENT_I64;
    r.end_ns = INT64_C(5000000000) - i;
    r.completion_tokens = i;
    r.prompt_digest = i % 5 ? 0x0123456789abcdefu + i : 0;
    r.finish_reason = i % 2 ? "stop" : "";
    r.detail = i % 3 ? NULL : "it said \"no\",\nthen closed";
    if (i == WITH_CHUNKS)
        add_chunks(&r, thread);
    return r;
}

static void *feed(void *self)
{
    struct feeder *f = self;

    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint32_t t = f->number;
        struct rec_chunk chunks[3] = {chunk_of(t, i, 0), chunk_of(t, i, 1), chunk_of(t, i, 2)};
        struct rec_instant instant = {
            .t_ns = i, .width_ns = 5, .mw = i % 2 ? 1000 : -1, .late_ns = ABSENT_I64, .tag = 1};
        struct rec_counter counter = {.t_ns = i, .mj = (int64_t)i << 20, .width_ns = 4, .why = (uint8_t)(i % 4)};
        struct rec_buffer buffer[2] = {{i * 2ll, 7}, {i * 2ll + 1, 8}};
        struct rec_gpu_state gpu_state = {.t_ns = i,
                                          .memory_used_bytes = 1ll << 37,
                                          .slowdowns = ABSENT_I64,
                                          .utilisation = 100,
                                          .sm_mhz = -1,
                                          .temperature_c = 0,
                                          .processes = 1};
        struct rec_process process = {.t_ns = i, .pid = 1234, .memory_bytes = ABSENT_I64, .own = (int8_t)(i % 3) - 1};
        struct rec_request request = request_of(t, i);
        struct rec_clock clock = {(int64_t)i * THREADS + t, 0, 70};
        struct rec_metrics metrics = {
            .t_ns = (int64_t)i * THREADS + t, .took_ns = ABSENT_I64, .running = 0.1 * i, .waiting = NAN};

        f->sink.chunk(f->sink.self, chunks, 3);
        f->sink.instant(f->sink.self, t, &instant);
        f->sink.counter(f->sink.self, t, &counter);
        f->sink.buffer(f->sink.self, t, buffer, 2);
        f->sink.state(f->sink.self, t, &gpu_state, &process, 1);
        f->sink.request(f->sink.self, &request);
        f->sink.clock(f->sink.self, &clock);
        f->sink.metrics(f->sink.self, &metrics, span_of("a 1\nb 2"));
        f->sink.log(f->sink.self, i, 'e', span_of("a line"));
        if (i % 500 == 0) {
            struct rec_boundary mark = {(int64_t)i * THREADS + t, (enum boundary)(i / 500), NULL};
            struct rec_fact fact = {i, "identity.model", CHECK_PASSED, "x", "y", NULL};

            f->sink.boundary(f->sink.self, &mark);
            f->sink.fact(f->sink.self, &fact);
        }
    }
    return NULL;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static void check_request(const struct rec_request *got)
{
    struct rec_request right = request_of(got->id / ROUNDS, got->id % ROUNDS), plain = *got;

    assert_true(same_text(got->finish_reason, right.finish_reason));
    assert_true(same_text(got->detail, right.detail));
    plain.finish_reason = right.finish_reason;
    plain.detail = right.detail;
    /* Between status and connect_ns lies padding. */
    assert_memory_equal(&plain, &right, offsetof(struct rec_request, status) + sizeof right.status);
    assert_memory_equal(&plain.connect_ns, &right.connect_ns, sizeof right - offsetof(struct rec_request, connect_ns));
}

static void check_loaded(const struct records *r)
{
    assert_int_equal(r->chunk_count, THREADS * ROUNDS * 3);
    for (size_t i = 0; i < r->chunk_count; i++) {
        /* In order of time: round, then thread (10 ns apart), then the chunk of the three. */
        struct rec_chunk right = chunk_of((uint32_t)(i / 3 % THREADS), (uint32_t)(i / 3 / THREADS), (uint32_t)(i % 3));

        assert_memory_equal(&r->chunks[i], &right, sizeof right);
    }
    assert_int_equal(r->request_count + r->warmup_count, THREADS * ROUNDS);
    assert_int_equal(r->warmup_count, THREADS * ROUNDS / 10);
    for (size_t i = 0; i < r->request_count; i++)
        check_request(&r->requests[i]);
    for (size_t i = 0; i < r->warmup_count; i++)
        check_request(&r->warmups[i]);
    assert_int_equal(r->gpu_count, THREADS);
    for (size_t g = 0; g < THREADS; g++) {
        const struct rec_gpu *gpu = &r->gpus[g];

        assert_int_equal(gpu->instant_count, ROUNDS);
        assert_int_equal(gpu->counter_count, ROUNDS);
        assert_int_equal(gpu->buffer_count, 2 * ROUNDS);
        assert_int_equal(gpu->state_count, ROUNDS);
        assert_int_equal(gpu->process_count, ROUNDS);
        for (int64_t i = 0; i < ROUNDS; i++) {
            assert_int_equal(gpu->instant[i].t_ns, i);
            assert_int_equal(gpu->instant[i].mw, i % 2 ? 1000 : -1);
            assert_true(gpu->instant[i].late_ns == ABSENT_I64);
            assert_true(gpu->counter[i].mj == i << 20);
            assert_int_equal(gpu->counter[i].why, i % 4);
            assert_int_equal(gpu->buffer[2 * i + 1].mw, 8);
            assert_true(gpu->state[i].memory_used_bytes == 1ll << 37);
            assert_int_equal(gpu->process[i].own, i % 3 - 1);
        }
    }
    assert_int_equal(r->clock_count, THREADS * ROUNDS);
    assert_int_equal(r->metrics_count, THREADS * ROUNDS);
    for (size_t i = 0; i < r->metrics_count; i++) {
        assert_close(r->metrics[i].running, 0.1 * (double)(i / THREADS), 0);
        assert_true(isnan(r->metrics[i].waiting));
    }
    assert_int_equal(r->boundary_count, THREADS * ROUNDS / 500);
    assert_int_equal(r->fact_count, THREADS * ROUNDS / 500);
    assert_string_equal(r->facts[0].seen, "y");
}

/* What the recorder counted of some files, against the feed. */
static void check_series(const struct records *r, const struct recorder_counts *counts)
{
    static const struct rec_series right[] = {
        /* t_ns, gpu, width_ns, tag are always there; mw in each second round */
        {"instant.csv", THREADS * ROUNDS, THREADS * ROUNDS * 4 + THREADS * ROUNDS / 2, 0, ROUNDS - 1},
        {"buffer.csv", THREADS * ROUNDS * 2, THREADS * ROUNDS * 2 * 3, 0, 2 * ROUNDS - 1},
        /* running in two of three rounds, but not in round 0 */
        {"chunks.csv", THREADS * ROUNDS * 3, THREADS * 3 * (ROUNDS * 5 + ROUNDS - (ROUNDS + 2) / 3), 0,
         (ROUNDS - 1) * 1000 + (THREADS - 1) * 10 + 2},
        {"facts.csv", THREADS * ROUNDS / 500, THREADS * ROUNDS / 500 * 5, 0, ROUNDS - 500},
    };

    assert_int_equal(counts->series_count, CSV_COUNT - 1); /* gpus.csv is no stream */
    assert_int_equal(r->run.series_count, counts->series_count);
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        size_t at = 0;

        while (at < r->run.series_count && strcmp(r->run.series[at].file, right[i].file) != 0)
            at++;
        assert_true(at < r->run.series_count);
        const struct rec_series *s = &r->run.series[at];
        assert_int_equal(s->rows, right[i].rows);
        assert_int_equal(s->cells, right[i].cells);
        assert_int_equal(s->first, right[i].first);
        assert_int_equal(s->last, right[i].last);
    }
}

static void replay_equality(void **state)
{
    struct fixture *f = *state;
    struct feeder feeders[THREADS] = {0};
    struct recorder_counts counts;
    struct recorder *r;
    struct records loaded;
    struct buf text = {0};

    assert_ok(recorder_open(&r, f->folder, NULL, &f->e), f->e);
    for (uint32_t i = 0; i < THREADS; i++) {
        feeders[i] = (struct feeder){.sink = recorder_sink(r), .number = i};
        assert_int_equal(pthread_create(&feeders[i].thread, NULL, feed, &feeders[i]), 0);
    }
    assert_ok(recorder_flush(r, 10000000000, &f->e), f->e); /* while they feed */
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(feeders[i].thread, NULL);
    assert_false(recorder_failed(r, NULL));
    assert_ok(recorder_close(r, &counts, &f->e), f->e);
    assert_int_equal(counts.lost_rows, 0);
    /* 3 chunks, 2 buffer rows, 9 others (metrics are two files), and 2 each 500 rounds. */
    assert_int_equal(counts.rows, THREADS * ROUNDS * 14 + THREADS * ROUNDS / 500 * 2);
    finish_documents(f, THREADS, &counts);
    assert_ok(records_load(f->folder, &f->arena, &loaded, &f->e), f->e);
    assert_string_equal(loaded.damage ? loaded.damage : "", "");
    check_loaded(&loaded);
    assert_int_equal(file_lines(f, "engine.log", &text), THREADS * ROUNDS);
    assert_int_equal(file_lines(f, "metrics.prom", &text), 3 * THREADS * ROUNDS);
    assert_ok(archive_seal(f->folder, &f->e), f->e);
    assert_ok(records_load(f->folder, &f->arena, &loaded, &f->e), f->e);
    assert_true(loaded.sealed);
    assert_null(loaded.damage);
    check_loaded(&loaded);
    check_series(&loaded, &counts);
    buf_done(&text);
}

/* ---- delay ---- */

static void rows_reach_the_file_soon(void **state)
{
    struct fixture *f = *state;
    const struct recorder_options fast = {.flush_ns = 50000000};
    struct rec_chunk chunk = chunk_of(0, 0, 0);
    struct recorder *r;
    struct buf text = {0};
    size_t lines = 1;

    assert_ok(recorder_open(&r, f->folder, &fast, &f->e), f->e);
    assert_int_equal(file_lines(f, "chunks.csv", &text), 1); /* the header at once */
    recorder_sink(r).chunk(r, &chunk, 1);
    for (int i = 0; i < 100 && lines == 1; i++) { /* 5 s at most: slow machines */
        usleep(50000);
        lines = file_lines(f, "chunks.csv", &text);
    }
    assert_int_equal(lines, 2);
    assert_ok(recorder_close(r, NULL, &f->e), f->e);
    assert_false(recorder_open(&r, f->folder, NULL, &f->e)); /* nothing is overwritten */
    assert_non_null(strstr(f->e.text, "File exists"));
    buf_done(&text);
}

/* ---- secrets ---- */

static void secrets_stay_out(void **state)
{
    struct fixture *f = *state;
    struct secrets secrets = {0};
    const struct recorder_options o = {.secrets = &secrets};
    struct rec_request request = rec_request_absent();
    struct recorder_counts counts;
    struct record_sink sink;
    struct recorder *r;

    secrets_add(&secrets, "KEY", span_of("sk-12345"));
    assert_ok(recorder_open(&r, f->folder, &o, &f->e), f->e);
    sink = recorder_sink(r);
    sink.boundary(r, &(struct rec_boundary){1, BOUNDARY_FAILED, "with sk-12345"});
    sink.fact(r, &(struct rec_fact){1, "a.b", CHECK_FAILED, "sk-12345", "sk-12345 sk-12345", NULL});
    request.detail = "401: sk-12345";
    sink.request(r, &request);
    sink.metrics(r, &(struct rec_metrics){.t_ns = 1, .took_ns = 2}, span_of("m{k=\"sk-12345\"} 1\n"));
    sink.log(r, 1, 'o', span_of("args: sk-12345"));
    assert_ok(recorder_close(r, &counts, &f->e), f->e);
    assert_int_equal(counts.secrets_replaced, 7); /* 1 + 3 + 1 + 1 + 1 */
    assert_int_equal(system(arena_format(&f->arena, "! grep -r sk-12345 %s", f->folder)), 0);
    assert_int_equal(system(arena_format(&f->arena, "grep -qx '1,o,args: .secret:KEY.' %s/engine.log", f->folder)), 0);
    secrets_done(&secrets);
}

/* ---- a disk that doesn't take it ---- */

/* Feeds chunks until the recorder fails; how many were handed over. */
static uint32_t feed_until_failed(struct recorder *r, struct err *ret_error)
{
    struct record_sink sink = recorder_sink(r);
    uint32_t i = 0;

    for (; i < 2000000 && !recorder_failed(r, ret_error); i++) {
        struct rec_chunk chunk = chunk_of(0, i, 0);

        sink.chunk(sink.self, &chunk, 1);
        if (i % 20000 == 0)
            usleep(20000);
    }
    return i;
}

static void check_prefix(struct fixture *f, uint32_t least)
{
    struct records loaded;

    finish_documents(f, 1, NULL);
    assert_ok(records_load(f->folder, &f->arena, &loaded, &f->e), f->e);
    assert_null(loaded.damage);
    assert_true(loaded.chunk_count >= least);
    for (size_t i = 0; i < loaded.chunk_count; i++) {
        struct rec_chunk right = chunk_of(0, (uint32_t)i, 0);

        assert_memory_equal(&loaded.chunks[i], &right, sizeof right);
    }
}

static void full_file_fails_and_loses_nothing(void **state)
{
    struct fixture *f = *state;
    const struct recorder_options fast = {.flush_ns = 10000000};
    struct rlimit old, small;
    struct recorder_counts counts;
    struct recorder *r;
    struct err e;
    uint32_t given;

    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old);
    small = (struct rlimit){100001, old.rlim_max};
    assert_ok(recorder_open(&r, f->folder, &fast, &f->e), f->e);
    setrlimit(RLIMIT_FSIZE, &small); /* writes end in the middle of a line, as on a full disk */
    given = feed_until_failed(r, &e);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_int_equal(e.kind, ERR_SYSTEM);
    assert_non_null(strstr(e.text, "chunks.csv can't be written"));
    assert_non_null(strstr(e.text, "bytes are free"));
    assert_non_null(strstr(e.text, "File too large"));
    /* There is room again: what waited is written, and the failure stays known. */
    assert_false(recorder_close(r, &counts, &f->e));
    assert_string_equal(f->e.text, e.text);
    assert_int_equal(counts.lost_rows, 0);
    check_prefix(f, given);
}

static void full_file_keeps_whole_lines(void **state)
{
    struct fixture *f = *state;
    const struct recorder_options fast = {.flush_ns = 10000000};
    struct rlimit old, small;
    struct recorder_counts counts;
    struct recorder *r;
    struct buf text = {0};
    struct err e;
    uint32_t given;

    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old);
    small = (struct rlimit){100001, old.rlim_max};
    assert_ok(recorder_open(&r, f->folder, &fast, &f->e), f->e);
    setrlimit(RLIMIT_FSIZE, &small);
    given = feed_until_failed(r, &e);
    assert_false(recorder_close(r, &counts, &f->e));
    setrlimit(RLIMIT_FSIZE, &old);
    size_t lines = file_lines(f, "chunks.csv", &text);
    assert_int_equal(counts.lost_rows + lines - 1, given); /* every row is there or counted */
    assert_true(text.p[text.n - 1] == '\n');
    check_prefix(f, 1);
    buf_done(&text);
}

static void full_disk_names_the_free_space(void **state)
{
    struct fixture *f = *state;
    const struct recorder_options fast = {.flush_ns = 10000000};
    struct recorder *r;
    struct plan plan;
    struct err e;

    if (mount("tmpfs", f->folder, "tmpfs", 0, "size=512k") != 0) {
        print_message("skipped: mounting a small tmpfs needs root (CAP_SYS_ADMIN)\n");
        skip();
    }
    plan_defaults(&plan);
    assert_ok(archive_write_plan(f->folder, &plan, NULL, &f->e), f->e);
    finish_documents(f, 1, NULL);
    assert_ok(recorder_open(&r, f->folder, &fast, &f->e), f->e);
    feed_until_failed(r, &e);
    bool closed = recorder_close(r, NULL, &f->e);
    struct records loaded;
    bool good = records_load(f->folder, &f->arena, &loaded, &f->e);
    assert_int_equal(umount(f->folder), 0);
    assert_false(closed);
    assert_non_null(strstr(e.text, "No space left on device"));
    assert_non_null(strstr(e.text, "(0 bytes are free there; free some space"));
    assert_true(good);
    assert_null(loaded.damage);
    assert_true(loaded.chunk_count > 1000);
}

static void memory_is_bounded(void **state)
{
    struct fixture *f = *state;
    const struct recorder_options o = {.memory_max = 10000, .flush_ns = 3600ll * 1000000000};
    struct recorder_counts counts;
    struct recorder *r;
    struct err e;
    uint32_t given;

    assert_ok(recorder_open(&r, f->folder, &o, &f->e), f->e);
    given = feed_until_failed(r, &e);
    for (int i = 0; i < 10; i++) {
        struct rec_chunk chunk = chunk_of(0, given, 0);
        recorder_sink(r).chunk(r, &chunk, 1);
    }
    assert_non_null(strstr(e.text, "chunks.csv: records are lost"));
    assert_false(recorder_close(r, &counts, &f->e));
    assert_int_equal(counts.lost_rows, 11);
    assert_true(counts.memory_peak_bytes <= 10000);
    check_prefix(f, given - 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(replay_equality),
        TEST(rows_reach_the_file_soon),
        TEST(secrets_stay_out),
        TEST(full_file_fails_and_loses_nothing),
        TEST(full_file_keeps_whole_lines),
        TEST(full_disk_names_the_free_space),
        TEST(memory_is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
