/* What a simulated GPU truly drew: the sum of rectangles under its steps, times the state's factor. For tests. */
#ifndef JTOK_SIM_TRUTH_H
#define JTOK_SIM_TRUTH_H

#include <stdint.h>
#include "sim/shared.h"

/* Power at a moment, mW. Before the first step SIM_IDLE_MW times the factor. O(log steps). */
int64_t sim_power_mw(const struct sim_state *s, uint32_t gpu, int64_t t_ns);

/* Energy of [from, to], mJ, both CLOCK_MONOTONIC. Steps yet to come are not known: the last one goes on.
 * O(log steps + steps between). */
double sim_energy_mj(const struct sim_state *s, uint32_t gpu, int64_t from_ns, int64_t to_ns);

#endif
