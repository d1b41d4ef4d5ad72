/* What the commands print on stdout: forms, results, documents, items. */
#ifndef JTOK_CLI_SHOW_H
#define JTOK_CLI_SHOW_H

#include <stdbool.h>
#include "base/buf.h"
#include "base/err.h"
#include "model/result.h"
#include "report/report.h"

/* The form of a command's output. A command takes those of one of the lists, which begin alike. */
enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_CSV, FORMAT_NONE, FORMAT_SVG };
extern const char *const format_names_two[];   /* text, json */
extern const char *const format_names_three[]; /* text, json, csv */
extern const char *const format_names_four[];  /* text, json, csv, none */
extern const char *const format_names_five[];  /* text, json, csv, none, svg */

/* The row of --format for a struct of options (for .c files with schema/table.h). */
#define FORMAT_OPTION(options, member, names_)                                                                         \
    {                                                                                                                  \
        "--format", 'f', "NAME", .field = {                                                                            \
            .key = "format",                                                                                           \
            .type = FIELD_ENUM,                                                                                        \
            .offset = OFFSET_OF_TYPE(options, member, enum format),                                                    \
            .width = sizeof(enum format),                                                                              \
            .names = (names_),                                                                                         \
            .has_preset = true,                                                                                        \
            .doc = "Output format."                                                                                    \
        }                                                                                                              \
    }

/* How much of a result's text is wanted. */
enum show_text { SHOW_SCREEN, SHOW_FULL, SHOW_CHECKS };

/* --full or --checks as given; both, or one of them with another format than text, is ERR_USAGE. */
bool show_which(bool full, bool checks, enum format format, enum show_text *ret_which, struct err *e);

/* The rows of --full and --checks for a struct of options with these members. */
#define DETAIL_OPTIONS(options)                                                                                        \
    {"--full", 0, NULL, .field = BOOL(options, full, "Print the whole report, for a terminal of 100 columns.")},       \
    {                                                                                                                  \
        "--checks", 0, NULL, .field = BOOL(options, checks, "Print every check and flag with its numbers.")            \
    }

/* Appends a result: as text, as JSON (result.json, byte for byte), as CSV, or nothing; fit to be shown. */
void show_result(const struct result *r, enum format format, enum show_text which, const struct report_options *look,
                 struct buf *out);

/* Appends any other document as JSON or CSV (one value a line); nothing for "none". */
void show_document(const struct schema *s, const void *object, enum format format, struct buf *out);

/* Appends `count` objects as a JSON list. */
void show_list(const struct schema *s, const void *objects, size_t count, struct buf *out);

/* Appends a text as an item of a list, wrapped: "  - ...". */
void show_item(const char *text, struct buf *out);

/* Is this descriptor a terminal that can move its cursor (TERM is not dumb), and does it want colours (NO_COLOR is not
 * set)? */
bool show_is_terminal(int fd);
bool show_colour(int fd);

/* Writes all to stdout, made fit to be shown (base/utf8.h: no escape survives, to whatever stdout leads), and clears
 * the buffer. False with ERR_SYSTEM where stdout takes it no more (a full disk). */
bool show_flush(struct buf *out, struct err *e);

/* Writes what is fit to be shown already. */
bool show_write(struct buf *out, struct err *e);

#endif
