/* The CSV files of a run folder: which record each holds (model/record.h), written and read.
 *
 * An absent value is an empty field. Readers go by the header's names: unknown columns are passed over, so files of a
 * newer jtok stay readable. Every field is checked against its column's range and names as it is read, whoever wrote
 * the file: what csv_records_read gives holds no unknown code, no count over 2^31-1, and no times whose sums or
 * differences could overflow. */
#ifndef JTOK_STORE_CSV_RECORDS_H
#define JTOK_STORE_CSV_RECORDS_H

#include <stdint.h>
#include "base/arena.h"
#include "base/buf.h"
#include "model/record.h"

enum csv_file {
    CSV_GPUS,       /* gpus.csv       struct rec_gpu, without its series */
    CSV_BOUNDARIES, /* marks.csv      struct rec_boundary */
    CSV_CLOCK,      /* clock.csv      struct rec_clock */
    CSV_FACTS,      /* facts.csv      struct rec_fact */
    CSV_INSTANT,    /* instant.csv    struct rec_instant, with gpu */
    CSV_COUNTER,    /* counter.csv    struct rec_counter, with gpu */
    CSV_BUFFER,     /* buffer.csv     struct rec_buffer, with gpu */
    CSV_GPU_STATE,  /* gpu_state.csv  struct rec_gpu_state, with gpu */
    CSV_PROCESSES,  /* processes.csv  struct rec_process, with gpu */
    CSV_REQUESTS,   /* requests.csv   struct rec_request */
    CSV_CHUNKS,     /* chunks.csv     struct rec_chunk */
    CSV_METRICS,    /* metrics.csv    struct rec_metrics */
    CSV_COUNT
};

/* File name ("chunks.csv"), size of its struct, what a line is, and the header line with its LF. */
const char *csv_records_file(enum csv_file file);
size_t csv_records_size(enum csv_file file);
const struct schema *csv_records_schema(enum csv_file file);
void csv_records_header(enum csv_file file, struct buf *b);

/* The time of a record that the file's extent is of: its first column, of requests end_ns (either may be ABSENT_I64).
 * ABSENT_I64 for gpus.csv. */
int64_t csv_records_time(enum csv_file file, const void *record);

/* Appends one record as a line and returns its number of filled fields. `gpu` is the row of gpus.csv that the record
 * belongs to; ignored by files without that column. About 0.1 us for a chunk. */
size_t csv_records_put(struct buf *b, enum csv_file file, uint32_t gpu, const void *record);

/* What csv_records_read found. */
struct csv_records {
    void *records;  /* array of the file's struct */
    uint32_t *gpus; /* of each record; null for files without */
    size_t count;
    size_t cells; /* fields of known columns that are filled, of the records */
    bool cut;     /* the text ends in the middle of a line, which was left out */
    size_t bad_count;
    char bad[200]; /* the first bad line: "line 17: first_ns: 'x' is not a whole number" (of line 1: of the header) */
};

/* Reads a whole file's text, header first, into the arena. Lines that can't be right are left out and counted, those of
 * a GPU from `gpus` on among them. An empty text is an empty file. O(bytes). */
struct csv_records csv_records_read(enum csv_file file, struct span text, size_t gpus, struct arena *a);

#endif
