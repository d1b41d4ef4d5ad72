#include "http/http1.h"

#include <assert.h>
#include <stdlib.h>
#include "base/arena.h"
#include "base/num.h"
#include "base/utf8.h"
#include "text/scan.h"

enum { LINE_MAX_BYTES = 8 * 1024, HEAD_MAX_BYTES = 64 * 1024, INTERIM_MAX = 100 };

void http1_init(struct http1 *h)
{
    *h = (struct http1){.length = -1};
}

static void drop_line(struct http1 *h)
{
    free(h->line.p);
    h->line.p = NULL;
    h->line.n = h->line.capacity = 0;
}

void http1_done(struct http1 *h)
{
    drop_line(h);
}

static enum http1_event http1_failed(struct http1 *h, const char *fault)
{
    assert(fault);
    h->state = H1_FAILED;
    h->fault = fault;
    return HTTP1_ERROR;
}

static enum http1_event fail_too_large(struct http1 *h, const char *fault)
{
    h->too_large = true;
    return http1_failed(h, fault);
}

static const char http2_preface[] = "PRI * HTTP/2";
enum { FIRST_BYTES = sizeof http2_preface - 1 };

/* What the first bytes of a status line show already: null where they may begin one, or may yet turn out to be a
 * preface that has a name. The first byte tells TLS (record types 20 to 23) and the SETTINGS frame of an HTTP/2 server
 * (its length in three bytes, the first of them 0); no text begins with them. */
static const char *first_bytes_fault(struct span begun)
{
    assert(begun.n > 0 && begun.n <= FIRST_BYTES);
    static const char status[] = "HTTP/1.";
    size_t known = begun.n < sizeof status - 1 ? begun.n : sizeof status - 1;
    bool fits = memcmp(begun.p, status, known) == 0 && (begun.n < 8 || num_is_digit(begun.p[7])) &&
                (begun.n < 9 || begun.p[8] == ' ');
    if (fits)
        return NULL;
    if (begun.p[0] >= 20 && begun.p[0] <= 23)
        return "it begins with a TLS record, so this port speaks HTTPS, but jtok only plain HTTP";
    if (begun.p[0] == 0 || span_is(begun, http2_preface))
        return "it begins as HTTP/2 does, but jtok speaks HTTP/1.1";
    return strncmp(http2_preface, begun.p, begun.n) == 0 ? NULL : "it does not begin with an HTTP/1 status line";
}

static bool parse_status(struct http1 *h, struct span line)
{
    assert(!h->seen.status);
    if (!span_starts(line, "HTTP/1.") || line.n < 9 || !num_is_digit(line.p[7]) || line.p[8] != ' ') {
        http1_failed(h, "it does not begin with an HTTP/1 status line");
        return false;
    }
    struct span rest = {line.p + 9, line.n - 9};
    if (rest.n < 3 || !num_is_digit(rest.p[0]) || !num_is_digit(rest.p[1]) || !num_is_digit(rest.p[2]) ||
        (rest.n > 3 && rest.p[3] != ' ')) {
        http1_failed(h, "a status that is not three digits");
        return false;
    }
    if (rest.p[0] == '0') { /* 0 would mean "no answer" to who asked */
        http1_failed(h, "a status below 100");
        return false;
    }
    h->status = (rest.p[0] - '0') * 100 + (rest.p[1] - '0') * 10 + (rest.p[2] - '0');
    h->seen.old_version = line.p[7] == '0';
    return h->seen.status = true;
}

/* Takes the next element off a comma-separated list. */
static bool next_element(struct span *list, struct span *ret_element)
{
    if (!list->p)
        return false;
    const char *comma = list->n ? memchr(list->p, ',', list->n) : NULL;
    *ret_element = span_trim((struct span){list->p, comma ? (size_t)(comma - list->p) : list->n});
    *list = comma ? (struct span){comma + 1, list->n - (size_t)(comma + 1 - list->p)} : (struct span){0};
    return true;
}

static const char *take_length(struct http1 *h, struct span list)
{
    for (struct span element; next_element(&list, &element);) {
        int64_t length;
        if (element.n == 0 || !num_is_digit(*element.p) || !num_i64(element, &length))
            return "a Content-Length that is not a number up to 2^63-1";
        if (h->seen.length && length != h->length)
            return "two Content-Lengths that differ";
        h->seen.length = true;
        h->length = length;
    }
    return NULL;
}

static const char *take_encoding(struct http1 *h, struct span list)
{
    h->seen.encoding = true;
    for (struct span element; next_element(&list, &element);) {
        if (element.n == 0)
            continue;
        if (h->chunked)
            return "a transfer coding on top of chunked";
        if (span_is_nocase(element, "chunked"))
            h->chunked = true;
        else if (!span_is_nocase(element, "identity"))
            return "a transfer coding other than chunked";
    }
    return NULL;
}

static void take_connection(struct http1 *h, struct span list)
{
    for (struct span element; next_element(&list, &element);) {
        h->close |= span_is_nocase(element, "close");
        h->seen.keep_alive |= span_is_nocase(element, "keep-alive");
    }
}

static void take_type(struct http1 *h, struct span value)
{
    if (h->content_type[0])
        return;
    utf8_ascii(value, h->content_type, sizeof h->content_type);
    const char *parameters = value.n ? memchr(value.p, ';', value.n) : NULL;
    struct span type = {value.p, parameters ? (size_t)(parameters - value.p) : value.n};
    h->event_stream = span_is_nocase(span_trim(type), "text/event-stream");
}

static const char *take_header(struct http1 *h, struct span name, struct span value)
{
    if (span_is_nocase(name, "content-length"))
        return take_length(h, value);
    if (span_is_nocase(name, "transfer-encoding"))
        return take_encoding(h, value);
    if (span_is_nocase(name, "connection"))
        take_connection(h, value);
    else if (span_is_nocase(name, "content-type"))
        take_type(h, value);
    else if (span_is_nocase(name, "content-encoding"))
        h->seen.coded |= value.n && !span_is_nocase(value, "identity");
    else if (span_is_nocase(name, "location") && !h->location[0])
        utf8_ascii(value, h->location, sizeof h->location);
    return NULL;
}

/* The characters of an HTTP token (RFC 9110, 5.6.2). */
static bool is_token(struct span s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i], lower = c | 0x20;
        if (!(lower >= 'a' && lower <= 'z') && !num_is_digit(c) && (c == 0 || !strchr("!#$%&'*+-.^_`|~", c)))
            return false;
    }
    return s.n > 0;
}

static const char *parse_field(struct http1 *h, struct span line)
{
    const char *colon = memchr(line.p, ':', line.n);
    if (!colon)
        return "a header line without a colon";
    struct span name = {line.p, (size_t)(colon - line.p)};
    if (name.n && (colon[-1] == ' ' || colon[-1] == '\t'))
        return "white space before a header's colon";
    if (!is_token(name))
        return "a header name with bytes that no name may have";
    return take_header(h, name, span_trim((struct span){colon + 1, line.n - name.n - 1}));
}

/* Forgets an interim head and waits for the next one. HTTP1_MORE: go on. */
static enum http1_event skip_interim(struct http1 *h)
{
    if (h->interim == INTERIM_MAX)
        return fail_too_large(h, "more than 100 interim responses");
    *h =
        (struct http1){.length = -1, .interim = h->interim + 1, .line = {.p = h->line.p, .capacity = h->line.capacity}};
    return HTTP1_MORE;
}

static enum http1_event end_head(struct http1 *h)
{
    assert(h->seen.status);
    if (h->seen.length && h->seen.encoding)
        return http1_failed(h, "both Transfer-Encoding and Content-Length");
    if (h->status / 100 == 1 && h->status != 101)
        return skip_interim(h);
    h->close |= h->seen.old_version && !h->seen.keep_alive;
    h->remaining = h->length;
    if (h->status == 101 || h->status == 204 || h->status == 304)
        h->state = H1_DONE;
    else if (h->chunked)
        h->state = H1_CHUNK_START;
    else if (h->seen.length)
        h->state = h->length ? H1_BODY_LENGTH : H1_DONE;
    else
        h->state = H1_BODY_CLOSE;
    h->close |= h->state == H1_BODY_CLOSE || h->status == 101;
    if (h->seen.coded && h->state != H1_DONE)
        h->state = H1_BODY_CODED;
    h->head_bytes = 0;
    drop_line(h);
    return HTTP1_HEAD;
}

static void append_line(struct http1 *h, const char *p, size_t n)
{
    assert(h->line.n <= h->line.capacity);
    while (h->line.capacity - h->line.n < n) {
        h->line.capacity = h->line.capacity ? h->line.capacity * 2 : 256;
        h->line.p = mem_grow(h->line.p, h->line.capacity, 1);
    }
    if (n)
        memcpy(h->line.p + h->line.n, p, n);
    h->line.n += (uint32_t)n;
}

/* A line of the head is complete in h->line, without its LF. HTTP1_MORE: go on. */
static enum http1_event end_line(struct http1 *h)
{
    assert(h->line.p || h->line.n == 0);
    if (h->line.n && h->line.p[h->line.n - 1] == '\r')
        h->line.n--;
    if (h->line.n > LINE_MAX_BYTES)
        return fail_too_large(h, "a header line over 8 KiB");
    h->state = H1_LINE_START;
    if (h->seen.status)
        return h->line.n ? HTTP1_MORE : end_head(h); /* a header line waits: the next one may continue it */
    struct span line = {h->line.p, h->line.n};
    h->line.n = 0;
    return parse_status(h, line) ? HTTP1_MORE : HTTP1_ERROR;
}

/* Is the byte that begins a line of the head in order? Parses the line before it, which it may have continued. */
static bool begin_line(struct http1 *h, char first)
{
    assert(h->state == H1_LINE_START);
    bool continues = first == ' ' || first == '\t';
    const char *fault = NULL;
    if (continues && h->line.n == 0)
        fault = "white space before the first header";
    else if (!continues && h->line.n)
        fault = parse_field(h, (struct span){h->line.p, h->line.n});
    if (fault) {
        http1_failed(h, fault);
        return false;
    }
    if (!continues)
        h->line.n = 0;
    h->state = H1_LINE;
    return true;
}

/* The first bytes of a head, one by one: the same answer however they are split. */
static const char *check_first_bytes(const struct http1 *h, struct span input)
{
    char begun[FIRST_BYTES];
    size_t n = h->line.n;
    if (h->seen.status || n >= FIRST_BYTES)
        return NULL;
    if (n)
        memcpy(begun, h->line.p, n);
    for (size_t i = 0; n < FIRST_BYTES && i < input.n && input.p[i] != '\n'; i++) {
        begun[n++] = input.p[i];
        const char *fault = first_bytes_fault((struct span){begun, n});
        if (fault)
            return fault;
    }
    return NULL;
}

static enum http1_event feed_head(struct http1 *h, struct span *input)
{
    assert(input->n > 0);
    h->head_started = true;
    if (h->state == H1_LINE_START && !begin_line(h, *input->p))
        return HTTP1_ERROR;
    const char *fault = check_first_bytes(h, *input);
    if (fault)
        return http1_failed(h, fault);
    const char *lf = memchr(input->p, '\n', input->n);
    size_t n = lf ? (size_t)(lf - input->p) : input->n;
    size_t used = n + (lf != NULL);
    if (n > LINE_MAX_BYTES + 1 - h->line.n) /* 1 for its CR */
        return fail_too_large(h, "a header line over 8 KiB");
    if (used > HEAD_MAX_BYTES - h->head_bytes)
        return fail_too_large(h, "a head over 64 KiB");
    append_line(h, input->p, n);
    h->head_bytes += (uint32_t)used;
    input->p += used;
    input->n -= used;
    return lf ? end_line(h) : HTTP1_MORE;
}

static enum http1_event found_body(struct http1 *h, struct span *input, size_t n)
{
    assert(n > 0 && n <= input->n);
    h->body = (struct span){input->p, n};
    input->p += n;
    input->n -= n;
    return HTTP1_BODY;
}

static enum http1_event feed_counted(struct http1 *h, struct span *input, enum http1_state after)
{
    assert(h->remaining > 0);
    size_t n = (uint64_t)h->remaining < input->n ? (size_t)h->remaining : input->n;
    h->remaining -= (int64_t)n;
    if (h->remaining == 0)
        h->state = after;
    return found_body(h, input, n);
}

/* One byte of a chunk's size line. HTTP1_MORE: go on. */
static enum http1_event size_byte(struct http1 *h, char c)
{
    assert(h->state >= H1_CHUNK_START && h->state <= H1_CHUNK_LINE_LF);
    int digit = h->state <= H1_CHUNK_SIZE ? scan_hex(c) : -1;
    if (h->state == H1_CHUNK_START) {
        if (digit < 0)
            return http1_failed(h, "a chunk without a size");
        h->remaining = 0;
        h->line_bytes = 0;
        h->state = H1_CHUNK_SIZE;
    }
    if (h->state == H1_CHUNK_LINE_LF) {
        if (c != '\n')
            return http1_failed(h, "a chunk size line with a bare CR");
        h->state = h->remaining ? H1_CHUNK_DATA : H1_TRAILER_START;
        h->line_bytes = 0;
        return HTTP1_MORE;
    }
    if (c == '\n')
        return http1_failed(h, "a bare LF in chunk framing");
    if (++h->line_bytes > LINE_MAX_BYTES + 1)
        return fail_too_large(h, "a chunk size line over 8 KiB");
    if (digit >= 0) {
        if (h->remaining > (INT64_MAX >> 4))
            return http1_failed(h, "a chunk size over 2^63-1");
        h->remaining = h->remaining << 4 | digit;
    } else if (c == '\r') {
        h->state = H1_CHUNK_LINE_LF;
    } else if (h->state == H1_CHUNK_EXTENSION) {
        return HTTP1_MORE;
    } else if (c == ';') {
        h->state = H1_CHUNK_EXTENSION;
    } else if (c == ' ' || c == '\t') {
        h->state = H1_CHUNK_SPACE;
    } else {
        return http1_failed(h, "a chunk size that is not a hexadecimal number");
    }
    return HTTP1_MORE;
}

/* One byte of the trailer section, whose lines are skipped. HTTP1_MORE: go on. */
static enum http1_event trailer_byte(struct http1 *h, char c)
{
    assert(h->state >= H1_TRAILER_START && h->state <= H1_TRAILER_END_LF);
    if (++h->head_bytes > HEAD_MAX_BYTES)
        return fail_too_large(h, "trailers over 64 KiB");
    bool after_cr = h->state == H1_TRAILER_CR || h->state == H1_TRAILER_END_LF;
    if (c == '\n' && after_cr) {
        h->state = h->state == H1_TRAILER_CR ? H1_TRAILER_START : H1_DONE;
        h->line_bytes = 0;
        return HTTP1_MORE;
    }
    if (c == '\n')
        return http1_failed(h, "a bare LF in chunk framing");
    if (++h->line_bytes > LINE_MAX_BYTES + 1)
        return fail_too_large(h, "a trailer over 8 KiB");
    if (h->state == H1_TRAILER_END_LF)
        return http1_failed(h, "a bare CR in chunk framing");
    if (c == '\r')
        h->state = h->state == H1_TRAILER_START ? H1_TRAILER_END_LF : H1_TRAILER_CR;
    else
        h->state = H1_TRAILER;
    return HTTP1_MORE;
}

static enum http1_event framing_byte(struct http1 *h, struct span *input)
{
    assert(input->n > 0);
    char c = *input->p++;
    input->n--;
    if (h->state <= H1_CHUNK_LINE_LF)
        return size_byte(h, c);
    if (h->state >= H1_TRAILER_START)
        return trailer_byte(h, c);
    if (c != (h->state == H1_CHUNK_DATA_CR ? '\r' : '\n'))
        return http1_failed(h, "a chunk that is longer than its size");
    h->state = h->state == H1_CHUNK_DATA_CR ? H1_CHUNK_DATA_LF : H1_CHUNK_START;
    return HTTP1_MORE;
}

/* The two below are shortcuts for what servers send, whole in one input; false: byte by byte, then. A size line of
 * nothing but at most seven digits. */
static bool plain_size(struct http1 *h, struct span *input)
{
    assert(h->state == H1_CHUNK_START);
    size_t n = 0;
    int64_t size = 0;
    for (int digit; n < 7 && n + 1 < input->n && (digit = scan_hex(input->p[n])) >= 0; n++)
        size = size << 4 | digit;
    if (size == 0 || n + 1 >= input->n || input->p[n] != '\r' || input->p[n + 1] != '\n')
        return false;
    h->remaining = size;
    h->state = H1_CHUNK_DATA;
    input->p += n + 2;
    input->n -= n + 2;
    return true;
}

static bool plain_line_end(struct http1 *h, struct span *input)
{
    assert(h->state == H1_CHUNK_DATA_CR);
    if (!span_starts(*input, "\r\n"))
        return false;
    h->state = H1_CHUNK_START;
    input->p += 2;
    input->n -= 2;
    return true;
}

static enum http1_event step(struct http1 *h, struct span *input)
{
    switch (h->state) {
    case H1_LINE_START:
    case H1_LINE:
        return feed_head(h, input);
    case H1_BODY_LENGTH:
        return feed_counted(h, input, H1_DONE);
    case H1_BODY_CLOSE:
        return found_body(h, input, input->n);
    case H1_CHUNK_DATA:
        return feed_counted(h, input, H1_CHUNK_DATA_CR);
    case H1_CHUNK_DATA_CR:
        return plain_line_end(h, input) ? HTTP1_MORE : framing_byte(h, input);
    case H1_CHUNK_START:
        return plain_size(h, input) ? HTTP1_MORE : framing_byte(h, input);
    case H1_BODY_CODED:
    case H1_CHUNK_SIZE:
    case H1_CHUNK_SPACE:
    case H1_CHUNK_EXTENSION:
    case H1_CHUNK_LINE_LF:
    case H1_CHUNK_DATA_LF:
    case H1_TRAILER_START:
    case H1_TRAILER:
    case H1_TRAILER_CR:
    case H1_TRAILER_END_LF:
    case H1_DONE:
    case H1_FAILED:
    default:
        return framing_byte(h, input);
    }
}

enum http1_event http1_feed(struct http1 *h, struct span *input)
{
    assert(input->p || input->n == 0);
    for (;;) {
        if (h->state == H1_DONE)
            return HTTP1_DONE;
        if (h->state == H1_FAILED)
            return HTTP1_ERROR;
        if (h->state == H1_BODY_CODED)
            return http1_failed(h, "a compressed body, though none was asked for");
        if (input->n == 0)
            return HTTP1_MORE;
        enum http1_event event = step(h, input);
        if (event != HTTP1_MORE)
            return event;
    }
}

enum http1_event http1_eof(struct http1 *h)
{
    if (h->state == H1_BODY_CLOSE)
        h->state = H1_DONE;
    if (h->state == H1_DONE)
        return HTTP1_DONE;
    if (h->state == H1_FAILED)
        return HTTP1_ERROR;
    return http1_failed(h, h->state == H1_BODY_CODED ? "a compressed body, though none was asked for" : "truncated");
}
