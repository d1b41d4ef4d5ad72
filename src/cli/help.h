/* What commands say of themselves, made from their tables: for a terminal of 80 columns, as man pages (mdoc), and as
 * completions of three shells. Pure: the same program always gives the same bytes. */
#ifndef JTOK_CLI_HELP_H
#define JTOK_CLI_HELP_H

#include "base/buf.h"
#include "cli/command.h"

enum { HELP_COLUMNS = 80 };

/* The text of `jtok COMMAND --help`, and of `jtok --help`. */
void help_command(const struct command *c, struct buf *out);
void help_program(struct buf *out);

/* jtok-COMMAND.1 and jtok.1. */
void man_command(const struct command *c, struct buf *out);
void man_program(struct buf *out);

/* A script that the shell loads for `jtok`. */
void completion_bash(struct buf *out);
void completion_zsh(struct buf *out);
void completion_fish(struct buf *out);

/* "Form of the output: text (default), json, csv or none.": the option's sentence with what its field allows. */
void help_option_doc(const struct option *o, struct buf *out);

/* The names that an option takes, null-terminated; null: it takes anything. */
const char *const *help_option_names(const struct option *o);

/* "text (default), json or csv"; `preset` is the default's place, -1: none. */
void help_put_names(const char *const *names, int preset, struct buf *out);

/* Can a command end with this code? Every one can with "done", "usage" and "system". */
bool help_exits(const struct command *c, enum exit_code code);

#endif
