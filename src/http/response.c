#include "http/response.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "base/utf8.h"
#include "http/event.h"

static const int64_t COUNT_MAX = INT32_MAX;

void stream_init(struct stream *s, size_t event_max)
{
    *s = (struct stream){.record = rec_request_absent(), .last_event_ns = ABSENT_I64, .running = ABSENT_I64};
    struct rec_request *r = &s->record;
    r->text_bytes = r->received_bytes = r->events = r->token_chunks = r->shared_stamps = r->comments = 0;
    http1_init(&s->http);
    sse_init(&s->sse, event_max);
    buf_init(&s->plain, STREAM_ERROR_BODY_MAX);
}

void stream_done(struct stream *s)
{
    http1_done(&s->http);
    sse_done(&s->sse);
    buf_done(&s->plain);
    free(s->detail);
    s->detail = NULL;
    s->record.detail = NULL;
}

/* ---- words about a failure ---- */

/* Shown wherever the detail is shown, and broken UTF-8 would break the records: made fit at once. */
static void set_detail(struct stream *s, struct span text)
{
    struct buf b = {0};
    size_t n = text.n;
    if (n > STREAM_DETAIL_MAX)
        for (n = STREAM_DETAIL_MAX; n > STREAM_DETAIL_MAX - 4 && (text.p[n] & 0xc0) == 0x80;)
            n--; /* no character is cut in two */
    utf8_show(&b, (struct span){text.p, n}, false);
    if (n < text.n)
        buf_str(&b, "...");
    free(s->detail);
    s->detail = mem_alloc(b.n + 1);
    memcpy(s->detail, buf_text(&b), b.n + 1);
    s->record.detail = s->detail;
    buf_done(&b);
}

static void end(struct stream *s, enum verdict v, int64_t t_ns)
{
    s->over = true;
    s->record.verdict = (uint8_t)v;
    s->record.end_ns = t_ns;
}

void stream_fail(struct stream *s, enum verdict v, int64_t t_ns, const char *format, ...)
{
    if (s->over)
        return;
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    end(s, v, t_ns);
    s->closing = true;
    set_detail(s, span_of(text));
}

/* The error in an event or a body, in its own words where it has some. */
static void fail_with_error(struct stream *s, int64_t t_ns, struct span json, const char *where)
{
    struct buf words = {0};
    event_error_text(json, &words);
    struct span said = words.n ? buf_span(&words) : json;
    stream_fail(s, VERDICT_ERROR_IN_STREAM, t_ns, "The server reported an error %s: %.*s", where,
                (int)(said.n < 500 ? said.n : 500), said.n ? said.p : "");
    buf_done(&words);
}

/* ---- verdicts at the end ---- */

static void judge_tokens_and_usage(struct stream *s, int64_t t_ns)
{
    if (!s->have_tokens && s->have_usage && s->usage_count >= 1)
        stream_fail(
            s, VERDICT_NO_OUTPUT, t_ns,
            "The engine counts %lld output tokens, but no chunk carried any: the first token ended the answer, or "
            "a parser held it all back.",
            (long long)s->usage_count);
    else if (!s->have_tokens)
        stream_fail(s, VERDICT_NO_TOKENS, t_ns, "The stream ended without an output token.");
    else if (!s->have_usage)
        stream_fail(
            s, VERDICT_NO_USAGE, t_ns,
            "The stream ended without `usage`: the engine must be asked for it (stream_options.include_usage).");
    else if (s->usage_fault)
        stream_fail(s, VERDICT_BAD_USAGE, t_ns, "The last `usage` can't be used: completion_tokens is %s.",
                    s->usage_fault);
}

static void judge_done(struct stream *s, int64_t t_ns)
{
    s->done_seen = true;
    judge_tokens_and_usage(s, t_ns);
    if (!s->over)
        end(s, VERDICT_OK, t_ns);
}

/* Is all there but [DONE]? Then it is no matter how the connection ends: METHOD's row *no [DONE]* wins over *the end of
 * the connection*. */
static bool is_whole(const struct stream *s)
{
    return s->record.finish_reason[0] && s->usage_after_finish;
}

/* A stream that ended, in order or whole, without [DONE]. */
static void judge_end(struct stream *s, int64_t t_ns)
{
    if (s->over)
        return;
    if (!s->sse.any_data_line) {
        struct event_said said;
        struct span body = buf_span(&s->plain);
        if (s->gather && !s->plain.overflow && event_read(body, &said) && said.error)
            fail_with_error(s, t_ns, body, "as its answer");
        else
            stream_fail(s, VERDICT_NOT_STREAMED, t_ns,
                        "The answer (%s) is no event stream: it has no `data:` line in a body of %lld bytes.",
                        s->http.content_type[0] ? s->http.content_type : "no content type", (long long)s->body_bytes);
        return;
    }
    bool tokens = s->have_tokens;
    if (tokens && !s->record.finish_reason[0])
        stream_fail(s, VERDICT_NO_FINISH, t_ns,
                    "The stream ended without [DONE] and without a finish reason after %lld events.",
                    (long long)s->record.events);
    else if (tokens && s->have_usage && !s->usage_after_finish)
        stream_fail(s, VERDICT_NO_USAGE, t_ns,
                    "The stream ended without [DONE], and no `usage` came with or after its finish reason.");
    else
        judge_tokens_and_usage(s, t_ns);
    if (!s->over) {
        s->record.notes |= NOTE_NO_DONE;
        end(s, VERDICT_OK, t_ns);
    }
}

/* ---- events ---- */

static const char *count_fault(const struct stream *s, const struct event_usage *u)
{
    int64_t limit = s->record.max_tokens;
    if (u->count_kind == USAGE_COUNT_MISSING)
        return "missing";
    if (u->count_kind == USAGE_COUNT_NULL)
        return "null";
    if (u->count_kind == USAGE_COUNT_OTHER)
        return "no integer";
    if (u->count < 1)
        return u->count == 0 ? "0 though output came" : "negative";
    if (u->count > COUNT_MAX)
        return "over 2147483647";
    if (limit != ABSENT_I64 && limit > 0 && u->count > limit)
        return "more than the max_tokens asked for";
    if (s->running != ABSENT_I64 && u->count < s->running)
        return "less than an earlier count of the same request";
    return NULL;
}

/* A count beside the one that is judged: what is none is absent. */
static int64_t count_told(int64_t count)
{
    return count >= 0 && count <= COUNT_MAX ? count : ABSENT_I64;
}

static void take_usage(struct stream *s, const struct event_usage *u, int64_t t_ns)
{
    s->have_usage = true;
    s->usage_fault = count_fault(s, u);
    s->usage_count = u->count_kind == USAGE_COUNT_INTEGER ? u->count : 0;
    struct rec_request *r = &s->record;
    r->completion_tokens = u->count_kind == USAGE_COUNT_INTEGER ? u->count : ABSENT_I64;
    r->prompt_tokens = count_told(u->prompt);
    r->reasoning_tokens = count_told(u->reasoning);
    r->cached_tokens = count_told(u->cached);
    r->usage_ns = t_ns;
}

static void take_finish(struct stream *s, const struct event_said *said, int64_t t_ns)
{
    size_t n = said->choices.finish.n < sizeof s->finish - 1 ? said->choices.finish.n : sizeof s->finish - 1;
    for (size_t i = 0; i < n; i++) {
        char c = said->choices.finish.p[i];
        s->finish[i] = c >= ' ' && c <= '~' ? c : '?';
    }
    s->finish[n] = 0;
    s->record.finish_reason = s->finish;
    s->record.finish_ns = t_ns;
    s->usage_after_finish = false;
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

static void take_token(struct stream *s, const struct rec_chunk *c)
{
    struct rec_request *r = &s->record;
    if (!s->have_tokens)
        r->first_ns = c->t_ns;
    if (c->kind == CHUNK_TEXT && r->first_visible_ns == ABSENT_I64)
        r->first_visible_ns = c->t_ns;
    s->have_tokens = true;
    r->last_ns = c->t_ns;
    r->token_chunks++;
    r->shared_stamps += c->stamp == STAMP_SHARED;
}

/* Enters what a readable event said, and completes its chunk. */
static void take_event(struct stream *s, const struct event_said *said, struct rec_chunk *c)
{
    const struct event_usage *u = &said->usage;
    bool counted = u->count_kind == USAGE_COUNT_INTEGER && u->count >= 0 && u->count <= COUNT_MAX;
    bool rose = counted && s->running != ABSENT_I64 && u->count > s->running;
    uint64_t bytes = said->choices.visible + said->choices.reasoning;
    c->kind = (uint8_t)chunk_kind_of(said, rose);
    c->bytes = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
    c->running = counted ? (int32_t)u->count : -1;
    s->record.text_bytes += (int64_t)bytes;
    if (said->choices.role && s->record.role_ns == ABSENT_I64)
        s->record.role_ns = c->t_ns;
    if (chunk_has_tokens(c))
        take_token(s, c);
    if (said->choices.finished)
        take_finish(s, said, c->t_ns);
    if (u->present) {
        take_usage(s, u, c->t_ns);
        s->usage_after_finish |= s->record.finish_reason[0] != 0;
    }
    if (counted && (s->running == ABSENT_I64 || u->count > s->running))
        s->running = u->count;
}

static void judge_event(struct stream *s, const struct event_said *said, struct span data, int64_t t_ns)
{
    if (said->error)
        fail_with_error(s, t_ns, data, "in the stream");
    else if (said->choices.failed)
        stream_fail(s, VERDICT_ERROR_IN_STREAM, t_ns, "The engine ended the answer with finish reason \"%.*s\".",
                    SPAN_ARG(said->choices.finish));
}

static enum chunk_stamp stamp_of(struct stream_arrival a, bool edge)
{
    if (!edge || a.doubtful)
        return STAMP_SHARED;
    return a.no_stamp ? STAMP_READ : STAMP_KERNEL;
}

/* One event; `edge`: its last byte was the last of its read. */
static void on_event(struct stream *s, struct stream_arrival a, bool edge, const struct stream_out *out)
{
    struct span data = s->sse.data, word = span_trim(data);
    s->last_event_ns = a.t_ns;
    if (s->sse.has_data && !s->http.event_stream)
        s->record.notes |= NOTE_CONTENT_TYPE;
    bool named_error = s->sse.is_error;
    if (!named_error && span_is(word, "[DONE]")) {
        judge_done(s, a.t_ns);
        return;
    }
    s->record.events++;
    struct rec_chunk c = {.t_ns = a.t_ns, .request = s->record.id, .running = -1, .kind = CHUNK_OTHER};
    c.stamp = (uint8_t)stamp_of(a, edge);
    if (named_error) {
        fail_with_error(s, a.t_ns, data, "in the stream");
    } else if (word.n) {
        struct event_said said;
        if (out->shapes ? event_shapes_read(out->shapes, data, &said) : event_read(data, &said)) {
            if (said.fingerprint.n && out->fingerprint)
                out->fingerprint(out->self, said.fingerprint);
            take_event(s, &said, &c);
            judge_event(s, &said, data, a.t_ns);
        } else {
            size_t from = said.fault_at < data.n ? said.fault_at : data.n, n = data.n - from;
            stream_fail(s, VERDICT_BAD_EVENT, a.t_ns, "Event %lld can't be read: %s, at byte %zu: \"%.*s\".",
                        (long long)s->record.events, said.fault, from, (int)(n < 60 ? n : 60), data.p + from);
        }
    }
    if (out->chunk)
        out->chunk(out->self, &c);
}

/* ---- bytes ---- */

static void note_after_done(struct stream *s, struct span rest)
{
    for (size_t i = 0; i < rest.n; i++)
        if (rest.p[i] != '\r' && rest.p[i] != '\n')
            s->record.notes |= NOTE_AFTER_DONE;
}

/* Does an event end its read? `body` is what follows it in its body piece, `wire` what follows that piece. */
static bool at_edge(const struct stream *s, struct span body, struct span wire)
{
    if (body.n == 1 && body.p[0] == '\n' && body.p[-1] == '\r') /* the other half of the event's own line end */
        body.n = 0;
    if (body.n)
        return false;
    bool framing = s->http.chunked && (span_is(wire, "\r\n") || span_is(wire, "\r"));
    return wire.n == 0 || (framing && !s->framing_apart);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Only a body that begins with a brace can be an error in JSON without a `data:` line. */
static void gather_plain(struct stream *s, struct span piece)
{
    if (!s->body_begun) {
        while (piece.n && is_space(*piece.p)) {
            piece.p++;
            piece.n--;
        }
        if (!piece.n)
            return;
        s->body_begun = true;
        s->gather = *piece.p == '{';
    }
    if (s->gather && !s->sse.any_data_line)
        buf_add(&s->plain, piece.p, piece.n);
    else
        buf_done(&s->plain);
}

static void gather_error(struct stream *s, struct span piece)
{
    size_t room = STREAM_ERROR_BODY_MAX - s->plain.n;
    buf_add(&s->plain, piece.p, piece.n < room ? piece.n : room);
    if (piece.n >= room)
        s->closing = true;
}

static void on_body(struct stream *s, struct span wire, struct stream_arrival a, const struct stream_out *out)
{
    struct span rest = s->http.body;
    if (s->done_seen) {
        note_after_done(s, rest);
        return;
    }
    if (s->over) {
        gather_error(s, rest);
        return;
    }
    s->body_bytes += (int64_t)rest.n;
    if (!s->sse.any_data_line)
        gather_plain(s, rest);
    s->event_at_edge = false;
    while (!s->over) {
        enum sse_event_kind kind = sse_feed(&s->sse, &rest);
        if (kind == SSE_MORE)
            break;
        if (kind == SSE_TOO_LARGE) {
            stream_fail(s, VERDICT_TOO_LARGE, a.t_ns, "Event %lld is larger than %zu bytes.",
                        (long long)s->record.events + 1, s->sse.event_max);
            break;
        }
        bool edge = at_edge(s, rest, wire);
        s->event_at_edge = edge && wire.n < 2;
        on_event(s, a, edge, out);
    }
    s->record.comments = (int64_t)s->sse.comments;
    if (s->done_seen)
        note_after_done(s, rest);
}

static void on_head(struct stream *s, int64_t t_ns)
{
    s->head_ended = true;
    s->record.head_ns = t_ns;
    s->record.status = s->http.status;
    if (s->http.status == 200)
        return;
    if (s->http.status >= 300 && s->http.status < 400 && s->http.location[0])
        stream_fail(
            s, VERDICT_HTTP_STATUS, t_ns,
            "The server answered %d and points to %s; redirects are not followed: put the final address into the "
            "plan.",
            s->http.status, s->http.location);
    else
        stream_fail(s, VERDICT_HTTP_STATUS, t_ns, "The server answered %d.", s->http.status);
    s->closing = false;
}

void stream_close(struct stream *s)
{
    s->closing = true;
    if (s->record.verdict != VERDICT_HTTP_STATUS || s->done_seen || !s->plain.n)
        return;
    struct buf words = {0}, text = {0};
    event_error_text(buf_span(&s->plain), &words);
    struct span said = words.n ? buf_span(&words) : buf_span(&s->plain);
    buf_str(&text, s->detail);
    if (text.n && text.p[text.n - 1] == '.')
        text.n--;
    buf_fmt(&text, " (%s): ", s->http.content_type[0] ? s->http.content_type : "no content type");
    buf_add(&text, said.p, said.n < STREAM_DETAIL_MAX ? said.n : STREAM_DETAIL_MAX);
    set_detail(s, buf_span(&text));
    buf_done(&words);
    buf_done(&text);
    buf_done(&s->plain);
}

/* An event that lacks only its empty line is completed by the end of the stream; an `orderly` one, which the server
 * announced (zero chunk, length), completes its last line, too. */
static void flush_last_event(struct stream *s, bool orderly, struct stream_arrival a, const struct stream_out *out)
{
    while (!s->over && s->head_ended && sse_eof(&s->sse, orderly) == SSE_EVENT)
        on_event(s, a, true, out);
}

static void on_response_end(struct stream *s, bool orderly, struct stream_arrival a, const struct stream_out *out)
{
    flush_last_event(s, orderly, a, out);
    judge_end(s, a.t_ns);
    if (!s->done_seen && s->record.verdict == VERDICT_HTTP_STATUS)
        stream_close(s);
    if (s->record.verdict != VERDICT_OK || !s->http.close)
        s->closing = true;
}

static void on_http_error(struct stream *s, int64_t t_ns)
{
    if (s->http.too_large)
        stream_fail(s, VERDICT_TOO_LARGE, t_ns, "The HTTP answer passes a limit: %s.", s->http.fault);
    else
        stream_fail(s, VERDICT_HTTP_MALFORMED, t_ns, "The answer is no valid HTTP/1.1: %s.", s->http.fault);
    stream_close(s);
}

void stream_feed(struct stream *s, struct span bytes, struct stream_arrival a, const struct stream_out *out)
{
    s->record.received_bytes += (int64_t)bytes.n;
    if (a.no_stamp && !s->over)
        s->record.notes |= NOTE_STAMP_MISSING;
    if (s->event_at_edge && bytes.n && (bytes.p[0] == '\r' || bytes.p[0] == '\n'))
        s->framing_apart = true;
    s->event_at_edge = false;
    while (!s->closing) {
        enum http1_event event = http1_feed(&s->http, &bytes);
        s->head_begun = s->http.head_started;
        if (event == HTTP1_MORE)
            break;
        if (event == HTTP1_HEAD)
            on_head(s, a.t_ns);
        else if (event == HTTP1_BODY)
            on_body(s, bytes, a, out);
        else if (event == HTTP1_ERROR)
            on_http_error(s, a.t_ns);
        else {
            on_response_end(s, true, a, out);
            if (bytes.n)
                s->record.notes |= NOTE_AFTER_DONE;
            break;
        }
    }
    if (s->closing && s->over && !s->done_seen)
        stream_close(s);
}

void stream_eof(struct stream *s, int64_t t_ns, const struct stream_out *out)
{
    if (s->record.closed_ns == ABSENT_I64)
        s->record.closed_ns = t_ns;
    struct stream_arrival a = {.t_ns = t_ns, .no_stamp = true};
    bool whole = http1_eof(&s->http) == HTTP1_DONE;
    if (whole) {
        on_response_end(s, false, a, out);
    } else if (!s->head_ended) {
        stream_fail(s, VERDICT_CONNECT_FAILED, t_ns, "The server closed the connection %s.",
                    s->head_begun ? "within the head of its answer" : "without an answer");
    } else {
        flush_last_event(s, false, a, out);
        if (is_whole(s))
            judge_end(s, t_ns);
        stream_fail(s, VERDICT_TRUNCATED, t_ns, "The server closed the connection before the end of its answer (%s).",
                    s->http.fault ? s->http.fault : "cut");
    }
    stream_close(s);
}

void stream_broken(struct stream *s, int64_t t_ns, int number)
{
    if (s->record.closed_ns == ABSENT_I64)
        s->record.closed_ns = t_ns;
    if (s->done_seen)
        s->record.notes |= NOTE_RESET_AFTER_DONE;
    if (is_whole(s))
        judge_end(s, s->last_event_ns);
    if (!s->head_ended)
        stream_fail(s, VERDICT_CONNECT_FAILED, t_ns, "The connection broke before a whole answer: %s.",
                    strerror(number));
    else
        stream_fail(s, VERDICT_RESET, t_ns, "The connection broke after %lld events: %s.", (long long)s->record.events,
                    strerror(number));
    stream_close(s);
}

void stream_timeout(struct stream *s, enum verdict v, int64_t t_ns, double limit_s)
{
    if (s->over)
        return;
    if (is_whole(s)) {
        judge_end(s, s->last_event_ns);
        s->closing = true;
        return;
    }
    const char *what = v == VERDICT_CONNECT_TIMEOUT       ? "The connection was not open"
                       : v == VERDICT_WRITE_TIMEOUT       ? "Nothing more of the request could be sent"
                       : v == VERDICT_HEAD_TIMEOUT        ? "The head of the answer was not complete"
                       : v == VERDICT_FIRST_TOKEN_TIMEOUT ? "No token had come"
                       : v == VERDICT_IDLE_TIMEOUT        ? "No event had come"
                                                          : "The request was not complete";
    stream_fail(s, v, t_ns, "%s after %g s.", what, limit_s);
}
