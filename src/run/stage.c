#include "run/stage.h"

#include <stdarg.h>
#include <stdio.h>
#include "base/must.h"

const char *const run_stage_names[] = {"prepare", "baseline", "start",   "warmup",     "connect", "formal",
                                       "stop",    "release",  "hold",    "done",       "silence", "load",
                                       "look",    "window",   "command", "power_back", NULL};

void stage_init(struct stage_machine *m, struct loop *l, struct arena *a)
{
    must(l && a);
    *m = (struct stage_machine){.loop = l, .arena = a};
}

void stage_begin(struct stage_machine *m, struct record_sink records, int64_t origin_ns)
{
    must(records.boundary && records.fact);
    must(m->stage == RUN_PREPARE);
    m->records = records;
    m->origin_ns = origin_ns;
}

void stage_finish(struct stage_machine *m)
{
    m->records = (struct record_sink){0};
}

int64_t stage_now_ns(const struct stage_machine *m)
{
    return clock_now_ns() - m->origin_ns;
}

bool stage_run(struct stage_machine *m, const struct stage *list, size_t count, void *self, bool *ret_through)
{
    bool through = true, whole = true;
    for (size_t i = 0; i < count; i++) {
        must(list[i].go);
        /* A way out leads out: behind it nothing ordinary may start anew. */
        must(!m->leaving || list[i].needed || !through);
        if (!list[i].needed && !through)
            continue;
        if (list[i].needed && !list[i].needed(self))
            continue;
        if (list[i].needed)
            stage_leave(m);
        bool good = list[i].go(self);
        must(good || list[i].needed || m->failure.kind != ERR_NONE || m->interrupts > 0);
        through = through && (good || list[i].needed);
        whole = whole && good;
    }
    *ret_through = through;
    return whole;
}

void stage_enter(struct stage_machine *m, enum run_stage stage)
{
    must(stage < RUN_COUNT);
    m->stage = stage;
    m->stage_start_ns = stage_now_ns(m);
    if (m->changed)
        m->changed(m->self);
}

void stage_leave(struct stage_machine *m)
{
    m->leaving = true;
}

void stage_wake(struct stage_machine *m)
{
    loop_stop(m->loop);
}

bool stage_fail_with(struct stage_machine *m, const struct err *e)
{
    must(e->kind != ERR_NONE);
    if (m->failure.kind == ERR_NONE) {
        m->failure = *e;
        stage_boundary(m, BOUNDARY_FAILED, stage_now_ns(m), e->text);
        stage_wake(m);
    }
    return false;
}

bool stage_fail(struct stage_machine *m, enum err_kind kind, const char *format, ...)
{
    struct err e;
    char text[sizeof e.text];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    err_set(&e, kind, "%s", text);
    return stage_fail_with(m, &e);
}

void stage_interrupt(struct stage_machine *m)
{
    if (m->asks && !m->asked) {
        m->asked = true;
        if (m->changed)
            m->changed(m->self);
        stage_wake(m);
        return;
    }
    if (m->interrupts++ == 0) {
        stage_boundary(m, BOUNDARY_INTERRUPTED, stage_now_ns(m), run_stage_names[m->stage]);
        if (m->changed)
            m->changed(m->self);
    }
    stage_wake(m);
}

static bool is_cut_short(const struct stage_machine *m)
{
    return m->leaving ? m->interrupts > 1 : m->failure.kind != ERR_NONE || m->interrupts > 0;
}

static void run_loop_until(struct stage_machine *m, int64_t deadline_ns)
{
    loop_run(m->loop, deadline_ns > INT64_MAX - m->origin_ns ? INT64_MAX : deadline_ns + m->origin_ns);
}

bool stage_wait(struct stage_machine *m, bool (*done)(void *self), void *self, int64_t deadline_ns)
{
    must(done || deadline_ns != INT64_MAX);
    for (;;) {
        if (done && done(self))
            return true;
        if (is_cut_short(m) || stage_now_ns(m) >= deadline_ns)
            return false;
        run_loop_until(m, deadline_ns);
    }
}

bool stage_wait_deaf(struct stage_machine *m, bool (*done)(void *self), void *self, int64_t deadline_ns)
{
    must(done && deadline_ns != INT64_MAX);
    while (!done(self) && stage_now_ns(m) < deadline_ns)
        run_loop_until(m, deadline_ns);
    return done(self);
}

bool stage_pause(struct stage_machine *m, int64_t ns)
{
    stage_wait(m, NULL, NULL, stage_now_ns(m) + ns);
    return !is_cut_short(m);
}

void stage_boundary(struct stage_machine *m, enum boundary id, int64_t t_ns, const char *note)
{
    must(id < BOUNDARY_COUNT);
    if (m->records.boundary)
        m->records.boundary(m->records.self, &(struct rec_boundary){.t_ns = t_ns, .id = id, .note = note});
}

void stage_fact(struct stage_machine *m, const char *name, enum check_outcome outcome, const char *expected,
                const char *seen)
{
    must(name && outcome < CHECK_OUTCOME_COUNT);
    if (m->records.fact)
        m->records.fact(
            m->records.self,
            &(struct rec_fact){
                .t_ns = stage_now_ns(m), .name = name, .outcome = outcome, .expected = expected, .seen = seen});
}
