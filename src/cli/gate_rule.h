/* The rule of `jtok gate`, as its options say it. */
#ifndef JTOK_CLI_GATE_RULE_H
#define JTOK_CLI_GATE_RULE_H

#include "analysis/gate.h"
#include "base/arena.h"
#include "base/err.h"

/* Percentages with their sign, "5%": a number alone might be meant either way. Null: not given. */
struct gate_words {
    const char *metric, *load, *rise, *fall, *spread;
};

/* The metric must be known and one of the two limits given; ERR_USAGE says what is missing or wrong. The rest of
 * *ret_gate is empty. */
bool gate_rule_read(const struct gate_words *w, struct arena *a, struct gate *ret_gate, struct err *e);

#endif
