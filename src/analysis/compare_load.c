#include "analysis/compare_load.h"

#include <assert.h>
#include <string.h>
#include "base/must.h"
#include "schema/visit.h"

/* ---- one load ---- */

enum {
    ANY = 1 << LOAD_BURST | 1 << LOAD_CONCURRENCY | 1 << LOAD_RATE | 1 << LOAD_TRACE,
    CLOSED = 1 << LOAD_CONCURRENCY,
    DRAWN = 1 << LOAD_RATE,
    TIMED = 1 << LOAD_TRACE
};

/* Which kinds use a key of a load: bits of 1 << enum load_kind. */
static int users_of(const char *key)
{
    static const struct {
        const char *key;
        int kinds;
    } keys[] = {{"kind", ANY},         {"concurrency", CLOSED}, {"rate", DRAWN}, {"arrivals", DRAWN},
                {"burstiness", DRAWN}, {"seed", DRAWN},         {"file", TIMED}, {"sha256", TIMED},
                {"scale", TIMED},      {"count", ANY},          {"for_s", ANY}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(keys[i].key, key) == 0)
            return keys[i].kinds;
    return ANY;
}

static bool is_load_kind(enum load_kind kind)
{
    return (int)kind >= LOAD_BURST && kind <= LOAD_TRACE;
}

static const char *setting_value(const struct field *f, const struct plan_load *l, struct arena *a)
{
    const struct slot slot = slot_of(f, l);
    struct buf text = {0};
    slot_put(&slot, &text);
    const char *copy = slot_is_absent(&slot) || !text.n ? "not stated" : arena_copy(a, text.p, text.n);
    buf_done(&text);
    return copy;
}

const char *compare_load_difference(const struct plan_load *x, const struct plan_load *y, struct arena *a)
{
    must(is_load_kind(x->kind) && is_load_kind(y->kind));
    const int used = x->kind == y->kind ? 1 << x->kind : ANY;
    const bool digests = x->sha256 && y->sha256;
    const char *said = NULL;
    for (size_t i = 0; i < plan_load_schema.count; i++) {
        const struct field *f = &plan_load_schema.fields[i];
        bool names_trace = strcmp(f->key, "file") == 0, is_digest = strcmp(f->key, "sha256") == 0;
        if (!(users_of(f->key) & used) || (names_trace && digests) || (is_digest && !digests))
            continue;
        const char *u = setting_value(f, x, a), *v = setting_value(f, y, a);
        if (strcmp(u, v) != 0)
            said = arena_join(a, said, ", ", arena_format(a, "%s is %s and %s", f->key, u, v));
        if (said && x->kind != y->kind)
            break; /* of other kinds there is no more to say */
    }
    return said;
}

/* ---- all of a run ---- */

/* Are the loads of the result those of its plan? */
static bool has_loads(const struct compare_run *r)
{
    const struct result_loads *l = &r->result->loads;
    bool alike = r->plan && r->plan->load_count == l->point_count && l->point_count > 0;
    for (size_t i = 0; alike && i < l->point_count; i++)
        alike = r->plan->loads[i].kind == l->points[i].kind && is_load_kind(r->plan->loads[i].kind);
    return alike;
}

/* Which of y's loads is not taken yet and the same as x; -1: none. `near`: of the same kind, or just any. */
enum likeness { THE_SAME, OF_ITS_KIND, ANY_OTHER };

static int64_t find_load(const struct plan_load *x, const struct compare_run *y, const bool *taken, enum likeness as,
                         struct arena *a)
{
    for (size_t i = 0; i < y->plan->load_count; i++) {
        const struct plan_load *l = &y->plan->loads[i];
        if (!taken[i] && (as == ANY_OTHER || (as == OF_ITS_KIND && l->kind == x->kind) ||
                          (as == THE_SAME && !compare_load_difference(x, l, a))))
            return (int64_t)i;
    }
    return -1;
}

/* Pairs what is alike so far, of those of x that have no pair yet. */
static void pair_loads(const struct compare_run *x, const struct compare_run *y, enum likeness as, int64_t *of_x,
                       bool *taken, struct arena *a)
{
    for (size_t i = 0; i < x->plan->load_count; i++) {
        if (of_x[i] >= 0)
            continue;
        of_x[i] = find_load(&x->plan->loads[i], y, taken, as, a);
        if (of_x[i] >= 0)
            taken[of_x[i]] = true;
    }
}

/* By their places: what has no load that could be told from another. Unless `near`, only one of each. */
static struct load_pairs paired_in_order(const struct compare_run *x, const struct compare_run *y, bool near,
                                         struct arena *a)
{
    const size_t n = x->result->loads.point_count, m = y->result->loads.point_count, most = n > m ? n : m;
    const bool same = n == 1 && m == 1;
    struct load_pairs p = {.items = arena_array(a, most, sizeof *p.items), .same = same};
    for (; p.count < most && (near || same); p.count++) {
        int64_t i = (int64_t)p.count;
        p.items[p.count] = (struct load_pair){p.count < n ? i : -1, p.count < m ? i : -1};
    }
    return p;
}

static bool sends_loads(enum run_object object)
{
    return object == OBJECT_LIFE || object == OBJECT_ATTACH;
}

struct load_pairs compare_load_pairs(const struct compare_run *x, const struct compare_run *y, bool near,
                                     struct arena *a)
{
    must(x->result && y->result);
    if (!sends_loads(x->result->loads.object) || !sends_loads(y->result->loads.object))
        return paired_in_order(x, y, near, a);
    if (!has_loads(x) || !has_loads(y)) {
        struct load_pairs unknown = paired_in_order(x, y, near, a);
        unknown.same = 0;
        return unknown;
    }
    size_t n = x->plan->load_count, m = y->plan->load_count;
    struct load_pairs p = {.items = arena_array(a, n + m, sizeof *p.items)};
    int64_t *of_x = arena_array(a, n, sizeof *of_x);
    bool *taken = arena_array(a, m, sizeof *taken), *same = arena_array(a, n, sizeof *same);
    memset(of_x, -1, n * sizeof *of_x);
    memset(taken, 0, m * sizeof *taken);
    pair_loads(x, y, THE_SAME, of_x, taken, a);
    for (size_t i = 0; i < n; i++) {
        same[i] = of_x[i] >= 0;
        if (same[i])
            p.items[p.count++] = (struct load_pair){(int64_t)i, of_x[i]};
    }
    p.same = p.count;
    if (near) {
        pair_loads(x, y, OF_ITS_KIND, of_x, taken, a);
        pair_loads(x, y, ANY_OTHER, of_x, taken, a);
    }
    for (size_t i = 0; i < n; i++)
        if (!same[i])
            p.items[p.count++] = (struct load_pair){(int64_t)i, of_x[i]};
    for (size_t i = 0; i < m; i++)
        if (!taken[i])
            p.items[p.count++] = (struct load_pair){-1, (int64_t)i};
    return p;
}

/* ---- in words ---- */

static const char *setting_text(const struct compare_run *r, int64_t i)
{
    const char *text = r->result->loads.points[i].setting;
    return text ? text : "not stated";
}

/* The load that is nearest to a pair's lonely one, to say in what they differ. */
static const char *lonely_text(const struct compare_run *x, const struct compare_run *y, const struct load_pair *p,
                               struct arena *a)
{
    const struct compare_run *has = p->x >= 0 ? x : y, *lacks = p->x >= 0 ? y : x;
    return arena_format(a, "Only run %s has the load \"%s\"; run %s does not.", compare_id(has->result),
                        setting_text(has, p->x >= 0 ? p->x : p->y), compare_id(lacks->result));
}

static void tell_pair(const struct compare_run *x, const struct compare_run *y, const struct load_pair *p,
                      struct arena *a, struct sentences *to)
{
    if (p->x < 0 || p->y < 0 || x->plan->loads[p->x].kind != y->plan->loads[p->y].kind) {
        const struct load_pair ends[] = {{p->x, -1}, {-1, p->y}};
        for (int i = 0; i < 2; i++)
            if (ends[i].x >= 0 || ends[i].y >= 0)
                sentences_add(to, a, lonely_text(x, y, &ends[i], a));
        return;
    }
    const char *difference = compare_load_difference(&x->plan->loads[p->x], &y->plan->loads[p->y], a);
    assert(difference);
    sentences_add(to, a,
                  arena_format(a, "The load differs: \"%s\" in run %s and \"%s\" in run %s (%s).",
                               setting_text(x, p->x), compare_id(x->result), setting_text(y, p->y),
                               compare_id(y->result), difference));
}

static void want_stated(const struct compare_run *r, struct arena *a, struct sentences *reasons)
{
    if (!has_loads(r))
        sentences_add(reasons, a,
                      arena_format(a,
                                   "Run %s has no plan.json that names the loads of its result, so they can't be told "
                                   "to be the same.",
                                   compare_id(r->result)));
}

void compare_loads(const struct compare_run *x, const struct compare_run *y, struct arena *a, struct findings *f)
{
    must(x->result->loads.object == y->result->loads.object);
    const struct load_pairs p = compare_load_pairs(x, y, true, a);
    if (sends_loads(x->result->loads.object)) {
        want_stated(x, a, &f->reasons);
        want_stated(y, a, &f->reasons);
    } else if (!p.same) {
        sentences_add(&f->reasons, a, "A run has no window to compare.");
    }
    if (x->result->loads.object == OBJECT_WATCH)
        sentences_add(&f->notes, a,
                      "What the users of both services asked is not known, so whether it was the same work isn't "
                      "either.");
    for (size_t i = p.same; sends_loads(x->result->loads.object) && has_loads(x) && has_loads(y) && i < p.count; i++)
        tell_pair(x, y, &p.items[i], a, p.same ? &f->notes : &f->reasons);
}
