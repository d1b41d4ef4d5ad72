#include "cli/progress.h"

#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "base/must.h"
#include "base/time.h"
#include "base/utf8.h"
#include "cli/show.h"

#define LINE_NS (10 * SECOND_NS)

static const char *const stage_texts[RUN_COUNT] = {
    "preparing",
    "baseline: idle power",
    "starting the engine",
    "warm-up",
    "opening connections",
    "formal requests",
    "stopping the engine",
    "release: memory and power",
    "hold: power stays at its baseline",
    "sealing",
    "silence before the load",
    "load",
    "looking at the GPUs",
    "window: users' load",
};

void progress_init(struct progress *p, bool quiet)
{
    *p = (struct progress){.terminal = show_is_terminal(STDERR_FILENO),
                           .colour = show_colour(STDERR_FILENO),
                           .quiet = quiet,
                           .stage = RUN_COUNT};
}

void progress_done(struct progress *p)
{
    progress_break(p);
    buf_done(&p->text);
}

void progress_break(struct progress *p)
{
    if (p->line_open)
        fputs("\n", stderr);
    p->line_open = false;
}

/* All requests of these stages are over: power and rate of the moment after would stay on the screen as theirs. */
static bool has_ended(const struct run_view *v)
{
    return (v->stage == RUN_FORMAL || v->stage == RUN_LOAD) && v->running == 0 && v->done + v->failed > 0;
}

void progress_line(const struct run_view *v, size_t columns, struct buf *b)
{
    must((unsigned)v->stage < RUN_COUNT);
    size_t start = b->n;
    buf_fmt(b, "%6.1f s  %s", (double)v->elapsed_ns / 1e9, stage_texts[v->stage]);
    if (v->load > 0 && (v->stage == RUN_LOAD || v->stage == RUN_SILENCE))
        buf_fmt(b, " %lld of %lld", (long long)v->load, (long long)v->loads);
    if (isfinite(v->watts) && !has_ended(v))
        buf_fmt(b, "  %.0f W", v->watts);
    if (v->requests > 0)
        buf_fmt(b, "  %lld/%lld done, %lld running, %lld failed", (long long)v->done, (long long)v->requests,
                (long long)v->running, (long long)v->failed);
    else if (v->load > 0 && v->stage == RUN_LOAD)
        buf_fmt(b, "  %.0f s, %lld done, %lld running, %lld failed", (double)v->stage_elapsed_ns / 1e9,
                (long long)v->done, (long long)v->running, (long long)v->failed);
    if (isfinite(v->chunks_per_s) && (v->stage == RUN_FORMAL || v->stage == RUN_LOAD) && !has_ended(v))
        buf_fmt(b, "  %.0f chunks/s", v->chunks_per_s);
    if (v->note && v->stage == RUN_START) {
        buf_str(b, "  ");
        utf8_show(b, span_of(v->note), false);
    }
    if (columns && b->n - start > columns) {
        b->n = start + columns;
        while (b->n > start && ((unsigned char)b->p[b->n] & 0xc0) == 0x80) /* no character is cut in two */
            b->n--;
    }
}

static size_t terminal_columns(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 10 ? size.ws_col - 1u : 79;
}

/* "    20 s  412.3 W  1830 tok/s  0.225 J/token  63 running, 2 waiting": the last ten seconds of a watch. */
void progress_window(const struct window_view *w, struct buf *b)
{
    must(w->lines > 0);
    buf_fmt(b, "%6.0f s", w->window_s);
    if (isfinite(w->watts))
        buf_fmt(b, "  %.1f W", w->watts);
    if (isfinite(w->tokens_per_s))
        buf_fmt(b, "  %.0f tok/s", w->tokens_per_s);
    if (isfinite(w->j_per_token))
        buf_fmt(b, "  %.3g J/token", w->j_per_token);
    if (isfinite(w->running))
        buf_fmt(b, "  %.0f running", w->running);
    if (isfinite(w->waiting))
        buf_fmt(b, ", %.0f waiting", w->waiting);
}

static void show_window(struct progress *p, const struct run_view *v)
{
    buf_clear(&p->text);
    progress_window(&v->window, &p->text);
    fprintf(stderr, p->line_open ? "\r\033[K%s\n" : "%s\n", buf_text(&p->text));
    p->line_open = false;
    p->window_lines = v->window.lines;
}

/* A log that stands still for minutes looks like one of a run that hangs. */
static bool is_due(const struct progress *p, const struct run_view *v)
{
    return v->stage == RUN_LOAD && v->elapsed_ns - p->stage_line_ns >= LINE_NS;
}

static void show_stage(struct progress *p, const struct run_view *v)
{
    p->stage_line_ns = v->elapsed_ns;
    progress_break(p);
    buf_clear(&p->text);
    struct run_view plain = *v;
    plain.note = NULL;
    progress_line(&plain, 0, &p->text);
    fprintf(stderr, "%s\n", buf_text(&p->text));
}

/* A terminal that is held (Ctrl-S) or a reader that has stopped must not hold the run: what is not taken is shown by a
 * later call. */
static bool takes_text(void)
{
    struct pollfd p = {.fd = STDERR_FILENO, .events = POLLOUT};
    return poll(&p, 1, 0) == 1 && (p.revents & POLLOUT);
}

/* What comes of the first Ctrl-C. */
static const char *interrupt_text(const struct run_view *v)
{
    if (!v->running_service)
        return "jtok: Stopping the engine and waiting for its release. Press Ctrl-C again to cut this short.\n";
    if (v->asked && v->load > 0)
        return "jtok: Ending the load: what is in flight runs to its end, unless you press Ctrl-C again. The service "
               "goes on.\n";
    return v->asked ? "jtok: Ending the window. The service goes on.\n" : "jtok: Stopping. The service goes on.\n";
}

void progress_show(void *self, const struct run_view *v)
{
    struct progress *p = self;
    if (p->quiet || !takes_text())
        return;
    if ((v->interrupted || v->asked) && !p->notified_interrupt) {
        p->notified_interrupt = true;
        progress_break(p);
        fputs(interrupt_text(v), stderr);
    }
    if (v->window.lines > p->window_lines)
        show_window(p, v);
    bool fresh = v->stage != p->stage;
    p->stage = v->stage;
    if (!p->terminal) {
        if (fresh || is_due(p, v))
            show_stage(p, v);
        return;
    }
    if (fresh)
        progress_break(p);
    buf_clear(&p->text);
    progress_line(v, terminal_columns(), &p->text);
    fprintf(stderr, p->colour ? "\r\033[K\033[36m%.*s\033[0m" : "\r\033[K%.*s", (int)p->text.n, p->text.p);
    fflush(stderr);
    p->line_open = true;
}
