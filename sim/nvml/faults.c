#include "sim.h"

#include <stdlib.h>
#include <string.h>

static const char *const fault_names[FAULT_KINDS] = {
    "no_driver",    "version_mismatch", "mig",          "no_permission", "lost",          "missed",
    "counter_back", "counter_stuck",    "slow_counter", "busy_process",  "not_idle",      "no_field186",
    "no_counter",   "no_buffer",        "no_processes", "stride32",      "zero_field186", "module_counter"};

static bool parse_name(const char **at, enum fault_kind *ret_kind)
{
    size_t n = strcspn(*at, ":@+,");
    for (int kind = 0; kind < FAULT_KINDS; kind++)
        if (strlen(fault_names[kind]) == n && strncmp(fault_names[kind], *at, n) == 0) {
            *ret_kind = (enum fault_kind)kind;
            *at += n;
            return true;
        }
    return false;
}

/* "2.5s" or "2.5", in ns. */
static bool parse_seconds(const char **at, int64_t *ret_ns)
{
    char *end;
    double seconds = strtod(*at, &end);
    if (end == *at || !(seconds >= 0 && seconds < 1e6))
        return false;
    *ret_ns = (int64_t)(seconds * 1e9);
    *at = *end == 's' ? end + 1 : end;
    return true;
}

static bool parse_one(const char **at, struct fault *ret_fault)
{
    struct fault f = {.gpu = -1, .until_ns = INT64_MAX};
    int64_t lasting_ns;
    if (!parse_name(at, &f.kind))
        return false;
    if (**at == ':') {
        char *end;
        f.gpu = (int)strtol(*at + 1, &end, 10);
        if (end == *at + 1)
            return false;
        *at = end;
    }
    if (**at == '@') {
        ++*at;
        if (!parse_seconds(at, &f.from_ns))
            return false;
    }
    if (**at == '+') {
        ++*at;
        if (!parse_seconds(at, &lasting_ns))
            return false;
        f.until_ns = f.from_ns + lasting_ns;
    }
    *ret_fault = f;
    return true;
}

bool faults_parse(struct faults *f, const char *text)
{
    f->count = 0;
    while (*text) {
        if (f->count == FAULTS_MAX || !parse_one(&text, &f->list[f->count]))
            return false;
        f->count++;
        if (*text == ',')
            text++;
        else if (*text)
            return false;
    }
    return true;
}

bool fault_active(const struct sensors *s, enum fault_kind kind, uint32_t gpu, int64_t now_ns)
{
    int64_t t_ns = s->state ? now_ns - s->state->created_ns : 0;
    for (int i = 0; i < s->faults.count; i++) {
        const struct fault *f = &s->faults.list[i];
        if (f->kind == kind && (f->gpu < 0 || (uint32_t)f->gpu == gpu) && t_ns >= f->from_ns && t_ns < f->until_ns)
            return true;
    }
    return false;
}
