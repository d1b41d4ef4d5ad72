/* Command lines: one table an option set, from which parsing and --help come.
 *
 *     const char *format = "text";
 *     const struct arg options[] = {{"--format", ARG_TEXT, "NAME", "text (default), json or csv", &format}};
 *     const struct args_spec spec = {.command = "report", .operands = "RUN", .operands_min = 1, .operands_max = 1,
 *                                    .summary = "Prints the stored result of a run.",
 *                                    .options = options, .option_count = 1, .example = "jtok report
 * runs/20261130T..."}; struct args args; int code; if (!args_take(&spec, argc, argv, &args, &code)) return code;
 *
 * Options and operands may come in any order; "--name value" and "--name=value" are the same; "-o" works where `letter`
 * is set; "--" ends the options. --help and -h are always known. An option that takes one value is given once: twice is
 * an error that names both values. */
#ifndef JTOK_CLI_ARGS_H
#define JTOK_CLI_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"
#include "base/err.h"

enum { ARGS_OPERANDS_MAX = 64, ARGS_LIST_MAX = 64, ARGS_OPTIONS_MAX = 64 };

enum arg_kind {
    ARG_FLAG, /* bool: set when given */
    ARG_TEXT, /* const char * */
    ARG_I64,  /* int64_t; a decimal integer */
    ARG_F64,  /* double */
    ARG_LIST, /* struct arg_list: may be given often, in order */
};

struct arg_list {
    const char *items[ARGS_LIST_MAX];
    size_t count;
};

struct arg {
    const char *name; /* with its dashes: "--format" */
    enum arg_kind kind;
    const char *value; /* what help calls the value: "NAME"; null for a flag */
    const char *doc;   /* one sentence or phrase for help */
    void *ret_value;   /* of the kind's type; untouched when the option isn't given */
    char letter;       /* 'o' for "-o"; 0: none */
};

struct args_spec {
    const char *command;  /* "report" */
    const char *operands; /* as help shows them: "RUN", "A B", "[--] COMMAND ..."; null: none */
    size_t operands_min, operands_max;
    const char *summary; /* one sentence */
    const char *more;    /* further paragraphs for help, already broken into lines; null: none */
    const char *example; /* one or more command lines, a newline between them */
    const struct arg *options;
    size_t option_count;
    bool takes_rest; /* everything behind "--" goes to `rest`, not to the operands */
};

struct args {
    const char *operands[ARGS_OPERANDS_MAX];
    size_t operand_count;
    char **rest; /* points into argv; null: no "--" was given */
    size_t rest_count;
    bool help; /* --help was given; nothing else was checked */
};

/* Parses argv[1] onward (argv[0] is the command). Errors are ERR_USAGE and name the argument, the nearest known option,
 * and where to read on. */
bool args_parse(const struct args_spec *spec, int argc, char **argv, struct args *ret_args, struct err *e);

/* The text of --help, at most 100 columns. */
void args_help(const struct args_spec *spec, struct buf *out);

/* Both at once: false when the command is over, with *ret_code: help was printed (0), or the error was (2). */
bool args_take(const struct args_spec *spec, int argc, char **argv, struct args *ret_args, int *ret_code);

/* The name in `names` (null-terminated) that is nearest to `text` by edit distance, or null when none is near enough to
 * be meant (over a third of the letters differ). O(names * length^2). */
const char *args_nearest(const char *text, const char *const *names);

#endif
