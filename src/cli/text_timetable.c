#include "cli/texts.h"

#include <math.h>
#include <stdio.h>
#include "analysis/points.h"
#include "base/must.h"
#include "model/limits.h"

struct timetable {
    struct buf *out;
    double sum_s;
    bool open; /* something in it lasts as long as the engine takes */
};

/* "5 s", "12.5 s", "2 min 05 s", "1 h 02 min". */
static void put_time(struct buf *out, double s)
{
    char text[48];
    long whole = lround(s);
    if (s < 120)
        snprintf(text, sizeof text, "%.3g s", s);
    else if (whole < 3600)
        snprintf(text, sizeof text, "%ld min %02ld s", whole / 60, whole % 60);
    else
        snprintf(text, sizeof text, "%ld h %02ld min", whole / 3600, whole / 60 % 60);
    buf_fmt(out, "# %12s", text);
}

/* NaN: as long as the engine takes. */
static void put_moment(struct timetable *t, double s, const char *what)
{
    t->open |= isnan(s);
    t->sum_s += isnan(s) ? 0 : s;
    if (isnan(s))
        buf_fmt(t->out, "# %12s", "?");
    else
        put_time(t->out, s);
    buf_fmt(t->out, "  %s\n", what);
}

void text_timetable(const struct plan *p, const double *load_s, struct arena *a, struct buf *out)
{
    must(p->load_count > 0 && load_s);
    struct timetable t = {.out = out};
    bool life = plan_object(p) == OBJECT_LIFE;
    buf_str(out, "\n# How long it takes; ? is as long as the engine takes:\n");
    put_moment(&t, life ? p->method.baseline_s : p->attach.look_s, life ? "baseline" : "look at the idle power");
    if (life)
        put_moment(&t, (double)NAN, "start and warm-up of the engine");
    for (size_t i = 0; i < p->load_count; i++) {
        put_moment(&t, (double)(i ? METHOD_SILENCE_LOADS_NS : METHOD_SILENCE_FIRST_NS) / 1e9, "silence");
        put_moment(&t, load_s[i], arena_format(a, "load %zu: %s", i, point_setting(&p->loads[i], a)));
    }
    if (life) {
        put_moment(&t, (double)NAN, "stop of the engine, and release");
        put_moment(&t, p->method.hold_s, "hold");
    }
    put_time(out, t.sum_s);
    buf_fmt(out, "  in all%s, and the answers that a load's end still waits for\n", t.open ? ", without each ?" : "");
}
