/* Which GPUs were given to this process, by a scheduler or by whoever started it (METHOD section 3, "GPUs"). */
#ifndef JTOK_POWER_GIVEN_H
#define JTOK_POWER_GIVEN_H

#include "power/device.h"

/* How the value of a variable is read. */
enum given_form {
    GIVEN_TO_PROCESS,   /* as CUDA does: numbers are those that this process sees; the first unknown entry ends the
                           list, and an empty one gives nothing */
    GIVEN_ON_NODE,      /* numbers of the whole node, of which only some may be seen here */
    GIVEN_TO_CONTAINER, /* the same, where "all" is every GPU, and "none", "void" or a path say nothing */
};

/* A row of device_kind.given, a zeroed one behind the last; the first that is set decides. */
struct given_variable {
    const char *name;
    enum given_form form;
};

struct gpus_given {
    const char *variable, *value; /* null: nobody said anything, and all GPUs are in the list */
    uint32_t list[DEVICE_GPUS_MAX];
    size_t count;
    const char *lack;  /* why the list can't be used: nothing is in it, or a part of a GPU was given; null: it can */
    const char *doubt; /* why its numbers may mean other GPUs, a sentence; null: they don't */
};

/* Reads the environment (null-terminated "NAME=value"). An entry is a number, a UUID or a unique beginning of one; a
 * part of a GPU can't be measured, which is told as a lack. Texts are of the arena. O(variables + entries x GPUs). */
void device_given(const struct device *d, const char *const *environment, struct arena *a, struct gpus_given *ret);

/* Is this GPU among them? */
bool device_is_given(const struct gpus_given *g, uint32_t gpu);

/* Do the names of a list with commas, as such a variable holds it, mean these GPUs, all of them, in any order? Numbers
 * are the driver's. */
bool device_names_same(const struct device *d, const char *list, const uint32_t *gpus, size_t gpu_count);

#endif
