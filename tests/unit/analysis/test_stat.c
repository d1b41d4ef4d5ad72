/* A command's energy from records made by hand: power is known at every moment, so every value is. */
#include "check.h"
#include "made.h"
#include "analysis/stat.h"

enum { GRID_PER_S = 4, BUFFER_PER_S = 50, COUNTER_PER_S = 10 };

/* 100 W, and `w` from 10 to `end` s. */
static double power(double t, double end, double w)
{
    return t >= 10 && t < end ? w : 100;
}

static double energy(double t, double end, double w)
{
    return 100 * t + (t <= 10 ? 0 : (w - 100) * (fmin(t, end) - 10));
}

/* Half a minute of every instrument; the command is [10, end]. */
static void make(struct made *m, size_t gpus, double end, double w)
{
    static const char *words[] = {"./a.out", "--name", "it's", "", NULL};
    made_init(m, gpus);
    m->r.plan.object = OBJECT_STAT;
    m->r.plan.stat = (struct plan_stat){.command = words, .command_count = 4, .idle_s = 2, .repetition = 1};
    m->r.plan.method.grid_s = 1.0 / GRID_PER_S;
    m->r.plan.method.hold_s = 5;
    m->r.plan.method.release_wait_s = 60;
    m->r.run.id = "made";
    for (int i = 1; i <= 30; i++)
        m->r.clocks[m->r.clock_count++] = (struct rec_clock){at_s(i), 0, 100};
    for (size_t g = 0; g < gpus; g++) {
        for (int i = 0; i <= 30 * GRID_PER_S; i++) {
            double t = (double)i / GRID_PER_S;
            struct rec_gpu *x = &m->r.gpus[g];
            made_instant(m, g, t, power(t, end, w), INSTANT_GRID);
            x->state[x->state_count++] = (struct rec_gpu_state){.t_ns = at_s(t), .utilisation = 0, .processes = 0};
        }
        for (int i = 0; i <= 30 * BUFFER_PER_S; i++) /* the middle of its 20 ms: no edge falls on a sample */
            made_buffer(m, g, (i + 0.5) / BUFFER_PER_S, power((i + 0.5) / BUFFER_PER_S, end, w));
        for (int i = 0; i <= 30 * COUNTER_PER_S; i++)
            made_counter(m, g, (double)i / COUNTER_PER_S, energy((double)i / COUNTER_PER_S, end, w));
    }
    made_mark(m, 7, BOUNDARY_BASELINE_START);
    made_mark(m, 9, BOUNDARY_BASELINE_END);
    made_mark(m, 10, BOUNDARY_COMMAND_START);
    made_mark(m, end, BOUNDARY_COMMAND_END);
    m->r.boundaries[m->r.boundary_count - 1].note = "7";
}

static enum check_outcome outcome_of(const struct stat_once *o, enum check_code code)
{
    for (size_t i = 0; i < o->check_count; i++)
        if (o->checks[i].code == code)
            return o->checks[i].outcome;
    return CHECK_NOT_CHECKED;
}

static void what_it_took(void **state)
{
    (void)state;
    struct made m;
    make(&m, 2, 22, 400);
    const struct stat_once o = stat_judge(&m.r, &m.arena);
    assert_close(o.duration_s, 12, 1e-9);
    assert_int_equal(o.exit_status, 7);
    assert_int_equal(o.gpu_count, 2);
    for (size_t g = 0; g < 2; g++) {
        assert_close(o.gpus[g].energy.headline.value, 4800, 1e-6); /* the ends fall on changes of the counter */
        assert_close(o.gpus[g].energy.precise.value, 4800, o.gpus[g].energy.precise.instrument);
        /* 10 ms of a jump of 300 W at each end is in every doubt. */
        assert_true(o.gpus[g].energy.precise.instrument >= 6 && o.gpus[g].energy.precise.instrument < 15);
        assert_close(o.gpus[g].idle_w.value, 100, 1e-9);
        assert_close(o.gpus[g].average_w.value, 400, 1e-6);
    }
    assert_close(o.energy.headline.value, 9600, 1e-6);
    assert_true(o.energy.headline.instrument > 0 && o.energy.headline.instrument < 0.005 * 9600);
    assert_close(o.idle_w.value, 200, 1e-9);
    assert_int_equal(o.idle, CHECK_PASSED);
    assert_close(o.power_back_s.value, 0, 1e-9); /* the sample at the end is one */
    assert_true(o.valid);
    made_done(&m);
}

/* Both ends between two changes, where a counter that is read along a straight line is furthest off. */
static void ends_within_a_step_are_in_the_doubt(void **state)
{
    (void)state;
    for (int k = 1; k <= 9; k++) {
        double shift = k / 100.0;
        struct made m;
        make(&m, 1, 13, 400);
        struct rec_gpu *g = &m.r.gpus[0];
        for (size_t i = 0; i < g->counter_count; i++) {
            g->counter[i].t_ns += at_s(shift);
            g->counter[i].mj = (int64_t)(1000 * energy((double)g->counter[i].t_ns / 1e9, 13, 400) + 0.5);
        }
        const struct stat_once o = stat_judge(&m.r, &m.arena);
        assert_true(o.energy.headline.value < 1200);
        assert_close(o.energy.headline.value, 1200, o.energy.headline.instrument);
        assert_close(o.energy.precise.value, 1200, o.energy.precise.instrument);
        made_done(&m);
    }
}

static void power_that_stays_is_not_back(void **state)
{
    (void)state;
    struct made m;
    make(&m, 1, 22, 400);
    struct rec_gpu *g = &m.r.gpus[0];
    for (size_t i = 0; i < g->instant_count; i++)
        if (g->instant[i].t_ns >= at_s(22))
            g->instant[i].mw = 106000; /* 5 % over would be back */
    struct stat_once o = stat_judge(&m.r, &m.arena);
    assert_int_equal(o.power_back_s.state, Q_NOT_REACHED);
    for (size_t i = 0; i < g->instant_count; i++)
        if (g->instant[i].t_ns >= at_s(24))
            g->instant[i].mw = 105000;
    o = stat_judge(&m.r, &m.arena);
    assert_close(o.power_back_s.value, 2, 1e-9);
    m.r.boundary_count = 0; /* no look before: no level */
    made_mark(&m, 10, BOUNDARY_COMMAND_START);
    made_mark(&m, 22, BOUNDARY_COMMAND_END);
    o = stat_judge(&m.r, &m.arena);
    assert_int_equal(o.power_back_s.state, Q_NOT_RECORDED);
    assert_int_equal(o.idle, CHECK_NOT_JUDGED);
    assert_int_equal(o.exit_status, ABSENT_I64);
    assert_close(o.energy.headline.value, 4800, 1e-6);
    made_done(&m);
}

static void what_makes_it_invalid(void **state)
{
    (void)state;
    struct made m;
    make(&m, 1, 22, 400);
    struct rec_process process = {.t_ns = at_s(15), .pid = 4711, .own = 0};
    m.r.gpus[0].process = &process;
    m.r.gpus[0].process_count = 1;
    struct stat_once o = stat_judge(&m.r, &m.arena);
    assert_int_equal(outcome_of(&o, CODE_FOREIGN_PROCESS), CHECK_FAILED);
    assert_false(o.valid);
    process.t_ns = at_s(25); /* behind its end */
    o = stat_judge(&m.r, &m.arena);
    assert_true(o.valid);
    process = (struct rec_process){.t_ns = at_s(15), .pid = 4711, .own = -1};
    o = stat_judge(&m.r, &m.arena);
    assert_int_equal(outcome_of(&o, CODE_FOREIGN_PROCESS), CHECK_NOT_JUDGED);
    assert_true(o.valid);
    made_mark(&m, 21, BOUNDARY_INTERRUPTED);
    o = stat_judge(&m.r, &m.arena);
    assert_int_equal(outcome_of(&o, CODE_INTERRUPTED), CHECK_FAILED);
    m.r.boundaries[m.r.boundary_count - 1].t_ns = at_s(24); /* while power came back */
    o = stat_judge(&m.r, &m.arena);
    assert_true(o.valid);
    for (size_t i = 0; i < m.r.gpus[0].buffer_count; i++) /* 2 % apart, over ten seconds */
        m.r.gpus[0].buffer[i].mw = m.r.gpus[0].buffer[i].mw * 102 / 100;
    o = stat_judge(&m.r, &m.arena);
    assert_int_equal(outcome_of(&o, CODE_COUNTER_DISAGREES), CHECK_FAILED);
    made_done(&m);
    make(&m, 1, 22, 60); /* below idle */
    o = stat_judge(&m.r, &m.arena);
    assert_int_equal(outcome_of(&o, CODE_POWER_OUT_OF_RANGE), CHECK_FAILED);
    made_done(&m);
}

static void without_a_counter_or_an_end(void **state)
{
    (void)state;
    struct made m;
    make(&m, 1, 22, 400);
    m.r.gpus[0].counter_count = 0;
    struct stat_once o = stat_judge(&m.r, &m.arena);
    assert_false(quantity_has_value(&o.energy.headline));
    assert_close_rel(o.energy.buffer.value, 4800, 1e-3);
    assert_false(o.valid);
    m.r.boundary_count--;
    o = stat_judge(&m.r, &m.arena);
    assert_int_equal(o.energy.headline.state, Q_NOT_RECORDED);
    assert_int_equal(o.gpu_count, 0);
    assert_false(o.valid);
    made_done(&m);
}

static void repetitions(void **state)
{
    (void)state;
    struct made m;
    make(&m, 1, 22, 400);
    struct stat_once runs[3];
    for (int i = 0; i < 3; i++)
        runs[i] = stat_judge(&m.r, &m.arena);
    runs[0].energy.headline.value = 10;
    runs[1].energy.headline.value = 14;
    made_mark(&m, 15, BOUNDARY_INTERRUPTED);
    runs[2] = stat_judge(&m.r, &m.arena);
    const struct stat_result x = stat_gather(&m.r, runs, 3, &m.arena);
    assert_string_equal(x.command, "./a.out --name 'it'\\''s' ''");
    assert_int_equal(x.energy_j.n, 2);
    assert_close(x.energy_j.mean, 12, 1e-12);
    assert_close(x.energy_j.sd, 2.8284271247, 1e-9);
    assert_close(x.energy_j.high, 12 + 12.706205 * 2, 1e-4); /* t of one degree, by a table; SD / sqrt(2) = 2 */
    made_done(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_it_took),
        cmocka_unit_test(ends_within_a_step_are_in_the_doubt),
        cmocka_unit_test(power_that_stays_is_not_back),
        cmocka_unit_test(what_makes_it_invalid),
        cmocka_unit_test(without_a_counter_or_an_end),
        cmocka_unit_test(repetitions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
