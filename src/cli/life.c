#include "cli/life.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/must.h"
#include "cli/progress.h"
#include "cli/show.h"
#include "cli/texts.h"
#include "store/plan_yaml.h"

static void put_timetable(const struct run *run, const struct plan *p, struct arena *a, struct buf *out)
{
    double *load_s = arena_array(a, p->load_count, sizeof *load_s);
    for (size_t i = 0; i < p->load_count; i++)
        load_s[i] = run_load_s(run, i);
    text_timetable(p, load_s, a, out);
}

/* The plan, and as comments behind it how long its loads take and the command that comes of it. */
static void put_preflight(const struct run *run, struct arena *a, struct buf *out)
{
    struct preflight_line *lines;
    size_t n;
    run_preflight(run, a, &lines, &n, NULL);
    if (n == 0)
        return;
    struct doctor_plan d = doctor_plan_of(lines, n);
    buf_str(out, "\n# What was looked at:\n");
    text_preflight(&d, "# ", out);
}

static enum exit_code print_plan(const struct run *run, const struct plan *p, struct arena *a)
{
    struct err e = {0};
    struct buf b = {0};
    plan_yaml_write(p, true, &b);
    if (p->load_count > 0)
        put_timetable(run, p, a, &b);
    put_preflight(run, a, &b);
    buf_str(&b, "# The engine is started with:\n");
    for (const char *line = run_command_text(run); *line; line += strcspn(line, "\n"), line += *line == '\n')
        buf_fmt(&b, "#   %.*s\n", (int)strcspn(line, "\n"), line);
    enum exit_code code = show_flush(&b, &e) ? EXIT_OK : exit_with(&e);
    buf_done(&b);
    return code;
}

static void notify_folder(void *self, const char *folder)
{
    struct err ignored; /* a stdout that takes nothing is told of with the result */
    struct buf line = {0};
    progress_break(self);
    buf_fmt(&line, "%s\n", folder);
    show_flush(&line, &ignored);
    buf_done(&line);
}

/* What went wrong in the run first, then what came of it: the second often follows from the first. */
static enum exit_code notify_no_result(const struct measurement *m)
{
    if (m->outcome.failure.kind != ERR_NONE)
        exit_with(&m->outcome.failure);
    return exit_with(&m->no_result);
}

/* A stdout that takes nothing is not a failure of the run: its result is stored. */
static void print_result(const struct result *r, const char *folder, enum format format)
{
    struct err e = {0};
    struct buf text = {0};
    show_result(r, format, SHOW_SCREEN, &(struct report_options){.colour = show_colour(STDOUT_FILENO), .run = folder},
                &text);
    if (!show_write(&text, &e))
        exit_with(&e);
    buf_done(&text);
}

/* An interruption comes before the failure that it caused. */
static enum exit_code ending(const struct life *l, const struct measurement *m, struct arena *a)
{
    must(m->evaluation);
    if (m->outcome.interrupted)
        return exit_with(&(struct err){
            .kind = ERR_INTERRUPTED, .text = "The run was interrupted. Everything up to the interruption was saved."});
    if (m->outcome.failure.kind != ERR_NONE)
        return exit_with(&m->outcome.failure);
    if (l->judge)
        return l->judge(m, a);
    return result_standing(&m->evaluation->result) != STANDING_EXCLUDED ? EXIT_OK : EXIT_EXCLUDED;
}

static enum exit_code execute(const struct life *l, struct run *run, struct progress *progress, struct arena *a)
{
    struct err e = {0};
    struct measurement m;
    if (!measure(run, progress, notify_folder, a, &m, &e)) {
        progress_break(progress);
        return exit_with(&e);
    }
    if (!m.evaluation)
        return notify_no_result(&m);
    print_result(&m.evaluation->result, m.outcome.folder, l->options->format);
    return ending(l, &m, a);
}

static void notify_warnings(const struct run *run)
{
    size_t n;
    const char *const *list = run_warnings(run, &n);
    for (size_t i = 0; i < n; i++)
        exit_notify(list[i]);
}

enum exit_code life_run(const struct life *l, struct arena *a)
{
    must(l->plan && l->options);
    struct err e = {0};
    struct progress progress;
    progress_init(&progress, l->options->quiet);
    struct run_options options = {
        .plan_source = l->plan_source,
        .api_key = getenv("JTOK_API_KEY"),
        .despite_preflight = l->despite_preflight,
        .self = &progress,
        .progress = progress_show,
    };
    struct run *run = NULL;
    const struct plan *plan = NULL;
    enum exit_code code;
    bool ready = run_open(l->plan, a, &options, &run, &e) && run_resolve(run, &plan, &e);
    if (ready)
        notify_warnings(run);
    if (!ready)
        code = exit_with(&e);
    else if (l->options->dry_run)
        code = print_plan(run, plan, a);
    else
        code = execute(l, run, &progress, a);
    run_close(run);
    progress_done(&progress);
    return code;
}
