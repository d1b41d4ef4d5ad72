#include "store/rows.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "schema/schema.h"
#include "store/rows_chunks.h"
#include "text/csv.h"

enum kind {
    COL_I64,     /* int64_t; absent ABSENT_I64 */
    COL_READING, /* the same, and any negative one is a reading that failed: absent */
    COL_I32,     /* int32_t; absent -1 */
    COL_I8,      /* int8_t; absent -1 */
    COL_U32,     /* uint32_t */
    COL_U16,     /* uint16_t */
    COL_GPU,     /* beside the record */
    COL_HEX,     /* uint64_t as 16 hex digits; absent 0 */
    COL_F64,     /* double; absent NaN */
    COL_NAME8,   /* uint8_t, by names */
    COL_NAME,    /* int, by names */
    COL_TEXT,    /* const char *; absent null */
    COL_STRING,  /* const char *; absent "" */
};

/* What an empty field is. */
enum empty {
    NEVER,  /* damage; and without the column there is no record */
    ABSENT, /* an absent value */
    LATER,  /* the same; older versions did not write the column at all */
    TOLD,   /* the same, and a request that failed may have been told anything: beyond the range it is absent too */
};

struct column {
    const char *name;
    enum kind kind;
    size_t offset;
    const char *const *names;
    int64_t min, max; /* of a number, inclusive */
    enum empty empty;
};

static const char *const instant_tags[] = {"grid", "mark", "mark_after", NULL};
static const char *const counter_whys[] = {"locked", "repeat", "search", "boundary", NULL};

/* Ranges: what can't be right, not what is unlikely. Sums and differences of any two times are within int64_t. */
#define TIME      ROWS_TIME_MIN, ROWS_TIME_MAX
#define DURATION  0, ROWS_TIME_MAX
#define REALTIME  0, INT64_C(4000000000000000000)
#define COUNT     0, INT32_MAX
#define TOKENS    0, ROWS_TOKENS_MAX
#define FLAG      0, 1
#define BYTES     0, INT64_C(1) << 50
#define POWER_MW  0, 10000000         /* 10 kW a board */
#define ENERGY_MJ 0, INT64_C(1) << 50 /* 30 years of 1 kW */
#define FIGURE    0, INT64_C(1) << 53
#define PERCENT   0, 100
#define MEGAHERTZ 0, 100000
#define CELSIUS   0, 1000
#define BITS      0, INT64_MAX
#define PROCESSES 0, 1000000
#define PID       0, UINT32_MAX
#define NOTES     0, UINT16_MAX
#define STATUS    0, 999
#define ANY       INT64_MIN, INT64_MAX

#define NAMED_COL(name, s, member, kind_, range, empty_)                                                               \
    {                                                                                                                  \
        name, kind_, offsetof(struct s, member), NULL, range, empty_                                                   \
    }
#define COL(s, member, kind_, range, empty_)                                                                           \
    {                                                                                                                  \
#member, kind_, offsetof(struct s, member), NULL, range, empty_                                                \
    }
#define NAMED(s, member, kind_, names_)                                                                                \
    {                                                                                                                  \
#member, kind_, offsetof(struct s, member), names_, ANY, NEVER                                                 \
    }
#define GPU                                                                                                            \
    {                                                                                                                  \
        "gpu", COL_GPU, 0, NULL, 0, ROWS_GPUS_MAX - 1, NEVER                                                           \
    }

static const struct column gpu_columns[] = {
    COL(rec_gpu, uuid, COL_TEXT, ANY, NEVER),
    COL(rec_gpu, name, COL_TEXT, ANY, ABSENT),
    COL(rec_gpu, pci, COL_TEXT, ANY, ABSENT),
    COL(rec_gpu, index, COL_I64, COUNT, NEVER),
    COL(rec_gpu, power_limit_mw, COL_I64, POWER_MW, ABSENT),
    COL(rec_gpu, power_limit_default_mw, COL_I64, POWER_MW, ABSENT),
    COL(rec_gpu, power_limit_min_mw, COL_I64, POWER_MW, ABSENT),
    COL(rec_gpu, power_limit_max_mw, COL_I64, POWER_MW, ABSENT),
    COL(rec_gpu, memory_total_bytes, COL_I64, BYTES, ABSENT),
    NAMED_COL("mig", rec_gpu, partitioned, COL_I64, FLAG, ABSENT),
    COL(rec_gpu, persistence, COL_I64, FLAG, ABSENT),
    COL(rec_gpu, architecture, COL_I64, FIGURE, ABSENT),
    COL(rec_gpu, instant_source, COL_TEXT, ANY, ABSENT),
};
static const struct column mark_columns[] = {
    COL(rec_boundary, t_ns, COL_I64, TIME, NEVER),
    {"mark", COL_NAME, offsetof(struct rec_boundary, id), boundary_names, ANY, NEVER},
    COL(rec_boundary, note, COL_TEXT, ANY, ABSENT),
};
static const struct column clock_columns[] = {
    COL(rec_clock, t_ns, COL_I64, TIME, NEVER),
    COL(rec_clock, offset_ns, COL_I64, REALTIME, NEVER),
    COL(rec_clock, width_ns, COL_I64, DURATION, ABSENT),
};
static const struct column fact_columns[] = {
    COL(rec_fact, t_ns, COL_I64, TIME, NEVER),
    COL(rec_fact, name, COL_TEXT, ANY, NEVER),
    NAMED(rec_fact, outcome, COL_NAME, check_outcome_names),
    COL(rec_fact, expected, COL_TEXT, ANY, ABSENT),
    COL(rec_fact, seen, COL_TEXT, ANY, ABSENT),
};
static const struct column instant_columns[] = {
    COL(rec_instant, t_ns, COL_I64, TIME, NEVER),     GPU,
    COL(rec_instant, mw, COL_I32, POWER_MW, ABSENT),  COL(rec_instant, width_ns, COL_I32, COUNT, ABSENT),
    COL(rec_instant, late_ns, COL_I64, TIME, ABSENT), NAMED(rec_instant, tag, COL_NAME8, instant_tags),
};
static const struct column counter_columns[] = {
    COL(rec_counter, t_ns, COL_I64, TIME, NEVER),         GPU,
    COL(rec_counter, mj, COL_READING, ENERGY_MJ, ABSENT), COL(rec_counter, width_ns, COL_I32, COUNT, ABSENT),
    NAMED(rec_counter, why, COL_NAME8, counter_whys),
};
static const struct column buffer_columns[] = {
    COL(rec_buffer, realtime_us, COL_I64, REALTIME / 1000, NEVER),
    GPU,
    COL(rec_buffer, mw, COL_I32, POWER_MW, ABSENT),
};
static const struct column state_columns[] = {
    COL(rec_gpu_state, t_ns, COL_I64, TIME, NEVER),
    GPU,
    COL(rec_gpu_state, memory_used_bytes, COL_I64, BYTES, ABSENT),
    COL(rec_gpu_state, utilisation, COL_I32, PERCENT, ABSENT),
    COL(rec_gpu_state, sm_mhz, COL_I32, MEGAHERTZ, ABSENT),
    COL(rec_gpu_state, temperature_c, COL_I32, CELSIUS, ABSENT),
    NAMED_COL("reasons", rec_gpu_state, slowdowns, COL_I64, BITS, ABSENT),
    COL(rec_gpu_state, processes, COL_I32, PROCESSES, ABSENT),
};
static const struct column process_columns[] = {
    COL(rec_process, t_ns, COL_I64, TIME, NEVER), GPU,
    COL(rec_process, pid, COL_I64, PID, NEVER),   COL(rec_process, memory_bytes, COL_I64, BYTES, ABSENT),
    COL(rec_process, own, COL_I8, FLAG, ABSENT),
};
static const struct column request_columns[] = {
    NAMED(rec_request, stage, COL_NAME8, request_stage_names),
    COL(rec_request, id, COL_U32, COUNT, NEVER),
    NAMED(rec_request, verdict, COL_NAME8, verdict_names),
    COL(rec_request, notes, COL_U16, NOTES, NEVER),
    COL(rec_request, status, COL_I32, STATUS, ABSENT),
    COL(rec_request, connect_ns, COL_I64, TIME, ABSENT),
    COL(rec_request, connected_ns, COL_I64, TIME, ABSENT),
    COL(rec_request, submit_ns, COL_I64, TIME, ABSENT),
    COL(rec_request, sent_ns, COL_I64, TIME, ABSENT),
    COL(rec_request, head_ns, COL_I64, TIME, ABSENT),
    COL(rec_request, role_ns, COL_I64, TIME, ABSENT),
    COL(rec_request, first_ns, COL_I64, TIME, ABSENT),
    COL(rec_request, first_visible_ns, COL_I64, TIME, ABSENT),
    COL(rec_request, last_ns, COL_I64, TIME, ABSENT),
    COL(rec_request, finish_ns, COL_I64, TIME, ABSENT),
    COL(rec_request, usage_ns, COL_I64, TIME, ABSENT),
    COL(rec_request, end_ns, COL_I64, TIME, ABSENT),
    COL(rec_request, closed_ns, COL_I64, TIME, ABSENT),
    COL(rec_request, prompt_tokens, COL_I64, TOKENS, TOLD),
    COL(rec_request, completion_tokens, COL_I64, TOKENS, TOLD),
    COL(rec_request, reasoning_tokens, COL_I64, TOKENS, TOLD),
    COL(rec_request, cached_tokens, COL_I64, TOKENS, TOLD),
    COL(rec_request, max_tokens, COL_I64, TOKENS, ABSENT),
    COL(rec_request, body_bytes, COL_I64, BYTES, ABSENT),
    COL(rec_request, text_bytes, COL_I64, BYTES, ABSENT),
    COL(rec_request, received_bytes, COL_I64, BYTES, ABSENT),
    COL(rec_request, events, COL_I64, COUNT, ABSENT),
    COL(rec_request, token_chunks, COL_I64, COUNT, ABSENT),
    COL(rec_request, shared_stamps, COL_I64, COUNT, ABSENT),
    COL(rec_request, comments, COL_I64, COUNT, ABSENT),
    COL(rec_request, prompt_digest, COL_HEX, ANY, ABSENT),
    COL(rec_request, finish_reason, COL_STRING, ANY, ABSENT),
    COL(rec_request, detail, COL_TEXT, ANY, ABSENT),
};
static const struct column chunk_columns[] = {
    COL(rec_chunk, t_ns, COL_I64, TIME, NEVER),          COL(rec_chunk, request, COL_U32, COUNT, NEVER),
    NAMED(rec_chunk, kind, COL_NAME8, chunk_kind_names), COL(rec_chunk, bytes, COL_U32, COUNT, NEVER),
    COL(rec_chunk, running, COL_I32, TOKENS, ABSENT),    NAMED(rec_chunk, stamp, COL_NAME8, chunk_stamp_names),
};
static const struct column metrics_columns[] = {
    COL(rec_metrics, t_ns, COL_I64, TIME, NEVER),
    COL(rec_metrics, took_ns, COL_I64, DURATION, ABSENT),
    COL(rec_metrics, running, COL_F64, FIGURE, ABSENT),
    COL(rec_metrics, waiting, COL_F64, FIGURE, ABSENT),
    COL(rec_metrics, kv_cache_used, COL_F64, FIGURE, ABSENT),
    COL(rec_metrics, preemptions, COL_F64, FIGURE, ABSENT),
    COL(rec_metrics, prompt_tokens, COL_F64, FIGURE, ABSENT),
    COL(rec_metrics, generation_tokens, COL_F64, FIGURE, ABSENT),
    COL(rec_metrics, prefix_queries, COL_F64, FIGURE, ABSENT),
    COL(rec_metrics, prefix_hits, COL_F64, FIGURE, ABSENT),
    COL(rec_metrics, requests_ended, COL_F64, FIGURE, LATER),
};

static const struct table {
    const char *file;
    size_t size;
    const struct column *columns;
    size_t count;
    size_t time; /* offset of the time that its extent is of; NO_TIME: none */
} tables[ROWS_COUNT] = {
#define NO_TIME SIZE_MAX
#define TABLE(file, s, columns, time)                                                                                  \
    {                                                                                                                  \
        file, sizeof(struct s), (columns), sizeof(columns) / sizeof *(columns), time                                   \
    }
    [ROWS_GPUS] = TABLE("gpus.csv", rec_gpu, gpu_columns, NO_TIME),
    [ROWS_MARKS] = TABLE("marks.csv", rec_boundary, mark_columns, 0),
    [ROWS_CLOCK] = TABLE("clock.csv", rec_clock, clock_columns, 0),
    [ROWS_FACTS] = TABLE("facts.csv", rec_fact, fact_columns, 0),
    [ROWS_INSTANT] = TABLE("instant.csv", rec_instant, instant_columns, 0),
    [ROWS_COUNTER] = TABLE("counter.csv", rec_counter, counter_columns, 0),
    [ROWS_BUFFER] = TABLE("buffer.csv", rec_buffer, buffer_columns, 0),
    [ROWS_GPU_STATE] = TABLE("gpu_state.csv", rec_gpu_state, state_columns, 0),
    [ROWS_PROCESSES] = TABLE("processes.csv", rec_process, process_columns, 0),
    [ROWS_REQUESTS] = TABLE("requests.csv", rec_request, request_columns, offsetof(struct rec_request, end_ns)),
    [ROWS_CHUNKS] = TABLE("chunks.csv", rec_chunk, chunk_columns, 0),
    [ROWS_METRICS] = TABLE("metrics.csv", rec_metrics, metrics_columns, 0),
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

int64_t rows_time(enum row_table t, const void *record)
{
    int64_t time;

    if (tables[t].time == NO_TIME)
        return ABSENT_I64;
    memcpy(&time, (const char *)record + tables[t].time, sizeof time); /* a packed record's need not be aligned */
    return time;
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
    case COL_READING:
        if (i64_at(at) >= 0)
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

size_t rows_put(struct buf *b, enum row_table t, uint32_t gpu, const void *record)
{
    const struct table *table = &tables[t];
    size_t filled = 0;

    for (size_t i = 0; i < table->count; i++) {
        const struct column *c = &table->columns[i];
        const void *at = (const char *)record + c->offset;
        char separator = i + 1 < table->count ? ',' : '\n';
        size_t start = b->n;

        if (c->kind == COL_TEXT || c->kind == COL_STRING) {
            const char *text = *(const char *const *)at;

            csv_put(b, text ? span_of(text) : (struct span){0}, separator);
        } else {
            put_column(b, c, gpu, at);
            buf_byte(b, separator);
        }
        filled += b->n > start + 1;
    }
    return filled;
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

/* A whole number within the column's range. */
static const char *get_number(const struct column *c, struct span field, int64_t *ret_value)
{
    if (!get_integer(field, ret_value))
        return "is no whole number";
    return *ret_value < c->min || *ret_value > c->max ? "is out of range" : NULL;
}

static const char *get_real(const struct column *c, struct span field, double *ret_value)
{
    if (!num_f64(field, ret_value))
        return "is no number";
    return *ret_value < (double)c->min || *ret_value > (double)c->max ? "is out of range" : NULL;
}

static const char *get_name(const struct column *c, struct span field, int *ret_index)
{
    *ret_index = name_index(c->names, field);
    return *ret_index < 0 ? "is none of the known names" : NULL;
}

/* What an empty field leaves in the record. */
static void put_absent(const struct column *c, void *at)
{
    switch (c->kind) {
    case COL_I64:
    case COL_READING:
        memcpy(at, &(int64_t){ABSENT_I64}, sizeof(int64_t));
        break;
    case COL_I32:
        memcpy(at, &(int32_t){-1}, sizeof(int32_t));
        break;
    case COL_I8:
        *(int8_t *)at = -1;
        break;
    case COL_HEX:
        *(uint64_t *)at = 0;
        break;
    case COL_F64:
        *(double *)at = NAN;
        break;
    case COL_TEXT:
        *(const char **)at = NULL;
        break;
    case COL_STRING:
        *(const char **)at = "";
        break;
    case COL_U32:
    case COL_U16:
    case COL_GPU:
    case COL_NAME8:
    case COL_NAME:
        break; /* never absent */
    }
}

/* Reads one field into the record; what is wrong, or null. An empty one that may be is not brought here. */
static const char *get_column(const struct column *c, struct span field, bool quoted, void *at, uint32_t *gpu,
                              struct arena *a)
{
    const char *wrong = NULL;
    int64_t value = 0;
    int index = 0;

    switch (c->kind) {
    case COL_I64:
    case COL_READING:
        if (!(wrong = get_number(c, field, &value)))
            memcpy(at, &value, sizeof value);
        break;
    case COL_I32:
        if (!(wrong = get_number(c, field, &value)))
            memcpy(at, &(int32_t){(int32_t)value}, sizeof(int32_t));
        break;
    case COL_I8:
        if (!(wrong = get_number(c, field, &value)))
            *(int8_t *)at = (int8_t)value;
        break;
    case COL_U32:
        if (!(wrong = get_number(c, field, &value)))
            memcpy(at, &(uint32_t){(uint32_t)value}, sizeof(uint32_t));
        break;
    case COL_U16:
        if (!(wrong = get_number(c, field, &value)))
            *(uint16_t *)at = (uint16_t)value;
        break;
    case COL_GPU:
        if (!(wrong = get_number(c, field, &value)))
            *gpu = (uint32_t)value;
        break;
    case COL_HEX:
        if (!get_hex(field, at))
            wrong = "is not 16 hex digits";
        break;
    case COL_F64:
        wrong = get_real(c, field, at);
        break;
    case COL_NAME8:
        if (!(wrong = get_name(c, field, &index)))
            *(uint8_t *)at = (uint8_t)index;
        break;
    case COL_NAME:
        wrong = get_name(c, field, at);
        break;
    case COL_TEXT:
    case COL_STRING:
        if (field.n)
            *(const char **)at = get_text(field, quoted, a);
        else
            wrong = "is empty";
        break;
    }
    return wrong;
}

/* What a record holds where its file lacks a column. */
static void set_absent(const struct table *table, void *record)
{
    memset(record, 0, table->size);
    for (size_t i = 0; i < table->count; i++)
        put_absent(&table->columns[i], (char *)record + table->columns[i].offset);
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

/* A header line: the table's column of each of the file's, -1 for an unknown one. */
struct header {
    int map[COLUMNS_MAX];
    size_t count;
};

/* Columns that jtok has always written are missing only where a file was changed. What such a column may leave absent
 * is read as absent; without any other there is no record. False then. */
static bool read_header(const struct table *table, const struct span *names, size_t count, struct header *ret_header,
                        struct rows *rows)
{
    bool there[COLUMNS_MAX] = {false}, good = count <= COLUMNS_MAX;

    if (!good)
        note_bad(rows, "line 1: the header has too many columns");
    ret_header->count = count;
    for (size_t i = 0; good && i < count; i++) {
        ret_header->map[i] = -1;
        for (size_t k = 0; k < table->count; k++) {
            if (!span_is(names[i], table->columns[k].name))
                continue;
            if (there[k]) {
                note_bad(rows, "line 1: the header has the column %s twice", table->columns[k].name);
                good = false;
            }
            ret_header->map[i] = (int)k;
            there[k] = true;
        }
    }
    for (size_t k = 0; good && k < table->count; k++)
        if (!there[k] && table->columns[k].empty != LATER) {
            note_bad(rows, "line 1: the header lacks the column %s", table->columns[k].name);
            good = table->columns[k].empty != NEVER;
        }
    return good;
}

/* One line into *out, which is absent all over; what is wrong with which field, or null. */
static const char *read_line(const struct table *table, const struct header *h, const struct span *fields, bool quoted,
                             void *out, uint32_t *ret_gpu, size_t *filled, size_t *ret_field, struct arena *a)
{
    const char *wrong = NULL, *told = NULL;

    for (size_t i = 0; i < h->count; i++) {
        if (h->map[i] < 0)
            continue;
        const struct column *c = &table->columns[h->map[i]];
        void *at = (char *)out + c->offset;

        *filled += fields[i].n > 0;
        if (c->empty != NEVER && !fields[i].n)
            continue;
        wrong = get_column(c, fields[i], quoted, at, ret_gpu, a);
        if (!wrong)
            continue;
        *ret_field = i;
        if (c->empty != TOLD)
            return wrong;
        told = wrong;
        put_absent(c, at);
    }
    return told && ((const struct rec_request *)out)->verdict == VERDICT_OK ? told : NULL;
}

struct rows rows_read(enum row_table t, struct span text, size_t gpus, struct arena *a)
{
    const struct table *table = &tables[t];
    struct rows rows = {0};
    struct span fields[COLUMNS_MAX];
    struct header header;
    struct csv csv;
    size_t n, columns;
    char *absent, *out;

    csv_init(&csv, text);
    columns = csv_next(&csv, fields, COLUMNS_MAX);
    rows.cut = csv.cut;
    if (columns == 0 || !read_header(table, fields, columns, &header, &rows))
        return rows;
    size_t most = count_lines(csv.rest);

    absent = arena_alloc(a, table->size);
    set_absent(table, absent);
    rows.records = out = arena_array(a, most, table->size);
    bool dealt = table->columns[1].kind == COL_GPU, usual = t == ROWS_CHUNKS && span_starts(text, rows_chunks_header);
    rows.gpus = dealt ? arena_array(a, most, sizeof *rows.gpus) : NULL;
    for (;;) {
        if (usual) {
            size_t taken = rows_chunks_read(&csv.rest, (struct rec_chunk *)out, &rows.cells);

            csv.line += taken;
            rows.count += taken;
            out += taken * table->size;
        }
        if ((n = csv_next(&csv, fields, COLUMNS_MAX)) == 0)
            break;
        uint32_t gpu = 0;
        size_t at = 0, filled = 0;

        if (n != columns) {
            note_bad(&rows, "line %zu: too %s fields", csv.line, n < columns ? "few" : "many");
            continue;
        }
        memcpy(out, absent, table->size);
        const char *wrong = read_line(table, &header, fields, csv.quoted, out, &gpu, &filled, &at, a);

        if (wrong) {
            note_bad(&rows, "line %zu: %s: '%.*s' %s", csv.line, table->columns[header.map[at]].name,
                     fields[at].n > 40 ? 40 : (int)fields[at].n, fields[at].p, wrong);
            continue;
        }
        if (dealt && gpu >= gpus) {
            note_bad(&rows, "line %zu: gpu: gpus.csv has no line for GPU %u", csv.line, (unsigned)gpu);
            continue;
        }
        if (dealt)
            rows.gpus[rows.count] = gpu;
        rows.cells += filled;
        rows.count++;
        out += table->size;
    }
    rows.cut = csv.cut;
    return rows;
}
