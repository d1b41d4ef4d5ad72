/* The CSV files of a run folder: one table of columns a file, used to write, to read and to document.
 *
 * An absent value is an empty field (text null, -1 in the small integers, ABSENT_I64, NaN). Readers go by the header's
 * names: unknown columns are ignored, so files of a newer jtok stay readable.
 *
 * Every field is checked against its column's range and names as it is read, whoever wrote the file: what rows_read
 * gives holds no unknown code, no count over 2^31-1, and no times whose sums or differences could overflow. */
#ifndef JTOK_STORE_ROWS_H
#define JTOK_STORE_ROWS_H

#include <stdint.h>
#include "base/arena.h"
#include "base/buf.h"
#include "base/span.h"
#include "model/record.h"

enum row_table {
    ROWS_GPUS,      /* gpus.csv       struct rec_gpu, without its series */
    ROWS_MARKS,     /* marks.csv      struct rec_boundary */
    ROWS_CLOCK,     /* clock.csv      struct rec_clock */
    ROWS_FACTS,     /* facts.csv      struct rec_fact */
    ROWS_INSTANT,   /* instant.csv    struct rec_instant, with gpu */
    ROWS_COUNTER,   /* counter.csv    struct rec_counter, with gpu */
    ROWS_BUFFER,    /* buffer.csv     struct rec_buffer, with gpu */
    ROWS_GPU_STATE, /* gpu_state.csv  struct rec_gpu_state, with gpu */
    ROWS_PROCESSES, /* processes.csv  struct rec_process, with gpu */
    ROWS_REQUESTS,  /* requests.csv   struct rec_request */
    ROWS_CHUNKS,    /* chunks.csv     struct rec_chunk */
    ROWS_METRICS,   /* metrics.csv    struct rec_metrics */
    ROWS_COUNT
};

enum { ROWS_GPUS_MAX = 256 }; /* a gpu column holds less */

/* No time of a run is before its begin by more than an hour, or ten years behind it. */
#define ROWS_TIME_MIN   (-INT64_C(3600) * 1000000000)
#define ROWS_TIME_MAX   (INT64_C(3650) * 86400 * 1000000000)
#define ROWS_TOKENS_MAX INT32_MAX /* METHOD section 4, "valid usage" */

/* File name ("chunks.csv"), size of the struct, and the header line with its LF. */
const char *rows_file(enum row_table t);
size_t rows_size(enum row_table t);
void rows_header(enum row_table t, struct buf *b);

/* Name of column i of a table, or null past the last. */
const char *rows_column(enum row_table t, size_t i);

/* The time of a record that the table's extent is of: its first column, of requests end_ns (either may be ABSENT_I64).
 * ABSENT_I64 for gpus.csv. */
int64_t rows_time(enum row_table t, const void *record);

/* Appends one record as a line and returns its number of filled fields. `gpu` is the row of gpus.csv that the record
 * belongs to; ignored by tables without it. About 0.1 us for a chunk. */
size_t rows_put(struct buf *b, enum row_table t, uint32_t gpu, const void *record);

/* What rows_read found. */
struct rows {
    void *records;  /* array of the table's struct */
    uint32_t *gpus; /* of each record; null for tables without */
    size_t count;
    size_t cells; /* fields of known columns that are filled, of the records */
    bool cut;     /* the text ends in the middle of a line, which was left out */
    size_t bad_count;
    char bad[200]; /* the first bad line: "line 17: first_ns: 'x' is no whole number" (of line 1: of the header) */
};

/* Reads a whole file's text, header first, into the arena. Lines that can't be right are left out and counted, those of
 * a GPU from `gpus` on among them. An empty text is an empty table. O(bytes). */
struct rows rows_read(enum row_table t, struct span text, size_t gpus, struct arena *a);

#endif
