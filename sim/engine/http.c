#include "http.h"

#include <time.h>
#include "base/num.h"
#include "text/json.h"

static struct span take_line(struct span *rest)
{
    const char *end = memchr(rest->p, '\n', rest->n);
    size_t n = end ? (size_t)(end - rest->p) : rest->n;
    struct span line = {rest->p, n};
    rest->p += n + (end != NULL);
    rest->n -= n + (end != NULL);
    if (line.n && line.p[line.n - 1] == '\r')
        line.n--;
    return line;
}

static struct span take_word(struct span *line)
{
    const char *end = memchr(line->p, ' ', line->n);
    struct span word = {line->p, end ? (size_t)(end - line->p) : line->n};
    line->p += word.n + (end != NULL);
    line->n -= word.n + (end != NULL);
    return word;
}

static bool read_field(struct span line, struct http_head *h)
{
    const char *colon = line.n ? memchr(line.p, ':', line.n) : NULL;
    if (!colon)
        return false;
    struct span name = {line.p, (size_t)(colon - line.p)};
    struct span value = span_trim((struct span){colon + 1, line.n - name.n - 1});
    if (span_is_nocase(name, "content-length")) {
        uint64_t n;
        if (!num_u64(value, &n) || n > HTTP_BODY_MAX)
            return false;
        h->body_bytes = n;
    } else if (span_is_nocase(name, "connection")) {
        h->close = span_is_nocase(value, "close");
    } else if (span_is_nocase(name, "expect")) {
        h->expects_continue = span_is_nocase(value, "100-continue");
    }
    return !span_is_nocase(name, "transfer-encoding");
}

enum http_read http_read_head(struct span in, struct http_head *ret_head)
{
    const char *end = in.n ? memmem(in.p, in.n, "\r\n\r\n", 4) : NULL;
    if (!end)
        return in.n > HTTP_HEAD_MAX ? HTTP_READ_BAD : HTTP_READ_MORE;
    struct http_head h = {.head_bytes = (size_t)(end - in.p) + 4};
    struct span rest = {in.p, h.head_bytes - 2};
    struct span line = take_line(&rest);
    h.method = take_word(&line);
    h.path = take_word(&line);
    if (!span_starts(line, "HTTP/1.") || !span_starts(h.path, "/"))
        return HTTP_READ_BAD;
    h.close = span_is(line, "HTTP/1.0");
    const char *query = memchr(h.path.p, '?', h.path.n);
    if (query)
        h.path.n = (size_t)(query - h.path.p);
    while (rest.n)
        if (!read_field(take_line(&rest), &h))
            return HTTP_READ_BAD;
    *ret_head = h;
    return HTTP_READ_HEAD;
}

const char *http_reason(int status)
{
    switch (status) {
    case 200:
        return "OK";
    case 400:
        return "Bad Request";
    case 404:
        return "Not Found";
    case 405:
        return "Method Not Allowed";
    case 429:
        return "Too Many Requests";
    default:
        return "Internal Server Error";
    }
}

static void start_head(struct buf *b, int status)
{
    time_t now = time(NULL);
    struct tm utc;
    char date[64];
    strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now, &utc));
    buf_fmt(b, "HTTP/1.1 %d %s\r\ndate: %s\r\nserver: uvicorn\r\n", status, http_reason(status), date);
}

void http_answer(struct buf *b, int status, const char *content_type, struct span body, bool close)
{
    start_head(b, status);
    buf_fmt(b, "content-length: %zu\r\n", body.n);
    if (content_type)
        buf_fmt(b, "content-type: %s\r\n", content_type);
    buf_str(b, "vary: Origin\r\n");
    buf_str(b, close ? "connection: close\r\n\r\n" : "\r\n");
    buf_add(b, body.p, body.n);
}

void http_stream_head(struct buf *b, bool close)
{
    start_head(b, 200);
    buf_str(b, "content-type: text/event-stream; charset=utf-8\r\nvary: Origin\r\n");
    buf_str(b, close ? "connection: close\r\n" : "");
    buf_str(b, "transfer-encoding: chunked\r\n\r\n");
}

void http_chunk(struct buf *b, struct span content)
{
    static const char digits[] = "0123456789abcdef";
    char size[20];
    char *p = size + sizeof size;
    *--p = '\n';
    *--p = '\r';
    for (size_t n = content.n; n; n >>= 4)
        *--p = digits[n & 15];
    buf_add(b, p, (size_t)(size + sizeof size - p));
    buf_add(b, content.p, content.n);
    buf_add(b, "\r\n", 2);
}

void http_last_chunk(struct buf *b)
{
    buf_str(b, "0\r\n\r\n");
}

void http_error_body(struct buf *b, int code, const char *type, const char *param, const char *message)
{
    struct json_writer w;
    json_writer_init(&w, b, 0);
    json_put_object(&w);
    json_put_key(&w, "error");
    json_put_object(&w);
    json_put_key(&w, "message");
    json_put_text(&w, message);
    json_put_key(&w, "type");
    json_put_text(&w, type);
    json_put_key(&w, "param");
    json_put_text(&w, param);
    json_put_key(&w, "code");
    json_put_i64(&w, code);
    json_put_object_end(&w);
    json_put_object_end(&w);
}
