/* Commands as data: what `jtok NAME` takes, says and does. Everything that shows a command (--help, `jtok help`, man
 * pages, completions) is made from these tables. */
#ifndef JTOK_CLI_COMMAND_H
#define JTOK_CLI_COMMAND_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "cli/args.h"
#include "cli/exit.h"

/* One call of a command. */
struct call {
    const struct command *command;
    const void *options; /* the command's struct of options, filled in */
    const struct args *args;
    struct arena *arena;
    struct buf *out;     /* for stdout: written when the command is over, also where it fails: then the error follows */
    enum exit_code code; /* EXIT_OK before; set where another one is due */
};

struct command {
    const char *name;
    const char *brief;    /* a phrase for lists of commands: "print the stored result of a run" */
    const char *operands; /* as help shows them: "RUN", "A B", "[--] COMMAND ..."; null: none */
    size_t operands_min, operands_max;
    const char *const *operand_names; /* what an operand may be, null-terminated; null: anything */
    bool takes_rest;                  /* everything behind "--" goes to args.rest, not to the operands */
    bool shown;                       /* what it prints is fit to be shown already, and may have colours */
    const char *summary;              /* a sentence or two */
    const char *more;                 /* further paragraphs, a newline between them; null: none */
    const char *example;              /* one or more command lines, a newline between them */
    unsigned exits;                   /* EXIT_BIT of each code it can give, but for those that all can */
    const struct option *options;
    size_t option_count, options_size;
    bool (*run)(struct call *c, struct err *e);
};

extern const struct command cmd_run, cmd_attach, cmd_watch, cmd_stat, cmd_demo, cmd_doctor, cmd_identify, cmd_report,
    cmd_analyze, cmd_verify, cmd_compare, cmd_gate, cmd_rank, cmd_list, cmd_estimate, cmd_method, cmd_schema, cmd_docs,
    cmd_help;

/* All of them, in the order of `jtok help`; null-terminated. */
extern const struct command *const commands[];

/* The command of that name; null: there is none, and `e` says which one is near (ERR_USAGE). */
const struct command *command_find(const char *name, struct err *e);

/* Parses, runs, prints its output to stdout and, on failure, one error to stderr. argv[0] is the command's name. */
enum exit_code command_run(const struct command *c, int argc, char **argv);

/* The whole program. */
enum exit_code command_main(int argc, char **argv);

#endif
