#include "report/svg.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/columns.h"
#include "base/utf8.h"
#include "report/table.h"

/* Lengths in pixels of the picture. */
enum {
    WIDTH = 1200,
    LEFT = 64,
    RIGHT = 24,
    PLOT_TOP = 118,
    PLOT_HEIGHT = 300,
    PLOT_BOTTOM = PLOT_TOP + PLOT_HEIGHT,
    COLUMNS = WIDTH - LEFT - RIGHT,
    LETTER = 7,
};

static const char *const gpu_colours[] = {"#0b6bcb", "#d9480f", "#2b8a3e", "#9c36b5",
                                          "#c2255c", "#1098ad", "#866118", "#495057"};
static const struct {
    const char *name, *fill;
} stage_looks[SVG_STAGES] = {{"baseline", "#f1f3f5"},
                             {"startup", "#fff4e0"},
                             {"formal", "#e3f4e8"},
                             {"release", "#fde8e8"},
                             {"hold", "#f1f3f5"}};

struct frame {
    int64_t from_ns, to_ns;
    double watts; /* at the top */
};

static double x_of(const struct frame *f, int64_t t_ns)
{
    return LEFT + (double)(t_ns - f->from_ns) / (double)(f->to_ns - f->from_ns) * COLUMNS;
}

static double y_of(const struct frame *f, double watts)
{
    return PLOT_BOTTOM - watts / f->watts * PLOT_HEIGHT;
}

static void put_escaped(struct buf *out, const char *text)
{
    struct buf shown = {0};
    utf8_show(&shown, span_of(text), false);
    for (size_t i = 0; i < shown.n; i++) {
        char c = shown.p[i];
        if (c == '&')
            buf_str(out, "&amp;");
        else if (c == '<')
            buf_str(out, "&lt;");
        else if (c == '>')
            buf_str(out, "&gt;");
        else if (c == '"')
            buf_str(out, "&quot;");
        else
            buf_byte(out, c);
    }
    buf_done(&shown);
}

static void put_label(struct buf *out, double x, double y, const char *class, const char *text)
{
    buf_fmt(out, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, class);
    put_escaped(out, text);
    buf_str(out, "</text>\n");
}

/* ---- the samples of one GPU ---- */

struct sample {
    int64_t t_ns;
    double watts;
};

/* Buffer stamps on the run's clock, by the clock pair that is nearest in time (METHOD section 1); records without pairs
 * have one clock. */
static size_t buffer_samples(const struct records *r, const struct rec_gpu *g, struct sample *ret_samples)
{
    size_t n = 0, pair = 0;
    for (size_t i = 0; i < g->buffer_count; i++) {
        int64_t real_ns = g->buffer[i].realtime_us * 1000;
        while (pair + 1 < r->clock_count && llabs(real_ns - r->clocks[pair + 1].offset_ns - r->clocks[pair + 1].t_ns) <=
                                                llabs(real_ns - r->clocks[pair].offset_ns - r->clocks[pair].t_ns))
            pair++;
        if (g->buffer[i].mw >= 0)
            ret_samples[n++] =
                (struct sample){real_ns - (r->clock_count ? r->clocks[pair].offset_ns : 0), g->buffer[i].mw / 1000.0};
    }
    return n;
}

struct series {
    struct sample *samples;
    size_t count;
    bool buffer; /* else the instant samples */
};

static struct series gpu_series(const struct records *r, const struct rec_gpu *g, struct arena *a)
{
    struct series s = {.buffer = g->buffer_count > 0};
    s.samples = arena_array(a, s.buffer ? g->buffer_count : g->instant_count, sizeof *s.samples);
    if (s.buffer)
        s.count = buffer_samples(r, g, s.samples);
    else
        for (size_t i = 0; i < g->instant_count; i++)
            if (g->instant[i].mw >= 0)
                s.samples[s.count++] = (struct sample){g->instant[i].t_ns, g->instant[i].mw / 1000.0};
    return s;
}

/* What one pixel column of a GPU's series shows. */
struct pixel {
    double low, high, sum;
    size_t n;
};

static void fill_pixels(const struct frame *f, const struct sample *s, size_t n, struct pixel *pixels)
{
    for (size_t i = 0; i < n; i++) {
        if (s[i].t_ns < f->from_ns || s[i].t_ns > f->to_ns)
            continue;
        struct pixel *p = &pixels[(size_t)(x_of(f, s[i].t_ns) - LEFT)];
        p->low = p->n ? fmin(p->low, s[i].watts) : s[i].watts;
        p->high = p->n ? fmax(p->high, s[i].watts) : s[i].watts;
        p->sum += s[i].watts;
        p->n++;
    }
}

/* The band from lowest to highest sample of each column (along the tops, back along the bottoms), and the means as a
 * line. */
static void put_series(struct buf *out, const struct frame *f, const struct sample *s, size_t n, const char *colour)
{
    struct pixel pixels[COLUMNS + 1] = {0};
    fill_pixels(f, s, n, pixels);
    buf_fmt(out, "<path class=\"band\" fill=\"%s\" d=\"", colour);
    char verb = 'M';
    for (size_t c = 0; c <= COLUMNS; c++)
        if (pixels[c].n) {
            buf_fmt(out, "%c%zu %.1f", verb, LEFT + c, y_of(f, pixels[c].high));
            verb = 'L';
        }
    for (size_t c = COLUMNS + 1; c-- > 0;)
        if (pixels[c].n)
            buf_fmt(out, "L%zu %.1f", LEFT + c, y_of(f, pixels[c].low));
    buf_fmt(out, "Z\"/>\n<path class=\"power\" stroke=\"%s\" d=\"", colour);
    verb = 'M';
    for (size_t c = 0; c <= COLUMNS; c++)
        if (pixels[c].n) {
            buf_fmt(out, "%c%zu %.1f", verb, LEFT + c, y_of(f, pixels[c].sum / (double)pixels[c].n));
            verb = 'L';
        }
    buf_str(out, "\"/>\n");
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

static void put_axes(struct buf *out, const struct frame *f)
{
    double step = round_step(f->watts, 7);
    for (double w = 0; w <= f->watts; w += step) {
        buf_fmt(out, "<path class=\"grid\" d=\"M%d %.1fH%d\"/>\n", LEFT, y_of(f, w), LEFT + COLUMNS);
        char text[32];
        snprintf(text, sizeof text, "%.0f", w);
        put_label(out, LEFT - 8, y_of(f, w) + 4, "tick end", text);
    }
    put_label(out, LEFT - 8, PLOT_TOP - 8, "tick end", "W");
    double seconds = (double)(f->to_ns - f->from_ns) / 1e9;
    step = round_step(seconds, 14);
    for (double s = 0; s <= seconds; s += step) {
        double x = LEFT + s / seconds * COLUMNS;
        buf_fmt(out, "<path class=\"axis\" d=\"M%.1f %dv5\"/>\n", x, PLOT_BOTTOM);
        char text[32];
        snprintf(text, sizeof text, "%.0f", s);
        put_label(out, x, PLOT_BOTTOM + 19, "tick middle", text);
    }
    put_label(out, LEFT + COLUMNS, PLOT_BOTTOM + 36, "tick end", "seconds since the baseline began");
    buf_fmt(out, "<path class=\"axis\" d=\"M%d %dH%d\"/>\n", LEFT, PLOT_BOTTOM, LEFT + COLUMNS);
}

/* ---- stages ---- */

struct band {
    int64_t from_ns, to_ns; /* ABSENT_I64: the stage did not happen, or did not end */
};

static void stage_bands(const struct records *r, int64_t end_ns, struct band *ret_bands)
{
    static const int ids[SVG_STAGES][2] = {{BOUNDARY_BASELINE_START, BOUNDARY_BASELINE_END},
                                           {BOUNDARY_SERVICE_START, BOUNDARY_FORMAL_START},
                                           {BOUNDARY_FORMAL_START, BOUNDARY_FORMAL_END},
                                           {BOUNDARY_FORMAL_END, BOUNDARY_RELEASE_END},
                                           {BOUNDARY_RELEASE_END, BOUNDARY_HOLD_END}};
    for (size_t i = 0; i < SVG_STAGES; i++) {
        ret_bands[i] = (struct band){records_boundary(r, ids[i][0]), records_boundary(r, ids[i][1])};
        /* A stage that was begun and not ended reaches to the end of the records. */
        if (ret_bands[i].from_ns != ABSENT_I64 && ret_bands[i].to_ns == ABSENT_I64)
            ret_bands[i].to_ns = end_ns;
    }
}

static void put_bands(struct buf *out, const struct frame *f, const struct band *bands)
{
    for (size_t i = 0; i < SVG_STAGES; i++) {
        if (bands[i].from_ns == ABSENT_I64)
            continue;
        double x = x_of(f, bands[i].from_ns);
        buf_fmt(out, "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n", x, PLOT_TOP,
                x_of(f, bands[i].to_ns) - x, PLOT_HEIGHT, stage_looks[i].fill);
    }
}

/* Names above the bands, with a line at each boundary. A name that doesn't fit beside the one before it goes up a row.
 */
static void put_stage_names(struct buf *out, const struct frame *f, const struct band *bands,
                            const struct svg_notes *notes)
{
    double free_x[2] = {0, 0};
    for (size_t i = 0; i < SVG_STAGES; i++) {
        if (bands[i].from_ns == ABSENT_I64)
            continue;
        const char *note = notes && notes->stage[i] ? notes->stage[i] : "";
        size_t letters = strlen(stage_looks[i].name);
        if (columns_text(note) > letters)
            letters = columns_text(note);
        double from = x_of(f, bands[i].from_ns), to = x_of(f, bands[i].to_ns);
        double x = (from + to) / 2, half = (double)letters * LETTER / 2;
        x = fmin(x, LEFT + COLUMNS - half);
        size_t row = x - half < free_x[0] ? 1 : 0;
        free_x[row] = x + half + LETTER;
        double y = PLOT_TOP - 22 - 34.0 * (double)row;
        put_label(out, x, y, "stage middle", stage_looks[i].name);
        put_label(out, x, y + 14, "note middle", note);
        if (row)
            buf_fmt(out, "<path class=\"leader\" d=\"M%.1f %.1fV%d\"/>\n", x, y + 18, PLOT_TOP);
        buf_fmt(out, "<path class=\"boundary\" d=\"M%.1f %dV%d\"/>\n", from, PLOT_TOP, PLOT_BOTTOM);
    }
}

/* ---- the whole ---- */

static void put_head(struct buf *out, const struct records *r, int height)
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
        ".boundary{stroke:#868e96;stroke-dasharray:3 3;fill:none}.leader{stroke:#ced4da;fill:none}\n"
        ".band{fill-opacity:.3}.power{stroke-width:1.3;fill:none;stroke-linejoin:round}\n</style>\n"
        "<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n",
        WIDTH, height, WIDTH, height, WIDTH, height);
    const char *name = r->plan.name ? r->plan.name : r->plan.model.id ? r->plan.model.id : "a run";
    put_label(out, LEFT - 40, 28, "title", name);
    char text[400];
    snprintf(text, sizeof text, "GPU power, run %s", r->run.id ? r->run.id : "without id");
    put_label(out, LEFT - 40, 46, "sub", text);
    bool gpu = r->run.gpu_simulated, engine = r->run.engine_simulated || r->plan.engine.simulated;
    if (gpu || engine)
        put_label(out, LEFT + COLUMNS, 28, "mark end",
                  gpu && engine ? "SIMULATED GPU AND ENGINE"
                  : gpu         ? "SIMULATED GPU"
                                : "SIMULATED ENGINE");
}

static void put_legend(struct buf *out, const struct rec_gpu *g, size_t i, bool buffer, const char *colour)
{
    double y = PLOT_BOTTOM + 58.0 + 18.0 * (double)i;
    buf_fmt(out, "<rect x=\"%d\" y=\"%.1f\" width=\"14\" height=\"10\" rx=\"2\" fill=\"%s\"/>\n", LEFT, y - 9, colour);
    char text[300];
    snprintf(text, sizeof text, "GPU %zu · %s · %s · %s", i, g->name ? g->name : "", g->uuid ? g->uuid : "",
             buffer ? "20 ms buffer: mean, lowest and highest" : "1 s instant samples");
    put_label(out, LEFT + 22, y, "tick", text);
}

/* From the baseline (else the first sample) to the end of the hold (else the last sample), and up to a round power. */
static bool frame_of(const struct records *r, const struct series *all, struct frame *ret)
{
    struct frame f = {records_boundary(r, BOUNDARY_BASELINE_START), INT64_MIN, 0};
    int64_t first_ns = INT64_MAX, hold_end_ns = records_boundary(r, BOUNDARY_HOLD_END);
    for (size_t g = 0; g < r->gpu_count; g++)
        for (size_t i = 0; i < all[g].count; i++) {
            const struct sample *s = &all[g].samples[i];
            first_ns = s->t_ns < first_ns ? s->t_ns : first_ns;
            f.to_ns = s->t_ns > f.to_ns ? s->t_ns : f.to_ns;
            f.watts = fmax(f.watts, s->watts);
        }
    if (f.from_ns == ABSENT_I64)
        f.from_ns = first_ns;
    if (f.to_ns <= f.from_ns || f.watts <= 0)
        return false;
    if (hold_end_ns > f.from_ns && hold_end_ns < f.to_ns)
        f.to_ns = hold_end_ns;
    double step = round_step(f.watts, 7);
    f.watts = ceil(f.watts / step) * step;
    *ret = f;
    return true;
}

bool svg_power(const struct records *r, const struct svg_notes *notes, struct arena *a, struct buf *out, struct err *e)
{
    struct series *all = arena_array(a, r->gpu_count, sizeof *all);
    for (size_t g = 0; g < r->gpu_count; g++)
        all[g] = gpu_series(r, &r->gpus[g], a);
    struct frame f;
    if (!frame_of(r, all, &f))
        return err_set(e, ERR_RECORDS, "%s: no power was recorded, so there is nothing to draw.",
                       r->run.id ? r->run.id : "the run");
    struct band bands[SVG_STAGES];
    stage_bands(r, f.to_ns, bands);
    put_head(out, r, PLOT_BOTTOM + 58 + 18 * (int)r->gpu_count);
    put_bands(out, &f, bands);
    put_axes(out, &f);
    for (size_t g = 0; g < r->gpu_count; g++) {
        const char *colour = gpu_colours[g % (sizeof gpu_colours / sizeof *gpu_colours)];
        if (all[g].count)
            put_series(out, &f, all[g].samples, all[g].count, colour);
        put_legend(out, &r->gpus[g], g, all[g].buffer, colour);
    }
    put_stage_names(out, &f, bands, notes);
    buf_str(out, "</svg>\n");
    return true;
}
