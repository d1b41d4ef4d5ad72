#include "golden/recording.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/num.h"
#include "model/record_order.h"

enum { COLUMNS_MAX = 24, MEMORY_SLACK = 64 << 20, REPEAT_MIN = 50 };

/* ---- a table, line by line, columns by name ---- */

struct table {
    FILE *file;
    bool piped;
    char *line, *head;
    size_t capacity;
    size_t line_number;
    const char *names[COLUMNS_MAX];
    char *cells[COLUMNS_MAX];
    size_t columns;
    const char *path;
};

static size_t split(char *line, char **cells)
{
    size_t n = 0;
    line[strcspn(line, "\r\n")] = 0;
    for (char *rest = line, *cell; n < COLUMNS_MAX && (cell = strsep(&rest, ","));)
        cells[n++] = cell;
    return n;
}

static bool table_open(struct table *t, const char *dir, const char *name, struct arena *a, struct err *e)
{
    *t = (struct table){.path = arena_format(a, "%s/%s", dir, name)};
    if (access(t->path, R_OK) == 0) {
        t->file = fopen(t->path, "r");
    } else {
        t->path = arena_format(a, "%s/%s.xz", dir, name);
        if (access(t->path, R_OK) != 0)
            return err_set(e, ERR_RECORDS, "%s/%s is missing, plain and as .xz: it is not a whole recording.", dir,
                           name);
        t->file = popen(arena_format(a, "xz -dc '%s'", t->path), "r");
        t->piped = true;
    }
    if (!t->file)
        return err_set_errno(e, ERR_SYSTEM, errno, "can't open %s", t->path);
    if (getline(&t->line, &t->capacity, t->file) < 0)
        return err_set(e, ERR_RECORDS, "%s is empty.", t->path);
    t->head = arena_text(a, t->line);
    char *names[COLUMNS_MAX];
    t->columns = split(t->head, names);
    for (size_t i = 0; i < t->columns; i++)
        t->names[i] = names[i];
    t->line_number = 1;
    return true;
}

static bool table_next(struct table *t)
{
    if (getline(&t->line, &t->capacity, t->file) < 0)
        return false;
    size_t n = split(t->line, t->cells);
    for (; n < t->columns; n++)
        t->cells[n] = t->line + strlen(t->line);
    t->line_number++;
    return true;
}

static void table_close(struct table *t)
{
    if (t->file)
        t->piped ? pclose(t->file) : fclose(t->file);
    free(t->line);
}

static const char *cell(const struct table *t, const char *name)
{
    for (size_t i = 0; i < t->columns; i++)
        if (strcmp(t->names[i], name) == 0)
            return t->cells[i];
    return "";
}

static int64_t integer(const struct table *t, const char *name)
{
    int64_t value;
    return num_i64(span_of(cell(t, name)), &value) ? value : ABSENT_I64;
}

static int64_t time_ns(const struct table *t, const char *name)
{
    int64_t us = integer(t, name);
    return us == ABSENT_I64 ? us : us * 1000;
}

/* The first of two names that has a number: engines call the same thing differently. */
static double real(const struct table *t, const char *name, const char *other)
{
    double value;
    if (num_f64(span_of(cell(t, name)), &value) || num_f64(span_of(cell(t, other)), &value))
        return value;
    return __builtin_nan("");
}

/* A list that doubles in the arena. */
#define PUSH(a, list, count, room, ...)                                                                                \
    do {                                                                                                               \
        if ((count) == (room)) {                                                                                       \
            size_t wider_ = (room) ? 2 * (room) : 1024;                                                                \
            void *fresh_ = arena_array((a), wider_, sizeof *(list));                                                   \
            if (count)                                                                                                 \
                memcpy(fresh_, (list), (count) * sizeof *(list));                                                      \
            (list) = fresh_;                                                                                           \
            (room) = wider_;                                                                                           \
        }                                                                                                              \
        (list)[(count)++] = __VA_ARGS__;                                                                               \
    } while (0)

/* ---- the files ---- */

static bool load_marks(const char *dir, struct arena *a, struct records *r, struct err *e)
{
    struct table t;
    bool ok = table_open(&t, dir, "marks.csv", a, e);
    size_t room = 0;
    while (ok && table_next(&t)) {
        const char *name = cell(&t, "mark");
        if (strcmp(name, "tree_gone") == 0)
            name = boundary_names[BOUNDARY_EXIT];
        for (int id = 0; id < BOUNDARY_COUNT; id++)
            if (strcmp(name, boundary_names[id]) == 0)
                PUSH(a, r->boundaries, r->boundary_count, room,
                     (struct rec_boundary){time_ns(&t, "t_us"), (enum boundary)id, NULL});
    }
    table_close(&t);
    return ok;
}

static struct rec_gpu *gpu_of(struct arena *a, struct records *r, int64_t index, size_t *room)
{
    for (size_t i = 0; i < r->gpu_count; i++)
        if (r->gpus[i].index == index)
            return &r->gpus[i];
    struct rec_gpu g = {.index = index,
                        .power_limit_mw = ABSENT_I64,
                        .power_limit_default_mw = ABSENT_I64,
                        .power_limit_min_mw = ABSENT_I64,
                        .power_limit_max_mw = ABSENT_I64,
                        .memory_total_bytes = ABSENT_I64,
                        .partitioned = ABSENT_I64,
                        .persistence = ABSENT_I64,
                        .architecture = ABSENT_I64,
                        .instant_source = "field 186 scope 0"};
    g.uuid = arena_format(a, "GPU-recorded-%lld", (long long)index);
    g.name = "NVIDIA H200";
    PUSH(a, r->gpus, r->gpu_count, *room, g);
    return &r->gpus[r->gpu_count - 1];
}

static bool load_power(const char *dir, struct arena *a, struct records *r, struct err *e)
{
    struct table t;
    bool ok = table_open(&t, dir, "power.csv", a, e);
    size_t gpu_room = 0, rooms[3][64] = {0};
    while (ok && table_next(&t)) {
        const char *series = cell(&t, "series");
        int64_t t_us = integer(&t, "t_us"), index = integer(&t, "gpu"), value = integer(&t, "value");
        if (t_us == ABSENT_I64 || index < 0 || index >= 64) {
            ok = err_set(e, ERR_RECORDS, "%s line %zu has no time or no GPU.", t.path, t.line_number);
            break;
        }
        if (value < 0)
            value = -1;
        struct rec_gpu *g = gpu_of(a, r, index, &gpu_room);
        size_t at = (size_t)(g - r->gpus);
        if (strcmp(series, "counter_mj") == 0)
            PUSH(a, g->counter, g->counter_count, rooms[0][at],
                 (struct rec_counter){t_us * 1000, value, -1, COUNTER_SEARCH});
        else if (strcmp(series, "instant_mw") == 0)
            PUSH(a, g->instant, g->instant_count, rooms[1][at],
                 (struct rec_instant){t_us * 1000, -1, (int32_t)value, ABSENT_I64, INSTANT_GRID});
        else if (strcmp(series, "sample_mw") == 0)
            PUSH(a, g->buffer, g->buffer_count, rooms[2][at], (struct rec_buffer){t_us, (int32_t)value});
    }
    table_close(&t);
    return ok;
}

/* memory.csv holds changes: the state at each grid sample is the last change before it, and each change is one too. */
static bool load_memory(const char *dir, struct arena *a, struct records *r, struct err *e)
{
    struct table t;
    bool ok = table_open(&t, dir, "memory.csv", a, e);
    struct rec_gpu *g = r->gpu_count ? &r->gpus[0] : NULL;
    size_t room = 0, at = 0;
    struct rec_gpu_state now = {.t_ns = ABSENT_I64};
    bool more = ok && g;
    while (more) {
        struct rec_gpu_state next = {.t_ns = INT64_MAX};
        more = table_next(&t);
        if (more) {
            int64_t processes = integer(&t, "compute_processes");
            next = (struct rec_gpu_state){.t_ns = time_ns(&t, "t_us"),
                                          .memory_used_bytes = integer(&t, "used_bytes"),
                                          .slowdowns = ABSENT_I64,
                                          .utilisation = -1,
                                          .sm_mhz = -1,
                                          .temperature_c = -1,
                                          .processes = processes == ABSENT_I64 ? -1 : (int32_t)processes};
        }
        for (; at < g->instant_count && g->instant[at].t_ns < next.t_ns; at++)
            if (now.t_ns != ABSENT_I64) {
                now.t_ns = g->instant[at].t_ns;
                PUSH(a, g->state, g->state_count, room, now);
            }
        if (more)
            PUSH(a, g->state, g->state_count, room, next);
        now = next;
    }
    table_close(&t);
    return ok;
}

static bool load_requests(const char *dir, struct arena *a, struct records *r, struct err *e)
{
    struct table t;
    bool ok = table_open(&t, dir, "requests.csv", a, e);
    size_t room = 0;
    while (ok && table_next(&t)) {
        struct rec_request q = rec_request_absent();
        int64_t id = integer(&t, "req");
        if (id != (int64_t)r->request_count) {
            ok = err_set(e, ERR_RECORDS, "%s line %zu: request %lld, expected %zu.", t.path, t.line_number,
                         (long long)id, r->request_count);
            break;
        }
        q.id = (uint32_t)id;
        q.stage = REQUEST_FORMAL;
        q.connect_ns = q.submit_ns = time_ns(&t, "submit_us");
        q.connected_ns = time_ns(&t, "connected_us");
        q.sent_ns = time_ns(&t, "sent_us");
        q.end_ns = time_ns(&t, "done_us");
        q.closed_ns = time_ns(&t, "end_us");
        q.prompt_tokens = integer(&t, "prompt_tokens");
        q.completion_tokens = integer(&t, "completion_tokens");
        q.verdict = q.end_ns != ABSENT_I64 && q.completion_tokens >= 1 ? VERDICT_OK : VERDICT_NOT_RECORDED;
        if (q.verdict != VERDICT_OK) {
            q.end_ns = q.closed_ns;
            q.detail = "the recording holds no answer to it and no status";
        }
        q.text_bytes = q.events = q.token_chunks = q.shared_stamps = 0;
        PUSH(a, r->requests, r->request_count, room, q);
    }
    table_close(&t);
    return ok;
}

/* The smallest period of the prompt lengths, where enough of them repeat to be no accident; else the count. */
static size_t prompt_period(const struct records *r)
{
    for (size_t p = 1; p < r->request_count; p++) {
        size_t compared = 0, i = p;
        for (; i < r->request_count; i++) {
            int64_t x = r->requests[i].prompt_tokens, y = r->requests[i - p].prompt_tokens;
            if (x == ABSENT_I64 || y == ABSENT_I64)
                continue;
            if (x != y)
                break;
            compared++;
        }
        if (i == r->request_count && compared >= REPEAT_MIN)
            return p;
    }
    return r->request_count;
}

static int compare_chunks(const void *x, const void *y)
{
    const struct rec_chunk *a = *(const struct rec_chunk *const *)x, *b = *(const struct rec_chunk *const *)y;
    if (a->t_ns != b->t_ns)
        return a->t_ns < b->t_ns ? -1 : 1;
    if (a->request != b->request)
        return a->request < b->request ? -1 : 1;
    return (a > b) - (a < b);
}

static void sort_chunks(struct arena *a, struct records *r)
{
    const struct rec_chunk **order = mem_zero(r->chunk_count, sizeof *order);
    for (size_t i = 0; i < r->chunk_count; i++)
        order[i] = &r->chunks[i];
    qsort(order, r->chunk_count, sizeof *order, compare_chunks);
    struct rec_chunk *sorted = arena_array(a, r->chunk_count, sizeof *sorted);
    for (size_t i = 0; i < r->chunk_count; i++)
        sorted[i] = *order[i];
    free(order);
    r->chunks = sorted;
}

/* METHOD section 4, "Token chunk": text, or a running count that rose (also in the chunk that carries the finish
 * reason). */
static uint8_t kind_of(const char *kind, int64_t chars, bool rose)
{
    if (strcmp(kind, "role") == 0)
        return CHUNK_ROLE;
    if (strcmp(kind, "usage") == 0)
        return CHUNK_USAGE;
    if (chars > 0)
        return CHUNK_TEXT;
    if (rose)
        return CHUNK_HELD;
    return strcmp(kind, "finish") == 0 ? CHUNK_FINISH : CHUNK_OTHER;
}

static bool load_chunks(const char *dir, struct arena *a, struct records *r, struct err *e)
{
    struct table t;
    bool ok = table_open(&t, dir, "chunks.csv", a, e);
    int64_t *running = mem_zero(r->request_count, sizeof *running);
    size_t room = 0;
    while (ok && table_next(&t)) {
        int64_t id = integer(&t, "req"), count = integer(&t, "tokens_so_far"), chars = integer(&t, "chars");
        if (id < 0 || id >= (int64_t)r->request_count) {
            ok = err_set(e, ERR_RECORDS, "%s line %zu: no request %lld in requests.csv.", t.path, t.line_number,
                         (long long)id);
            break;
        }
        const char *kind = cell(&t, "kind");
        bool usage = strcmp(kind, "usage") == 0;
        uint8_t k = kind_of(kind, chars, count != ABSENT_I64 && count > running[id]);
        if (count != ABSENT_I64 && !usage) {
            running[id] = count > running[id] ? count : running[id];
            r->plan.requests.continuous_usage = true;
        }
        struct rec_chunk c = {.t_ns = time_ns(&t, "t_us"),
                              .request = (uint32_t)id,
                              .kind = k,
                              .stamp = STAMP_KERNEL,
                              .running = count == ABSENT_I64 ? -1 : (int32_t)count,
                              .bytes = chars > 0 ? (uint32_t)chars : 0};
        PUSH(a, r->chunks, r->chunk_count, room, c);
    }
    free(running);
    table_close(&t);
    if (ok)
        sort_chunks(a, r);
    for (size_t i = 0; ok && i < r->chunk_count; i++) {
        const struct rec_chunk *c = &r->chunks[i];
        struct rec_request *q = &r->requests[c->request];
        q->events++;
        if (c->kind == CHUNK_ROLE && q->role_ns == ABSENT_I64)
            q->role_ns = c->t_ns;
        if (c->kind == CHUNK_USAGE)
            q->usage_ns = c->t_ns;
        if (!chunk_has_tokens(c))
            continue;
        q->token_chunks++;
        q->text_bytes += c->bytes;
        if (q->first_ns == ABSENT_I64)
            q->first_ns = q->first_visible_ns = c->t_ns;
        q->last_ns = c->t_ns;
    }
    return ok;
}

static bool load_metrics(const char *dir, struct arena *a, struct records *r, struct err *e)
{
    struct table t;
    bool ok = table_open(&t, dir, "metrics.csv", a, e);
    size_t room = 0;
    while (ok && table_next(&t)) {
        double took_ms = real(&t, "took_ms", "");
        struct rec_metrics m = rec_metrics_absent();
        m.t_ns = time_ns(&t, "t_us");
        m.running = real(&t, "running", "num_running_reqs");
        m.waiting = real(&t, "waiting", "num_queue_reqs");
        m.kv_cache_used = real(&t, "kv_cache", "token_usage");
        m.preemptions = real(&t, "preemptions", "num_retracted_reqs");
        m.prompt_tokens = real(&t, "prompt_tokens", "prompt_tokens_total");
        m.generation_tokens = real(&t, "generation_tokens", "generation_tokens_total");
        bool answered = m.running == m.running || m.generation_tokens == m.generation_tokens;
        m.took_ns = answered && took_ms == took_ms ? (int64_t)(took_ms * 1e6) : ABSENT_I64;
        PUSH(a, r->metrics, r->metrics_count, room, m);
    }
    table_close(&t);
    return ok;
}

/* memory_released is best read from memory.csv: the first state after formal_end with no process and memory as before.
 */
static void mark_memory_released(struct arena *a, struct records *r)
{
    int64_t formal_end = records_boundary(r, BOUNDARY_FORMAL_END),
            service_start = records_boundary(r, BOUNDARY_SERVICE_START);
    if (r->gpu_count == 0 || formal_end == ABSENT_I64)
        return;
    const struct rec_gpu *g = &r->gpus[0];
    int64_t before = ABSENT_I64, released = ABSENT_I64;
    for (size_t i = 0; i < g->state_count; i++) {
        const struct rec_gpu_state *s = &g->state[i];
        if (s->t_ns <= service_start)
            before = s->memory_used_bytes;
        if (s->t_ns > formal_end && released == ABSENT_I64 && s->processes == 0 && before != ABSENT_I64 &&
            s->memory_used_bytes <= before + MEMORY_SLACK)
            released = s->t_ns;
    }
    size_t kept = 0;
    for (size_t i = 0; i < r->boundary_count; i++)
        if (r->boundaries[i].id != BOUNDARY_MEMORY_RELEASED)
            r->boundaries[kept++] = r->boundaries[i];
    r->boundary_count = kept;
    size_t room = kept;
    if (released != ABSENT_I64)
        PUSH(a, r->boundaries, r->boundary_count, room,
             (struct rec_boundary){released, BOUNDARY_MEMORY_RELEASED, NULL});
}

/* Which engine it was and whether its prefix cache was on, as the log tells its settings; the log may be missing. */
static void read_settings(const char *dir, struct arena *a, struct records *r)
{
    static const struct {
        const char *text;
        enum engine_kind engine;
        int64_t on;
    } settings[] = {{"enable_prefix_caching=True", ENGINE_VLLM, 1},
                    {"enable_prefix_caching=False", ENGINE_VLLM, 0},
                    {"disable_radix_cache=False", ENGINE_OPENAI, 1},
                    {"disable_radix_cache=True", ENGINE_OPENAI, 0}};
    FILE *log = fopen(arena_format(a, "%s/engine.log", dir), "r");
    char *line = NULL;
    size_t capacity = 0;
    while (log && r->run.prefix_cache == ABSENT_I64 && getline(&line, &capacity, log) >= 0)
        for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
            if (strstr(line, settings[i].text)) {
                r->plan.engine.kind = settings[i].engine;
                r->run.prefix_cache = settings[i].on;
            }
    free(line);
    if (log)
        fclose(log);
}

static void describe(const char *dir, struct arena *a, struct records *r)
{
    struct plan *p = &r->plan;
    p->name = arena_format(a, "recording %s", dir);
    p->requests.count = (int64_t)r->request_count;
    p->gpu_count = r->gpu_count;
    p->gpus = arena_array(a, r->gpu_count, sizeof *p->gpus);
    for (size_t i = 0; i < r->gpu_count; i++)
        p->gpus[i] = r->gpus[i].uuid;
    r->run = (struct rec_run){.id = "recording",
                              .jtok_version = "recorded",
                              .method_id = "jtok-1",
                              .stamp_source = "kernel",
                              .engine_exit_status = ABSENT_I64,
                              .prefix_cache = ABSENT_I64,
                              .snapshot_bytes = ABSENT_I64,
                              .snapshot_resident_bytes = ABSENT_I64};
    read_settings(dir, a, r);
    r->sealed = true;
    /* The stamps of the buffer are on the recording's one clock already. */
    r->clocks = arena_array(a, 1, sizeof *r->clocks);
    r->clocks[0] = (struct rec_clock){.t_ns = records_boundary(r, BOUNDARY_BASELINE_START)};
    r->clock_count = 1;
}

bool recording_load(const char *dir, struct arena *a, struct records *ret, struct err *e)
{
    struct records r = {0};
    plan_defaults(&r.plan);
    r.plan.requests.continuous_usage = false;
    if (!load_marks(dir, a, &r, e) || !load_power(dir, a, &r, e) || !load_memory(dir, a, &r, e) ||
        !load_requests(dir, a, &r, e) || !load_chunks(dir, a, &r, e) || !load_metrics(dir, a, &r, e))
        return false;
    size_t period = prompt_period(&r);
    for (size_t i = 0; i < r.request_count; i++)
        r.requests[i].prompt_digest = i % period + 1;
    mark_memory_released(a, &r);
    describe(dir, a, &r);
    records_order(&r);
    *ret = r;
    return true;
}

bool recording_load_power(const char *path, struct arena *a, struct records *ret, struct err *e)
{
    FILE *f = fopen(path, "r");
    if (!f)
        return err_set_errno(e, ERR_SYSTEM, errno, "can't open %s", path);
    struct records r = {0};
    size_t gpu_room = 0, rooms[3][64] = {0};
    r.clocks = arena_array(a, r.clock_count = 1, sizeof *r.clocks);
    char series[32], line[200];
    double t;
    int index;
    long long value;
    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, "%31[a-z_],%lf,%d,%lld", series, &t, &index, &value) != 4 || index < 0 || index >= 64)
            continue;
        struct rec_gpu *g = gpu_of(a, &r, index, &gpu_room);
        size_t at = (size_t)(g - r.gpus);
        int64_t us = (int64_t)(t * 1e6 + 0.5);
        if (strcmp(series, "counter_mj") == 0)
            PUSH(a, g->counter, g->counter_count, rooms[0][at],
                 (struct rec_counter){us * 1000, value, -1, COUNTER_SEARCH});
        else if (strcmp(series, "instant_mw") == 0)
            PUSH(a, g->instant, g->instant_count, rooms[1][at],
                 (struct rec_instant){us * 1000, -1, (int32_t)value, 0, INSTANT_GRID});
        else if (strcmp(series, "sample_mw") == 0)
            PUSH(a, g->buffer, g->buffer_count, rooms[2][at], (struct rec_buffer){us, (int32_t)value});
    }
    fclose(f);
    records_order(&r);
    *ret = r;
    return true;
}
