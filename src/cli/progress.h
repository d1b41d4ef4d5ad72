/* The live line of a run: one line, redrawn, on a terminal; else one line a stage, and one each ten seconds of a load.
 * NO_COLOR is honoured. */
#ifndef JTOK_CLI_PROGRESS_H
#define JTOK_CLI_PROGRESS_H

#include <stdbool.h>
#include "base/buf.h"
#include "run/run.h"

struct progress {
    bool terminal, colour, quiet;
    enum run_stage stage; /* last shown; RUN_COUNT: none */
    bool line_open;       /* a live line stands without its line end */
    bool notified_interrupt;
    int64_t window_lines;  /* of a watch: shown so far */
    int64_t stage_line_ns; /* without a terminal: elapsed time of the last line of a stage */
    struct buf text;
};

/* Writes to stderr, so that stdout carries the result alone. */
void progress_init(struct progress *p, bool quiet);
void progress_done(struct progress *p);

/* Writes nothing while stderr would not take it at once: never waits. For run_options.progress; `self` is a struct
 * progress. */
void progress_show(void *self, const struct run_view *v);

/* Ends a live line, so that something else can be printed. */
void progress_break(struct progress *p);

/* The line for a view, without colours, at most `columns` wide (0: no limit). */
void progress_line(const struct run_view *v, size_t columns, struct buf *b);

/* The line of a watch, of its last ten seconds: "    20 s  412.3 W  1830 tok/s  0.225 J/token  63 running, 2 waiting".
 */
void progress_window(const struct window_view *w, struct buf *b);

#endif
