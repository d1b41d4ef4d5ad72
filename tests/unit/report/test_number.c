#include "check.h"
#include <math.h>
#include "base/num.h"
#include "report/number.h"
#include "report/table.h"
#include "text/wrap.h"

static void expect(struct buf *b, const char *text)
{
    assert_string_equal(buf_text(b), text);
    buf_clear(b);
}

static void places_give_two_digits_of_the_uncertainty(void **state)
{
    (void)state;
    assert_int_equal(number_places(12.34), 0);
    assert_int_equal(number_places(1.2), 1);
    assert_int_equal(number_places(0.0124), 3);
    assert_int_equal(number_places(0.0996), 2); /* rounds to 0.10 */
    assert_int_equal(number_places(0.0994), 3); /* rounds to 0.099 */
    assert_int_equal(number_places(2650), -2);
}

static void a_value_is_rounded_as_its_uncertainty(void **state)
{
    (void)state;
    struct buf b = {0};
    struct quantity q = quantity_of(44168.53);
    q.instrument = 12.34;
    number_put_quantity(&b, &q);
    expect(&b, "44 169");
    number_put_uncertainty(&b, q.instrument);
    expect(&b, "± 12");
    q.instrument = 2650;
    number_put_quantity(&b, &q);
    expect(&b, "44 200");
    number_put_uncertainty(&b, q.instrument);
    expect(&b, "± 2700");
    q = quantity_of(0.0423651);
    q.instrument = 0.0000124;
    number_put_quantity(&b, &q);
    expect(&b, "0.042365");
    number_put_uncertainty(&b, q.instrument);
    expect(&b, "± 0.000012");
    number_put_uncertainty(&b, NAN);
    expect(&b, "");
    buf_done(&b);
}

static void without_uncertainty_five_digits_stand(void **state)
{
    (void)state;
    struct buf b = {0};
    const struct {
        double value;
        const char *text;
    } cases[] = {
        {0.0423651, "0.042365"}, {1234.5678, "1234.6"}, {15204.2, "15 204"}, {1042561.4, "1 042 561"}, {0, "0"},
        {-3.25, "-3.2500"},      {99999.6, "100 000"},  {12.3, "12.300"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        number_put_digits(&b, cases[i].value, NUMBER_DIGITS);
        expect(&b, cases[i].text);
    }
    number_put(&b, -0.04, 1); /* never "-0.0" */
    expect(&b, "0.0");
    number_put_i64(&b, 1042561);
    expect(&b, "1 042 561");
    number_put_i64(&b, -1234);
    expect(&b, "-1234");
    number_put_i64(&b, ABSENT_I64);
    expect(&b, "not recorded");
    buf_done(&b);
}

/* What overflows when a stored value changes its unit. */
static void infinity_is_printed_as_it_is(void **state)
{
    (void)state;
    struct buf b = {0};
    struct quantity q = quantity_of(INFINITY);
    number_put_quantity(&b, &q);
    expect(&b, "inf");
    q = quantity_of(-INFINITY);
    q.instrument = INFINITY;
    number_put_quantity(&b, &q);
    expect(&b, "-inf");
    buf_done(&b);
}

static void the_absent_shows_its_state(void **state)
{
    (void)state;
    struct buf b = {0};
    struct quantity q = quantity_absent(Q_NOT_REACHED, "too few requests");
    number_put_quantity(&b, &q);
    expect(&b, "not reached");
    q = (struct quantity){0}; /* a zeroed quantity is absent, not 0 */
    number_put_quantity(&b, &q);
    expect(&b, "not recorded");
    q = quantity_of(NAN);
    number_put_quantity(&b, &q);
    expect(&b, "not recorded");
    buf_done(&b);
}

static void columns_align_by_code_points(void **state)
{
    (void)state;
    struct arena a = {0};
    struct table t;
    struct buf b = {0};
    table_init(&t, &a, "lrl");
    table_cell(&t, "stage");
    table_cell(&t, "J");
    table_cell(&t, "±");
    table_end_row(&t);
    table_cell(&t, "a");
    table_fmt(&t, "%d", 1234);
    table_end_row(&t);
    table_put(&t, &b, 2);
    expect(&b, "  stage     J  ±\n  a      1234\n");
    text_wrap(&b, "one two ±hree four", 2, 4, 11);
    expect(&b, "one two\n    ±hree\n    four\n");
    buf_done(&b);
    arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_give_two_digits_of_the_uncertainty),
        cmocka_unit_test(a_value_is_rounded_as_its_uncertainty),
        cmocka_unit_test(without_uncertainty_five_digits_stand),
        cmocka_unit_test(infinity_is_printed_as_it_is),
        cmocka_unit_test(the_absent_shows_its_state),
        cmocka_unit_test(columns_align_by_code_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
