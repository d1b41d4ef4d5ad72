#include "power/probe.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/must.h"
#include "base/sort.h"

enum { CALLS_MAX = 4096 };
static const int64_t step_max_ns = 5 * MS_NS, step_min_ns = MS_NS, drain_every_ns = 500 * MS_NS;

/* Of one instrument, call by call. */
struct call_tally {
    int64_t widths_ns[CALLS_MAX];
    size_t width_count;
    int64_t calls, missed;
    bool unsupported, has_value;
    int64_t last_value, last_change_ns;
    int64_t gaps_ns[CALLS_MAX]; /* from change to change */
    size_t gap_count;
};

struct prober {
    struct device *device;
    uint32_t gpu;
    int64_t duration_ns;
    struct probe *probe;
    struct call_tally power, counter, buffer;
    double power_sum;
    int64_t power_count;
    int64_t seen_us;
    pthread_t thread;
};

static void count_call(struct call_tally *t, enum read_status status, int64_t begin_ns, int64_t end_ns)
{
    assert(end_ns >= begin_ns);
    t->calls++;
    t->unsupported = status == READ_UNSUPPORTED;
    t->missed += status == READ_MISSED;
    if (status == READ_OK && t->width_count < CALLS_MAX)
        t->widths_ns[t->width_count++] = end_ns - begin_ns;
}

static void count_value(struct call_tally *t, int64_t value, int64_t t_ns)
{
    if (t->has_value && value != t->last_value) {
        if (t->last_change_ns != 0 && t->gap_count < CALLS_MAX)
            t->gaps_ns[t->gap_count++] = t_ns - t->last_change_ns;
        t->last_change_ns = t_ns;
    }
    t->last_value = value;
    t->has_value = true;
}

static void probe_power(struct prober *p)
{
    int32_t mw = 0;
    int64_t begin_ns = clock_now_ns();
    enum read_status status = p->device->ops->power(p->device->self, p->gpu, &mw);
    int64_t end_ns = clock_now_ns();
    count_call(&p->power, status, begin_ns, end_ns);
    p->probe->lost |= status == READ_LOST;
    if (status != READ_OK)
        return;
    count_value(&p->power, mw, begin_ns);
    p->power_sum += mw;
    p->power_count++;
}

static void probe_counter(struct prober *p)
{
    int64_t mj = 0, begin_ns = clock_now_ns();
    enum read_status status = p->device->ops->energy(p->device->self, p->gpu, &mj);
    int64_t end_ns = clock_now_ns();
    count_call(&p->counter, status, begin_ns, end_ns);
    p->probe->lost |= status == READ_LOST;
    if (status == READ_OK)
        count_value(&p->counter, mj, begin_ns + (end_ns - begin_ns) / 2);
}

static void probe_buffer(struct prober *p)
{
    struct rec_buffer samples[DEVICE_BUFFER_MAX];
    size_t n = 0;
    int64_t begin_ns = clock_now_ns();
    enum read_status status = p->device->ops->buffer(p->device->self, p->gpu, p->seen_us, samples, &n);
    int64_t end_ns = clock_now_ns(), realtime_us = clock_realtime_ns() / 1000;
    count_call(&p->buffer, status, begin_ns, end_ns);
    if (status != READ_OK || n == 0)
        return;
    must(n <= DEVICE_BUFFER_MAX);
    if (p->seen_us == 0) {
        p->probe->buffer_depth = (int64_t)n;
        p->probe->buffer_span_ns = (samples[n - 1].realtime_us - samples[0].realtime_us) * 1000;
        p->probe->buffer_age_ns = (realtime_us - samples[n - 1].realtime_us) * 1000;
        if (n > 1)
            p->probe->buffer.period_ns = p->probe->buffer_span_ns / ((int64_t)n - 1);
    }
    p->seen_us = samples[n - 1].realtime_us;
}

static void conclude(struct call_tally *t, struct probe_instrument *ret_instrument)
{
    ret_instrument->calls = t->calls;
    ret_instrument->missed = t->missed;
    ret_instrument->supported = t->width_count > 0;
    if (t->width_count == 0)
        return;
    qsort(t->widths_ns, t->width_count, sizeof *t->widths_ns, compare_i64);
    ret_instrument->call_p50_ns = t->widths_ns[t->width_count / 2];
    ret_instrument->call_max_ns = t->widths_ns[t->width_count - 1];
}

/* Power that is steady repeats its value, so some gaps hold several steps: by the median gap it is told how many. */
static int64_t period(struct call_tally *t)
{
    assert(t->gap_count <= CALLS_MAX);
    if (t->gap_count == 0)
        return ABSENT_I64;
    qsort(t->gaps_ns, t->gap_count, sizeof *t->gaps_ns, compare_i64);
    int64_t median_ns = t->gaps_ns[t->gap_count / 2], span_ns = 0, steps = 0;
    for (size_t i = 0; i < t->gap_count && median_ns > 0; i++) {
        int64_t n = (t->gaps_ns[i] + median_ns / 2) / median_ns;
        span_ns += t->gaps_ns[i];
        steps += n > 0 ? n : 1;
    }
    return steps > 0 ? span_ns / steps : ABSENT_I64;
}

/* A counter that steps faster is read more often. */
static int64_t step_of(const struct device_caps *caps)
{
    int64_t step_ns = caps->counter_period_ns / 20;
    return step_ns <= 0 || step_ns > step_max_ns ? step_max_ns : step_ns < step_min_ns ? step_min_ns : step_ns;
}

static void *probe_thread(void *self)
{
    struct prober *p = self;
    const struct probe_instrument none = {
        .period_ns = ABSENT_I64, .call_p50_ns = ABSENT_I64, .call_max_ns = ABSENT_I64};
    *p->probe = (struct probe){.power = none,
                               .counter = none,
                               .buffer = none,
                               .buffer_depth = ABSENT_I64,
                               .buffer_span_ns = ABSENT_I64,
                               .buffer_age_ns = ABSENT_I64,
                               .power_mw = -1};
    int64_t step = step_of(&p->device->gpus[p->gpu].caps), end_ns = clock_now_ns() + p->duration_ns, drain_ns = 0;
    for (int64_t next_ns = clock_now_ns(); next_ns < end_ns && !p->probe->lost;) {
        probe_power(p);
        if (p->device->ops->energy && !p->counter.unsupported)
            probe_counter(p);
        if (p->device->ops->buffer && !p->buffer.unsupported && clock_now_ns() >= drain_ns) {
            drain_ns = clock_now_ns() + drain_every_ns;
            probe_buffer(p);
        }
        next_ns += step;
        if (next_ns < clock_now_ns())
            next_ns = clock_now_ns();
        clock_sleep_until_ns(next_ns);
    }
    conclude(&p->power, &p->probe->power);
    conclude(&p->counter, &p->probe->counter);
    conclude(&p->buffer, &p->probe->buffer);
    p->probe->power.period_ns = period(&p->power);
    p->probe->counter.period_ns = period(&p->counter);
    if (p->power_count > 0)
        p->probe->power_mw = (int32_t)(p->power_sum / (double)p->power_count);
    return NULL;
}

bool probe_gpus(struct device *d, const uint32_t *gpus, size_t gpu_count, int64_t duration_ns, struct probe *ret_probes,
                struct err *e)
{
    must(d && duration_ns > 0 && ret_probes);
    for (size_t i = 0; i < gpu_count; i++)
        must(gpus[i] < d->gpu_count);
    struct prober *probers = mem_zero(gpu_count, sizeof *probers);
    size_t started = 0;
    int code = 0;
    for (; started < gpu_count && code == 0; started += code == 0) {
        struct prober *p = &probers[started];
        p->device = d;
        p->gpu = gpus[started];
        p->duration_ns = duration_ns;
        p->probe = &ret_probes[started];
        code = pthread_create(&p->thread, NULL, probe_thread, p);
    }
    for (size_t i = 0; i < started; i++)
        pthread_join(probers[i].thread, NULL);
    free(probers);
    return code == 0 ||
           err_set_errno(e, ERR_SYSTEM, code, "A thread to read GPU %u could not be started", gpus[started]);
}
