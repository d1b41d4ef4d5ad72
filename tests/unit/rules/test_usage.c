/* When an engine's count of tokens agrees with its clients', and when requests of its own explain the rest. */
#include "check.h"
#include "base/num.h"
#include "rules/usage.h"

static struct usage_count of(double tokens, double requests)
{
    return (struct usage_count){tokens, requests};
}

/* An engine of `workers` that has warmed up `seen` of them before the formal start and `late` within the stage, by
 * requests of `one` tokens, beside a warm-up of 9 requests and 620 tokens and a load of 400 and 16 000. */
static struct usage_verdict judge(int64_t one, int64_t workers, int64_t seen, int64_t late)
{
    struct usage_count told_before = of(620, 9), told = of(16000, 400);
    struct usage_count before = of(620 + (double)(seen * one), 9 + (double)seen);
    struct usage_count after = of(before.tokens + 16000 + (double)(late * one), before.requests + 400 + (double)late);
    return usage_judge(before, after, told_before, told, (struct usage_own){one, workers});
}

/* Every number of workers, of those seen before and of those that come late: explained as long as they are no more than
 * the workers. */
static void no_more_than_can_still_come(void **state)
{
    (void)state;
    static const int64_t tokens[] = {1, 8, 16};
    for (size_t t = 0; t < 3; t++)
        for (int64_t workers = 0; workers <= 5; workers++)
            for (int64_t seen = 0; seen <= 5; seen++)
                for (int64_t late = 0; late <= 5; late++) {
                    struct usage_verdict v = judge(tokens[t], workers, seen, late);
                    bool enough = seen + late <= workers;
                    assert_int_equal(v.reason, late == 0 ? USAGE_EQUAL : enough ? USAGE_EXPLAINED : USAGE_TOO_MANY);
                    assert_int_equal(usage_agrees(&v), late == 0 || enough);
                    assert_int_equal(v.own, late && enough ? late : 0);
                    assert_int_equal(v.seen, seen);
                    assert_close(v.surplus, (double)(late * tokens[t]), 0);
                }
}

/* One number off, in either count, before or after: never explained. 4 workers, 2 seen, 2 late, of 8 tokens each. */
static void one_off_is_not_explained(void **state)
{
    (void)state;
    const struct usage_count told_before = of(620, 9), told = of(16000, 400), before = of(636, 11),
                             after = of(16652, 413);
    const struct usage_own own = {8, 4};
    struct usage_verdict v = usage_judge(before, after, told_before, told, own);
    assert_int_equal(v.reason, USAGE_EXPLAINED);
    for (int off = -20; off <= 20; off++) {
        if (off == 0)
            continue;
        /* 16 - 8 is one of them, but then two requests ended. */
        v = usage_judge(before, of(after.tokens + off, after.requests), told_before, told, own);
        assert_int_equal(v.reason, off == -16  ? USAGE_EQUAL
                                   : off < -16 ? USAGE_FEWER
                                   : off % 8   ? USAGE_NOT_A_MULTIPLE
                                               : USAGE_OTHER_REQUESTS);
        v = usage_judge(before, of(after.tokens, after.requests + off), told_before, told, own);
        assert_int_equal(v.reason, USAGE_OTHER_REQUESTS);
        v = usage_judge(of(before.tokens, before.requests + off), of(after.tokens, after.requests + off), told_before,
                        told, own);
        assert_int_equal(v.reason, USAGE_BEFORE_UNKNOWN);
        v = usage_judge(of(before.tokens + off, before.requests), of(after.tokens + off, after.requests), told_before,
                        told, own);
        assert_int_equal(v.reason, USAGE_BEFORE_UNKNOWN);
    }
}

/* Whatever is not known explains nothing, and an equal count needs none of it. */
static void the_unknown_explains_nothing(void **state)
{
    (void)state;
    const double none = NAN;
    const struct usage_count told = of(100, 5);
    const struct {
        struct usage_count before, after, told_before;
        struct usage_own own;
        enum usage_reason reason;
    } cases[] = {
        {of(60, 9), of(168, 15), of(60, 9), {8, 4}, USAGE_EXPLAINED},
        {of(60, 9), of(168, 15), of(60, 9), {ABSENT_I64, 4}, USAGE_OWN_UNKNOWN},
        {of(60, 9), of(168, 15), of(60, 9), {0, 4}, USAGE_OWN_UNKNOWN},
        {of(60, 9), of(168, 15), of(60, 9), {8, ABSENT_I64}, USAGE_OWN_UNKNOWN},
        {of(60, 9), of(168, 15), of(60, 9), {8, -1}, USAGE_OWN_UNKNOWN},
        {of(60, 9), of(168, 15), of(60, 9), {8, INT64_MIN + 1}, USAGE_OWN_UNKNOWN},
        {of(60, 9), of(168, 15), of(60, 9), {8, INT64_MAX}, USAGE_EXPLAINED},
        {of(60, 9), of(168, 15), of(60, 9), {INT64_MAX, INT64_MAX}, USAGE_NOT_A_MULTIPLE},
        {of(60, 9), of(168, none), of(60, 9), {8, 4}, USAGE_NO_REQUESTS},
        {of(60, none), of(168, none), of(60, 9), {8, 4}, USAGE_NO_REQUESTS},
        {of(60, 9), of(168, 15), of(none, none), {8, 4}, USAGE_BEFORE_UNKNOWN},
        {of(60, 9), of(160, none), of(none, none), {ABSENT_I64, ABSENT_I64}, USAGE_EQUAL},
        {of(60, 9), of(159, 14), of(60, 9), {8, 4}, USAGE_FEWER},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct usage_verdict v = usage_judge(cases[i].before, cases[i].after, cases[i].told_before, told, cases[i].own);
        assert_int_equal(v.reason, cases[i].reason);
        assert_int_equal(v.own, v.reason == USAGE_EXPLAINED ? 1 : 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_more_than_can_still_come),
        cmocka_unit_test(one_off_is_not_explained),
        cmocka_unit_test(the_unknown_explains_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
