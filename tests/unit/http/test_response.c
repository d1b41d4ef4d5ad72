/* The pure stream: every scripted server case with its bytes split at every position, and the recorded answers of both
 * engines. */
#include <errno.h>
#include <stdlib.h>
#include "base/arena.h"
#include "base/buf.h"
#include "check.h"
#include "http/response.h"
#include "events.h"
#include "server_cases.h"

/* ---- running a case ---- */

struct seen {
    int64_t chunks;
    struct rec_chunk list[64];
};

static void on_chunk(void *self, const struct rec_chunk *c)
{
    struct seen *s = self;
    if (s->chunks < 64)
        s->list[s->chunks] = *c;
    s->chunks++;
}

static struct server_cases answers;

/* All that a case sends, and how it ends. */
static enum step_kind case_bytes(const struct server_case *c, struct buf *b)
{
    const struct step *s = c->steps;
    for (; s->kind <= STEP_WAIT; s++) {
        if (s->kind == STEP_CHUNK)
            buf_fmt(b, "%zx\r\n", s->text.n);
        if (s->kind == STEP_SEND || s->kind == STEP_CHUNK)
            buf_add(b, s->text.p, s->text.n);
        if (s->kind == STEP_CHUNK)
            buf_str(b, "\r\n");
        for (int64_t k = 0; s->kind == STEP_REPEAT && k < s->n; k++)
            buf_add(b, s->text.p, s->text.n);
    }
    return s->kind;
}

/* A stream fed in pieces; times count the pieces. */
struct feed {
    struct response stream;
    struct seen seen;
    struct response_out out;
    struct event_shapes shapes;
    int64_t t_ns;
};

static void feed_init(struct feed *f, size_t event_max)
{
    memset(f, 0, sizeof *f);
    response_init(&f->stream, event_max);
    f->out = (struct response_out){.chunk = on_chunk, .self = &f->seen, .shapes = &f->shapes};
}

static void feed(struct feed *f, const char *p, size_t n)
{
    if (!n || f->stream.closing)
        return;
    /* a copy of its own size: reading past the piece is seen by the sanitizer */
    char *copy = mem_alloc(n);
    memcpy(copy, p, n);
    f->t_ns++;
    response_feed(&f->stream, (struct span){copy, n}, (struct response_arrival){.t_ns = f->t_ns}, &f->out);
    free(copy);
}

static void feed_end(struct feed *f, enum step_kind how)
{
    f->t_ns++;
    if (f->stream.closing)
        return;
    if (how == STEP_CLOSE || how == STEP_SHUT)
        response_eof(&f->stream, f->t_ns, &f->out);
    else if (how == STEP_RESET)
        response_broken(&f->stream, f->t_ns, ECONNRESET);
    else if (f->stream.over)
        response_close(&f->stream);
}

static void check_case(const struct server_case *c, const struct feed *f, const char *how)
{
    assert_true(f->stream.over);
    assert_true(server_case_is_met(c, &f->stream.record, how));
}

static void run_split(const struct server_case *c, const struct buf *b, enum step_kind end, size_t cut)
{
    struct feed f;
    feed_init(&f, RESPONSE_EVENT_MAX);
    f.stream.record.max_tokens = c->max_tokens;
    feed(&f, b->p, cut);
    feed(&f, b->p + cut, b->n - cut);
    feed_end(&f, end);
    char how[32];
    snprintf(how, sizeof how, "cut at %zu", cut);
    check_case(c, &f, how);
    response_done(&f.stream);
}

/* The client gives up on an error body that doesn't end, and closes after the answer of a connection kept open. */
static void cases_split_everywhere(void **state)
{
    (void)state;
    for (size_t i = 0; i < answers.n; i++) {
        const struct server_case *c = &answers.list[i];
        struct buf b = {0};
        enum step_kind end = case_bytes(c, &b);
        size_t step = b.n < 20000 ? 1 : b.n / 20;
        for (size_t cut = 0; cut <= b.n; cut += step)
            run_split(c, &b, end, cut);
        buf_done(&b);
    }
}

static void cases_byte_by_byte(void **state)
{
    (void)state;
    for (size_t i = 0; i < answers.n; i++) {
        const struct server_case *c = &answers.list[i];
        struct buf b = {0};
        enum step_kind end = case_bytes(c, &b);
        struct feed f;
        feed_init(&f, RESPONSE_EVENT_MAX);
        f.stream.record.max_tokens = c->max_tokens;
        size_t n = b.n < 200000 ? 1 : 4093;
        for (size_t at = 0; at < b.n; at += n)
            feed(&f, b.p + at, b.n - at < n ? b.n - at : n);
        feed_end(&f, end);
        check_case(c, &f, "byte by byte");
        response_done(&f.stream);
        buf_done(&b);
    }
}

/* ---- time-outs and cancelling ---- */

static void feed_text(struct feed *f, const char *text)
{
    feed(f, text, strlen(text));
}

static void silence_decides(void **state)
{
    (void)state;
    struct feed f;
    feed_init(&f, RESPONSE_EVENT_MAX);
    feed_text(&f, UNTIL_CLOSE TEXT("a"));
    response_timeout(&f.stream, VERDICT_IDLE_TIMEOUT, 99, 120);
    assert_int_equal(f.stream.record.verdict, VERDICT_IDLE_TIMEOUT);
    assert_int_equal(f.stream.record.end_ns, 99);
    assert_string_equal(f.stream.record.detail,
                        "No further event had come after 120 s. If the engine may need longer, raise limits.idle_s.");
    response_done(&f.stream);

    /* finish and usage are there, [DONE] alone is missing: a success with its last event */
    feed_init(&f, RESPONSE_EVENT_MAX);
    feed_text(&f, UNTIL_CLOSE TEXT("a") FINISH);
    feed_text(&f, USAGE(1));
    response_timeout(&f.stream, VERDICT_IDLE_TIMEOUT, 99, 120);
    assert_int_equal(f.stream.record.verdict, VERDICT_OK);
    assert_int_equal(f.stream.record.notes, NOTE_NO_DONE);
    assert_int_equal(f.stream.record.end_ns, 2);
    assert_true(f.stream.closing);
    response_done(&f.stream);

    /* the same without usage stays a time-out */
    feed_init(&f, RESPONSE_EVENT_MAX);
    feed_text(&f, UNTIL_CLOSE TEXT("a") FINISH);
    response_timeout(&f.stream, VERDICT_TOTAL_TIMEOUT, 99, 3600);
    assert_int_equal(f.stream.record.verdict, VERDICT_TOTAL_TIMEOUT);
    response_done(&f.stream);
}

/* However a whole answer's connection ends, its verdict is the same, and its end is METHOD's: the end of the stream, or
 * the last event where only a reset or silence follows. */
static void a_whole_answer_counts(void **state)
{
    (void)state;
    const struct {
        const char *name, *last; /* bytes of the last read */
        enum step_kind how;
        int64_t end_ns;
    } cases[] = {
        {"zero chunk", LAST, STEP_END, 3},
        {"FIN in the chunked body", "", STEP_CLOSE, 99},
        {"RST", "", STEP_RESET, 2},
        {"silence", "", STEP_SILENT, 2},
        {"RST within an event", "9\r\ndata", STEP_RESET, 2},
        {"FIN within an event", "9\r\ndata", STEP_CLOSE, 99},
        {"silence after a comment", "4\r\n: x\n\r\n", STEP_SILENT, 2},
    };
    const enum verdict limits[] = {VERDICT_IDLE_TIMEOUT, VERDICT_TOTAL_TIMEOUT, VERDICT_FIRST_TOKEN_TIMEOUT,
                                   VERDICT_WRITE_TIMEOUT};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t k = 0; k < (cases[i].how == STEP_SILENT ? 4 : 1); k++) {
            struct feed f;
            struct buf b = {0};
            feed_init(&f, RESPONSE_EVENT_MAX);
            const char *body = TEXT("a") FINISH;
            buf_fmt(&b, STREAM_HEAD "%zx\r\n%s\r\n", strlen(body), body);
            feed_text(&f, buf_text(&b));
            buf_clear(&b);
            buf_fmt(&b, "%zx\r\n%s\r\n", strlen(USAGE(1)), USAGE(1));
            feed_text(&f, buf_text(&b));
            feed_text(&f, cases[i].last);
            if (cases[i].how == STEP_CLOSE)
                response_eof(&f.stream, 99, &f.out);
            else if (cases[i].how == STEP_RESET)
                response_broken(&f.stream, 99, ECONNRESET);
            else if (cases[i].how == STEP_SILENT)
                response_timeout(&f.stream, limits[k], 99, 120);
            const struct rec_request *r = &f.stream.record;
            if (r->verdict != VERDICT_OK || r->end_ns != cases[i].end_ns || r->notes != NOTE_NO_DONE)
                fail_msg("%s: %s, end %lld, notes %u", cases[i].name, verdict_names[r->verdict], (long long)r->end_ns,
                         r->notes);
            assert_true(f.stream.over && (f.stream.closing || cases[i].how == STEP_END));
            response_done(&f.stream);
            buf_done(&b);
        }
}

static void the_first_fault_stands(void **state)
{
    (void)state;
    struct feed f;
    feed_init(&f, RESPONSE_EVENT_MAX);
    feed_text(&f, UNTIL_CLOSE TEXT("a"));
    response_fail(&f.stream, VERDICT_CANCELLED, 50, "stopped");
    response_timeout(&f.stream, VERDICT_IDLE_TIMEOUT, 99, 1);
    response_eof(&f.stream, 100, &f.out);
    assert_int_equal(f.stream.record.verdict, VERDICT_CANCELLED);
    assert_int_equal(f.stream.record.end_ns, 50);
    assert_int_equal(f.stream.record.closed_ns, 100);
    assert_string_equal(f.stream.record.detail, "stopped");
    response_done(&f.stream);
}

/* ---- kinds, times, bytes ---- */

static void chunks_and_times(void **state)
{
    (void)state;
    struct feed f;
    feed_init(&f, RESPONSE_EVENT_MAX);
    feed_text(&f, UNTIL_CLOSE);                                                            /* 1 */
    feed_text(&f, ROLE);                                                                   /* 2 */
    feed_text(&f, DELTA("\"reasoning\":\"\\u00e4b\",\"reasoning_content\":\"\\u00e4b\"")); /* 3: 3 bytes, once */
    feed_text(&f, DELTA("\"reasoning\":\"xy\",\"reasoning_content\":\"z\",\"content\":\"\\ud83d\\ude00\"")); /* 4: 7 */
    feed_text(&f, COUNTED("", 3)); /* 5: nothing to rise against */
    feed_text(&f, COUNTED("", 4)); /* 6: held */
    feed_text(&f, FINISH);         /* 7 */
    feed_text(
        &f,
        USAGE_OF(
            "{\"prompt_tokens\":11,\"completion_tokens\":6,\"completion_tokens_details\":"
            "{\"reasoning_tokens\":2},\"prompt_tokens_details\":{\"cached_tokens\":8},\"reasoning_tokens\":9}")); /* 8
                                                                                                                   */
    feed_text(&f, EVENT("{\"id\":1}")); /* 9 */
    feed_text(&f, DONE);                /* 10 */
    const int kinds[] = {CHUNK_ROLE, CHUNK_REASONING, CHUNK_TEXT,  CHUNK_USAGE,
                         CHUNK_HELD, CHUNK_FINISH,    CHUNK_USAGE, CHUNK_OTHER};
    const unsigned bytes[] = {0, 3, 7, 0, 0, 0, 0, 0};
    const int running[] = {-1, -1, -1, 3, 4, -1, 6, -1};
    assert_int_equal(f.seen.chunks, 8);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(f.seen.list[i].kind, kinds[i]);
        assert_int_equal(f.seen.list[i].bytes, bytes[i]);
        assert_int_equal(f.seen.list[i].running, running[i]);
        assert_int_equal(f.seen.list[i].t_ns, i + 2);
        assert_int_equal(f.seen.list[i].stamp, STAMP_KERNEL);
    }
    const struct rec_request *r = &f.stream.record;
    assert_int_equal(r->verdict, VERDICT_OK);
    assert_int_equal(r->head_ns, 1);
    assert_int_equal(r->role_ns, 2);
    assert_int_equal(r->first_ns, 3);
    assert_int_equal(r->first_visible_ns, 4);
    assert_int_equal(r->last_ns, 6);
    assert_int_equal(r->finish_ns, 7);
    assert_int_equal(r->usage_ns, 8);
    assert_int_equal(r->end_ns, 10);
    assert_int_equal(r->closed_ns, ABSENT_I64);
    assert_int_equal(r->text_bytes, 10);
    assert_int_equal(r->prompt_tokens, 11);
    assert_int_equal(r->completion_tokens, 6);
    assert_int_equal(r->reasoning_tokens, 2);
    assert_int_equal(r->cached_tokens, 8);
    assert_int_equal(r->token_chunks, 3);
    assert_int_equal(r->events, 8);
    assert_string_equal(r->finish_reason, "stop");
    response_done(&f.stream);
}

/* ---- stamps ---- */

static void read_of(struct feed *f, const char *text, bool no_stamp, bool doubtful)
{
    struct response_arrival a = {.t_ns = ++f->t_ns, .no_stamp = no_stamp, .doubtful = doubtful};
    response_feed(&f->stream, span_of(text), a, &f->out);
}

static void expect_stamps(struct feed *f, int n, const int *stamps)
{
    assert_int_equal(f->seen.chunks, n);
    for (int i = 0; i < n; i++)
        assert_int_equal(f->seen.list[i].stamp, stamps[i]);
    f->seen.chunks = 0;
}

static void note_fingerprint(void *self, struct span fingerprint)
{
    struct buf *b = self;
    buf_fmt(b, "[%.*s]", SPAN_ARG(fingerprint));
}

/* As often as it is said, wherever in the event; null and other types are not said. */
static void fingerprints(void **state)
{
    (void)state;
    struct feed f;
    struct buf b = {0};
    feed_init(&f, RESPONSE_EVENT_MAX);
    f.out = (struct response_out){.self = &b, .fingerprint = note_fingerprint};
    feed_text(&f, UNTIL_CLOSE);
    feed_text(&f, EVENT("{\"system_fingerprint\":null,\"choices\":[]}"));
    feed_text(&f, EVENT("{\"system_fingerprint\":\"fp\\u00e4\",\"choices\":[]}"));
    feed_text(&f, EVENT("{\"choices\":[{\"system_fingerprint\":\"no\"}],\"system_fingerprint\":7}"));
    feed_text(&f, EVENT("{\"choices\":[],\"system_fingerprint\":\"vllm-0.24.0-193f317e\"}"));
    assert_string_equal(buf_text(&b), "[fp\\u00e4][vllm-0.24.0-193f317e]");
    buf_done(&b);
    response_done(&f.stream);
}

static void stamps_shared_by_one_read(void **state)
{
    (void)state;
    struct feed f;
    feed_init(&f, RESPONSE_EVENT_MAX);
    read_of(&f, UNTIL_CLOSE, false, false);
    read_of(&f, TEXT("a"), false, false);
    expect_stamps(&f, 1, (int[]){STAMP_KERNEL});
    read_of(&f, TEXT("a") TEXT("b") TEXT("c"), false, false); /* only the last ends its read */
    expect_stamps(&f, 3, (int[]){STAMP_SHARED, STAMP_SHARED, STAMP_KERNEL});
    read_of(&f, TEXT("a") TEXT("b") "data: {", false, false); /* bytes follow the last event */
    expect_stamps(&f, 2, (int[]){STAMP_SHARED, STAMP_SHARED});
    read_of(&f, "}\n\n", false, false); /* begun earlier, completed by this read */
    expect_stamps(&f, 1, (int[]){STAMP_KERNEL});
    read_of(&f, TEXT("a") ": ping\n\n", false, false); /* a comment may have come later */
    expect_stamps(&f, 1, (int[]){STAMP_SHARED});
    read_of(&f, TEXT("a"), false, true); /* the buffer was filled */
    expect_stamps(&f, 1, (int[]){STAMP_SHARED});
    read_of(&f, TEXT("a") TEXT("b"), true, false); /* no stamp: the read time, and the first may have come earlier */
    expect_stamps(&f, 2, (int[]){STAMP_SHARED, STAMP_READ});
    read_of(&f, "data: {}\r\n\r\n", false, false); /* the event is complete with CR; LF belongs to it */
    expect_stamps(&f, 1, (int[]){STAMP_KERNEL});
    assert_int_equal(f.stream.record.shared_stamps, 7); /* token chunks only */
    assert_int_equal(f.stream.record.notes, NOTE_STAMP_MISSING);
    response_done(&f.stream);
}

static void chunk_framing_is_part_of_its_event(void **state)
{
    (void)state;
    struct feed f;
    feed_init(&f, RESPONSE_EVENT_MAX);
    read_of(&f, STREAM_HEAD, false, false);
    read_of(&f, "a\r\ndata: {}\n\n\r\n", false, false);
    expect_stamps(&f, 1, (int[]){STAMP_KERNEL});
    read_of(&f, "a\r\ndata: {}\n\n\r\na\r\ndata: {}\n\n\r\n", false, false);
    expect_stamps(&f, 2, (int[]){STAMP_SHARED, STAMP_KERNEL});
    read_of(&f, "a\r\ndata: {}\n\n\r\na\r\n", false, false); /* the next chunk's size follows */
    expect_stamps(&f, 1, (int[]){STAMP_SHARED});
    /* this server sends a chunk's line end apart: from here on it may carry a later stamp */
    read_of(&f, "data: {}\n\n", false, false);
    expect_stamps(&f, 1, (int[]){STAMP_KERNEL});
    read_of(&f, "\r\n", false, false);
    read_of(&f, "a\r\ndata: {}\n\n\r\n", false, false);
    expect_stamps(&f, 1, (int[]){STAMP_SHARED});
    read_of(&f, "a\r\ndata: {}\n\n", false, false);
    expect_stamps(&f, 1, (int[]){STAMP_KERNEL});
    response_done(&f.stream);
}

/* ---- limits ---- */

/* The limit holds for the data with its field name, while the line is read. */
static void the_largest_event_passes(void **state)
{
    (void)state;
    enum { MAX = 100000 };
    for (int extra = 0; extra <= 1; extra++) {
        struct feed f;
        feed_init(&f, MAX);
        struct buf b = {0};
        const char *front = "data: {\"choices\":[{\"text\":\"", *back = "\"}]}";
        buf_str(&b, UNTIL_CLOSE);
        buf_str(&b, front);
        size_t fill = MAX - strlen(front) - strlen(back) + (size_t)extra;
        for (size_t i = 0; i < fill; i++)
            buf_byte(&b, 'x');
        buf_str(&b, back);
        buf_str(&b, "\n\n");
        for (size_t at = 0; at < b.n; at += 1000)
            feed(&f, b.p + at, b.n - at < 1000 ? b.n - at : 1000);
        if (extra)
            assert_int_equal(f.stream.record.verdict, VERDICT_TOO_LARGE);
        else
            assert_int_equal(f.stream.record.text_bytes, fill);
        response_done(&f.stream);
        buf_done(&b);
    }
}

static void an_error_body_is_read_to_64_kib(void **state)
{
    (void)state;
    struct feed f;
    feed_init(&f, RESPONSE_EVENT_MAX);
    feed_text(&f, "HTTP/1.1 500 X\r\n\r\n");
    assert_true(f.stream.over);
    char page[4096];
    memset(page, 'e', sizeof page);
    int pages = 0;
    while (!f.stream.closing && pages < 100) {
        feed(&f, page, sizeof page);
        pages++;
    }
    assert_int_equal(pages, 16);
    assert_int_equal(f.stream.record.end_ns, 1);
    response_done(&f.stream);
}

static void a_detail_is_printable(void **state)
{
    (void)state;
    struct feed f;
    feed_init(&f, RESPONSE_EVENT_MAX);
    feed_text(&f, UNTIL_CLOSE EVENT("{\"error\":{\"message\":\"\\u001b[2J\\u009b \\u00e4\\ud800 x\xff\"}}"));
    assert_string_equal(f.stream.record.detail, "The server reported an error in the stream:  [2J\xef\xbf\xbd"
                                                " \xc3\xa4\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd x\xef\xbf\xbd");
    response_done(&f.stream);
}

/* ---- recorded answers ---- */

struct recorded {
    const char *folder, *name;
    enum verdict verdict;
    long tokens, chunks, prompt; /* -1: absent */
    int status;
    const char *finish;
};

/* Token counts as the files' last `usage` says; chunks counted by hand. */
static const struct recorded recorded[] = {
    {"vllm-0.24.0", "chat-continuous-usage", VERDICT_OK, 4, 4, 7, 200, "length"},
    {"vllm-0.24.0", "chat-no-stream-options", VERDICT_NO_USAGE, -1, 4, -1, 200, "length"},
    {"vllm-0.24.0", "chat-not-streamed", VERDICT_NOT_STREAMED, -1, 0, -1, 200, ""},
    {"vllm-0.24.0", "completions-continuous-usage", VERDICT_OK, 4, 4, -2, 200, "length"},
    {"vllm-0.24.0", "logprobs", VERDICT_OK, 3, 3, 7, 200, "length"},
    {"vllm-0.24.0", "one-token", VERDICT_OK, 1, 1, 7, 200, "length"},
    {"vllm-0.24.0", "n-2", VERDICT_OK, 6, 6, 7, 200, "length"},
    {"vllm-0.24.0", "broken-json", VERDICT_HTTP_STATUS, -1, 0, -1, 400, ""},
    {"vllm-0.24.0", "max-tokens-too-large", VERDICT_HTTP_STATUS, -1, 0, -1, 400, ""},
    {"vllm-0.24.0", "no-messages", VERDICT_HTTP_STATUS, -1, 0, -1, 400, ""},
    {"vllm-0.24.0", "prompt-too-long", VERDICT_HTTP_STATUS, -1, 0, -1, 400, ""},
    {"vllm-0.24.0", "unknown-model", VERDICT_HTTP_STATUS, -1, 0, -1, 404, ""},
    {"vllm-0.24.0", "unknown-path", VERDICT_HTTP_STATUS, -1, 0, -1, 404, ""},
    {"sglang-0.5.16", "chat-continuous-usage", VERDICT_OK, 4, 4, 7, 200, "length"},
    {"sglang-0.5.16", "chat-no-stream-options", VERDICT_NO_USAGE, -1, 4, -1, 200, "length"},
    {"sglang-0.5.16", "chat-not-streamed", VERDICT_NOT_STREAMED, -1, 0, -1, 200, ""},
    {"sglang-0.5.16", "completions-continuous-usage", VERDICT_OK, 4, 4, -2, 200, "length"},
    {"sglang-0.5.16", "logprobs", VERDICT_OK, 3, 3, 7, 200, "length"},
    {"sglang-0.5.16", "one-token", VERDICT_OK, 1, 1, 7, 200, "length"},
    {"sglang-0.5.16", "broken-json", VERDICT_HTTP_STATUS, -1, 0, -1, 400, ""},
    {"sglang-0.5.16", "max-tokens-too-large", VERDICT_HTTP_STATUS, -1, 0, -1, 400, ""},
    {"sglang-0.5.16", "no-messages", VERDICT_HTTP_STATUS, -1, 0, -1, 400, ""},
    {"sglang-0.5.16", "prompt-too-long", VERDICT_HTTP_STATUS, -1, 0, -1, 400, ""},
    {"sglang-0.5.16", "unknown-model", VERDICT_NO_USAGE, -1, 3, -1, 200, "length"},
    {"sglang-0.5.16", "unknown-path", VERDICT_HTTP_STATUS, -1, 0, -1, 404, ""},
};

static bool load(const char *path, struct buf *b)
{
    FILE *f = fopen(path, "rb");
    char block[4096];
    size_t n;
    while (f && (n = fread(block, 1, sizeof block, f)) > 0)
        buf_add(b, block, n);
    if (f)
        fclose(f);
    return f;
}

static void check_recorded(const struct recorded *c, const struct response *s, size_t cut)
{
    const struct rec_request *r = &s->record;
    int64_t tokens = c->tokens == -1 ? ABSENT_I64 : c->tokens, prompt = c->prompt == -1 ? ABSENT_I64 : c->prompt;
    if (s->over && r->verdict == c->verdict && r->completion_tokens == tokens && r->token_chunks == c->chunks &&
        (c->prompt == -2 || r->prompt_tokens == prompt) && r->status == c->status &&
        strcmp(r->finish_reason, c->finish) == 0 &&
        (r->verdict != VERDICT_OK || r->notes == NOTE_STAMP_MISSING || r->notes == 0))
        return;
    print_error("%s/%s cut at %zu: %s, tokens %lld, chunks %lld, prompt %lld, status %d, finish \"%s\", notes %u, %s\n",
                c->folder, c->name, cut, verdict_names[r->verdict], (long long)r->completion_tokens,
                (long long)r->token_chunks, (long long)r->prompt_tokens, r->status, r->finish_reason, r->notes,
                r->detail ? r->detail : "");
    fail();
}

static void recorded_answers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof recorded / sizeof recorded[0]; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/h200/%s/http/%s.http", JTOK_SHARED, recorded[i].folder, recorded[i].name);
        struct buf b = {0};
        if (!load(path, &b)) {
            print_message("%s is not there\n", path);
            skip();
        }
        for (size_t cut = 0; cut <= b.n; cut++) {
            struct feed f;
            feed_init(&f, RESPONSE_EVENT_MAX);
            feed(&f, b.p, cut);
            feed(&f, b.p + cut, b.n - cut);
            feed_end(&f, STEP_CLOSE);
            check_recorded(&recorded[i], &f.stream, cut);
            response_done(&f.stream);
        }
        buf_done(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases_split_everywhere),
        cmocka_unit_test(cases_byte_by_byte),
        cmocka_unit_test(silence_decides),
        cmocka_unit_test(the_first_fault_stands),
        cmocka_unit_test(a_whole_answer_counts),
        cmocka_unit_test(chunks_and_times),
        cmocka_unit_test(fingerprints),
        cmocka_unit_test(stamps_shared_by_one_read),
        cmocka_unit_test(chunk_framing_is_part_of_its_event),
        cmocka_unit_test(the_largest_event_passes),
        cmocka_unit_test(an_error_body_is_read_to_64_kib),
        cmocka_unit_test(a_detail_is_printable),
        cmocka_unit_test(recorded_answers),
    };
    server_cases_load(&answers, "answers");
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    server_cases_done(&answers);
    return failed;
}
