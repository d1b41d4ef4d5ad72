/* What `run` and `demo` share: one plan's life on the terminal, with progress, warnings, the folder and the result. */
#ifndef JTOK_CLI_LIFE_H
#define JTOK_CLI_LIFE_H

#include <stdbool.h>
#include "app/measure.h"
#include "cli/exit.h"
#include "cli/show.h"

/* Options of both commands. */
struct life_options {
    enum format format;
    bool dry_run, quiet;
};

/* Their rows, for a struct of options with a member `life` (for .c files with schema/table.h). */
#define LIFE_OPTIONS(options)                                                                                          \
    {"--set", 's', "KEY=VALUE", .many = true, .doc = "Set any key of the plan; may be repeated."},                     \
        {"--runs", 'o', "FOLDER", .plan_key = "runs", .doc = "Folder for new run folders."},                           \
        FORMAT_OPTION(options, life.format, format_names_four),                                                        \
        {"--dry-run", 0, NULL,                                                                                         \
         .field = BOOL_AS(                                                                                             \
             "dry_run", options, life.dry_run,                                                                         \
             "Print the complete plan, with loads also how long they take, and what was looked at; then stop.")},      \
    {                                                                                                                  \
        "--quiet", 'q', NULL, .field = BOOL_AS("quiet", options, life.quiet, "Show no progress.")                      \
    }

struct life {
    struct plan *plan;
    const char *plan_source; /* null: none */
    const struct life_options *options;
    bool despite_preflight;
    /* The exit code of a life that has its result, in the arena; null: EXIT_OK where the result is formal, else
     * EXIT_EXCLUDED. */
    enum exit_code (*judge)(const struct measurement *m, struct arena *a);
};

/* Prints the run folder's path and the result to stdout, progress and errors to stderr; gives the exit code. */
enum exit_code life_run(const struct life *l, struct arena *a);

#endif
