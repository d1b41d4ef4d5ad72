/* A run's power over time as a picture (SVG), with its stages and their energies. */
#ifndef JTOK_APP_PICTURE_H
#define JTOK_APP_PICTURE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

/* Appends the picture of a folder's records; of a run with other loads whose stored result has points, their curve. A
 * folder without a seal is drawn only with `unsealed`; one whose records do not match its seal never (ERR_RECORDS).
 * O(records). */
bool picture_draw(const char *folder, bool unsealed, struct arena *a, struct buf *out, struct err *e);

#endif
