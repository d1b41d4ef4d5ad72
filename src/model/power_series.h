/* The power of a run's GPUs over time, thinned to columns: what a picture of the run is drawn from. Times are seconds
 * since its begin. analysis/picture.h makes it, by the same series as the energies. */
#ifndef JTOK_MODEL_POWER_SERIES_H
#define JTOK_MODEL_POWER_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The samples of one GPU in one column; `samples` 0: there are none. */
struct power_column {
    double low_w, mean_w, high_w;
    size_t samples;
};

struct power_line {
    const char *name, *uuid;      /* null: not recorded */
    bool by_buffer;               /* the 20 ms buffer; else the 1 s grid */
    struct power_column *columns; /* column_count of them */
};

enum power_stage { POWER_BASELINE, POWER_STARTUP, POWER_FORMAL, POWER_RELEASE, POWER_HOLD, POWER_STAGES };

/* NaN: the stage did not happen. One that was begun and not ended reaches to the end of the records. */
struct power_stretch {
    double from_s, to_s;
};

struct power_series {
    const char *run_id, *name; /* null: not recorded */
    bool gpu_simulated, engine_simulated;
    int64_t from_ns;   /* run time of the left end */
    double duration_s; /* from the baseline (else the first sample) to the end of the hold (else the last sample) */
    double highest_w;
    size_t column_count;
    struct power_stretch stages[POWER_STAGES];
    struct power_line *gpus;
    size_t gpu_count;
};

#endif
