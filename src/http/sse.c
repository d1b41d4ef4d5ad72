#include "http/sse.h"

#include <assert.h>
#include "base/must.h"
#include "text/scan.h"
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { KEEP_BYTES = 64 * 1024 };

void sse_init(struct sse *s, size_t event_max)
{
    must(event_max > 0);
    *s = (struct sse){.event_max = event_max};
}

void sse_done(struct sse *s)
{
    buf_done(&s->held);
    buf_done(&s->joined);
}

static void begin_event(struct sse *s)
{
    s->data = (struct span){"", 0};
    s->event[0] = 0;
    s->is_error = s->has_data = s->in_place = s->reported = false;
    buf_clear(&s->joined);
    if (s->joined.capacity > KEEP_BYTES)
        buf_done(&s->joined);
    if (!s->line_open && s->held.capacity > KEEP_BYTES)
        buf_done(&s->held);
}

static const char *line_end(const char *p, const char *end)
{
#ifdef __SSE2__
    for (; end - p >= 16; p += 16) {
        __m128i word = _mm_loadu_si128((const __m128i *)(const void *)p);
        int hits = _mm_movemask_epi8(
            _mm_or_si128(_mm_cmpeq_epi8(word, _mm_set1_epi8('\n')), _mm_cmpeq_epi8(word, _mm_set1_epi8('\r'))));
        if (hits)
            return p + __builtin_ctz((unsigned)hits);
    }
#endif
    for (; end - p >= 8; p += 8) {
        uint64_t word = scan_load(p);
        uint64_t hits = scan_equal(word, '\n') | scan_equal(word, '\r');
        if (hits)
            return p + scan_first(hits);
    }
    while (p < end && *p != '\n' && *p != '\r')
        p++;
    return p;
}

static bool has_room(struct sse *s, size_t more)
{
    size_t n = s->data.n + (s->line_open ? s->held.n : 0);
    s->too_large = n > s->event_max || more > s->event_max - n;
    return !s->too_large;
}

/* The input ends inside an event: what points into it is copied, the piece of a line that is left is held. */
static void keep_rest(struct sse *s, struct span *input)
{
    if (s->in_place) {
        buf_add(&s->joined, s->data.p, s->data.n);
        s->data = buf_span(&s->joined);
        s->in_place = false;
    }
    if (!s->line_open)
        buf_clear(&s->held);
    buf_add(&s->held, input->p, input->n);
    s->line_open = s->held.n > 0;
    input->p += input->n;
    input->n = 0;
}

static struct span without_bom(struct sse *s, struct span line)
{
    bool bom = !s->started && span_starts(line, "\xef\xbb\xbf");
    s->started = true;
    return bom ? (struct span){line.p + 3, line.n - 3} : line;
}

/* Takes the next line off the input, joined with what was held of it; false where it is not complete. */
static bool next_line(struct sse *s, struct span *input, struct span *ret_line)
{
    assert(input->n > 0);
    const char *end = input->p + input->n, *stop = line_end(input->p, end);
    struct span line = {input->p, (size_t)(stop - input->p)};
    if (!has_room(s, line.n))
        return false;
    if (stop == end)
        return false;
    if (s->line_open) {
        buf_add(&s->held, line.p, line.n);
        line = buf_span(&s->held);
        s->line_open = false;
    }
    const char *next = stop + 1;
    if (*stop == '\r') {
        s->skip_lf = next == end;
        next += next < end && *next == '\n';
    }
    input->p = next;
    input->n = (size_t)(end - next);
    *ret_line = without_bom(s, line);
    return true;
}

static void take_data(struct sse *s, struct span value)
{
    assert(value.p);
    s->any_data_line = true;
    if (!s->has_data) { /* in place of an error line's value, too */
        s->has_data = true;
        s->data = value;
        s->in_place = true;
        buf_clear(&s->joined);
        return;
    }
    if (s->in_place)
        buf_add(&s->joined, s->data.p, s->data.n);
    buf_byte(&s->joined, '\n');
    buf_add(&s->joined, value.p, value.n);
    s->data = buf_span(&s->joined);
    s->in_place = false;
}

static void take_field(struct sse *s, struct span line)
{
    const char *colon = memchr(line.p, ':', line.n);
    struct span name = {line.p, colon ? (size_t)(colon - line.p) : line.n}, value = {"", 0};
    if (colon) {
        size_t skip = name.n + 1;
        skip += skip < line.n && line.p[skip] == ' ';
        value = (struct span){line.p + skip, line.n - skip};
    }
    if (name.n == 0) {
        s->comments++;
    } else if (span_is(name, "data")) {
        take_data(s, value);
    } else if (span_is(name, "event")) {
        size_t n = value.n < sizeof s->event - 1 ? value.n : sizeof s->event - 1;
        memcpy(s->event, value.p, n);
        s->event[n] = 0;
    } else if (span_is(name, "error")) {
        s->is_error = true;
        if (!s->has_data) {
            s->data = value;
            s->in_place = true;
            buf_clear(&s->joined);
        }
    }
}

/* An empty line: is there an event to report? */
static bool complete(struct sse *s)
{
    assert(!s->reported);
    s->is_error |= s->event[0] && strcmp(s->event, "error") == 0;
    if (!s->has_data && !s->is_error) {
        begin_event(s);
        return false;
    }
    s->events++;
    return s->reported = true;
}

enum sse_event_kind sse_feed(struct sse *s, struct span *input)
{
    assert(input->p || input->n == 0);
    if (s->reported)
        begin_event(s);
    if (s->skip_lf && input->n) {
        size_t lf = *input->p == '\n';
        s->skip_lf = false;
        input->p += lf;
        input->n -= lf;
    }
    while (input->n && !s->too_large) {
        struct span line;
        if (!next_line(s, input, &line))
            break;
        if (line.n)
            take_field(s, line);
        else if (complete(s))
            return SSE_EVENT;
    }
    if (s->too_large)
        return SSE_TOO_LARGE;
    keep_rest(s, input);
    return SSE_MORE;
}

enum sse_event_kind sse_eof(struct sse *s, bool orderly)
{
    if (s->reported)
        begin_event(s);
    if (s->too_large)
        return SSE_TOO_LARGE;
    if (s->line_open && orderly) {
        s->line_open = false;
        struct span line = without_bom(s, buf_span(&s->held));
        if (line.n)
            take_field(s, line);
    }
    bool whole = !s->line_open && complete(s);
    s->line_open = false;
    if (!whole)
        begin_event(s);
    return whole ? SSE_EVENT : SSE_MORE;
}
