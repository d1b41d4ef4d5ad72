/* HTTP/1.1 as uvicorn speaks it: request heads in, response heads and whole answers out. No sockets. */
#ifndef JTOK_SIM_ENGINE_HTTP_H
#define JTOK_SIM_ENGINE_HTTP_H

#include <stdbool.h>
#include <stdint.h>
#include "base/buf.h"
#include "base/span.h"

enum { HTTP_HEAD_MAX = 64 * 1024, HTTP_BODY_MAX = 256 * 1024 * 1024 };

struct http_head {
    struct span method, path; /* path without the query */
    size_t head_bytes;
    size_t body_bytes; /* Content-Length; 0 without */
    bool close;
    bool expects_continue;
};

enum http_read { HTTP_READ_MORE, HTTP_READ_HEAD, HTTP_READ_BAD };

/* Reads a request's head from the front of `in`; chunked requests are HTTP_READ_BAD. The spans point into `in`. O(n).
 */
enum http_read http_read_head(struct span in, struct http_head *ret_head);

const char *http_reason(int status);

/* A whole answer with a body. */
void http_answer(struct buf *b, int status, const char *content_type, struct span body, bool close);

/* The head of an event stream, whose events follow as chunks. */
void http_stream_head(struct buf *b, bool close);
void http_chunk(struct buf *b, struct span content);
void http_last_chunk(struct buf *b);

/* {"error":{"message":...,"type":...,"param":...,"code":...}} with a null param for null. */
void http_error_body(struct buf *b, int code, const char *type, const char *param, const char *message);

#endif
