#include "run/recorder.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/must.h"
#include "store/csv_records.h"

/* The files of rows, then the two that are no CSV. gpus.csv is a document, not a record file: its place stays empty. */
enum { FILE_PROM = CSV_COUNT, FILE_LOG, FILE_COUNT };

enum { MEMORY_DEFAULT = 256 << 20, CHUNKS_RESERVE = 8 << 20, OTHERS_RESERVE = 64 << 10 };

static const int64_t flush_default_ns = 500 * 1000 * 1000, open_limit_ns = 30ll * 1000 * 1000 * 1000;

/* One file. Callers append whole lines to `filling` under `lock`; the writer swaps it with `writing`, which it alone
 * touches and which keeps, from `written` on, what the disk has not taken yet. */
struct record_file {
    pthread_mutex_t lock;
    struct buf filling;
    struct buf masked[3]; /* texts without their secrets; under lock */
    struct buf writing;
    size_t written;
    struct rec_series taken; /* under lock */
    bool dirty;              /* written to since its last fsync */
    int fd;                  /* -1: none */
    const char *name;
};

struct recorder {
    struct record_file files[FILE_COUNT];
    char *folder;
    const struct secrets *secrets;
    size_t memory_max;
    int64_t flush_ns;
    pthread_t writer;
    pthread_mutex_t turn_lock; /* guards the four below */
    pthread_cond_t asked, done;
    bool stop;
    uint64_t turns_asked, turns_done; /* turns that end with fsync */

    _Atomic uint64_t pending; /* bytes taken and not on disk */
    _Atomic uint64_t rows, bytes, lost, secrets_replaced, peak;
    _Atomic int64_t write_max_ns;

    _Atomic bool failed;
    pthread_mutex_t error_lock; /* guards error: the first failure */
    struct err error;
};

/* ---- failure ---- */

static void fail(struct recorder *r, const struct err *e)
{
    pthread_mutex_lock(&r->error_lock);
    if (!atomic_load(&r->failed))
        r->error = *e;
    pthread_mutex_unlock(&r->error_lock);
    atomic_store(&r->failed, true);
}

static void fail_write(struct recorder *r, const struct record_file *f, const char *what, int number)
{
    struct statvfs v;
    char free_space[64] = "";
    if (statvfs(r->folder, &v) == 0)
        snprintf(free_space, sizeof free_space, "%llu bytes are free there; ",
                 (unsigned long long)v.f_bavail * v.f_frsize);
    struct err e;
    err_set_errno(&e, ERR_SYSTEM, number, "%s/%s can't be %s (%sfree some space, or name another disk with --runs)",
                  r->folder, f->name, what, free_space);
    fail(r, &e);
}

static void fail_memory(struct recorder *r, const struct record_file *f)
{
    struct err e;
    err_set(&e, ERR_SYSTEM,
            "%s/%s: records are lost, because the disk has not yet taken %zu bytes that wait for it. Use a faster or "
            "emptier disk (--runs).",
            r->folder, f->name, r->memory_max);
    fail(r, &e);
}

bool recorder_failed(const struct recorder *r, struct err *e)
{
    struct recorder *self = (struct recorder *)r; /* its lock */
    if (!atomic_load(&self->failed))
        return false;
    if (e) {
        pthread_mutex_lock(&self->error_lock);
        *e = self->error;
        pthread_mutex_unlock(&self->error_lock);
    }
    return true;
}

/* ---- taking rows ---- */

static struct record_file *begin_rows(struct recorder *r, int file, size_t *ret_before)
{
    struct record_file *f = &r->files[file];
    pthread_mutex_lock(&f->lock);
    *ret_before = f->filling.n;
    return f;
}

static struct rec_series nothing_taken(const char *file)
{
    return (struct rec_series){.file = file, .first = ABSENT_I64, .last = ABSENT_I64};
}

static void add_taken(struct rec_series *sum, const struct rec_series *more)
{
    sum->rows += more->rows;
    sum->cells += more->cells;
    if (more->first == ABSENT_I64)
        return;
    if (sum->first == ABSENT_I64 || more->first < sum->first)
        sum->first = more->first;
    sum->last = more->last > sum->last ? more->last : sum->last;
}

/* One row between begin_rows and end_rows. */
static void put_record(struct record_file *f, enum csv_file t, uint32_t gpu, const void *record,
                       struct rec_series *taken)
{
    int64_t time = csv_records_time(t, record);
    taken->rows++;
    taken->cells += (int64_t)csv_records_put(&f->filling, t, gpu, record);
    if (time != ABSENT_I64 && (taken->first == ABSENT_I64 || time < taken->first))
        taken->first = time;
    taken->last = time > taken->last ? time : taken->last; /* ABSENT_I64 is the lowest */
}

/* Ends what begin_rows began: what `more` counts was appended. */
static void end_rows(struct recorder *r, struct record_file *f, size_t before, const struct rec_series *more)
{
    assert(f->filling.n >= before);
    size_t taken = f->filling.n - before;
    uint64_t pending = atomic_fetch_add(&r->pending, taken) + taken;
    bool too_much = pending > r->memory_max;
    if (too_much) {
        f->filling.n = before;
        atomic_fetch_sub(&r->pending, taken);
        atomic_fetch_add(&r->lost, (uint64_t)more->rows);
    } else {
        add_taken(&f->taken, more);
    }
    pthread_mutex_unlock(&f->lock);
    if (too_much) {
        fail_memory(r, f);
        return;
    }
    atomic_fetch_add(&r->rows, (uint64_t)more->rows);
    atomic_fetch_add(&r->bytes, taken);
    for (uint64_t peak = atomic_load(&r->peak);
         pending > peak && !atomic_compare_exchange_weak(&r->peak, &peak, pending);)
        ;
}

static void put_record_rows(struct recorder *r, enum csv_file t, uint32_t gpu, const void *records, size_t count)
{
    assert(t < CSV_COUNT && t != CSV_GPUS);
    size_t before;
    struct record_file *f = begin_rows(r, (int)t, &before);
    struct rec_series taken = nothing_taken(NULL);
    for (size_t i = 0; i < count; i++)
        put_record(f, t, gpu, (const char *)records + i * csv_records_size(t), &taken);
    end_rows(r, f, before, &taken);
}

/* The text without secrets, in the file's buffer `which`; its lock is held. */
static const char *mask(struct recorder *r, struct record_file *f, int which, const char *text)
{
    struct buf *b = &f->masked[which];
    if (!text || !r->secrets || !r->secrets->count)
        return text;
    buf_clear(b);
    atomic_fetch_add(&r->secrets_replaced, secrets_replace(r->secrets, span_of(text), b));
    return buf_text(b);
}

/* Appends text without secrets, each LF as `lf`. */
static void put_masked(struct recorder *r, struct record_file *f, struct span text, char lf)
{
    size_t from = f->filling.n;
    if (r->secrets && r->secrets->count)
        atomic_fetch_add(&r->secrets_replaced, secrets_replace(r->secrets, text, &f->filling));
    else
        buf_add(&f->filling, text.p, text.n);
    for (size_t i = from; lf != '\n' && i < f->filling.n; i++)
        if (f->filling.p[i] == '\n')
            f->filling.p[i] = lf;
}

/* The writer makes a turn at once, with fsync. */
static uint64_t ask_turn(struct recorder *r)
{
    pthread_mutex_lock(&r->turn_lock);
    uint64_t ticket = ++r->turns_asked;
    pthread_cond_signal(&r->asked);
    pthread_mutex_unlock(&r->turn_lock);
    return ticket;
}

static const struct rec_series one_line = {.rows = 1, .first = ABSENT_I64, .last = ABSENT_I64};

static void take_boundary(void *self, const struct rec_boundary *m)
{
    struct recorder *r = self;
    struct rec_boundary masked = *m;
    size_t before;
    struct record_file *f = begin_rows(r, CSV_BOUNDARIES, &before);
    struct rec_series taken = nothing_taken(NULL);
    masked.note = mask(r, f, 0, m->note);
    put_record(f, CSV_BOUNDARIES, 0, &masked, &taken);
    end_rows(r, f, before, &taken);
    ask_turn(r);
}

static void take_clock(void *self, const struct rec_clock *c)
{
    put_record_rows(self, CSV_CLOCK, 0, c, 1);
}

static void take_fact(void *self, const struct rec_fact *fact)
{
    struct recorder *r = self;
    struct rec_fact masked = *fact;
    size_t before;
    struct record_file *f = begin_rows(r, CSV_FACTS, &before);
    struct rec_series taken = nothing_taken(NULL);
    masked.expected = mask(r, f, 0, fact->expected);
    masked.seen = mask(r, f, 1, fact->seen);
    masked.source = mask(r, f, 2, fact->source);
    put_record(f, CSV_FACTS, 0, &masked, &taken);
    end_rows(r, f, before, &taken);
}

static void take_instant(void *self, uint32_t gpu, const struct rec_instant *i)
{
    put_record_rows(self, CSV_INSTANT, gpu, i, 1);
}

static void take_counter(void *self, uint32_t gpu, const struct rec_counter *c)
{
    put_record_rows(self, CSV_COUNTER, gpu, c, 1);
}

static void take_buffer_samples(void *self, uint32_t gpu, const struct rec_buffer *b, size_t n)
{
    put_record_rows(self, CSV_BUFFER, gpu, b, n);
}

static void take_state(void *self, uint32_t gpu, const struct rec_gpu_state *state, const struct rec_process *p,
                       size_t n)
{
    put_record_rows(self, CSV_GPU_STATE, gpu, state, 1);
    if (n)
        put_record_rows(self, CSV_PROCESSES, gpu, p, n);
}

static void take_request(void *self, const struct rec_request *request)
{
    struct recorder *r = self;
    struct rec_request masked = *request;
    size_t before;
    struct record_file *f = begin_rows(r, CSV_REQUESTS, &before);
    struct rec_series taken = nothing_taken(NULL);
    masked.finish_reason = mask(r, f, 0, request->finish_reason);
    masked.detail = mask(r, f, 1, request->detail);
    put_record(f, CSV_REQUESTS, 0, &masked, &taken);
    end_rows(r, f, before, &taken);
}

static void take_chunk(void *self, const struct rec_chunk *c, size_t n)
{
    put_record_rows(self, CSV_CHUNKS, 0, c, n);
}

static void take_metrics(void *self, const struct rec_metrics *m, struct span raw)
{
    struct recorder *r = self;
    put_record_rows(r, CSV_METRICS, 0, m, 1);
    size_t before;
    struct record_file *f = begin_rows(r, FILE_PROM, &before);
    buf_fmt(&f->filling, "# scrape t_ns=%lld took_ns=", (long long)m->t_ns);
    if (m->took_ns != ABSENT_I64)
        buf_i64(&f->filling, m->took_ns);
    buf_byte(&f->filling, '\n');
    put_masked(r, f, raw, '\n');
    if (f->filling.p[f->filling.n - 1] != '\n')
        buf_byte(&f->filling, '\n');
    end_rows(r, f, before, &one_line);
}

static void take_log(void *self, int64_t t_ns, char output, struct span line)
{
    struct recorder *r = self;
    size_t before;
    struct record_file *f = begin_rows(r, FILE_LOG, &before);
    buf_i64(&f->filling, t_ns);
    buf_byte(&f->filling, ',');
    buf_byte(&f->filling, output);
    buf_byte(&f->filling, ',');
    put_masked(r, f, line, ' ');
    buf_byte(&f->filling, '\n');
    end_rows(r, f, before, &one_line);
}

struct record_sink recorder_sink(struct recorder *r)
{
    must(r);
    return (struct record_sink){.self = r,
                                .boundary = take_boundary,
                                .clock = take_clock,
                                .fact = take_fact,
                                .instant = take_instant,
                                .counter = take_counter,
                                .buffer = take_buffer_samples,
                                .state = take_state,
                                .request = take_request,
                                .chunk = take_chunk,
                                .metrics = take_metrics,
                                .log = take_log};
}

/* ---- the writer ---- */

static void note_duration(struct recorder *r, int64_t since_ns)
{
    int64_t took = clock_now_ns() - since_ns;
    if (took > atomic_load(&r->write_max_ns))
        atomic_store(&r->write_max_ns, took);
}

/* What lies in `writing`; false when the disk did not take all of it. */
static bool write_out(struct recorder *r, struct record_file *f)
{
    while (f->written < f->writing.n) {
        int64_t since = clock_now_ns();
        ssize_t n = write(f->fd, f->writing.p + f->written, f->writing.n - f->written);
        if (n < 0 && errno == EINTR)
            continue;
        note_duration(r, since);
        if (n <= 0) {
            fail_write(r, f, "written", n < 0 ? errno : ENOSPC);
            return false;
        }
        f->written += (size_t)n;
        f->dirty = true;
        assert(atomic_load(&r->pending) >= (uint64_t)n);
        atomic_fetch_sub(&r->pending, (uint64_t)n);
    }
    return true;
}

static bool write_file(struct recorder *r, struct record_file *f)
{
    if (!write_out(r, f)) /* left from the turn before */
        return false;
    buf_clear(&f->writing);
    f->written = 0;
    pthread_mutex_lock(&f->lock);
    struct buf swap = f->filling;
    f->filling = f->writing;
    f->writing = swap;
    pthread_mutex_unlock(&f->lock);
    return write_out(r, f);
}

static void sync_file(struct recorder *r, struct record_file *f)
{
    if (!f->dirty)
        return;
    int64_t since = clock_now_ns();
    if (fdatasync(f->fd) != 0 && errno != EINVAL && errno != EROFS) /* what can't be flushed: pipes, devices */
        fail_write(r, f, "flushed to the disk", errno);
    f->dirty = false;
    note_duration(r, since);
}

static void write_turn(struct recorder *r, bool sync)
{
    for (int i = 0; i < FILE_COUNT; i++)
        if (r->files[i].fd >= 0)
            write_file(r, &r->files[i]);
    for (int i = 0; i < FILE_COUNT && sync; i++)
        if (r->files[i].fd >= 0)
            sync_file(r, &r->files[i]);
}

static struct timespec timespec_of(int64_t ns)
{
    return (struct timespec){.tv_sec = ns / SECOND_NS, .tv_nsec = ns % SECOND_NS};
}

static void *write_all(void *self)
{
    struct recorder *r = self;
    bool stop = false;
    while (!stop) {
        struct timespec until = timespec_of(clock_now_ns() + r->flush_ns);
        pthread_mutex_lock(&r->turn_lock);
        while (!r->stop && r->turns_asked == r->turns_done &&
               pthread_cond_timedwait(&r->asked, &r->turn_lock, &until) != ETIMEDOUT)
            ;
        stop = r->stop;
        uint64_t asked = r->turns_asked;
        bool sync = stop || asked != r->turns_done;
        pthread_mutex_unlock(&r->turn_lock);

        write_turn(r, sync);

        pthread_mutex_lock(&r->turn_lock);
        r->turns_done = asked;
        pthread_cond_broadcast(&r->done);
        pthread_mutex_unlock(&r->turn_lock);
    }
    return NULL;
}

bool recorder_flush(struct recorder *r, int64_t limit_ns, struct err *e)
{
    must(limit_ns >= 0);
    struct timespec until = timespec_of(clock_now_ns() + limit_ns);
    uint64_t ticket = ask_turn(r);
    bool in_time = true;
    pthread_mutex_lock(&r->turn_lock);
    while (r->turns_done < ticket && in_time)
        in_time = pthread_cond_timedwait(&r->done, &r->turn_lock, &until) != ETIMEDOUT;
    in_time = r->turns_done >= ticket;
    pthread_mutex_unlock(&r->turn_lock);
    if (recorder_failed(r, e))
        return false;
    return in_time ||
           err_set(e, ERR_SYSTEM,
                   "The disk of %s did not take the records within %.1f s. Use a faster or emptier disk (--runs).",
                   r->folder, (double)limit_ns / 1e9);
}

/* ---- opening and closing ---- */

static const char *file_name(int file)
{
    return file == FILE_PROM ? "metrics.prom" : file == FILE_LOG ? "engine.log" : csv_records_file((enum csv_file)file);
}

static bool open_file(struct recorder *r, int file, struct err *e)
{
    struct record_file *f = &r->files[file];
    char path[4200];
    snprintf(path, sizeof path, "%s/%s", r->folder, f->name);
    f->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (f->fd < 0)
        return err_set_errno(e, ERR_SYSTEM, errno, "The record file %s can't be made", path);
    buf_reserve(&f->filling, file == CSV_CHUNKS ? CHUNKS_RESERVE : OTHERS_RESERVE);
    buf_reserve(&f->writing, file == CSV_CHUNKS ? CHUNKS_RESERVE : OTHERS_RESERVE);
    size_t before;
    begin_rows(r, file, &before);
    if (file < CSV_COUNT)
        csv_records_header((enum csv_file)file, &f->filling);
    end_rows(r, f, before, &(struct rec_series){.first = ABSENT_I64, .last = ABSENT_I64});
    return true;
}

static bool start_writer(struct recorder *r, struct err *e)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old); /* signals are the loop thread's */
    int error = pthread_create(&r->writer, NULL, write_all, r);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return error == 0 || err_set_errno(e, ERR_SYSTEM, error, "The thread that writes the records can't be started");
}

static void init_locks(struct recorder *r)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&r->asked, &monotonic);
    pthread_cond_init(&r->done, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&r->turn_lock, NULL);
    pthread_mutex_init(&r->error_lock, NULL);
    for (int i = 0; i < FILE_COUNT; i++) {
        r->files[i].fd = -1;
        r->files[i].name = file_name(i);
        r->files[i].taken = nothing_taken(file_name(i));
        pthread_mutex_init(&r->files[i].lock, NULL);
    }
}

static void free_recorder(struct recorder *r)
{
    for (int i = 0; i < FILE_COUNT; i++) {
        struct record_file *f = &r->files[i];
        if (f->fd >= 0)
            close(f->fd);
        buf_done(&f->filling);
        buf_done(&f->writing);
        buf_done(&f->masked[0]);
        buf_done(&f->masked[1]);
        buf_done(&f->masked[2]);
        pthread_mutex_destroy(&f->lock);
    }
    pthread_cond_destroy(&r->asked);
    pthread_cond_destroy(&r->done);
    pthread_mutex_destroy(&r->turn_lock);
    pthread_mutex_destroy(&r->error_lock);
    free(r->folder);
    free(r);
}

bool recorder_open(struct recorder **ret_recorder, const char *folder, const struct recorder_options *o, struct err *e)
{
    must(folder && *folder);
    must(!o || o->flush_ns >= 0);
    struct recorder *r = mem_zero(1, sizeof *r);
    r->folder = mem_alloc(strlen(folder) + 1);
    memcpy(r->folder, folder, strlen(folder) + 1);
    r->secrets = o ? o->secrets : NULL;
    r->memory_max = o && o->memory_max ? o->memory_max : MEMORY_DEFAULT;
    r->flush_ns = o && o->flush_ns ? o->flush_ns : flush_default_ns;
    init_locks(r);
    for (int i = 0; i < FILE_COUNT; i++)
        if (i != CSV_GPUS && !open_file(r, i, e)) {
            free_recorder(r);
            return false;
        }
    if (!start_writer(r, e)) {
        free_recorder(r);
        return false;
    }
    if (!recorder_flush(r, open_limit_ns, e)) {
        recorder_close(r, NULL, NULL);
        return false;
    }
    *ret_recorder = r;
    return true;
}

struct recorder_counts recorder_counts(const struct recorder *r)
{
    struct recorder *self = (struct recorder *)r; /* its locks */
    struct recorder_counts counts = {
        .rows = atomic_load(&self->rows),
        .bytes = atomic_load(&self->bytes),
        .lost_rows = atomic_load(&self->lost),
        .secrets_replaced = atomic_load(&self->secrets_replaced),
        .memory_peak_bytes = atomic_load(&self->peak),
        .write_max_ns = atomic_load(&self->write_max_ns),
    };

    for (int i = 0; i < CSV_COUNT; i++) {
        struct record_file *f = &self->files[i];
        if (f->fd < 0)
            continue;
        pthread_mutex_lock(&f->lock);
        counts.series[counts.series_count++] = f->taken;
        pthread_mutex_unlock(&f->lock);
    }
    return counts;
}

static size_t lines_in(const char *p, size_t n)
{
    size_t lines = 0;
    for (size_t i = 0; i < n; i++)
        lines += p[i] == '\n';
    return lines;
}

/* What the disk did not take is lost; the half line that a full disk may have left goes too. */
static void drop_rest(struct recorder *r, struct record_file *f)
{
    if (f->written == f->writing.n && f->filling.n == 0)
        return;
    size_t part = f->written;
    while (part && f->writing.p[part - 1] != '\n')
        part--;
    size_t lost = lines_in(f->writing.p + part, f->writing.n - part) + lines_in(f->filling.p, f->filling.n);
    atomic_fetch_add(&r->lost, lost);
    off_t size = lseek(f->fd, 0, SEEK_END);
    if (part < f->written && size >= (off_t)(f->written - part) &&
        ftruncate(f->fd, size - (off_t)(f->written - part)) != 0)
        fail_write(r, f, "cut back to its last whole line", errno);
}

bool recorder_close(struct recorder *r, struct recorder_counts *ret_counts, struct err *e)
{
    if (!r) {
        if (ret_counts)
            *ret_counts = (struct recorder_counts){0};
        return true;
    }
    pthread_mutex_lock(&r->turn_lock);
    r->stop = true;
    pthread_cond_signal(&r->asked);
    pthread_mutex_unlock(&r->turn_lock);
    pthread_join(r->writer, NULL);
    for (int i = 0; i < FILE_COUNT; i++)
        if (r->files[i].fd >= 0)
            drop_rest(r, &r->files[i]);
    if (ret_counts)
        *ret_counts = recorder_counts(r);
    bool failed = recorder_failed(r, e);
    free_recorder(r);
    return !failed;
}
