/* Text in a picture; private to src/report. */
#ifndef JTOK_REPORT_SVG_TEXT_H
#define JTOK_REPORT_SVG_TEXT_H

#include <stdbool.h>
#include "base/buf.h"

/* `text`, made fit to be shown and escaped, at a place, in a class of the picture's style. */
void svg_label(struct buf *out, double x, double y, const char *class, const char *text);

/* "SIMULATED GPU" ... or null. */
const char *svg_simulated(bool gpu, bool engine);

#endif
