/* METHOD's constants that more than one place needs, each with its section: what a run acts by and an analysis judges
 * by must be the same number.
 *
 * Those that a user may change are parameters: of a plan (plan_schema.c, durations and time limits) or of an analysis
 * (method.c); those that only one place needs stand there. */
#ifndef JTOK_MODEL_LIMITS_H
#define JTOK_MODEL_LIMITS_H

#include <stdint.h>

/* Section 2: neighbouring samples further apart leave a gap. */
#define METHOD_GRID_GAP_PERIODS 2.5
#define METHOD_BUFFER_GAP_S     0.060

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

/* Section 4: silence between the last handshake of connections opened ahead and the first formal request. */
#define METHOD_SILENCE_NS INT64_C(300000000)

/* Section 6: share of the peak concurrency at which a service counts as saturated. */
#define METHOD_SATURATED_SHARE 0.85

/* Section 6, Delivery lag: below this many times its ready level a GPU idles, and more than this share of the formal
 * stage idle while owed is a lag. */
#define METHOD_LAG_FACTOR 1.15
#define METHOD_LAG_SHARE  0.01

/* Section 8, counter_disagrees and grid_disagrees: a shorter stage is reported, not judged. */
#define METHOD_JUDGED_S 10.0

#endif
