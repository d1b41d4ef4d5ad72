/* A picture of a run: power of each GPU over time, with the stages behind it, as one self-contained SVG. */
#ifndef JTOK_REPORT_SVG_H
#define JTOK_REPORT_SVG_H

#include "base/buf.h"
#include "model/power_series.h"

/* Columns of a series that is drawn: one a pixel. */
enum { SVG_COLUMNS = 1113 };

/* Text under a stage's name, for example its energy; null: none. */
struct svg_notes {
    const char *stage[POWER_STAGES];
};

/* Appends the picture of a series of SVG_COLUMNS columns: of each GPU the band from lowest to highest sample and the
 * means as a line; what was sampled stands in the legend. `notes` may be null. A pure function: the same series gives
 * the same bytes. O(GPUs * columns). */
void svg_power(const struct power_series *s, const struct svg_notes *notes, struct buf *out);

#endif
