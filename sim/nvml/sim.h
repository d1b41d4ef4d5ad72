/* The simulated GPU's sensors: every reading is computed from the shared state's steps (sim/shared.h) at a moment.
 *
 * As recorded on an H200 (driver 580): counter new each 100.06 ms; field 186 new each 100 ms, mean of the
 * last 25 ms; field 185 and PowerUsage mean of the last second; buffer 20 ms steps, each the mean of its 20 ms (so 10
 * ms behind), 119 deep. Noise is a fixed function of (GPU, sample number), in pairs of opposite sign: it adds no
 * energy, and the same moment reads the same. */
#ifndef JTOK_SIM_NVML_SIM_H
#define JTOK_SIM_NVML_SIM_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include "sim/state.h"

enum { BUFFER_DEPTH = 119, FAULTS_MAX = 16 };

enum fault_kind {
    FAULT_NO_DRIVER,
    FAULT_VERSION_MISMATCH,
    FAULT_MIG,
    FAULT_NO_PERMISSION,
    FAULT_LOST,
    FAULT_MISSED,
    FAULT_COUNTER_BACK,
    FAULT_COUNTER_STUCK,
    FAULT_SLOW_COUNTER,
    FAULT_BUSY_PROCESS,
    FAULT_NOT_IDLE,
    FAULT_NO_FIELD186,
    FAULT_NO_COUNTER,
    FAULT_NO_BUFFER,
    FAULT_NO_PROCESSES,
    FAULT_STRIDE32,
    FAULT_ZERO_FIELD186,
    FAULT_MODULE_COUNTER,
    FAULT_KINDS
};

struct fault {
    enum fault_kind kind;
    int gpu;                   /* -1: every one */
    int64_t from_ns, until_ns; /* since the state was created */
};

struct faults {
    struct fault list[FAULTS_MAX];
    int count;
};

/* JTOK_SIM_FAULT: name[:gpu][@FROMs][+LASTINGs], comma between them. False: `text` has a name or a number that is
 * unknown. */
bool faults_parse(struct faults *f, const char *text);

struct sensor_gpu {
    pthread_mutex_t mutex; /* guards what follows */
    int64_t summed_to_ns;  /* energy before this moment is in summed_mj */
    double summed_mj;
    int64_t last_mj;
};

struct sensors {
    struct sim_state *state;
    struct faults faults;
    struct sensor_gpu gpus[SIM_GPUS_MAX];
};

bool fault_active(const struct sensors *s, enum fault_kind kind, uint32_t gpu, int64_t now_ns);

void sensors_init(struct sensors *s, struct sim_state *state);
void sensors_done(struct sensors *s);

int64_t sensor_instant_mw(const struct sensors *s, uint32_t gpu, int64_t now_ns);
int64_t sensor_average_mw(const struct sensors *s, uint32_t gpu, int64_t now_ns);
int64_t sensor_counter_mj(struct sensors *s, uint32_t gpu, int64_t now_ns);

/* Number of the newest buffer sample at now_ns (negative: none yet), and time and value of sample n. */
int64_t sensor_buffer_newest(const struct sensors *s, int64_t now_ns);
int64_t sensor_buffer_time_ns(const struct sensors *s, int64_t n);
int64_t sensor_buffer_mw(const struct sensors *s, uint32_t gpu, int64_t n);

/* Puts a recorded 20 ms power series into the state as its steps, once: CSV lines "sample_mw,t,gpu,value" (others are
 * passed over) or "t,value"; t in microseconds, or in seconds when it has a decimal point; value in mW. The recording's
 * moment `offset_s` after its first sample falls on the state's creation. A GPU that was not recorded gets the series
 * of GPU (number modulo recorded GPUs). False: the file can't be read or holds no sample. */
bool replay_load(struct sim_state *s, const char *path, double offset_s);

#endif
