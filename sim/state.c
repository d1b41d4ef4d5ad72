#include "sim/state.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "sim/seed.h"

enum { READY_WAIT_MS = 5000 };

static uint32_t gpus_wanted(uint32_t gpu_count)
{
    if (gpu_count == 0) {
        const char *text = getenv("JTOK_SIM_GPUS");
        gpu_count = text ? (uint32_t)strtoul(text, NULL, 10) : 1;
    }
    if (gpu_count < 1)
        return 1;
    return gpu_count > SIM_GPUS_MAX ? SIM_GPUS_MAX : gpu_count;
}

static void state_create(struct sim_state *s, uint32_t gpu_count, double power_factor)
{
    s->power_factor = power_factor;
    s->gpu_count = gpus_wanted(gpu_count);
    s->created_ns = clock_now_ns();
    atomic_store(&s->ready, SIM_MAGIC);
}

static struct sim_state *map(int fd)
{
    int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED;
    void *p = mmap(NULL, sizeof(struct sim_state), PROT_READ | PROT_WRITE, flags, fd, 0);
    return p == MAP_FAILED ? NULL : p;
}

/* The creator may still be between open and ready: both the size and the magic number have to be waited for. */
static bool wait_ready(int fd, const char *path, struct sim_state **ret_state, struct err *e)
{
    struct sim_state *s = NULL;
    for (int i = 0; i < READY_WAIT_MS; i++) {
        struct stat st;
        if (!s && fstat(fd, &st) == 0 && st.st_size == (off_t)sizeof *s)
            s = map(fd);
        if (s && atomic_load(&s->ready) == SIM_MAGIC) {
            *ret_state = s;
            return true;
        }
        usleep(1000);
    }
    sim_state_close(s);
    return err_set(e, ERR_SYSTEM,
                   "The simulation's state file %s did not get ready within 5 s. Delete it and try again.", path);
}

bool sim_state_open(const char *path, uint32_t gpu_count, struct sim_state **ret_state, struct err *e)
{
    if (!path)
        path = getenv("JTOK_SIM_STATE");
    struct sim_state *s = NULL;
    double power_factor;
    if (!sim_seed_factor(SIM_SEED_POWER, &power_factor, e))
        return false;
    if (!path || !*path) {
        if (!(s = map(-1)))
            return err_set_errno(e, ERR_SYSTEM, errno, "The simulation's state could not be mapped");
        state_create(s, gpu_count, power_factor);
        *ret_state = s;
        return true;
    }
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool created = fd >= 0;
    if (!created && errno == EEXIST)
        fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return err_set_errno(e, ERR_SYSTEM, errno, "The simulation's state file %s could not be opened", path);
    bool good;
    if (created) {
        good = ftruncate(fd, sizeof *s) == 0 && (s = map(fd));
        if (good) {
            state_create(s, gpu_count, power_factor);
            *ret_state = s;
        } else {
            err_set_errno(e, ERR_SYSTEM, errno, "The simulation's state file %s could not be made", path);
        }
    } else {
        good = wait_ready(fd, path, ret_state, e);
    }
    close(fd);
    return good;
}

void sim_state_close(struct sim_state *s)
{
    if (s)
        munmap(s, sizeof *s);
}

static bool append(struct sim_gpu *g, int64_t t_ns, int64_t mw)
{
    uint64_t n = atomic_load_explicit(&g->step_count, memory_order_relaxed);
    if (n > 0 && g->steps[n - 1].mw == mw)
        return true;
    if (n == SIM_STEPS_MAX)
        return false;
    if (n > 0 && t_ns < g->steps[n - 1].t_ns)
        t_ns = g->steps[n - 1].t_ns;
    g->steps[n] = (struct sim_step){t_ns, mw};
    atomic_store_explicit(&g->step_count, n + 1, memory_order_release);
    return true;
}

bool sim_step_add(struct sim_state *s, uint32_t gpu, int64_t t_ns, int64_t mw)
{
    return atomic_load(&s->replaying) ? true : append(&s->gpus[gpu], t_ns, mw);
}

bool sim_process_set(struct sim_state *s, uint32_t gpu, int64_t pid, int64_t bytes)
{
    struct sim_gpu *g = &s->gpus[gpu];
    for (int i = 0; i < SIM_PROCESSES_MAX; i++)
        if (atomic_load(&g->pids[i]) == pid) {
            atomic_fetch_add(&g->memory_bytes, bytes - atomic_exchange(&g->pid_bytes[i], bytes));
            return true;
        }
    for (int i = 0; i < SIM_PROCESSES_MAX; i++) {
        int64_t nobody = 0;
        if (atomic_compare_exchange_strong(&g->pids[i], &nobody, pid)) {
            atomic_store(&g->pid_bytes[i], bytes);
            atomic_fetch_add(&g->memory_bytes, bytes);
            return true;
        }
    }
    return false;
}

void sim_process_remove(struct sim_state *s, uint32_t gpu, int64_t pid)
{
    struct sim_gpu *g = &s->gpus[gpu];
    for (int i = 0; i < SIM_PROCESSES_MAX; i++) {
        if (atomic_load(&g->pids[i]) != pid)
            continue;
        int64_t bytes = atomic_exchange(&g->pid_bytes[i], 0);
        if (atomic_compare_exchange_strong(&g->pids[i], &pid, 0))
            atomic_fetch_sub(&g->memory_bytes, bytes);
        return;
    }
}

void sim_utilisation_set(struct sim_state *s, uint32_t gpu, int64_t percent)
{
    atomic_store(&s->gpus[gpu].utilisation, percent);
}

void sim_processes_reap(struct sim_state *s, uint32_t gpu, int64_t idle_at_ns)
{
    struct sim_gpu *g = &s->gpus[gpu];
    int left = 0, gone = 0;
    for (int i = 0; i < SIM_PROCESSES_MAX; i++) {
        int64_t pid = atomic_load(&g->pids[i]);
        if (pid == 0)
            continue;
        if (kill((pid_t)pid, 0) == 0 || errno != ESRCH) {
            left++;
            continue;
        }
        sim_process_remove(s, gpu, pid);
        gone++;
    }
    if (!gone || left)
        return;
    sim_utilisation_set(s, gpu, 0);
    if (idle_at_ns >= 0)
        sim_step_add(s, gpu, idle_at_ns, SIM_IDLE_MW);
}
