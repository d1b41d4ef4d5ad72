#include "metrics.h"

#include <stdio.h>
#include <string.h>
#include "base/num.h"

void metrics_observe(struct observed *h, int64_t ns)
{
    h->sum_s += (double)ns / 1e9;
    h->count++;
}

void metrics_put_float(struct buf *b, double value)
{
    struct buf text = {0};
    num_put_f64(&text, value);
    const char *digits = buf_text(&text);
    size_t whole = strcspn(digits, ".");
    if (strchr(digits, 'e') || (whole <= 6 && strchr(digits, '.'))) {
        buf_str(b, digits);
    } else if (whole <= 6) {
        buf_fmt(b, "%s.0", digits);
    } else {
        /* 1021227 -> 1.021227e+06, trailing zeros away */
        char mantissa[64];
        int n = snprintf(mantissa, sizeof mantissa, "%c.%.*s%s", digits[0], (int)whole - 1, digits + 1,
                         digits[whole] ? digits + whole + 1 : "");
        while (n > 1 && (mantissa[n - 1] == '0' || mantissa[n - 1] == '.'))
            n--;
        buf_fmt(b, "%.*se+%02zu", n, mantissa, whole - 1);
    }
    buf_done(&text);
}
