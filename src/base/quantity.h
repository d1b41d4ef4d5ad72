/* A value with its state and its uncertainty: absent is never zero (METHOD section 1). */
#ifndef JTOK_BASE_QUANTITY_H
#define JTOK_BASE_QUANTITY_H

enum q_state {
    Q_NOT_RECORDED, /* the records lack what it needs; a zeroed struct */
    Q_MEASURED,
    Q_UNDEFINED,   /* the formula has no value here (TPOT of one token) */
    Q_NOT_COVERED, /* a boundary without samples on both sides */
    Q_NOT_REACHED, /* no steady state, power not recovered */
    Q_NOT_CLOSED,  /* the release did not end: the value is the energy so far */
    Q_EXCLUDED,    /* measured, but left out of comparisons; `why` says the reason */
};

/* "not_recorded", "measured", "undefined", "not_covered", "not_reached", "not_closed", "excluded"; null-terminated. */
extern const char *const q_state_names[8];

/* `value` means something in MEASURED, NOT_CLOSED and EXCLUDED only. Two of METHOD section 2's three doubts, in the
 * value's unit, NaN where not known: `instrument`, how far this reading may be from what the board's own sensor saw in
 * this run, meant to hold in at least 95 % of cases; `calibration`, the assumed limit of that sensor. The third,
 * between runs, comes from repetitions only (analysis/sample.h). `why` is a short sentence for every state but
 * MEASURED; static text or memory of the owning arena. */
struct quantity {
    double value;
    enum q_state state;
    const char *why;
    double instrument, calibration;
};

static inline struct quantity quantity_absent(enum q_state state, const char *why)
{
    return (struct quantity){.value = __builtin_nan(""),
                             .state = state,
                             .why = why,
                             .instrument = __builtin_nan(""),
                             .calibration = __builtin_nan("")};
}

/* Measured, without a statement of uncertainty. */
static inline struct quantity quantity_of(double value)
{
    return (struct quantity){
        .value = value, .state = Q_MEASURED, .instrument = __builtin_nan(""), .calibration = __builtin_nan("")};
}

static inline int quantity_has_value(const struct quantity *q)
{
    return q->state == Q_MEASURED || q->state == Q_NOT_CLOSED || q->state == Q_EXCLUDED;
}

#endif
