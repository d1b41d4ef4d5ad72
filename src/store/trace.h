/* The times of a trace: when somebody else's requests came.
 *
 * A CSV file, plain, gzip or zstd, read once. The column of times is `t_s`, `time_s`, `arrival_s`, `time`, `timestamp`
 * or `arrived_at` in seconds, or `t_ms`, `time_ms` or `timestamp_ms` in milliseconds, whatever the case of its letters;
 * of several the first. A file of one column may do without a header; it is in seconds. A time is a number, or a date
 * and time ("2023-11-16 18:17:03.97996", with a T or a space between, an optional Z at the end). Times must not fall;
 * the first one becomes 0. */
#ifndef JTOK_STORE_TRACE_H
#define JTOK_STORE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/err.h"
#include "base/span.h"
#include "text/digest.h"

struct trace {
    int64_t *times_ns; /* from the first; scaled */
    size_t count;      /* at least 1 */
    char sha256[DIGEST_HEX];
};

/* ERR_PLAN, with the file's line, where it is not such a file. 8 bytes a time. O(bytes). */
bool trace_load(const char *path, double scale, int stop_fd, struct trace *ret_trace, struct err *e);

/* The same of a text; `name` stands for it in errors. */
bool trace_read(struct span text, const char *name, double scale, struct trace *ret_trace, struct err *e);

void trace_done(struct trace *t); /* a zeroed one is accepted */

#endif
