/* Events read by their shape: what they say, by hand; when a shape is known and when none can be. That the answer is
 * event_read's for any bytes is the fuzz target's part (tests/fuzz/fuzz_event.c). */
#include "../../check.h"
#include "base/num.h"
#include "http/event_shape.h"

static struct event_said read_event(struct event_shapes *s, const char *text)
{
    struct event_said said;
    assert_true(event_shapes_read(s, span_of(text), &said));
    return said;
}

#define CHAT(id, created, text)                                                                                        \
    "{\"id\":\"" id "\",\"created\":" created ",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" text              \
    "\"},\"finish_reason\":null}],\"system_fingerprint\":\"v1\"}"

static void values_come_from_the_holes(void **state)
{
    (void)state;
    struct event_shapes s = {0};
    assert_int_equal(read_event(&s, CHAT("a", "5", "one")).choices.visible, 3);
    assert_int_equal(s.count, 1);
    static const struct {
        const char *event;
        uint64_t bytes;
    } later[] = {
        {CHAT("b", "5", "three"), 5},
        {CHAT("", "17000000001", ""), 0},
        {CHAT("c\\\"d", "0", "a\\n\\u00e4\\ud83d\\ude00\\\\"), 9}, /* 1 + 1 + 2 + 4 + 1 */
        {CHAT("e", "5", "\xc3\xa4"), 2},
    };
    for (size_t i = 0; i < sizeof later / sizeof *later; i++) {
        struct event_said said = read_event(&s, later[i].event);
        assert_int_equal(said.choices.visible, later[i].bytes);
        assert_int_equal(said.choices.reasoning, 0);
        assert_true(said.choices.any && !said.choices.role && !said.choices.finished);
        assert_true(span_is(said.fingerprint, "v1"));
        assert_int_equal(s.misses, 0);
        assert_int_equal(s.count, 1);
    }
}

#define COUNTED(n, prompt)                                                                                             \
    "{\"choices\":[{\"text\":\"x\"}],\"usage\":{\"prompt_tokens\":" prompt ",\"completion_tokens\":" n "}}"

static void running_counts(void **state)
{
    (void)state;
    struct event_shapes s = {0};
    read_event(&s, COUNTED("1", "7"));
    struct event_said said = read_event(&s, COUNTED("120", "9"));
    assert_int_equal(s.misses, 0);
    assert_int_equal(said.usage.count_kind, USAGE_COUNT_INTEGER);
    assert_int_equal(said.usage.count, 120);
    assert_int_equal(said.usage.prompt, 9);
    assert_int_equal(said.usage.cached, ABSENT_I64);
}

static void numbers_that_are_not_plain_integers_are_read_in_full(void **state)
{
    (void)state;
    static const struct {
        const char *event;
        int64_t count;
    } cases[] = {
        {COUNTED("-3", "7"), -3},
        {COUNTED("5.0", "7"), 5},
        {COUNTED("2e1", "7"), 20},
        {COUNTED("1234567890123456789", "7"), 1234567890123456789}, /* 19 digits */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct event_shapes s = {0};
        read_event(&s, COUNTED("1", "7"));
        assert_int_equal(read_event(&s, cases[i].event).usage.count, cases[i].count);
        assert_int_equal(s.misses, 2); /* the first event and this one */
    }
    struct event_shapes s = {0};
    struct event_said said;
    read_event(&s, COUNTED("1", "7"));
    assert_false(event_shapes_read(&s, span_of(COUNTED("007", "7")), &said));
    assert_string_equal(said.fault, "a number with a leading zero");
}

static void what_differs_outside_the_holes_is_read_in_full(void **state)
{
    (void)state;
    struct event_shapes s = {0};
    struct event_said said;
    read_event(&s, CHAT("a", "5", "one"));
    assert_false(event_shapes_read(&s, span_of(CHAT("a", "5", "on\x01")), &said));
    assert_false(event_shapes_read(&s, span_of(CHAT("a", "5", "on\\x")), &said));
    assert_false(event_shapes_read(&s, span_of(CHAT("a", "5", "one") "}"), &said));
    struct span cut = span_of(CHAT("a", "5", "one"));
    for (cut.n--; cut.n; cut.n--)
        assert_false(event_shapes_read(&s, cut, &said));
    said = read_event(&s, "{\"id\":\"a\",\"created\":5,\"choices\":[{\"index\":0,\"delta\":{\"content\":\"one\"},"
                          "\"finish_reason\":\"stop\"}],\"system_fingerprint\":\"v1\"}");
    assert_true(said.choices.finished && span_is(said.choices.finish, "stop"));
    /* A second member that the text of the first can't hide. */
    said = read_event(&s, CHAT("a", "5", "x\\\",\\\"content\\\":\\\"yy"));
    assert_int_equal(said.choices.visible, strlen("x\",\"content\":\"yy"));
    said = read_event(&s, CHAT("a", "5", "x\",\"content\":\"yy"));
    assert_int_equal(said.choices.visible, 2);
}

/* Of equal keys the last one counts, and equal reasoning under both its names is one text: no hole can tell. */
static void events_that_have_no_shape(void **state)
{
    (void)state;
    static const char *const events[] = {
        "{\"choices\":[{\"delta\":{\"content\":\"\"}}],\"choices\":[{\"delta\":{}}]}",
        "{\"choices\":[{\"delta\":{\"content\":\"a\",\"content\":\"b\"}}]}",
        "{\"choices\":[{\"delta\":{\"content\":\"a\"}},{\"delta\":{\"content\":\"b\"}}]}",
        "{\"choices\":[{\"text\":\"a\"},{\"text\":\"b\"}]}",
        "{\"choices\":[{\"delta\":{\"reasoning\":\"a\",\"reasoning_content\":\"a\"}}]}",
        "{\"choices\":[{\"text\":\"a\"}],\"usage\":null,\"usage\":{\"completion_tokens\":1}}",
        "{\"choices\":[{\"text\":\"a\",\"finish_reason\":\"stop\"}]}",
        "{\"choices\":[{\"text\":\"a\"}],\"error\":\"no\"}",
        "{\"choices\":[],\"usage\":{\"completion_tokens\":1}}",
    };
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        struct event_shapes s = {0};
        read_event(&s, events[i]);
        assert_int_equal(s.count, 0);
    }
}

/* Streams of one load think, speak and begin at the same time: their shapes stand side by side. */
static void several_shapes(void **state)
{
    (void)state;
    static const char *const events[] = {
        "{\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}",
        "{\"choices\":[{\"delta\":{\"reasoning\":\"hm\"}}]}",
        "{\"choices\":[{\"delta\":{\"content\":\"yes\"}}]}",
        "{\"choices\":[{\"text\":\"plain\"}]}",
    };
    struct event_shapes s = {0};
    for (int round = 0; round < 8; round++) {
        for (size_t i = 0; i < 4; i++) {
            struct event_said said = read_event(&s, events[i]);
            assert_int_equal(said.choices.visible, i == 2 ? 3 : i == 3 ? 5 : 0);
            assert_int_equal(said.choices.reasoning, i == 1 ? 2 : 0);
            assert_int_equal(said.choices.role, i == 0);
            if (round >= 3)
                assert_int_equal(s.misses, 0);
        }
    }
    assert_int_equal(s.count, SHAPES);
}

/* Where each event differs in a value that has no hole, shapes are learnt at ever fewer of them. */
static void nothing_repeats(void **state)
{
    (void)state;
    struct event_shapes s = {0};
    unsigned learnt = 0;
    for (int i = 0; i < 1000; i++) {
        char event[100];
        unsigned before = s.next;
        snprintf(event, sizeof event, "{\"choices\":[{\"text\":\"a\",\"logprobs\":{\"x\":-%d.5}}]}", i);
        assert_int_equal(read_event(&s, event).choices.visible, 1);
        learnt += s.next != before;
    }
    assert_int_equal(s.misses, 1000);
    assert_int_equal(learnt, 10); /* 1, 2, 4, ... 512 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_come_from_the_holes),
        cmocka_unit_test(running_counts),
        cmocka_unit_test(numbers_that_are_not_plain_integers_are_read_in_full),
        cmocka_unit_test(what_differs_outside_the_holes_is_read_in_full),
        cmocka_unit_test(events_that_have_no_shape),
        cmocka_unit_test(several_shapes),
        cmocka_unit_test(nothing_repeats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
