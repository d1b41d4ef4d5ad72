/* What the sampler records of a simulated GPU against the GPU's true energy, over loads with cliffs: in virtual time
 * through a recorder for many cliffs, and once in real time through the threads. */
#include "check.h"

#include "collect.h"
#include "simulated.h"

static struct simulated w;

/* The counter at t, mJ, linear between change points; NaN where one is missing. */
static double counter_at(const struct rec_gpu *g, int64_t t_ns)
{
    double before_t = NAN, before = NAN;
    for (size_t i = 1; i < g->counter_count; i++) {
        if (g->counter[i].mj == g->counter[i - 1].mj)
            continue;
        double t = (double)g->counter[i].t_ns, mj = (double)g->counter[i].mj;
        if (g->counter[i].t_ns >= t_ns)
            return before + (mj - before) * ((double)t_ns - before_t) / (t - before_t);
        before_t = t;
        before = mj;
    }
    return NAN;
}

/* The buffer's integral over [a, b], mJ. Boundaries between the 20 ms samples are interpolated. */
static double buffer_between(const struct rec_gpu *g, int64_t offset_ns, int64_t a_ns, int64_t b_ns)
{
    double sum = 0;
    for (size_t i = 1; i < g->buffer_count; i++) {
        double t0 = (double)(g->buffer[i - 1].realtime_us * 1000 - offset_ns), v0 = g->buffer[i - 1].mw;
        double t1 = (double)(g->buffer[i].realtime_us * 1000 - offset_ns), v1 = g->buffer[i].mw;
        double from = fmax(t0, (double)a_ns), to = fmin(t1, (double)b_ns);
        if (to <= from)
            continue;
        double slope = (v1 - v0) / (t1 - t0);
        sum += (to - from) * (v0 + slope * ((from + to) / 2 - t0)) / 1e9;
    }
    return sum;
}

/* Idle, then from 10 s to 40 s a new power between 122 and 700 W every 30 to 430 ms, then a cliff of `cliff_mw` to
 * idle. */
static void play_load(uint32_t seed, int64_t cliff_at_ns, int64_t cliff_mw)
{
    int64_t t_ns = w.state->created_ns + 10 * SECOND;
    while (t_ns < cliff_at_ns - 500 * MS) {
        seed = seed * 1664525u + 1013904223u;
        sim_step_add(w.state, 0, t_ns, SIM_CONTEXT_MW + (seed >> 8) % 578000);
        seed = seed * 1664525u + 1013904223u;
        t_ns += 30 * MS + (int64_t)((seed >> 8) % 400) * MS;
    }
    sim_step_add(w.state, 0, cliff_at_ns - 400 * MS, SIM_IDLE_MW + cliff_mw);
    sim_step_add(w.state, 0, cliff_at_ns, SIM_IDLE_MW);
}

static void record_virtual(struct collect *c, int64_t until_ns)
{
    struct record_sink sink = collect_sink(c);
    int64_t created_ns = w.state->created_ns;
    simulated_record(&w, &sink, created_ns, created_ns + 4 * SECOND, created_ns + SECOND, until_ns);
}

/* Load of 30 s: both within 0.5 % of the truth. From the cliff on: the counter within 35 ms x cliff (10 ms of a change
 * point, and a quarter of its 100 ms step in which a cliff can hide), the buffer within its 10 ms and 10 ms more. */
static void energies_agree_with_the_truth(void **state)
{
    (void)state;
    for (uint32_t run = 0; run < 20; run++) {
        simulated_open(&w, "1", "");
        int64_t created_ns = w.state->created_ns, cliff_mw = 600000;
        int64_t load_ns = 10 * SECOND, cliff_ns = 40 * SECOND + run * 7 * MS, end_ns = 44 * SECOND;
        struct collect c;
        play_load(run + 1, created_ns + cliff_ns, cliff_mw);
        record_virtual(&c, created_ns + 46 * SECOND);
        const struct rec_gpu *g = &c.gpus[0];
        int64_t offset_ns = c.clocks[0].offset_ns;
        double truth = sim_energy_mj(w.state, 0, created_ns + load_ns, created_ns + cliff_ns);
        assert_close_rel(counter_at(g, cliff_ns) - counter_at(g, load_ns), truth, 0.005);
        assert_close_rel(buffer_between(g, offset_ns, load_ns, cliff_ns), truth, 0.005);
        truth = sim_energy_mj(w.state, 0, created_ns + cliff_ns, created_ns + end_ns);
        assert_close(counter_at(g, end_ns) - counter_at(g, cliff_ns), truth, 0.035 * (double)cliff_mw);
        assert_close(buffer_between(g, offset_ns, cliff_ns, end_ns), truth, 0.020 * (double)cliff_mw);
        collect_done(&c);
        simulated_close(&w);
    }
}

/* Noise adds no energy: ten minutes of idle are 78.5 W to a thousandth of a percent by the buffer. */
static void noise_adds_no_energy(void **state)
{
    (void)state;
    simulated_open(&w, "1", "");
    struct collect c;
    record_virtual(&c, w.state->created_ns + 600 * SECOND);
    double mj = buffer_between(&c.gpus[0], c.clocks[0].offset_ns, 10 * SECOND, 590 * SECOND);
    assert_close_rel(mj, 78500.0 * 580, 1e-5);
    assert_close_rel(counter_at(&c.gpus[0], 590 * SECOND) - counter_at(&c.gpus[0], 10 * SECOND), 78500.0 * 580, 1e-4);
    collect_done(&c);
    simulated_close(&w);
}

/* Two GPUs in real time: 1 s of 500 W on the second of them, the first idle. */
static void threads_record_the_truth(void **state)
{
    (void)state;
    simulated_open(&w, "2", "");
    struct err e;
    struct collect c;
    struct record_sink sink = collect_sink(&c);
    static const uint32_t gpus[] = {0, 1};
    int64_t origin_ns = clock_now_ns(), on_ns = 1500 * MS, off_ns = 2500 * MS;
    struct sampler_options o = {.gpus = gpus,
                                .gpu_count = 2,
                                .origin_ns = origin_ns,
                                .t0_ns = origin_ns + SECOND,
                                .grid_ns = SECOND,
                                .stagger_ns = SAMPLER_SPREAD,
                                .sink = &sink};
    struct sampler *s;
    assert_ok(sampler_open(w.device, &o, &s, &e), e);
    sim_step_add(w.state, 1, origin_ns + on_ns, 500000);
    sim_step_add(w.state, 1, origin_ns + off_ns, SIM_IDLE_MW);
    clock_sleep_until_ns(origin_ns + 3000 * MS);
    sampler_close(s);
    for (uint32_t gpu = 0; gpu < 2; gpu++) {
        double truth = sim_energy_mj(w.state, gpu, origin_ns + SECOND, origin_ns + 2800 * MS);
        double by_counter = counter_at(&c.gpus[gpu], 2800 * MS) - counter_at(&c.gpus[gpu], SECOND);
        /* Idle at both ends: a change point there is right to 10 ms, and to 5 ms more where the thread is woken late.
         */
        assert_close(by_counter, truth, 2 * 0.015 * SIM_IDLE_MW);
        assert_close_rel(buffer_between(&c.gpus[gpu], c.clocks[0].offset_ns, SECOND, 2800 * MS), truth, 0.005);
    }
    collect_done(&c);
    simulated_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(energies_agree_with_the_truth),
                                       cmocka_unit_test(noise_adds_no_energy),
                                       cmocka_unit_test(threads_record_the_truth)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
