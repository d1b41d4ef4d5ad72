#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "store/archive.h"
#include "store/fields_json.h"
#include "store/rows.h"
#include "store/sort.h"
#include "text/compress.h"

struct loader {
    const char *folder;
    struct arena *a;
    struct records *r;
    struct buf damage;
};

__attribute__((format(printf, 2, 3))) static void damaged(struct loader *l, const char *format, ...)
{
    char text[400];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    buf_str(&l->damage, text);
    buf_byte(&l->damage, '\n');
}

/* The file's text, packed or not; false where there is none. The plain one goes first: beside it, a packed one comes
 * from a seal that was broken off. */
static bool read_text(struct loader *l, const char *name, struct buf *b)
{
    static const char *const endings[] = {"", ".zst"};
    char path[4200];
    struct err e;

    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s%s", l->folder, name, endings[i]);
        if (access(path, F_OK) != 0)
            continue;
        if (file_read(path, 0, b, &e))
            return true;
        damaged(l, "%s", e.text);
        return false;
    }
    return false;
}

static struct rows load(struct loader *l, enum row_table t)
{
    struct buf text = {0};
    struct rows rows = {0};

    if (read_text(l, rows_file(t), &text)) {
        rows = rows_read(t, buf_span(&text), l->a);
        if (rows.bad_count)
            damaged(l, "%s: %s%s", rows_file(t), rows.bad, rows.bad_count > 1 ? ", and more lines" : "");
        if (rows.cut && l->r->sealed)
            damaged(l, "%s ends in the middle of a line", rows_file(t));
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
_Static_assert(offsetof(struct rec_mark, t_ns) == 0 && offsetof(struct rec_clock, t_ns) == 0 &&
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

static void load_series(struct loader *l, enum row_table t, void *ret_items, size_t *ret_count)
{
    struct rows rows = load(l, t);

    sort_stable(rows.records, rows.count, rows_size(t), before_i64);
    *(void **)ret_items = rows.records;
    *ret_count = rows.count;
}

/* Where a GPU keeps one of its series. */
struct gpu_series {
    enum row_table table;
    size_t items, count;
};

static const struct gpu_series gpu_series[] = {
    {ROWS_INSTANT, offsetof(struct rec_gpu, instant), offsetof(struct rec_gpu, instant_count)},
    {ROWS_COUNTER, offsetof(struct rec_gpu, counter), offsetof(struct rec_gpu, counter_count)},
    {ROWS_BUFFER, offsetof(struct rec_gpu, buffer), offsetof(struct rec_gpu, buffer_count)},
    {ROWS_GPU_STATE, offsetof(struct rec_gpu, state), offsetof(struct rec_gpu, state_count)},
    {ROWS_PROCESSES, offsetof(struct rec_gpu, process), offsetof(struct rec_gpu, process_count)},
};

/* Deals the rows of one table out to their GPUs. */
static void deal(struct loader *l, const struct gpu_series *s, const struct rows *rows)
{
    struct records *r = l->r;
    size_t size = rows_size(s->table), lost = 0;

    for (size_t i = 0; i < rows->count; i++) {
        if (rows->gpus[i] < r->gpu_count)
            ++*(size_t *)((char *)&r->gpus[rows->gpus[i]] + s->count);
        else
            lost++;
    }
    for (size_t g = 0; g < r->gpu_count; g++) {
        size_t *count = (size_t *)((char *)&r->gpus[g] + s->count);

        *(void **)((char *)&r->gpus[g] + s->items) = arena_array(l->a, *count, size);
        *count = 0;
    }
    for (size_t i = 0; i < rows->count; i++) {
        if (rows->gpus[i] >= r->gpu_count)
            continue;
        char *gpu = (char *)&r->gpus[rows->gpus[i]];

        memcpy(*(char **)(gpu + s->items) + (*(size_t *)(gpu + s->count))++ * size, (char *)rows->records + i * size,
               size);
    }
    for (size_t g = 0; g < r->gpu_count; g++) {
        char *gpu = (char *)&r->gpus[g];

        sort_stable(*(void **)(gpu + s->items), *(size_t *)(gpu + s->count), size, before_i64);
    }
    if (lost)
        damaged(l, "%s: %zu rows belong to no GPU of gpus.csv", rows_file(s->table), lost);
}

static void load_gpus(struct loader *l)
{
    struct rows gpus = load(l, ROWS_GPUS);

    l->r->gpus = gpus.records;
    l->r->gpu_count = gpus.count;
    for (size_t i = 0; i < sizeof gpu_series / sizeof *gpu_series; i++) {
        struct rows rows = load(l, gpu_series[i].table);

        deal(l, &gpu_series[i], &rows);
    }
}

static void load_requests(struct loader *l)
{
    struct rows rows = load(l, ROWS_REQUESTS);
    struct rec_request *all = rows.records;
    size_t others = 0;

    sort_stable(all, rows.count, sizeof *all, before_request);
    while (others < rows.count && all[others].stage != REQUEST_FORMAL)
        others++;
    l->r->warmups = all;
    l->r->warmup_count = others;
    l->r->requests = all + others;
    l->r->request_count = rows.count - others;
}

static void load_chunks(struct loader *l)
{
    struct rows rows = load(l, ROWS_CHUNKS);

    sort_stable(rows.records, rows.count, sizeof(struct rec_chunk), before_chunk);
    l->r->chunks = rows.records;
    l->r->chunk_count = rows.count;
}

static bool load_document(struct loader *l, const struct schema *s, void *object, const char *name, struct err *e)
{
    char path[4200];
    struct buf text = {0};
    bool good;

    snprintf(path, sizeof path, "%s/%s", l->folder, name);
    good = file_read(path, 1 << 26, &text, e) && fields_json_read(s, object, path, buf_span(&text), l->a, e);
    buf_done(&text);
    return good;
}

static bool has(const struct loader *l, const char *name)
{
    char path[4200];

    snprintf(path, sizeof path, "%s/%s", l->folder, name);
    return access(path, F_OK) == 0;
}

static void load_client(struct loader *l)
{
    struct err e;

    if (has(l, "client.json") && !load_document(l, &rec_client_schema, &l->r->client, "client.json", &e)) {
        l->r->client = (struct rec_client){0};
        damaged(l, "%s", e.text);
    }
}

/* A run that was cut before its first run.json: what can be had from elsewhere. */
static void load_run(struct loader *l)
{
    struct err e;

    if (!load_document(l, &rec_run_schema, &l->r->run, "run.json", &e)) {
        fields_absent(&rec_run_schema, &l->r->run);
        damaged(l, "%s", e.text);
    }
    if (!l->r->run.id)
        l->r->run.id = archive_id(l->folder, l->a);
    if (l->r->run.began_realtime_ns == ABSENT_I64 && l->r->clock_count)
        l->r->run.began_realtime_ns = l->r->clocks[0].offset_ns;
}

bool records_load(const char *folder, struct arena *a, struct records *ret_records, struct err *e)
{
    struct records r = {0};
    struct loader l = {.folder = folder, .a = a, .r = &r};
    struct archive_check check;

    if (access(folder, F_OK) != 0)
        return err_set_errno(e, ERR_RECORDS, errno, "the run folder %s can't be read", folder);
    if (!has(&l, "plan.json"))
        return err_set(e, ERR_RECORDS, "%s is no run folder: it holds no plan.json", folder);
    if (!load_document(&l, &plan_schema, &r.plan, "plan.json", e) || !archive_verify(folder, a, &check, e))
        return false;
    r.sealed = check.sealed && check.bad_records == 0;
    buf_str(&l.damage, check.records_text);
    load_series(&l, ROWS_MARKS, &r.marks, &r.mark_count);
    load_series(&l, ROWS_CLOCK, &r.clocks, &r.clock_count);
    load_series(&l, ROWS_FACTS, &r.facts, &r.fact_count);
    load_series(&l, ROWS_METRICS, &r.metrics, &r.metrics_count);
    load_run(&l);
    load_gpus(&l);
    load_requests(&l);
    load_chunks(&l);
    load_client(&l);
    if (l.damage.n)
        r.damage = arena_copy(a, l.damage.p, l.damage.n - 1);
    buf_done(&l.damage);
    *ret_records = r;
    return true;
}
