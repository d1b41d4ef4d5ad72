#include "cli/help.h"

static bool run_help(struct call *call, struct err *e)
{
    if (call->args->operand_count == 0) {
        help_program(call->out);
        return true;
    }
    const struct command *c = command_find(call->args->operands[0], e);
    if (c)
        help_command(c, call->out);
    return c != NULL;
}

const struct command cmd_help = {
    .name = "help",
    .brief = "show the commands, or one command with its options",
    .operands = "[COMMAND]",
    .operands_max = 1,
    .summary = "Lists the commands, or prints what \"jtok COMMAND --help\" prints.",
    .example = "jtok help run",
    .run = run_help,
};
