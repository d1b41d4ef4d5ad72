#include "http/response.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "base/must.h"
#include "base/utf8.h"
#include "http/event.h"

static const int64_t COUNT_MAX = INT32_MAX;

void response_init(struct response *r, size_t event_max)
{
    must(event_max > 0);
    *r = (struct response){.record = rec_request_absent(), .last_event_ns = ABSENT_I64, .running = ABSENT_I64};
    struct rec_request *q = &r->record;
    q->text_bytes = q->received_bytes = q->events = q->token_chunks = q->shared_stamps = q->comments = 0;
    http1_init(&r->http);
    sse_init(&r->sse, event_max);
    buf_init(&r->plain.bytes, RESPONSE_ERROR_BODY_MAX);
}

void response_done(struct response *r)
{
    http1_done(&r->http);
    sse_done(&r->sse);
    buf_done(&r->plain.bytes);
    free(r->detail);
    r->detail = NULL;
    r->record.detail = NULL;
}

/* ---- words about a failure ---- */

/* Shown wherever the detail is shown, and broken UTF-8 would break the records: made fit at once. */
static void set_detail(struct response *r, struct span text)
{
    struct buf b = {0};
    size_t n = text.n;
    if (n > RESPONSE_DETAIL_MAX)
        for (n = RESPONSE_DETAIL_MAX; n > RESPONSE_DETAIL_MAX - 4 && (text.p[n] & 0xc0) == 0x80;)
            n--; /* no character is cut in two */
    utf8_show(&b, (struct span){text.p, n}, false);
    if (n < text.n)
        buf_str(&b, "...");
    free(r->detail);
    r->detail = mem_alloc(b.n + 1);
    memcpy(r->detail, buf_text(&b), b.n + 1);
    r->record.detail = r->detail;
    buf_done(&b);
}

static void end(struct response *r, enum verdict v, int64_t t_ns)
{
    assert(!r->over);
    r->over = true;
    r->record.verdict = (uint8_t)v;
    r->record.end_ns = t_ns;
}

void response_fail(struct response *r, enum verdict v, int64_t t_ns, const char *format, ...)
{
    assert(format && v != VERDICT_OK);
    if (r->over)
        return;
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    end(r, v, t_ns);
    r->closing = true;
    set_detail(r, span_of(text));
}

/* The error in an event or a body, in its own words where it has some. */
static void fail_with_error(struct response *r, int64_t t_ns, struct span json, const char *where)
{
    struct buf words = {0};
    event_error_text(json, &words);
    struct span said = words.n ? buf_span(&words) : json;
    response_fail(r, VERDICT_ERROR_IN_STREAM, t_ns, "The server reported an error %s: %.*s", where,
                  (int)(said.n < 500 ? said.n : 500), said.n ? said.p : "");
    buf_done(&words);
}

/* ---- verdicts at the end ---- */

static void judge_tokens_and_usage(struct response *r, int64_t t_ns)
{
    if (!r->have_tokens && r->usage.have && r->usage.count >= 1)
        response_fail(
            r, VERDICT_NO_OUTPUT, t_ns,
            "The engine counted %lld output tokens, but no chunk carried one. Either the first token ended the answer, "
            "or a parser of the engine kept everything back.",
            (long long)r->usage.count);
    else if (!r->have_tokens)
        response_fail(r, VERDICT_NO_TOKENS, t_ns, "The stream ended without an output token.");
    else if (!r->usage.have)
        response_fail(
            r, VERDICT_NO_USAGE, t_ns,
            "The stream ended without `usage`. The engine must be asked for it (stream_options.include_usage).");
    else if (r->usage.fault)
        response_fail(r, VERDICT_BAD_USAGE, t_ns, "The last `usage` is of no use, because completion_tokens is %s.",
                      r->usage.fault);
}

static void judge_done(struct response *r, int64_t t_ns)
{
    assert(!r->over);
    r->done_seen = true;
    judge_tokens_and_usage(r, t_ns);
    if (!r->over)
        end(r, VERDICT_OK, t_ns);
}

/* Is all there but [DONE]? Then it is no matter how the connection ends: METHOD's row *no [DONE]* wins over *the end of
 * the connection*. */
static bool is_whole(const struct response *r)
{
    return r->record.finish_reason[0] && r->usage.after_finish;
}

/* A stream that ended, in order or whole, without [DONE]. */
static void judge_end(struct response *r, int64_t t_ns)
{
    if (r->over)
        return;
    if (!r->sse.any_data_line) {
        struct event_said said;
        struct span body = buf_span(&r->plain.bytes);
        if (r->plain.gather && !r->plain.bytes.overflow && event_read(body, &said) && said.error)
            fail_with_error(r, t_ns, body, "as its answer");
        else
            response_fail(r, VERDICT_NOT_STREAMED, t_ns,
                          "The answer (%s) is not an event stream: its body of %lld bytes has no `data:` line.",
                          r->http.content_type[0] ? r->http.content_type : "no content type", (long long)r->body_bytes);
        return;
    }
    bool tokens = r->have_tokens;
    if (tokens && !r->record.finish_reason[0])
        response_fail(r, VERDICT_NO_FINISH, t_ns,
                      "The stream ended without [DONE] and without a finish reason after %lld events.",
                      (long long)r->record.events);
    else if (tokens && r->usage.have && !r->usage.after_finish)
        response_fail(r, VERDICT_NO_USAGE, t_ns,
                      "The stream ended without [DONE], and no `usage` came with or after its finish reason.");
    else
        judge_tokens_and_usage(r, t_ns);
    if (!r->over) {
        r->record.notes |= NOTE_NO_DONE;
        end(r, VERDICT_OK, t_ns);
    }
}

/* ---- events ---- */

static const char *count_fault(const struct response *r, const struct event_usage *u)
{
    int64_t limit = r->record.max_tokens;
    if (u->count_kind == USAGE_COUNT_MISSING)
        return "missing";
    if (u->count_kind == USAGE_COUNT_NULL)
        return "null";
    if (u->count_kind == USAGE_COUNT_OTHER)
        return "not an integer";
    if (u->count < 1)
        return u->count == 0 ? "0, although output came" : "negative";
    if (u->count > COUNT_MAX)
        return "over 2147483647";
    if (limit != ABSENT_I64 && limit > 0 && u->count > limit)
        return "more than the max_tokens asked for";
    if (r->running != ABSENT_I64 && u->count < r->running)
        return "less than an earlier count of the same request";
    return NULL;
}

/* A count beside the one that is judged: what is none is absent. */
static int64_t count_or_absent(int64_t count)
{
    return count >= 0 && count <= COUNT_MAX ? count : ABSENT_I64;
}

static void take_usage(struct response *r, const struct event_usage *u, int64_t t_ns)
{
    r->usage.have = true;
    r->usage.fault = count_fault(r, u);
    r->usage.count = u->count_kind == USAGE_COUNT_INTEGER ? u->count : 0;
    struct rec_request *q = &r->record;
    q->completion_tokens = u->count_kind == USAGE_COUNT_INTEGER ? u->count : ABSENT_I64;
    q->prompt_tokens = count_or_absent(u->prompt);
    q->reasoning_tokens = count_or_absent(u->reasoning);
    q->cached_tokens = count_or_absent(u->cached);
    q->usage_ns = t_ns;
}

static void take_finish(struct response *r, const struct event_said *said, int64_t t_ns)
{
    utf8_ascii(said->choices.finish, r->finish, sizeof r->finish);
    r->record.finish_reason = r->finish;
    r->record.finish_ns = t_ns;
    r->usage.after_finish = false;
}

/* What kind of chunk this is; `rose`: its running count is above an earlier one. */
static enum chunk_kind chunk_kind_of(const struct event_said *said, bool rose)
{
    if (said->choices.visible)
        return CHUNK_TEXT;
    if (said->choices.reasoning)
        return CHUNK_REASONING;
    if (said->choices.any && rose)
        return CHUNK_HELD;
    if (said->choices.finished)
        return CHUNK_FINISH;
    if (said->choices.role)
        return CHUNK_ROLE;
    return said->usage.present ? CHUNK_USAGE : CHUNK_OTHER;
}

static void take_token(struct response *r, const struct rec_chunk *c)
{
    assert(chunk_has_tokens(c));
    struct rec_request *q = &r->record;
    if (!r->have_tokens)
        q->first_ns = c->t_ns;
    if (c->kind == CHUNK_TEXT && q->first_visible_ns == ABSENT_I64)
        q->first_visible_ns = c->t_ns;
    r->have_tokens = true;
    q->last_ns = c->t_ns;
    q->token_chunks++;
    q->shared_stamps += c->stamp == STAMP_SHARED;
}

/* Enters what a readable event said, and completes its chunk. */
static void take_event(struct response *r, const struct event_said *said, struct rec_chunk *c)
{
    const struct event_usage *u = &said->usage;
    bool counted = u->count_kind == USAGE_COUNT_INTEGER && u->count >= 0 && u->count <= COUNT_MAX;
    bool rose = counted && r->running != ABSENT_I64 && u->count > r->running;
    uint64_t bytes = said->choices.visible + said->choices.reasoning;
    c->kind = (uint8_t)chunk_kind_of(said, rose);
    c->bytes = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
    c->running = counted ? (int32_t)u->count : -1;
    r->record.text_bytes += (int64_t)bytes;
    if (said->choices.role && r->record.role_ns == ABSENT_I64)
        r->record.role_ns = c->t_ns;
    if (chunk_has_tokens(c))
        take_token(r, c);
    if (said->choices.finished)
        take_finish(r, said, c->t_ns);
    if (u->present) {
        take_usage(r, u, c->t_ns);
        r->usage.after_finish |= r->record.finish_reason[0] != 0;
    }
    if (counted && (r->running == ABSENT_I64 || u->count > r->running))
        r->running = u->count;
}

static void judge_event(struct response *r, const struct event_said *said, struct span data, int64_t t_ns)
{
    if (said->error)
        fail_with_error(r, t_ns, data, "in the stream");
    else if (said->choices.failed)
        response_fail(r, VERDICT_ERROR_IN_STREAM, t_ns, "The engine ended the answer with finish reason \"%.*s\".",
                      SPAN_ARG(said->choices.finish));
}

static enum chunk_stamp stamp_kind(struct response_arrival a, bool edge)
{
    if (!edge || a.doubtful)
        return STAMP_SHARED;
    return a.no_stamp ? STAMP_READ : STAMP_KERNEL;
}

/* One event; `edge`: its last byte was the last of its read. */
static void on_event(struct response *r, struct response_arrival a, bool edge, const struct response_out *out)
{
    assert(!r->over && r->head_ended);
    struct span data = r->sse.data, word = span_trim(data);
    r->last_event_ns = a.t_ns;
    if (r->sse.has_data && !r->http.event_stream)
        r->record.notes |= NOTE_CONTENT_TYPE;
    bool named_error = r->sse.is_error;
    if (!named_error && span_is(word, "[DONE]")) {
        judge_done(r, a.t_ns);
        return;
    }
    r->record.events++;
    struct rec_chunk c = {.t_ns = a.t_ns, .request = r->record.id, .running = -1, .kind = CHUNK_OTHER};
    c.stamp = (uint8_t)stamp_kind(a, edge);
    if (named_error) {
        fail_with_error(r, a.t_ns, data, "in the stream");
    } else if (word.n) {
        struct event_said said;
        if (out->shapes ? event_shapes_read(out->shapes, data, &said) : event_read(data, &said)) {
            if (said.fingerprint.n && out->fingerprint)
                out->fingerprint(out->self, said.fingerprint);
            take_event(r, &said, &c);
            judge_event(r, &said, data, a.t_ns);
        } else {
            size_t from = said.fault_at < data.n ? said.fault_at : data.n, n = data.n - from;
            response_fail(r, VERDICT_BAD_EVENT, a.t_ns, "Event %lld could not be read (%s, at byte %zu): \"%.*s\".",
                          (long long)r->record.events, said.fault, from, (int)(n < 60 ? n : 60), data.p + from);
        }
    }
    if (out->chunk)
        out->chunk(out->self, &c);
}

/* ---- bytes ---- */

static void note_after_done(struct response *r, struct span rest)
{
    for (size_t i = 0; i < rest.n; i++)
        if (rest.p[i] != '\r' && rest.p[i] != '\n')
            r->record.notes |= NOTE_AFTER_DONE;
}

/* Does an event end its read? `body` is what follows it in its body piece, `wire` what follows that piece. */
static bool at_edge(const struct response *r, struct span body, struct span wire)
{
    if (body.n == 1 && body.p[0] == '\n' && body.p[-1] == '\r') /* the other half of the event's own line end */
        body.n = 0;
    if (body.n)
        return false;
    bool framing = r->http.chunked && (span_is(wire, "\r\n") || span_is(wire, "\r"));
    return wire.n == 0 || (framing && !r->framing_apart);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Only a body that begins with a brace can be an error in JSON without a `data:` line. */
static void gather_plain(struct response *r, struct span piece)
{
    if (!r->plain.begun) {
        while (piece.n && is_space(*piece.p)) {
            piece.p++;
            piece.n--;
        }
        if (!piece.n)
            return;
        r->plain.begun = true;
        r->plain.gather = *piece.p == '{';
    }
    if (r->plain.gather && !r->sse.any_data_line)
        buf_add(&r->plain.bytes, piece.p, piece.n);
    else
        buf_done(&r->plain.bytes);
}

static void gather_error(struct response *r, struct span piece)
{
    assert(r->over);
    size_t room = RESPONSE_ERROR_BODY_MAX - r->plain.bytes.n;
    buf_add(&r->plain.bytes, piece.p, piece.n < room ? piece.n : room);
    if (piece.n >= room)
        r->closing = true;
}

static void on_body(struct response *r, struct span wire, struct response_arrival a, const struct response_out *out)
{
    assert(r->head_ended);
    struct span rest = r->http.body;
    if (r->done_seen) {
        note_after_done(r, rest);
        return;
    }
    if (r->over) {
        gather_error(r, rest);
        return;
    }
    r->body_bytes += (int64_t)rest.n;
    if (!r->sse.any_data_line)
        gather_plain(r, rest);
    r->event_at_edge = false;
    while (!r->over) {
        enum sse_event_kind kind = sse_feed(&r->sse, &rest);
        if (kind == SSE_MORE)
            break;
        if (kind == SSE_TOO_LARGE) {
            response_fail(r, VERDICT_TOO_LARGE, a.t_ns, "Event %lld is larger than %zu bytes.",
                          (long long)r->record.events + 1, r->sse.event_max);
            break;
        }
        bool edge = at_edge(r, rest, wire);
        r->event_at_edge = edge && wire.n < 2;
        on_event(r, a, edge, out);
    }
    r->record.comments = (int64_t)r->sse.comments;
    if (r->done_seen)
        note_after_done(r, rest);
}

static void on_head(struct response *r, int64_t t_ns)
{
    assert(!r->head_ended);
    r->head_ended = true;
    r->record.head_ns = t_ns;
    r->record.status = r->http.status;
    if (r->http.status == 200)
        return;
    if (r->http.status >= 300 && r->http.status < 400 && r->http.location[0])
        response_fail(
            r, VERDICT_HTTP_STATUS, t_ns,
            "The server answered %d and points to %s. jtok does not follow redirects; put the final address into the "
            "plan.",
            r->http.status, r->http.location);
    else
        response_fail(r, VERDICT_HTTP_STATUS, t_ns, "The server answered %d.", r->http.status);
    r->closing = false;
}

void response_close(struct response *r)
{
    r->closing = true;
    if (r->record.verdict != VERDICT_HTTP_STATUS || r->done_seen || !r->plain.bytes.n)
        return;
    struct buf words = {0}, text = {0};
    event_error_text(buf_span(&r->plain.bytes), &words);
    struct span said = words.n ? buf_span(&words) : buf_span(&r->plain.bytes);
    buf_str(&text, r->detail);
    if (text.n && text.p[text.n - 1] == '.')
        text.n--;
    buf_fmt(&text, " (%s): ", r->http.content_type[0] ? r->http.content_type : "no content type");
    buf_add(&text, said.p, said.n < RESPONSE_DETAIL_MAX ? said.n : RESPONSE_DETAIL_MAX);
    set_detail(r, buf_span(&text));
    buf_done(&words);
    buf_done(&text);
    buf_done(&r->plain.bytes);
}

/* An event that lacks only its empty line is completed by the end of the stream; an `orderly` one, which the server
 * announced (zero chunk, length), completes its last line, too. */
static void flush_last_event(struct response *r, bool orderly, struct response_arrival a,
                             const struct response_out *out)
{
    while (!r->over && r->head_ended && sse_eof(&r->sse, orderly) == SSE_EVENT)
        on_event(r, a, true, out);
}

static void on_response_end(struct response *r, bool orderly, struct response_arrival a, const struct response_out *out)
{
    flush_last_event(r, orderly, a, out);
    judge_end(r, a.t_ns);
    if (!r->done_seen && r->record.verdict == VERDICT_HTTP_STATUS)
        response_close(r);
    if (r->record.verdict != VERDICT_OK || !r->http.close)
        r->closing = true;
}

static void on_http_error(struct response *r, int64_t t_ns)
{
    if (r->http.too_large)
        response_fail(r, VERDICT_TOO_LARGE, t_ns, "The answer exceeds a limit of HTTP: %s.", r->http.fault);
    else
        response_fail(r, VERDICT_HTTP_MALFORMED, t_ns, "The answer is not valid HTTP/1.1: %s.", r->http.fault);
    response_close(r);
}

void response_feed(struct response *r, struct span bytes, struct response_arrival a, const struct response_out *out)
{
    assert(out && (bytes.p || bytes.n == 0));
    r->record.received_bytes += (int64_t)bytes.n;
    if (a.no_stamp && !r->over)
        r->record.notes |= NOTE_STAMP_MISSING;
    if (r->event_at_edge && bytes.n && (bytes.p[0] == '\r' || bytes.p[0] == '\n'))
        r->framing_apart = true;
    r->event_at_edge = false;
    while (!r->closing) {
        enum http1_event event = http1_feed(&r->http, &bytes);
        r->head_begun = r->http.head_started;
        if (event == HTTP1_MORE)
            break;
        if (event == HTTP1_HEAD)
            on_head(r, a.t_ns);
        else if (event == HTTP1_BODY)
            on_body(r, bytes, a, out);
        else if (event == HTTP1_ERROR)
            on_http_error(r, a.t_ns);
        else {
            on_response_end(r, true, a, out);
            if (bytes.n)
                r->record.notes |= NOTE_AFTER_DONE;
            break;
        }
    }
    if (r->closing && r->over && !r->done_seen)
        response_close(r);
}

void response_eof(struct response *r, int64_t t_ns, const struct response_out *out)
{
    must(out);
    if (r->record.closed_ns == ABSENT_I64)
        r->record.closed_ns = t_ns;
    struct response_arrival a = {.t_ns = t_ns, .no_stamp = true};
    bool whole = http1_eof(&r->http) == HTTP1_DONE;
    if (whole) {
        on_response_end(r, false, a, out);
    } else if (!r->head_ended) {
        response_fail(r, VERDICT_CONNECT_FAILED, t_ns, "The server closed the connection %s.",
                      r->head_begun ? "within the head of its answer" : "without an answer");
    } else {
        flush_last_event(r, false, a, out);
        if (is_whole(r))
            judge_end(r, t_ns);
        response_fail(r, VERDICT_TRUNCATED, t_ns, "The server closed the connection before the end of its answer (%s).",
                      r->http.fault ? r->http.fault : "cut");
    }
    response_close(r);
}

void response_broken(struct response *r, int64_t t_ns, int number)
{
    must(number != 0);
    if (r->record.closed_ns == ABSENT_I64)
        r->record.closed_ns = t_ns;
    if (r->done_seen)
        r->record.notes |= NOTE_RESET_AFTER_DONE;
    if (is_whole(r))
        judge_end(r, r->last_event_ns);
    if (!r->head_ended)
        response_fail(r, VERDICT_CONNECT_FAILED, t_ns,
                      "The connection broke before the head of the answer was complete: %s.", strerror(number));
    else
        response_fail(r, VERDICT_RESET, t_ns, "The connection broke after %lld events: %s.",
                      (long long)r->record.events, strerror(number));
    response_close(r);
}

static const struct {
    enum verdict verdict;
    const char *what, *key; /* of plan.limits */
} timeouts[] = {
    {VERDICT_CONNECT_TIMEOUT, "The connection was not open", "connect_s"},
    {VERDICT_WRITE_TIMEOUT, "The rest of the request could not be sent", "write_s"},
    {VERDICT_HEAD_TIMEOUT, "The head of the answer was not complete", "head_s"},
    {VERDICT_FIRST_TOKEN_TIMEOUT, "No token had come", "first_token_s"},
    {VERDICT_IDLE_TIMEOUT, "No further event had come", "idle_s"},
};

void response_timeout(struct response *r, enum verdict v, int64_t t_ns, double limit_s)
{
    must(limit_s > 0 && v != VERDICT_OK);
    if (r->over)
        return;
    if (is_whole(r)) {
        judge_end(r, r->last_event_ns);
        r->closing = true;
        return;
    }
    const char *what = "The request was not complete", *key = "total_s";
    for (size_t i = 0; i < sizeof timeouts / sizeof *timeouts; i++) {
        if (timeouts[i].verdict == v) {
            what = timeouts[i].what;
            key = timeouts[i].key;
        }
    }
    response_fail(r, v, t_ns, "%s after %g s. If the engine may need longer, raise limits.%s.", what, limit_s, key);
}
