/* bench_analysis [CHUNKS...]: speed of the analysis from memory, by number of chunks.
 *
 * basis: tokens of chunks and attribution under `gap`. all: everything that analyze() computes. With --dump FILE the
 * first run is written as raw arrays for bench/analysis/numpy_same.py, which does the basis work in NumPy. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/analyze.h"
#include "analysis/attribution.h"
#include "base/clock.h"
#include "base/num.h"
#include "store/records.h"
#include "synthetic.h"

static double million_per_s(size_t chunks, int64_t ns)
{
    return (double)chunks / (double)ns * 1e3;
}

static bool basis(const struct records *r, struct arena *a, double *ret_attributed, struct err *e)
{
    struct method m = method_default();
    struct clock_line clocks = clock_line_make(r->clocks, r->clock_count, a);
    struct gpu_series series;
    struct token_chains s;
    gpu_series_make(&r->gpus[0], &clocks, a, &series);
    const struct curve *curve = &series.buffer;
    struct energy_curve all = energy_curve_of_power(&curve, 1, 1, a);
    if (!token_chains_make(r, &m, a, &s, e))
        return false;
    const struct attribution t = attribute(&s, &all, records_boundary(r, BOUNDARY_FORMAL_START),
                                           records_boundary(r, BOUNDARY_FORMAL_END), RULE_GAP, a);
    *ret_attributed = t.attributed_j;
    return true;
}

static void dump(const struct records *r, const char *path)
{
    FILE *f = fopen(path, "wb");
    if (!f) {
        perror(path);
        exit(1);
    }
    const struct rec_gpu *g = &r->gpus[0];
    uint64_t head[] = {r->chunk_count, r->request_count, g->buffer_count,
                       (uint64_t)records_boundary(r, BOUNDARY_FORMAL_START),
                       (uint64_t)records_boundary(r, BOUNDARY_FORMAL_END)};
    fwrite(head, sizeof head, 1, f);
    fwrite(r->chunks, sizeof *r->chunks, r->chunk_count, f);
    for (size_t i = 0; i < r->request_count; i++)
        fwrite(&r->requests[i].completion_tokens, 8, 1, f);
    fwrite(g->buffer, sizeof *g->buffer, g->buffer_count, f);
    fclose(f);
}

/* Best of three: the machine has other work. */
static bool measure(const struct records *r, bool counts, struct err *e)
{
    struct method m = method_default();
    int64_t best_basis = INT64_MAX, best_all = INT64_MAX;
    double attributed = 0;
    size_t bytes = 0;
    for (int i = 0; i < 3; i++) {
        struct arena a = {0};
        struct result result;
        int64_t t = clock_thread_cpu_ns();
        if (!basis(r, &a, &attributed, e))
            return false;
        int64_t took = clock_thread_cpu_ns() - t;
        best_basis = took < best_basis ? took : best_basis;
        arena_done(&a);
        t = clock_thread_cpu_ns();
        if (!analyze(r, &m, &a, &result, e))
            return false;
        took = clock_thread_cpu_ns() - t;
        best_all = took < best_all ? took : best_all;
        bytes = a.used_bytes;
        arena_done(&a);
    }
    printf(
        "%-7s %11zu chunks: basis %6.1f M/s, all %6.1f M/s, %4.1f bytes a chunk with its record; attributed %.6f J\n",
        counts ? "counts" : "spread", r->chunk_count, million_per_s(r->chunk_count, best_basis),
        million_per_s(r->chunk_count, best_all),
        (double)(bytes + r->chunk_count * sizeof *r->chunks) / (double)r->chunk_count, attributed);
    return true;
}

/* Reading included: the whole way from a sealed run folder. */
static int from_folder(const char *folder)
{
    struct arena a = {0};
    struct records r;
    struct result result;
    struct method m = method_default();
    struct err e = {0};
    int64_t t = clock_thread_cpu_ns();
    if (!records_load(folder, &a, &r, &e) || !analyze(&r, &m, &a, &result, &e)) {
        fprintf(stderr, "bench_analysis: %s\n", e.text);
        return 1;
    }
    int64_t took = clock_thread_cpu_ns() - t;
    printf("folder  %11zu chunks: read and analysed %6.1f M/s\n", r.chunk_count, million_per_s(r.chunk_count, took));
    arena_done(&a);
    return 0;
}

int main(int argc, char **argv)
{
    static const char *const standard[] = {"100000", "1000000", "10000000"};
    const char *const *sizes = standard;
    size_t count = 3;
    const char *path = NULL;
    if (argc == 3 && strcmp(argv[1], "--folder") == 0)
        return from_folder(argv[2]);
    if (argc > 2 && strcmp(argv[1], "--dump") == 0) {
        path = argv[2];
        argv += 2;
        argc -= 2;
    }
    if (argc > 1) {
        sizes = (const char *const *)(argv + 1);
        count = (size_t)argc - 1;
    }
    for (size_t i = 0; i < count; i++)
        for (int counts = 0; counts < 2; counts++) {
            struct arena a = {0};
            struct records r;
            struct err e = {0};
            int64_t n;
            if (!num_i64(span_of(sizes[i]), &n) || n < 10000) {
                fprintf(stderr, "bench_analysis: \"%s\" is no number of chunks from 10000.\n", sizes[i]);
                return 2;
            }
            synthetic_make((size_t)n, counts, &a, &r);
            if (path && i == 0 && counts)
                dump(&r, path);
            if (!measure(&r, counts, &e)) {
                fprintf(stderr, "bench_analysis: %s\n", e.text);
                return 1;
            }
            arena_done(&a);
        }
    return 0;
}
