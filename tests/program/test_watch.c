/* `jtok watch` on the simulation: an engine that the test starts, users of the test, and what jtok says of both. */
#include "check.h"

#include <arpa/inet.h>
#include <math.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/time.h"
#include "cli/exit.h"
#include "program/harness.h"
#include "sim/state.h"
#include "sim/truth.h"

#define ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define LIBRARY   "power.library=" JTOK_BIN "/libnvidia-ml.so.1"

enum { USERS = 4 };

struct site {
    struct life l;
    int port;
    char url[64];
    pid_t engine, users[USERS];
};

/* ---- the engine ---- */

static int free_port(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
    close(fd);
    return ntohs(a.sin_port);
}

static int connect_to(int port)
{
    struct sockaddr_in a = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&a, sizeof a) == 0)
        return fd;
    close(fd);
    return -1;
}

/* GET of a path: the status, 0 without an answer. */
static int status_of(int port, const char *path)
{
    char text[256];
    int status = 0, fd = connect_to(port);
    if (fd < 0)
        return 0;
    int n = snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", path);
    if (write(fd, text, (size_t)n) == n && (n = (int)read(fd, text, sizeof text - 1)) > 0) {
        text[n] = 0;
        sscanf(text, "HTTP/1.1 %d", &status);
    }
    close(fd);
    return status;
}

static void start_engine(struct site *s, const char *const *more)
{
    fflush(NULL);
    s->engine = fork();
    assert_true(s->engine >= 0);
    if (s->engine == 0) {
        char port[16];
        snprintf(port, sizeof port, "%d", s->port);
        const char *argv[32] = {JTOK_BIN "/jtok-sim-engine",
                                "serve",
                                "simulated/model",
                                "--port",
                                port,
                                "--sim-start-s",
                                "0.3",
                                "--sim-seed",
                                "1"};
        size_t n = 9;
        while (more && *more)
            argv[n++] = *more++;
        setenv("JTOK_SIM_STATE", s->l.state, 1);
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves nobody behind */
        freopen("/dev/null", "w", stdout);
        freopen("/dev/null", "w", stderr);
        execv(argv[0], (char *const *)argv);
        _exit(127);
    }
    int64_t deadline = clock_now_ns() + 20 * SECOND_NS;
    while (status_of(s->port, "/health") != 200) {
        assert_true(clock_now_ns() < deadline);
        usleep(50000);
    }
}

static void stop_engine(struct site *s)
{
    if (s->engine > 0) {
        kill(s->engine, SIGTERM);
        waitpid(s->engine, NULL, 0);
    }
    s->engine = 0;
}

/* ---- its users ---- */

static void ask_once(int port, int tokens)
{
    char body[256], text[4096];
    int fd = connect_to(port);
    if (fd < 0) {
        usleep(100000);
        return;
    }
    int n = snprintf(body, sizeof body,
                     "{\"model\":\"simulated/model\",\"prompt\":\"hello\",\"max_tokens\":%d,\"ignore_eos\":true,"
                     "\"stream\":true}",
                     tokens);
    n = snprintf(text, sizeof text,
                 "POST /v1/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n"
                 "Content-Length: %d\r\n\r\n%s",
                 n, body);
    if (write(fd, text, (size_t)n) == n)
        while (read(fd, text, sizeof text) > 0)
            ;
    close(fd);
}

static void start_users(struct site *s)
{
    fflush(NULL);
    for (int i = 0; i < USERS; i++) {
        s->users[i] = fork();
        assert_true(s->users[i] >= 0);
        if (s->users[i] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (;;)
                ask_once(s->port, 60 * (i + 1));
        }
    }
}

static void stop_users(struct site *s)
{
    for (int i = 0; i < USERS; i++)
        if (s->users[i] > 0) {
            kill(s->users[i], SIGKILL);
            waitpid(s->users[i], NULL, 0);
            s->users[i] = 0;
        }
}

static void site_open(struct site *s, const char *const *engine)
{
    *s = (struct site){.port = free_port()};
    life_open(&s->l);
    snprintf(s->url, sizeof s->url, "http://localhost:%d", s->port);
    start_engine(s, engine);
    start_users(s);
}

static void site_close(struct site *s)
{
    stop_users(s);
    stop_engine(s);
    life_close(&s->l);
}

static const struct result_point *only_point(const struct result *r)
{
    assert_int_equal(r->loads.object, OBJECT_WATCH);
    assert_int_equal(r->loads.point_count, 1);
    return &r->loads.points[0];
}

/* ---- cases ---- */

/* Energy against the truth; tokens against the engine's own account of its life, between which the window lies. */
static void its_energy_is_the_simulated_truth(void **state)
{
    (void)state;
    struct site s;
    site_open(&s, NULL);
    int code = life_run(&s.l, ARGS("watch", s.url, "--for", "10", "--runs", "RUNS", "--set", LIBRARY), NULL, 60);
    if (code != EXIT_OK)
        print_error("%s\n%s\n", s.l.out, s.l.err);
    assert_int_equal(code, EXIT_OK);
    struct records *r = life_records(&s.l);
    struct result *x = life_result(&s.l);
    const struct result_point *p = only_point(x);
    assert_int_equal(x->loads.standing, STANDING_VALID);
    struct err e = {0};
    struct sim_state *sim;
    assert_ok(sim_state_open(s.l.state, 0, &sim, &e), e);
    int64_t origin = life_origin_ns(r);
    double truth = sim_energy_mj(sim, 0, origin + p->window.start_ns, origin + p->window.end_ns) / 1e3;
    sim_state_close(sim);
    print_message("truth %.2f J, counter %.2f +- %.2f J, %lld tokens, %.5f +- %.5f J/token\n", truth,
                  p->window.energy.headline.value, p->window.energy.headline.instrument, (long long)p->tokens.output,
                  p->j_per_token.value, p->j_per_token.instrument);
    assert_close(p->window.energy.headline.value, truth, p->window.energy.headline.instrument);
    assert_true(p->j_per_token.instrument < 0.005 * p->j_per_token.value);
    assert_close_rel(p->j_per_token.value, p->window.energy.headline.value / (double)p->tokens.output, 1e-9);
    assert_true(p->flight.mean.value > 2 && p->flight.mean.value <= USERS);
    assert_non_null(strstr(s.l.err, "tok/s")); /* a line each ten seconds */
    assert_int_equal(r->plan.attach.pid, s.engine);
    assert_false(r->plan.attach.gpus_stated);
    assert_int_equal(kill(s.engine, 0), 0);
    assert_int_equal(life_also(&s.l, ARGS("verify", s.l.folder)), EXIT_OK);
    site_close(&s);
}

static void ctrl_c_ends_it_well(void **state)
{
    (void)state;
    struct site s;
    site_open(&s, NULL);
    life_start(&s.l, ARGS("watch", s.url, "--runs", "RUNS", "--set", LIBRARY), NULL);
    life_wait_for(&s.l, "users' load", 30);
    usleep(3500000);
    life_signal(&s.l, SIGINT);
    assert_int_equal(life_wait(&s.l, 30), EXIT_OK);
    const struct result_point *p = only_point(life_result(&s.l));
    assert_true(p->window.duration_s > 2.5 && p->window.duration_s < 8);
    assert_true(quantity_has_value(&p->j_per_token));
    assert_int_equal(status_of(s.port, "/health"), 200);
    site_close(&s);
}

/* The window ends at the last reading of the engine that it began with. */
static void a_new_engine_ends_the_window(void **state)
{
    (void)state;
    struct site s;
    site_open(&s, NULL);
    life_start(&s.l, ARGS("watch", s.url, "--for", "60", "--runs", "RUNS", "--set", LIBRARY), NULL);
    life_wait_for(&s.l, "users' load", 30);
    usleep(4000000);
    stop_engine(&s);
    start_engine(&s, NULL);
    assert_int_equal(life_wait(&s.l, 40), EXIT_OK);
    const struct result_point *p = only_point(life_result(&s.l));
    assert_true(p->window.duration_s > 2 && p->window.duration_s < 8);
    assert_non_null(strstr(p->setting, "ended early"));
    assert_non_null(strstr(s.l.out, "ended early"));
    site_close(&s);
}

static void an_engine_that_counts_at_the_end_is_named(void **state)
{
    (void)state;
    struct site s;
    site_open(&s, ARGS("--flavour", "sglang", "--enable-metrics"));
    int code = life_run(&s.l, ARGS("watch", s.url, "--for", "4", "--runs", "RUNS", "--set", LIBRARY), NULL, 60);
    assert_int_equal(code, EXIT_OK);
    const struct result_point *p = only_point(life_result(&s.l));
    assert_non_null(strstr(p->setting, "as sglang counts them"));
    assert_non_null(strstr(p->setting, "each request's when it ends"));
    assert_non_null(strstr(s.l.out, "tokens at the end"));
    assert_true(p->edge_j_per_token > 0.01 * p->j_per_token.value); /* what is in flight is the doubt */
    site_close(&s);
}

static void what_cannot_be_watched_is_told_before(void **state)
{
    (void)state;
    struct site s;
    site_open(&s, ARGS("--flavour", "sglang")); /* without metrics */
    struct life *l = &s.l;
    assert_int_equal(life_run(l, ARGS("watch", s.url, "--runs", "RUNS", "--set", LIBRARY), NULL, 30), EXIT_ENGINE);
    assert_non_null(strstr(l->err, "--enable-metrics"));
    assert_int_equal(life_run(l, ARGS("watch", "http://192.0.2.1:8000", "--set", LIBRARY), NULL, 30), EXIT_REFUSED);
    assert_non_null(strstr(l->err, "not an address of this machine"));
    assert_int_equal(life_run(l, ARGS("watch", "https://localhost:8000", "--set", LIBRARY), NULL, 30), EXIT_REFUSED);
    assert_int_equal(life_run(l, ARGS("watch", "http://localhost:8000/chat", "--set", LIBRARY), NULL, 30), EXIT_PLAN);
    assert_int_equal(life_run(l, ARGS("watch", "ftp://localhost", "--set", LIBRARY), NULL, 30), EXIT_PLAN);
    assert_int_equal(life_run(l, ARGS("watch", s.url, "--set", "requests.count=5"), NULL, 30), EXIT_PLAN);
    assert_non_null(strstr(l->err, "no meaning here"));
    assert_int_equal(life_run(l, ARGS("watch"), NULL, 30), EXIT_USAGE);
    stop_users(&s);
    stop_engine(&s);
    assert_int_equal(life_run(l, ARGS("watch", s.url, "--set", LIBRARY), NULL, 30), EXIT_ENGINE);
    assert_non_null(strstr(l->err, "Start the service first"));
    assert_int_equal(access(l->runs, F_OK), -1); /* nothing was written */
    site_close(&s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_energy_is_the_simulated_truth),
        cmocka_unit_test(ctrl_c_ends_it_well),
        cmocka_unit_test(a_new_engine_ends_the_window),
        cmocka_unit_test(an_engine_that_counts_at_the_end_is_named),
        cmocka_unit_test(what_cannot_be_watched_is_told_before),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
