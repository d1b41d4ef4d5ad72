#include "analysis/order.h"

#include <stdlib.h>
#include <string.h>

enum { RUN = 12 };

static void insertion(char *p, size_t n, size_t size, order_compare *compare, const void *context, char *hold)
{
    for (size_t i = 1; i < n; i++) {
        size_t j = i;
        while (j > 0 && compare(p + (j - 1) * size, p + i * size, context) > 0)
            j--;
        if (j == i)
            continue;
        memcpy(hold, p + i * size, size);
        memmove(p + (j + 1) * size, p + j * size, (i - j) * size);
        memcpy(p + j * size, hold, size);
    }
}

static void merge(const char *x, size_t nx, const char *y, size_t ny, char *to, size_t size, order_compare *compare,
                  const void *context)
{
    while (nx && ny) {
        if (compare(x, y, context) <= 0) {
            memcpy(to, x, size);
            x += size;
            nx--;
        } else {
            memcpy(to, y, size);
            y += size;
            ny--;
        }
        to += size;
    }
    memcpy(to, nx ? x : y, (nx ? nx : ny) * size);
}

void order_sort(void *base, size_t n, size_t size, order_compare *compare, const void *context)
{
    if (n < 2)
        return;
    char *scratch = mem_zero(n, size), *from = base, *to = scratch;
    for (size_t i = 0; i < n; i += RUN)
        insertion(from + i * size, n - i < RUN ? n - i : RUN, size, compare, context, scratch);
    for (size_t width = RUN; width < n; width *= 2) {
        for (size_t i = 0; i < n; i += 2 * width) {
            size_t nx = n - i < width ? n - i : width, rest = n - i - nx, ny = rest < width ? rest : width;
            merge(from + i * size, nx, from + (i + nx) * size, ny, to + i * size, size, compare, context);
        }
        char *swap = from;
        from = to;
        to = swap;
    }
    if (from != base)
        memcpy(base, from, n * size);
    free(scratch);
}

static int compare_doubles(const void *x, const void *y, const void *context)
{
    (void)context;
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

void order_sort_doubles(double *x, size_t n)
{
    order_sort(x, n, sizeof *x, compare_doubles, NULL);
}

double order_quantile(const double *sorted, size_t n, double q)
{
    double at = (double)(n - 1) * q;
    size_t i = (size_t)at;
    if (i + 1 >= n)
        return sorted[n - 1];
    return sorted[i] + (at - (double)i) * (sorted[i + 1] - sorted[i]);
}

struct percentiles order_percentiles(double *x, size_t n, const char *why)
{
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
