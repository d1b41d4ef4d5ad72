#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t sample_step_ns = 20000000, sample_behind_ns = 10000000;

struct line {
    int64_t t_ns, mw;
    uint32_t gpu;
};

/* Seconds with a decimal point, else microseconds. */
static bool parse_time(const char *text, char **ret_end, int64_t *ret_ns)
{
    double value = strtod(text, ret_end);
    if (*ret_end == text)
        return false;
    bool seconds = memchr(text, '.', (size_t)(*ret_end - text)) != NULL;
    *ret_ns = (int64_t)(value * (seconds ? 1e9 : 1e3));
    return true;
}

static bool parse_line(const char *text, struct line *ret_line)
{
    static const char series[] = "sample_mw,";
    struct line l = {0};
    char *end;
    bool full = strncmp(text, series, sizeof series - 1) == 0;
    if (!parse_time(text + (full ? sizeof series - 1 : 0), &end, &l.t_ns) || *end != ',')
        return false;
    if (full) {
        l.gpu = (uint32_t)strtoul(end + 1, &end, 10);
        if (*end != ',' || l.gpu >= SIM_GPUS_MAX)
            return false;
    }
    const char *value = end + 1;
    l.mw = strtoll(value, &end, 10);
    if (end == value || (*end != '\n' && *end != '\r' && *end != 0))
        return false;
    *ret_line = l;
    return true;
}

/* Each sample holds from half way to the one before to half way to the next, so the rectangles' sum is the recording's
 * trapezoid (with its 6 to 47 ms between samples, holding each until its own stamp is 0.07 % off over a formal stage).
 * The stamps are 10 ms behind the truth, as the simulated buffer's are again. */
static void add_line(struct sim_gpu *g, int64_t *last_ns, int64_t t_ns, int64_t mw)
{
    uint64_t n = atomic_load(&g->step_count);
    int64_t from_ns =
        (*last_ns == INT64_MIN ? t_ns - sample_step_ns : *last_ns + (t_ns - *last_ns) / 2) - sample_behind_ns;
    if (n == SIM_STEPS_MAX || t_ns <= *last_ns)
        return;
    g->steps[n] = (struct sim_step){from_ns, mw};
    atomic_store(&g->step_count, n + 1);
    *last_ns = t_ns;
}

static uint32_t read_lines(struct sim_state *s, FILE *f, double offset_s)
{
    int64_t shift_ns = INT64_MIN, last_ns[SIM_GPUS_MAX];
    uint32_t recorded = 0;
    char text[256];
    struct line l;
    for (int i = 0; i < SIM_GPUS_MAX; i++)
        last_ns[i] = INT64_MIN;
    while (fgets(text, sizeof text, f)) {
        if (!parse_line(text, &l))
            continue;
        if (shift_ns == INT64_MIN)
            shift_ns = s->created_ns - l.t_ns - (int64_t)(offset_s * 1e9);
        add_line(&s->gpus[l.gpu], &last_ns[l.gpu], l.t_ns + shift_ns, l.mw);
        recorded = l.gpu + 1 > recorded ? l.gpu + 1 : recorded;
    }
    return recorded;
}

bool replay_load(struct sim_state *s, const char *path, double offset_s)
{
    if (atomic_exchange(&s->replaying, 1))
        return true;
    FILE *f = fopen(path, "re");
    if (!f)
        return false;
    uint32_t recorded = read_lines(s, f, offset_s);
    fclose(f);
    for (uint32_t gpu = recorded; recorded && gpu < s->gpu_count; gpu++) {
        const struct sim_gpu *from = &s->gpus[gpu % recorded];
        uint64_t n = atomic_load(&from->step_count);
        memcpy(s->gpus[gpu].steps, from->steps, n * sizeof *from->steps);
        atomic_store(&s->gpus[gpu].step_count, n);
    }
    return recorded > 0;
}
