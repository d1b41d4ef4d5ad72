#include "report/svg.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "base/columns.h"
#include "base/must.h"
#include "report/svg_text.h"

/* Lengths in pixels of the picture. */
enum {
    LEFT = 64,
    RIGHT = 24,
    WIDTH = LEFT + SVG_COLUMNS - 1 + RIGHT,
    PLOT_TOP = 118,
    PLOT_HEIGHT = 300,
    PLOT_BOTTOM = PLOT_TOP + PLOT_HEIGHT,
    COLUMNS = SVG_COLUMNS - 1,
    LETTER = 7,
};

static const char *const gpu_colours[] = {"#0b6bcb", "#d9480f", "#2b8a3e", "#9c36b5",
                                          "#c2255c", "#1098ad", "#866118", "#495057"};
static const struct {
    const char *name, *fill;
} stage_looks[POWER_STAGES] = {{"baseline", "#f1f3f5"},
                               {"startup", "#fff4e0"},
                               {"formal", "#e3f4e8"},
                               {"release", "#fde8e8"},
                               {"hold", "#f1f3f5"}};

struct power_frame {
    double seconds, watts; /* at the right end, at the top */
};

static double x_of(const struct power_frame *f, double t_s)
{
    return LEFT + t_s / f->seconds * COLUMNS;
}

static double y_of(const struct power_frame *f, double watts)
{
    return PLOT_BOTTOM - watts / f->watts * PLOT_HEIGHT;
}

/* ---- one GPU ---- */

/* The band from lowest to highest sample of each column (along the tops, back along the bottoms), and the means as a
 * line. */
static void put_series(struct buf *out, const struct power_frame *f, const struct power_column *columns,
                       const char *colour)
{
    buf_fmt(out, "<path class=\"band\" fill=\"%s\" d=\"", colour);
    char verb = 'M';
    for (size_t c = 0; c < SVG_COLUMNS; c++)
        if (columns[c].samples) {
            buf_fmt(out, "%c%zu %.1f", verb, LEFT + c, y_of(f, columns[c].high_w));
            verb = 'L';
        }
    for (size_t c = SVG_COLUMNS; c-- > 0;)
        if (columns[c].samples)
            buf_fmt(out, "L%zu %.1f", LEFT + c, y_of(f, columns[c].low_w));
    buf_fmt(out, "Z\"/>\n<path class=\"power\" stroke=\"%s\" d=\"", colour);
    verb = 'M';
    for (size_t c = 0; c < SVG_COLUMNS; c++)
        if (columns[c].samples) {
            buf_fmt(out, "%c%zu %.1f", verb, LEFT + c, y_of(f, columns[c].mean_w));
            verb = 'L';
        }
    buf_str(out, "\"/>\n");
}

static bool was_sampled(const struct power_line *g)
{
    for (size_t c = 0; c < SVG_COLUMNS; c++)
        if (g->columns[c].samples)
            return true;
    return false;
}

/* ---- axes ---- */

/* A round step that gives at most `most` steps. */
static double round_step(double range, int most)
{
    double step = 1;
    static const double factors[] = {2, 2.5, 2}; /* 1, 2, 5, 10 */
    for (size_t i = 0; range / step > most; i++)
        step *= factors[i % 3];
    return step;
}

static void put_axes(struct buf *out, const struct power_frame *f)
{
    double step = round_step(f->watts, 7);
    for (double w = 0; w <= f->watts; w += step) {
        buf_fmt(out, "<path class=\"grid\" d=\"M%d %.1fH%d\"/>\n", LEFT, y_of(f, w), LEFT + COLUMNS);
        char text[32];
        snprintf(text, sizeof text, "%.0f", w);
        svg_label(out, LEFT - 8, y_of(f, w) + 4, "tick end", text);
    }
    svg_label(out, LEFT - 8, PLOT_TOP - 8, "tick end", "W");
    step = round_step(f->seconds, 14);
    for (double s = 0; s <= f->seconds; s += step) {
        double x = x_of(f, s);
        buf_fmt(out, "<path class=\"axis\" d=\"M%.1f %dv5\"/>\n", x, PLOT_BOTTOM);
        char text[32];
        snprintf(text, sizeof text, "%.0f", s);
        svg_label(out, x, PLOT_BOTTOM + 19, "tick middle", text);
    }
    svg_label(out, LEFT + COLUMNS, PLOT_BOTTOM + 36, "tick end", "seconds since the baseline began");
    buf_fmt(out, "<path class=\"axis\" d=\"M%d %dH%d\"/>\n", LEFT, PLOT_BOTTOM, LEFT + COLUMNS);
}

/* ---- stages ---- */

static void put_bands(struct buf *out, const struct power_frame *f, const struct power_stretch *bands)
{
    for (size_t i = 0; i < POWER_STAGES; i++) {
        if (isnan(bands[i].from_s))
            continue;
        double x = x_of(f, bands[i].from_s);
        buf_fmt(out, "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n", x, PLOT_TOP,
                x_of(f, bands[i].to_s) - x, PLOT_HEIGHT, stage_looks[i].fill);
    }
}

/* Names above the bands, with a line at each boundary. A name that doesn't fit beside the one before it goes up a row.
 */
static void put_stage_names(struct buf *out, const struct power_frame *f, const struct power_stretch *bands,
                            const struct svg_notes *notes)
{
    double free_x[2] = {0, 0};
    for (size_t i = 0; i < POWER_STAGES; i++) {
        if (isnan(bands[i].from_s))
            continue;
        const char *note = notes && notes->stage[i] ? notes->stage[i] : "";
        size_t letters = strlen(stage_looks[i].name);
        if (columns_text(note) > letters)
            letters = columns_text(note);
        double from = x_of(f, bands[i].from_s), to = x_of(f, bands[i].to_s);
        double x = (from + to) / 2, half = (double)letters * LETTER / 2;
        x = fmin(x, LEFT + COLUMNS - half);
        size_t row = x - half < free_x[0] ? 1 : 0;
        free_x[row] = x + half + LETTER;
        double y = PLOT_TOP - 22 - 34.0 * (double)row;
        svg_label(out, x, y, "stage middle", stage_looks[i].name);
        svg_label(out, x, y + 14, "note middle", note);
        if (row)
            buf_fmt(out, "<path class=\"leader\" d=\"M%.1f %.1fV%d\"/>\n", x, y + 18, PLOT_TOP);
        buf_fmt(out, "<path class=\"boundary\" d=\"M%.1f %dV%d\"/>\n", from, PLOT_TOP, PLOT_BOTTOM);
    }
}

/* Where each phase of the startup ended, inside its band. A name stands left of its line, where that leaves the plot
 * right of it; each a row lower than the one before, so that short phases don't write over one another. */
static void put_phases(struct buf *out, const struct power_frame *f, const struct power_series *s,
                       const struct svg_notes *notes)
{
    static const char *const ends[PHASE_COUNT] = {
        [PHASE_PROCESS] = "GPU first used", [PHASE_WEIGHTS] = "weights loaded",
        [PHASE_COMPILE] = "compiled",       [PHASE_GRAPHS] = "graphs captured",
        [PHASE_SERVING] = "answering",      [PHASE_READY] = "ready",
        [PHASE_WARMUP] = "warmed up",       [PHASE_REST] = NULL};
    size_t row = 0;
    for (size_t i = 0; notes && i < notes->phase_count; i++) {
        const struct result_phase *p = &notes->phases[i];
        must(p->phase < PHASE_COUNT);
        double t_s = (double)(p->end_ns - s->from_ns) * 1e-9;
        if (!ends[p->phase] || t_s < 0 || t_s > f->seconds)
            continue;
        double x = x_of(f, t_s), y = PLOT_TOP + 14 + 15.0 * (double)row++;
        bool left = x - LETTER * (double)strlen(ends[p->phase]) > LEFT;
        buf_fmt(out, "<path class=\"phase\" d=\"M%.1f %dV%d\"/>\n", x, PLOT_TOP, PLOT_BOTTOM);
        svg_label(out, left ? x - 4 : x + 4, y, left ? "note end" : "note", ends[p->phase]);
    }
}

/* ---- the whole ---- */

static void put_head(struct buf *out, const struct power_series *s, int height)
{
    buf_fmt(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\" "
        "aria-label=\"GPU power over time\">\n<style>\n"
        "text{font-family:system-ui,'Segoe UI','DejaVu Sans',Arial,sans-serif;fill:#343a40}\n"
        ".title{font-size:17px;font-weight:600}.sub{font-size:12px;fill:#6c757d}.mark{font-size:13px;font-weight:700;"
        "fill:#c92a2a}\n.tick{font-size:12px;fill:#6c757d}.stage{font-size:13px;font-weight:600}.note{font-size:11.5px;"
        "fill:#495057}\n.middle{text-anchor:middle}.end{text-anchor:end}\n"
        ".grid{stroke:#adb5bd;stroke-opacity:.35;fill:none}.axis{stroke:#6c757d;fill:none}\n"
        ".boundary{stroke:#868e96;stroke-dasharray:3 "
        "3;fill:none}.phase{stroke:#e8a33d;stroke-opacity:.7;fill:none}.leader{stroke:#ced4da;fill:none}\n"
        ".band{fill-opacity:.3}.power{stroke-width:1.3;fill:none;stroke-linejoin:round}\n</style>\n"
        "<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n",
        WIDTH, height, WIDTH, height, WIDTH, height);
    const char *name = s->name ? s->name : "a run";
    svg_label(out, LEFT - 40, 28, "title", name);
    char text[400];
    snprintf(text, sizeof text, "GPU power, run %s", s->run_id ? s->run_id : "without id");
    svg_label(out, LEFT - 40, 46, "sub", text);
    const char *simulated = svg_simulated(s->gpu_simulated, s->engine_simulated);
    if (simulated)
        svg_label(out, LEFT + COLUMNS, 28, "mark end", simulated);
}

static void put_legend(struct buf *out, const struct power_line *g, size_t i, const char *colour)
{
    double y = PLOT_BOTTOM + 58.0 + 18.0 * (double)i;
    buf_fmt(out, "<rect x=\"%d\" y=\"%.1f\" width=\"14\" height=\"10\" rx=\"2\" fill=\"%s\"/>\n", LEFT, y - 9, colour);
    char text[300];
    snprintf(text, sizeof text, "GPU %zu · %s · %s · %s", i, g->name ? g->name : "", g->uuid ? g->uuid : "",
             g->by_buffer ? "20 ms buffer: mean, lowest and highest" : "1 s instant samples");
    svg_label(out, LEFT + 22, y, "tick", text);
}

void svg_power(const struct power_series *s, const struct svg_notes *notes, struct buf *out)
{
    must(s->column_count == SVG_COLUMNS && s->duration_s > 0 && s->highest_w > 0);
    double step = round_step(s->highest_w, 7);
    const struct power_frame f = {s->duration_s, ceil(s->highest_w / step) * step};
    put_head(out, s, PLOT_BOTTOM + 58 + 18 * (int)s->gpu_count);
    put_bands(out, &f, s->stages);
    put_axes(out, &f);
    put_phases(out, &f, s, notes);
    for (size_t g = 0; g < s->gpu_count; g++) {
        const char *colour = gpu_colours[g % (sizeof gpu_colours / sizeof *gpu_colours)];
        if (was_sampled(&s->gpus[g]))
            put_series(out, &f, s->gpus[g].columns, colour);
        put_legend(out, &s->gpus[g], g, colour);
    }
    put_stage_names(out, &f, s->stages, notes);
    buf_str(out, "</svg>\n");
}
