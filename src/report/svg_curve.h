/* The energy-against-load curve as a picture: J/token over TPOT, one self-contained SVG. */
#ifndef JTOK_REPORT_SVG_CURVE_H
#define JTOK_REPORT_SVG_CURVE_H

#include <stdbool.h>
#include "base/buf.h"
#include "model/result.h"

/* Has the run a load with a J/token and a median TPOT? */
bool svg_curve_has_points(const struct result *r);

/* Is no other load both as fast and as frugal as this one, and better in one of the two? Only loads whose J/token is
 * measured (not excluded) count. O(loads). */
bool svg_curve_is_pareto(const struct result *r, size_t point);

/* Appends the picture: each such load at its median TPOT and J/token, both axes logarithmic, with the instrument's ± as
 * a bar. Loads on the Pareto front are filled and joined; others are hollow, excluded ones crossed out. A pure function
 * of a result that has points. O(loads^2). */
void svg_curve(const struct result *r, struct buf *out);

#endif
