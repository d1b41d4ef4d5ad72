/* A value with its state and its uncertainty: absent is never zero (METHOD section 1), and the arithmetic that keeps it
 * so. All of it is pure, O(inputs), and takes no memory: `why` is the text of the caller or of an input. */
#ifndef JTOK_BASE_QUANTITY_H
#define JTOK_BASE_QUANTITY_H

#include <stdbool.h>
#include <stddef.h>

enum q_state {
    Q_NOT_RECORDED, /* the records lack what it needs; a zeroed struct */
    Q_MEASURED,
    Q_UNDEFINED,   /* the formula has no value here (TPOT of one token) */
    Q_NOT_COVERED, /* a boundary without samples on both sides */
    Q_NOT_REACHED, /* no steady state, power not recovered */
    Q_NOT_CLOSED,  /* the release did not end: the value is the energy so far */
    Q_EXCLUDED,    /* measured, but left out of comparisons; `why` says the reason */
    Q_STATE_COUNT
};

/* "not_recorded", "measured", "undefined", "not_covered", "not_reached", "not_closed", "excluded"; null-terminated. */
extern const char *const q_state_names[Q_STATE_COUNT + 1];

/* `value` means something in MEASURED, NOT_CLOSED and EXCLUDED only. Two of METHOD section 2's three doubts, in the
 * value's unit, NaN where not known: `instrument`, how far this value may be from what the board's own sensor saw in
 * this run, meant to hold in at least 95 % of cases; `calibration`, the assumed limit of that sensor. The third,
 * between runs, comes from repetitions only (analysis/sample.h). `why` is a short sentence for every state but
 * MEASURED; static text or memory of the owning arena. */
struct quantity {
    double value;
    enum q_state state;
    const char *why;
    double instrument, calibration;
};

/* No value, for a reason. */
struct quantity quantity_absent(enum q_state state, const char *why);

/* Measured, without a statement of uncertainty. */
struct quantity quantity_of(double value);

static inline bool quantity_has_value(const struct quantity *q)
{
    return q->state == Q_MEASURED || q->state == Q_NOT_CLOSED || q->state == Q_EXCLUDED;
}

/* The value, or NaN where there is none. */
double quantity_value(const struct quantity *q);

/* The state in words for a person: "not recorded", "excluded" ... Also of a measured NaN, which is not recorded. */
const char *quantity_state_words(const struct quantity *q);

/* A value that is there in another state: EXCLUDED, or NOT_CLOSED. What is not MEASURED stays as it is. */
struct quantity quantity_marked(struct quantity q, enum q_state state, const char *why);

/* A value made of others, with the worst state among them (absent before NOT_CLOSED before EXCLUDED) and its reason,
 * without a statement of doubt. */
struct quantity quantity_from(double value, const struct quantity *const *inputs, size_t n);

/* Instrument and calibration add: what of an instrument's difference is in both is not known. Absent where one is;
 * NOT_CLOSED or EXCLUDED where one is. */
struct quantity quantity_sum(const struct quantity *const *q, size_t n);

/* Adds a value and its calibration to a running sum, which is absent, with the reason of the first, as soon as one of
 * its parts is. Its instrument doubt is left alone: how doubts of one instrument add is not this file's to say. */
void quantity_add(struct quantity *sum, const struct quantity *q);

/* q / divisor, with its doubts and state; UNDEFINED with `why` where the divisor is not above 0. */
struct quantity quantity_over(const struct quantity *q, double divisor, const char *why);

/* q * factor, with its doubts and state. */
struct quantity quantity_scaled(const struct quantity *q, double factor);

/* factor / q, with the same relative doubts; UNDEFINED with `why` where q is not above 0. */
struct quantity quantity_inverse(const struct quantity *q, double factor, const char *why);

/* a / b - 1, without a statement of doubt. Absent where either is; UNDEFINED where b is 0. */
struct quantity quantity_difference(const struct quantity *a, const struct quantity *b);

/* part / whole, without a statement of doubt. Absent where either is; UNDEFINED with `why` where the whole is not above
 * 0. */
struct quantity quantity_share(const struct quantity *part, const struct quantity *whole, const char *why);

#endif
