/* Prometheus text exposition format 0.0.4: one sample line at a time. */
#ifndef JTOK_TEXT_PROM_H
#define JTOK_TEXT_PROM_H

#include <stdbool.h>
#include "base/span.h"

struct prom_sample {
    struct span name;
    struct span labels; /* between the braces, as they stand; empty without any */
    double value;       /* NaN and infinities as the format spells them */
};

/* Takes lines off the front of *text up to and including the next sample line; comments and empty lines are skipped.
 * False at the end. A line that can't be read is skipped and counted in *bad (may be null). O(bytes). */
bool prom_next(struct span *text, struct prom_sample *ret_sample, unsigned *bad);

/* The value of one label, still escaped; false when it isn't there. */
bool prom_label(struct span labels, const char *name, struct span *ret_value);

#endif
