#include "rules/release.h"

#include <assert.h>
#include <math.h>
#include <string.h>
#include "model/limits.h"
#include "base/must.h"

static double band_w(double baseline_w)
{
    return fmax(baseline_w * METHOD_RECOVERED_SHARE, METHOD_RECOVERED_W);
}

bool release_in_band(double watts, double baseline_w)
{
    return fabs(watts - baseline_w) <= band_w(baseline_w) * (1 + RULE_ROUNDING);
}

void release_init(struct release *r, uint32_t gpus, const double *baseline_w, int64_t period_ns, int64_t hold_ns)
{
    must(gpus > 0 && gpus <= TICK_GPUS_MAX && period_ns > 0);
    *r = (struct release){.recovered_ns = ABSENT_I64,
                          .closed_ns = ABSENT_I64,
                          .row_start_ns = ABSENT_I64,
                          .row_end_ns = ABSENT_I64,
                          .first_row_ns = ABSENT_I64,
                          .count_after_ns = INT64_MAX,
                          .hold_ns = hold_ns};
    tick_init(&r->join, gpus, period_ns);
    for (uint32_t g = 0; g < gpus; g++) {
        r->watts[g] = NAN;
        r->baseline_w[g] = baseline_w[g];
        r->seen_ns[g] = ABSENT_I64;
    }
}

/* Over 2.5 periods since this GPU's last sample: what lies between was not seen. */
static bool after_a_hole(const struct release *r, uint32_t gpu, const struct tick_sample *s)
{
    return r->seen_ns[gpu] != ABSENT_I64 &&
           2 * (s->t_ns - r->seen_ns[gpu]) > (int64_t)(2 * METHOD_GRID_GAP_PERIODS) * r->join.period_ns;
}

static void break_row(struct release *r, int64_t t_ns)
{
    if (r->row_start_ns != ABSENT_I64 && !r->closed && t_ns != ABSENT_I64 && t_ns > r->count_after_ns)
        r->restarts++;
    r->row_start_ns = r->row_end_ns = ABSENT_I64;
}

static void judge_tick(struct release *r, const struct tick *t)
{
    bool hole = false;
    r->out_of_band = r->lacking = 0;
    for (uint32_t g = 0; g < r->join.gpus; g++) {
        uint64_t bit = UINT64_C(1) << g;
        bool present = t->present & bit;
        r->watts[g] = present ? t->sample[g].watts : NAN;
        if (!present) {
            r->lacking |= bit;
            r->out_of_band |= t->failed & bit;
            continue;
        }
        if (!release_in_band(r->watts[g], r->baseline_w[g]))
            r->out_of_band |= bit;
        hole = hole || after_a_hole(r, g, &t->sample[g]);
        r->seen_ns[g] = t->sample[g].t_ns;
    }
    if (r->out_of_band || hole)
        break_row(r, t->last_ns);
    if (!r->out_of_band && !r->lacking) {
        if (r->row_start_ns == ABSENT_I64) {
            r->row_start_ns = t->last_ns;
            r->starts++;
            r->first_row_ns = r->first_row_ns == ABSENT_I64 ? t->last_ns : r->first_row_ns;
        }
        r->row_end_ns = t->last_ns;
    }
    if (r->closed)
        return;
    r->recovered_ns = r->row_start_ns;
    if (!r->out_of_band && !r->lacking && t->first_ns - r->row_start_ns >= r->hold_ns) {
        r->closed = true;
        r->closed_ns = t->last_ns;
    }
}

bool release_feed(struct release *r, uint32_t gpu, const struct tick_sample *s)
{
    assert(gpu < r->join.gpus);
    tick_feed(&r->join, gpu, s);
    for (struct tick t; tick_next(&r->join, &t);)
        judge_tick(r, &t);
    return r->closed;
}

bool release_end(struct release *r)
{
    for (struct tick t; tick_flush(&r->join, &t);)
        judge_tick(r, &t);
    return r->closed;
}

void release_describe(const struct release *r, const char *(*name)(void *self, uint32_t gpu), void *self, struct buf *b)
{
    if (r->closed)
        return;
    if (!r->out_of_band) {
        double held_s = r->row_start_ns == ABSENT_I64 ? 0 : (double)(r->row_end_ns - r->row_start_ns) / 1e9;
        buf_fmt(b, "Power was back in its band for %.1f s of the %.1f s that prove it.", held_s,
                (double)r->hold_ns / 1e9);
        return;
    }
    const char *gap = "";
    for (uint32_t g = 0; g < r->join.gpus; g++) {
        if (!((r->out_of_band | r->lacking) >> g & 1))
            continue;
        double half = band_w(r->baseline_w[g]);
        buf_fmt(b, "%s%s ", gap, name(self, g));
        gap = " ";
        if (isnan(r->baseline_w[g])) {
            buf_str(b, "has no baseline to come back to.");
            continue;
        }
        if (isnan(r->watts[g]))
            buf_str(b, "gave no power sample");
        else
            buf_fmt(b, "draws %.1f W", r->watts[g]);
        buf_fmt(b, "; its band is %.1f to %.1f W (baseline %.1f W).", r->baseline_w[g] - half, r->baseline_w[g] + half,
                r->baseline_w[g]);
    }
}
