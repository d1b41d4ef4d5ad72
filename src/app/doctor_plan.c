#include "app/doctor_plan.h"

#include <stdlib.h>
#include "base/must.h"
#include "run/run.h"
#include "schema/table.h"

static const struct field preflight_line_fields[] = {
    TEXT(preflight_line, name, "What was looked at: the fact preflight.NAME of a run."),
    TEXT(preflight_line, label, "The same for people."),
    ENUM(preflight_line, state, preflight_state, "What came of it."),
    TEXT(preflight_line, seen, "What was seen; null: it could not be seen."),
    TEXT(preflight_line, advice, "What is so, and what to do."),
};
const struct schema preflight_line_schema = SCHEMA(preflight_line, "One question about plan and machine.");

static const struct field doctor_plan_fields[] = {
    I64(doctor_plan, passed, "Lines that passed."),
    I64(doctor_plan, warned, "Lines with a warning, which stop nothing."),
    I64(doctor_plan, failed, "Lines that stop the run or exclude it."),
    OBJECTS(doctor_plan, lines, line_count, preflight_line, "What was looked at, in order."),
};
const struct schema doctor_plan_schema = SCHEMA(doctor_plan, "What stands in the way of a plan on this machine.");

struct doctor_plan doctor_plan_of(struct preflight_line *lines, size_t count)
{
    struct doctor_plan d = {.lines = lines, .line_count = count};
    for (size_t i = 0; i < count; i++) {
        d.passed += lines[i].state == PREFLIGHT_PASSED;
        d.warned += lines[i].state == PREFLIGHT_WARNED;
        d.failed += lines[i].state == PREFLIGHT_FAILED;
    }
    return d;
}

/* Some texts are the device's or the run's. */
static void keep_lines(struct preflight_line *lines, size_t n, struct arena *a)
{
    for (size_t i = 0; i < n; i++) {
        lines[i].name = arena_keep(a, lines[i].name);
        lines[i].label = arena_keep(a, lines[i].label);
        lines[i].seen = arena_keep(a, lines[i].seen);
        lines[i].advice = arena_keep(a, lines[i].advice);
    }
}

bool doctor_look_at_plan(const struct plan *plan, struct arena *a, struct doctor_plan *ret_found, struct err *e)
{
    must(plan && a && ret_found);
    struct run_options options = {.api_key = getenv("JTOK_API_KEY"), .look_through = true};
    struct run *run = NULL;
    const struct plan *resolved;
    bool good = run_open(plan, a, &options, &run, e) && run_resolve(run, &resolved, e);
    if (good) {
        struct preflight_line *lines;
        size_t n;
        const struct err *stopped;
        run_preflight(run, a, &lines, &n, &stopped);
        keep_lines(lines, n, a);
        *ret_found = doctor_plan_of(lines, n);
        ret_found->stopped = *stopped;
    }
    run_close(run);
    return good;
}
