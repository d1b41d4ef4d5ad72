/* `jtok stat` on the simulation: its energies against the simulated truth, and every way in which a command can end. */
#include "check.h"
#include "analysis/compare.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "analysis/stat.h"
#include "base/clock.h"
#include "cli/exit.h"
#include "program/harness.h"
#include "schema/json.h"
#include "sim/state.h"
#include "sim/truth.h"
#include "text/file_read.h"

#define ARGS(...)    ((const char *const[]){__VA_ARGS__, NULL})
#define STAT         "stat", "--library", JTOK_BIN "/libnvidia-ml.so.1"
#define LOAD         JTOK_BIN "/program.load"
#define NO_IDLE      "--idle", "0"
#define KEEP_RECORDS "--keep", "RUNS"

/* The first run folder that was kept. */
static void find_kept(struct life *l)
{
    DIR *d = opendir(l->runs);
    assert_non_null(d);
    for (struct dirent *x; (x = readdir(d));)
        if (x->d_name[0] != '.')
            snprintf(l->folder, sizeof l->folder, "%s/%s", l->runs, x->d_name);
    closedir(d);
    assert_true(l->folder[0]);
}

static struct stat_result *read_report(struct life *l, const char *text)
{
    struct err e = {0};
    struct stat_result *x = arena_alloc(&l->arena, sizeof *x);
    assert_ok(schema_json_read(&stat_result_schema, x, "report", span_of(text), &l->arena, &e), e);
    return x;
}

static double truth_j(const struct life *l, const struct records *r, uint32_t gpu)
{
    struct err e = {0};
    struct sim_state *s;
    assert_ok(sim_state_open(l->state, 0, &s, &e), e);
    int64_t origin = life_origin_ns(r);
    double mj = sim_energy_mj(s, gpu, origin + records_boundary(r, BOUNDARY_COMMAND_START),
                              origin + records_boundary(r, BOUNDARY_COMMAND_END));
    sim_state_close(s);
    return mj / 1e3;
}

static const struct result_check *check_of(const struct stat_once *o, enum check_code code)
{
    for (size_t i = 0; i < o->check_count; i++)
        if (o->checks[i].code == code)
            return &o->checks[i];
    fail_msg("%s was not judged", check_code_names[code]);
    return NULL;
}

/* One run; its report. */
static struct stat_result *measure(struct life *l, const char *const *command, const char *const *env, int status)
{
    const char *arguments[32] = {STAT, KEEP_RECORDS, "--format", "json", "--"};
    size_t n = 0;
    while (arguments[n])
        n++;
    for (size_t i = 0; command[i]; i++)
        arguments[n++] = command[i];
    int code = life_run(l, arguments, env, 400);
    if (code != status)
        print_error("%s\n", l->err);
    assert_int_equal(code, status);
    find_kept(l);
    return read_report(l, l->err);
}

/* ---- the truth ---- */

static void check_truth(struct life *l, const struct stat_result *x, double duration_s)
{
    const struct stat_once *o = &x->runs[0];
    const struct records *r = life_records(l);
    assert_true(o->valid && x->simulated);
    assert_int_equal(o->energy.headline_series, SERIES_COUNTER);
    assert_true(o->duration_s >= duration_s && o->duration_s < duration_s + 0.3);
    double sum = 0;
    for (size_t g = 0; g < o->gpu_count; g++) {
        const struct energy_set *e = &o->gpus[g].energy;
        double truth = truth_j(l, r, (uint32_t)g);
        sum += truth;
        print_message("GPU %zu, %g s: truth %.3f J, counter %.3f ± %.3f, precise %.3f ± %.3f\n", g, duration_s, truth,
                      e->counter.value, e->counter.instrument, e->precise.value, e->precise.instrument);
        assert_close(e->counter.value, truth, e->counter.instrument);
    }
    assert_close(o->energy.headline.value, sum, o->energy.headline.instrument);
    assert_close(o->average_w.value, o->energy.headline.value / o->duration_s, 1e-9);
    if (duration_s >= 10)
        assert_true(o->energy.headline.instrument < 0.005 * o->energy.headline.value);
}

static void truth_of(double seconds)
{
    struct life l;
    life_open(&l);
    char stretch[3][32];
    for (int i = 0; i < 3; i++)
        snprintf(stretch[i], sizeof stretch[i], "%d:%g", i == 1 ? 640 : 420, seconds / 3);
    const struct stat_result *x = measure(&l, ARGS(LOAD, stretch[0], stretch[1], stretch[2]), NULL, 0);
    check_truth(&l, x, seconds);
    life_close(&l);
}

static void the_truth_of_0_3_s(void **state)
{
    (void)state;
    truth_of(0.3);
}

static void the_truth_of_1_s(void **state)
{
    (void)state;
    truth_of(1);
}

static void the_truth_of_3_s(void **state)
{
    (void)state;
    truth_of(3);
}

static void the_truth_of_30_s(void **state)
{
    (void)state;
    truth_of(30);
}

static void the_truth_of_300_s(void **state)
{
    (void)state;
    truth_of(300);
}

static void two_gpus_add_up(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    const struct stat_result *x = measure(&l, ARGS(LOAD, "300:1", "500:1"), ARGS("JTOK_SIM_GPUS=2"), 0);
    assert_int_equal(x->runs[0].gpu_count, 2);
    check_truth(&l, x, 2);
    assert_close(x->runs[0].idle_w.value, 2 * SIM_IDLE_MW / 1e3, 4);
    life_close(&l);
}

/* Less than one step of the counter. */
static void a_run_of_0_05_s_says_its_doubt_first(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    const struct stat_result *x = measure(&l, ARGS(LOAD, "600:0.05"), NULL, 0);
    check_truth(&l, x, 0.05);
    assert_int_equal(life_also(&l, ARGS("analyze", l.folder)), EXIT_OK);
    const char *doubt = strstr(l.out, "doubt "), *energy = strstr(l.out, "energy ");
    assert_true(doubt && energy && doubt < energy);
    assert_int_equal(life_also(&l, ARGS("analyze", l.folder, "--full")), EXIT_USAGE);
    assert_int_equal(life_also(&l, ARGS("verify", l.folder)), EXIT_RECORDS);
    life_close(&l);
}

/* ---- how a command ends ---- */

static void its_streams_and_status_are_its_own(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    int code = life_run(&l, ARGS(STAT, NO_IDLE, "--", "sh", "-c", "echo out; echo err >&2; pwd; exit 42"), NULL, 60);
    assert_int_equal(code, 42);
    char cwd[300], expected[400];
    assert_non_null(getcwd(cwd, sizeof cwd));
    snprintf(expected, sizeof expected, "out\n%s\n", cwd);
    assert_string_equal(l.out, expected);
    assert_true(strncmp(l.err, "err\n\njtok stat, SIMULATED", 25) == 0);
    assert_non_null(strstr(l.err, "exit        42"));
    assert_non_null(strstr(l.err, "not judged")); /* without a look before */
    assert_int_equal(life_survivors(&l), 0);
    life_close(&l);
}

static void a_signal_that_ends_it_is_its_status(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    const struct stat_result *x = measure(&l, ARGS(LOAD, "300:0.2"), ARGS("LOAD_SIGNAL=15"), 128 + SIGTERM);
    assert_int_equal(x->runs[0].exit_status, 128 + SIGTERM);
    assert_true(x->runs[0].valid);
    life_close(&l);
}

static void what_cannot_be_started_is_127_or_126(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    int64_t begin_ns = clock_now_ns();
    assert_int_equal(life_run(&l, ARGS(STAT, "--", "no-such-program-here"), NULL, 60), 127);
    assert_non_null(strstr(l.err, "jtok: The command \"no-such-program-here\" was not found in the PATH."));
    assert_int_equal(life_run(&l, ARGS(STAT, "--", "./no/such/program"), NULL, 60), 127);
    assert_int_equal(life_run(&l, ARGS(STAT, "--", "/etc/passwd"), NULL, 60), 126);
    assert_true(clock_now_ns() - begin_ns < 5 * SECOND_NS); /* told before the look */
    life_file(&l, "bad", "#!/no/such/interpreter\n");
    char path[300];
    snprintf(path, sizeof path, "%s/bad", l.scratch);
    assert_int_equal(chmod(path, 0755), 0);
    assert_int_not_equal(life_run(&l, ARGS(STAT, NO_IDLE, "--", path), NULL, 60), 0);
    assert_non_null(strstr(l.err, "interpreter"));
    life_close(&l);
}

/* The last process of the group decides; a daemon in another session is named and left. */
static void a_daemon_is_named_and_left(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    const struct stat_result *x = measure(&l, ARGS("sh", "-c", "setsid sleep 30 & sleep 0.6 & exit 5"), NULL, 5);
    assert_true(x->runs[0].duration_s >= 0.6 && x->runs[0].duration_s < 5);
    assert_non_null(strstr(x->runs[0].left_running, "sleep"));
    assert_int_equal(life_survivors(&l), 1);
    int64_t pid = 0;
    assert_int_equal(sscanf(x->runs[0].left_running, "pid %ld", &pid), 1);
    assert_int_equal(kill((pid_t)pid, SIGKILL), 0);
    life_close(&l);
}

static void ctrl_c_ends_the_command_and_is_reported(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    life_start(&l, ARGS(STAT, "-r", "5", "--format", "json", "--", "sh", "-c", "echo begun >&2; sleep 60"), NULL);
    life_wait_for(&l, "begun", 20);
    usleep(400000);
    life_signal(&l, SIGINT);
    assert_int_equal(life_wait(&l, 30), 128 + SIGINT);
    const struct stat_result *x = read_report(&l, strchr(l.err, '{'));
    assert_int_equal(x->run_count, 1);
    assert_int_equal(x->energy_j.n, 0);
    assert_false(x->runs[0].valid);
    assert_int_equal(check_of(&x->runs[0], CODE_INTERRUPTED)->outcome, CHECK_FAILED);
    assert_true(x->runs[0].duration_s > 0.3 && x->runs[0].duration_s < 20);
    life_close(&l);
}

static void ctrl_c_cuts_the_wait_for_power(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    int64_t begin_ns = clock_now_ns();
    life_start(&l,
               ARGS(STAT, "-r", "2", "--format", "json", "--", "sh", "-c", LOAD " 400:0.3 200:0.01; echo ended >&2"),
               ARGS("LOAD_TAIL_S=100"));
    life_wait_for(&l, "ended", 20);
    usleep(500000);
    life_signal(&l, SIGINT);
    assert_int_equal(life_wait(&l, 20), EXIT_OK);
    assert_true(clock_now_ns() - begin_ns < 20 * SECOND_NS);
    const struct stat_result *x = read_report(&l, strchr(l.err, '{'));
    assert_int_equal(x->run_count, 1);
    assert_true(x->runs[0].valid); /* the command itself was whole */
    assert_int_equal(x->runs[0].power_back_s.state, Q_NOT_REACHED);
    life_close(&l);
}

/* A background job of a shell is deaf to Ctrl-C. */
static void the_third_ctrl_c_kills(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    life_start(&l, ARGS(STAT, NO_IDLE, "--", "sh", "-c", "sleep 60 & echo begun >&2; wait"), NULL);
    life_wait_for(&l, "begun", 20);
    for (int i = 0; i < 3; i++) {
        usleep(300000);
        life_signal(&l, SIGINT);
    }
    assert_int_equal(life_wait(&l, 30), 128 + SIGINT);
    assert_int_equal(life_survivors(&l), 0);
    life_close(&l);
}

static void ctrl_c_before_the_start_starts_nothing(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    life_start(&l, ARGS(STAT, "--idle", "30", "--", "sh", "-c", "echo begun"), NULL);
    usleep(1500000);
    life_signal(&l, SIGINT);
    assert_int_equal(life_wait(&l, 10), EXIT_INTERRUPTED);
    assert_string_equal(l.out, "");
    assert_non_null(strstr(l.err, "Interrupted before the command was started."));
    life_close(&l);
}

static void a_killed_jtok_leaves_no_command(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    life_start(&l, ARGS(STAT, NO_IDLE, "--", "sh", "-c", "echo begun >&2; sleep 60"), NULL);
    life_wait_for(&l, "begun", 20);
    life_signal(&l, SIGKILL);
    life_wait(&l, 10);
    for (int i = 0; i < 100 && life_survivors(&l); i++)
        usleep(50000);
    assert_int_equal(life_survivors(&l), 0);
    life_close(&l);
}

/* ---- what is around it ---- */

static void repetitions_have_mean_and_interval(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    int code = life_run(&l,
                        ARGS(STAT, "-r", "3", "-f", "json", "-o", arena_format(&l.arena, "%s/report", l.scratch), "--",
                             LOAD, "400:0.5"),
                        ARGS("LOAD_STATUS=3"), 120);
    assert_int_equal(code, 3);
    assert_string_equal(l.err, "");
    struct buf text = {0};
    struct err e = {0};
    assert_ok(file_read(arena_format(&l.arena, "%s/report", l.scratch), 0, &text, &e), e);
    const struct stat_result *x = read_report(&l, buf_text(&text));
    buf_done(&text);
    assert_int_equal(x->run_count, 3);
    assert_int_equal(x->energy_j.n, 3);
    double v[3], mean = 0, squares = 0;
    for (int i = 0; i < 3; i++) {
        v[i] = x->runs[i].energy.headline.value;
        mean += v[i] / 3;
    }
    for (int i = 0; i < 3; i++)
        squares += (v[i] - mean) * (v[i] - mean);
    double sd = sqrt(squares / 2);
    assert_close(x->energy_j.mean, mean, 1e-9);
    assert_close(x->energy_j.sd, sd, 1e-9);
    assert_close(x->energy_j.high, mean + 4.302653 * sd / sqrt(3), 1e-5 * sd + 1e-9); /* t of two degrees, by a table */
    life_close(&l);
}

/* Another's process on the GPU, at a power that is not idle: shown, not refused. */
static void a_busy_gpu_is_shown(void **state)
{
    (void)state;
    struct life l;
    struct err e = {0};
    struct sim_state *s;
    life_open(&l);
    assert_ok(sim_state_open(l.state, 1, &s, &e), e);
    sim_process_set(s, 0, getpid(), INT64_C(1) << 30);
    sim_utilisation_set(s, 0, 50);
    sim_step_add(s, 0, clock_now_ns(), 250000);
    const struct stat_result *x = measure(&l, ARGS("sleep", "1"), NULL, 0);
    const struct stat_once *o = &x->runs[0];
    assert_int_equal(o->idle, CHECK_FAILED);
    assert_non_null(strstr(o->idle_why, "process"));
    assert_close(o->idle_w.value, 250, 5);
    assert_close(o->energy.headline.value, truth_j(&l, life_records(&l), 0), o->energy.headline.instrument);
    assert_false(o->valid);
    assert_int_equal(check_of(o, CODE_FOREIGN_PROCESS)->outcome, CHECK_FAILED);
    assert_int_equal(life_also(&l, ARGS("analyze", l.folder)), EXIT_EXCLUDED);
    assert_non_null(strstr(l.out, "The GPUs were not idle before"));
    sim_state_close(s);
    life_close(&l);
}

static void power_that_comes_back_late_is_timed(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    const struct stat_result *x = measure(&l, ARGS(LOAD, "400:0.5", "150:0.01"), ARGS("LOAD_TAIL_S=3"), 0);
    assert_close(x->runs[0].power_back_s.value, 3, 0.6);
    life_close(&l);
}

/* What the other instruments say stands beside; nothing takes the counter's place. */
static void no_counter_has_no_headline(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    const struct stat_result *x = measure(&l, ARGS(LOAD, "400:2"), ARGS("JTOK_SIM_FAULT=no_counter"), 0);
    const struct stat_once *o = &x->runs[0];
    assert_false(quantity_has_value(&o->energy.headline));
    assert_false(o->valid);
    assert_close_rel(o->energy.buffer.value, truth_j(&l, life_records(&l), 0), 0.02);
    assert_int_equal(life_also(&l, ARGS("analyze", l.folder)), EXIT_EXCLUDED);
    assert_non_null(strstr(l.out, "no counter; by the buffer"));
    life_close(&l);
}

/* The command is not jtok's to end. */
static void a_gpu_lost_meanwhile_leaves_the_command_alone(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    int code = life_run(&l, ARGS(STAT, "--", "sh", "-c", "sleep 3; echo whole"), ARGS("JTOK_SIM_FAULT=lost:0@5"), 60);
    assert_int_equal(code, EXIT_DEVICE);
    assert_string_equal(l.out, "whole\n");
    assert_non_null(strstr(l.err, "A GPU was lost"));
    assert_non_null(strstr(l.err, "jtok stat, SIMULATED"));
    life_close(&l);
}

static void no_driver_is_told_before_the_start(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    assert_int_equal(
        life_run(&l, ARGS("stat", "--library", "/no/such/libnvidia-ml.so.1", "--", "sh", "-c", "echo begun"), NULL, 30),
        EXIT_DEVICE);
    assert_string_equal(l.out, "");
    assert_int_equal(life_run(&l, ARGS(STAT, "--gpus", "7", "--", "sh", "-c", "echo begun"), NULL, 30), EXIT_DEVICE);
    assert_int_equal(life_run(&l, ARGS(STAT), NULL, 30), EXIT_USAGE);
    assert_int_equal(life_run(&l, ARGS(STAT, "-r", "0", "--", "true"), NULL, 30), EXIT_USAGE);
    life_close(&l);
}

/* Two kept runs of one command are a pair; of two commands they are not. */
static void kept_runs_are_compared(void **state)
{
    (void)state;
    static const char *const seconds[] = {"0.4", "0.4", "0.5"};
    const char *kept[3];
    struct life l;
    life_open(&l);
    for (int i = 0; i < 3; i++) {
        const char *runs = arena_format(&l.arena, "%s/kept-%d", l.scratch, i);
        assert_int_equal(life_run(&l, ARGS(STAT, NO_IDLE, "--keep", runs, "--", "sleep", seconds[i]), NULL, 30), 0);
        DIR *d = opendir(runs);
        assert_non_null(d);
        for (struct dirent *x; (x = readdir(d));)
            if (x->d_name[0] != '.')
                kept[i] = arena_format(&l.arena, "%s/%s", runs, x->d_name);
        closedir(d);
    }
    struct err e = {0};
    struct comparison *c = arena_alloc(&l.arena, sizeof *c);
    assert_int_equal(life_also(&l, ARGS("compare", "--format", "json", kept[0], kept[1])), EXIT_OK);
    assert_ok(schema_json_read(&comparison_schema, c, "comparison", span_of(l.out), &l.arena, &e), e);
    assert_int_equal(c->object, OBJECT_STAT);
    assert_int_equal(c->load_count, 1);
    assert_string_equal(c->loads[0].setting, "sleep 0.4");
    const struct comparison_row *r = &c->loads[0].rows[0];
    struct stat_result *x[2];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(life_also(&l, ARGS("analyze", "--format", "json", kept[i])), EXIT_OK);
        x[i] = read_report(&l, l.out);
    }
    assert_string_equal(r->key, "energy_j");
    assert_close(r->difference.value, x[1]->runs[0].energy.headline.value - x[0]->runs[0].energy.headline.value, 1e-9);
    assert_int_equal(life_also(&l, ARGS("compare", kept[0], kept[2])), EXIT_REFUSED);
    assert_non_null(strstr(l.out, "The command differs: sleep 0.4 and sleep 0.5."));
    assert_int_equal(life_also(&l, ARGS("list", "--format", "csv", kept[2])), EXIT_OK);
    assert_non_null(strstr(l.out, ",valid,stat,0,sleep 0.5,"));
    life_close(&l);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_truth_of_0_3_s),
        cmocka_unit_test(the_truth_of_1_s),
        cmocka_unit_test(the_truth_of_3_s),
        cmocka_unit_test(the_truth_of_30_s),
        cmocka_unit_test(the_truth_of_300_s),
        cmocka_unit_test(two_gpus_add_up),
        cmocka_unit_test(a_run_of_0_05_s_says_its_doubt_first),
        cmocka_unit_test(its_streams_and_status_are_its_own),
        cmocka_unit_test(a_signal_that_ends_it_is_its_status),
        cmocka_unit_test(what_cannot_be_started_is_127_or_126),
        cmocka_unit_test(a_daemon_is_named_and_left),
        cmocka_unit_test(ctrl_c_ends_the_command_and_is_reported),
        cmocka_unit_test(ctrl_c_cuts_the_wait_for_power),
        cmocka_unit_test(the_third_ctrl_c_kills),
        cmocka_unit_test(ctrl_c_before_the_start_starts_nothing),
        cmocka_unit_test(a_killed_jtok_leaves_no_command),
        cmocka_unit_test(repetitions_have_mean_and_interval),
        cmocka_unit_test(a_busy_gpu_is_shown),
        cmocka_unit_test(power_that_comes_back_late_is_timed),
        cmocka_unit_test(no_counter_has_no_headline),
        cmocka_unit_test(a_gpu_lost_meanwhile_leaves_the_command_alone),
        cmocka_unit_test(no_driver_is_told_before_the_start),
        cmocka_unit_test(kept_runs_are_compared),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
