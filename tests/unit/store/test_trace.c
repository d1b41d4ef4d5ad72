/* Times of a trace: columns, units, dates, and what is said of a file that has none. */
#include <stdlib.h>
#include "check.h"
#include "store/trace.h"

static void reads(const char *text, double scale, const int64_t *times, size_t n)
{
    struct trace t = {0};
    struct err e;
    assert_ok(trace_read(span_of(text), "t.csv", scale, &t, &e), e);
    assert_int_equal(t.count, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(t.times_ns[i], times[i]);
    trace_done(&t);
    trace_done(&t);
}

static void refuses(const char *text, const char *said)
{
    struct trace t = {0};
    struct err e = {0};
    assert_false(trace_read(span_of(text), "t.csv", 1, &t, &e));
    if (!strstr(e.text, said))
        print_error("%s\n", e.text);
    assert_non_null(strstr(e.text, said));
    assert_int_equal(e.kind, ERR_PLAN);
    assert_null(t.times_ns);
}

static void times_begin_at_zero(void **state)
{
    (void)state;
    static const int64_t plain[] = {0, 500000000, 500000000, 2000000000};
    reads("t_s\n10\n10.5\n10.5\n12\n", 1, plain, 4);
    reads("id,Timestamp,tokens\na,10,3\nb,10.5,4\nc,10.5,5\nd,12,6", 1, plain, 4); /* no line feed at the end */
    reads("10\n10.5\n\n10.5\n12\n", 1, plain, 4);                                  /* no header */
    reads("t_ms\n0\n500\n500\n2000\n", 1, plain, 4);
    static const int64_t fast[] = {0, 250000000, 250000000, 1000000000};
    reads("time\n10\n10.5\n10.5\n12\n", 0.5, fast, 4);
}

/* As of Azure's trace of 2023. */
static void dates_are_times(void **state)
{
    (void)state;
    static const int64_t times[] = {0, 2000000000, 86400000000000};
    reads("TIMESTAMP,ContextTokens,GeneratedTokens\n"
          "2023-11-16 23:59:58.5,4808,10\n"
          "2023-11-17 00:00:00.5000,110,27\n"
          "2023-11-17T23:59:58.5Z,110,27\n",
          1, times, 3);
    static const int64_t leap[] = {0, 2 * 86400 * INT64_C(1000000000)};
    reads("2024-02-28 00:00:00\n2024-03-01 00:00:00\n", 1, leap, 2);
    static const int64_t none[] = {0, 86400 * INT64_C(1000000000)};
    reads("2100-02-28 00:00:00\n2100-03-01 00:00:00\n", 1, none, 2);
}

static void what_is_wrong_is_said(void **state)
{
    (void)state;
    refuses("", "t.csv has no times");
    refuses("t_s\n", "t.csv has no times");
    refuses("a,b\n1,2\n", "t.csv:1: The file has no column of times");
    refuses("1,2\n", "t.csv:1: The file has no column of times");
    refuses("t_s\n1\nsoon\n", "t.csv:3: \"soon\" is not a time");
    refuses("t_s\n2\n1\n", "t.csv:3: The time 1 is before");
    refuses("t_s,n\n2,1\n3\n", "t.csv:3: The line has 1 columns, but the first has 2");
    refuses("t_s\n0\n1e12\n", "over 30 years");
    refuses("2024-13-01 00:00:00\n", "t.csv:1: The file has no column of times");
    refuses("t_s\nnan\n", "\"nan\" is not a time");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_begin_at_zero),
        cmocka_unit_test(dates_are_times),
        cmocka_unit_test(what_is_wrong_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
