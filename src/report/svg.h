/* A picture of a run: power of each GPU over time, with the stages behind it, as one self-contained SVG. */
#ifndef JTOK_REPORT_SVG_H
#define JTOK_REPORT_SVG_H

#include <stdbool.h>
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "model/record.h"

/* Text under a stage's name, for example its energy; null: none. In order baseline, startup, formal, release, hold. */
enum { SVG_STAGES = 5 };
struct svg_notes {
    const char *stage[SVG_STAGES];
};

/* Draws the 20 ms buffer of each GPU, or the 1 s instant samples where a GPU has no buffer; which, stands in the
 * legend. More samples than columns are drawn as the band from lowest to highest, so no burst is lost. `notes` may be
 * null. Fails with ERR_RECORDS where no power or no time was recorded. The same records give the same bytes.
 * O(samples). */
bool svg_power(const struct records *r, const struct svg_notes *notes, struct arena *a, struct buf *out, struct err *e);

#endif
