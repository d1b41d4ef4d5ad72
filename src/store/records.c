#include "store/records.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/file.h"
#include "base/must.h"
#include "base/sort.h"
#include "model/method.h"
#include "model/record_order.h"
#include "schema/json.h"
#include "store/csv_records.h"
#include "store/records_check.h"
#include "text/digest.h"
#include "text/file_read.h"

struct records_loader {
    const struct record_files *files;
    const char *folder;
    struct arena *a;
    struct records *r;
    struct damage damage;
};

/* The text of one file, or none where that is not there. One that a whole, sealed folder lacks was taken away. */
static bool read_text(struct records_loader *l, const char *name, struct buf *b)
{
    struct err e;
    bool there = false;
    if (l->files->read(l->files->self, name, b, &there, &e))
        return true;
    if (there)
        damage_add(&l->damage, "%s", e.text);
    else if (l->r->sealed)
        damage_add(&l->damage, "%s is missing", name);
    return false;
}

/* What the recorder counted, against what was read: only of a file whose lines are all right, as the others are told
 * of already. */
static void check_series(struct records_loader *l, enum csv_file t, const struct csv_records *rows)
{
    const struct rec_run *run = &l->r->run;
    struct rec_series read = {
        .rows = (int64_t)rows->count, .cells = (int64_t)rows->cells, .first = ABSENT_I64, .last = ABSENT_I64};
    size_t i = 0;

    while (i < run->series_count && !(run->series[i].file && strcmp(run->series[i].file, csv_records_file(t)) == 0))
        i++;
    if (i == run->series_count) {
        bool counts = t != CSV_GPUS && run->method_id && strcmp(run->method_id, METHOD_ID) == 0;
        if (l->r->sealed && counts)
            damage_add(&l->damage, "run.json does not say how many rows %s has", csv_records_file(t));
        return;
    }
    if (rows->bad_count)
        return;
    for (size_t k = 0; k < rows->count; k++) {
        int64_t time = csv_records_time(t, (const char *)rows->records + k * csv_records_size(t));
        if (time != ABSENT_I64 && (read.first == ABSENT_I64 || time < read.first))
            read.first = time;
        read.last = time > read.last ? time : read.last;
    }
    const struct {
        const char *what;
        int64_t counted, read;
    } sums[] = {{"rows", run->series[i].rows, read.rows},
                {"filled fields", run->series[i].cells, read.cells},
                {"as its first time", run->series[i].first, read.first},
                {"as its last time", run->series[i].last, read.last}};
    for (size_t k = 0; k < sizeof sums / sizeof *sums; k++)
        if (sums[k].counted != sums[k].read) {
            damage_add(&l->damage, "%s has %lld %s, but run.json counted %lld when it was written", csv_records_file(t),
                       (long long)sums[k].read, sums[k].what, (long long)sums[k].counted);
            return;
        }
}

static struct csv_records load_rows(struct records_loader *l, enum csv_file t)
{
    struct buf text = {0};
    struct csv_records rows = {0};
    if (read_text(l, csv_records_file(t), &text)) {
        rows = csv_records_read(t, buf_span(&text), l->r->gpu_count, l->a);
        if (rows.bad_count)
            damage_add(&l->damage, "%s: %s%s", csv_records_file(t), rows.bad,
                       rows.bad_count > 1 ? ", and more lines" : "");
        if (rows.cut && l->r->sealed)
            damage_add(&l->damage, "%s ends in the middle of a line", csv_records_file(t));
        if (text.n == 0 && l->r->sealed)
            damage_add(&l->damage, "%s is empty, without even its header", csv_records_file(t));
        check_series(l, t, &rows);
    }
    buf_done(&text);
    return rows;
}

/* ---- orders ---- */

static bool before_i64(const void *a, const void *b)
{
    return *(const int64_t *)a < *(const int64_t *)b;
}

/* Every series begins with its time. */
_Static_assert(offsetof(struct rec_boundary, t_ns) == 0 && offsetof(struct rec_clock, t_ns) == 0 &&
                   offsetof(struct rec_fact, t_ns) == 0 && offsetof(struct rec_instant, t_ns) == 0 &&
                   offsetof(struct rec_counter, t_ns) == 0 && offsetof(struct rec_buffer, realtime_us) == 0 &&
                   offsetof(struct rec_gpu_state, t_ns) == 0 && offsetof(struct rec_process, t_ns) == 0 &&
                   offsetof(struct rec_metrics, t_ns) == 0,
               "sorting by time reads the first member");

static bool before_chunk(const void *a, const void *b)
{
    const struct rec_chunk *x = a, *y = b;
    return x->t_ns != y->t_ns ? x->t_ns < y->t_ns : x->request < y->request;
}

static bool before_request(const void *a, const void *b)
{
    const struct rec_request *x = a, *y = b;
    return x->stage != y->stage ? x->stage < y->stage : x->id < y->id;
}

/* ---- parts ---- */

static void load_series(struct records_loader *l, enum csv_file t, void *ret_items, size_t *ret_count)
{
    struct csv_records rows = load_rows(l, t);
    sort_stable(rows.records, rows.count, csv_records_size(t), before_i64);
    *(void **)ret_items = rows.records;
    *ret_count = rows.count;
}

static void set_series(struct rec_gpu *g, enum csv_file file, void *items, size_t count)
{
    if (file == CSV_INSTANT) {
        g->instant = items;
        g->instant_count = count;
    } else if (file == CSV_COUNTER) {
        g->counter = items;
        g->counter_count = count;
    } else if (file == CSV_BUFFER) {
        g->buffer = items;
        g->buffer_count = count;
    } else if (file == CSV_GPU_STATE) {
        g->state = items;
        g->state_count = count;
    } else {
        must(file == CSV_PROCESSES);
        g->process = items;
        g->process_count = count;
    }
}

/* Deals the rows of one file out to their GPUs, each in order of time. */
static void deal(struct records_loader *l, enum csv_file file)
{
    const struct csv_records rows = load_rows(l, file);
    size_t size = csv_records_size(file), gpus = l->r->gpu_count;
    size_t *counts = arena_array(l->a, gpus, sizeof *counts), *dealt = arena_array(l->a, gpus, sizeof *dealt);
    char **items = arena_array(l->a, gpus, sizeof *items);
    for (size_t i = 0; i < rows.count; i++) {
        assert(rows.gpus[i] < gpus);
        counts[rows.gpus[i]]++;
    }
    for (size_t g = 0; g < gpus; g++)
        items[g] = arena_array(l->a, counts[g], size);
    for (size_t i = 0; i < rows.count; i++) {
        uint32_t g = rows.gpus[i];
        memcpy(items[g] + dealt[g]++ * size, (char *)rows.records + i * size, size);
    }
    for (size_t g = 0; g < gpus; g++) {
        sort_stable(items[g], counts[g], size, before_i64);
        set_series(&l->r->gpus[g], file, items[g], counts[g]);
    }
}

/* The series go by the lines of gpus.csv: with one of them wrong none can be dealt out. */
static void load_gpus(struct records_loader *l)
{
    struct csv_records gpus = load_rows(l, CSV_GPUS);
    l->r->gpus = gpus.records;
    l->r->gpu_count = gpus.bad_count ? 0 : gpus.count;
    check_gpus(l->r, &l->damage);
    static const enum csv_file series[] = {CSV_INSTANT, CSV_COUNTER, CSV_BUFFER, CSV_GPU_STATE, CSV_PROCESSES};
    for (size_t i = 0; i < sizeof series / sizeof *series && l->r->gpu_count; i++)
        deal(l, series[i]);
}

/* True when no request was left out. */
static bool load_request_rows(struct records_loader *l)
{
    struct csv_records rows = load_rows(l, CSV_REQUESTS), chunks = load_rows(l, CSV_CHUNKS);
    struct rec_request *all = rows.records;
    struct records *r = l->r;
    size_t others = 0;
    sort_stable(all, rows.count, sizeof *all, before_request);
    while (others < rows.count && all[others].stage != REQUEST_FORMAL)
        others++;
    r->warmups = all;
    r->warmup_count = others;
    r->requests = all + others;
    r->request_count = rows.count - others;
    must(r->warmup_count + r->request_count == rows.count);
    check_requests(r, chunks.records, chunks.count, r->sealed && rows.bad_count == 0, &l->damage);
    sort_stable(chunks.records, chunks.count, sizeof(struct rec_chunk), before_chunk);
    r->chunks = chunks.records;
    r->chunk_count = chunks.count;
    return rows.bad_count == 0 && r->warmup_count + r->request_count == rows.count;
}

/* Reads a document; its text's SHA-256 to ret_sha256, which may be null. */
static bool load_document(struct records_loader *l, const struct schema *s, void *object, const char *name,
                          bool *ret_there, char ret_sha256[DIGEST_HEX], struct err *e)
{
    const char *path = arena_format(l->a, "%s/%s", l->folder, name);
    struct buf text = {0};
    bool good = l->files->read(l->files->self, name, &text, ret_there, e) &&
                schema_json_read(s, object, path, buf_span(&text), l->a, e);
    if (good && ret_sha256)
        digest_bytes(buf_span(&text), ret_sha256);
    buf_done(&text);
    return good;
}

/* stamp_source in run.json is known where there is a client.json. */
static void load_client(struct records_loader *l)
{
    struct err e;
    bool there = false;
    if (load_document(l, &rec_client_schema, &l->r->client, "client.json", &there, NULL, &e))
        return;
    l->r->client = (struct rec_client){0};
    if (there)
        damage_add(&l->damage, "%s", e.text);
    else if (l->r->sealed && l->r->run.series_count && l->r->run.stamp_source)
        damage_add(&l->damage, "client.json is missing");
}

/* A run that was cut before its first run.json: what can be had from elsewhere. */
static void load_run(struct records_loader *l, const char *plan_sha256)
{
    struct rec_run *run = &l->r->run;
    struct err e;
    bool there = false;
    if (!load_document(l, &rec_run_schema, run, "run.json", &there, NULL, &e)) {
        schema_absent(&rec_run_schema, run);
        damage_add(&l->damage, "%s", there ? e.text : "run.json is missing");
    }
    if (!run->id)
        run->id = archive_id(l->folder, l->a);
    if (run->plan_sha256 && strcmp(run->plan_sha256, plan_sha256) != 0)
        damage_add(&l->damage,
                   "plan.json is not the plan that the run began with: its hash differs from plan_sha256 in run.json");
}

bool records_read(const struct record_files *files, const char *folder, const struct archive_check *seal,
                  struct arena *a, struct records *ret_records, struct err *e)
{
    must(files->read && folder && seal);
    struct records r = {.sealed = seal->sealed && seal->bad_records == 0};
    struct records_loader l = {.files = files, .folder = folder, .a = a, .r = &r};
    char plan_sha256[DIGEST_HEX];
    bool there = false;
    if (!load_document(&l, &plan_schema, &r.plan, "plan.json", &there, plan_sha256, e))
        return there ? false : err_set(e, ERR_RECORDS, "%s is not a run folder: it has no plan.json.", folder);
    buf_str(&l.damage.lines, seal->records_text);
    load_run(&l, plan_sha256);
    load_series(&l, CSV_BOUNDARIES, &r.boundaries, &r.boundary_count);
    load_series(&l, CSV_CLOCK, &r.clocks, &r.clock_count);
    load_series(&l, CSV_FACTS, &r.facts, &r.fact_count);
    load_series(&l, CSV_METRICS, &r.metrics, &r.metrics_count);
    if (r.run.began_realtime_ns == ABSENT_I64 && r.clock_count)
        r.run.began_realtime_ns = r.clocks[0].offset_ns;
    load_gpus(&l);
    bool whole = load_request_rows(&l);
    load_client(&l);
    check_sequence(&r, whole, &l.damage);
    if (l.damage.lines.n)
        r.damage = arena_copy(a, l.damage.lines.p, l.damage.lines.n - 1);
    buf_done(&l.damage.lines);
    records_order(&r);
    *ret_records = r;
    return true;
}

/* ---- a folder ---- */

/* The plain file goes first: beside it, a packed one comes from a seal that was broken off. */
static bool read_file(void *self, const char *name, struct buf *b, bool *ret_there, struct err *e)
{
    static const char *const endings[] = {"", ".zst"};
    const char *folder = self;
    for (size_t i = 0; i < 2; i++) {
        struct path path = path_in(folder, name);
        strncat(path.text, endings[i], sizeof path.text - strlen(path.text) - 1);
        *ret_there = access(path.text, F_OK) == 0;
        if (*ret_there)
            return file_read(path.text, archive_most_bytes(name), b, e);
    }
    return err_set(e, ERR_RECORDS, "%s/%s is missing.", folder, name);
}

bool records_load(const char *folder, struct arena *a, struct records *ret_records, struct err *e)
{
    must(folder && a);
    const struct record_files files = {(void *)(uintptr_t)folder, read_file};
    struct archive_check check;
    if (access(folder, F_OK) != 0)
        return err_set_errno(e, ERR_RECORDS, errno, "The run folder %s can't be read", folder);
    return archive_verify(folder, a, &check, e) && records_read(&files, folder, &check, a, ret_records, e);
}
