/* Records made in memory as a real run folder, written by the same functions as a run's. */
#ifndef JTOK_TESTS_CLI_RUN_FOLDER_H
#define JTOK_TESTS_CLI_RUN_FOLDER_H

#include "check.h"
#include "whole_life.h"
#include "store/records.h"
#include "store/csv_records.h"

struct row_set {
    enum csv_file table;
    struct buf text;
};

static inline void put_rows(struct buf *b, enum csv_file t, uint32_t gpu, const void *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        csv_records_put(b, t, gpu, (const char *)rows + i * csv_records_size(t));
}

/* One file, and what the recorder would have counted of it. */
static inline struct rec_series write_rows(const struct records *r, const char *folder, enum csv_file t)
{
    struct buf b = {0};
    struct err e = {0};
    csv_records_header(t, &b);
    for (uint32_t g = 0; g < r->gpu_count; g++) {
        const struct rec_gpu *x = &r->gpus[g];
        if (t == CSV_INSTANT)
            put_rows(&b, t, g, x->instant, x->instant_count);
        else if (t == CSV_COUNTER)
            put_rows(&b, t, g, x->counter, x->counter_count);
        else if (t == CSV_BUFFER)
            put_rows(&b, t, g, x->buffer, x->buffer_count);
        else if (t == CSV_GPU_STATE)
            put_rows(&b, t, g, x->state, x->state_count);
        else if (t == CSV_PROCESSES)
            put_rows(&b, t, g, x->process, x->process_count);
    }
    if (t == CSV_BOUNDARIES) {
        put_rows(&b, t, 0, r->boundaries, r->boundary_count);
    } else if (t == CSV_CLOCK) {
        put_rows(&b, t, 0, r->clocks, r->clock_count);
    } else if (t == CSV_FACTS) {
        put_rows(&b, t, 0, r->facts, r->fact_count);
    } else if (t == CSV_REQUESTS) {
        put_rows(&b, t, 0, r->warmups, r->warmup_count);
        put_rows(&b, t, 0, r->requests, r->request_count);
    } else if (t == CSV_CHUNKS) {
        put_rows(&b, t, 0, r->chunks, r->chunk_count);
    } else if (t == CSV_METRICS) {
        put_rows(&b, t, 0, r->metrics, r->metrics_count);
    }
    assert_ok(archive_write_file(folder, csv_records_file(t), buf_span(&b), &e), e);

    struct arena a = {0};
    struct csv_records rows = csv_records_read(t, buf_span(&b), r->gpu_count, &a);
    struct rec_series s = {.file = csv_records_file(t),
                           .rows = (int64_t)rows.count,
                           .cells = (int64_t)rows.cells,
                           .first = ABSENT_I64,
                           .last = ABSENT_I64};
    for (size_t i = 0; i < rows.count; i++) {
        int64_t time = csv_records_time(t, (const char *)rows.records + i * csv_records_size(t));
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
    r->run.series = arena_array(a, CSV_COUNT, sizeof *r->run.series);
    r->run.series_count = 0;
    for (enum csv_file t = CSV_BOUNDARIES; t < CSV_COUNT; t++)
        r->run.series[r->run.series_count++] = write_rows(r, folder, t);
    assert_ok(archive_write_run(folder, &r->run, &e), e);
    return folder;
}

#endif
