/* Each ± holds in at least 95 % of the cases of its kind, against what it is not made of; and none is so wide that it
 * says nothing. Recordings of real boards; bench/doubts prints the whole table. */
#include "check.h"
#include <stdlib.h>
#include <unistd.h>
#include "golden/coverage.h"
#include "golden/recording.h"
#include "store/records.h"

enum { PHASES = 50, SYNTHETIC_RUNS = 200 };

static void judge(struct coverage *c)
{
    assert_true(c->count > 0);
    for (size_t i = 0; i < c->count; i++) {
        struct coverage_row *row = &c->rows[i];
        /* Alone, a grid says nothing of a release or of 10 s; then there is no ±, rather than one that is too small. */
        bool speechless = strstr(row->name, "alone") && !strstr(row->name, "startup") && !strstr(row->name, "formal") &&
                          !strstr(row->name, "lifecycle");
        if (speechless) {
            assert_int_equal(row->n, 0);
            continue;
        }
        assert_int_equal(row->without, 0);
        assert_true(row->n >= 20);
        if ((double)row->held < 0.95 * (double)row->n)
            fail_msg("%s: held in %zu of %zu", row->name, row->held, row->n);
    }
    coverage_done(c);
}

/* The whole run that lies beside the documents, and recordings, which are no part of the project. */
static const char *const recordings[] = {JTOK_SOURCE "/docs/examples/h200-vllm-750",
                                         JTOK_SHARED "/h200/vllm-0.24.0/front1", JTOK_SHARED "/h200/vllm-0.24.0/front4",
                                         JTOK_SHARED "/h200/sglang-0.5.16", JTOK_SHARED "/h200/bursts_x4.csv"};
enum { RECORDINGS = sizeof recordings / sizeof *recordings };

/* False: it is not here. */
static bool load(size_t i, struct arena *a, struct records *r)
{
    struct err e = {0};
    if (i > 0 && access(JTOK_SHARED "/h200", R_OK) != 0)
        return false;
    if (i == 0)
        assert_ok(records_load(recordings[i], a, r, &e), e);
    else if (strstr(recordings[i], ".csv"))
        assert_ok(recording_load_power(recordings[i], a, r, &e), e);
    else
        assert_ok(recording_load(recordings[i], a, r, &e), e);
    return true;
}

/* A kind is a stage under one set of instruments, over all recordings. */
static void grids_drawn_at_every_phase(void **state)
{
    (void)state;
    static struct coverage c;
    for (size_t i = 0; i < RECORDINGS; i++) {
        struct arena a = {0};
        struct records r = {0};
        if (load(i, &a, &r))
            coverage_of_recording(&c, "recorded", &r, PHASES);
        arena_done(&a);
    }
    judge(&c);
}

static void runs_whose_power_is_known(void **state)
{
    (void)state;
    static struct coverage c;
    for (size_t i = 0; i < RECORDINGS; i++) {
        struct arena a = {0};
        struct records r = {0};
        if (load(i, &a, &r))
            coverage_synthetic(&c, "synthetic", &r, SYNTHETIC_RUNS);
        arena_done(&a);
    }
    judge(&c);
}

/* METHOD section 11: a window may begin and end in a jump of the power, and has its ± all the same. */
static void windows_that_begin_in_a_jump(void **state)
{
    (void)state;
    static struct coverage c;
    coverage_windows(&c, 100);
    for (size_t i = 0; i < c.count; i++) {
        struct coverage_row *row = &c.rows[i];
        double doubt = coverage_median(row->doubts, row->n); /* sorts them */
        print_message("%s: held in %zu of %zu, median ± %.3f %%, at most %.3f %%, median error %.3f %%\n", row->name,
                      row->held, row->n, 100 * doubt, 100 * row->doubts[row->n - 1],
                      100 * coverage_median(row->errors, row->n));
        bool jumps = strstr(row->name, "burst, 10 s, counter"); /* two jumps, each of up to 25 ms of its height */
        if (strstr(row->name, "10 s") || strstr(row->name, "30 s"))
            assert_true((jumps ? doubt : row->doubts[row->n - 1]) <= 0.005);
    }
    judge(&c);
}

/* A startup by the grid: ± a few percent, not tens. */
static void no_doubt_is_idle(void **state)
{
    (void)state;
    static struct coverage c;
    struct arena a = {0};
    struct records r = {0};
    assert_true(load(0, &a, &r));
    coverage_of_recording(&c, "the example", &r, PHASES);
    for (size_t i = 0; i < c.count; i++) {
        struct coverage_row *row = &c.rows[i];
        if (row->n == 0 || strstr(row->name, "alone"))
            continue;
        double limit = strstr(row->name, "release") ? 0.25 : 0.06;
        if (!(coverage_median(row->doubts, row->n) < limit))
            fail_msg("%s: a median ± of %.2f %%", row->name, 100 * coverage_median(row->doubts, row->n));
    }
    coverage_done(&c);
    arena_done(&a);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    if (access(JTOK_SHARED "/h200", R_OK) != 0)
        printf("without the recordings, as %s is not there\n", JTOK_SHARED);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grids_drawn_at_every_phase), cmocka_unit_test(runs_whose_power_is_known),
        cmocka_unit_test(windows_that_begin_in_a_jump), cmocka_unit_test(no_doubt_is_idle)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
