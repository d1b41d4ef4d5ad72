/* What this machine calls itself, for the records. */
#ifndef JTOK_RUN_HOST_H
#define JTOK_RUN_HOST_H

#include "base/arena.h"

struct host {
    const char *name;
    const char *kernel; /* "Linux 6.1.0" */
    const char *cpu;    /* the model's name; null: /proc/cpuinfo does not say */
};

/* Texts are of the arena. Reads /proc/cpuinfo up to its first model. */
struct host host_read(struct arena *a);

#endif
