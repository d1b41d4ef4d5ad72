#include "cli/life.h"

#include <stdlib.h>
#include "cli/progress.h"
#include "cli/show.h"
#include "store/plan_yaml.h"

static int print_plan(const struct plan *p)
{
    struct err e = {0};
    struct buf b = {0};
    plan_yaml_write(p, true, &b);
    int code = show_flush(&b, &e) ? EXIT_OK : exit_with(&e);
    buf_done(&b);
    return code;
}

static void tell_folder(void *self, const char *folder)
{
    struct err ignored; /* a stdout that takes nothing is told of with the result */
    struct buf line = {0};
    progress_break(self);
    buf_fmt(&line, "%s\n", folder);
    show_flush(&line, &ignored);
    buf_done(&line);
}

static int tell_no_result(const struct measurement *m)
{
    if (m->outcome.failure.kind != ERR_NONE)
        exit_with(&m->outcome.failure);
    return exit_with(&m->no_result);
}

static void print_result(const struct result *r, const char *folder, const char *format)
{
    struct err e = {0};
    struct buf text = {0};
    struct report_options options = {.colour = show_colour(), .run = folder};
    if (!show_result(r, format, &options, &text, &e) || !show_write(&text, &e))
        exit_with(&e);
    buf_done(&text);
}

static int ending(const struct life *l, const struct measurement *m)
{
    if (m->outcome.interrupted)
        return exit_with(&(struct err){.kind = ERR_INTERRUPTED,
                                       .text = "The run was interrupted; its records are whole up to there."});
    if (m->outcome.failure.kind != ERR_NONE)
        return exit_with(&m->outcome.failure);
    if (l->judge)
        return l->judge(m, l->arena);
    return m->evaluation->result.formal ? EXIT_OK : EXIT_EXCLUDED;
}

static int execute(const struct life *l, struct run *run, struct progress *progress)
{
    struct err e = {0};
    struct measurement m;
    if (!measure(run, progress, tell_folder, l->arena, &m, &e)) {
        progress_break(progress);
        return exit_with(&e);
    }
    if (!m.evaluation)
        return tell_no_result(&m);
    print_result(&m.evaluation->result, m.outcome.folder, l->format);
    return ending(l, &m);
}

static void tell_warnings(const struct run *run)
{
    size_t n;
    const char *const *list = run_warnings(run, &n);
    for (size_t i = 0; i < n; i++)
        exit_tell(list[i]);
}

int life_run(const struct life *l)
{
    struct err e = {0};
    struct progress progress;
    progress_init(&progress, l->quiet);
    struct run_options options = {
        .plan_source = l->plan_source,
        .api_key = getenv("JTOK_API_KEY"),
        .despite_preflight = l->despite_preflight,
        .self = &progress,
        .progress = progress_show,
    };
    struct run *run = NULL;
    const struct plan *plan = NULL;
    int code;
    bool ready =
        show_knows(l->format, &e) && run_open(l->plan, l->arena, &options, &run, &e) && run_resolve(run, &plan, &e);
    if (ready)
        tell_warnings(run);
    if (!ready)
        code = exit_with(&e);
    else if (l->dry_run)
        code = print_plan(plan);
    else
        code = execute(l, run, &progress);
    run_close(run);
    progress_done(&progress);
    return code;
}
