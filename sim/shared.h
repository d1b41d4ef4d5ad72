/* What the simulated engine and the simulated libnvidia-ml.so.1 share: one mapped file, named by the environment
 * variable JTOK_SIM_STATE. Whoever comes first creates it (O_CREAT | O_EXCL, else waits for `ready`).
 *
 * A GPU's true power is a step function times the state's factor: step i holds from its time to the next one's. The
 * engine appends steps; the library computes every reading from them. So the true energy of any stretch of time is a
 * sum of rectangles. */
#ifndef JTOK_SIM_SHARED_H
#define JTOK_SIM_SHARED_H

#include <stdatomic.h>
#include <stdint.h>

enum { SIM_GPUS_MAX = 8, SIM_STEPS_MAX = 1 << 18, SIM_PROCESSES_MAX = 16, SIM_MAGIC = 0x6a73696d };

struct sim_step {
    int64_t t_ns; /* CLOCK_MONOTONIC */
    int64_t mw;
};

struct sim_gpu {
    _Atomic uint64_t step_count;  /* published after the step is written */
    _Atomic int64_t memory_bytes; /* used by processes, without the reserved part */
    _Atomic int64_t utilisation;  /* percent */
    _Atomic int64_t
        pids[SIM_PROCESSES_MAX]; /* compute processes; 0: free place. A dead process is dropped by the reader */
    _Atomic int64_t pid_bytes[SIM_PROCESSES_MAX];
    struct sim_step steps[SIM_STEPS_MAX];
};

struct sim_state {
    _Atomic uint32_t ready; /* SIM_MAGIC */
    uint32_t gpu_count;
    int64_t created_ns;         /* CLOCK_MONOTONIC; before the first step a GPU idles */
    _Atomic uint32_t replaying; /* 1: the steps are a recording's, put there at once; the engine adds none */
    double power_factor;        /* on every step and on idle power (sim/seed.h); 1 without a seed */
    struct sim_gpu gpus[SIM_GPUS_MAX];
};

enum { SIM_IDLE_MW = 78500, SIM_CONTEXT_MW = 122000, SIM_LIMIT_MW = 700000 };

#endif
