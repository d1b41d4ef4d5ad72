/* Results on stdout: what the commands share. */
#ifndef JTOK_CLI_SHOW_H
#define JTOK_CLI_SHOW_H

#include <stdbool.h>
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "cli/args.h"
#include "model/result.h"
#include "report/report.h"

/* How much of a result's text is wanted. */
enum show_text { SHOW_SCREEN, SHOW_FULL, SHOW_CHECKS };

/* Appends a result as "text" on one screen, "json" (result.json, byte for byte), "csv" or "none" (nothing), fit to be
 * shown. Another name is ERR_USAGE. */
bool show_result(const struct result *r, const char *format, const struct report_options *options, struct buf *out,
                 struct err *e);

/* Appends its text. */
void show_text(const struct result *r, enum show_text which, const struct report_options *options, struct buf *out);

/* --full or --checks as it was given; both, or one beside another format than text, is ERR_USAGE. */
bool show_wanted(bool full, bool checks, const char *format, enum show_text *ret_which, struct err *e);

/* Is `format` one of them? Else ERR_USAGE, before anything is done. */
bool show_knows(const char *format, struct err *e);

/* Appends any other document as "json" or "csv" (one value a line); nothing for "none". */
void show_document(const struct schema *s, const void *object, const char *format, struct buf *out);

/* Appends a text as an item of a list, wrapped: "  - ...". */
void show_item(const char *text, struct buf *out);

/* Is stdout a terminal that wants colours (NO_COLOR not set, TERM not dumb)? */
bool show_colour(void);

/* A command that prints one text: its options are read, `print` fills `out` (and sets *ret_code, EXIT_OK before, where
 * another one is due), and what it filled is written, also where it fails: then the error follows. Gives the exit code.
 */
typedef bool show_print(void *self, const struct args *args, struct arena *a, struct buf *out, int *ret_code,
                        struct err *e);
int show_command(const struct args_spec *spec, int argc, char **argv, show_print *print, void *self);

/* The same where `print` fills in what is fit to be shown already, with colours or without: what show_result gives. */
int show_result_command(const struct args_spec *spec, int argc, char **argv, show_print *print, void *self);

/* Writes all to stdout, made fit to be shown (base/utf8.h: no escape survives, to whatever stdout leads), and clears
 * the buffer. False with ERR_SYSTEM where stdout takes it no more (a full disk). */
bool show_flush(struct buf *out, struct err *e);

/* Writes what is fit to be shown already. */
bool show_write(struct buf *out, struct err *e);

#endif
