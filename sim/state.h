/* The state that the simulated engine and the simulated libnvidia-ml.so.1 share (sim/shared.h), as functions.
 *
 * Where it lives: the file named by JTOK_SIM_STATE, mapped shared (32 MiB, sparse); without that variable an anonymous,
 * private mapping. Whoever comes first creates it, with JTOK_SIM_GPUS GPUs (default 1); the others wait until it is
 * ready.
 *
 * Threads: one writer of steps for each GPU; readers at any time. */
#ifndef JTOK_SIM_STATE_H
#define JTOK_SIM_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"
#include "sim/shared.h"

/* Opens or creates; `path` null: as JTOK_SIM_STATE says. gpu_count is used on creation only; 0: as JTOK_SIM_GPUS says.
 */
bool sim_state_open(const char *path, uint32_t gpu_count, struct sim_state **ret_state, struct err *e);
void sim_state_close(struct sim_state *s); /* takes null; the file stays */

/* From t_ns on (CLOCK_MONOTONIC) GPU `gpu` draws `mw`. Times must not go back: a step before the last one is put at the
 * last one's time. The same power as before adds no step; while a recording is replayed (s->replaying) nothing is
 * added. False when SIM_STEPS_MAX is reached: the power stays as it was. */
bool sim_step_add(struct sim_state *s, uint32_t gpu, int64_t t_ns, int64_t mw);

/* A compute process on a GPU: added, or its memory changed; bytes 0 still lists it. The GPU's memory_bytes is the sum
 * over its processes. False when all places are taken. */
bool sim_process_set(struct sim_state *s, uint32_t gpu, int64_t pid, int64_t bytes);
void sim_process_remove(struct sim_state *s, uint32_t gpu, int64_t pid);
void sim_utilisation_set(struct sim_state *s, uint32_t gpu, int64_t percent);

/* Drops processes that no longer exist, with their memory; when the last one of a GPU has gone its utilisation is 0.
 * The power is not touched: a process that dies without a step leaves the power it had, unless `idle_at_ns` >= 0, from
 * when on such a GPU idles. */
void sim_processes_reap(struct sim_state *s, uint32_t gpu, int64_t idle_at_ns);

#endif
