/* The probe in real time on two simulated GPUs, whose periods are known by construction. */
#include "check.h"

#include <stdlib.h>
#include "power/probe.h"

/* Times are told within what a machine adds that is busy with other tests; a wrong column or unit is further off. */
static void periods_and_costs_are_found(void **state)
{
    (void)state;
    struct err e;
    struct device *d;
    struct probe p[2];
    const uint32_t gpus[] = {0, 1};
    setenv("JTOK_SIM_GPUS", "2", 1);
    setenv("JTOK_SIM_FAULT", "no_buffer:1,no_counter:1", 1);
    assert_ok(device_open(&(struct plan_power){.library = JTOK_BIN "/libnvidia-ml.so.1"}, &d, &e), e);
    assert_ok(probe_gpus(d, gpus, 2, INT64_C(1500000000), p, &e), e);
    device_close(d);
    assert_close((double)p[0].counter.period_ns, 100.06e6, 15e6);
    assert_close((double)p[0].power.period_ns, 100e6, 15e6);
    assert_close((double)p[0].buffer.period_ns, 20e6, 1e4);
    assert_int_equal(p[0].buffer_depth, 119);
    assert_int_equal(p[0].buffer_span_ns, 118 * INT64_C(20000000));
    assert_in_range(p[0].buffer_age_ns, 0, 250000000);
    assert_in_range(p[0].counter.call_p50_ns, 3600000, 60000000);
    assert_true(p[0].power.call_p50_ns < 1000000);
    assert_close(p[0].power_mw, 78500, 300);
    assert_false(p[1].counter.supported);
    assert_false(p[1].buffer.supported);
    assert_int_equal(p[1].counter.period_ns, ABSENT_I64);
    assert_int_equal(p[1].buffer_depth, ABSENT_I64);
    assert_true(p[1].power.supported);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(periods_and_costs_are_found)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
