/* What recording and reading chunks cost: bench_store [CHUNKS], in a scratch folder under /tmp. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "run/recorder.h"
#include "store/records.h"

static int fail(const struct err *e)
{
    fprintf(stderr, "%s\n", e->text);
    return 1;
}

enum { STREAMS = 1000 };

/* 1000 streams that get a token each 20 ms, in an order that is off by some places: as a server under load sends. */
static struct rec_chunk chunk_of(size_t i, uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return (struct rec_chunk){.t_ns = 90000000000 + (int64_t)i * 20000 + (int64_t)(*seed >> 14),
                              .request = (uint32_t)(i * 7919 % STREAMS),
                              .running = -1,
                              .bytes = 2 + (*seed >> 30),
                              .kind = CHUNK_TEXT,
                              .stamp = STAMP_KERNEL};
}

/* Of CPU, so that other work on the machine does not count; reading and sealing use one thread. */
static double seconds_since(int64_t cpu_ns)
{
    return (double)(clock_thread_cpu_ns() - cpu_ns) / 1e9;
}

/* What the client would say of a request whose chunks these are. */
static void add_chunk(struct rec_request *q, const struct rec_chunk *c)
{
    q->first_ns = q->events++ ? q->first_ns : c->t_ns;
    q->last_ns = c->t_ns;
    q->end_ns = q->end_ns > c->t_ns ? q->end_ns : c->t_ns;
    q->token_chunks++;
    q->text_bytes += c->bytes;
}

static bool record(const char *folder, size_t count, struct err *e)
{
    struct recorder_counts counts;
    struct recorder *r;
    static struct rec_request requests[STREAMS];
    uint32_t seed = 1;
    double cpu = 0;

    if (!recorder_open(&r, folder, NULL, e))
        return false;
    struct record_sink sink = recorder_sink(r);
    for (uint32_t i = 0; i < STREAMS; i++) {
        requests[i] = rec_request_absent();
        requests[i].stage = REQUEST_FORMAL;
        requests[i].id = i;
    }
    for (size_t i = 0; i < count; i += 1000) {
        struct rec_chunk batch[1000];
        size_t n = count - i < 1000 ? count - i : 1000;

        for (size_t k = 0; k < n; k++) {
            batch[k] = chunk_of(i + k, &seed);
            add_chunk(&requests[batch[k].request], &batch[k]);
        }
        int64_t t_ns = clock_thread_cpu_ns();
        for (size_t k = 0; k < n; k++)
            sink.chunk(sink.self, &batch[k], 1);
        cpu += (double)(clock_thread_cpu_ns() - t_ns);
        if (i % 1000000 == 0) /* a server sends no millions a second: let the disk follow */
            recorder_flush(r, INT64_C(60000000000), e);
    }
    for (uint32_t i = 0; i < STREAMS; i++)
        sink.request(sink.self, &requests[i]);
    if (!recorder_close(r, &counts, e))
        return false;
    printf("record: %.3f us of the caller's CPU a chunk, %.1f bytes a row, longest write %.1f ms, %.1f MiB waiting at "
           "most\n",
           cpu / 1e3 / (double)count, (double)counts.bytes / (double)count, (double)counts.write_max_ns / 1e6,
           (double)counts.memory_peak_bytes / 1048576);
    return true;
}

static bool read_back(const char *folder, size_t count, const char *what, struct err *e)
{
    struct arena a = {0};
    struct records r;
    int64_t t_ns = clock_thread_cpu_ns();
    bool good = records_load(folder, &a, &r, e);

    if (good && (r.chunk_count != count || r.damage))
        good =
            err_set(e, ERR_INTERNAL, "%zu chunks came back of %zu; %s", r.chunk_count, count, r.damage ? r.damage : "");
    if (good)
        printf("%s: %.2f million chunks a second of CPU\n", what, (double)count / 1e6 / seconds_since(t_ns));
    arena_done(&a);
    return good;
}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 3000000;
    char folder[] = "/tmp/jtok_bench_XXXXXX", command[64];
    struct rec_run run = {.id = "bench"};
    struct rec_gpu gpu = {.uuid = "GPU-0"};
    struct stat packed;
    struct plan plan;
    struct err e = {0};

    plan_defaults(&plan);
    if (count == 0 || !mkdtemp(folder))
        return 1;
    if (!archive_write_plan(folder, &plan, NULL, &e) || !archive_write_run(folder, &run, &e) ||
        !archive_write_gpus(folder, &gpu, 1, &e) || !record(folder, count, &e) ||
        !read_back(folder, count, "read, plain", &e))
        return fail(&e);
    int64_t t_ns = clock_thread_cpu_ns();
    if (!archive_seal(folder, &e))
        return fail(&e);
    printf("seal: %.2f s of CPU\n", seconds_since(t_ns));
    if (!read_back(folder, count, "read, sealed (hashes and zstd included)", &e))
        return fail(&e);
    char path[80];
    snprintf(path, sizeof path, "%s/chunks.csv.zst", folder);
    if (stat(path, &packed) == 0)
        printf("packed: %.1f bytes a chunk\n", (double)packed.st_size / (double)count);
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command) == 0 ? 0 : 1;
}
