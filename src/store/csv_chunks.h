/* Private to store: chunks.csv as jtok writes it, read without the detours of the general reader. */
#ifndef JTOK_STORE_CSV_CHUNKS_H
#define JTOK_STORE_CSV_CHUNKS_H

#include <stddef.h>
#include "base/span.h"
#include "model/record.h"

/* The header line that it goes by. */
extern const char csv_chunks_header[];

/* Takes lines off the front of *rest into `out` for as long as they have the usual form; stops before the first one
 * that hasn't (or is among the last bytes), which is the general reader's. Returns their number, and adds
 * that of their filled fields to *cells. O(bytes). */
size_t csv_chunks_read(struct span *rest, struct rec_chunk *out, size_t *cells);

#endif
