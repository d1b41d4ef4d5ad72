#include <errno.h>
#include <stdio.h>
#include "app/stat.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/plan_args.h"
#include "cli/show.h"
#include "cli/texts.h"
#include "schema/table.h"

struct stat_choices {
    enum format format;
    int64_t repeat;
    double idle_s;
    const char *keep, *output;
};

static const char *const own_sensor[] = {"power.sensor_source=given to jtok stat", NULL};

static const struct option stat_rows[] = {
    {"--repeat", 'r', "N",
     .field = I64(stat_choices, repeat, "Run the command N times; the report gives mean, spread and interval.",
                  RANGE(1, STAT_REPEAT_MAX), DEFAULT(1))},
    {"--gpus", 'g', "LIST", .plan_key = "gpus", .commas = true,
     .doc = "GPUs to measure: indexes, UUIDs, PCI addresses, or all. What the command may use is left to it."},
    {"--idle", 0, "S",
     .field = F64(stat_choices, idle_s,
                  "Seconds of power before the command, for the level beside; 0: none, and then no power back.",
                  RANGE(0, 3600), DEFAULT(2))},
    FORMAT_OPTION(stat_choices, format, format_names_three),
    {"--output", 'o', "FILE", .field = TEXT(stat_choices, output, "Write the report to FILE instead of stderr.")},
    {"--keep", 0, "FOLDER",
     .field = TEXT(stat_choices, keep,
                   "Keep the records: a run folder in FOLDER for each run. \"jtok analyze\" reads "
                   "one again.")},
    {"--sensor-percent", 0, "P", .plan_key = "power.sensor_percent", .plan_with = own_sensor,
     .doc = "Accuracy limit of the boards' power sensors, from a calibration of your own."},
    {"--library", 0, "PATH", .plan_key = "power.library", .doc = "Driver library to load, as power.library in a plan."},
};

/* stdout is the command's. A report that can't be written is told, and changes nothing else. */
static bool write_report(const char *path, struct buf *text, struct err *e)
{
    FILE *f = path ? fopen(path, "we") : stderr;
    if (!f)
        return err_set_errno(e, ERR_SYSTEM, errno, "The report can't be written to %s", path);
    utf8_show_from(text, 0, true);
    bool written = fwrite(text->p, 1, text->n, f) == text->n && fflush(f) == 0;
    int number = errno;
    if (path && fclose(f) != 0)
        written = false;
    return written || !path || err_set_errno(e, ERR_SYSTEM, number, "The report can't be written to %s", path);
}

static bool show_report(const struct stat_choices *o, const struct stat_result *x, struct arena *a, struct err *e)
{
    struct buf text = {0};
    if (o->format == FORMAT_TEXT)
        text_stat(x, o->keep, a, &text);
    else
        show_document(&stat_result_schema, x, o->format, &text);
    bool written = write_report(o->output, &text, e);
    buf_done(&text);
    return written;
}

/* The command's own status wins; a command that went well does not hide that its measurement did not. */
static enum exit_code stat_code(const struct stat_report *r, const struct err *unwritten)
{
    if (r->status != ABSENT_I64 && r->status != 0)
        return (enum exit_code)r->status;
    if (r->failure.kind != ERR_NONE)
        return exit_code_of(&r->failure);
    if (unwritten->kind != ERR_NONE)
        return exit_code_of(unwritten);
    return r->status == ABSENT_I64 ? EXIT_INTERRUPTED : EXIT_OK;
}

static bool run_stat(struct call *call, struct err *e)
{
    const struct stat_choices *o = call->options;
    const struct args *args = call->args;
    if (args->rest_count == 0)
        return err_set(e, ERR_USAGE, "stat: Give the command after \"--\": jtok stat -- COMMAND.");
    struct plan *plan = arena_alloc(call->arena, sizeof *plan);
    struct problems problems;
    plan_defaults(plan);
    problems_init(&problems, call->arena, NULL);
    plan_args_set(call->command, args, plan, &problems);
    if (!problems_none(&problems, ERR_USAGE, e))
        return false;
    const struct stat_request request = {
        .plan = plan, .command = args->rest, .idle_s = o->idle_s, .repeat = o->repeat, .keep = o->keep};
    struct stat_report *r = arena_alloc(call->arena, sizeof *r);
    struct err unwritten = {0};
    *r = stat_measure(&request, call->arena);
    if (r->result.run_count && !show_report(o, &r->result, call->arena, &unwritten))
        exit_with(&unwritten);
    if (r->failure.kind != ERR_NONE)
        exit_with(&r->failure);
    else if (r->status == ABSENT_I64)
        exit_notify("Interrupted before the command was started.");
    call->code = stat_code(r, &unwritten);
    return true;
}

const struct command cmd_stat = {
    .name = "stat",
    .brief = "measure the energy of any command, as \"perf stat\" counts its events",
    .operands = "-- COMMAND ...",
    .takes_rest = true,
    .summary = "Runs a command and says what it took: energy by the boards' counters with its uncertainty, time and "
               "power, for each GPU and all together. No plan, no port, no requests.",
    .more =
        "The report goes to stderr, so that stdin, stdout and the exit status are the command's. With -r it is the "
        "first status that is not 0. A command that can't be started gives 127, or 126 if it is not executable, as in "
        "a shell. Other errors have the exit codes of jtok, unless the command's own status is not 0.\n"
        "The energy is of the whole board, from just before the start to the end of the last process of the command's "
        "process group. Power before it is shown beside, and never subtracted. What the command leaves running in a "
        "group of its own (a daemon) is named, and left alone. Busy GPUs are measured as well, and the report says "
        "so.\n"
        "Ctrl-C goes to the command's group; jtok then reports, and starts no further run. One that comes after the "
        "command's end cuts the wait for power to come back; a third one kills what is left of the group. The command "
        "has a session of "
        "its own: it can't open /dev/tty, and of jtok's open "
        "files it has stdin, stdout and stderr.",
    .example =
        "jtok stat -- python train.py --epochs 1\njtok stat -r 5 --gpus 0 --format json -o energy.json -- ./a.out",
    .exits = EXIT_BIT(EXIT_DEVICE) | EXIT_BIT(EXIT_ENGINE) | EXIT_BIT(EXIT_RECORDS) | EXIT_BIT(EXIT_INTERRUPTED),
    .options = stat_rows,
    .option_count = SCHEMA_COUNT(stat_rows),
    .options_size = sizeof(struct stat_choices),
    .run = run_stat,
};
