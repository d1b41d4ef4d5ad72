#include "app/doctor.h"
#include "app/doctor_plan.h"
#include "cli/command.h"
#include "cli/plan_args.h"
#include "cli/show.h"
#include "cli/texts.h"
#include "schema/table.h"
#include "store/plan_yaml.h"

static const int64_t probe_full_ns = INT64_C(3000000000);

struct doctor_options {
    enum format format;
    const char *library, *plan;
    bool quick;
};

static const struct option doctor_rows[] = {
    FORMAT_OPTION(doctor_options, format, format_names_two),
    {"--library", 0, "PATH",
     .field = TEXT(doctor_options, library, "Driver library to load, as power.library in a plan.")},
    {"--plan", 0, "PLAN.yaml",
     .field =
         TEXT(doctor_options, plan,
              "Look at what a run of this plan needs instead: the same questions as jtok run asks, without a run.")},
    {"--set", 's', "KEY=VALUE", .many = true, .doc = "Set any key of that plan; may be repeated."},
    {"--quick", 0, NULL, .field = BOOL(doctor_options, quick, "Do not measure the instruments; this saves 3 s.")},
};

/* A plan that would run and be excluded is told by the status, too. */
static enum exit_code plan_code(const struct doctor_plan *d)
{
    return d->stopped.kind != ERR_NONE ? exit_code_of(&d->stopped) : d->failed ? EXIT_EXCLUDED : EXIT_OK;
}

static bool look_at_plan(struct call *call, struct err *e)
{
    const struct doctor_options *o = call->options;
    struct plan plan;
    struct problems problems;
    struct span source = {0};
    struct doctor_plan d;
    plan_defaults(&plan);
    problems_init(&problems, call->arena, NULL);
    plan_yaml_load(&plan, o->plan, &source, &problems);
    plan_args_set(call->command, call->args, &plan, &problems);
    if (o->library)
        plan.power.library = o->library;
    if (!problems_none(&problems, ERR_PLAN, e) || !doctor_look_at_plan(&plan, call->arena, &d, e))
        return false;
    if (o->format == FORMAT_JSON)
        show_document(&doctor_plan_schema, &d, o->format, call->out);
    else
        text_preflight(&d, "", call->out);
    call->code = plan_code(&d);
    return true;
}

static bool run_doctor(struct call *call, struct err *e)
{
    const struct doctor_options *o = call->options;
    struct doctor d;
    if (o->plan)
        return look_at_plan(call, e);
    if (call->args->many.count)
        return err_set(e, ERR_USAGE, "doctor: --set changes a plan. Give one with --plan.");
    if (!doctor_look(o->library, o->quick ? 0 : probe_full_ns, call->arena, &d, e))
        return false;
    if (o->format == FORMAT_JSON)
        show_document(&doctor_schema, &d, o->format, call->out);
    else
        text_doctor(&d, call->arena, call->out);
    call->code = d.usable_gpus > 0 ? EXIT_OK : EXIT_DEVICE;
    return true;
}

const struct command cmd_doctor = {
    .name = "doctor",
    .brief = "show what this machine can measure, what is missing, and how to get it",
    .summary =
        "Shows what this machine can measure: the driver, each GPU with its limits, how often each power instrument "
        "has a new value and what a call costs (measured for 3 s), what is missing, and how to get it.",
    .more =
        "Changes nothing, and creates no compute context on the GPUs.\n"
        "With --plan it looks at one plan instead: its GPUs and what the scheduler gave, other processes, port, disk "
        "and memory, the engine's command, the snapshot and the model's files. Each line is passed, warned (the run "
        "goes on) or failed (the run stops, or is excluded), with what to do. The exit status is what jtok run would "
        "end with before its start.",
    .example = "jtok doctor\njtok doctor --format json\njtok doctor --plan plan.yaml",
    .exits = EXIT_BIT(EXIT_EXCLUDED) | EXIT_BIT(EXIT_PLAN) | EXIT_BIT(EXIT_DEVICE) | EXIT_BIT(EXIT_BUSY) |
             EXIT_BIT(EXIT_ENGINE) | EXIT_BIT(EXIT_INTERRUPTED),
    .options = doctor_rows,
    .option_count = SCHEMA_COUNT(doctor_rows),
    .options_size = sizeof(struct doctor_options),
    .run = run_doctor,
};
