#include "analysis/order.h"

#include "base/sort.h"
#include "base/must.h"

static bool before_double(const void *x, const void *y)
{
    return *(const double *)x < *(const double *)y;
}

void order_sort_doubles(double *x, size_t n)
{
    sort_stable(x, n, sizeof *x, before_double);
}

static bool before_time(const void *x, const void *y)
{
    return *(const int64_t *)x < *(const int64_t *)y;
}

void order_sort_times(int64_t *t_ns, size_t n)
{
    sort_stable(t_ns, n, sizeof *t_ns, before_time);
}

double order_quantile(const double *sorted, size_t n, double q)
{
    must(n > 0 && q >= 0 && q <= 1);
    double at = (double)(n - 1) * q;
    size_t i = (size_t)at;
    if (i + 1 >= n)
        return sorted[n - 1];
    return sorted[i] + (at - (double)i) * (sorted[i + 1] - sorted[i]);
}

struct percentiles order_percentiles(double *x, size_t n, const char *why)
{
    must(n == 0 || x);
    struct percentiles p = {.n = (int64_t)n};
    if (n == 0) {
        p.mean = p.p50 = p.p90 = p.p95 = p.p99 = p.max = quantity_absent(Q_UNDEFINED, why);
        return p;
    }
    order_sort_doubles(x, n);
    struct sum sum = {0};
    for (size_t i = 0; i < n; i++)
        sum_add(&sum, x[i]);
    p.mean = quantity_of(sum_value(&sum) / (double)n);
    p.p50 = quantity_of(order_quantile(x, n, 0.50));
    p.p90 = quantity_of(order_quantile(x, n, 0.90));
    p.p95 = quantity_of(order_quantile(x, n, 0.95));
    p.p99 = quantity_of(order_quantile(x, n, 0.99));
    p.max = quantity_of(x[n - 1]);
    return p;
}
