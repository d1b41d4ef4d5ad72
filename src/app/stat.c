#include "app/stat.h"

#include <stdlib.h>
#include <string.h>
#include "base/file.h"
#include "base/must.h"
#include "run/stat.h"
#include "store/archive.h"
#include "store/records.h"

/* What runs over all repetitions. */
struct series {
    const struct stat_request *request;
    struct arena *arena;
    struct plan plan;
    struct stat_report report;
    struct stat_once *runs;
    size_t count;
    struct records *first;
};

static void note_failure(struct series *s, const struct err *e)
{
    if (s->report.failure.kind == ERR_NONE && e->kind != ERR_NONE)
        s->report.failure = *e;
}

/* ---- the plan ---- */

static struct plan plan_of(const struct stat_request *o, const char *runs, struct arena *a)
{
    struct plan p = *o->plan;
    size_t n = 0;
    while (o->command[n])
        n++;
    p.stat.command = arena_array(a, n + 1, sizeof *p.stat.command);
    for (size_t i = 0; i < n; i++)
        p.stat.command[i] = o->command[i];
    p.object = OBJECT_STAT;
    p.engine.kind = (enum engine_kind) - 1; /* there is none */
    p.name = path_name(o->command[0]);
    p.stat.command_count = n;
    p.stat.idle_s = o->idle_s;
    p.method.hold_s = STAT_HOLD_S;
    p.method.release_wait_s = STAT_WAIT_S;
    p.method.grid_s = STAT_GRID_S;
    p.runs = runs;
    return p;
}

/* ---- one run ---- */

/* From the files alone. Records that could not all be written are not sealed, and say so themselves. */
static bool take_records(struct series *s, const struct stat_outcome *o, struct err *e)
{
    struct records *r = arena_alloc(s->arena, sizeof *r);
    bool whole = o->unwritten.kind == ERR_NONE;
    if (whole && !archive_seal(o->folder, e))
        return false;
    if (!records_load(o->folder, s->arena, r, e))
        return false;
    if (!whole && !r->damage)
        r->damage = o->unwritten.text;
    if (!s->first)
        s->first = r;
    s->runs[s->count++] = stat_judge(r, s->arena);
    return true;
}

static void take_status(struct series *s, int64_t status)
{
    struct stat_report *r = &s->report;
    if (status != ABSENT_I64 && (r->status == ABSENT_I64 || r->status == 0))
        r->status = status;
}

/* False: no further run. */
static bool execute_once(struct series *s, struct stat_run *run, struct err *e)
{
    struct stat_outcome *o = arena_alloc(s->arena, sizeof *o);
    if (!stat_execute(run, o, e))
        return false;
    take_status(s, o->status);
    s->report.started |= o->started;
    s->report.interrupted |= o->interrupted;
    note_failure(s, &o->failure);
    if (o->started && !take_records(s, o, e))
        return false;
    return o->failure.kind == ERR_NONE && !o->interrupted;
}

static bool run_once(struct series *s)
{
    struct err e = {0};
    struct stat_run *run = NULL;
    int64_t status = ABSENT_I64;
    bool more = stat_open(&s->plan, s->arena, &run, &status, &e) && execute_once(s, run, &e);
    stat_close(run);
    take_status(s, status);
    note_failure(s, &e);
    return more;
}

/* ---- all of them ---- */

struct stat_report stat_measure(const struct stat_request *o, struct arena *a)
{
    must(o->command && o->command[0] && o->repeat >= 1 && o->repeat <= STAT_REPEAT_MAX);
    struct series s = {.request = o, .arena = a, .report = {.status = ABSENT_I64}};
    struct path scratch;
    if (!o->keep && !file_scratch_folder("stat", &scratch, &s.report.failure))
        return s.report;
    s.plan = plan_of(o, o->keep ? o->keep : arena_text(a, scratch.text), a);
    s.runs = arena_array(a, (size_t)o->repeat, sizeof *s.runs);
    for (int64_t i = 1; i <= o->repeat; i++) {
        s.plan.stat.repetition = i;
        if (!run_once(&s))
            break;
    }
    if (s.count)
        s.report.result = stat_gather(s.first, s.runs, s.count, a);
    if (!o->keep)
        file_remove_folder(scratch.text);
    return s.report;
}

/* ---- kept ones ---- */

bool stat_is_recorded(const char *folder, struct arena *a)
{
    struct archive_entry *entries;
    size_t n;
    struct err none;
    return archive_list(folder, a, &entries, &n, &none) && n == 1 && !entries[0].fault &&
           entries[0].plan.object == OBJECT_STAT;
}

static bool read_once(const char *folder, struct arena *a, struct records **ret_records, struct stat_once **ret_once,
                      struct err *e)
{
    struct records *r = arena_alloc(a, sizeof *r);
    struct stat_once *once = arena_alloc(a, sizeof *once);
    if (!records_load(folder, a, r, e))
        return false;
    if (r->plan.object != OBJECT_STAT)
        return err_set(e, ERR_RECORDS, "%s does not hold the run of a command (jtok stat).", folder);
    *once = stat_judge(r, a);
    *ret_records = r;
    *ret_once = once;
    return true;
}

bool stat_read(const char *folder, struct arena *a, struct stat_result *ret_result, struct err *e)
{
    struct records *r;
    struct stat_once *once;
    if (!read_once(folder, a, &r, &once, e))
        return false;
    *ret_result = stat_gather(r, once, 1, a);
    return true;
}

bool stat_read_run(const char *folder, struct arena *a, struct compare_run *ret_run, struct err *e)
{
    struct archive_check seal;
    struct records *r;
    struct stat_once *once;
    if (!archive_verify(folder, a, &seal, e))
        return false;
    if (!seal.sealed)
        return err_set(e, ERR_RECORDS, "%s is not sealed, so nothing shows that its records are whole.", folder);
    if (seal.bad_records)
        return err_set(e, ERR_RECORDS, "%s can't be used, since its records are not what was sealed: %s", folder,
                       seal.records_text);
    if (!read_once(folder, a, &r, &once, e))
        return false;
    *ret_run = (struct compare_run){stat_as_result(r, once, a), &r->plan, &r->run, once->exit_status};
    return true;
}
