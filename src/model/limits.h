/* METHOD's constants, each once, with its section: what a run acts by and an analysis judges by is the same number.
 *
 * Those that a user may change are parameters and have their defaults here too, where METHOD gives them: of a plan
 * (plan.c) or of an analysis (method.c). */
#ifndef JTOK_MODEL_LIMITS_H
#define JTOK_MODEL_LIMITS_H

#include <stdint.h>

/* Section 1: two neighbouring clock pairs that differ by more are a clock step, and no time is trusted further. */
#define METHOD_CLOCK_STEP_NS INT64_C(1000000)

/* Section 1: a boundary stands for its event to within this; a clock pair is due once a second, and longer without one
 * is no late thread; nothing is recorded further than this before or after what the boundaries span. */
#define METHOD_BOUNDARY_NS INT64_C(10000000)
#define METHOD_PAIR_NS     INT64_C(3000000000)
#define METHOD_BEYOND_NS   INT64_C(3600000000000)

/* Section 1: a value beyond this many times what the board may draw, over a gap and a second, is a fault. */
#define METHOD_BURST_FACTOR   4
#define METHOD_COUNTER_LATE_S 1.0

/* Section 2: neighbouring samples further apart leave a gap. */
#define METHOD_GRID_GAP_PERIODS 2.5
#define METHOD_BUFFER_GAP_S     0.060

/* Section 2, Boundary samples: the second one of a boundary is due this long after the first; one within these is it.
 */
#define METHOD_AFTER_NS     INT64_C(200000000)
#define METHOD_AFTER_MIN_NS INT64_C(100000000)
#define METHOD_AFTER_MAX_NS INT64_C(500000000)

/* Section 2: a counter is void where it stands still for longer while power is read above this. */
#define METHOD_STILL_S 0.5
#define METHOD_STILL_W 1.0

/* Section 2, Calibration: the floor of the assumed limit of a board's sensor. */
#define METHOD_SENSOR_FLOOR_W 5.0

/* Section 2, Basis `precise`: where the counter's delay L is sought, and in which steps. */
#define METHOD_LAG_FIRST_NS         INT64_C(-20000000)
#define METHOD_COUNTER_DELAY_MAX_NS INT64_C(150000000)
#define METHOD_LAG_STEP_NS          INT64_C(5000000)

/* Section 2, Instrument: how sharp a counter's change point is, locked or not; its delay where no buffer tells it; how
 * far around an end power is looked at, and the drift between counter and buffer; fewer samples say nothing. */
#define METHOD_LOCKED_S         0.010
#define METHOD_UNLOCKED_S       0.100
#define METHOD_LAG_UNKNOWN_S    0.050
#define METHOD_BUFFER_END_S     0.010             /* half of the buffer's step */
#define METHOD_JUMP_NS          INT64_C(60000000) /* so far around an end its power is looked at for a jump */
#define METHOD_AROUND_NS        INT64_C(200000000)
#define METHOD_DRIFT_NS         INT64_C(5000000000)
#define METHOD_SUCCESSIVE_LEAST 10

/* Section 3, Baseline, and section 8, power_out_of_range: a power is the same as an idle level within the larger of
 * these, the share being of that level. */
#define METHOD_IDLE_SHARE 0.02
#define METHOD_IDLE_W     1.0

/* Section 3, t11: power is back within the larger of these, the share being of the baseline. */
#define METHOD_RECOVERED_SHARE 0.05
#define METHOD_RECOVERED_W     1.0

/* Section 3, t10, and section 8, gpu_mismatch: memory is back within this of what it was before the start, and an
 * engine that holds a GPU has added more than this. */
#define METHOD_MEMORY_BYTES (INT64_C(64) << 20)

/* Section 3: jtok's own waits of more than this share of a stage are flagged. */
#define METHOD_WAIT_SHARE 0.02

/* Section 4: silence between the last handshake of connections opened ahead and the first formal request. */
#define METHOD_SILENCE_NS INT64_C(300000000)

/* Section 11: a paced request's connection is opened at most this long before its intended time; silence before the
 * first load of a list, whose last 10 s are load 0, behind 2 s for what the warm-up's end does to the power; and
 * between two. */
#define METHOD_AHEAD_NS         INT64_C(1000000000)
#define METHOD_SILENCE_FIRST_NS INT64_C(12000000000)
#define METHOD_SILENCE_LOADS_NS INT64_C(5000000000)

/* Section 4, One stamp, many tokens: more tokens of one request in a stamp are merged arrivals; more than this share of
 * the later tokens in such stamps, and times between tokens are not the server's. */
#define METHOD_MERGED_TOKENS 8
#define METHOD_MERGED_SHARE  0.5

/* Section 5: what is split and what is left make up the stage to within this. */
#define METHOD_CLOSURE 1e-9

/* Section 6: requests in a window, and the CV below which it qualifies. */
#define METHOD_WINDOW   100
#define METHOD_CV_LIMIT 0.03

/* Section 6: how far an edge that cuts responses is moved, and in which steps. */
#define METHOD_EDGE_NS      INT64_C(50000000)
#define METHOD_EDGE_STEP_NS INT64_C(1000000)

/* Section 6: share of the peak concurrency at which a service counts as saturated. */
#define METHOD_SATURATED_SHARE 0.85

/* Section 6: over this share of the engine's scrapes with requests waiting, a saturated window means something. */
#define METHOD_WAITING_SHARE 0.5

/* Section 6, Delivery lag: the ready level is the lowest mean over this long; below this many times it a GPU idles, and
 * more than this share of the formal stage idle while owed is a lag. Stretches with a shorter gap between them are one;
 * the beginning is left out; and a GPU whose ready level is over this share of its mean says nothing. */
#define METHOD_LEVEL_NS         INT64_C(100000000)
#define METHOD_LAG_FACTOR       1.15
#define METHOD_LAG_SHARE        0.01
#define METHOD_LAG_JOIN_NS      INT64_C(100000000)
#define METHOD_LAG_SKIP_NS      INT64_C(1000000000)
#define METHOD_MEASURABLE_SHARE 0.5

/* Section 7. */
#define METHOD_J_PER_KWH 3.6e6

/* Section 7, Estimate: ways to the energy of a request that differ by more give a range. */
#define METHOD_RANGE_SHARE 0.10

/* Section 8, counter_disagrees and grid_disagrees: a shorter stage is reported, not judged; the limits, of the grid the
 * larger of this and twice what sampling explains. */
#define METHOD_JUDGED_S          10.0
#define METHOD_COUNTER_DISAGREES 0.01
#define METHOD_GRID_DISAGREES    0.10

/* Section 8, power_out_of_range: of the board's limit. */
#define METHOD_POWER_FACTOR 1.1

/* Section 8, usage_disagrees: allowed where requests failed. */
#define METHOD_USAGE_SHARE 0.02

/* Section 8, request_unaccounted: a request may lie outside the formal stage by this. */
#define METHOD_OUTSIDE_NS INT64_C(1000000)

/* Section 8, sampler_late: periods that a power sample may be late. */
#define METHOD_LATE_PERIODS 0.5

/* Section 8, client_limited. */
#define METHOD_CLIENT_CPU      0.90
#define METHOD_CLIENT_HANDLE_S 0.020
#define METHOD_CLIENT_SUBMIT_S 1.0

/* Section 11: of the length of an open loop, what a request may take at P95 for the load to be reached; the rise of the
 * number in flight from a window's middle third to its last that is an overload; how late a request may be sent (P99);
 * and where load 0 is seen: so long before the first load, and in later silences behind their first seconds. */
#define METHOD_SETTLE_SHARE      0.5
#define METHOD_OVERLOADED_FACTOR 1.1
#define METHOD_OVERLOADED_SURE   3000 /* requests: of fewer, chance alone may look like an overload */
#define METHOD_LATENESS_S        0.001
/* Requests of others on a running service: how late vLLM's count may be against the streams; how many requests, and
 * what share of jtok's own, the engine may hold beside them by chance. */
#define METHOD_COUNT_LATE_S    0.12
#define METHOD_OTHERS_REQUESTS 0.5
#define METHOD_OTHERS_SHARE    0.1
#define METHOD_QUIET_FIRST_NS  INT64_C(10000000000)
#define METHOD_QUIET_SKIP_NS   INT64_C(2000000000)

/* Section 10: what the engine and its clients counted is compared where the two numbers are no further apart. */
#define METHOD_SAME_REQUESTS_SHARE 0.01

/* Section 9: median output tokens of two sides further apart than this share are shown with the comparison. */
#define METHOD_TOKENS_SHARE 0.20

#endif
