#include "store/rows.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "model/fields.h"
#include "store/rows_chunks.h"
#include "text/csv.h"

enum kind {
    COL_I64,    /* int64_t; absent ABSENT_I64 */
    COL_I32,    /* int32_t; absent -1 */
    COL_I8,     /* int8_t; absent -1 */
    COL_U32,    /* uint32_t, always there */
    COL_U16,    /* uint16_t, always there */
    COL_GPU,    /* beside the record */
    COL_HEX,    /* uint64_t as 16 hex digits; absent 0 */
    COL_F64,    /* double; absent NaN */
    COL_NAME8,  /* uint8_t, by names */
    COL_NAME,   /* int, by names */
    COL_TEXT,   /* const char *; absent null */
    COL_STRING, /* const char *; absent "" */
};

struct column {
    const char *name;
    enum kind kind;
    size_t offset;
    const char *const *names;
};

static const char *const instant_tags[] = {"grid", "mark", "mark_after", NULL};
static const char *const counter_whys[] = {"locked", "repeat", "search", "boundary", NULL};

#define COL(s, member, kind_)                                                                                          \
    {                                                                                                                  \
#member, kind_, offsetof(struct s, member), NULL                                                               \
    }
#define NAMED(s, member, kind_, names_)                                                                                \
    {                                                                                                                  \
#member, kind_, offsetof(struct s, member), names_                                                             \
    }
#define GPU                                                                                                            \
    {                                                                                                                  \
        "gpu", COL_GPU, 0, NULL                                                                                        \
    }

static const struct column gpu_columns[] = {
    COL(rec_gpu, uuid, COL_TEXT),
    COL(rec_gpu, name, COL_TEXT),
    COL(rec_gpu, pci, COL_TEXT),
    COL(rec_gpu, index, COL_I64),
    COL(rec_gpu, power_limit_mw, COL_I64),
    COL(rec_gpu, power_limit_default_mw, COL_I64),
    COL(rec_gpu, power_limit_min_mw, COL_I64),
    COL(rec_gpu, power_limit_max_mw, COL_I64),
    COL(rec_gpu, memory_total_bytes, COL_I64),
    COL(rec_gpu, mig, COL_I64),
    COL(rec_gpu, persistence, COL_I64),
    COL(rec_gpu, architecture, COL_I64),
    COL(rec_gpu, instant_source, COL_TEXT),
};
static const struct column mark_columns[] = {
    COL(rec_mark, t_ns, COL_I64),
    {"mark", COL_NAME, offsetof(struct rec_mark, id), mark_names},
    COL(rec_mark, note, COL_TEXT),
};
static const struct column clock_columns[] = {
    COL(rec_clock, t_ns, COL_I64),
    COL(rec_clock, offset_ns, COL_I64),
    COL(rec_clock, width_ns, COL_I64),
};
static const struct column fact_columns[] = {
    COL(rec_fact, t_ns, COL_I64),
    COL(rec_fact, name, COL_TEXT),
    NAMED(rec_fact, outcome, COL_NAME, check_outcome_names),
    COL(rec_fact, expected, COL_TEXT),
    COL(rec_fact, seen, COL_TEXT),
};
static const struct column instant_columns[] = {
    COL(rec_instant, t_ns, COL_I64),    GPU,
    COL(rec_instant, mw, COL_I32),      COL(rec_instant, width_ns, COL_I32),
    COL(rec_instant, late_ns, COL_I64), NAMED(rec_instant, tag, COL_NAME8, instant_tags),
};
static const struct column counter_columns[] = {
    COL(rec_counter, t_ns, COL_I64),
    GPU,
    COL(rec_counter, mj, COL_I64),
    COL(rec_counter, width_ns, COL_I32),
    NAMED(rec_counter, why, COL_NAME8, counter_whys),
};
static const struct column buffer_columns[] = {
    COL(rec_buffer, realtime_us, COL_I64),
    GPU,
    COL(rec_buffer, mw, COL_I32),
};
static const struct column state_columns[] = {
    COL(rec_gpu_state, t_ns, COL_I64),
    GPU,
    COL(rec_gpu_state, memory_used_bytes, COL_I64),
    COL(rec_gpu_state, utilisation, COL_I32),
    COL(rec_gpu_state, sm_mhz, COL_I32),
    COL(rec_gpu_state, temperature_c, COL_I32),
    COL(rec_gpu_state, reasons, COL_I64),
    COL(rec_gpu_state, processes, COL_I32),
};
static const struct column process_columns[] = {
    COL(rec_process, t_ns, COL_I64), GPU, COL(rec_process, pid, COL_I64), COL(rec_process, memory_bytes, COL_I64),
    COL(rec_process, own, COL_I8),
};
static const struct column request_columns[] = {
    NAMED(rec_request, stage, COL_NAME8, request_stage_names),
    COL(rec_request, id, COL_U32),
    NAMED(rec_request, verdict, COL_NAME8, verdict_names),
    COL(rec_request, notes, COL_U16),
    COL(rec_request, status, COL_I32),
    COL(rec_request, connect_ns, COL_I64),
    COL(rec_request, connected_ns, COL_I64),
    COL(rec_request, submit_ns, COL_I64),
    COL(rec_request, sent_ns, COL_I64),
    COL(rec_request, head_ns, COL_I64),
    COL(rec_request, role_ns, COL_I64),
    COL(rec_request, first_ns, COL_I64),
    COL(rec_request, first_visible_ns, COL_I64),
    COL(rec_request, last_ns, COL_I64),
    COL(rec_request, finish_ns, COL_I64),
    COL(rec_request, usage_ns, COL_I64),
    COL(rec_request, end_ns, COL_I64),
    COL(rec_request, closed_ns, COL_I64),
    COL(rec_request, prompt_tokens, COL_I64),
    COL(rec_request, completion_tokens, COL_I64),
    COL(rec_request, reasoning_tokens, COL_I64),
    COL(rec_request, cached_tokens, COL_I64),
    COL(rec_request, max_tokens, COL_I64),
    COL(rec_request, body_bytes, COL_I64),
    COL(rec_request, text_bytes, COL_I64),
    COL(rec_request, received_bytes, COL_I64),
    COL(rec_request, events, COL_I64),
    COL(rec_request, token_chunks, COL_I64),
    COL(rec_request, shared_stamps, COL_I64),
    COL(rec_request, comments, COL_I64),
    COL(rec_request, prompt_digest, COL_HEX),
    COL(rec_request, finish_reason, COL_STRING),
    COL(rec_request, detail, COL_TEXT),
};
static const struct column chunk_columns[] = {
    COL(rec_chunk, t_ns, COL_I64),
    COL(rec_chunk, request, COL_U32),
    NAMED(rec_chunk, kind, COL_NAME8, chunk_kind_names),
    COL(rec_chunk, bytes, COL_U32),
    COL(rec_chunk, running, COL_I32),
    NAMED(rec_chunk, stamp, COL_NAME8, chunk_stamp_names),
};
static const struct column metrics_columns[] = {
    COL(rec_metrics, t_ns, COL_I64),           COL(rec_metrics, took_ns, COL_I64),
    COL(rec_metrics, running, COL_F64),        COL(rec_metrics, waiting, COL_F64),
    COL(rec_metrics, kv_cache_used, COL_F64),  COL(rec_metrics, preemptions, COL_F64),
    COL(rec_metrics, prompt_tokens, COL_F64),  COL(rec_metrics, generation_tokens, COL_F64),
    COL(rec_metrics, prefix_queries, COL_F64), COL(rec_metrics, prefix_hits, COL_F64),
    COL(rec_metrics, requests_ended, COL_F64),
};

static const struct table {
    const char *file;
    size_t size;
    const struct column *columns;
    size_t count;
} tables[ROWS_COUNT] = {
#define TABLE(file, s, columns)                                                                                        \
    {                                                                                                                  \
        file, sizeof(struct s), (columns), sizeof(columns) / sizeof *(columns)                                         \
    }
    [ROWS_GPUS] = TABLE("gpus.csv", rec_gpu, gpu_columns),
    [ROWS_MARKS] = TABLE("marks.csv", rec_mark, mark_columns),
    [ROWS_CLOCK] = TABLE("clock.csv", rec_clock, clock_columns),
    [ROWS_FACTS] = TABLE("facts.csv", rec_fact, fact_columns),
    [ROWS_INSTANT] = TABLE("instant.csv", rec_instant, instant_columns),
    [ROWS_COUNTER] = TABLE("counter.csv", rec_counter, counter_columns),
    [ROWS_BUFFER] = TABLE("buffer.csv", rec_buffer, buffer_columns),
    [ROWS_GPU_STATE] = TABLE("gpu_state.csv", rec_gpu_state, state_columns),
    [ROWS_PROCESSES] = TABLE("processes.csv", rec_process, process_columns),
    [ROWS_REQUESTS] = TABLE("requests.csv", rec_request, request_columns),
    [ROWS_CHUNKS] = TABLE("chunks.csv", rec_chunk, chunk_columns),
    [ROWS_METRICS] = TABLE("metrics.csv", rec_metrics, metrics_columns),
};

enum { COLUMNS_MAX = 64 };

const char *rows_file(enum row_table t)
{
    return tables[t].file;
}

size_t rows_size(enum row_table t)
{
    return tables[t].size;
}

const char *rows_column(enum row_table t, size_t i)
{
    return i < tables[t].count ? tables[t].columns[i].name : NULL;
}

void rows_header(enum row_table t, struct buf *b)
{
    for (size_t i = 0; i < tables[t].count; i++) {
        buf_str(b, tables[t].columns[i].name);
        buf_byte(b, i + 1 < tables[t].count ? ',' : '\n');
    }
}

/* ---- writing ---- */

/* Members of packed records (struct rec_chunk) need not be aligned. */
static int64_t i64_at(const void *at)
{
    int64_t value;

    memcpy(&value, at, sizeof value);
    return value;
}

static int32_t i32_at(const void *at)
{
    int32_t value;

    memcpy(&value, at, sizeof value);
    return value;
}

static void put_column(struct buf *b, const struct column *c, uint32_t gpu, const void *at)
{
    switch (c->kind) {
    case COL_I64:
        if (i64_at(at) != ABSENT_I64)
            buf_i64(b, i64_at(at));
        break;
    case COL_I32:
        if (i32_at(at) != -1)
            buf_i64(b, i32_at(at));
        break;
    case COL_I8:
        if (*(const int8_t *)at != -1)
            buf_i64(b, *(const int8_t *)at);
        break;
    case COL_U32:
        buf_i64(b, (uint32_t)i32_at(at));
        break;
    case COL_U16:
        buf_i64(b, *(const uint16_t *)at);
        break;
    case COL_GPU:
        buf_i64(b, gpu);
        break;
    case COL_HEX:
        if (*(const uint64_t *)at)
            buf_fmt(b, "%016llx", (unsigned long long)*(const uint64_t *)at);
        break;
    case COL_F64:
        if (isfinite(*(const double *)at))
            num_put_f64(b, *(const double *)at);
        break;
    case COL_NAME8:
        buf_str(b, c->names[*(const uint8_t *)at]);
        break;
    case COL_NAME:
        buf_str(b, c->names[*(const int *)at]);
        break;
    case COL_TEXT:
    case COL_STRING:
        break; /* quoted by csv_put, with the separator */
    }
}

void rows_put(struct buf *b, enum row_table t, uint32_t gpu, const void *record)
{
    const struct table *table = &tables[t];

    for (size_t i = 0; i < table->count; i++) {
        const struct column *c = &table->columns[i];
        const void *at = (const char *)record + c->offset;
        char separator = i + 1 < table->count ? ',' : '\n';

        if (c->kind == COL_TEXT || c->kind == COL_STRING) {
            const char *text = *(const char *const *)at;

            csv_put(b, text ? span_of(text) : (struct span){0}, separator);
        } else {
            put_column(b, c, gpu, at);
            buf_byte(b, separator);
        }
    }
}

/* ---- reading ---- */

/* As num_i64, for the short plain numbers that nearly every field is. */
static bool get_integer(struct span s, int64_t *ret_value)
{
    uint64_t value = 0;
    bool minus = s.n && *s.p == '-';

    if (s.n - minus == 0 || s.n - minus > 18)
        return num_i64(s, ret_value);
    for (size_t i = minus; i < s.n; i++) {
        unsigned digit = (unsigned char)s.p[i] - '0';

        if (digit > 9)
            return false;
        value = value * 10 + digit;
    }
    *ret_value = minus ? -(int64_t)value : (int64_t)value;
    return true;
}

static bool get_hex(struct span s, uint64_t *ret_value)
{
    uint64_t value = 0;

    if (s.n != 16)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];

        if (c >= '0' && c <= '9')
            value = value << 4 | (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            value = value << 4 | (uint64_t)(c - 'a' + 10);
        else
            return false;
    }
    *ret_value = value;
    return true;
}

static const char *get_text(struct span field, bool quoted, struct arena *a)
{
    struct buf text = {0};
    const char *copy;

    if (!quoted || *field.p != '"')
        return arena_copy(a, field.p, field.n);
    csv_unquote(field, &text);
    copy = arena_copy(a, text.p ? text.p : "", text.n);
    buf_done(&text);
    return copy;
}

/* An integer within [low, high] into *ret_value; what an empty field means is the caller's. */
static const char *get_bounded(struct span field, int64_t low, int64_t high, int64_t *ret_value)
{
    if (!get_integer(field, ret_value))
        return "is no whole number";
    return *ret_value < low || *ret_value > high ? "is out of range" : NULL;
}

/* Reads one field into the record; what is wrong, or null. */
static const char *get_column(const struct column *c, struct span field, bool quoted, void *at, uint32_t *gpu,
                              struct arena *a)
{
    const char *wrong = NULL;
    int64_t value = 0;
    int index;

    switch (c->kind) {
    case COL_I64:
        value = ABSENT_I64;
        if (field.n && !get_integer(field, &value))
            wrong = "is no whole number";
        else
            memcpy(at, &value, sizeof value);
        break;
    case COL_I32:
        value = -1;
        if (!field.n || !(wrong = get_bounded(field, INT32_MIN, INT32_MAX, &value)))
            memcpy(at, &(int32_t){(int32_t)value}, sizeof(int32_t));
        break;
    case COL_I8:
        if (!field.n)
            *(int8_t *)at = -1;
        else if (!(wrong = get_bounded(field, -1, 127, &value)))
            *(int8_t *)at = (int8_t)value;
        break;
    case COL_U32:
        if (!(wrong = get_bounded(field, 0, UINT32_MAX, &value)))
            memcpy(at, &(uint32_t){(uint32_t)value}, sizeof(uint32_t));
        break;
    case COL_U16:
        if (!(wrong = get_bounded(field, 0, UINT16_MAX, &value)))
            *(uint16_t *)at = (uint16_t)value;
        break;
    case COL_GPU:
        if (!(wrong = get_bounded(field, 0, ROWS_GPUS_MAX - 1, &value)))
            *gpu = (uint32_t)value;
        break;
    case COL_HEX:
        if (!field.n)
            *(uint64_t *)at = 0;
        else if (!get_hex(field, at))
            wrong = "is not 16 hex digits";
        break;
    case COL_F64:
        if (!field.n)
            *(double *)at = NAN;
        else if (!num_f64(field, at))
            wrong = "is no number";
        break;
    case COL_NAME8:
    case COL_NAME:
        index = fields_name_index(c->names, field);
        if (index < 0)
            wrong = "is none of the known names";
        else if (c->kind == COL_NAME8)
            *(uint8_t *)at = (uint8_t)index;
        else
            *(int *)at = index;
        break;
    case COL_TEXT:
        *(const char **)at = field.n ? get_text(field, quoted, a) : NULL;
        break;
    case COL_STRING:
        *(const char **)at = field.n ? get_text(field, quoted, a) : "";
        break;
    }
    return wrong;
}

/* What a record holds where its file lacks a column. */
static void set_absent(const struct table *table, void *record)
{
    uint32_t gpu = 0;

    memset(record, 0, table->size);
    for (size_t i = 0; i < table->count; i++) {
        const struct column *c = &table->columns[i];

        if (c->kind != COL_U32 && c->kind != COL_U16 && c->kind != COL_GPU && c->kind != COL_NAME8 &&
            c->kind != COL_NAME)
            get_column(c, (struct span){0}, false, (char *)record + c->offset, &gpu, NULL);
    }
}

__attribute__((format(printf, 2, 3))) static void note_bad(struct rows *rows, const char *format, ...)
{
    va_list args;

    if (rows->bad_count++)
        return;
    va_start(args, format);
    vsnprintf(rows->bad, sizeof rows->bad, format, args);
    va_end(args);
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

/* The table's column of each of the file's, -1 for an unknown one; false where a column that can't be absent is
 * missing. */
static bool map_header(const struct table *table, const struct span *names, size_t count, int *ret_map,
                       const char **ret_missing)
{
    bool there[COLUMNS_MAX] = {false};

    for (size_t i = 0; i < count; i++) {
        ret_map[i] = -1;
        for (size_t k = 0; k < table->count; k++)
            if (span_is(names[i], table->columns[k].name) && !there[k]) {
                ret_map[i] = (int)k;
                there[k] = true;
            }
    }
    for (size_t k = 0; k < table->count; k++) {
        enum kind kind = table->columns[k].kind;

        if (!there[k] && (k == 0 || kind == COL_U32 || kind == COL_GPU)) {
            *ret_missing = table->columns[k].name;
            return false;
        }
    }
    return true;
}

struct rows rows_read(enum row_table t, struct span text, struct arena *a)
{
    const struct table *table = &tables[t];
    struct rows rows = {0};
    struct span fields[COLUMNS_MAX];
    const char *missing = NULL;
    int map[COLUMNS_MAX];
    struct csv csv;
    size_t n, columns;
    char *absent, *out;

    csv_init(&csv, text);
    columns = csv_next(&csv, fields, COLUMNS_MAX);
    if (columns == 0) {
        rows.cut = csv.cut;
        return rows;
    }
    if (columns > COLUMNS_MAX || !map_header(table, fields, columns, map, &missing)) {
        note_bad(&rows, "line 1: the header %s%s", missing ? "lacks the column " : "has too many columns",
                 missing ? missing : "");
        return rows;
    }
    size_t most = count_lines(csv.rest);

    absent = arena_alloc(a, table->size);
    set_absent(table, absent);
    rows.records = out = arena_array(a, most, table->size);
    rows.gpus = table->columns[1].kind != COL_GPU ? NULL : arena_array(a, most, sizeof *rows.gpus);
    bool usual = t == ROWS_CHUNKS && span_starts(text, rows_chunks_header);
    for (;;) {
        if (usual) {
            size_t taken = rows_chunks_read(&csv.rest, (struct rec_chunk *)out);

            csv.line += taken;
            rows.count += taken;
            out += taken * table->size;
        }
        if ((n = csv_next(&csv, fields, COLUMNS_MAX)) == 0)
            break;
        uint32_t gpu = 0;
        const char *wrong = NULL;
        size_t i = 0;

        if (n != columns) {
            note_bad(&rows, "line %zu: too %s fields", csv.line, n < columns ? "few" : "many");
            continue;
        }
        memcpy(out, absent, table->size);
        for (; i < n && !wrong; i++)
            if (map[i] >= 0) {
                const struct column *c = &table->columns[map[i]];

                wrong = get_column(c, fields[i], csv.quoted, out + c->offset, &gpu, a);
            }
        if (wrong) {
            note_bad(&rows, "line %zu: %s: '%.*s' %s", csv.line, table->columns[map[i - 1]].name,
                     fields[i - 1].n > 40 ? 40 : (int)fields[i - 1].n, fields[i - 1].p, wrong);
            continue;
        }
        if (rows.gpus)
            rows.gpus[rows.count] = gpu;
        rows.count++;
        out += table->size;
    }
    rows.cut = csv.cut;
    return rows;
}
