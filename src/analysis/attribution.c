#include "analysis/attribution.h"

#include "analysis/order.h"
#include "base/must.h"
#include "base/sort.h"
#include "base/time.h"
#include <assert.h>

/* ---- walking the energy curve ---- */

struct walk {
    const struct energy_curve *c;
    size_t k; /* the knot at or before t */
    int64_t t_ns, end_ns;
    /* Of knot k. */
    int64_t from_ns, until_ns;
    double w, slope;
};

/* The last segment goes on beyond its end: the curve covers the stage. */
static inline void stand_on(struct walk *w, size_t k)
{
    const struct energy_curve *c = w->c;
    w->k = k;
    w->from_ns = c->t_ns[k];
    w->until_ns = k + 2 < c->n ? c->t_ns[k + 1] : INT64_MAX;
    w->w = c->w[k];
    w->slope = c->slope[k];
}

static struct walk walk_from(const struct energy_curve *c, int64_t start_ns, int64_t end_ns)
{
    struct walk w = {.c = c, .t_ns = start_ns, .end_ns = end_ns};
    size_t k = stamp_before(c->t_ns, c->n, start_ns);
    stand_on(&w, k < c->n ? k : 0);
    return w;
}

/* From t to `to` within the segment. */
static inline double piece(const struct walk *w, int64_t to)
{
    double from_s = time_s(w->t_ns - w->from_ns), step_s = time_s(to - w->t_ns);
    return step_s * (w->w + w->slope * (from_s + 0.5 * step_s));
}

/* Energy from where the walk stands to `to`, and the walk with it; nothing behind it and beyond its end. */
static inline double walk_to(struct walk *w, int64_t to)
{
    if (to > w->end_ns)
        to = w->end_ns;
    if (to <= w->t_ns)
        return 0;
    double j = 0;
    while (__builtin_expect(w->until_ns < to, 0)) {
        j += piece(w, w->until_ns);
        w->t_ns = w->until_ns;
        stand_on(w, w->k + 1);
    }
    j += piece(w, to);
    w->t_ns = to;
    return j;
}

/* ---- rates ---- */

/* One request in a sweep. */
struct share {
    double r;                   /* tokens per ns; 0: not generating */
    struct sum F_since, energy; /* F when it took this rate; what it has got up to there */
    double scale; /* tokens generated for one that arrives in a later gap; 0: by interval; below: takes no part */
};

struct sweep {
    struct walk walk;
    struct sum F; /* integral of dE / R so far */
    struct sum R; /* all rates together */
    struct sum none;
    uint64_t active;
};

static inline void advance(struct sweep *s, int64_t t_ns)
{
    double j = walk_to(&s->walk, t_ns);
    if (j == 0)
        return;
    if (s->active)
        sum_add(&s->F, j / sum_value(&s->R));
    else
        sum_add(&s->none, j);
}

/* The request's rate from now on. A last change to nobody leaves R exactly 0. */
static inline void set_rate(struct sweep *s, struct share *q, double r)
{
    assert(r >= 0);
    /* The change as two doubles, exactly: what one request adds to R it also takes away again. */
    struct sum change = {r, 0};
    sum_add(&change, -q->r);
    sum_add(&q->energy, q->r * sum_since(&s->F, &q->F_since));
    sum_add(&s->R, change.high);
    s->R.low += change.low;
    s->active += (uint64_t)(r > 0) - (uint64_t)(q->r > 0);
    if (s->active == 0)
        s->R = (struct sum){0};
    q->r = r;
    q->F_since = s->F;
}

static struct attribution finish_sweep(struct sweep *s, const struct token_chains *chains, const struct share *shares,
                                       struct arena *a)
{
    double *energy_j = arena_array(a, chains->request_count, sizeof *energy_j);
    advance(s, s->walk.end_ns);
    struct sum all = {0};
    for (size_t i = 0; i < chains->request_count; i++) {
        energy_j[i] = sum_value(&shares[i].energy);
        sum_add(&all, energy_j[i]);
    }
    return (struct attribution){energy_j, sum_value(&s->none), sum_value(&all)};
}

/* ---- gap ---- */

static void scale_shares(const struct token_chains *s, struct share *shares)
{
    for (size_t i = 0; i < s->request_count; i++) {
        const struct token_chain *q = &s->chains[i];
        shares[i].scale = !q->generates    ? -1
                          : q->by_interval ? 0
                                           : (double)q->tokens / (double)(q->tokens - q->first_tokens);
    }
}

/* The hot loop: `w` is a copy, so that its sums live in registers. */
static struct sweep sweep_gap(const struct token_chains *s, struct sweep w, struct share *shares)
{
    const struct rec_chunk *chunks = s->chunks;
    const uint32_t *tokens = s->tokens, *nexts = s->next, *row_of = s->row_of;
    size_t n = s->chunk_count;
    scale_shares(s, shares);
    for (size_t i = 0; i < n; i++) {
        uint32_t next = nexts[i];
        if (next == CHAIN_SKIP)
            continue;
        int64_t t_ns = chunks[i].t_ns;
        uint32_t at = chunks[i].request - s->first_id, row = row_of ? row_of[at] : at;
        struct share *f = &shares[row];
        double rate = 0;
        if (f->scale > 0) {
            /* The tokens of the next chunk are generated evenly from this one to it. */
            if (next)
                rate = tokens[next] * f->scale / (double)(chunks[next].t_ns - t_ns);
        } else {
            const struct token_chain *q = &s->chains[row];
            if (f->scale < 0 || (t_ns != q->first_ns && t_ns != q->last_ns))
                continue;
            if (t_ns == q->first_ns)
                rate = (double)q->tokens / (double)(q->last_ns - q->first_ns);
        }
        advance(&w, t_ns);
        set_rate(&w, f, rate);
    }
    return w;
}

/* ---- interval, request ---- */

struct change {
    int64_t t_ns;
    uint32_t row;
    bool start;
};

static bool before_change(const void *x, const void *y)
{
    const struct change *a = x, *b = y;
    return a->t_ns != b->t_ns ? a->t_ns < b->t_ns : a->row < b->row;
}

static void sweep_intervals(const struct token_chains *s, bool whole_request, struct sweep *w, struct share *shares)
{
    struct arena scratch = {0};
    struct change *changes = arena_array(&scratch, 2 * s->request_count, sizeof *changes);
    size_t n = 0;
    for (size_t i = 0; i < s->request_count; i++) {
        const struct token_chain *q = &s->chains[i];
        int64_t from = whole_request ? s->requests[i].submit_ns : q->first_ns;
        int64_t to = whole_request ? s->requests[i].end_ns : q->last_ns;
        if (!q->generates || from == ABSENT_I64 || to <= from)
            continue;
        shares[i].scale = (double)q->tokens / (double)(to - from);
        changes[n++] = (struct change){from, (uint32_t)i, true};
        changes[n++] = (struct change){to, (uint32_t)i, false};
    }
    sort_stable(changes, n, sizeof *changes, before_change);
    for (size_t i = 0; i < n; i++) {
        struct share *f = &shares[changes[i].row];
        advance(w, changes[i].t_ns);
        set_rate(w, f, changes[i].start ? f->scale : 0);
    }
    arena_done(&scratch);
}

/* ---- words ---- */

static size_t make_cuts(const struct token_chains *s, int64_t *cuts)
{
    size_t n = 0, kept = 0;
    for (size_t i = 0; i < s->request_count; i++)
        if (s->chains[i].generates) {
            cuts[n++] = s->chains[i].first_ns;
            cuts[n++] = s->chains[i].last_ns;
        }
    order_sort_times(cuts, n);
    for (size_t i = 0; i < n; i++)
        if (!kept || cuts[kept - 1] != cuts[i])
            cuts[kept++] = cuts[i];
    return kept;
}

/* Piece p is (cuts[p - 1], cuts[p]]: its tokens are summed, then its energy goes out over them while they are near. */
static void sweep_words(const struct token_chains *s, struct sweep *w, struct share *shares)
{
    struct arena scratch = {0};
    int64_t *cuts = arena_array(&scratch, 2 * s->request_count, sizeof *cuts);
    size_t n = make_cuts(s, cuts), from = 0, to = 0;
    bool *takes_part = arena_array(&scratch, s->request_count, sizeof *takes_part);
    for (size_t i = 0; i < s->request_count; i++)
        takes_part[i] = s->chains[i].generates;
    for (size_t p = 0; p < n; p++, from = to) {
        uint64_t arrived = 0;
        /* Chunks with tokens have a row. */
        for (; to < s->chunk_count && s->chunks[to].t_ns <= cuts[p]; to++)
            if (s->tokens[to] && takes_part[token_chains_row(s, s->chunks[to].request)])
                arrived += s->tokens[to];
        double j = walk_to(&w->walk, cuts[p]);
        if (!arrived) {
            sum_add(&w->none, j);
            continue;
        }
        double per_token = j / (double)arrived;
        for (size_t i = from; i < to; i++) {
            uint32_t row = s->tokens[i] ? token_chains_row(s, s->chunks[i].request) : CHAIN_NONE;
            if (row != CHAIN_NONE && takes_part[row])
                sum_add(&shares[row].energy, s->tokens[i] * per_token);
        }
    }
    arena_done(&scratch);
}

struct attribution attribute(const struct token_chains *s, const struct energy_curve *c, int64_t start_ns,
                             int64_t end_ns, enum rule rule, struct arena *a)
{
    must(rule < RULE_COUNT);
    must(c->n >= 2);
    struct arena scratch = {0};
    struct share *shares = arena_array(&scratch, s->request_count, sizeof *shares);
    struct sweep w = {.walk = walk_from(c, start_ns, end_ns)};
    switch (rule) {
    case RULE_GAP:
        w = sweep_gap(s, w, shares);
        break;
    case RULE_WORDS:
        sweep_words(s, &w, shares);
        break;
    case RULE_INTERVAL:
    case RULE_REQUEST:
    case RULE_COUNT:
        sweep_intervals(s, rule == RULE_REQUEST, &w, shares);
    }
    const struct attribution made = finish_sweep(&w, s, shares, a);
    arena_done(&scratch);
    return made;
}

/* ---- other sums ---- */

static bool before_interval(const void *x, const void *y)
{
    const struct interval *a = x, *b = y;
    return a->from_ns < b->from_ns;
}

double attribution_union_j(const struct energy_curve *c, int64_t start_ns, int64_t end_ns, struct interval *x, size_t n)
{
    must(c->n >= 2 && start_ns <= end_ns);
    sort_stable(x, n, sizeof *x, before_interval);
    struct walk w = walk_from(c, start_ns, end_ns);
    struct sum sum = {0};
    for (size_t i = 0; i < n; i++) {
        walk_to(&w, x[i].from_ns);
        sum_add(&sum, walk_to(&w, x[i].to_ns));
    }
    return sum_value(&sum);
}

/* Place of the first chunk after t. */
static size_t chunk_after(const struct token_chains *s, int64_t t_ns)
{
    size_t low = 0, high = s->chunk_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->chunks[middle].t_ns <= t_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void attribution_arrivals(const struct token_chains *s, const int64_t *bounds, size_t n, int64_t *ret_tokens)
{
    for (size_t k = 0; k + 1 < n; k++) {
        size_t end = chunk_after(s, bounds[k + 1]);
        ret_tokens[k] = 0;
        for (size_t i = chunk_after(s, bounds[k]); i < end; i++)
            ret_tokens[k] += s->tokens[i];
    }
}
