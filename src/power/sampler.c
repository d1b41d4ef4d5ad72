#include "power/sampler.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/must.h"
#include "power/gpu_recorder.h"

struct worker {
    struct gpu_recorder recorder;
    pthread_t thread;
    bool started;
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t wake;
    bool boundary, stop;
};

struct sampler {
    size_t count;
    uint32_t gpus[DEVICE_GPUS_MAX];
    struct worker workers[];
};

/* Waits for the deadline, a boundary or the end. Takes the boundary. A deadline that has gone by is no wait at all: the
 * kernel would sleep for a tenth of a millisecond even then, behind each call. */
static void worker_wait(struct worker *w, int64_t deadline_ns, bool *ret_boundary, bool *ret_stop)
{
    struct timespec t = {.tv_sec = deadline_ns / SECOND_NS, .tv_nsec = deadline_ns % SECOND_NS};
    pthread_mutex_lock(&w->mutex);
    while (!w->boundary && !w->stop && clock_now_ns() < deadline_ns &&
           pthread_cond_timedwait(&w->wake, &w->mutex, &t) != ETIMEDOUT)
        ;
    *ret_boundary = w->boundary;
    *ret_stop = w->stop;
    w->boundary = false;
    pthread_mutex_unlock(&w->mutex);
}

static void *worker_run(void *self)
{
    struct worker *w = self;
    bool boundary = false, stop = false;
    assert(w->recorder.device);
    while (!stop) {
        int64_t deadline_ns = gpu_recorder_step(&w->recorder, boundary);
        worker_wait(w, deadline_ns, &boundary, &stop);
    }
    gpu_recorder_finish(&w->recorder);
    return NULL;
}

static void worker_init(struct worker *w)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&w->mutex, NULL);
    pthread_cond_init(&w->wake, &attributes);
    pthread_condattr_destroy(&attributes);
}

/* Signals are the main thread's. */
static int worker_start(struct worker *w)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&w->thread, NULL, worker_run, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    w->started = code == 0;
    return code;
}

static void worker_tell(struct worker *w, bool stop)
{
    pthread_mutex_lock(&w->mutex);
    if (stop)
        w->stop = true;
    else
        w->boundary = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->mutex);
}

bool sampler_open(struct device *d, const struct sampler_options *o, struct sampler **ret_sampler, struct err *e)
{
    if (o->gpu_count < 1 || o->gpu_count > DEVICE_GPUS_MAX || o->grid_ns <= 0)
        return err_set(e, ERR_INTERNAL, "The sampler was asked for %zu GPUs at a grid of %lld ns.", o->gpu_count,
                       (long long)o->grid_ns);
    must(d && o->sink && ret_sampler);
    struct sampler *s = mem_zero(1, sizeof *s + o->gpu_count * sizeof *s->workers);
    struct sampler_options mine = *o;
    s->count = o->gpu_count;
    memcpy(s->gpus, o->gpus, o->gpu_count * sizeof *s->gpus);
    mine.gpus = s->gpus;
    for (size_t i = 0; i < s->count; i++) {
        gpu_recorder_init(&s->workers[i].recorder, d, &mine, (uint32_t)i, &gpu_recorder_real_clock);
        worker_init(&s->workers[i]);
    }
    for (size_t i = 0; i < s->count; i++) {
        int code = worker_start(&s->workers[i]);
        if (code != 0) {
            sampler_close(s);
            return err_set_errno(e, ERR_SYSTEM, code, "The sampler thread of GPU %zu could not be started", i);
        }
    }
    *ret_sampler = s;
    return true;
}

void sampler_boundary(struct sampler *s)
{
    must(s);
    for (size_t i = 0; i < s->count; i++)
        worker_tell(&s->workers[i], false);
}

size_t sampler_grid_since(struct sampler *s, uint32_t gpu, uint64_t after, struct sampler_live *ret_samples, size_t max)
{
    must(s && gpu < s->count);
    return gpu_recorder_grid_since(&s->workers[gpu].recorder, after, ret_samples, max);
}

int sampler_lost(struct sampler *s)
{
    must(s);
    int lost = 0;
    for (size_t i = 0; i < s->count; i++)
        lost += atomic_load(&s->workers[i].recorder.lost);
    return lost;
}

void sampler_close(struct sampler *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->count; i++)
        worker_tell(&s->workers[i], true);
    for (size_t i = 0; i < s->count; i++) {
        struct worker *w = &s->workers[i];
        if (w->started)
            pthread_join(w->thread, NULL);
        gpu_recorder_done(&w->recorder);
        pthread_cond_destroy(&w->wake);
        pthread_mutex_destroy(&w->mutex);
    }
    free(s);
}
