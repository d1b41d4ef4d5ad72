/* What `attach` and `watch` share on the command line: the address of a service that runs already. */
#ifndef JTOK_CLI_RUNNING_ARGS_H
#define JTOK_CLI_RUNNING_ARGS_H

#include "cli/command.h"
#include "model/plan.h"

/* Rows of both commands (for .c files with schema/table.h). */
#define RUNNING_OPTIONS                                                                                                \
    {"--gpus",                                                                                                         \
     'g',                                                                                                              \
     "LIST",                                                                                                           \
     .plan_key = "gpus",                                                                                               \
     .commas = true,                                                                                                   \
     .no_preset = true,                                                                                                \
     .doc = "GPUs of the service: indexes, UUIDs, PCI addresses, or all. Without it, those of the processes behind "   \
            "the port."},                                                                                              \
    {                                                                                                                  \
        "--name", 0, "TEXT", .plan_key = "name", .doc = "Label for people; it becomes part of the folder's name."      \
    }

/* The defaults, the address (the one operand) and the options. No GPUs: none were named. ERR_PLAN has all problems.
 * Texts are argv's own or live in the arena. */
bool running_args_make(const struct command *c, const struct args *args, struct arena *a, enum run_object object,
                       struct plan *ret_plan, struct err *e);

#endif
