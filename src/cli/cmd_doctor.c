#include "app/doctor.h"
#include "cli/command.h"
#include "cli/show.h"
#include "cli/texts.h"
#include "schema/table.h"

static const int64_t probe_full_ns = INT64_C(3000000000);

struct doctor_options {
    enum format format;
    const char *library;
    bool quick;
};

static const struct option doctor_rows[] = {
    FORMAT_OPTION(doctor_options, format, format_names_two),
    {"--library", 0, "PATH",
     .field = TEXT(doctor_options, library, "Driver library to load, as power.library in a plan.")},
    {"--quick", 0, NULL, .field = BOOL(doctor_options, quick, "Do not measure the instruments; this saves 3 s.")},
};

static bool run_doctor(struct call *call, struct err *e)
{
    const struct doctor_options *o = call->options;
    struct doctor d;
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
    .more = "Changes nothing, and creates no compute context on the GPUs.",
    .example = "jtok doctor\njtok doctor --format json",
    .exits = EXIT_BIT(EXIT_DEVICE),
    .options = doctor_rows,
    .option_count = SCHEMA_COUNT(doctor_rows),
    .options_size = sizeof(struct doctor_options),
    .run = run_doctor,
};
