#include "base/clock.h"

#include <errno.h>
#include <time.h>

static int64_t read_ns(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return t.tv_sec * SECOND_NS + t.tv_nsec;
}

int64_t clock_now_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

int64_t clock_realtime_ns(void)
{
    return read_ns(CLOCK_REALTIME);
}

struct clock_pair clock_pair_read(void)
{
    struct clock_pair best = {.width_ns = INT64_MAX};
    for (int i = 0; i < 3; i++) {
        int64_t before = clock_now_ns();
        int64_t real = clock_realtime_ns();
        int64_t after = clock_now_ns();
        if (after - before < best.width_ns) {
            int64_t middle = before + (after - before) / 2;
            best = (struct clock_pair){.t_ns = middle, .offset_ns = real - middle, .width_ns = after - before};
        }
    }
    return best;
}

void clock_sleep_until_ns(int64_t deadline_ns)
{
    struct timespec t = {.tv_sec = deadline_ns / SECOND_NS, .tv_nsec = deadline_ns % SECOND_NS};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
}

int64_t clock_thread_cpu_ns(void)
{
    return read_ns(CLOCK_THREAD_CPUTIME_ID);
}
