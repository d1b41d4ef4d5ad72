/* What was there before and around the measurement: plan_mismatch, identity_wrong, preflight_failed, gpu_mismatch,
 * foreign_process, baseline_not_idle, method_shortened. */
#include "analysis/verify_internal.h"

#include <assert.h>
#include <string.h>

/* "1 property was", "3 properties were". */
static const char *properties(struct verify *v, size_t n)
{
    return n == 1 ? "1 property was" : arena_format(v->a, "%zu properties were", n);
}

/* What was left out of a comparison, as the end of a sentence: "; not stated in the plan: a, b; not seen: c". */
static const char *left_out(struct verify *v, const struct fact_group *g, const char *unseen)
{
    assert(unseen);
    return arena_format(v->a, "%s%s%s%s%s", g->unstated ? "; the plan does not state " : "",
                        g->unstated ? g->unstated : "", g->unjudged ? unseen : "", g->unjudged ? g->unjudged : "", "");
}

static bool differs(const char *expected, const char *seen)
{
    return expected && seen && strcmp(expected, seen) != 0;
}

/* Random prompts have a known length: the first request whose answer counts another one, as the end of a sentence;
 * null: none. *ret_compared: how many answers told their count. */
static const char *wrong_prompt(struct verify *v, size_t *ret_compared)
{
    const struct rec_request *first = NULL;
    size_t wrong = 0;
    *ret_compared = 0;
    if (!plan_is_random(&v->r->plan))
        return NULL;
    for (size_t i = 0; i < v->r->request_count; i++) {
        const struct rec_request *q = &v->r->requests[i];
        if (q->verdict != VERDICT_OK || q->prompt_tokens_sent == ABSENT_I64 || q->prompt_tokens == ABSENT_I64)
            continue;
        ++*ret_compared;
        if (q->prompt_tokens == q->prompt_tokens_sent)
            continue;
        first = first ? first : q;
        wrong++;
    }
    if (!first)
        return NULL;
    return arena_format(v->a,
                        "%zu of %zu requests had other prompt tokens than were sent, the first of them request %u: "
                        "%lld were sent, and the engine counted %lld",
                        wrong, *ret_compared, (unsigned)first->id, (long long)first->prompt_tokens_sent,
                        (long long)first->prompt_tokens);
}

/* How the prompts' lengths were compared, as the end of a sentence. */
static const char *prompts_compared(struct verify *v, size_t compared)
{
    if (!plan_is_random(&v->r->plan))
        return "";
    if (compared == 0)
        return "; how many prompt tokens the engine saw is not known";
    return arena_format(v->a, "; %zu prompts had as many tokens as were sent", compared);
}

static void check_plan(struct verify *v)
{
    struct fact_group g = verify_facts(v, "plan");
    size_t compared;
    const char *wrong = wrong_prompt(v, &compared);
    const char *wanted = v->r->plan.engine.version, *seen = v->r->run.engine_version;
    if (g.failed)
        verify_set(v, CODE_PLAN_MISMATCH, CHECK_FAILED, "What ran is not the plan: %s.", g.failed);
    else if (differs(wanted, seen))
        verify_set(v, CODE_PLAN_MISMATCH, CHECK_FAILED,
                   "What ran is not the plan: the engine's version is \"%s\" where \"%s\" "
                   "was expected.",
                   seen, wanted);
    else if (wrong)
        verify_set(v, CODE_PLAN_MISMATCH, CHECK_FAILED, "What ran is not the plan: %s.", wrong);
    else if (g.open)
        verify_set(v, CODE_PLAN_MISMATCH, CHECK_NOT_RECORDED, "Not compared with the plan: %s.", g.open);
    else if (g.by_outcome[CHECK_PASSED])
        verify_set(v, CODE_PLAN_MISMATCH, CHECK_PASSED, "%s compared with the plan, without a difference%s%s.",
                   properties(v, g.by_outcome[CHECK_PASSED]), left_out(v, &g, "; not visible from here: "),
                   prompts_compared(v, compared));
    else if (g.count)
        verify_set(v, CODE_PLAN_MISMATCH, g.unjudged ? CHECK_NOT_JUDGED : CHECK_NOT_STATED,
                   "Nothing was compared with the plan%s.", left_out(v, &g, "; not visible from here: "));
    else
        verify_set(v, CODE_PLAN_MISMATCH, CHECK_NOT_RECORDED,
                   "The records hold no comparison of the run with its plan.");
}

/* What the engine can't tell is a flag (identity_not_verifiable), not a failure; what the plan does not state was not
 * compared, and does not count as passed. */
static void check_identity(struct verify *v)
{
    static const char UNSEEN[] = "; the engine gives no way to check ";
    struct fact_group g = verify_facts(v, "identity");
    size_t passed = g.by_outcome[CHECK_PASSED];
    if (g.failed)
        verify_set(v, CODE_IDENTITY_WRONG, CHECK_FAILED, "The engine is not what the plan says: %s.", g.failed);
    else if (g.by_outcome[CHECK_NOT_CHECKED])
        verify_set(v, CODE_IDENTITY_WRONG, CHECK_NOT_CHECKED, "Not checked: %s.", g.open);
    else if (!g.count)
        verify_set(v, CODE_IDENTITY_WRONG, CHECK_NOT_RECORDED,
                   "The records hold nothing that the engine said of itself.");
    else if (passed)
        verify_set(v, CODE_IDENTITY_WRONG, CHECK_PASSED, "%s asked of the engine and found as planned%s.",
                   properties(v, passed), left_out(v, &g, UNSEEN));
    else
        verify_set(v, CODE_IDENTITY_WRONG, g.unjudged ? CHECK_NOT_JUDGED : CHECK_NOT_STATED,
                   "Nothing about the engine was compared%s.", left_out(v, &g, UNSEEN));
}

/* A formal run names its model, precision and engine version (or image). */
static void check_known(struct verify *v)
{
    const struct result *x = v->result;
    const struct {
        const char *what, *value, *source, *key;
    } wanted[] = {{"model", x->about.model, x->about.model_source, "model.id"},
                  {"precision", x->about.precision, x->about.precision_source, "model.precision"},
                  {"engine version", x->about.engine_version ? x->about.engine_version : x->about.image_digest,
                   x->about.engine_version ? x->about.engine_version_source : "plan",
                   "engine.version or engine.image_digest"}};
    const char *unknown = NULL, *keys = NULL, *known = NULL;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        if (wanted[i].value) {
            known = arena_join(v->a, known, ", ",
                               arena_format(v->a, "%s %s (%s)", wanted[i].what, wanted[i].value,
                                            wanted[i].source ? wanted[i].source : "source not recorded"));
            continue;
        }
        unknown = arena_join(v->a, unknown, " and ", wanted[i].what);
        keys = arena_join(v->a, keys, " and ", wanted[i].key);
    }
    if (unknown)
        verify_set(
            v, CODE_IDENTITY_UNKNOWN, CHECK_FAILED,
            "The %s of what ran is stated neither by the plan nor by the engine or the snapshot. State %s in the "
            "plan.",
            unknown, keys);
    else
        verify_set(v, CODE_IDENTITY_UNKNOWN, CHECK_PASSED, "Known: %s.", known);
}

static void check_preflight(struct verify *v)
{
    struct fact_group g = verify_facts(v, "preflight");
    if (g.failed)
        verify_set(v, CODE_PREFLIGHT_FAILED, CHECK_FAILED,
                   "The machine was not in a normal state before the start: %s.", g.failed);
    else if (g.open)
        verify_set(v, CODE_PREFLIGHT_FAILED, CHECK_NOT_RECORDED, "Not checked before the start: %s.", g.open);
    else if (!g.count)
        verify_set(v, CODE_PREFLIGHT_FAILED, CHECK_NOT_RECORDED,
                   "The records hold no check of the machine before the start.");
    else if (!g.by_outcome[CHECK_PASSED])
        verify_set(v, CODE_PREFLIGHT_FAILED, CHECK_NOT_JUDGED,
                   "Nothing about the machine was judged before the start%s.", left_out(v, &g, "; left out: "));
    else
        verify_set(v, CODE_PREFLIGHT_FAILED, CHECK_PASSED,
                   "The machine was checked before the start (%zu %s) and found normal.", g.by_outcome[CHECK_PASSED],
                   g.by_outcome[CHECK_PASSED] == 1 ? "fact" : "facts");
}

/* ---- GPUs ---- */

static bool plan_has(const struct plan *p, const char *uuid)
{
    for (size_t i = 0; i < p->gpu_count; i++)
        if (uuid && strcmp(p->gpus[i], uuid) == 0)
            return true;
    return false;
}

/* Highest memory use seen in [from, to], or ABSENT_I64. */
static int64_t memory_high(const struct rec_gpu *g, int64_t from_ns, int64_t to_ns)
{
    int64_t high = ABSENT_I64;
    for (size_t i = 0; i < g->state_count; i++)
        if (g->state[i].t_ns >= from_ns && g->state[i].t_ns <= to_ns && g->state[i].memory_used_bytes > high)
            high = g->state[i].memory_used_bytes;
    return high;
}

/* Memory that came after the engine's start and was there while it served; ABSENT_I64: not recorded. */
static int64_t new_memory(const struct records *r, const struct rec_gpu *g)
{
    int64_t start_ns = records_boundary(r, BOUNDARY_SERVICE_START), ready_ns = records_boundary(r, BOUNDARY_READY);
    int64_t end_ns = records_boundary(r, BOUNDARY_FORMAL_END);
    if (start_ns == ABSENT_I64 || ready_ns == ABSENT_I64 || end_ns == ABSENT_I64)
        return ABSENT_I64;
    int64_t before = memory_high(g, INT64_MIN, start_ns), serving = memory_high(g, ready_ns, end_ns);
    return before == ABSENT_I64 || serving == ABSENT_I64 ? ABSENT_I64 : serving - before;
}

/* Does the engine hold memory on a GPU while it serves? 1: yes, 0: no, -1: the records don't tell. By its own
 * processes; by the memory that came with it where processes could not be told apart. */
int verify_holds_memory(const struct verify *v, size_t gpu)
{
    const struct rec_gpu *g = &v->r->gpus[gpu];
    int64_t from_ns = records_boundary(v->r, BOUNDARY_READY), to_ns = records_boundary(v->r, BOUNDARY_FORMAL_END);
    if (plan_is_running(&v->r->plan)) {
        from_ns = RECORD_TIME_MIN;
        to_ns = RECORD_TIME_MAX;
    }
    if (from_ns == ABSENT_I64 || to_ns == ABSENT_I64)
        return -1;
    size_t listed = 0, own = 0, apart = 0;
    for (size_t i = 0; i < g->process_count; i++) {
        const struct rec_process *p = &g->process[i];
        if (p->t_ns < from_ns || p->t_ns > to_ns)
            continue;
        listed++;
        own += p->own == 1 && (p->memory_bytes == ABSENT_I64 || p->memory_bytes > 0);
        apart += p->own >= 0;
    }
    if (own)
        return 1;
    int64_t fresh = new_memory(v->r, g);
    if (listed && apart == listed)
        return 0;
    return fresh == ABSENT_I64 ? -1 : fresh > METHOD_MEMORY_BYTES;
}

/* The first thing wrong with the set of GPUs, or null. */
static const char *gpu_fault(struct verify *v)
{
    const struct records *r = v->r;
    if (r->gpu_count != r->plan.gpu_count)
        return arena_format(v->a, "the plan names %zu GPUs and %zu were recorded", r->plan.gpu_count, r->gpu_count);
    for (size_t i = 0; i < r->gpu_count; i++) {
        if (!plan_has(&r->plan, r->gpus[i].uuid))
            return arena_format(v->a, "%s is not in the plan", verify_gpu_name(v, i));
        if (r->gpus[i].partitioned == 1)
            return arena_format(v->a, "%s is split into parts that share its power", verify_gpu_name(v, i));
        if (verify_holds_memory(v, i) == 0)
            return arena_format(v->a, "the engine holds no memory on %s", verify_gpu_name(v, i));
    }
    return NULL;
}

static void check_gpus(struct verify *v)
{
    const struct records *r = v->r;
    struct fact_group g = verify_facts(v, "gpu");
    if (!r->gpu_count || !r->plan.gpu_count) {
        verify_set(v, CODE_GPU_MISMATCH, CHECK_NOT_RECORDED, "%s.",
                   r->gpu_count ? "The plan names no GPU by its UUID" : "No GPU was recorded");
        return;
    }
    const char *fault = g.failed ? g.failed : gpu_fault(v);
    if (fault) {
        verify_set(v, CODE_GPU_MISMATCH, CHECK_FAILED, "The engine did not use exactly the plan's GPUs: %s.", fault);
        return;
    }
    for (size_t i = 0; i < r->gpu_count; i++)
        if (verify_holds_memory(v, i) < 0 && plan_is_running(&r->plan) && r->plan.attach.gpus_stated) {
            verify_set(v, CODE_GPU_MISMATCH, CHECK_NOT_JUDGED,
                       "The processes on %s can't be told apart from here: it is the service's on its user's word.",
                       verify_gpu_name(v, i));
            return;
        } else if (verify_holds_memory(v, i) < 0) {
            verify_set(v, CODE_GPU_MISMATCH, CHECK_NOT_RECORDED,
                       "The memory of %s was not recorded both before and while the engine served.",
                       verify_gpu_name(v, i));
            return;
        }
    if (!g.count || g.open)
        verify_set(v, CODE_GPU_MISMATCH, CHECK_NOT_RECORDED, "Not checked: %s.",
                   g.open ? g.open : "whether another GPU than the plan's was used");
    else
        verify_set(v, CODE_GPU_MISMATCH, CHECK_PASSED,
                   "%zu GPU%s with the plan's UUIDs; the engine held memory on each%s.", r->gpu_count,
                   r->gpu_count == 1 ? "" : "s",
                   g.unjudged ? "; whether it also used another GPU is not known" : " and on no other");
}

/* ---- foreign processes ---- */

/* The processes of the machine are looked through just behind ready. */
#define FOUND_NS INT64_C(1000000000)

static bool states_readable(const struct rec_gpu *g)
{
    for (size_t i = 0; i < g->state_count; i++)
        if (g->state[i].processes < 0)
            return false;
    return g->state_count > 0;
}

/* Before ready, one that a daemon has started for the engine's command is not known yet (METHOD section 3). It is found
 * when it listens, and was the same process before. */
static bool is_own_later(const struct records *r, const struct rec_process *p)
{
    int64_t start_ns = records_boundary(r, BOUNDARY_SERVICE_START), ready_ns = records_boundary(r, BOUNDARY_READY);
    if (start_ns == ABSENT_I64 || ready_ns == ABSENT_I64 || p->t_ns < start_ns || p->t_ns > ready_ns + FOUND_NS)
        return false;
    for (size_t i = 0; i < r->gpu_count; i++)
        for (size_t k = 0; k < r->gpus[i].process_count; k++) {
            const struct rec_process *q = &r->gpus[i].process[k];
            if (q->pid == p->pid && q->own == 1 && q->t_ns >= p->t_ns)
                return true;
        }
    return false;
}

/* Before the engine's start every compute process is foreign, whoever's it is; later only one that is known not to be
 * the engine's. The earliest one, or null. O(processes), and that squared where there are some of others. */
static const struct rec_process *first_foreign(const struct records *r, const struct rec_gpu *g, int64_t start_ns,
                                               int64_t until_ns)
{
    const struct rec_process *first = NULL;
    for (size_t i = 0; i < g->process_count; i++) {
        const struct rec_process *p = &g->process[i];
        bool foreign = p->own == 0 || (p->own < 0 && start_ns != ABSENT_I64 && p->t_ns < start_ns);
        foreign = foreign && p->t_ns <= until_ns;
        foreign = foreign && !is_own_later(r, p);
        if (foreign && (!first || p->t_ns < first->t_ns || (p->t_ns == first->t_ns && p->pid < first->pid)))
            first = p;
    }
    return first;
}

/* Readings that list more processes than could be named, or ones of another process-id namespace. */
static bool processes_told_apart(const struct rec_gpu *g)
{
    int64_t listed = 0;
    for (size_t i = 0; i < g->state_count; i++)
        listed += g->state[i].processes;
    for (size_t i = 0; i < g->process_count; i++)
        if (g->process[i].own < 0)
            return false;
    return listed <= (int64_t)g->process_count;
}

static void check_processes(struct verify *v)
{
    /* An engine that takes the place of the watched one ends the window, and is not in it. */
    int64_t end_ns = records_boundary(v->r, BOUNDARY_WINDOW_END), until_ns = end_ns == ABSENT_I64 ? INT64_MAX : end_ns;
    int64_t start_ns = records_boundary(v->r, BOUNDARY_SERVICE_START);
    size_t lists = 0;
    for (size_t i = 0; i < v->r->gpu_count; i++) {
        const struct rec_process *p = first_foreign(v->r, &v->r->gpus[i], start_ns, until_ns);
        lists += v->r->gpus[i].state_count;
        if (p) {
            verify_set(v, CODE_FOREIGN_PROCESS, CHECK_FAILED,
                       "Process %lld, which is not the engine's, was on %s %.1f s after the run began.",
                       (long long)p->pid, verify_gpu_name(v, i), verify_seconds(p->t_ns));
            return;
        }
    }
    for (size_t i = 0; i < v->r->gpu_count; i++) {
        const struct rec_gpu *g = &v->r->gpus[i];
        if (!states_readable(g) || !processes_told_apart(g)) {
            verify_set(v, CODE_FOREIGN_PROCESS, CHECK_NOT_RECORDED, "%s %s.",
                       states_readable(g) ? "The engine's processes could not be distinguished from others on"
                                          : "The compute processes were not always listed on",
                       verify_gpu_name(v, i));
            return;
        }
    }
    if (v->r->gpu_count)
        verify_set(v, CODE_FOREIGN_PROCESS, CHECK_PASSED, "%zu lists of compute processes held only the engine's.",
                   lists);
    else
        verify_set(v, CODE_FOREIGN_PROCESS, CHECK_NOT_RECORDED, "No GPU was recorded.");
}

static void check_baseline(struct verify *v)
{
    const struct result *x = v->result;
    enum check_outcome outcome = x->gpu_count ? CHECK_PASSED : CHECK_NOT_RECORDED;
    const char *why = x->gpu_count ? NULL : "no GPU was recorded";
    for (size_t i = 0; i < x->gpu_count; i++) {
        const struct result_gpu *g = &x->gpus[i];
        bool worse = g->baseline_idle == CHECK_FAILED ? outcome != CHECK_FAILED
                                                      : g->baseline_idle != CHECK_PASSED && outcome == CHECK_PASSED;
        if (worse) {
            outcome = g->baseline_idle == CHECK_FAILED ? CHECK_FAILED : CHECK_NOT_RECORDED;
            why = arena_format(v->a, "GPU %lld: %s", (long long)g->index,
                               g->baseline_why ? g->baseline_why : "not recorded");
        }
    }
    if (outcome == CHECK_PASSED)
        verify_set(v, CODE_BASELINE_NOT_IDLE, outcome, "%s idle in the baseline window.",
                   x->gpu_count == 1 ? "The GPU was" : "All GPUs were");
    else
        verify_set(v, CODE_BASELINE_NOT_IDLE, outcome, "%s: %s.",
                   outcome == CHECK_FAILED ? "Not idle in the baseline window" : "Not known to be idle", why);
}

void verify_setup(struct verify *v)
{
    check_plan(v);
    check_identity(v);
    check_known(v);
    check_preflight(v);
    check_gpus(v);
    check_processes(v);
    check_baseline(v);
    if (plan_is_shortened(&v->r->plan))
        verify_set(v, CODE_METHOD_SHORTENED, CHECK_FAILED,
                   "The plan asks for a baseline of %g s, a hold of %g s, %lld warm-up requests of %lld tokens; one of "
                   "these, or a "
                   "wait, is shorter than the method asks.",
                   v->r->plan.method.baseline_s, v->r->plan.method.hold_s, (long long)v->r->plan.method.warmup_requests,
                   (long long)v->r->plan.method.warmup_tokens);
    else
        verify_set(v, CODE_METHOD_SHORTENED, CHECK_PASSED, "No duration of the method was shortened.");
}
