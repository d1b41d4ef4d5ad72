#include "words.h"

#include <math.h>
#include "sim/mix.h"

uint64_t words_mix(uint64_t a, uint64_t b)
{
    return sim_finalise(a * 0x9e3779b97f4a7c15 + b + 0x632be59bd9b4e019);
}

double words_share(uint64_t hash)
{
    return (double)(hash >> 11) * 0x1p-53;
}

void words_token(struct buf *b, uint64_t answer, int64_t i)
{
    uint64_t x = words_mix(answer, (uint64_t)i);
    char word[8] = {' '};
    size_t n = 4 + x % 4;
    x >>= 8;
    for (size_t k = 1; k < n; k++, x /= 26)
        word[k] = (char)('a' + x % 26);
    buf_add(b, word, n);
}

int64_t words_length(uint64_t answer, double median)
{
    double u = 1 - words_share(words_mix(answer, 1)), v = words_share(words_mix(answer, 2));
    double normal = sqrt(-2 * log(u)) * cos(2 * M_PI * v);
    double length = round(median * exp(0.8 * normal));
    return length < 1 ? 1 : length > 1e6 ? 1000000 : (int64_t)length;
}
