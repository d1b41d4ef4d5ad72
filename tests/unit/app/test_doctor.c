/* What doctor finds on simulated machines, as its text and as its JSON. */
#include "check.h"

#include <stdlib.h>
#include "app/doctor.h"
#include "cli/texts.h"
#include "schema/json.h"
#include "text/json.h"

static const char library[] = JTOK_BIN "/libnvidia-ml.so.1";

static struct buf printed;

/* Gives the number of GPUs that can be measured. */
static int64_t doctor(const char *gpus, const char *fault, int64_t probe_ns, bool json)
{
    setenv("JTOK_SIM_GPUS", gpus, 1);
    setenv("JTOK_SIM_FAULT", fault, 1);
    struct arena a = {0};
    struct doctor d;
    struct err e = {0};
    assert_ok(doctor_look(library, probe_ns, &a, &d, &e), e);
    buf_clear(&printed);
    if (json)
        schema_json_write(&doctor_schema, &d, &printed);
    else
        text_doctor(&d, &a, &printed);
    int64_t usable = d.usable_gpus;
    arena_done(&a);
    return usable;
}

static void expect(const char *text)
{
    if (!strstr(buf_text(&printed), text)) {
        print_error("\"%s\" is not in:\n%s\n", text, buf_text(&printed));
        fail();
    }
}

static void two_gpus_are_described(void **state)
{
    (void)state;
    assert_int_equal(doctor("2", "busy_process:1", 0, false), 2);
    expect("Driver 580.0-simulated, NVML 13.580.0-simulated, from " JTOK_BIN);
    expect("[simulated]");
    expect("GPU 1  Simulated H200  GPU-00000001-0000-0000-0000-000000000052");
    expect("limit 700 W (default 700 W, range 200 W to 700 W); MIG off; persistence on");
    expect("compute processes: none; memory used 615 MiB");
    expect("compute processes: 1 (553 MiB); memory used 1168 MiB");
    expect("Limits  GPU 1 is in use by 1 compute process; a run needs it idle.");
    expect("2 of 2 GPUs can be measured.");
    assert_null(strstr(buf_text(&printed), "read p50"));
}

/* The place of `key` and its number in the JSON document. */
static int64_t number_of(const char *key)
{
    struct json j;
    int64_t value = ABSENT_I64;
    json_init(&j, buf_span(&printed));
    for (enum json_kind k; (k = json_next(&j)) != JSON_END;) {
        assert_int_not_equal(k, JSON_ERROR);
        if (k != JSON_KEY || !json_is(&j, key))
            continue;
        if (json_next(&j) == JSON_NUMBER)
            assert_true(json_i64(&j, &value));
        break;
    }
    return value;
}

/* In real time, 3 s: the simulation's counter has a new value each 100.06 ms and takes 3.6 to 4.7 ms. */
static void readings_are_measured(void **state)
{
    (void)state;
    assert_int_equal(doctor("1", "", INT64_C(3000000000), true), 1);
    assert_int_equal(number_of("usable_gpus"), 1);
    assert_int_equal(number_of("power_limit_mw"), 700000);
    assert_int_equal(number_of("buffer_depth"), 119);
    assert_close((double)number_of("power_mw"), 78500, 300);
    assert_true(number_of("open_files_soft") != 0);
    assert_true(number_of("clock_read_ns") > 0);
    const char *counter = strstr(buf_text(&printed), "\"series\": \"counter\"");
    assert_non_null(counter);
    int64_t period_ns = strtoll(strstr(counter, "\"period_ns\":") + 12, NULL, 10);
    assert_close((double)period_ns, 100.06e6, 4e6); /* each end is right to a read, over 28 steps */
}

static void what_can_not_be_measured_says_why(void **state)
{
    (void)state;
    assert_int_equal(doctor("2", "mig:0,no_permission:1", 0, false), 0);
    expect("nvidia-smi -i 0 -mig 0");
    expect("GPU 1 can't be read: no permission");
    expect("Nothing can be measured here.");
    assert_int_equal(doctor("1", "no_driver", 0, false), 0);
    expect("No driver was found.");
    expect("modprobe nvidia");
    expect("open files");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(two_gpus_are_described),
                                       cmocka_unit_test(readings_are_measured),
                                       cmocka_unit_test(what_can_not_be_measured_says_why)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    buf_done(&printed);
    return failed;
}
