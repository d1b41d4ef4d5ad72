/* JTOK_SIM_SEED: the same plan runs a little otherwise under each seed, and exactly as ever without one. */
#include "check.h"
#include <stdlib.h>
#include "base/clock.h"
#include "sim/engine/options.h"
#include "sim/seed.h"
#include "sim/state.h"
#include "sim/truth.h"

static double factor(enum sim_seed_of of, const char *seed)
{
    struct err e = {0};
    double f = 0;
    if (seed)
        setenv("JTOK_SIM_SEED", seed, 1);
    else
        unsetenv("JTOK_SIM_SEED");
    assert_ok(sim_seed_factor(of, &f, &e), e);
    return f;
}

static void seeds_scatter_by_about_one_percent(void **state)
{
    (void)state;
    enum { SEEDS = 2000 };
    double sum[2] = {0}, squares[2] = {0}, products = 0;
    for (int i = 0; i < SEEDS; i++) {
        char seed[16];
        snprintf(seed, sizeof seed, "%d", i);
        double d[2];
        for (int of = 0; of < 2; of++) {
            d[of] = factor((enum sim_seed_of)of, seed) - 1;
            assert_true(factor((enum sim_seed_of)of, seed) - 1 == d[of]); /* the same for the same seed */
            assert_true(fabs(d[of]) < 0.035);
            sum[of] += d[of];
            squares[of] += d[of] * d[of];
        }
        products += d[0] * d[1];
    }
    for (int of = 0; of < 2; of++) {
        assert_close(sum[of] / SEEDS, 0, 0.001); /* 0.01 / sqrt 2000 = 0.0002 */
        assert_close(sqrt(squares[of] / SEEDS), 0.01, 0.0005);
    }
    assert_close(products / sqrt(squares[0] * squares[1]), 0, 0.1); /* speed and power each on its own */
}

static void without_a_seed_nothing_moves(void **state)
{
    (void)state;
    assert_true(factor(SIM_SEED_SPEED, NULL) == 1 && factor(SIM_SEED_POWER, NULL) == 1);
    struct options o;
    struct err e = {0};
    char serve[] = "serve", model[] = "m", *argv[] = {serve, model};
    assert_ok(options_read(&o, 2, argv, &e), e);
    assert_true(o.time_scale == 1);
}

static void what_is_no_seed_is_refused(void **state)
{
    (void)state;
    static const char *const seeds[] = {"", "x", "-1", "1.5", " 1", "1 ", "0x1", "99999999999999999999999"};
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        struct err e = {0};
        double f = 7;
        setenv("JTOK_SIM_SEED", seeds[i], 1);
        assert_false(sim_seed_factor(SIM_SEED_POWER, &f, &e));
        assert_true(f == 7);
        assert_non_null(strstr(e.text, "is not a whole number from 0 on."));
    }
    unsetenv("JTOK_SIM_SEED");
}

/* The engine's durations and the GPU's true power, idle and loaded, are moved by the factor. */
static void a_seed_moves_speed_and_power(void **state)
{
    (void)state;
    double speed = factor(SIM_SEED_SPEED, "5"), power = factor(SIM_SEED_POWER, "5");
    assert_true(speed != 1 && power != 1 && speed != power);
    struct options o;
    struct err e = {0};
    char serve[] = "serve", model[] = "m", scale[] = "--sim-time-scale=2", *argv[] = {serve, model, scale};
    assert_ok(options_read(&o, 3, argv, &e), e);
    assert_close(o.time_scale, 2 * speed, 1e-15);
    unsetenv("JTOK_SIM_STATE");
    struct sim_state *s;
    assert_ok(sim_state_open(NULL, 1, &s, &e), e);
    int64_t now_ns = clock_now_ns();
    assert_true(sim_step_add(s, 0, now_ns, 500000));
    assert_int_equal(sim_power_mw(s, 0, now_ns - 1), llround(SIM_IDLE_MW * power));
    assert_int_equal(sim_power_mw(s, 0, now_ns + 1), llround(500000 * power));
    assert_close_rel(sim_energy_mj(s, 0, now_ns, now_ns + 2000000000), 1e6 * power, 1e-12);
    sim_state_close(s);
    unsetenv("JTOK_SIM_SEED");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seeds_scatter_by_about_one_percent),
        cmocka_unit_test(without_a_seed_nothing_moves),
        cmocka_unit_test(what_is_no_seed_is_refused),
        cmocka_unit_test(a_seed_moves_speed_and_power),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
