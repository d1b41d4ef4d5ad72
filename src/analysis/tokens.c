#include "analysis/tokens.h"

#include <assert.h>
#include <string.h>
#include "analysis/allot.h"
#include "base/must.h"

/* ---- rows ---- */

/* Ids are places in the set, or among all requests of the loads: mostly one after another. Where some are missing or
 * double, a table leads to the first row. */
static bool number_rows(struct token_chains *s, struct arena *a, struct err *e)
{
    assert(s->request_count == 0 || s->requests);
    s->first_id = s->request_count ? s->requests[0].id : 0;
    bool dense = true;
    for (size_t i = 0; i < s->request_count && dense; i++)
        dense = s->requests[i].id - s->first_id == i;
    s->row_limit = s->request_count ? (uint64_t)(s->requests[s->request_count - 1].id - s->first_id) + 1 : 0;
    if (dense)
        return true;
    if (s->row_limit > 64 * (uint64_t)s->request_count + 1000000)
        return err_set(e, ERR_RECORDS,
                       "The run has %zu requests and one with id %u: the ids are places in the request set, so "
                       "requests.csv is damaged.",
                       s->request_count, s->requests[s->request_count - 1].id);
    uint32_t *row_of = arena_array(a, s->row_limit, sizeof *row_of);
    memset(row_of, 0xff, s->row_limit * sizeof *row_of);
    for (size_t i = s->request_count; i-- > 0;)
        row_of[s->requests[i].id - s->first_id] = (uint32_t)i;
    s->row_of = row_of;
    return true;
}

/* ---- the passes ---- */

/* Where a chunk's tokens come from. BY_NOTHING: the request did not succeed; BY_CHAIN: they come once it is linked. */
enum { BY_NOTHING, BY_COUNTS, BY_SIZES, BY_CHAIN };

/* What the passes over the chunks keep of a request; two to a cache line. */
struct chunk_tally {
    int64_t last_ns;
    uint32_t last;   /* place of its latest stamp */
    uint32_t chunks; /* token chunks so far */
    uint32_t value;  /* tokens of its latest chunk */
    int32_t running; /* the highest count so far */
    uint8_t source;
    bool counted; /* a running count was seen */
};

static void begin_chains(struct token_chains *s)
{
    for (size_t i = 0; i < s->request_count; i++) {
        struct token_chain *q = &s->chains[i];
        bool first = !s->row_of || s->row_of[s->requests[i].id - s->first_id] == i;
        int64_t n = s->requests[i].completion_tokens;
        q->success = first && s->requests[i].verdict == VERDICT_OK && n >= 1 && n <= INT32_MAX;
        q->tokens = s->requests[i].completion_tokens;
        q->first_ns = q->last_ns = ABSENT_I64;
    }
}

static void count_sizes(const struct token_chains *s, struct allotment *allotments)
{
    for (size_t i = 0; i < s->chunk_count; i++) {
        const struct rec_chunk *c = &s->chunks[i];
        uint32_t row = token_chains_row(s, c->request);
        if (row != CHAIN_NONE && chunk_has_tokens(c))
            allot_count(&allotments[row], c->bytes);
    }
}

/* Running counts are differences, the highest so far standing in for one that is missing or falls, and usage for one
 * beyond it. */
static inline uint32_t count_rise(struct chunk_tally *y, int32_t count, int64_t usage)
{
    if (count < 0)
        return 0;
    int32_t running = count < usage ? count : (int32_t)usage;
    y->counted = true;
    if (running <= y->running)
        return 0;
    uint32_t rise = (uint32_t)(running - y->running);
    y->running = running;
    return rise;
}

/* Of the request's next token chunk, as far as a pass can tell. */
static inline uint32_t tokens_of(struct chunk_tally *y, const struct rec_chunk *c, int64_t usage, struct allotment *own)
{
    if (y->source == BY_COUNTS)
        return count_rise(y, c->running, usage);
    return own && y->source == BY_SIZES ? allot_next(own, c->bytes) : 0;
}

static void link_chunks(struct token_chains *s, struct chunk_tally *tallies, struct allotment *allotments,
                        int64_t merged_tokens)
{
    assert(s->chunk_count <= CHAIN_CHUNKS_MAX);
    const struct rec_chunk *chunks = s->chunks;
    uint32_t *tokens = s->tokens, *next = s->next, largest = 0, largest_later = 0;
    uint64_t strays = 0, merged = 0, stamps[UINT8_MAX + 1] = {0};
    for (size_t i = 0; i < s->chunk_count; i++) {
        const struct rec_chunk *c = &chunks[i];
        uint32_t row = token_chains_row(s, c->request);
        next[i] = CHAIN_SKIP;
        if (row == CHAIN_NONE) {
            strays++;
            continue;
        }
        if (!chunk_has_tokens(c) || tallies[row].source == BY_NOTHING)
            continue;
        struct chunk_tally *y = &tallies[row];
        int64_t t_ns = c->t_ns;
        uint32_t value = tokens_of(y, c, s->chains[row].tokens, allotments ? &allotments[row] : NULL);
        largest = value > largest ? value : largest;
        stamps[c->stamp]++;
        y->value = value;
        if (y->chunks++ == 0) {
            s->chains[row].first_ns = t_ns;
            s->chains[row].first_tokens = (int64_t)i; /* its place, until the tokens stand */
        } else {
            largest_later = value > largest_later ? value : largest_later;
            merged += value > merged_tokens;
            if (t_ns == y->last_ns) {
                tokens[y->last] += value;
                tokens[i] = 0;
                continue;
            }
            next[y->last] = (uint32_t)i;
        }
        tokens[i] = value;
        next[i] = 0;
        y->last = (uint32_t)i;
        y->last_ns = t_ns;
    }
    s->stray_chunks = strays;
    s->shared_stamps = stamps[STAMP_SHARED];
    s->read_stamps = stamps[STAMP_READ];
    s->merged_chunks = merged;
    s->largest = largest;
    s->largest_later = largest_later;
}

/* ---- requests that the passes give no tokens ---- */

/* Along the chain of a request: each token chunk, also those merged into a stamp's first. */
struct chain {
    const struct token_chains *s;
    size_t head, at; /* `at` CHAIN_SKIP: the end */
};

static void chain_next(struct chain *c)
{
    assert(c->at != CHAIN_SKIP);
    const struct rec_chunk *chunks = c->s->chunks, *head = &chunks[c->head];
    while (++c->at < c->s->chunk_count && chunks[c->at].t_ns == head->t_ns && chunks[c->at].request == head->request)
        if (chunk_has_tokens(&chunks[c->at]))
            return;
    c->head = c->at = c->s->next[c->head] ? c->s->next[c->head] : CHAIN_SKIP;
}

/* Usage over one request's chunks, as tokens_allot says. Room for all of them, twice in `room`. */
static void allot_chain(struct token_chains *s, size_t first, uint64_t n, uint32_t *bytes, uint64_t *room,
                        int64_t merged_tokens)
{
    assert(first < s->chunk_count);
    size_t count = 0;
    for (struct chain c = {s, first, first}; c.at != CHAIN_SKIP; chain_next(&c))
        bytes[count++] = s->chunks[c.at].bytes;
    tokens_allot(bytes, count, n, room);
    count = 0;
    for (struct chain c = {s, first, first}; c.at != CHAIN_SKIP; chain_next(&c)) {
        int64_t value = bytes[count++];
        s->tokens[c.head] += (uint32_t)value;
        s->largest = value > s->largest ? value : s->largest;
        if (count == 1)
            continue;
        s->largest_later = value > s->largest_later ? value : s->largest_later;
        s->merged_chunks += value > merged_tokens;
    }
}

static void allot_chains(struct token_chains *s, struct chunk_tally *tallies, int64_t merged_tokens)
{
    assert(merged_tokens > 0);
    struct arena scratch = {0};
    uint32_t longest = 0;
    for (size_t i = 0; i < s->request_count; i++) {
        if (tallies[i].source == BY_COUNTS && !tallies[i].counted)
            tallies[i].source = BY_CHAIN;
        if (tallies[i].source == BY_CHAIN && tallies[i].chunks > longest)
            longest = tallies[i].chunks;
    }
    uint32_t *bytes = arena_array(&scratch, longest, sizeof *bytes);
    uint64_t *room = arena_array(&scratch, 2 * (size_t)longest, sizeof *room);
    for (size_t i = 0; i < s->request_count; i++)
        if (tallies[i].source == BY_CHAIN && tallies[i].chunks)
            allot_chain(s, (size_t)s->chains[i].first_tokens, (uint64_t)s->chains[i].tokens, bytes, room,
                        merged_tokens);
    arena_done(&scratch);
}

/* ---- all of it ---- */

static void choose_sources(const struct token_chains *s, struct chunk_tally *tallies, struct allotment *allotments)
{
    for (size_t i = 0; i < s->request_count; i++)
        tallies[i].source = !s->chains[i].success                                          ? BY_NOTHING
                            : !allotments                                                  ? BY_COUNTS
                            : allot_prepare(&allotments[i], (uint64_t)s->chains[i].tokens) ? BY_SIZES
                                                                                           : BY_CHAIN;
}

/* What running counts leave of usage goes to the last chunk; then the request's own figures stand. */
static void finish_chains(struct token_chains *s, const struct chunk_tally *tallies, int64_t merged_tokens)
{
    bool counts = false, allotted = false, later = false;
    for (size_t i = 0; i < s->request_count; i++) {
        struct token_chain *q = &s->chains[i];
        const struct chunk_tally *y = &tallies[i];
        if (y->chunks == 0)
            continue;
        q->chunks = y->chunks;
        q->running = y->source == BY_COUNTS;
        s->token_chunks += y->chunks;
        counts |= q->running;
        allotted |= !q->running;
        later |= y->chunks > 1;
        if (q->running) {
            int64_t rest = q->tokens - y->running, value = y->value + rest;
            s->tokens[y->last] += (uint32_t)rest;
            s->largest = value > s->largest ? value : s->largest;
            if (y->chunks > 1) {
                s->largest_later = value > s->largest_later ? value : s->largest_later;
                s->merged_chunks += value > merged_tokens && y->value <= merged_tokens;
            }
        }
        q->first_tokens = s->tokens[q->first_tokens];
        q->last_ns = y->last_ns;
        q->generates = q->last_ns > q->first_ns;
        q->by_interval = q->generates && 2 * (q->tokens - q->first_tokens) < q->tokens;
    }
    s->source = counts && allotted ? TOKENS_MIXED : counts ? TOKENS_RUNNING : allotted ? TOKENS_ALLOTTED : TOKENS_NONE;
    if (s->token_chunks == 0)
        s->largest = -1;
    if (!later)
        s->largest_later = -1;
}

/* METHOD section 4, "One stamp, many tokens". The first stamp of a request may hold several tokens for reasons of the
 * server's own; one that holds all of them tells no time at all. */
static void count_merged(struct token_chains *s)
{
    assert(s->merged_limit > 0);
    int64_t limit = s->merged_limit, merged = 0, later = 0;
    for (size_t i = 0; i < s->chunk_count; i++)
        merged += s->next[i] != CHAIN_SKIP && s->tokens[i] > limit ? s->tokens[i] : 0;
    for (size_t i = 0; i < s->request_count; i++) {
        const struct token_chain *q = &s->chains[i];
        if (q->generates) {
            later += q->tokens - q->first_tokens;
            merged -= q->first_tokens > limit ? q->first_tokens : 0;
        } else if (q->success && q->first_tokens > limit) {
            later += q->first_tokens;
        }
    }
    s->merged_tokens = merged;
    s->later_tokens = later;
}

static int64_t merged_limit(const struct plan *p, const struct method *m)
{
    int64_t interval = plan_stream_interval(p);
    return interval != ABSENT_I64 && 2 * interval > m->merged_tokens ? 2 * interval : m->merged_tokens;
}

bool token_chains_make(const struct records *r, const struct method *m, struct arena *a, struct token_chains *ret,
                       struct err *e)
{
    must(m->merged_tokens > 0);
    struct token_chains s = {
        .chunks = r->chunks, .chunk_count = r->chunk_count, .requests = r->requests, .request_count = r->request_count};
    if (r->chunk_count > CHAIN_CHUNKS_MAX)
        return err_set(e, ERR_RECORDS,
                       "The run has %zu chunks, more than the %u that an analysis can number. Analyse a shorter run.",
                       r->chunk_count, CHAIN_CHUNKS_MAX);
    if (!number_rows(&s, a, e))
        return false;
    struct arena scratch = {0};
    s.chains = arena_array(a, s.request_count, sizeof *s.chains);
    s.tokens = arena_array(a, s.chunk_count, sizeof *s.tokens);
    s.next = arena_array(a, s.chunk_count, sizeof *s.next);
    struct chunk_tally *tallies = arena_array(&scratch, s.request_count, sizeof *tallies);
    bool asked = r->plan.requests.continuous_usage;
    struct allotment *allotments = asked ? NULL : arena_array(&scratch, s.request_count, sizeof *allotments);
    begin_chains(&s);
    if (allotments)
        count_sizes(&s, allotments);
    choose_sources(&s, tallies, allotments);
    link_chunks(&s, tallies, allotments, m->merged_tokens);
    allot_chains(&s, tallies, m->merged_tokens);
    finish_chains(&s, tallies, m->merged_tokens);
    s.merged_limit = merged_limit(&r->plan, m);
    count_merged(&s);
    arena_done(&scratch);
    *ret = s;
    return true;
}

int64_t token_chains_output(const struct token_chains *s)
{
    must(s->request_count == 0 || s->chains);
    int64_t tokens = 0;
    for (size_t i = 0; i < s->request_count; i++)
        if (s->chains[i].success)
            tokens += s->chains[i].tokens;
    return tokens;
}
