/* The sequence of the run: release_timed_out, release_not_closed, engine_failed, interrupted, clock_step,
 * records_damaged. */
#include <assert.h>
#include <string.h>
#include "analysis/verify_internal.h"

static const struct rec_boundary *last_boundary(const struct records *r, enum boundary id)
{
    for (size_t i = r->boundary_count; i-- > 0;)
        if (r->boundaries[i].id == id)
            return &r->boundaries[i];
    return NULL;
}

static const char *note_of(const struct rec_boundary *m)
{
    assert(m);
    return m->note && m->note[0] ? m->note : "no reason was noted";
}

static void check_release(struct verify *v)
{
    const struct result_release *x = &v->result->release;
    if (records_boundary(v->r, BOUNDARY_FORMAL_END) == ABSENT_I64) {
        verify_set(v, CODE_RELEASE_TIMED_OUT, CHECK_NOT_RECORDED, "The run did not reach its release.");
        verify_set(v, CODE_RELEASE_NOT_CLOSED, CHECK_NOT_RECORDED, "The run did not reach its release.");
        return;
    }
    if (x->timed_out)
        verify_set(v, CODE_RELEASE_TIMED_OUT, CHECK_FAILED, "The release did not end within its maximum wait of %g s.",
                   v->r->plan.method.release_wait_s);
    else
        verify_set(v, CODE_RELEASE_TIMED_OUT, CHECK_PASSED, "The release did not reach its maximum wait of %g s.",
                   v->r->plan.method.release_wait_s);
    struct fact_group facts = verify_facts(v, "release");
    if (!x->closed || facts.failed)
        verify_set(v, CODE_RELEASE_NOT_CLOSED, CHECK_FAILED, "The release is not closed: %s.",
                   !x->closed ? (x->why ? x->why : "exit, memory or power is not proven") : facts.failed);
    else
        verify_set(v, CODE_RELEASE_NOT_CLOSED, CHECK_PASSED,
                   "Processes gone, memory back and power recovered %.2f s after the formal stage.", x->end_s.value);
}

static void check_engine(struct verify *v)
{
    const struct rec_boundary *failed = last_boundary(v->r, BOUNDARY_FAILED);
    const struct rec_boundary *gone = last_boundary(v->r, BOUNDARY_EXIT), *stop = last_boundary(v->r, BOUNDARY_STOP);
    if (failed)
        verify_set(v, CODE_ENGINE_FAILED, CHECK_FAILED, "The run gave up at %.1f s: %s", verify_seconds(failed->t_ns),
                   note_of(failed));
    else if (gone && stop && gone->t_ns < stop->t_ns)
        verify_set(v, CODE_ENGINE_FAILED, CHECK_FAILED,
                   "The engine exited on its own %.1f s before it was told to stop.",
                   verify_seconds(stop->t_ns - gone->t_ns));
    else
        verify_set(v, CODE_ENGINE_FAILED, CHECK_PASSED, "The engine ran until it was told to stop.");
}

static void check_interrupted(struct verify *v)
{
    const struct rec_boundary *m = last_boundary(v->r, BOUNDARY_INTERRUPTED);
    if (m)
        verify_set(v, CODE_INTERRUPTED, CHECK_FAILED, "The run was stopped at %.1f s (%s).", verify_seconds(m->t_ns),
                   note_of(m));
    else
        verify_set(v, CODE_INTERRUPTED, CHECK_PASSED, "The run was not interrupted.");
}

static void check_clock(struct verify *v)
{
    int64_t steps = v->result->load.clock_steps;
    if (v->r->clock_count < 2 || steps == ABSENT_I64)
        verify_set(v, CODE_CLOCK_STEP, CHECK_NOT_RECORDED, "The offset between the two clocks was not recorded.");
    else if (steps)
        verify_set(v, CODE_CLOCK_STEP, CHECK_FAILED,
                   "The system's clock was set %lld time%s by over 1 ms during the run.", (long long)steps,
                   steps == 1 ? "" : "s");
    else
        verify_set(v, CODE_CLOCK_STEP, CHECK_PASSED, "%zu clock pairs, no step.", v->r->clock_count);
}

/* ---- whole, sealed, in order ---- */

/* The boundaries that a run of each object has, in their order; of attach those of its loads. */
static const enum boundary life[] = {BOUNDARY_BASELINE_START, BOUNDARY_BASELINE_END, BOUNDARY_SERVICE_START,
                                     BOUNDARY_READY,          BOUNDARY_WARMUP_START, BOUNDARY_WARMUP_END,
                                     BOUNDARY_FORMAL_START,   BOUNDARY_FORMAL_END,   BOUNDARY_STOP};
static const enum boundary attach[] = {BOUNDARY_FORMAL_START, BOUNDARY_FORMAL_END};
static const enum boundary watch[] = {BOUNDARY_WINDOW_START, BOUNDARY_WINDOW_END};
static const enum boundary command[] = {BOUNDARY_COMMAND_START, BOUNDARY_COMMAND_END};
static const struct sequence {
    const enum boundary *ids;
    size_t count;
} sequences[] = {
    [OBJECT_LIFE] = {life, sizeof life / sizeof *life},
    [OBJECT_ATTACH] = {attach, sizeof attach / sizeof *attach},
    [OBJECT_WATCH] = {watch, sizeof watch / sizeof *watch},
    [OBJECT_STAT] = {command, sizeof command / sizeof *command},
};

/* A run that gave up or was stopped may lack its later stages; any other has all of them. */
static const char *sequence_fault(struct verify *v)
{
    const struct sequence *sequence = &sequences[plan_object(&v->r->plan)];
    bool cut_short = last_boundary(v->r, BOUNDARY_FAILED) || last_boundary(v->r, BOUNDARY_INTERRUPTED);
    const struct rec_boundary *before = NULL;
    for (size_t i = 0; i < sequence->count; i++) {
        enum boundary id = sequence->ids[i];
        const struct rec_boundary *m = last_boundary(v->r, id);
        if (!m && !cut_short)
            return arena_format(v->a, "the boundary %s is missing", boundary_names[id]);
        if (m && before && m->t_ns < before->t_ns)
            return arena_format(v->a, "the boundary %s is earlier than %s", boundary_names[id],
                                boundary_names[before->id]);
        before = m ? m : before;
    }
    return NULL;
}

/* Lines as parts of one sentence. */
static const char *in_one_line(struct arena *a, const char *lines)
{
    char *text = arena_alloc(a, 2 * strlen(lines) + 1), *to = text;
    for (; *lines; lines++) {
        *to++ = *lines == '\n' ? ';' : *lines;
        if (*lines == '\n')
            *to++ = ' ';
    }
    return text;
}

static void check_records(struct verify *v)
{
    const char *fault = v->r->damage ? in_one_line(v->a, v->r->damage)
                        : !v->r->sealed
                            ? "the folder has no seal: the run was not finished, or its end did not reach the disk"
                            : sequence_fault(v);
    if (fault)
        verify_set(v, CODE_RECORDS_DAMAGED, CHECK_FAILED, "The records are damaged or incomplete: %s.", fault);
    else
        verify_set(v, CODE_RECORDS_DAMAGED, CHECK_PASSED, "Sealed, all hashes match, all stages in order.");
}

void verify_sequence(struct verify *v)
{
    check_release(v);
    check_engine(v);
    check_interrupted(v);
    check_clock(v);
    check_records(v);
}
