/* A picture of a run: power of each GPU over time, with the stages behind it, as one self-contained SVG. */
#ifndef JTOK_REPORT_SVG_H
#define JTOK_REPORT_SVG_H

#include "base/buf.h"
#include "model/power_series.h"
#include "model/result.h"

/* Columns of a series that is drawn: one a pixel. */
enum { SVG_COLUMNS = 1113 };

struct svg_notes {
    const char *stage[POWER_STAGES];   /* under a stage's name, for example its energy; null: none */
    const struct result_phase *phases; /* of the startup: a line where each but the rest ends, and what it ended with */
    size_t phase_count;
};

/* Appends the picture of a series of SVG_COLUMNS columns: of each GPU the band from lowest to highest sample and the
 * means as a line; what was sampled stands in the legend. `notes` may be null. A pure function: the same series gives
 * the same bytes. O(GPUs * columns). */
void svg_power(const struct power_series *s, const struct svg_notes *notes, struct buf *out);

#endif
