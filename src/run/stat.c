#include "run/stat.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/must.h"
#include "proc/child.h"
#include "run/folder.h"
#include "run/observer.h"
#include "run/signals.h"
#include "run/stage.h"

enum { TICK_NS = 250000000 };

struct stat_run {
    const struct plan *given;
    struct arena *arena;
    struct loop *loop;
    struct signals signals;
    struct stage_machine machine;
    struct child *child;
    struct resolved resolved;
    struct folder folder;
    struct observer observer;
    struct timer tick;
    int64_t status;       /* ABSENT_I64: not ended */
    int64_t group_end_ns; /* run time; ABSENT_I64: some process of the group is there */
};

/* ---- the command ---- */

static void on_command_exited(void *self, int64_t t_ns, int status)
{
    (void)t_ns;
    struct stat_run *s = self;
    s->status = status;
}

static void on_group_gone(void *self, int64_t t_ns)
{
    struct stat_run *s = self;
    if (s->group_end_ns == ABSENT_I64)
        s->group_end_ns = t_ns - s->machine.origin_ns;
    stage_wake(&s->machine);
}

static void on_command_orphaned(void *self, const char *why)
{
    (void)why;
    struct stat_run *s = self;
    stage_fail(&s->machine, ERR_SYSTEM,
               "Another process killed the guardian between jtok and the command, so the command was killed as well. "
               "Look for the kernel's out-of-memory killer in `dmesg`.");
}

/* A terminal's Ctrl-C reaches jtok alone: the command has a session of its own. What is left of the group at the third
 * one does not heed them: shells start background jobs deaf to Ctrl-C. */
static void on_stat_signal(void *self, int number)
{
    struct stat_run *s = self;
    child_signal(s->child, s->machine.interrupts >= 3 ? SIGKILL : number);
}

static int8_t owns(void *self, int64_t pid)
{
    struct stat_run *s = self;
    return (int8_t)child_owns_pid(s->child, pid);
}

static struct child_spec spec_of(const struct plan *p)
{
    return (struct child_spec){.argv = p->stat.command, .any_command = true};
}

static int64_t start_status(const struct child_spec *spec)
{
    return child_exec_fault(spec) == ENOENT ? STAT_NOT_FOUND : STAT_NOT_EXECUTABLE;
}

/* ---- life ---- */

static bool open_child(struct stat_run *s, struct err *e)
{
    struct child_events events = {.self = s,
                                  .exited = on_command_exited,
                                  .group_gone = on_group_gone,
                                  .gone = on_group_gone,
                                  .orphaned = on_command_orphaned};
    return child_open(&s->child, &events, e) && child_attach(s->child, s->loop, e);
}

bool stat_open(const struct plan *plan, struct arena *a, struct stat_run **ret_stat, int64_t *ret_status, struct err *e)
{
    must(plan && a && ret_status);
    must(plan->stat.command_count > 0 && !plan->stat.command[plan->stat.command_count]);
    struct child_spec spec = spec_of(plan);
    if (!child_can_start(&spec, e)) {
        *ret_status = start_status(&spec);
        return false;
    }
    struct stat_run *s = mem_zero(1, sizeof *s);
    *s = (struct stat_run){.given = plan, .arena = a, .status = ABSENT_I64, .group_end_ns = ABSENT_I64};
    sigset_t set = signals_prepare();
    bool open = loop_open(&s->loop, e);
    if (open)
        stage_init(&s->machine, s->loop, a);
    /* The guardian is forked before the signals are blocked: it has its own way with them. */
    open = open && open_child(s, e) && signals_open(&s->signals, &set, e) && resolve_stat(plan, a, &s->resolved, e);
    if (!open) {
        stat_close(s);
        return false;
    }
    *ret_stat = s;
    return true;
}

void stat_close(struct stat_run *s)
{
    if (!s)
        return;
    observer_done(&s->observer);
    child_close(s->child);
    folder_done(&s->folder);
    signals_close(&s->signals, s->loop);
    if (s->loop)
        loop_close(s->loop);
    resolved_done(&s->resolved);
    free(s);
}

/* ---- the parts ---- */

static void on_line_tick(struct timer *t)
{
    struct stat_run *s = t->owner;
    struct err e;
    if (recorder_failed(s->folder.recorder, &e))
        stage_fail_with(&s->machine, &e);
    loop_timer_set(s->loop, t, clock_now_ns() + TICK_NS);
}

static bool stat_open_parts(struct stat_run *s, struct err *e)
{
    const struct resolved *v = &s->resolved;
    struct folder_options o = {0};
    if (!folder_make(&s->folder, &s->resolved, &o, s->arena, e))
        return false;
    stage_begin(&s->machine, recorder_sink(s->folder.recorder), s->folder.origin_ns);
    folder_note_resolved(&s->folder, &s->machine);
    s->signals.heard = on_stat_signal;
    s->signals.self = s;
    if (!signals_watch(&s->signals, &s->machine, e))
        return false;
    s->tick = (struct timer){.fire = on_line_tick, .owner = s};
    loop_timer_set(s->loop, &s->tick, clock_now_ns() + TICK_NS);
    struct observer_options look = {.device = v->device,
                                    .gpus = v->gpus,
                                    .gpu_count = v->gpu_count,
                                    .grid_ns = time_of_seconds(v->plan->method.grid_s),
                                    .hold_ns = time_of_seconds(v->plan->method.hold_s),
                                    .own = owns,
                                    .self = s};
    return observer_open(&s->observer, &s->machine, &look, e);
}

/* ---- stages ---- */

static bool look_is_over(void *self)
{
    struct stat_run *s = self;
    return observer_idle_is_decided(&s->observer);
}

/* What power was before. A machine that is not idle is looked at all the same; without a look only the sampler's lead
 * goes by. */
static bool stat_look(void *self)
{
    struct stat_run *s = self;
    struct stage_machine *m = &s->machine;
    struct observer *v = &s->observer;
    stage_enter(m, RUN_LOOK);
    int64_t idle_ns = time_of_seconds(s->resolved.plan->stat.idle_s);
    if (idle_ns > 0) {
        observer_judge_idle(v, idle_ns, 0);
        stage_wait(m, look_is_over, s, v->t0_ns + idle_ns + 8 * v->o.grid_ns);
        observer_stop_idle(v);
        if (v->idle.start_ns != ABSENT_I64) {
            stage_boundary(m, BOUNDARY_BASELINE_START, v->idle.start_ns, NULL);
            stage_boundary(m, BOUNDARY_BASELINE_END, v->idle.end_ns, NULL);
        }
    } else {
        stage_wait(m, NULL, NULL, v->t0_ns);
    }
    return m->interrupts == 0 && m->failure.kind == ERR_NONE;
}

static bool group_is_gone(void *self)
{
    struct stat_run *s = self;
    return s->group_end_ns != ABSENT_I64;
}

/* What has left the command's group and lives on: daemons. */
static void note_left(struct stat_run *s)
{
    struct child_process *list;
    size_t n;
    if (!child_list(s->child, s->arena, &list, &n, NULL))
        return;
    for (size_t i = 0; i < n; i++)
        if (list[i].state != 'Z')
            stage_fact(&s->machine, "command.left_running", CHECK_NOT_JUDGED, NULL,
                       arena_format(s->arena, "pid %lld (%s)", (long long)list[i].pid, list[i].name));
}

static bool go_command(void *self)
{
    const int64_t forever_ns = INT64_MAX / 2;
    struct stat_run *s = self;
    struct stage_machine *m = &s->machine;
    struct child_spec spec = spec_of(s->resolved.plan);
    struct err e;
    stage_enter(m, RUN_COMMAND);
    observer_boundary(&s->observer);
    stage_boundary(m, BOUNDARY_COMMAND_START, stage_now_ns(m), NULL);
    if (!child_start(s->child, &spec, NULL, &e)) {
        s->status = start_status(&spec);
        return stage_fail_with(m, &e);
    }
    /* Neither a failure nor a signal ends the wait: the command is not jtok's to end. */
    stage_wait_deaf(m, group_is_gone, s, forever_ns);
    observer_boundary(&s->observer);
    stage_boundary(m, BOUNDARY_COMMAND_END, s->group_end_ns, arena_format(s->arena, "%lld", (long long)s->status));
    note_left(s);
    if (s->status != ABSENT_I64)
        child_leave(s->child);
    return m->interrupts == 0 && m->failure.kind == ERR_NONE;
}

static bool command_is_started(void *self)
{
    struct stat_run *s = self;
    return child_is_started(s->child);
}

/* Is every GPU's power before known? Else there is nothing that it could come back to. */
static bool level_is_known(const struct observer *v)
{
    for (size_t g = 0; g < v->o.gpu_count; g++)
        if (v->idle.start_ns == ABSENT_I64 || isnan(v->idle.verdict[g].mean_w))
            return false;
    return v->idle.windows > 0;
}

struct coming_back {
    struct stat_run *stat;
    int64_t until_ns;
    int interrupts; /* by the command's end */
};

/* A hold that began in time may prove itself. A signal from here on means jtok. */
static bool power_is_back(void *self)
{
    const struct coming_back *w = self;
    const struct observer *v = &w->stat->observer;
    const struct release *r = &v->release;
    bool holds = r->recovered_ns != ABSENT_I64 && r->recovered_ns <= w->until_ns;
    return r->closed || observer_lost(v) > 0 || w->stat->machine.interrupts > w->interrupts ||
           (stage_now_ns(&w->stat->machine) >= w->until_ns && !holds);
}

static void wait_for_power(struct stat_run *s)
{
    struct stage_machine *m = &s->machine;
    struct observer *v = &s->observer;
    struct coming_back w = {s, s->group_end_ns + time_of_seconds(s->resolved.plan->method.release_wait_s),
                            m->interrupts};
    observer_watch_release(v, s->group_end_ns);
    stage_wait(m, power_is_back, &w, w.until_ns + v->o.hold_ns + 4 * v->o.grid_ns);
    if (v->release.closed && v->release.recovered_ns <= w.until_ns) {
        stage_boundary(m, BOUNDARY_POWER_RECOVERED, v->release.recovered_ns, NULL);
        stage_boundary(m, BOUNDARY_HOLD_END, v->release.closed_ns, NULL);
        return;
    }
    struct buf b = {0};
    release_describe(&v->release, observer_gpu_name, v, &b);
    stage_boundary(m, BOUNDARY_RELEASE_TIMEOUT, stage_now_ns(m), buf_text(&b));
    buf_done(&b);
}

static bool never(void *self)
{
    (void)self;
    return false;
}

static bool go_power_back(void *self)
{
    struct stat_run *s = self;
    struct stage_machine *m = &s->machine;
    must(s->group_end_ns != ABSENT_I64);
    stage_enter(m, RUN_POWER_BACK);
    if (level_is_known(&s->observer))
        wait_for_power(s);
    /* A boundary needs a sample behind it. */
    stage_wait_deaf(m, never, s, stage_now_ns(m) + 2 * s->observer.o.grid_ns + SECOND_NS / 4);
    return true;
}

static const struct stage any_command[] = {{stat_look, NULL}, {go_command, NULL}, {go_power_back, command_is_started}};

/* ---- executing ---- */

static void stat_finish_records(struct stat_run *s)
{
    loop_timer_stop(s->loop, &s->tick);
    signals_unwatch(&s->signals, s->loop);
    observer_close(&s->observer);
    if (!folder_finish(&s->folder, NULL) && s->machine.failure.kind == ERR_NONE)
        s->machine.failure = s->folder.unwritten;
    stage_finish(&s->machine);
}

bool stat_execute(struct stat_run *s, struct stat_outcome *ret_outcome, struct err *e)
{
    must(s->resolved.plan && !s->folder.path);
    if (!stat_open_parts(s, e)) {
        observer_close(&s->observer); /* its threads record */
        stage_finish(&s->machine);
        folder_done(&s->folder);
        return false;
    }
    bool through;
    stage_run(&s->machine, any_command, sizeof any_command / sizeof *any_command, s, &through);
    stage_enter(&s->machine, RUN_DONE);
    stat_finish_records(s);
    *ret_outcome = (struct stat_outcome){.folder = s->folder.path,
                                         .started = command_is_started(s),
                                         .status = s->status,
                                         .interrupted = s->machine.interrupts > 0,
                                         .failure = s->machine.failure,
                                         .unwritten = s->folder.unwritten};
    return true;
}
