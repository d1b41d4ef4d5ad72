/* Does the engine hold memory on the plan's GPUs, and on no other? (METHOD section 3, "GPUs") */
#ifndef JTOK_RUN_GPU_CHECK_H
#define JTOK_RUN_GPU_CHECK_H

#include "run/observer.h"

/* How errors and facts call a GPU: "GPU 0 (GPU-4f...)", of the arena. */
const char *gpu_label(const struct rec_gpu *gpu, struct arena *a);

/* Looks at every GPU of the device that can be read: a fact gpu.memory for each of the plan's (by the processes that
 * hold memory there, or by the sum where they can't be told apart), gpu.other_memory for each other. After ready.
 * Judged by nobody here. O(GPUs x processes). */
void gpu_check(const struct observer *v);

#endif
