/* The energy of any command, from the records of its runs (METHOD section 11, "Any command"). Pure. */
#ifndef JTOK_ANALYSIS_STAT_H
#define JTOK_ANALYSIS_STAT_H

#include "analysis/sample.h"
#include "model/record.h"
#include "model/result.h"

struct stat_gpu {
    int64_t index;
    const char *uuid, *name;
    struct energy_set energy;
    struct quantity average_w, idle_w;
};

/* One run of the command. The window is [command_start, command_end]; the headline is the counter's. */
struct stat_once {
    const char *run; /* id of its folder */
    int64_t began_realtime_ns, exit_status;
    double duration_s;
    struct energy_set energy; /* all GPUs together */
    struct quantity average_w, idle_w, power_back_s;
    enum check_outcome idle;     /* was every GPU idle before? NOT_JUDGED: that was not looked at */
    const char *idle_why;        /* why not; null */
    const char *left_running;    /* processes that it left in other groups; null: none */
    bool valid;                  /* no check failed or lacks its records */
    struct result_check *checks; /* those that apply to a command */
    size_t check_count;
    struct stat_gpu *gpus;
    size_t gpu_count;
};

struct stat_result {
    const char *jtok_version, *method_id;
    const char *command; /* as a shell would take it */
    bool simulated;
    double sensor_percent;
    const char *sensor_source; /* null: assumed */
    struct stat_once *runs;
    size_t run_count;
    /* Over the runs that were not interrupted and have an energy: between runs (METHOD section 9). */
    struct sample energy_j, duration_s, average_w;
};

/* One run. Records in order. O(samples). */
struct stat_once stat_judge(const struct records *r, struct arena *a);

/* All of them together: n runs of one command, the records of one of which say what is the same of all. */
struct stat_result stat_gather(const struct records *first, struct stat_once *runs, size_t n, struct arena *a);

/* One run as a comparison or a list wants it: the command as its one point, with its window; all that a command has not
 * is absent, and checks that are not asked of it are NOT_JUDGED. O(checks + GPUs). */
struct result *stat_as_result(const struct records *r, const struct stat_once *once, struct arena *a);

extern const struct schema stat_result_schema;

#endif
