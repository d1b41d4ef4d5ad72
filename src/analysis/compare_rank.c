#include "analysis/compare_rank.h"

#include <math.h>
#include <string.h>
#include "analysis/order.h"

const char *const size_group_names[] = {"unknown", "up to 50e9", "above 50e9, below 200e9", "from 200e9", NULL};

enum size_group size_group_of(double total_parameters)
{
    if (isnan(total_parameters))
        return GROUP_UNKNOWN;
    return total_parameters <= 50e9 ? GROUP_SMALL : total_parameters < 200e9 ? GROUP_MEDIUM : GROUP_LARGE;
}

static double *sorted_copy(const double *values, size_t n, struct arena *a)
{
    double *copy = arena_array(a, n, sizeof *copy);
    if (n)
        memcpy(copy, values, n * sizeof *copy);
    order_sort_doubles(copy, n);
    return copy;
}

double rank_median(const double *values, size_t n, struct arena *a)
{
    return n ? order_quantile(sorted_copy(values, n, a), n, 0.5) : __builtin_nan("");
}

/* Number of sorted values below `x`, or up to and with it. */
static size_t place(const double *sorted, size_t n, double x, bool with)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sorted[middle] < x || (with && sorted[middle] == x))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void rank_average(const double *values, size_t n, struct arena *a, double *ret_ranks)
{
    const double *sorted = sorted_copy(values, n, a);
    for (size_t i = 0; i < n; i++) {
        size_t below = place(sorted, n, values[i], false), upto = place(sorted, n, values[i], true);
        ret_ranks[i] = (double)(below + 1 + upto) / 2;
    }
}

double rank_spearman(const double *x, const double *y, size_t n, struct arena *a)
{
    double *rx = arena_array(a, n, sizeof *rx), *ry = arena_array(a, n, sizeof *ry);
    rank_average(x, n, a, rx);
    rank_average(y, n, a, ry);
    /* Average ranks are multiples of a half and their mean is (n + 1) / 2: the sums are exact. */
    double mean = (double)(n + 1) / 2, xx = 0, yy = 0, xy = 0;
    for (size_t i = 0; i < n; i++) {
        xx += (rx[i] - mean) * (rx[i] - mean);
        yy += (ry[i] - mean) * (ry[i] - mean);
        xy += (rx[i] - mean) * (ry[i] - mean);
    }
    return n < 2 || xx == 0 || yy == 0 ? __builtin_nan("") : xy / sqrt(xx * yy);
}

static bool usable(const struct quantity *q)
{
    return q->state == Q_MEASURED && !isnan(q->value);
}

static const char *drop_reason(const struct ranking_entry *m, struct arena *a)
{
    const struct quantity *q = usable(&m->steady) ? &m->lifecycle : &m->steady;
    return arena_format(a, "%s: no %s value%s%s", m->model, q == &m->steady ? "steady-state" : "full-lifecycle",
                        q->why ? ", " : "", q->why ? q->why : "");
}

void rank_models(const struct ranking_entry *entries, size_t n, struct arena *a, struct ranking *ret)
{
    struct ranking k = {.dropped = arena_array(a, n, sizeof *k.dropped)};
    double *steady = arena_array(a, n, sizeof *steady), *lifecycle = arena_array(a, n, sizeof *lifecycle);
    for (size_t i = 0; i < n; i++) {
        if (!usable(&entries[i].steady) || !usable(&entries[i].lifecycle)) {
            k.dropped[k.dropped_count++] = drop_reason(&entries[i], a);
            continue;
        }
        steady[k.n] = entries[i].steady.value;
        lifecycle[k.n++] = entries[i].lifecycle.value;
    }
    k.median_steady = rank_median(steady, k.n, a);
    k.median_lifecycle = rank_median(lifecycle, k.n, a);
    k.ratio = k.median_lifecycle / k.median_steady;
    k.rho = rank_spearman(steady, lifecycle, k.n, a);
    *ret = k;
}
