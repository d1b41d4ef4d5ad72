/* JTOK_SIM_SEED: runs of one plan that differ a little, as real ones do.
 *
 * The variable is no part of a plan. A seed, a whole number, moves the simulation's speed and power by about 1 %
 * (standard deviation; never over 3.5 %), each on its own, the same for the same seed. Without it nothing is moved. */
#ifndef JTOK_SIM_SEED_H
#define JTOK_SIM_SEED_H

#include <stdbool.h>
#include "base/err.h"

enum sim_seed_of { SIM_SEED_SPEED, SIM_SEED_POWER };

/* What durations (or powers) are multiplied by: 1 without the variable. False where its value is no whole number. */
bool sim_seed_factor(enum sim_seed_of of, double *ret_factor, struct err *e);

#endif
