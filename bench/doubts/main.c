/* bench_doubts PATH...: how often each ± holds, over run folders, recordings and files of power. Prints a table for
 * each (grids drawn at 50 phases, then synthetic runs in its shape), and one over all of them. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "golden/coverage.h"
#include "golden/recording.h"
#include "store/records.h"

enum { PHASES = 50, SYNTHETIC = 400 };

static bool load(const char *dir, struct arena *a, struct records *r, struct err *e)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/plan.json", dir);
    if (access(path, F_OK) == 0)
        return records_load(dir, a, r, e);
    return strstr(dir, ".csv") ? recording_load_power(dir, a, r, e) : recording_load(dir, a, r, e);
}

static void print(struct coverage *c)
{
    printf("%-62s %6s %8s %9s %9s %8s\n", "", "cases", "held", "median ±", "error", "no ±");
    for (size_t i = 0; i < c->count; i++) {
        struct coverage_row *x = &c->rows[i];
        printf("%-62s %6zu %6.1f %% %7.2f %% %7.2f %% %8zu\n", x->name, x->n,
               x->n ? 100.0 * (double)x->held / (double)x->n : 0.0, 100 * coverage_median(x->doubts, x->n),
               100 * coverage_median(x->errors, x->n), x->without);
    }
    coverage_done(c);
}

int main(int argc, char **argv)
{
    static struct coverage c, all;
    for (int i = 1; i < argc; i++) {
        struct arena a = {0};
        struct records r = {0};
        struct err e = {0};
        if (!load(argv[i], &a, &r, &e)) {
            fprintf(stderr, "bench_doubts: %s\n", e.text);
            return 1;
        }
        const char *slash = strrchr(argv[i], '/');
        coverage_of_recording(&c, slash ? slash + 1 : argv[i], &r, PHASES);
        coverage_synthetic(&c, "synthetic", &r, SYNTHETIC);
        print(&c);
        coverage_of_recording(&all, "all", &r, PHASES);
        coverage_synthetic(&all, "all synthetic", &r, SYNTHETIC);
        arena_done(&a);
    }
    print(&all);
    return 0;
}
