#include "cli/launch.h"

#include <stdio.h>
#include <stdlib.h>
#include "app/evaluate.h"
#include "cli/exit.h"
#include "cli/progress.h"
#include "cli/show.h"
#include "run/run.h"
#include "store/archive.h"
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

/* Seals the records, computes the result from them alone and stores it. */
static bool conclude(const char *folder, struct arena *a, struct evaluation *ret_evaluation, struct err *e)
{
    struct method method = method_default();
    return archive_seal(folder, e) && evaluate_run(folder, &method, a, ret_evaluation, e) &&
           evaluate_store(folder, &ret_evaluation->result, e);
}

static bool verifies(const char *folder, struct arena *a, const struct evaluation *v, struct err *e)
{
    struct archive_check check;
    if (!archive_verify(folder, a, &check, e))
        return false;
    if (check.bad)
        return err_set(e, ERR_RECORDS, "%s does not verify: %s", folder, check.text);
    return !v->records.damage || err_set(e, ERR_RECORDS, "%s: %s", folder, v->records.damage);
}

static int ending(const struct launch *l, const struct run_outcome *o, const struct evaluation *v)
{
    if (o->failure.kind != ERR_NONE && !o->interrupted)
        return exit_with(&o->failure);
    if (o->interrupted)
        return exit_with(&(struct err){.kind = ERR_INTERRUPTED,
                                       .text = "The run was interrupted; its records are whole up to there."});
    if (l->demo) {
        struct err e;
        struct arena a = {0};
        int code = !o->went_through ? EXIT_EXCLUDED : verifies(o->folder, &a, v, &e) ? EXIT_OK : exit_with(&e);
        arena_done(&a);
        return code;
    }
    return v->result.formal ? EXIT_OK : EXIT_EXCLUDED;
}

static void tell_folder(const char *folder)
{
    struct err ignored; /* a stdout that takes nothing is told of with the result */
    struct buf line = {0};
    buf_fmt(&line, "%s\n", folder);
    show_flush(&line, &ignored);
    buf_done(&line);
}

static int execute(const struct launch *l, struct run *run, struct progress *progress)
{
    struct err e = {0};
    struct run_outcome outcome = {0};
    if (!run_execute(run, &outcome, &e)) {
        progress_break(progress);
        return exit_with(&e);
    }
    progress_break(progress);
    tell_folder(outcome.folder);
    if (outcome.unwritten.kind != ERR_NONE) {
        int code = exit_with(&outcome.failure);
        exit_tell(arena_format(l->arena,
                               "The records in %s are not whole, so they are not sealed and have no result. What was "
                               "written stays; \"jtok analyze %s\" shows what it gives.",
                               outcome.folder, outcome.folder));
        return code;
    }
    struct evaluation *v = arena_alloc(l->arena, sizeof *v);
    if (!conclude(outcome.folder, l->arena, v, &e)) {
        if (outcome.failure.kind != ERR_NONE)
            exit_with(&outcome.failure);
        return exit_with(&e);
    }
    struct buf text = {0};
    if (!show_result(&v->result, l->format, show_colour(), &text, &e) || !show_write(&text, &e))
        exit_with(&e);
    buf_done(&text);
    return ending(l, &outcome, v);
}

static void tell_warnings(const struct run *run)
{
    size_t n;
    const char *const *list = run_warnings(run, &n);
    for (size_t i = 0; i < n; i++)
        exit_tell(list[i]);
}

int launch_run(const struct launch *l)
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
    int code;
    bool ready = show_knows(l->format, &e) && run_open(l->plan, l->arena, &options, &run, &e) && run_resolve(run, &e);
    if (ready)
        tell_warnings(run);
    if (!ready)
        code = exit_with(&e);
    else if (l->dry_run)
        code = print_plan(l->plan);
    else
        code = execute(l, run, &progress);
    run_close(run);
    progress_done(&progress);
    return code;
}
