#include "base/quantity.h"

#include <math.h>
#include "base/must.h"

const char *const q_state_names[] = {"not_recorded", "measured",   "undefined", "not_covered",
                                     "not_reached",  "not_closed", "excluded",  NULL};

struct quantity quantity_absent(enum q_state state, const char *why)
{
    return (struct quantity){
        .value = (double)NAN, .state = state, .why = why, .instrument = (double)NAN, .calibration = (double)NAN};
}

struct quantity quantity_of(double value)
{
    return (struct quantity){
        .value = value, .state = Q_MEASURED, .instrument = (double)NAN, .calibration = (double)NAN};
}

double quantity_value(const struct quantity *q)
{
    return quantity_has_value(q) ? q->value : (double)NAN;
}

const char *quantity_state_words(const struct quantity *q)
{
    static const char *const words[Q_STATE_COUNT] = {"not recorded", "measured",   "undefined", "not covered",
                                                     "not reached",  "not closed", "excluded"};
    must(q->state < Q_STATE_COUNT);
    return q->state == Q_MEASURED && isnan(q->value) ? words[Q_NOT_RECORDED] : words[q->state];
}

struct quantity quantity_marked(struct quantity q, enum q_state state, const char *why)
{
    must(state == Q_EXCLUDED || state == Q_NOT_CLOSED);
    if (q.state == Q_MEASURED) {
        q.state = state;
        q.why = why;
    }
    return q;
}

/* The input whose state a value made of them must take: the first without a value, else one that is not closed, else
 * one that is excluded; null: all are measured. */
static const struct quantity *worst_of(const struct quantity *const *q, size_t n)
{
    const struct quantity *worst = NULL;
    for (size_t i = 0; i < n; i++) {
        if (!quantity_has_value(q[i]))
            return q[i];
        if (q[i]->state != Q_MEASURED && !(worst && worst->state == Q_NOT_CLOSED))
            worst = q[i];
    }
    return worst;
}

struct quantity quantity_from(double value, const struct quantity *const *inputs, size_t n)
{
    const struct quantity *worst = worst_of(inputs, n);
    if (worst && !quantity_has_value(worst))
        return quantity_absent(worst->state, worst->why);
    struct quantity q = quantity_of(value);
    if (worst) {
        q.state = worst->state;
        q.why = worst->why;
    }
    return q;
}

struct quantity quantity_sum(const struct quantity *const *q, size_t n)
{
    double value = 0, instrument = 0, calibration = 0;
    for (size_t i = 0; i < n; i++) {
        value += q[i]->value;
        instrument += q[i]->instrument;
        calibration += q[i]->calibration;
    }
    struct quantity sum = quantity_from(value, q, n);
    if (quantity_has_value(&sum)) {
        sum.instrument = instrument;
        sum.calibration = calibration;
    }
    return sum;
}

void quantity_add(struct quantity *sum, const struct quantity *q)
{
    if (!quantity_has_value(sum))
        return;
    if (!quantity_has_value(q)) {
        *sum = *q;
        return;
    }
    sum->value += q->value;
    sum->calibration += q->calibration;
}

struct quantity quantity_over(const struct quantity *q, double divisor, const char *why)
{
    if (!quantity_has_value(q))
        return *q;
    if (!(divisor > 0))
        return quantity_absent(Q_UNDEFINED, why);
    struct quantity r = *q;
    r.value /= divisor;
    r.instrument /= divisor;
    r.calibration /= divisor;
    return r;
}

struct quantity quantity_scaled(const struct quantity *q, double factor)
{
    struct quantity r = *q;
    if (quantity_has_value(q)) {
        r.value *= factor;
        r.instrument *= factor;
        r.calibration *= factor;
    }
    return r;
}

struct quantity quantity_inverse(const struct quantity *q, double factor, const char *why)
{
    if (!quantity_has_value(q))
        return *q;
    if (!(q->value > 0))
        return quantity_absent(Q_UNDEFINED, why);
    struct quantity r = *q;
    r.value = factor / q->value;
    r.instrument = r.value * (q->instrument / q->value);
    r.calibration = r.value * (q->calibration / q->value);
    return r;
}

struct quantity quantity_difference(const struct quantity *a, const struct quantity *b)
{
    const struct quantity *const inputs[] = {a, b};
    if (quantity_has_value(a) && quantity_has_value(b) && b->value == 0)
        return quantity_absent(Q_UNDEFINED, "the energy to compare with is 0");
    return quantity_from(a->value / b->value - 1, inputs, 2);
}

struct quantity quantity_share(const struct quantity *part, const struct quantity *whole, const char *why)
{
    const struct quantity *const inputs[] = {part, whole};
    if (quantity_has_value(whole) && !(whole->value > 0))
        return quantity_absent(Q_UNDEFINED, why);
    return quantity_from(part->value / whole->value, inputs, 2);
}
