/* The engine's side of the simulated GPUs: power, memory and processes in the shared state (sim/state.h).
 *
 * Who writes the power when the engine is gone? On a good stop the engine itself, ahead of time: as its last act it
 * adds a step to idle that lies `release_s` in the future. After SIGKILL nobody can: then whoever reads (the simulated
 * NVML) drops the dead process and lets the GPU idle from that moment on (sim_processes_reap). */
#ifndef JTOK_SIM_ENGINE_GPU_H
#define JTOK_SIM_ENGINE_GPU_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/err.h"
#include "sim/shared.h"

struct gpus {
    struct sim_state *state; /* null without JTOK_SIM_STATE: then nothing is written */
    uint32_t count;
    uint32_t index[SIM_GPUS_MAX];
    pid_t pid[SIM_GPUS_MAX]; /* the compute process on each */
    bool held;               /* from the first gpus_memory to gpus_release */
    int64_t mw, changed_ns;
};

/* The first `count` GPUs that CUDA_VISIBLE_DEVICES lets this process see (indices or UUIDs), else the first `count`.
 * Not enough of them: an error in CUDA's manner. */
bool gpus_open(struct gpus *g, uint32_t count, struct err *e);
void gpus_close(struct gpus *g);

/* Power of each GPU from now on, mW. While loaded, changes below 10 W or within 20 ms of the last are left out, so that
 * hours fit into the state; `sharp` writes every change. */
void gpus_power(struct gpus *g, int64_t mw, bool sharp);

/* What a GPU draws in a step: 348 W for one request, 690 W for very many, 700 W while it computes prompts. */
int64_t gpus_step_mw(int64_t decoding, int64_t prefill);

/* Memory of all GPUs together, held by their compute processes; the first call lists the processes. */
void gpus_memory(struct gpus *g, double gib);
void gpus_utilisation(struct gpus *g, int64_t percent);

/* The processes are gone: memory free now, teardown's power at once, idle after release_ns. Nothing where none was
 * held. */
void gpus_release(struct gpus *g, int64_t release_ns);

#endif
