/* What the mock server, jtok's driver and the floor share: one mapped file in which the server writes when it sent each
 * chunk, so that a client's arrival times can be held against it. */
#ifndef JTOK_BENCH_CLIENT_H
#define JTOK_BENCH_CLIENT_H

#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/resource.h>
#include <unistd.h>

/* Every token chunk on the wire has this size: the floor counts chunks by bytes. */
enum { CHUNK_SIZE = 280, TTFT_MS = 100 };

/* The floor, jtok and all who ask for it get a connection that ends with the answer; to the others it stays open, as
 * vLLM's does. */

__attribute__((unused)) static const char bench_head[] =
    "HTTP/1.1 200 OK\r\nserver: mock\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    "connection: close\r\ntransfer-encoding: chunked\r\n\r\n";

struct bench_map {
    int64_t streams, chunks;
    int64_t most;     /* answers at once, at any time */
    int64_t stall[2]; /* the server stood still from then to then; 0: it did not */
    /* Per stream: when its request was there, then per chunk: just before the call that sent it, and just after; the
     * latter negative where the kernel held it back. */
    int64_t times[];
};

static inline size_t bench_row(int64_t chunks)
{
    return (size_t)(1 + 2 * chunks);
}

static inline int64_t *bench_times(struct bench_map *m, int64_t stream)
{
    return m->times + (size_t)stream * bench_row(m->chunks);
}

static inline struct bench_map *bench_map_open(const char *path, int64_t streams, int64_t chunks)
{
    size_t n = sizeof(struct bench_map) + sizeof(int64_t) * (size_t)streams * bench_row(chunks);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, (off_t)n)) {
        perror(path);
        exit(1);
    }
    struct bench_map *m = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (m == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    m->streams = streams;
    m->chunks = chunks;
    return m;
}

static inline int compare_i64(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static inline double quantile_us(int64_t *sorted, int64_t n, double q)
{
    return n ? (double)sorted[(int64_t)(q * (double)(n - 1))] * 1e-3 : 0;
}

static inline int64_t timeval_us(struct timeval t)
{
    return t.tv_sec * INT64_C(1000000) + t.tv_usec;
}

static inline void raise_files(void)
{
    struct rlimit r;
    getrlimit(RLIMIT_NOFILE, &r);
    r.rlim_cur = r.rlim_max;
    setrlimit(RLIMIT_NOFILE, &r);
}

#endif
