/* convert-recording RECORDING_DIR RUN_DIR: a recording of a real service's life as a sealed run folder. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include "golden/recording.h"
#include "store/archive.h"
#include "store/csv_records.h"

/* One table: n records of one GPU each, or of none. */
struct table {
    struct buf text;
    enum csv_file id;
};

static void put(struct table *t, uint32_t gpu, const void *records, size_t n)
{
    const char *at = records;
    for (size_t i = 0; i < n; i++)
        csv_records_put(&t->text, t->id, gpu, at + i * csv_records_size(t->id));
}

static bool write_tables(const char *folder, const struct records *r, struct err *e)
{
    struct table t[CSV_COUNT] = {0};
    for (int i = 0; i < CSV_COUNT; i++) {
        t[i].id = (enum csv_file)i;
        csv_records_header(t[i].id, &t[i].text);
    }
    put(&t[CSV_BOUNDARIES], 0, r->boundaries, r->boundary_count);
    put(&t[CSV_CLOCK], 0, r->clocks, r->clock_count);
    put(&t[CSV_REQUESTS], 0, r->requests, r->request_count);
    put(&t[CSV_CHUNKS], 0, r->chunks, r->chunk_count);
    put(&t[CSV_METRICS], 0, r->metrics, r->metrics_count);
    for (uint32_t g = 0; g < r->gpu_count; g++) {
        put(&t[CSV_INSTANT], g, r->gpus[g].instant, r->gpus[g].instant_count);
        put(&t[CSV_COUNTER], g, r->gpus[g].counter, r->gpus[g].counter_count);
        put(&t[CSV_BUFFER], g, r->gpus[g].buffer, r->gpus[g].buffer_count);
        put(&t[CSV_GPU_STATE], g, r->gpus[g].state, r->gpus[g].state_count);
    }
    bool ok = archive_write_gpus(folder, r->gpus, r->gpu_count, e);
    for (int i = 0; i < CSV_COUNT; i++) {
        if (ok && i != CSV_GPUS)
            ok = archive_write_file(folder, csv_records_file(t[i].id), buf_span(&t[i].text), e);
        buf_done(&t[i].text);
    }
    return ok;
}

static bool convert(const char *from, const char *to, struct err *e)
{
    struct arena a = {0};
    struct records r;
    bool ok = recording_load(from, &a, &r, e);
    if (ok && mkdir(to, 0777) != 0)
        ok = err_set_errno(e, ERR_SYSTEM, errno, "can't make %s", to);
    char sha256[65];
    if (ok)
        ok = archive_write_plan(to, &r.plan, sha256, e);
    if (ok) {
        r.run.id = archive_id(to, &a);
        r.run.plan_sha256 = sha256;
        ok = archive_write_run(to, &r.run, e) && write_tables(to, &r, e) && archive_seal(to, e);
    }
    arena_done(&a);
    return ok;
}

int main(int argc, char **argv)
{
    struct err e = {0};
    if (argc != 3) {
        fprintf(stderr, "usage: convert-recording RECORDING_DIR RUN_DIR\n");
        return 2;
    }
    if (!convert(argv[1], argv[2], &e)) {
        fprintf(stderr, "convert-recording: %s\n", e.text);
        return 1;
    }
    return 0;
}
