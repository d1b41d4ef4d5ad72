#include <stdlib.h>
#include "app/identify.h"
#include "cli/command.h"
#include "cli/show.h"
#include "cli/texts.h"
#include "schema/table.h"

struct identify_options {
    enum format format;
};

static const struct option identify_rows[] = {
    FORMAT_OPTION(identify_options, format, format_names_two),
};

static bool run_identify(struct call *call, struct err *e)
{
    const struct identify_options *o = call->options;
    struct identification d;
    if (!identify_server(call->args->operands[0], getenv("JTOK_API_KEY"), call->arena, &d, e))
        return false;
    if (o->format == FORMAT_JSON)
        show_document(&identification_schema, &d, o->format, call->out);
    else
        text_identification(&d, call->arena, call->out);
    call->code = d.counts[IDENTITY_WRONG] ? EXIT_ENGINE : EXIT_OK;
    return true;
}

const struct command cmd_identify = {
    .name = "identify",
    .brief = "show what a running server is, and whether that is what it was started as",
    .operands = "URL",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Asks a running server what it is: model, version, context, parallel sizes, precision, caches and more, "
               "each with the place that says it, and compares that with its command line.",
    .more =
        "A property is verified (the command line states it, and the server says the same), wrong (it says something "
        "else), not stated (the command line is silent) or not verifiable (the server gives no way to see it).\n"
        "Only information is asked for, each path once: nothing is generated, and the server is not disturbed. URL "
        "must be on this machine, as the command line of the process behind the port is a part of the answer.",
    .example = "jtok identify http://127.0.0.1:8000\njtok identify http://127.0.0.1:8000 --format json",
    .exits = EXIT_BIT(EXIT_PLAN) | EXIT_BIT(EXIT_ENGINE) | EXIT_BIT(EXIT_REFUSED),
    .options = identify_rows,
    .option_count = SCHEMA_COUNT(identify_rows),
    .options_size = sizeof(struct identify_options),
    .run = run_identify,
};
