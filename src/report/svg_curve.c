#include "report/svg_curve.h"

#include <math.h>
#include <stdio.h>
#include "base/must.h"
#include "report/number.h"
#include "report/svg_text.h"
#include "report/words.h"

/* Lengths in pixels of the picture. */
enum {
    LEFT = 96,
    TOP = 74,
    PLOT_WIDTH = 760,
    PLOT_HEIGHT = 430,
    RIGHT = LEFT + PLOT_WIDTH,
    BOTTOM = TOP + PLOT_HEIGHT,
    WIDTH = RIGHT + 150,
    HEIGHT = BOTTOM + 92,
};

/* ---- points ---- */

static double x_value(const struct result_point *p)
{
    return 1000 * quantity_value(&p->times.tpot_s.p50);
}

static double y_value(const struct result_point *p)
{
    return quantity_value(&p->j_per_token);
}

static bool is_drawn(const struct result_point *p)
{
    return x_value(p) > 0 && y_value(p) > 0 && isfinite(x_value(p)) && isfinite(y_value(p));
}

static bool is_on_curve(const struct result_point *p)
{
    return is_drawn(p) && p->j_per_token.state == Q_MEASURED;
}

bool svg_curve_has_points(const struct result *r)
{
    for (size_t i = 0; i < r->loads.point_count; i++)
        if (is_drawn(&r->loads.points[i]))
            return true;
    return false;
}

bool svg_curve_is_pareto(const struct result *r, size_t point)
{
    must(point < r->loads.point_count);
    const struct result_point *own = &r->loads.points[point];
    bool best = is_on_curve(own);
    for (size_t i = 0; best && i < r->loads.point_count; i++) {
        const struct result_point *p = &r->loads.points[i];
        best = !(is_on_curve(p) && x_value(p) <= x_value(own) && y_value(p) <= y_value(own) &&
                 (x_value(p) < x_value(own) || y_value(p) < y_value(own)));
    }
    return best;
}

/* ---- axes ---- */

/* Decimal logarithm by plain arithmetic: the same bytes everywhere, whatever the C library and the processor. ln x is
 * 2 artanh((x - 1) / (x + 1)), for x between 1 and 10. */
static double decade(double value)
{
    enum { TERMS = 120 };
    static const double LN_10 = 2.302585092994045684;
    if (!(value > 0) || isinf(value))
        return value > 0 ? (double)INFINITY : value == 0 ? -(double)INFINITY : (double)NAN;
    double whole = 0;
    for (; value >= 10; value /= 10)
        whole++;
    for (; value < 1; value *= 10)
        whole--;
    double x = (value - 1) / (value + 1), power = x, sum = 0;
    for (int i = 0; i < TERMS; i++, power *= x * x)
        sum += power / (2 * i + 1);
    return whole + 2 * sum / LN_10;
}

/* Logarithms of what stands at the ends. */
struct axis {
    double low, high;
};

static void widen_axis(struct axis *x, double value)
{
    x->low = !(decade(value) >= x->low) ? decade(value) : x->low;
    x->high = !(decade(value) <= x->high) ? decade(value) : x->high;
}

/* Some room at both ends. */
static struct axis axis_of(const struct result *r, double (*value)(const struct result_point *))
{
    struct axis x = {(double)NAN, (double)NAN};
    for (size_t i = 0; i < r->loads.point_count; i++)
        if (is_drawn(&r->loads.points[i]))
            widen_axis(&x, value(&r->loads.points[i]));
    double room = fmax(0.08 * (x.high - x.low), 0.1);
    return (struct axis){x.low - room, x.high + room};
}

static double along(const struct axis *x, double value)
{
    return fmin(fmax((decade(value) - x->low) / (x->high - x->low), 0), 1);
}

struct curve_frame {
    struct axis x, y;
};

static double x_of_ms(const struct curve_frame *f, double ms)
{
    return LEFT + PLOT_WIDTH * along(&f->x, ms);
}

static double y_of_j(const struct curve_frame *f, double j)
{
    return BOTTOM - PLOT_HEIGHT * along(&f->y, j);
}

/* A line and a number at 1, 2 and 5 of each power of ten on the axis. */
static void put_ticks(struct buf *out, const struct axis *axis, bool vertical)
{
    static const double steps[] = {1, 2, 5};
    for (int power = (int)floor(axis->low); power <= (int)ceil(axis->high); power++)
        for (size_t i = 0; i < 3; i++) {
            double value = steps[i] * pow(10, power);
            if (decade(value) < axis->low || decade(value) > axis->high)
                continue;
            char text[40];
            snprintf(text, sizeof text, "%.*f", power < 0 ? -power : 0, value);
            double at = vertical ? BOTTOM - PLOT_HEIGHT * along(axis, value) : LEFT + PLOT_WIDTH * along(axis, value);
            if (vertical) {
                buf_fmt(out, "<path class=\"grid\" d=\"M%d %.1fH%d\"/>\n", LEFT, at, RIGHT);
                svg_label(out, LEFT - 8, at + 4, "tick end", text);
            } else {
                buf_fmt(out, "<path class=\"grid\" d=\"M%.1f %dV%d\"/>\n", at, TOP, BOTTOM);
                svg_label(out, at, BOTTOM + 18, "tick middle", text);
            }
        }
}

static void put_curve_axes(struct buf *out, const struct curve_frame *f)
{
    put_ticks(out, &f->x, false);
    put_ticks(out, &f->y, true);
    buf_fmt(out, "<path class=\"axis\" d=\"M%d %dV%dH%d\"/>\n", LEFT, TOP, BOTTOM, RIGHT);
    svg_label(out, RIGHT, BOTTOM + 38, "tick end", "median time per output token (TPOT), ms");
    svg_label(out, LEFT - 80, TOP - 10, "tick", "J per output token");
}

/* ---- what is drawn ---- */

static void put_curve_head(struct buf *out, const struct result *r)
{
    buf_fmt(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\" "
            "aria-label=\"Energy per output token over time per output token\">\n<style>\n"
            "text{font-family:system-ui,'Segoe UI','DejaVu Sans',Arial,sans-serif;fill:#343a40}\n"
            ".title{font-size:17px;font-weight:600}.sub{font-size:12px;fill:#6c757d}.mark{font-size:13px;"
            "font-weight:700;fill:#c92a2a}\n.tick{font-size:12px;fill:#6c757d}.point{font-size:12px}\n"
            ".middle{text-anchor:middle}.end{text-anchor:end}\n"
            ".grid{stroke:#adb5bd;stroke-opacity:.35;fill:none}.axis{stroke:#6c757d;fill:none}\n"
            ".front{stroke:#0b6bcb;stroke-width:1.6;fill:none}.bar{stroke:#0b6bcb;fill:none}\n"
            ".best{fill:#0b6bcb;stroke:#0b6bcb}.other{fill:#ffffff;stroke:#0b6bcb;stroke-width:1.6}\n"
            ".out{fill:none;stroke:#868e96;stroke-width:1.6}\n</style>\n"
            "<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n",
            WIDTH, HEIGHT, WIDTH, HEIGHT, WIDTH, HEIGHT);
    struct arena a = {0};
    svg_label(out, LEFT - 80, 26, "title", r->about.name ? r->about.name : "a run");
    svg_label(out, LEFT - 80, 44, "sub",
              arena_format(&a, "Energy against load, %s, run %s", run_standing_names[result_standing(r)],
                           r->about.run_id ? r->about.run_id : "without id"));
    if (r->about.simulated)
        svg_label(out, WIDTH - 20, 26, "mark end", "SIMULATED");
    arena_done(&a);
}

/* The Pareto front from left to right: each next one is slower and more frugal. */
static void put_front(struct buf *out, const struct result *r, const struct curve_frame *f)
{
    double last = 0;
    char verb = 'M';
    buf_str(out, "<path class=\"front\" d=\"");
    for (;;) {
        const struct result_point *next = NULL;
        for (size_t i = 0; i < r->loads.point_count; i++) {
            const struct result_point *p = &r->loads.points[i];
            if (svg_curve_is_pareto(r, i) && x_value(p) > last && (!next || x_value(p) < x_value(next)))
                next = p;
        }
        if (!next)
            break;
        buf_fmt(out, "%c%.1f %.1f", verb, x_of_ms(f, x_value(next)), y_of_j(f, y_value(next)));
        verb = 'L';
        last = x_value(next);
    }
    buf_str(out, "\"/>\n");
}

static void put_point(struct buf *out, const struct result *r, size_t i, const struct curve_frame *f)
{
    const struct result_point *p = &r->loads.points[i];
    double x = x_of_ms(f, x_value(p)), y = y_of_j(f, y_value(p)), doubt = p->j_per_token.instrument;
    if (doubt > 0 && doubt < y_value(p))
        buf_fmt(out, "<path class=\"bar\" d=\"M%.1f %.1fV%.1f\"/>\n", x, y_of_j(f, y_value(p) - doubt),
                y_of_j(f, y_value(p) + doubt));
    if (!is_on_curve(p))
        buf_fmt(out, "<path class=\"out\" d=\"M%.1f %.1fl8 8m0 -8l-8 8\"/>\n", x - 4, y - 4);
    else
        buf_fmt(out, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\"/>\n",
                svg_curve_is_pareto(r, i) ? "best" : "other", x, y);
    struct arena a = {0};
    bool left = x > LEFT + 0.7 * PLOT_WIDTH; /* where it would not fit to the right */
    svg_label(out, left ? x - 9 : x + 9, y - 7, left ? "point end" : "point",
              p->setting ? words_load(p->setting, &a) : "a load");
    arena_done(&a);
}

static void put_curve_legend(struct buf *out, const struct result *r)
{
    size_t drawn = 0;
    struct arena a = {0};
    for (size_t i = 0; i < r->loads.point_count; i++)
        drawn += is_drawn(&r->loads.points[i]);
    svg_label(out, LEFT - 80, BOTTOM + 62, "tick",
              "Filled, joined: no other load is as fast and as frugal (Pareto). Hollow: another one is. Crossed out: "
              "excluded. Bars: the instrument's ±.");
    const struct result_loads *l = &r->loads;
    const char *idle =
        l->silence_count && quantity_has_value(&l->silences[0].average_w)
            ? arena_format(&a, "Without a request: %s W. ", number_text_instrument(&a, &l->silences[0].average_w))
            : "";
    const char *rest = drawn < l->point_count ? arena_format(&a, "%zu of %zu loads have no J/token or no TPOT.",
                                                             l->point_count - drawn, l->point_count)
                                              : "";
    svg_label(out, LEFT - 80, BOTTOM + 80, "tick", arena_format(&a, "%s%s", idle, rest));
    arena_done(&a);
}

void svg_curve(const struct result *r, struct buf *out)
{
    must(svg_curve_has_points(r));
    const struct curve_frame f = {axis_of(r, x_value), axis_of(r, y_value)};
    put_curve_head(out, r);
    put_curve_axes(out, &f);
    put_front(out, r, &f);
    for (size_t i = 0; i < r->loads.point_count; i++)
        if (is_drawn(&r->loads.points[i]))
            put_point(out, r, i, &f);
    put_curve_legend(out, r);
    buf_str(out, "</svg>\n");
}
