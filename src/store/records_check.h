/* Private to store: contradictions between records that are right one by one. */
#ifndef JTOK_STORE_RECORDS_CHECK_H
#define JTOK_STORE_RECORDS_CHECK_H

#include "base/buf.h"
#include "model/record.h"

/* What is wrong with records: lines to append to, one a fault. */
struct damage {
    struct buf lines;
};
void damage_add(struct damage *d, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Contradictions between what was read, each table being right in itself. What can't be right is left out of *r: GPUs
 * that can't be told apart, rows beyond the run's length, power beyond the board, requests that are not the plan's,
 * whose times are in no order, or that their chunks contradict. Marks and clocks are named and stay. */

/* gpus.csv, before its series are dealt out. */
void check_gpus(struct records *r, struct damage *d);

/* Requests, marks read and requests in order; `chunks` as they stand in the file. `all`: every request that
 * was recorded is there, so that a chunk of another one is none of this run's. O(chunks + requests). */
void check_requests(struct records *r, const struct rec_chunk *chunks, size_t count, bool all, struct damage *d);

/* Marks, clock pairs and series; requests checked, all in order of time. `whole`: no request was left out. */
void check_sequence(struct records *r, bool whole, struct damage *d);

#endif
