/* A command that loads the simulated GPUs, for tests of `jtok stat`: program.load WATTS:SECONDS [WATTS:SECONDS ...].
 *
 * Each stretch draws its power on every GPU of the state that JTOK_SIM_STATE names; then they idle. With the variable
 * LOAD_STATUS it ends with that exit status, with LOAD_SIGNAL by that signal; LOAD_TAIL_S is how long power takes to
 * come back after its end. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/clock.h"
#include "sim/state.h"

static int64_t ns_of(const char *text)
{
    return text ? (int64_t)(strtod(text, NULL) * 1e9) : 0;
}

static void draw(struct sim_state *s, int64_t t_ns, int64_t mw)
{
    for (uint32_t g = 0; g < s->gpu_count; g++)
        sim_step_add(s, g, t_ns, mw);
}

static void hold(struct sim_state *s, bool on)
{
    for (uint32_t g = 0; g < s->gpu_count; g++) {
        if (on)
            sim_process_set(s, g, getpid(), INT64_C(1) << 30);
        else
            sim_process_remove(s, g, getpid());
        sim_utilisation_set(s, g, on ? 100 : 0);
    }
}

int main(int argc, char **argv)
{
    struct err e;
    struct sim_state *s;
    if (!sim_state_open(NULL, 0, &s, &e)) {
        fprintf(stderr, "%s\n", e.text);
        return 99;
    }
    hold(s, true);
    int64_t until_ns = clock_now_ns();
    for (int i = 1; i < argc; i++) {
        char *colon;
        double watts = strtod(argv[i], &colon);
        draw(s, clock_now_ns(), (int64_t)(watts * 1e3));
        until_ns += ns_of(colon + 1);
        clock_sleep_until_ns(until_ns);
    }
    hold(s, false);
    draw(s, clock_now_ns() + ns_of(getenv("LOAD_TAIL_S")), SIM_IDLE_MW);
    const char *status = getenv("LOAD_STATUS"), *number = getenv("LOAD_SIGNAL");
    if (number)
        raise(atoi(number));
    return status ? atoi(status) : 0;
}
