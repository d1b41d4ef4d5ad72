/* Arithmetic of values that may be absent: the state that a derived value takes, and its doubts. */
#include "check.h"
#include "base/quantity.h"

static struct quantity with_doubts(double value, double instrument, double calibration)
{
    struct quantity q = quantity_of(value);
    q.instrument = instrument;
    q.calibration = calibration;
    return q;
}

static void every_state_has_a_name_and_words(void **state)
{
    (void)state;
    for (int s = 0; s < Q_STATE_COUNT; s++) {
        struct quantity q = quantity_absent((enum q_state)s, "a reason");
        assert_non_null(q_state_names[s]);
        if (s != Q_MEASURED) /* the words are the name with spaces */
            for (size_t i = 0; q_state_names[s][i]; i++)
                assert_int_equal(quantity_state_words(&q)[i], q_state_names[s][i] == '_' ? ' ' : q_state_names[s][i]);
    }
    assert_null(q_state_names[Q_STATE_COUNT]);
    struct quantity nothing = quantity_of((double)NAN);
    assert_string_equal(quantity_state_words(&nothing), "not recorded");
}

static void a_sum_adds_doubts_and_takes_the_worst_state(void **state)
{
    (void)state;
    const struct quantity x = with_doubts(3, 0.5, 0.25), y = with_doubts(4, 1, 2);
    const struct quantity open = quantity_marked(y, Q_NOT_CLOSED, "still on"),
                          out = quantity_marked(y, Q_EXCLUDED, "no");
    const struct quantity none = quantity_absent(Q_NOT_COVERED, "no sample");
    struct quantity s = quantity_sum((const struct quantity *const[]){&x, &y}, 2);
    assert_true(s.state == Q_MEASURED && s.value == 7 && s.instrument == 1.5 && s.calibration == 2.25);
    s = quantity_sum((const struct quantity *const[]){&x, &out, &open}, 3);
    assert_true(s.state == Q_NOT_CLOSED && s.value == 11);
    assert_string_equal(s.why, "still on");
    s = quantity_sum((const struct quantity *const[]){&open, &none, &out}, 3);
    assert_true(s.state == Q_NOT_COVERED && isnan(s.value) && isnan(s.instrument));
    assert_string_equal(s.why, "no sample");
}

static void a_running_sum_is_absent_once_a_part_is(void **state)
{
    (void)state;
    struct quantity sum = with_doubts(0, (double)NAN, 0);
    const struct quantity x = with_doubts(3, 0.5, 0.25), none = quantity_absent(Q_NOT_COVERED, "no sample");
    quantity_add(&sum, &x);
    quantity_add(&sum, &x);
    assert_true(sum.value == 6 && sum.calibration == 0.5 && isnan(sum.instrument));
    quantity_add(&sum, &none);
    quantity_add(&sum, &x);
    assert_int_equal(sum.state, Q_NOT_COVERED);
    assert_true(isnan(quantity_value(&sum)));
}

static void dividing_and_scaling_carry_the_doubts(void **state)
{
    (void)state;
    const struct quantity x = with_doubts(8, 2, 4), zero = quantity_of(0);
    struct quantity q = quantity_over(&x, 4, "none");
    assert_true(q.value == 2 && q.instrument == 0.5 && q.calibration == 1);
    q = quantity_over(&x, 0, "no requests");
    assert_int_equal(q.state, Q_UNDEFINED);
    assert_string_equal(q.why, "no requests");
    q = quantity_scaled(&x, 0.5);
    assert_true(q.value == 4 && q.instrument == 1 && q.calibration == 2);
    q = quantity_inverse(&x, 16, "none");
    assert_true(q.value == 2 && q.instrument == 0.5 && q.calibration == 1);
    assert_int_equal(quantity_inverse(&zero, 16, "none").state, Q_UNDEFINED);
}

static void a_share_and_a_difference_need_a_whole(void **state)
{
    (void)state;
    const struct quantity x = with_doubts(3, 1, 1), y = with_doubts(4, 1, 1), zero = quantity_of(0);
    const struct quantity none = quantity_absent(Q_NOT_REACHED, "never");
    struct quantity q = quantity_share(&x, &y, "nothing");
    assert_true(q.value == 0.75 && isnan(q.instrument) && isnan(q.calibration));
    assert_int_equal(quantity_share(&x, &zero, "nothing").state, Q_UNDEFINED);
    assert_int_equal(quantity_share(&x, &none, "nothing").state, Q_NOT_REACHED);
    assert_int_equal(quantity_share(&none, &zero, "nothing").state, Q_UNDEFINED);
    assert_true(quantity_difference(&x, &y).value == -0.25);
    assert_int_equal(quantity_difference(&x, &zero).state, Q_UNDEFINED);
    assert_int_equal(quantity_difference(&none, &zero).state, Q_NOT_REACHED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_state_has_a_name_and_words),
                                       cmocka_unit_test(a_sum_adds_doubts_and_takes_the_worst_state),
                                       cmocka_unit_test(a_running_sum_is_absent_once_a_part_is),
                                       cmocka_unit_test(dividing_and_scaling_carry_the_doubts),
                                       cmocka_unit_test(a_share_and_a_difference_need_a_whole)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
