#include "run/run.h"

#include <stdlib.h>
#include "base/must.h"
#include "base/typed.h"
#include "run/stages.h"
#include "run/view.h"
#include "run/watch.h"

enum { TICK_NS = 250000000 };

struct run {
    const struct plan *given;
    struct arena *arena;
    const struct run_options *options;
    struct loop *loop;
    struct signals signals;
    struct stage_machine machine;
    struct service service;
    struct resolved resolved;

    /* From here on: while executing. */
    struct folder folder;
    struct observer observer;
    struct ask ask;
    struct scrape scrape;
    struct load_site site;
    struct load burst; /* the formal requests: all at once */
    struct load_list formal;
    struct load own; /* readiness and warm-up */
    struct watching watching;
    struct rec_client client;
    struct timer tick;
    struct rate rate;
};

/* ---- life ---- */

/* A service that jtok did not start. */
static bool is_running(const struct run *r)
{
    return plan_is_running(r->given);
}

static void show(void *self)
{
    struct run *r = self;
    if (!r->options->progress)
        return;
    struct run_view v = view_make(&r->machine, &r->service, &r->observer, &r->formal, &r->rate);
    v.folder = r->folder.path;
    v.running_service = is_running(r);
    v.window = r->watching.view;
    r->options->progress(r->options->self, &v);
}

bool run_open(const struct plan *plan, struct arena *a, const struct run_options *o, struct run **ret_run,
              struct err *e)
{
    must(plan && a && o);
    struct run *r = mem_zero(1, sizeof *r);
    *r = (struct run){.given = plan, .arena = a, .options = o};
    sigset_t set = signals_prepare();
    /* The guardian is forked before the signals are blocked: it has its own way with them. */
    bool open = loop_open(&r->loop, e);
    if (open) {
        stage_init(&r->machine, r->loop, a);
        r->machine.self = r;
        r->machine.changed = show;
        open = service_open(&r->service, &r->machine, e) && signals_open(&r->signals, &set, e);
    }
    if (!open) {
        run_close(r);
        return false;
    }
    *ret_run = r;
    return true;
}

void run_close(struct run *r)
{
    if (!r)
        return;
    observer_done(&r->observer);
    service_close(&r->service);
    folder_done(&r->folder);
    signals_close(&r->signals, r->loop);
    if (r->loop)
        loop_close(r->loop);
    resolved_done(&r->resolved);
    free(r);
}

bool run_resolve(struct run *r, const struct plan **ret_plan, struct err *e)
{
    must(!r->resolved.plan);
    struct resolve_options o = {.api_key = r->options->api_key,
                                .despite_preflight = r->options->despite_preflight,
                                .look_through = r->options->look_through,
                                .signals = &r->signals,
                                .machine = &r->machine};
    if (!resolve(r->given, &o, r->arena, &r->resolved, e))
        return false;
    *ret_plan = r->resolved.plan;
    return true;
}

double run_load_s(const struct run *r, size_t number)
{
    must(r->resolved.plan);
    return resolved_load_s(&r->resolved, number);
}

void run_preflight(const struct run *r, struct arena *a, struct preflight_line **ret_list, size_t *ret_count,
                   const struct err **ret_stopped)
{
    must(r->resolved.plan);
    preflight_lines(&r->resolved.preflight, a, ret_list, ret_count);
    if (ret_stopped)
        *ret_stopped = &r->resolved.stopped;
}

const char *const *run_warnings(const struct run *r, size_t *ret_count)
{
    must(r->resolved.plan);
    return resolved_warnings(&r->resolved, r->arena, ret_count);
}

enum { COMMAND_COLUMNS = 76 };

/* Each word behind a space or, where the line is full, on a line of its own. */
static void put_lines(struct buf *b, const char *const *words, size_t count)
{
    struct buf word = {0};
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        buf_clear(&word);
        typed_put_word(&word, words[i]);
        bool full = i && at + 1 + word.n > COMMAND_COLUMNS - 2;
        buf_str(b, full ? " \\\n    " : i ? " " : "");
        at = (full ? 4 : at + 1) + word.n;
        buf_add(b, word.p, word.n);
    }
    buf_done(&word);
}

const char *run_command_text(const struct run *r)
{
    const struct resolved *v = &r->resolved;
    must(v->plan);
    struct engine_site site = v->site;
    struct engine_launch launch;
    struct buf text = {0}, masked = {0};
    site.cache_folder = "/RUN/" ENGINE_CACHE;
    site.id_file = "/RUN/" ENGINE_WORK "/container-id";
    if (!engine_launch_make(v->plan, &site, r->arena, &launch, NULL))
        return "";
    put_lines(&text, (const char *const *)launch.argv, launch.argc);
    secrets_replace(&v->secrets, buf_span(&text), &masked);
    const char *shown = arena_copy(r->arena, masked.p, masked.n);
    buf_done(&text);
    buf_done(&masked);
    return shown;
}

/* ---- the parts ---- */

/* A load on a service that is gone would only fail, request by request. */
static void fail_gone(struct run *r)
{
    struct buf who = {0};
    serving_describe(&r->resolved.running.serving, &who);
    stage_fail(
        &r->machine, ERR_ENGINE,
        "The service at %s ended in the stage \"%s\": %s is gone, or is another process now. Its own output says "
        "why. Start it again, and measure again.",
        r->resolved.plan->attach.url, run_stage_names[r->machine.stage], buf_text(&who));
    buf_done(&who);
}

static void on_show(struct timer *t)
{
    struct run *r = t->owner;
    show(r);
    struct err e;
    if (r->folder.recorder && recorder_failed(r->folder.recorder, &e))
        stage_fail_with(&r->machine, &e);
    if (r->resolved.plan->object == OBJECT_ATTACH && !serving_lives(&r->resolved.running.serving))
        fail_gone(r);
    loop_timer_set(r->loop, t, clock_now_ns() + TICK_NS);
}

static bool begin_recording(struct run *r, struct err *e)
{
    const struct resolved *v = &r->resolved;
    stage_begin(&r->machine, recorder_sink(r->folder.recorder), r->folder.origin_ns);
    folder_note_resolved(&r->folder, &r->machine);
    if (!signals_watch(&r->signals, &r->machine, e))
        return false;
    r->tick = (struct timer){.fire = on_show, .owner = r};
    loop_timer_set(r->loop, &r->tick, clock_now_ns() + TICK_NS);
    struct observer_options o = {.device = v->device,
                                 .gpus = v->gpus,
                                 .gpu_count = v->gpu_count,
                                 .grid_ns = time_of_seconds(v->plan->method.grid_s),
                                 .hold_ns = time_of_seconds(v->plan->method.hold_s),
                                 .own = service_owns,
                                 .self = &r->service};
    if (is_running(r)) {
        o.own = running_owns;
        o.self = &r->resolved.running;
    }
    return observer_open(&r->observer, &r->machine, &o, e);
}

/* Everything that is measured with, and the bytes of the formal requests: here their time is in no stage. */
static bool open_parts(struct run *r, struct err *e)
{
    const struct resolved *v = &r->resolved;
    struct folder_options o = {.plan_source = r->options->plan_source};
    if (!folder_make(&r->folder, &r->resolved, &o, r->arena, e) || !begin_recording(r, e))
        return false;
    if (!is_running(r))
        service_plan(&r->service, v->plan, &v->site, &v->secrets);
    ask_open(&r->ask, &r->machine, &v->plan->engine, v->api_key);
    scrape_open(&r->scrape, &r->ask, v->plan);
    r->site = (struct load_site){.machine = &r->machine, .plan = v->plan, .set = &v->set, .api_key = v->api_key};
    watching_open(&r->watching, &r->machine, v->plan, &v->running);
    r->site.traces = v->traces;
    if (v->plan->load_count > 0) {
        r->formal = load_list_plan(&r->site, r->arena);
    } else if (v->set.count > 0) {
        load_make(&r->burst, &r->site, REQUEST_FORMAL, v->set.count);
        r->formal = (struct load_list){.items = &r->burst, .count = 1};
    }
    return true;
}

static void close_parts(struct run *r)
{
    load_list_close(&r->formal);
    load_close(&r->own);
    scrape_close(&r->scrape);
    ask_close(&r->ask);
}

/* ---- the stages, each with the parts that it uses ---- */

static struct asking asking(struct run *r)
{
    return (struct asking){.ask = &r->ask, .scrape = &r->scrape, .site = &r->site, .own = &r->own};
}

static bool go_baseline(void *self)
{
    struct run *r = self;
    return stage_baseline(&r->machine, &r->resolved.plan->method, &r->observer);
}

static bool go_start(void *self)
{
    struct run *r = self;
    struct asking a = asking(r);
    return stage_start(&r->machine, &r->service, &r->observer, &r->folder, &a);
}

static bool go_warmup(void *self)
{
    struct run *r = self;
    struct asking a = asking(r);
    return stage_warmup(&r->machine, &r->service, &r->observer, &a);
}

static bool go_connect(void *self)
{
    struct run *r = self;
    struct asking a = asking(r);
    return stage_connect(&r->machine, &r->observer, &a, &r->formal);
}

static bool go_formal(void *self)
{
    struct run *r = self;
    return stage_formal(&r->machine, &r->service, &r->observer, &r->scrape, &r->formal, &r->client);
}

static bool go_loads(void *self)
{
    struct run *r = self;
    struct asking a = asking(r);
    struct service *s = is_running(r) ? NULL : &r->service;
    return stage_loads(&r->machine, s, &r->observer, &a, &r->formal, &r->client);
}

static bool go_settle(void *self)
{
    struct run *r = self;
    return stage_settle(&r->machine, &r->service, &r->scrape, &r->formal);
}

static bool go_stop(void *self)
{
    struct run *r = self;
    return stage_stop(&r->machine, &r->service, &r->observer, &r->scrape);
}

static bool go_release(void *self)
{
    struct run *r = self;
    return stage_release(&r->machine, &r->service, &r->observer);
}

static bool is_started(void *self)
{
    struct run *r = self;
    return service_is_started(&r->service);
}

static const struct stage whole_life[] = {
    {go_baseline, NULL}, {go_start, NULL},  {go_warmup, NULL},     {go_connect, NULL},
    {go_formal, NULL},   {go_settle, NULL}, {go_stop, is_started}, {go_release, is_started},
};

static const struct stage loaded_life[] = {
    {go_baseline, NULL}, {go_start, NULL},      {go_warmup, NULL},        {go_loads, NULL},
    {go_settle, NULL},   {go_stop, is_started}, {go_release, is_started},
};

static bool go_look(void *self)
{
    struct run *r = self;
    return stage_look(&r->watching, &r->observer, r->resolved.plan->object == OBJECT_ATTACH ? &r->scrape : NULL);
}

static bool go_window(void *self)
{
    struct run *r = self;
    return stage_window(&r->watching, &r->observer, &r->scrape);
}

static const struct stage watched[] = {{go_look, NULL}, {go_window, NULL}};
static const struct stage attached[] = {{go_look, NULL}, {go_loads, NULL}};

/* The stages of each object. */
static const struct stage_list {
    const struct stage *stages;
    size_t count;
} stage_lists[] = {
    [OBJECT_LIFE] = {whole_life, sizeof whole_life / sizeof *whole_life},
    [OBJECT_ATTACH] = {attached, sizeof attached / sizeof *attached},
    [OBJECT_WATCH] = {watched, sizeof watched / sizeof *watched},
};

static const struct stage_list a_loaded_life = {loaded_life, sizeof loaded_life / sizeof *loaded_life};

static const struct stage_list *stages_of(const struct plan *p)
{
    return p->object == OBJECT_LIFE && p->load_count > 0 ? &a_loaded_life : &stage_lists[p->object];
}

/* ---- executing ---- */

/* The documents that are known at the end only. */
static void finish_records(struct run *r)
{
    loop_timer_stop(r->loop, &r->tick);
    signals_unwatch(&r->signals, r->loop);
    observer_close(&r->observer);
    folder_note_engine(&r->folder, is_running(r) ? &r->resolved.running.identity : &r->service.identity,
                       r->service.exit_status);
    if (!folder_finish(&r->folder, r->client.wall_ns > 0 ? &r->client : NULL) && r->machine.failure.kind == ERR_NONE)
        r->machine.failure = r->folder.unwritten;
    stage_finish(&r->machine);
    folder_remove_caches(&r->folder);
}

bool run_execute(struct run *r, struct run_outcome *ret_outcome, struct err *e)
{
    must(r->resolved.plan && !r->folder.path && !r->options->look_through);
    if (!open_parts(r, e)) {
        observer_close(&r->observer); /* its threads record */
        stage_finish(&r->machine);
        folder_done(&r->folder);
        if (r->folder.path)
            err_prefix(e, "%s", r->folder.path);
        return false;
    }
    bool through = false;
    const struct stage_list *list = stages_of(r->resolved.plan);
    bool whole = stage_run(&r->machine, list->stages, list->count, r, &through);
    close_parts(r);
    stage_enter(&r->machine, RUN_DONE);
    if (through && r->resolved.plan->object != OBJECT_WATCH)
        folder_check_plan(&r->folder, &r->machine, load_list_answered(&r->formal));
    finish_records(r);
    *ret_outcome = (struct run_outcome){
        .folder = r->folder.path,
        .went_through = whole && r->machine.interrupts == 0 && r->machine.failure.kind == ERR_NONE,
        .interrupted = r->machine.interrupts > 0,
        .failure = r->machine.failure,
        .unwritten = r->folder.unwritten,
    };
    return true;
}
