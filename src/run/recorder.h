/* Writes records to a run folder while the run is on: the record_sink of real runs.
 *
 * Rows are formatted into a buffer for each file under that file's lock; one writer thread appends the buffers to the
 * files, at the latest 0.5 s after a row came, and flushes all files to the disk (fsync) at each boundary. No caller
 * ever waits for the disk. What a full or stalled disk doesn't take stays in memory, up to `memory_max`; beyond, rows
 * are lost, counted, and the recorder has failed. After a failed write the writer tries again at each turn, so space
 * that is freed is used. Files hold whole lines in order, but for a last one that a full disk cut.
 *
 * All text goes through `secrets` first. */
#ifndef JTOK_RUN_RECORDER_H
#define JTOK_RUN_RECORDER_H

#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"
#include "model/sink.h"
#include "store/csv_records.h"
#include "store/secrets.h"

struct recorder;

struct recorder_options {
    const struct secrets *secrets; /* may be null; must outlive the recorder */
    size_t memory_max;             /* bytes not yet on disk, all files together; 0: 256 MiB */
    int64_t flush_ns;              /* 0: 0.5 s */
};

/* Creates the files (they must not exist) with their header lines, and starts the writer thread. */
bool recorder_open(struct recorder **ret_recorder, const char *folder, const struct recorder_options *o, struct err *e);

/* The sink; valid until recorder_close. */
struct record_sink recorder_sink(struct recorder *r);

/* Has a row been lost or a write failed? Then `e` (may be null) says which file, why, and the free space. Cheap: one
 * atomic load while all is well. Any thread. */
bool recorder_failed(const struct recorder *r, struct err *e);

struct recorder_counts {
    uint64_t rows, bytes;      /* taken */
    uint64_t lost_rows;        /* beyond memory_max, or left over at close */
    uint64_t secrets_replaced; /* places */
    uint64_t memory_peak_bytes;
    int64_t write_max_ns;                /* longest single write or fsync of the writer thread */
    struct rec_series series[CSV_COUNT]; /* of each file of rows, what was taken */
    size_t series_count;
};
struct recorder_counts recorder_counts(const struct recorder *r);

/* Waits until all that was recorded before the call is in the files and flushed, or the wait of `limit_ns` is over. */
bool recorder_flush(struct recorder *r, int64_t limit_ns, struct err *e);

/* Writes what is left, flushes, stops the thread, frees. False if anything was lost or a write failed, with the reason.
 * *ret_counts may be null. A null recorder is fine. */
bool recorder_close(struct recorder *r, struct recorder_counts *ret_counts, struct err *e);

#endif
