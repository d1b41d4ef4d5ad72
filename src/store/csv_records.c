#include "store/csv_records.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include "base/must.h"
#include "schema/csv.h"
#include "schema/visit.h"
#include "store/csv_chunks.h"
#include "text/csv.h"

static const struct file {
    const char *name;
    const struct schema *schema;
    bool dealt; /* has the gpu column */
} files[CSV_COUNT] = {
    [CSV_GPUS] = {"gpus.csv", &rec_gpu_schema, false},
    [CSV_BOUNDARIES] = {"marks.csv", &rec_boundary_schema, false},
    [CSV_CLOCK] = {"clock.csv", &rec_clock_schema, false},
    [CSV_FACTS] = {"facts.csv", &rec_fact_schema, false},
    [CSV_INSTANT] = {"instant.csv", &rec_instant_schema, true},
    [CSV_COUNTER] = {"counter.csv", &rec_counter_schema, true},
    [CSV_BUFFER] = {"buffer.csv", &rec_buffer_schema, true},
    [CSV_GPU_STATE] = {"gpu_state.csv", &rec_gpu_state_schema, true},
    [CSV_PROCESSES] = {"processes.csv", &rec_process_schema, true},
    [CSV_REQUESTS] = {"requests.csv", &rec_request_schema, false},
    [CSV_CHUNKS] = {"chunks.csv", &rec_chunk_schema, false},
    [CSV_METRICS] = {"metrics.csv", &rec_metrics_schema, false},
};

const char *csv_records_file(enum csv_file file)
{
    must(file < CSV_COUNT);
    return files[file].name;
}

size_t csv_records_size(enum csv_file file)
{
    return csv_records_schema(file)->size;
}

const struct schema *csv_records_schema(enum csv_file file)
{
    must(file < CSV_COUNT);
    return files[file].schema;
}

int64_t csv_records_time(enum csv_file file, const void *record)
{
    assert(file < CSV_COUNT && record);
    if (file == CSV_REQUESTS)
        return ((const struct rec_request *)record)->end_ns;
    if (file == CSV_GPUS)
        return ABSENT_I64;
    const struct slot time = slot_of(files[file].schema->fields, record);
    return slot_i64(&time);
}

void csv_records_header(enum csv_file file, struct buf *b)
{
    must(file < CSV_COUNT);
    schema_csv_header(files[file].schema, b);
}

size_t csv_records_put(struct buf *b, enum csv_file file, uint32_t gpu, const void *record)
{
    assert(file < CSV_COUNT && record);
    return schema_csv_put(files[file].schema, record, gpu, CSV_EXACT, b);
}

/* ---- reading ---- */

__attribute__((format(printf, 2, 3))) static void note_bad(struct csv_records *r, const char *format, ...)
{
    va_list args;
    if (r->bad_count++)
        return;
    va_start(args, format);
    vsnprintf(r->bad, sizeof r->bad, format, args);
    va_end(args);
}

static void note_header(void *self, const char *text)
{
    note_bad(self, "line 1: %s", text);
}

static size_t count_lines(struct span text)
{
    size_t lines = 0;
    while (text.n) {
        const char *end = memchr(text.p, '\n', text.n);
        size_t n = end ? (size_t)(end - text.p) + 1 : text.n;
        lines++;
        text.p += n;
        text.n -= n;
    }
    return lines;
}

/* A request that failed may have been told anything; of one that succeeded, each value must be right. */
static bool is_forgiven(enum csv_file file, const void *record)
{
    return file == CSV_REQUESTS && ((const struct rec_request *)record)->verdict != VERDICT_OK;
}

struct records_reader {
    enum csv_file file;
    const struct schema *schema;
    struct csv csv;
    struct csv_columns columns;
    const void *absent; /* a record without any value */
    size_t most;        /* records that there is room for: as many as there are lines */
    size_t gpus;
    struct arena *arena;
    struct csv_records found;
};

/* One line, split into n fields. */
static void take_row(struct records_reader *r, const struct span *fields, size_t n)
{
    struct csv_records *found = &r->found;
    must(found->count < r->most);
    void *out = (char *)found->records + found->count * r->schema->size;
    struct csv_line line;
    if (n != r->columns.count) {
        note_bad(found, "line %zu: too %s fields", r->csv.line, n < r->columns.count ? "few" : "many");
        return;
    }
    memcpy(out, r->absent, r->schema->size);
    bool good = schema_csv_get(&r->columns, fields, r->csv.quoted, out, &line, r->arena);
    if (!good || (line.lenient && !is_forgiven(r->file, out))) {
        struct span field = fields[line.column];
        note_bad(found, "line %zu: %s: '%.*s' %s", r->csv.line, r->columns.fields[line.column]->key,
                 field.n > 40 ? 40 : (int)field.n, field.p, line.wrong);
        return;
    }
    if (found->gpus && line.aside >= r->gpus) {
        note_bad(found, "line %zu: gpu: gpus.csv has no line for GPU %u", r->csv.line, (unsigned)line.aside);
        return;
    }
    if (found->gpus)
        found->gpus[found->count] = line.aside;
    found->cells += line.filled;
    found->count++;
}

static void take_lines(struct records_reader *r, bool usual)
{
    struct csv_records *found = &r->found;
    struct span fields[CSV_COLUMNS_MAX];
    for (;;) {
        if (usual) {
            size_t taken =
                csv_chunks_read(&r->csv.rest, (struct rec_chunk *)found->records + found->count, &found->cells);
            r->csv.line += taken;
            found->count += taken;
            must(found->count <= r->most);
        }
        size_t n = csv_next(&r->csv, fields, CSV_COLUMNS_MAX);
        if (n == 0)
            return;
        take_row(r, fields, n);
    }
}

struct csv_records csv_records_read(enum csv_file file, struct span text, size_t gpus, struct arena *a)
{
    must(file < CSV_COUNT);
    struct records_reader r = {.file = file, .schema = files[file].schema, .gpus = gpus, .arena = a};
    struct span names[CSV_COLUMNS_MAX];
    csv_init(&r.csv, text);
    size_t columns = csv_next(&r.csv, names, CSV_COLUMNS_MAX);
    if (columns && schema_csv_columns(r.schema, names, columns, &r.columns, note_header, &r.found)) {
        r.most = count_lines(r.csv.rest);
        void *absent = arena_alloc(a, r.schema->size);
        schema_absent_as(r.schema, absent, 0, NULL);
        r.absent = absent;
        r.found.records = arena_array(a, r.most, r.schema->size);
        r.found.gpus = files[file].dealt ? arena_array(a, r.most, sizeof *r.found.gpus) : NULL;
        take_lines(&r, file == CSV_CHUNKS && span_starts(text, csv_chunks_header));
    }
    r.found.cut = r.csv.cut;
    return r.found;
}
