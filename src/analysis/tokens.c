#include "analysis/tokens.h"

#include <string.h>

enum { SMALL = 256 };

/* ---- spreading usage over chunks ---- */

/* The k-th largest of x (k from 1), by quickselect with a median of three; x is reordered. */
static uint64_t select_largest(uint64_t *x, size_t n, size_t k)
{
    size_t low = 0, high = n - 1, want = k - 1;
    while (low < high) {
        uint64_t a = x[low], b = x[low + (high - low) / 2], c = x[high];
        uint64_t pivot = a > b ? (b > c ? b : a > c ? c : a) : (a > c ? a : b > c ? c : b);
        size_t i = low, j = high;
        for (;;) {
            while (x[i] > pivot)
                i++;
            while (x[j] < pivot)
                j--;
            if (i >= j)
                break;
            uint64_t swap = x[i];
            x[i++] = x[j];
            x[j--] = swap;
        }
        size_t split = j;
        if (want <= split)
            high = split;
        else
            low = split + 1;
    }
    return x[want];
}

/* One more for the `left` chunks with the largest remainders. */
static void give_remainders(uint32_t *x, const uint64_t *remainders, size_t count, size_t left, uint64_t *scratch)
{
    memcpy(scratch, remainders, count * sizeof *scratch);
    uint64_t limit = select_largest(scratch, count, left);
    size_t above = 0;
    for (size_t i = 0; i < count; i++)
        above += remainders[i] > limit;
    size_t ties = left - above;
    for (size_t i = 0; i < count; i++) {
        bool tie = remainders[i] == limit && ties > 0;
        ties -= tie;
        x[i] += tie || remainders[i] > limit;
    }
}

static uint64_t excess(const uint32_t *x, size_t count, uint32_t level)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += x[i] > level ? x[i] - level : 0;
    return sum;
}

/* Each chunk at 0 takes one from the chunk with the most. Taking z times from the largest cuts all down to one level L
 * and then takes once more from the earliest at that level. */
static void fill_zeros(uint32_t *x, size_t count)
{
    uint64_t zeros = 0;
    uint32_t most = 0;
    for (size_t i = 0; i < count; i++) {
        zeros += x[i] == 0;
        most = x[i] > most ? x[i] : most;
    }
    if (zeros == 0 || most < 2)
        return;
    uint64_t spare = excess(x, count, 1);
    zeros = zeros < spare ? zeros : spare;
    uint32_t low = 1, high = most; /* the lowest L with excess(L) <= zeros */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (excess(x, count, middle) <= zeros)
            high = middle;
        else
            low = middle + 1;
    }
    uint64_t once_more = zeros - excess(x, count, low);
    for (size_t i = 0; i < count; i++) {
        if (x[i] == 0) {
            x[i] = zeros > 0;
            zeros -= zeros > 0;
        } else if (x[i] >= low) {
            x[i] = low - (once_more > 0);
            once_more -= once_more > 0;
        }
    }
}

/* Sizes below SMALL: chunks of one size have one share and one remainder, so ranking sizes ranks chunks. */
static void spread_small(uint32_t *b, size_t count, const uint32_t *counts, uint64_t n, uint64_t total)
{
    uint32_t whole[SMALL], sizes[SMALL], kinds = 0;
    uint64_t rest[SMALL], given = 0;
    for (uint32_t k = 0; k < SMALL; k++) {
        if (!counts[k])
            continue;
        whole[k] = (uint32_t)(n * k / total);
        rest[k] = n * k % total;
        given += (uint64_t)whole[k] * counts[k];
        uint32_t at = kinds++;
        for (; at > 0 && rest[sizes[at - 1]] < rest[k]; at--)
            sizes[at] = sizes[at - 1];
        sizes[at] = k;
    }
    uint64_t left = n - given, limit = 0, ties = 0;
    bool extra[SMALL] = {0};
    for (uint32_t i = 0; i < kinds && left > 0; i++) {
        uint64_t group = 0;
        uint32_t j = i;
        for (; j < kinds && rest[sizes[j]] == rest[sizes[i]]; j++)
            group += counts[sizes[j]];
        limit = rest[sizes[i]];
        if (group > left) {
            ties = left;
            break;
        }
        for (; i < j; i++)
            extra[sizes[i]] = true;
        i--;
        left -= group;
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t k = b[i];
        bool tie = ties > 0 && !extra[k] && rest[k] == limit;
        ties -= tie;
        b[i] = whole[k] + (extra[k] || tie);
    }
}

static void spread_large(uint32_t *b, size_t count, uint64_t n, uint64_t total, uint64_t *remainders, uint64_t *scratch)
{
    uint64_t given = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t share = n * b[i];
        remainders[i] = share % total;
        b[i] = (uint32_t)(share / total);
        given += b[i];
    }
    if (n > given)
        give_remainders(b, remainders, count, n - given, scratch);
}

void tokens_spread(uint32_t *b, size_t count, uint64_t n, uint64_t *scratch)
{
    uint64_t total = 0;
    uint32_t counts[SMALL] = {0};
    bool small = true;
    for (size_t i = 0; i < count; i++) {
        total += b[i];
        if (b[i] < SMALL)
            counts[b[i]]++;
        else
            small = false;
    }
    if (count == 0)
        return;
    if (total == 0) {
        for (size_t i = 0; i < count; i++)
            b[i] = 1;
        counts[0] = 0;
        counts[1] = (uint32_t)count;
        total = count;
    }
    if (small)
        spread_small(b, count, counts, n, total);
    else
        spread_large(b, count, n, total, scratch, scratch + count);
    fill_zeros(b, count);
}

/* ---- streams ---- */

/* Ids are places in the set: mostly 0, 1, 2 ... Where some are missing or double, a table leads to the first row. */
static bool number_rows(struct streams *s, struct arena *a, struct err *e)
{
    bool dense = true;
    for (size_t i = 0; i < s->request_count && dense; i++)
        dense = s->requests[i].id == i;
    s->row_limit = s->request_count ? (uint64_t)s->requests[s->request_count - 1].id + 1 : 0;
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
        row_of[s->requests[i].id] = (uint32_t)i;
    s->row_of = row_of;
    return true;
}

/* ---- spreading without grouping ----
 *
 * Chunks of one size have one share and one remainder, so where a request has few sizes all is decided on the number of
 * chunks of each, and a pass in order of time gives every chunk its tokens. */

enum { SIZES = 32, SHARES = 256, STREAMED_MAX = 60000 };

struct spread {
    uint16_t of[SIZES];  /* by size: number of chunks; once prepared, their share */
    uint32_t tied, ties; /* sizes, as bits, of which only the earliest `ties` chunks get one more */
    uint32_t zeros;      /* chunks at 0 that get one, the earliest */
    uint32_t level;      /* nothing stays above it */
    uint32_t once_more;  /* chunks at it that give one away, the earliest */
    bool large;          /* it has a chunk of SIZES bytes or more */
};

/* Floors and largest remainders. False where chunks of several sizes tie. */
static bool prepare_shares(struct spread *p, const uint16_t *counts, uint64_t n, uint64_t total, uint32_t *share)
{
    uint32_t size[SIZES], kinds = 0;
    uint64_t rest[SIZES], left = n;
    for (uint32_t k = 0; k < SIZES; k++) {
        if (!counts[k])
            continue;
        share[k] = (uint32_t)(n * k / total);
        rest[k] = n * k % total;
        left -= (uint64_t)share[k] * counts[k];
        uint32_t at = kinds++;
        for (; at > 0 && rest[size[at - 1]] < rest[k]; at--)
            size[at] = size[at - 1];
        size[at] = k;
    }
    for (uint32_t i = 0; left > 0; i++) {
        uint32_t k = size[i];
        bool several = i + 1 < kinds && rest[size[i + 1]] == rest[k];
        if (counts[k] > left || several) {
            p->tied = UINT32_C(1) << k;
            p->ties = (uint32_t)left;
            return !several;
        }
        share[k]++;
        left -= counts[k];
    }
    return true;
}

/* As fill_zeros, from the number of chunks at each share. */
static void prepare_level(struct spread *p, const uint64_t *at_share, uint32_t most)
{
    uint64_t spare = 0, taken = 0, group = at_share[most];
    p->level = UINT32_MAX;
    for (uint32_t v = 2; v <= most; v++)
        spare += at_share[v] * (v - 1);
    p->zeros = (uint32_t)(at_share[0] < spare ? at_share[0] : spare);
    if (p->zeros == 0)
        return;
    for (p->level = most; p->level > 1 && taken + group <= p->zeros; group += at_share[p->level]) {
        taken += group;
        p->level--;
    }
    p->once_more = (uint32_t)(p->zeros - taken);
}

/* False: this request has to be grouped. */
static bool prepare(struct spread *p, int64_t chunks, uint64_t n)
{
    uint64_t total = 0, at_share[SHARES] = {0};
    uint32_t share[SIZES] = {0}, most = 0;
    for (uint32_t k = 0; k < SIZES; k++)
        total += (uint64_t)k * p->of[k];
    if (p->large || chunks > STREAMED_MAX || total == 0 || !prepare_shares(p, p->of, n, total, share))
        return false;
    for (uint32_t k = 0; k < SIZES; k++) {
        if (!p->of[k])
            continue;
        uint32_t tied = p->tied >> k & 1 ? p->ties : 0, top = share[k] + (tied > 0);
        if (top >= SHARES)
            return false;
        at_share[share[k]] += p->of[k] - tied;
        at_share[top] += tied;
        most = top > most ? top : most;
    }
    prepare_level(p, at_share, most);
    for (uint32_t k = 0; k < SIZES; k++)
        p->of[k] = (uint16_t)share[k];
    return true;
}

/* Without branches: sizes are as good as random. */
static inline uint32_t spread_next(struct spread *p, uint32_t bytes)
{
    uint32_t tie = (p->tied >> bytes) & 1 & (p->ties > 0), x = p->of[bytes] + tie;
    uint32_t filled = (x == 0) & (p->zeros > 0);
    uint32_t over = x >= p->level, gives = over & (p->once_more > 0);
    p->ties -= tie;
    p->zeros -= filled;
    p->once_more -= gives;
    return (over ? p->level : x) + filled - gives;
}

/* ---- the passes ---- */

/* Where a chunk's tokens come from. */
enum { BY_NOTHING, BY_COUNTS, BY_SIZES, BY_GROUPS };

/* What the passes over the chunks keep of a request; two to a cache line. */
struct tally {
    int64_t last_ns;
    uint64_t at;     /* token chunks; then the place of its first one among the grouped sizes, and on */
    uint32_t last;   /* place of its latest stamp */
    uint32_t value;  /* tokens of its latest chunk, not yet in the extremes */
    int32_t running; /* first pass: 1 where some count was seen; then the highest so far */
    uint8_t success, source, started, several;
};

static void begin_tallies(struct streams *s, struct tally *tallies)
{
    for (size_t i = 0; i < s->request_count; i++) {
        struct stream *q = &s->streams[i];
        bool first = !s->row_of || s->row_of[s->requests[i].id] == i;
        q->success = first && s->requests[i].verdict == VERDICT_OK && s->requests[i].completion_tokens >= 1;
        q->tokens = s->requests[i].completion_tokens;
        q->first_ns = q->last_ns = ABSENT_I64;
        tallies[i].success = q->success;
    }
}

/* spreads: null where the plan asked for running counts. */
static void count_chunks(struct streams *s, struct tally *tallies, struct spread *spreads)
{
    for (size_t i = 0; i < s->chunk_count; i++) {
        const struct rec_chunk *c = &s->chunks[i];
        uint32_t row = streams_row(s, c->request);
        if (row == STREAM_NONE) {
            s->stray_chunks++;
            continue;
        }
        struct tally *y = &tallies[row];
        if (!chunk_has_tokens(c) || !y->success)
            continue;
        y->at++;
        y->running |= c->running >= 0;
        if (spreads && c->bytes < SIZES)
            spreads[row].of[c->bytes]++;
        else if (spreads)
            spreads[row].large = true;
    }
}

/* Decides each request's source. Returns how many chunks have to be grouped by request. */
static uint64_t place_streams(struct streams *s, bool asked, struct tally *tallies, struct spread *spreads)
{
    uint64_t at = 0, counted = 0, spread = 0;
    for (size_t i = 0; i < s->request_count; i++) {
        struct stream *q = &s->streams[i];
        struct tally *y = &tallies[i];
        uint64_t own = 0;
        q->chunks = (int64_t)y->at;
        q->running = asked && y->running;
        s->token_chunks += y->at;
        if (q->running) {
            y->source = BY_COUNTS;
            counted += y->at;
        } else if (y->at) {
            y->source = spreads && prepare(&spreads[i], q->chunks, (uint64_t)q->tokens) ? BY_SIZES : BY_GROUPS;
            spread += y->at;
            own = y->source == BY_GROUPS ? y->at : 0;
        }
        y->running = 0;
        y->at = at;
        at += own;
    }
    s->source = spread && counted ? TOKENS_MIXED : counted ? TOKENS_RUNNING : spread ? TOKENS_SPREAD : TOKENS_NONE;
    return at;
}

/* Usage over the chunks of the requests that are grouped. Their sizes are grouped by request in `next`, which is
 * free until the chunks are linked, made into tokens there, and read back in order of time. */
static void spread_all(struct streams *s, struct tally *tallies)
{
    struct arena scratch = {0};
    uint32_t *grouped = s->next;
    size_t longest = 0;
    for (int back = 0; back < 2; back++) {
        for (size_t i = 0; i < s->chunk_count; i++) {
            const struct rec_chunk *c = &s->chunks[i];
            uint32_t row = streams_row(s, c->request);
            if (row == STREAM_NONE || !chunk_has_tokens(c) || tallies[row].source != BY_GROUPS)
                continue;
            if (back)
                s->tokens[i] = grouped[tallies[row].at++];
            else
                grouped[tallies[row].at++] = c->bytes;
        }
        for (size_t i = 0; i < s->request_count && !back; i++)
            if (tallies[i].source == BY_GROUPS && (size_t)s->streams[i].chunks > longest)
                longest = (size_t)s->streams[i].chunks;
        uint64_t *room = back ? NULL : arena_array(&scratch, 2 * longest, sizeof *room);
        for (size_t i = 0; i < s->request_count && !back; i++) {
            const struct stream *q = &s->streams[i];
            if (tallies[i].source != BY_GROUPS)
                continue;
            tallies[i].at -= (uint64_t)q->chunks;
            tokens_spread(grouped + tallies[i].at, (size_t)q->chunks, (uint64_t)q->tokens, room);
        }
    }
    arena_done(&scratch);
}

static void note_extremes(struct streams *s, const struct tally *y, int64_t merged_tokens)
{
    s->largest = y->value > s->largest ? y->value : s->largest;
    if (y->several) {
        s->largest_later = y->value > s->largest_later ? y->value : s->largest_later;
        s->merged_chunks += y->value > merged_tokens;
    }
}

/* Running counts are differences, the highest so far standing in for one that is missing or falls, and usage for one
 * beyond it. */
static uint32_t count_rise(struct tally *y, const struct rec_chunk *c, int64_t usage)
{
    int32_t running = c->running < usage ? c->running : (int32_t)usage;
    if (running <= y->running)
        return 0;
    uint32_t rise = (uint32_t)(running - y->running);
    y->running = running;
    return rise;
}

static void link_chunks(struct streams *s, struct tally *tallies, struct spread *spreads, int64_t merged_tokens)
{
    for (size_t i = 0; i < s->chunk_count; i++) {
        const struct rec_chunk *c = &s->chunks[i];
        uint32_t row = streams_row(s, c->request);
        s->next[i] = 0;
        if (row == STREAM_NONE || !chunk_has_tokens(c) || !tallies[row].success)
            continue;
        struct tally *y = &tallies[row];
        uint32_t value = y->source == BY_COUNTS  ? count_rise(y, c, s->streams[row].tokens)
                         : y->source == BY_SIZES ? spread_next(&spreads[row], c->bytes)
                                                 : s->tokens[i];
        if (y->started) {
            note_extremes(s, y, merged_tokens);
            y->several = 1;
        } else {
            s->streams[row].first_ns = c->t_ns;
            s->streams[row].first_tokens = (int64_t)i; /* its place, until the tokens stand */
        }
        y->value = value;
        s->shared_stamps += c->stamp == STAMP_SHARED;
        s->read_stamps += c->stamp == STAMP_READ;
        if (y->started && c->t_ns == y->last_ns) {
            s->tokens[y->last] += value;
            s->tokens[i] = 0;
            s->next[i] = STREAM_MERGED;
            continue;
        }
        s->tokens[i] = value;
        if (y->started)
            s->next[y->last] = (uint32_t)i;
        y->started = 1;
        y->last = (uint32_t)i;
        y->last_ns = c->t_ns;
    }
}

/* What running counts leave of usage goes to the last chunk; then the request's own figures stand. */
static void finish_streams(struct streams *s, struct tally *tallies, int64_t merged_tokens)
{
    for (size_t i = 0; i < s->request_count; i++) {
        struct stream *q = &s->streams[i];
        struct tally *y = &tallies[i];
        if (!y->started)
            continue;
        if (q->running) {
            uint32_t rest = (uint32_t)(q->tokens - y->running);
            y->value += rest;
            s->tokens[y->last] += rest;
        }
        note_extremes(s, y, merged_tokens);
        q->first_tokens = s->tokens[q->first_tokens];
        q->last_ns = y->last_ns;
        q->generates = q->last_ns > q->first_ns;
        q->by_interval = q->generates && 2 * (q->tokens - q->first_tokens) < q->tokens;
    }
}

bool streams_make(const struct records *r, const struct method *m, struct arena *a, struct streams *ret, struct err *e)
{
    struct streams s = {.chunks = r->chunks,
                        .chunk_count = r->chunk_count,
                        .requests = r->requests,
                        .request_count = r->request_count,
                        .largest = -1,
                        .largest_later = -1};
    if (r->chunk_count > STREAM_CHUNKS_MAX)
        return err_set(e, ERR_RECORDS,
                       "The run has %zu chunks, more than the %u that an analysis can number. Analyse a shorter run.",
                       r->chunk_count, STREAM_CHUNKS_MAX);
    if (!number_rows(&s, a, e))
        return false;
    struct arena scratch = {0};
    s.streams = arena_array(a, s.request_count, sizeof *s.streams);
    s.tokens = arena_array(a, s.chunk_count, sizeof *s.tokens);
    s.next = arena_array(a, s.chunk_count, sizeof *s.next);
    struct tally *tallies = arena_array(&scratch, s.request_count, sizeof *tallies);
    bool asked = r->plan.requests.continuous_usage;
    struct spread *spreads = asked ? NULL : arena_array(&scratch, s.request_count, sizeof *spreads);
    begin_tallies(&s, tallies);
    count_chunks(&s, tallies, spreads);
    if (place_streams(&s, asked, tallies, spreads))
        spread_all(&s, tallies);
    link_chunks(&s, tallies, spreads, m->merged_tokens);
    finish_streams(&s, tallies, m->merged_tokens);
    arena_done(&scratch);
    *ret = s;
    return true;
}
