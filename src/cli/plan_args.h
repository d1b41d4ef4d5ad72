/* A plan from a command line: a file, an engine command, and the options that set its keys. */
#ifndef JTOK_CLI_PLAN_ARGS_H
#define JTOK_CLI_PLAN_ARGS_H

#include "cli/command.h"
#include "model/plan.h"
#include "schema/problems.h"
#include "store/length_law.h"

/* Rows of commands that send requests: random prompts, and how long the answers are. */
extern const char *const plan_random_with[], *const plan_forced_with[];
#define WORK_OPTIONS                                                                                                   \
    {"--input-tokens",                                                                                                 \
     0,                                                                                                                \
     "LENGTH",                                                                                                         \
     .plan_key = "requests.random.input",                                                                              \
     .plan_settings = length_law_settings,                                                                             \
     .plan_with = plan_random_with,                                                                                    \
     .doc = "Send random prompts of exactly so many tokens each, as token ids, in place of a file: N, LEAST..MOST, "   \
            "normal:MEAN,SD or lognormal:MEDIAN,SIGMA, the last two with bounds as in normal:1024,200,16..4096."},     \
        {"--thinking", 0, "KIND", .plan_key = "engine.settings.thinking",                                              \
         .doc = "What requests ask of a model that thinks before it answers: off, on, low, medium or high."},          \
        {"--prefix-tokens", 0, "N", .plan_key = "requests.random.prefix_tokens",                                       \
         .doc = "Of random prompts: so many tokens at the start are the same in all of them."},                        \
    {                                                                                                                  \
        "--output-tokens", 0, "LENGTH",                                                                                \
            .plan_key = "requests.lengths", .plan_settings = length_law_settings, .plan_with = plan_forced_with,       \
            .doc =                                                                                                     \
                "Force every answer to so many tokens (ignore_eos): N, LEAST..MOST, or drawn as with --input-tokens."  \
    }

/* Sets what options with a plan key, and then each of `many` as KEY=VALUE, say of a plan. A key that is set twice is a
 * problem that names both places. */
void plan_args_set(const struct command *c, const struct args *args, struct plan *plan, struct problems *problems);

/* The defaults, the plan file (the one operand, if given), the engine command behind "--", and the options, in this
 * order. *ret_source is the file's text; null: there was none. ERR_USAGE without file and command; ERR_PLAN has all
 * problems. Texts are argv's own or live in the arena. */
bool plan_args_make(const struct command *c, const struct args *args, struct arena *a, struct plan *ret_plan,
                    const char **ret_source, struct err *e);

#endif
