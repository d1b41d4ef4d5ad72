#include "analysis/allot.h"
#include "base/must.h"

#include <assert.h>
#include <string.h>

enum { SMALL = 256, SHARES = 256, STREAMED_MAX = 60000 };

/* ---- grouped ---- */

/* The k-th largest of x (k from 1), by quickselect with a median of three; x is reordered. */
static uint64_t select_largest(uint64_t *x, size_t n, size_t k)
{
    assert(k > 0 && k <= n);
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
static void allot_small(uint32_t *b, size_t count, const uint32_t *counts, uint64_t n, uint64_t total)
{
    assert(total > 0);
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

static void allot_large(uint32_t *b, size_t count, uint64_t n, uint64_t total, uint64_t *remainders, uint64_t *scratch)
{
    assert(total > 0);
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

void tokens_allot(uint32_t *b, size_t count, uint64_t n, uint64_t *scratch)
{
    must(count == 0 || (b && scratch));
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
        allot_small(b, count, counts, n, total);
    else
        allot_large(b, count, n, total, scratch, scratch + count);
    fill_zeros(b, count);
}

/* ---- in order of time ---- */

/* Floors and largest remainders. False where chunks of several sizes tie. */
static bool prepare_shares(struct allotment *p, const uint16_t *counts, uint64_t n, uint64_t total, uint32_t *share)
{
    uint32_t size[ALLOT_SIZES], kinds = 0;
    uint64_t rest[ALLOT_SIZES], left = n;
    for (uint32_t k = 0; k < ALLOT_SIZES; k++) {
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
static void prepare_level(struct allotment *p, const uint64_t *at_share, uint32_t most)
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

bool allot_prepare(struct allotment *p, uint64_t n)
{
    assert(p->large <= 1);
    uint64_t total = 0, at_share[SHARES] = {0};
    uint32_t share[ALLOT_SIZES] = {0}, most = 0;
    for (uint32_t k = 0; k < ALLOT_SIZES; k++)
        total += (uint64_t)k * p->of[k];
    if (p->large || p->chunks > STREAMED_MAX || total == 0 || !prepare_shares(p, p->of, n, total, share))
        return false;
    for (uint32_t k = 0; k < ALLOT_SIZES; k++) {
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
    for (uint32_t k = 0; k < ALLOT_SIZES; k++)
        p->of[k] = (uint16_t)share[k];
    return true;
}
