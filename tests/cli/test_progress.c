/* The live line: what it holds, where it is cut, and that nobody who reads it can hold the run. */
#include "check.h"

#include <fcntl.h>
#include <unistd.h>
#include "cli/progress.h"

static struct run_view view(enum run_stage stage)
{
    return (struct run_view){.stage = stage, .elapsed_ns = 12340000000, .watts = NAN, .chunks_per_s = NAN};
}

static const char *line(const struct run_view *v, size_t columns, struct buf *b)
{
    buf_clear(b);
    progress_line(v, columns, b);
    return buf_text(b);
}

static void what_is_known_is_shown(void **state)
{
    (void)state;
    struct buf b = {0};
    struct run_view v = view(RUN_BASELINE);
    assert_string_equal(line(&v, 0, &b), "  12.3 s  baseline: idle power");
    v = view(RUN_FORMAL);
    v.watts = 623.4;
    v.requests = 9;
    v.done = 4;
    v.running = 3;
    v.failed = 2;
    v.chunks_per_s = 1234.5;
    assert_string_equal(line(&v, 0, &b),
                        "  12.3 s  formal requests  623 W  4/9 done, 3 running, 2 failed  1234 chunks/s");
    v.done = 7; /* what stays on the screen has no power of the moment after */
    v.running = 0;
    assert_string_equal(line(&v, 0, &b), "  12.3 s  formal requests  7/9 done, 0 running, 2 failed");
    buf_done(&b);
}

static void a_line_is_cut_between_characters(void **state)
{
    (void)state;
    struct buf b = {0};
    struct run_view v = view(RUN_START);
    v.note = "a\tb\x1b[31m \xc3\xa4\xe2\x82\xac"; /* a tab, an escape, ä, € */
    const char *whole = "  12.3 s  starting the engine  a b [31m \xc3\xa4\xe2\x82\xac";
    size_t n = strlen(whole);
    assert_string_equal(line(&v, n, &b), whole);
    for (size_t cut = 1; cut <= 5; cut++) {
        const char *seen = line(&v, n - cut, &b);
        size_t kept = cut <= 3 ? n - 3 : n - 5;
        assert_int_equal(strlen(seen), kept);
        assert_memory_equal(seen, whole, kept);
    }
    buf_done(&b);
}

/* A full pipe: a write would wait for ever, and CTest would end this test. */
static void a_reader_that_stops_holds_nothing(void **state)
{
    (void)state;
    int ends[2], before = dup(STDERR_FILENO);
    char bytes[4096] = {0};
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_true(fcntl(ends[1], F_SETPIPE_SZ, 4096) > 0);
    assert_int_equal(write(ends[1], bytes, sizeof bytes), sizeof bytes);
    dup2(ends[1], STDERR_FILENO);
    struct progress p;
    progress_init(&p, false);
    struct run_view v = view(RUN_BASELINE);
    progress_show(&p, &v);
    assert_int_equal(read(ends[0], bytes, sizeof bytes), sizeof bytes);
    progress_show(&p, &v); /* now it is taken */
    dup2(before, STDERR_FILENO);
    close(before);
    ssize_t n = read(ends[0], bytes, sizeof bytes - 1);
    bytes[n > 0 ? n : 0] = 0;
    assert_string_equal(bytes, "  12.3 s  baseline: idle power\n");
    progress_done(&p);
    close(ends[0]);
    close(ends[1]);
}

/* What stderr got of a view, without a terminal. */
static const char *shown(struct progress *p, const struct run_view *v, char *bytes, size_t size)
{
    int ends[2], before = dup(STDERR_FILENO);
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    dup2(ends[1], STDERR_FILENO);
    progress_show(p, v);
    dup2(before, STDERR_FILENO);
    close(before);
    ssize_t n = read(ends[0], bytes, size - 1);
    bytes[n > 0 ? n : 0] = 0;
    close(ends[0]);
    close(ends[1]);
    return bytes;
}

/* A log without a line for minutes looks like a run that hangs. */
static void a_load_has_a_line_each_ten_seconds(void **state)
{
    (void)state;
    struct progress p;
    char bytes[4096];
    int lines = 0;
    progress_init(&p, false);
    struct run_view v = view(RUN_LOAD);
    v.load = v.loads = 1;
    for (int i = 0; i <= 120; i++, v.elapsed_ns += 250000000)
        lines += *shown(&p, &v, bytes, sizeof bytes) != 0;
    assert_int_equal(lines, 4); /* at 0, 10, 20 and 30 s */
    v.stage = RUN_SILENCE;
    assert_non_null(strstr(shown(&p, &v, bytes, sizeof bytes), "silence before the load"));
    v.elapsed_ns += 60000000000;
    assert_string_equal(shown(&p, &v, bytes, sizeof bytes), "");
    progress_done(&p);
}

/* What the first Ctrl-C brings, told once: jtok stops what it started, and nothing else. */
static void an_interrupt_says_what_comes(void **state)
{
    (void)state;
    static const struct {
        bool running, asked;
        int64_t load;
        const char *said;
    } cases[] = {
        {false, false, 0, "Stopping the engine"},
        {false, false, 1, "Stopping the engine"},
        {true, false, 0, "Stopping. The service goes on."},
        {true, true, 0, "Ending the window. The service goes on."},
        {true, true, 1, "what is in flight runs to its end"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct progress p;
        char bytes[4096];
        progress_init(&p, false);
        struct run_view v = view(RUN_LOAD);
        v.running_service = cases[i].running;
        v.asked = cases[i].asked;
        v.interrupted = !cases[i].asked;
        v.load = v.loads = cases[i].load;
        assert_non_null(strstr(shown(&p, &v, bytes, sizeof bytes), cases[i].said));
        assert_null(strstr(shown(&p, &v, bytes, sizeof bytes), "jtok:"));
        progress_done(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_known_is_shown),
        cmocka_unit_test(a_line_is_cut_between_characters),
        cmocka_unit_test(a_load_has_a_line_each_ten_seconds),
        cmocka_unit_test(an_interrupt_says_what_comes),
        cmocka_unit_test(a_reader_that_stops_holds_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
