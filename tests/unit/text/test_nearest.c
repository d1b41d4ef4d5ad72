#include "check.h"

#include "text/nearest.h"

static size_t distance(const char *a, const char *b)
{
    return edit_distance(span_of(a), span_of(b));
}

static void distances_are_edits(void **state)
{
    (void)state;
    assert_int_equal(distance("", "abc"), 3);
    assert_int_equal(distance("cuont", "count"), 1); /* neighbours swapped */
    assert_int_equal(distance("kitten", "sitting"), 3);
    assert_int_equal(distance("same", "same"), 0);
}

/* A metric: the same both ways, zero for equal words alone, and no detour over a third word is shorter. (Swaps of
 * neighbours break the last for some words, not for these.) */
static void a_distance_is_a_distance(void **state)
{
    (void)state;
    static const char *const words[] = {"", "a", "count", "county", "kind", "king", "requests", "request"};
    enum { WORDS = sizeof words / sizeof *words };
    for (size_t i = 0; i < WORDS; i++)
        for (size_t k = 0; k < WORDS; k++) {
            assert_int_equal(distance(words[i], words[k]), distance(words[k], words[i]));
            assert_int_equal(distance(words[i], words[k]) == 0, i == k);
            for (size_t m = 0; m < WORDS; m++)
                assert_true(distance(words[i], words[k]) <=
                            distance(words[i], words[m]) + distance(words[m], words[k]));
        }
}

/* What is far from all was not meant; of two that are equally near, the first. */
static void only_what_is_near_is_named(void **state)
{
    (void)state;
    static const char *const names[] = {"text", "json", "csv", "tent", NULL};
    assert_string_equal(nearest_of(span_of("jsn"), names), "json");
    assert_string_equal(nearest_of(span_of("tect"), names), "text");
    assert_string_equal(nearest_of(span_of("test"), names), "text");
    assert_string_equal(nearest_of(span_of("csv"), names), "csv");
    assert_null(nearest_of(span_of("parquet"), names));
    assert_null(nearest_of(span_of(""), names));
    assert_null(nearest_of(span_of("x"), names)); /* one edit off "csv" would replace all of it */
}

static void long_words_cost_no_more_than_their_length(void **state)
{
    (void)state;
    char longer[300];
    memset(longer, 'x', sizeof longer);
    assert_int_equal(edit_distance((struct span){longer, sizeof longer}, span_of("x")), sizeof longer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distances_are_edits),
        cmocka_unit_test(a_distance_is_a_distance),
        cmocka_unit_test(only_what_is_near_is_named),
        cmocka_unit_test(long_words_cost_no_more_than_their_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
