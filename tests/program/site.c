#include "program/site.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/time.h"
#include "check.h"
#include "loopback.h"
#include "sim/state.h"
#include "sim/truth.h"

/* ---- the engine ---- */

static int connect_to(int port)
{
    struct sockaddr_in a = loopback(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&a, sizeof a) == 0)
        return fd;
    close(fd);
    return -1;
}

int site_status_of(int port, const char *path)
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

void site_start_engine(struct site *s, const char *const *more)
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
    while (site_status_of(s->port, "/health") != 200) {
        assert_true(clock_now_ns() < deadline);
        usleep(50000);
    }
}

void site_stop_engine(struct site *s)
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

void site_start_users(struct site *s)
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

void site_stop_users(struct site *s)
{
    for (int i = 0; i < USERS; i++)
        if (s->users[i] > 0) {
            kill(s->users[i], SIGKILL);
            waitpid(s->users[i], NULL, 0);
            s->users[i] = 0;
        }
}

void site_open(struct site *s, const char *const *engine)
{
    *s = (struct site){.port = free_port()};
    life_open(&s->l);
    snprintf(s->url, sizeof s->url, "http://localhost:%d", s->port);
    site_start_engine(s, engine);
}

void site_close(struct site *s)
{
    site_stop_users(s);
    site_stop_engine(s);
    life_close(&s->l);
}

double site_truth_j(const struct site *s, const struct records *r, int64_t from_ns, int64_t to_ns)
{
    struct err e = {0};
    struct sim_state *sim;
    assert_ok(sim_state_open(s->l.state, 0, &sim, &e), e);
    int64_t origin = life_origin_ns(r);
    double j = 0;
    for (size_t i = 0; i < r->gpu_count; i++)
        j += sim_energy_mj(sim, (uint32_t)r->gpus[i].index, origin + from_ns, origin + to_ns) / 1e3;
    sim_state_close(sim);
    return j;
}
