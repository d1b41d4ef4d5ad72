#include "report/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "base/must.h"
#include "base/num.h"

/* floor(log10(v)) of the decimal digits that %e prints, so that rounding up to the next power of ten is seen. A stored
 * result may hold what overflows once its unit is changed: infinity has no digits, and is printed as it is. */
static int exponent(double v, int digits)
{
    if (!isfinite(v))
        return 0;
    char text[40];
    snprintf(text, sizeof text, "%.*e", digits - 1, v);
    const char *e = strchr(text, 'e');
    int value = 0;
    sscanf(e + 1, "%d", &value);
    return value;
}

int number_places(double uncertainty)
{
    must(uncertainty > 0);
    return 1 - exponent(uncertainty, 2);
}

static void put_in_thousands(struct buf *out, const char *text)
{
    if (*text == '-') {
        buf_byte(out, '-');
        text++;
    }
    size_t whole = strspn(text, "0123456789");
    for (size_t i = 0; i < whole; i++) {
        if (i && whole >= 5 && (whole - i) % 3 == 0)
            buf_byte(out, ' ');
        buf_byte(out, text[i]);
    }
    buf_str(out, text + whole);
}

void number_put(struct buf *out, double value, int places)
{
    char text[400];
    if (places < 0) {
        double unit = pow(10, -places);
        value = round(value / unit) * unit;
        places = 0;
    }
    if (places > 15)
        places = 15;
    snprintf(text, sizeof text, "%.*f", places, value);
    if (text[0] == '-' && strspn(text + 1, "0.") == strlen(text + 1))
        memmove(text, text + 1, strlen(text));
    put_in_thousands(out, text);
}

void number_put_digits(struct buf *out, double value, int digits)
{
    must(digits > 0);
    if (value == 0) {
        buf_byte(out, '0');
        return;
    }
    int places = digits - 1 - exponent(fabs(value), digits);
    number_put(out, value, places < 0 ? 0 : places);
}

void number_put_i64(struct buf *out, int64_t value)
{
    if (value == ABSENT_I64) {
        buf_str(out, "not recorded");
        return;
    }
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)value);
    put_in_thousands(out, text);
}

void number_put_quantity(struct buf *out, const struct quantity *q)
{
    must(q);
    if (!quantity_has_value(q) || isnan(q->value))
        buf_str(out, quantity_state_words(q));
    else if (q->instrument > 0)
        number_put(out, q->value, number_places(q->instrument));
    else
        number_put_digits(out, q->value, NUMBER_DIGITS);
}

void number_put_uncertainty(struct buf *out, double uncertainty)
{
    if (isnan(uncertainty))
        return;
    buf_str(out, "± ");
    if (uncertainty > 0)
        number_put(out, uncertainty, number_places(uncertainty));
    else
        buf_byte(out, '0');
}

static const char *text_and_release(struct arena *a, struct buf *b)
{
    const char *text = arena_copy(a, b->p, b->n);
    buf_done(b);
    return text;
}

const char *number_text(struct arena *a, double value, int digits)
{
    struct buf b = {0};
    if (isnan(value))
        buf_str(&b, "not recorded");
    else
        number_put_digits(&b, value, digits);
    return text_and_release(a, &b);
}

const char *number_text_i64(struct arena *a, int64_t value)
{
    struct buf b = {0};
    number_put_i64(&b, value);
    return text_and_release(a, &b);
}

const char *number_text_quantity(struct arena *a, const struct quantity *q)
{
    struct buf b = {0};
    number_put_quantity(&b, q);
    return text_and_release(a, &b);
}

const char *number_text_uncertainty(struct arena *a, double uncertainty)
{
    struct buf b = {0};
    number_put_uncertainty(&b, uncertainty);
    return text_and_release(a, &b);
}

const char *number_text_instrument(struct arena *a, const struct quantity *q)
{
    const char *value = number_text_quantity(a, q),
               *u = quantity_has_value(q) ? number_text_uncertainty(a, q->instrument) : "";
    return *u ? arena_format(a, "%s %s", value, u) : value;
}
