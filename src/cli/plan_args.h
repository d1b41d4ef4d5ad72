/* A plan from a command line: a file, an engine command, and the options that set its keys. */
#ifndef JTOK_CLI_PLAN_ARGS_H
#define JTOK_CLI_PLAN_ARGS_H

#include "cli/command.h"
#include "model/plan.h"
#include "schema/problems.h"

/* Sets what options with a plan key, and then each of `many` as KEY=VALUE, say of a plan. A key that is set twice is a
 * problem that names both places. */
void plan_args_set(const struct command *c, const struct args *args, struct plan *plan, struct problems *problems);

/* The defaults, the plan file (the one operand, if given), the engine command behind "--", and the options, in this
 * order. *ret_source is the file's text; null: there was none. ERR_USAGE without file and command; ERR_PLAN has all
 * problems. Texts are argv's own or live in the arena. */
bool plan_args_make(const struct command *c, const struct args *args, struct arena *a, struct plan *ret_plan,
                    const char **ret_source, struct err *e);

#endif
