/* Records made in memory as a real run folder, written by the same functions as a run's. */
#ifndef JTOK_TESTS_CLI_RUN_FOLDER_H
#define JTOK_TESTS_CLI_RUN_FOLDER_H

#include "check.h"
#include "whole_life.h"
#include "store/archive.h"
#include "store/rows.h"

struct row_set {
    enum row_table table;
    struct buf text;
};

static inline void put_rows(struct buf *b, enum row_table t, uint32_t gpu, const void *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        rows_put(b, t, gpu, (const char *)rows + i * rows_size(t));
}

/* One file, and what the recorder would have counted of it. */
static inline struct rec_series write_rows(const struct records *r, const char *folder, enum row_table t)
{
    struct buf b = {0};
    struct err e = {0};
    rows_header(t, &b);
    for (uint32_t g = 0; g < r->gpu_count; g++) {
        const struct rec_gpu *x = &r->gpus[g];
        if (t == ROWS_INSTANT)
            put_rows(&b, t, g, x->instant, x->instant_count);
        else if (t == ROWS_COUNTER)
            put_rows(&b, t, g, x->counter, x->counter_count);
        else if (t == ROWS_BUFFER)
            put_rows(&b, t, g, x->buffer, x->buffer_count);
        else if (t == ROWS_GPU_STATE)
            put_rows(&b, t, g, x->state, x->state_count);
        else if (t == ROWS_PROCESSES)
            put_rows(&b, t, g, x->process, x->process_count);
    }
    if (t == ROWS_MARKS) {
        put_rows(&b, t, 0, r->boundaries, r->boundary_count);
    } else if (t == ROWS_CLOCK) {
        put_rows(&b, t, 0, r->clocks, r->clock_count);
    } else if (t == ROWS_FACTS) {
        put_rows(&b, t, 0, r->facts, r->fact_count);
    } else if (t == ROWS_REQUESTS) {
        put_rows(&b, t, 0, r->warmups, r->warmup_count);
        put_rows(&b, t, 0, r->requests, r->request_count);
    } else if (t == ROWS_CHUNKS) {
        put_rows(&b, t, 0, r->chunks, r->chunk_count);
    } else if (t == ROWS_METRICS) {
        put_rows(&b, t, 0, r->metrics, r->metrics_count);
    }
    assert_ok(archive_write_file(folder, rows_file(t), buf_span(&b), &e), e);

    struct arena a = {0};
    struct rows rows = rows_read(t, buf_span(&b), r->gpu_count, &a);
    struct rec_series s = {.file = rows_file(t),
                           .rows = (int64_t)rows.count,
                           .cells = (int64_t)rows.cells,
                           .first = ABSENT_I64,
                           .last = ABSENT_I64};
    for (size_t i = 0; i < rows.count; i++) {
        int64_t time = rows_time(t, (const char *)rows.records + i * rows_size(t));
        if (time != ABSENT_I64 && (s.first == ABSENT_I64 || time < s.first))
            s.first = time;
        s.last = time > s.last ? time : s.last;
    }
    arena_done(&a);
    buf_done(&b);
    return s;
}

/* Makes RUNS/<id of `realtime_ns`>-label, not yet sealed. */
static inline const char *write_folder(struct records *r, const char *runs, const char *label, int64_t realtime_ns,
                                       struct arena *a)
{
    const char *folder;
    char sha256[65];
    struct err e = {0};
    assert_ok(archive_create(runs, label, realtime_ns, a, &folder, &e), e);
    r->run.id = archive_id(folder, a);
    assert_ok(archive_write_plan(folder, &r->plan, sha256, &e), e);
    r->run.plan_sha256 = arena_text(a, sha256);
    assert_ok(archive_write_gpus(folder, r->gpus, r->gpu_count, &e), e);
    assert_ok(archive_write_client(folder, &r->client, &e), e);
    r->run.series = arena_array(a, ROWS_COUNT, sizeof *r->run.series);
    r->run.series_count = 0;
    for (enum row_table t = ROWS_MARKS; t < ROWS_COUNT; t++)
        r->run.series[r->run.series_count++] = write_rows(r, folder, t);
    assert_ok(archive_write_run(folder, &r->run, &e), e);
    return folder;
}

#endif
