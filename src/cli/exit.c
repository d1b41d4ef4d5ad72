#include "cli/exit.h"

#include <stdio.h>
#include "base/must.h"
#include "base/utf8.h"

const struct exit_row exit_rows[] = {
    {EXIT_OK, "Success. A run or a result is formal, or valid where it has another load or object; a gate passed."},
    {EXIT_EXCLUDED, "The records are complete, but the run is excluded, neither formal nor valid, for the reasons "
                    "printed; or none of the models can be ranked."},
    {EXIT_USAGE, "The command line is wrong."},
    {EXIT_PLAN, "The plan, the request file or another input is wrong."},
    {EXIT_DEVICE, "Nothing can be measured: the driver is missing, or a GPU is missing or unusable."},
    {EXIT_BUSY, "The machine is busy: a GPU or a port is in use, or the GPUs do not become idle."},
    {EXIT_ENGINE, "The engine failed to start, did not become ready, or is not what the plan says."},
    {EXIT_RECORDS, "A run folder is missing, unsealed, damaged or inconsistent."},
    {EXIT_REFUSED, "The method does not allow it, for the reasons printed."},
    {EXIT_SYSTEM, "The operating system refused something, or jtok has a bug."},
    {EXIT_GATE_FAILED, "The gate failed: the metric is beyond its limit."},
    {EXIT_UNDECIDED, "The gate is undecided: the runs cannot tell."},
    {EXIT_INTERRUPTED, "Interrupted by the user."},
};
const size_t exit_row_count = sizeof exit_rows / sizeof *exit_rows;

enum exit_code exit_code_of(const struct err *e)
{
    switch (e->kind) {
    case ERR_NONE:
        return EXIT_OK;
    case ERR_USAGE:
        return EXIT_USAGE;
    case ERR_PLAN:
        return EXIT_PLAN;
    case ERR_DEVICE:
        return EXIT_DEVICE;
    case ERR_BUSY:
        return EXIT_BUSY;
    case ERR_ENGINE:
        return EXIT_ENGINE;
    case ERR_RECORDS:
        return EXIT_RECORDS;
    case ERR_REFUSED:
        return EXIT_REFUSED;
    case ERR_INTERRUPTED:
        return EXIT_INTERRUPTED;
    case ERR_SYSTEM:
    case ERR_INTERNAL:
        break;
    }
    return EXIT_SYSTEM;
}

void exit_notify(const char *text)
{
    must(text);
    struct buf b = {0};
    buf_str(&b, "jtok: ");
    utf8_show(&b, span_of(text), true);
    buf_byte(&b, '\n');
    fwrite(b.p, 1, b.n, stderr);
    buf_done(&b);
}

enum exit_code exit_with(const struct err *e)
{
    must(e->kind != ERR_NONE);
    exit_notify(e->text);
    return exit_code_of(e);
}
