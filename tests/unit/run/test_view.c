/* What a progress line is made of. */
#include "fake_device.h"
#include "made.h"
#include "run/view.h"

/* 500 chunks in a second, then none in half a second, which is too short for another look; then 100 in two seconds. */
static void a_rate_is_that_of_the_last_second(void **state)
{
    (void)state;
    struct rate r = {0};
    assert_true(isnan(rate_look(&r, 5 * SECOND_NS, 1000))); /* the first look has nothing to compare with */
    assert_close(rate_look(&r, 6 * SECOND_NS, 1500), 500, 1e-9);
    assert_close(rate_look(&r, 6 * SECOND_NS + SECOND_NS / 2, 1500), 500, 1e-9);
    assert_close(rate_look(&r, 8 * SECOND_NS, 1600), 50, 1e-9);
}

static void a_view_before_anything_is_sent(void **state)
{
    (void)state;
    static const uint32_t places[] = {1};
    struct made d;
    struct fake_device device;
    struct observer v;
    struct service s = {.note = "Loading weights"};
    struct rate rate = {0};
    made_open(&d);
    made_begin(&d);
    fake_device_init(&device);
    observer_init(
        &v, &d.machine,
        &(struct observer_options){.device = &device.device, .gpus = places, .gpu_count = 1, .grid_ns = SECOND_NS});
    stage_enter(&d.machine, RUN_START);
    observer_take(&v, 0, &(struct sampler_live){.sequence = 1, .mw = 120000});
    struct run_view view = view_make(&d.machine, &s, &v, &(struct load_list){0}, &rate);
    assert_int_equal(view.stage, RUN_START);
    assert_close(view.watts, 120, 1e-9);
    assert_string_equal(view.note, "Loading weights");
    assert_true(view.stage_elapsed_ns >= 0 && view.stage_elapsed_ns <= view.elapsed_ns);
    assert_true(isnan(view.chunks_per_s));
    assert_int_equal(view.requests, 0);
    assert_false(view.interrupted);
    stage_interrupt(&d.machine);
    s.note[0] = 0;
    view = view_make(&d.machine, &s, &v, &(struct load_list){0}, &rate);
    assert_true(view.interrupted);
    assert_null(view.note);
    observer_done(&v);
    made_close(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rate_is_that_of_the_last_second),
        cmocka_unit_test(a_view_before_anything_is_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
