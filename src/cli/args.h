/* Command lines: one table an option set, from which parsing, --help, the man page and the completions come.
 *
 *     struct lamp_options { enum format format; int64_t power_w; bool dim; };
 *     static const struct option lamp_rows[] = {
 *         FORMAT_OPTION(lamp_options, format, format_names_two),
 *         {"--power", 'p', "W", .field = I64(lamp_options, power_w, "Power.", RANGE(1, 100), DEFAULT(60))},
 *         {"--dim", 0, NULL, .field = BOOL(lamp_options, dim, "Half as bright.")},
 *         {"--runs", 'o', "FOLDER", .plan_key = "runs", .doc = "Where run folders are made."},
 *     };
 *
 * A row's field (schema/table.h) says where its value goes in the command's struct of options, which values it takes,
 * its default and help's sentence. A row with a plan key instead sets that key of a plan, typed as `--set KEY=VALUE`
 * would be, once the command has the plan (cli/plan_args.h).
 *
 * Options and operands may come in any order; "--name value" and "--name=value" are the same; "-o" works where `letter`
 * is set; "--" ends the options. --help and -h are always known. An option that takes one value is given once: twice is
 * an error that names both values. */
#ifndef JTOK_CLI_ARGS_H
#define JTOK_CLI_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include "base/arena.h"
#include "base/err.h"
#include "schema/schema.h"

enum { ARGS_OPERANDS_MAX = 64, ARGS_LIST_MAX = 64, ARGS_OPTIONS_MAX = 48 };

struct option {
    const char *name;  /* with its dashes: "--format" */
    char letter;       /* 'o' for "-o"; 0: none */
    const char *value; /* what help calls the value: "NAME"; null: a flag */
    struct field field;
    bool many;                    /* instead of a field, one row a command: given often, its values are args.many */
    const char *plan_key;         /* instead of a field: "requests.count" */
    bool commas;                  /* of a plan key: a list, with commas between */
    bool no_preset;               /* of a plan key: here its default is not what comes without the option */
    const char *const *plan_with; /* of a plan key: further KEY=VALUE that it sets; null-terminated, or null */
    /* Of a plan key that is an object: the value as settings KEY=VALUE of it, null-terminated, of the arena. */
    const char *const *(*plan_settings)(const char *value, const char *plan_key, struct arena *a);
    const char *doc; /* help's sentence where no field has it */
};

struct arg_list {
    const char *items[ARGS_LIST_MAX];
    size_t count;
};

struct command;

struct args {
    const char *operands[ARGS_OPERANDS_MAX];
    size_t operand_count;
    char **rest; /* points into argv; null: no "--" was given */
    size_t rest_count;
    const char *given[ARGS_OPTIONS_MAX]; /* the value of each option of the table, "" of a flag; null: not given */
    struct arg_list many;                /* of the one option that may be given often */
    bool help;                           /* --help was given; nothing else was checked */
};

/* Parses argv[1] onward (argv[0] is the command) into *ret_args, and the options with a field into `options`, a struct
 * of the command's size, with defaults where they were not given. Errors are ERR_USAGE and name the argument, the
 * nearest known option, and where to read on. Texts are argv's own or live in the arena. */
bool args_parse(const struct command *c, int argc, char **argv, struct arena *a, void *options, struct args *ret_args,
                struct err *e);

/* Was the option of that name given? */
bool args_given(const struct command *c, const struct args *args, const char *name);

/* The option's sentence. */
const char *option_doc(const struct option *o);

/* The name in `names` (null-terminated) that may have been meant: the only one that begins with `text`, else the
 * nearest by edit distance; null when none is near enough (over a third of the letters differ). O(names * length^2). */
const char *args_nearest(const char *text, const char *const *names);

#endif
