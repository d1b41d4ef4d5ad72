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

void tokens_spread(uint32_t *b, size_t count, uint64_t n, uint64_t *scratch)
{
    uint64_t total = 0, given = 0;
    for (size_t i = 0; i < count; i++)
        total += b[i];
    if (count == 0)
        return;
    if (total == 0) {
        for (size_t i = 0; i < count; i++)
            b[i] = 1;
        total = count;
    }
    uint64_t *remainders = scratch;
    uint32_t small[SMALL];
    uint64_t small_rest[SMALL];
    memset(small, 0xff, sizeof small);
    for (size_t i = 0; i < count; i++) {
        uint32_t bytes = b[i], whole;
        if (bytes < SMALL && small[bytes] != UINT32_MAX) {
            whole = small[bytes];
            remainders[i] = small_rest[bytes];
        } else {
            whole = (uint32_t)(n * bytes / total);
            remainders[i] = n * bytes % total;
            if (bytes < SMALL) {
                small[bytes] = whole;
                small_rest[bytes] = remainders[i];
            }
        }
        b[i] = whole;
        given += whole;
    }
    if (n > given)
        give_remainders(b, remainders, count, n - given, scratch + count);
    fill_zeros(b, count);
}

/* ---- streams ---- */

/* Ids are places in the set: mostly 0, 1, 2 ... Where some are missing or double, a table leads to the first row. */
static void number_rows(struct streams *s, struct arena *a)
{
    bool dense = true;
    for (size_t i = 0; i < s->request_count && dense; i++)
        dense = s->requests[i].id == i;
    s->row_limit = s->request_count ? (uint64_t)s->requests[s->request_count - 1].id + 1 : 0;
    if (dense)
        return;
    uint32_t *row_of = arena_array(a, s->row_limit, sizeof *row_of);
    memset(row_of, 0xff, s->row_limit * sizeof *row_of);
    for (size_t i = s->request_count; i-- > 0;)
        row_of[s->requests[i].id] = (uint32_t)i;
    s->row_of = row_of;
}

/* What the two passes over the chunks keep of a request. */
struct tally {
    uint64_t at;
    int64_t last_ns;
    int64_t running; /* first pass: 1 where some count was seen; second: the highest so far */
};

static void count_chunks(struct streams *s, bool asked, struct tally *tallies)
{
    for (size_t i = 0; i < s->request_count; i++) {
        bool first = !s->row_of || s->row_of[s->requests[i].id] == i;
        s->streams[i].success = first && s->requests[i].verdict == VERDICT_OK && s->requests[i].completion_tokens >= 1;
        s->streams[i].tokens = s->requests[i].completion_tokens;
    }
    for (size_t i = 0; i < s->chunk_count; i++) {
        const struct rec_chunk *c = &s->chunks[i];
        uint32_t row = streams_row(s, c->request);
        if (row == STREAM_NONE) {
            s->stray_chunks++;
            continue;
        }
        if (!chunk_has_tokens(c) || !s->streams[row].success)
            continue;
        tallies[row].at++;
        tallies[row].running |= c->running >= 0;
    }
    uint64_t at = 0;
    bool some = false, none = false;
    for (size_t i = 0; i < s->request_count; i++) {
        struct stream *q = &s->streams[i];
        q->running = asked && tallies[i].running;
        q->begin = at;
        at += tallies[i].at;
        q->end = at;
        q->first_ns = q->last_ns = ABSENT_I64;
        tallies[i] = (struct tally){.at = q->begin, .last_ns = ABSENT_I64};
        if (q->end > q->begin) {
            some |= q->running;
            none |= !q->running;
        }
    }
    s->token_chunks = at;
    s->source = some && none ? TOKENS_MIXED : some ? TOKENS_RUNNING : none ? TOKENS_SPREAD : TOKENS_NONE;
}

static void fill_streams(struct streams *s, struct tally *tallies)
{
    for (size_t i = 0; i < s->chunk_count; i++) {
        const struct rec_chunk *c = &s->chunks[i];
        uint32_t row = streams_row(s, c->request);
        if (row == STREAM_NONE || !chunk_has_tokens(c) || !s->streams[row].success)
            continue;
        struct tally *y = &tallies[row];
        uint32_t value = c->bytes;
        if (s->streams[row].running) {
            value = c->running > y->running ? (uint32_t)(c->running - y->running) : 0;
            y->running += value;
        }
        s->tokens[y->at] = value;
        s->where[y->at] = (uint32_t)i | (c->t_ns == y->last_ns ? STREAM_MERGED : 0);
        y->at++;
        y->last_ns = c->t_ns;
        s->shared_stamps += c->stamp == STAMP_SHARED;
        s->read_stamps += c->stamp == STAMP_READ;
    }
}

/* Running counts below usage: the rest to the last chunk. (Above it, which no valid usage is: cut from the end.) */
static void settle_running(uint32_t *x, size_t count, uint64_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += x[i];
    if (sum <= n) {
        x[count - 1] += (uint32_t)(n - sum);
        return;
    }
    for (size_t i = count; i-- > 0 && sum > n;) {
        uint64_t cut = sum - n < x[i] ? sum - n : x[i];
        x[i] -= (uint32_t)cut;
        sum -= cut;
    }
}

static void settle(struct streams *s, struct stream *q, int64_t merged_tokens, uint64_t *scratch)
{
    size_t count = q->end - q->begin;
    uint32_t *x = s->tokens + q->begin, *where = s->where + q->begin;
    if (q->running)
        settle_running(x, count, (uint64_t)q->tokens);
    else
        tokens_spread(x, count, (uint64_t)q->tokens, scratch);
    size_t head = 0;
    for (size_t i = 0; i < count; i++) {
        s->largest = x[i] > s->largest ? x[i] : s->largest;
        if (i > 0) {
            s->largest_later = x[i] > s->largest_later ? x[i] : s->largest_later;
            s->merged_chunks += x[i] > merged_tokens;
        }
        if (!(where[i] & STREAM_MERGED)) {
            head = i;
        } else {
            x[head] += x[i];
            x[i] = 0;
        }
    }
    q->first_ns = s->chunks[where[0] & STREAM_WHERE].t_ns;
    q->last_ns = s->chunks[where[count - 1] & STREAM_WHERE].t_ns;
    q->first_tokens = x[0];
    q->generates = q->last_ns > q->first_ns;
    q->by_interval = q->generates && 2 * (q->tokens - q->first_tokens) < q->tokens;
}

bool streams_make(const struct records *r, const struct method *m, struct arena *a, struct streams *ret, struct err *e)
{
    struct streams s = {.chunks = r->chunks,
                        .chunk_count = r->chunk_count,
                        .requests = r->requests,
                        .request_count = r->request_count,
                        .largest = -1,
                        .largest_later = -1};
    if (r->chunk_count > STREAM_WHERE)
        return err_set(e, ERR_RECORDS,
                       "The run has %zu chunks, more than the %u that an analysis can number. Analyse a shorter run.",
                       r->chunk_count, STREAM_WHERE);
    number_rows(&s, a);
    struct arena scratch = {0};
    s.streams = arena_array(a, s.request_count, sizeof *s.streams);
    struct tally *tallies = arena_array(&scratch, s.request_count, sizeof *tallies);
    count_chunks(&s, r->plan.requests.continuous_usage, tallies);
    s.tokens = arena_array(a, s.token_chunks, sizeof *s.tokens);
    s.where = arena_array(a, s.token_chunks, sizeof *s.where);
    fill_streams(&s, tallies);
    size_t longest = 0;
    for (size_t i = 0; i < s.request_count; i++)
        longest = s.streams[i].end - s.streams[i].begin > longest ? s.streams[i].end - s.streams[i].begin : longest;
    uint64_t *room = arena_array(&scratch, 2 * longest, sizeof *room);
    for (size_t i = 0; i < s.request_count; i++)
        if (s.streams[i].end > s.streams[i].begin)
            settle(&s, &s.streams[i], m->merged_tokens, room);
    arena_done(&scratch);
    *ret = s;
    return true;
}
