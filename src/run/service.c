#include "run/service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/must.h"
#include "base/utf8.h"
#include "engine/container.h"
#include "proc/cgroup.h"
#include "proc/serving.h"
#include "rules/usage.h"
#include "run/identify.h"
#include "text/file_read.h"

#define ID_PERIOD_NS (SECOND_NS / 20)
enum { TAIL_SHOWN = 1400 }; /* bytes that an error's text has room for: the end of the output is what matters */

/* ---- its output ---- */

const char *service_log_tail(const struct service *s)
{
    if (s->tail_count == 0)
        return "It wrote nothing.";
    struct buf b = {0};
    buf_str(&b, "The end of its output:");
    size_t first = s->tail_count, bytes = 0;
    while (first > 0 && s->tail_count - first < SERVICE_TAIL_LINES) {
        bytes += strlen(s->tail[(first - 1) % SERVICE_TAIL_LINES]) + 3;
        if (bytes > TAIL_SHOWN && first < s->tail_count)
            break;
        first--;
    }
    for (size_t i = first; i < s->tail_count; i++)
        buf_fmt(&b, "\n  %s", s->tail[i % SERVICE_TAIL_LINES]);
    const char *text = arena_text(s->machine->arena, buf_text(&b));
    buf_done(&b);
    return text;
}

/* The first line that tells each step of the start. */
static void note_milestone(struct service *s, int64_t t_ns, struct span line)
{
    int milestone = s->machine->stage < RUN_FORMAL ? engine_milestone(line) : -1;
    if (milestone < 0 || s->milestones[milestone])
        return;
    s->milestones[milestone] = true;
    struct rec_fact fact = {.t_ns = t_ns,
                            .name = milestone_names[milestone],
                            .outcome = CHECK_NOT_JUDGED,
                            .seen = arena_copy(s->machine->arena, line.p, line.n)};
    s->machine->records.fact(s->machine->records.self, &fact);
}

static const char *add_to_tail(struct service *s, struct span line)
{
    struct buf masked = {0};
    secrets_replace(s->secrets, line, &masked);
    utf8_show_from(&masked, 0, false);
    char *slot = s->tail[s->tail_count++ % SERVICE_TAIL_LINES];
    snprintf(slot, SERVICE_TAIL_BYTES, "%.*s", SPAN_ARG(buf_span(&masked)));
    buf_done(&masked);
    return slot;
}

static void on_line(void *self, int64_t t_ns, char output, struct span line, bool cut)
{
    (void)cut;
    struct service *s = self;
    if (!s->machine->records.log) /* the records are closed: a process that could not be ended still writes */
        return;
    int64_t t = t_ns - s->machine->origin_ns;
    s->machine->records.log(s->machine->records.self, t, output, line);
    bool warming = engine_own_pending(&s->identity) > 0;
    engine_read_log(s->plan, &s->identity, line);
    if (warming && engine_own_pending(&s->identity) == 0)
        stage_wake(s->machine);
    note_milestone(s, t, line);
    const char *shown = add_to_tail(s, line);
    const char *progress = engine_progress(s->plan, shown);
    if (progress)
        snprintf(s->note, sizeof s->note, "%s", progress);
}

/* ---- its end ---- */

static void on_exited(void *self, int64_t t_ns, int status)
{
    (void)t_ns;
    struct service *s = self;
    struct stage_machine *m = s->machine;
    s->exit_status = status;
    if (!m->leaving) {
        const char *tail = service_log_tail(s), *advice = engine_offline_advice(s->plan, tail, m->arena);
        if (!advice)
            advice = engine_gpu_names_advice(s->plan, tail, m->arena);
        stage_fail(m, ERR_ENGINE, "The engine ended by itself with %s %d in the stage \"%s\". %s%s%s",
                   status >= 128 ? "signal" : "exit status", status >= 128 ? status - 128 : status,
                   run_stage_names[m->stage], advice ? advice : "", advice ? " " : "", tail);
    }
    stage_wake(m);
}

static void on_gone(void *self, int64_t t_ns)
{
    struct service *s = self;
    must(s->gone_ns == ABSENT_I64);
    s->gone_ns = t_ns - s->machine->origin_ns;
    loop_timer_stop(s->machine->loop, &s->look);
    if (s->id_file)
        unlink(s->id_file);
    stage_wake(s->machine);
}

static void on_stuck(void *self, const struct child_process *left, size_t n)
{
    struct service *s = self;
    for (size_t i = 0; i < n; i++)
        stage_fact(s->machine, "release.survivor", CHECK_FAILED, "no process of the engine",
                   arena_format(s->machine->arena, "pid %lld (%s), state %c", (long long)left[i].pid, left[i].name,
                                left[i].state));
}

static void on_orphaned(void *self, const char *why)
{
    struct service *s = self;
    stage_fail(s->machine, ERR_SYSTEM, "%s", why);
}

/* ---- life ---- */

bool service_open(struct service *s, struct stage_machine *m, struct err *e)
{
    must(m && m->loop);
    *s = (struct service){.machine = m, .exit_status = ABSENT_I64, .gone_ns = ABSENT_I64};
    engine_identity_init(&s->identity, m->arena);
    struct child_events events = {
        .self = s, .line = on_line, .exited = on_exited, .gone = on_gone, .stuck = on_stuck, .orphaned = on_orphaned};
    if (!child_open(&s->child, &events, e))
        return false;
    if (child_attach(s->child, m->loop, e))
        return true;
    service_close(s);
    return false;
}

void service_close(struct service *s)
{
    if (s->machine && s->machine->loop)
        loop_timer_stop(s->machine->loop, &s->look);
    child_close(s->child);
    s->child = NULL;
}

void service_plan(struct service *s, const struct plan *plan, const struct engine_site *site,
                  const struct secrets *secrets)
{
    must(plan && secrets && site && site->gpu_variable_count > 0);
    must(!service_is_started(s));
    s->plan = plan;
    s->site = site;
    s->secrets = secrets;
}

bool service_prepare(struct service *s, const char *run_folder, struct err *e)
{
    must(s->plan);
    struct arena *a = s->machine->arena;
    char *absolute = realpath(run_folder, NULL);
    if (!absolute)
        return err_set(e, ERR_SYSTEM,
                       "The run folder %s is no longer there: something has removed it. Start the run again.",
                       run_folder);
    struct engine_site site = *s->site;
    site.cache_folder = arena_format(a, "%s/" ENGINE_CACHE, absolute);
    s->work_folder = arena_format(a, "%s/" ENGINE_WORK, absolute);
    free(absolute);
    if (mkdir(site.cache_folder, 0777) != 0 || mkdir(s->work_folder, 0777) != 0)
        return err_set(e, ERR_SYSTEM,
                       "The engine's own folders could not be made in %s. Check its permissions and the free space.",
                       run_folder);
    if (container_is_used(s->plan))
        site.id_file = s->id_file = arena_format(a, "%s/container-id", s->work_folder);
    if (!engine_launch_make(s->plan, &site, a, &s->launch, e))
        return false;
    for (const char **f = s->launch.cache_folders; f && *f; f++)
        mkdir(*f, 0777);
    return true;
}

/* The runtime writes it before the container's first process starts: from then on its processes are the engine's, also
 * where a daemon starts them. */
static void look_for_id(struct timer *t)
{
    struct service *s = t->owner;
    struct buf text = {0};
    struct err ignored;
    char id[CONTAINER_ID];
    bool known = file_read(s->id_file, 0, &text, &ignored) && cgroup_container(buf_span(&text), id);
    if (known)
        child_own_container(s->child, id);
    else
        loop_timer_set(s->machine->loop, t, clock_now_ns() + ID_PERIOD_NS);
    buf_done(&text);
}

bool service_start(struct service *s, struct err *e)
{
    must(s->work_folder && !service_is_started(s));
    struct child_spec spec = {.argv = s->launch.argv,
                              .env = s->launch.env,
                              .folder = s->work_folder,
                              .remove = (const char *const *)s->launch.remove};
    if (!child_start(s->child, &spec, NULL, e))
        return false;
    s->look = (struct timer){.fire = look_for_id, .owner = s};
    if (s->id_file)
        loop_timer_set(s->machine->loop, &s->look, clock_now_ns() + ID_PERIOD_NS);
    return true;
}

bool service_is_started(const struct service *s)
{
    return child_is_started(s->child);
}

int8_t service_owns(void *self, int64_t pid)
{
    struct service *s = self;
    return (int8_t)child_owns_pid(s->child, pid);
}

/* "pid 12 (name) of container 0123456789ab": of the run's arena. */
static const char *describe_outside(const struct service *s, const struct proc *p, const char *container)
{
    return arena_format(s->machine->arena, "pid %lld (%s)%s%.12s", (long long)p->pid, p->name,
                        container ? " of container " : "", container ? container : "");
}

/* jtok itself may run in the same container. */
static bool is_of_other_container(int64_t pid, char ret_id[CONTAINER_ID])
{
    char own[CONTAINER_ID] = "";
    proc_container(getpid(), own);
    return proc_container(pid, ret_id) && strcmp(ret_id, own) != 0;
}

static void own_outside(struct service *s, const struct proc *p)
{
    char container[CONTAINER_ID];
    if (!child_own_outside(s->child, p->pid)) {
        stage_fact(s->machine, "engine.outside", CHECK_FAILED, "started by the engine's command",
                   arena_format(s->machine->arena, "%s is older than the command", describe_outside(s, p, NULL)));
        return;
    }
    bool contained = is_of_other_container(p->pid, container);
    if (contained)
        child_own_container(s->child, container);
    stage_fact(s->machine, "engine.outside", CHECK_PASSED, "started by the engine's command",
               describe_outside(s, p, contained ? container : NULL));
}

void service_find_outside(struct service *s, const struct address *address)
{
    must(service_is_started(s));
    struct serving found;
    if (!address)
        return;
    serving_find(&found, &address->storage, 1, engine_is_process);
    for (size_t i = 0; i < found.root_count; i++)
        if (service_owns(s, found.roots[i].pid) == 0)
            own_outside(s, &found.roots[i]);
    serving_done(&found);
}

void service_note_tree(struct service *s)
{
    struct child_process *list;
    size_t n;
    if (!child_list(s->child, s->machine->arena, &list, &n, NULL))
        return;
    for (size_t i = 0; i < n; i++) {
        struct buf b = {0};
        buf_fmt(&b, "process tree: pid %lld, parent %lld, %s, %s", (long long)list[i].pid, (long long)list[i].ppid,
                list[i].name, list[i].command);
        s->machine->records.log(s->machine->records.self, stage_now_ns(s->machine), 'j', buf_span(&b));
        buf_done(&b);
    }
}

/* ---- what it says ---- */

/* Looks once. ENGINE_WRONG: the run has failed, or was interrupted. */
static enum engine_answer look_whether_ready(struct service *s, struct ask *ask, int64_t limit_ns,
                                             struct answer *answer)
{
    struct stage_machine *m = s->machine;
    const char *path = engine_health_path(s->plan);
    if (!ask_wait(ask, path, 5 * SECOND_NS, answer))
        return ENGINE_WRONG;
    struct err e = {0};
    int status = answer_status(answer);
    enum engine_answer said = engine_health_answer(s->plan, status, &e);
    if (said == ENGINE_WRONG)
        stage_fail_with(m, &e);
    if (said != ENGINE_NOT_YET || stage_now_ns(m) < limit_ns)
        return said;
    stage_fail(m, ERR_ENGINE,
               "The engine was not ready after %.0f s: %s%s answered %s. If it only needs longer, raise "
               "limits.ready_s. %s",
               s->plan->limits.ready_s, s->plan->engine.host, path,
               status ? arena_format(m->arena, "%d", status) : "nothing", service_log_tail(s));
    return ENGINE_WRONG;
}

static bool own_requests_are_over(void *self)
{
    struct service *s = self;
    return engine_own_pending(&s->identity) == 0;
}

/* An engine may serve while some of its front ends have yet to warm themselves up: their requests would be among ours.
 * Of SGLang's four on an H200 the last, begun anew by their supervisor, came 24 s after the others. */
static bool wait_for_own_requests(struct service *s)
{
    static const int64_t most_ns = 60 * SECOND_NS;
    struct stage_machine *m = s->machine;
    int64_t limit_ns = stage_now_ns(m) + most_ns, left = engine_own_pending(&s->identity);
    if (left == 0 || stage_wait(m, own_requests_are_over, s, limit_ns))
        return true;
    if (stage_now_ns(m) < limit_ns)
        return false;
    stage_fact(m, "service.own_requests", CHECK_NOT_JUDGED, "every front end has warmed itself up",
               arena_format(m->arena, "%lld of %lld have not, by the engine's output, %.0f s after it was ready",
                            (long long)engine_own_pending(&s->identity), (long long)s->identity.own_fronts,
                            time_s(most_ns)));
    return true;
}

bool service_wait_ready(struct service *s, struct ask *ask)
{
    struct stage_machine *m = s->machine;
    int64_t limit = stage_now_ns(m) + time_of_seconds(s->plan->limits.ready_s);
    struct answer answer = {0};
    enum engine_answer said = ENGINE_NOT_YET;
    while (said == ENGINE_NOT_YET) {
        int64_t next = stage_now_ns(m) + ENGINE_POLL_NS;
        said = look_whether_ready(s, ask, limit, &answer);
        if (said == ENGINE_NOT_YET && !stage_pause(m, next - stage_now_ns(m)))
            said = ENGINE_WRONG;
    }
    buf_done(&answer.body);
    return said == ENGINE_READY && wait_for_own_requests(s);
}

static bool read_models(struct service *s, struct ask *ask, struct answer *answer)
{
    struct err e;
    return ask_wait(ask, "/v1/models", 10 * SECOND_NS, answer) &&
           (engine_read_models(s->plan, &s->identity, answer_status(answer), buf_span(&answer->body), &e) ||
            stage_fail_with(s->machine, &e));
}

bool service_identify(struct service *s, struct ask *ask)
{
    struct answer answer = {0};
    struct err e;
    bool read = read_models(s, ask, &answer);
    enum identified came = read ? identify_ask(ask, s->plan, &s->identity, &answer, &e) : IDENTIFY_BROKEN;
    bool asked = came == IDENTIFIED && identify_ask_labels(ask, s->plan, &s->identity, &answer);
    buf_done(&answer.body);
    if (!asked)
        return came == IDENTIFY_WRONG && stage_fail_with(s->machine, &e);
    struct rec_fact *facts;
    size_t n;
    engine_identity_facts(s->plan, &s->identity, stage_now_ns(s->machine), &facts, &n);
    for (size_t i = 0; i < n; i++)
        s->machine->records.fact(s->machine->records.self, &facts[i]);
    return engine_identity_judge(facts, n, &e) || stage_fail_with(s->machine, &e);
}

void service_take_fingerprint(struct service *s, const char *fingerprint)
{
    if (fingerprint && !s->identity.fingerprint)
        s->identity.fingerprint = fingerprint;
}

struct usage_own service_own_usage(const struct service *s)
{
    return (struct usage_own){engine_own_request_tokens(s->plan, &s->identity), s->identity.own_requests_max};
}

/* ---- stopping ---- */

bool service_is_gone(const struct service *s)
{
    return s->gone_ns != ABSENT_I64;
}

static bool is_gone(void *self)
{
    return service_is_gone(self);
}

/* How the engine ended, beside how it ends when all is well. */
static void note_exit_status(struct service *s)
{
    struct arena *a = s->machine->arena;
    if (s->exit_status != ABSENT_I64)
        stage_fact(s->machine, "service.exit_status", CHECK_NOT_JUDGED, engine_good_exits(s->plan, a),
                   arena_format(a, "%lld", (long long)s->exit_status));
}

bool service_stop(struct service *s)
{
    must(service_is_started(s) && s->machine->leaving);
    struct stage_machine *m = s->machine;
    struct child_stop_times times = {
        .main_ns = time_of_seconds(s->plan->limits.stop_s), .group_ns = 10 * SECOND_NS, .kill_ns = 30 * SECOND_NS};
    child_stop(s->child, &times);
    if (!stage_wait(m, is_gone, s, stage_now_ns(m) + times.main_ns + times.group_ns + times.kill_ns + SECOND_NS))
        child_kill(s->child);
    /* Deaf to interrupts: after SIGKILL this is short, and what is left behind would hold the GPU. */
    bool gone = stage_wait_deaf(m, is_gone, s, stage_now_ns(m) + 5 * SECOND_NS);
    note_exit_status(s);
    return gone || stage_fail(m, ERR_ENGINE,
                              "Processes of the engine are still there after SIGTERM and SIGKILL: see release.survivor "
                              "in facts.csv. They hold the GPU; a process in state D usually needs a reboot.");
}
