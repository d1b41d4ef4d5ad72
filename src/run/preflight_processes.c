/* Engines that somebody left behind. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/must.h"
#include "engine/engine.h"
#include "proc/tree.h"
#include "run/preflight.h"

/* jtok carries the engine's command among its arguments, and so do the shells and drivers above it, and another jtok.
 */
static bool is_jtok(const struct proc *p, const char *command)
{
    struct proc self;
    if (p->pid == getpid() || (proc_read(getpid(), &self) && proc_is_below(&self, p->pid)))
        return true;
    size_t n = strcspn(command, " ");
    return n >= 4 && strncmp(command + n - 4, "jtok", 4) == 0 && (n == 4 || command[n - 5] == '/');
}

/* An engine below a living guardian is another run's, and dies with it: nobody left it behind. */
static bool is_guarded(const struct proc *p)
{
    struct proc at = *p;
    while (at.ppid > 1 && proc_read(at.ppid, &at))
        if (strcmp(at.name, "jtok-guardian") == 0)
            return true;
    return false;
}

static bool is_left_behind(const struct proc *p)
{
    enum { COMMAND_BYTES = 512 };
    struct buf command = {0};
    proc_command(p->pid, COMMAND_BYTES, &command);
    const char *text = buf_text(&command);
    bool left = engine_is_process(p->name, text) && !is_jtok(p, text) && !is_guarded(p);
    buf_done(&command);
    return left;
}

/* ---- GPUs ---- */

/* The processes on the GPUs of this machine. */
struct holders {
    struct {
        struct proc proc;
        bool ours; /* on one of the plan's GPUs */
    } list[DEVICE_PROCESSES_MAX];
    size_t count;
    bool known; /* they can be brought together with the processes that are seen here */
};

static bool is_among(const uint32_t *gpus, size_t n, uint32_t gpu)
{
    for (size_t i = 0; i < n; i++)
        if (gpus[i] == gpu)
            return true;
    return false;
}

/* In a namespace of its own process ids the driver's are others, or are left out. */
static void read_holders(const struct device *d, const uint32_t *gpus, size_t gpu_count, struct holders *h)
{
    *h = (struct holders){.known = d != NULL};
    for (uint32_t gpu = 0; d && gpu < d->gpu_count; gpu++) {
        struct device_process list[DEVICE_PROCESSES_MAX];
        size_t n = 0;
        bool ours = is_among(gpus, gpu_count, gpu);
        if (d->gpus[gpu].fault || d->ops->processes(d->self, gpu, list, &n) != READ_OK) {
            h->known = h->known && !ours;
            continue;
        }
        for (size_t i = 0; i < n && h->count < DEVICE_PROCESSES_MAX; i++)
            if (proc_read(list[i].pid, &h->list[h->count].proc))
                h->list[h->count++].ours = ours;
    }
    if (d && h->count == 0 && !d->simulated && proc_has_own_ids())
        h->known = false;
}

enum held { HOLDS_NONE, HOLDS_OTHERS, HOLDS_OURS };

/* Does this process, one above it or one below it hold memory there? */
static enum held holds(const struct holders *h, const struct proc *p)
{
    enum held found = HOLDS_NONE;
    for (size_t i = 0; i < h->count; i++) {
        const struct proc *q = &h->list[i].proc;
        if (q->pid != p->pid && !proc_is_below(q, p->pid) && !proc_is_below(p, q->pid))
            continue;
        if (h->list[i].ours)
            return HOLDS_OURS;
        found = HOLDS_OTHERS;
    }
    return found;
}

/* ---- judgement ---- */

static void note_leftovers(struct preflight *p, const char *const text[3], const size_t n[3])
{
    static const char *const expected = "no engine left behind";
    const char *elsewhere =
        n[HOLDS_OTHERS] ? arena_format(p->arena, "none here; on other GPUs: %s", text[HOLDS_OTHERS]) : "none";
    if (n[HOLDS_OURS])
        preflight_fact(p, "preflight.leftovers", CHECK_FAILED, expected, text[HOLDS_OURS]);
    else if (n[HOLDS_NONE])
        preflight_warn(
            p, "preflight.leftovers", expected,
            arena_format(p->arena, "%zu that hold no GPU%s%s", n[HOLDS_NONE], n[HOLDS_OTHERS] ? "; " : "",
                         n[HOLDS_OTHERS] ? elsewhere : ""),
            arena_format(p->arena,
                         "Processes that look like an engine hold memory of no GPU now: %s. If they were left "
                         "behind, end them; an engine that is starting will be a foreign process should it "
                         "take a GPU of this run.",
                         text[HOLDS_NONE]));
    else
        preflight_fact(p, "preflight.leftovers", CHECK_PASSED, expected, elsewhere);
}

void preflight_leftovers(struct preflight *p, const struct device *d, const uint32_t *gpus, size_t gpu_count,
                         size_t *ret_n)
{
    struct proc *all = NULL;
    struct holders h;
    struct buf b[3] = {{0}};
    size_t count = proc_all(&all), n[3] = {0};
    read_holders(d, gpus, gpu_count, &h);
    for (size_t i = 0; i < count; i++) {
        if (!is_left_behind(&all[i]))
            continue;
        enum held held = h.known ? holds(&h, &all[i]) : HOLDS_OURS;
        buf_fmt(&b[held], "%spid %lld (%s)", n[held]++ ? ", " : "", (long long)all[i].pid, all[i].name);
    }
    free(all);
    const char *text[3];
    for (int i = 0; i < 3; i++) {
        text[i] = arena_text(p->arena, buf_text(&b[i]));
        buf_done(&b[i]);
    }
    note_leftovers(p, text, n);
    if (ret_n)
        *ret_n = n[HOLDS_OURS];
}
