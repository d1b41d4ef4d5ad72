#include "store/csv_chunks.h"

#include <assert.h>
#include "store/csv_records.h"

const char csv_chunks_header[] = "t_ns,request,kind,bytes,running,stamp\n";

/* No line of the usual form is longer, so no bound need be looked at within it. Its numbers of nine digits are within
 * their columns' ranges. */
enum { LINE_BYTES = 128 };

/* Up to `most` digits and the byte behind them, which must be `stop`; null otherwise. */
static inline const char *read_digits(const char *p, int most, char stop, uint64_t *ret_value)
{
    uint64_t value = 0;
    const char *start = p;

    for (unsigned digit; (digit = (unsigned char)*p - (unsigned)'0') <= 9; p++) {
        if (p - start >= most)
            return NULL;
        value = value * 10 + digit;
    }
    *ret_value = value;
    return p > start && *p == stop ? p + 1 : NULL;
}

/* A name and the byte behind it; null otherwise. Names are a few bytes: shorter than a call of memcmp. */
static inline const char *word(const char *p, const char *name, char stop)
{
    while (*name && *p == *name) {
        p++;
        name++;
    }
    return *name == '\0' && *p == stop ? p + 1 : NULL;
}

/* One of `names`. The last one that fit is tried first: it mostly fits again. */
static inline const char *name(const char *p, const char *const *names, char stop, unsigned *index)
{
    const char *at = word(p, names[*index], stop);

    for (unsigned i = 0; !at && names[i]; i++) {
        at = word(p, names[i], stop);
        *index = at ? i : *index;
    }
    return at;
}

size_t csv_chunks_read(struct span *rest, struct rec_chunk *out, size_t *cells)
{
    assert(rest && out && cells);
    const char *p = rest->p, *end = rest->p + rest->n;
    unsigned kind = CHUNK_TEXT, stamp = STAMP_KERNEL;
    size_t count = 0, filled = 0;

    for (; end - p >= LINE_BYTES; count++) {
        uint64_t t_ns, request, bytes, running = 0;
        const char *at;
        bool has_running;

        if (!(at = read_digits(p, 18, ',', &t_ns)) || !(at = read_digits(at, 9, ',', &request)) ||
            !(at = name(at, chunk_kind_names, ',', &kind)) || !(at = read_digits(at, 9, ',', &bytes)))
            break;
        has_running = *at != ',';
        at = has_running ? read_digits(at, 9, ',', &running) : at + 1;
        if (!at || !(at = name(at, chunk_stamp_names, '\n', &stamp)))
            break;
        if (t_ns > RECORD_TIME_MAX)
            break;
        filled += has_running;
        out[count] = (struct rec_chunk){.t_ns = (int64_t)t_ns,
                                        .request = (uint32_t)request,
                                        .running = has_running ? (int32_t)running : -1,
                                        .bytes = (uint32_t)bytes,
                                        .kind = (enum chunk_kind)kind,
                                        .stamp = (enum chunk_stamp)stamp};
        p = at;
    }
    enum { ALWAYS_FILLED = 5 };
    *cells += ALWAYS_FILLED * count + filled;
    *rest = (struct span){p, (size_t)(end - p)};
    return count;
}
