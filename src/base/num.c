#include "base/num.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool num_u64(struct span s, uint64_t *ret_value)
{
    if (s.n == 0)
        return false;
    uint64_t value = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9' || __builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, (uint64_t)(s.p[i] - '0'), &value))
            return false;
    }
    *ret_value = value;
    return true;
}

bool num_i64(struct span s, int64_t *ret_value)
{
    bool negative = s.n && s.p[0] == '-';
    if (negative) {
        s.p++;
        s.n--;
    }
    uint64_t magnitude;
    if (!num_u64(s, &magnitude) || magnitude > (uint64_t)INT64_MAX + negative)
        return false;
    *ret_value = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    return true;
}

static size_t digits(struct span s, size_t at)
{
    while (at < s.n && s.p[at] >= '0' && s.p[at] <= '9')
        at++;
    return at;
}

static bool is_decimal(struct span s)
{
    size_t at = s.n && s.p[0] == '-';
    size_t end = digits(s, at);
    if (end == at || (s.p[at] == '0' && end > at + 1))
        return false;
    if (end < s.n && s.p[end] == '.') {
        at = end + 1;
        end = digits(s, at);
        if (end == at)
            return false;
    }
    if (end < s.n && (s.p[end] == 'e' || s.p[end] == 'E')) {
        at = end + 1;
        if (at < s.n && (s.p[at] == '+' || s.p[at] == '-'))
            at++;
        end = digits(s, at);
        if (end == at)
            return false;
    }
    return end == s.n;
}

bool num_f64(struct span s, double *ret_value)
{
    char text[401];
    if (s.n >= sizeof text || !is_decimal(s))
        return false;
    memcpy(text, s.p, s.n);
    text[s.n] = 0;
    /* jtok never calls setlocale, so strtod reads the C locale's decimal point. */
    double value = strtod(text, NULL);
    if (isinf(value))
        return false;
    *ret_value = value;
    return true;
}

void num_put_f64(struct buf *b, double value)
{
    assert(isfinite(value));
    if (value == floor(value) && fabs(value) <= 9007199254740992.0 && !(value == 0 && signbit(value))) {
        buf_i64(b, (int64_t)value);
        return;
    }
    char text[40];
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(text, sizeof text, "%.*g", precision, value);
        if (strtod(text, NULL) == value)
            break;
    }
    buf_str(b, text);
}
