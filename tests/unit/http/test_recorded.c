/* What real engines sent, through HTTP, SSE and JSON, split at every byte. The expected figures were counted in the
 * files with grep. Skipped where the recordings are not at hand. */
#include "check.h"

#include <unistd.h>
#include "unit/split.h"
#include "text/file_read.h"
#include "http/http1.h"
#include "text/json.h"
#include "http/sse.h"

struct totals {
    int events, roles, usages;
    int64_t completion_tokens; /* of the last usage */
    int status;
    bool done, cut;
    struct buf output; /* content and text joined */
};

/* One JSON document: every key of interest, wherever it stands. */
static void read_document(struct span text, struct totals *t)
{
    struct json j;
    json_init(&j, text);
    for (enum json_kind k; (k = json_next(&j)) != JSON_END;) {
        assert_int_not_equal(k, JSON_ERROR);
        if (k != JSON_KEY)
            continue;
        bool content = json_is(&j, "content") || json_is(&j, "text"), tokens = json_is(&j, "completion_tokens");
        bool role = json_is(&j, "role");
        k = json_next(&j);
        assert_int_not_equal(k, JSON_ERROR);
        if (content && k == JSON_STRING)
            json_text(&j, &t->output);
        t->roles += role && k == JSON_STRING;
        if (tokens && json_i64(&j, &t->completion_tokens))
            t->usages++;
    }
}

static void read_events(struct sse *s, struct span input, struct totals *t)
{
    while (sse_feed(s, &input) == SSE_EVENT) {
        t->events++;
        assert_false(s->is_error || s->event[0]);
        if (span_is(s->data, "[DONE]"))
            t->done = true;
        else
            read_document(s->data, t);
    }
}

static struct totals totals;

static void run_answer(struct span text, const size_t *cuts, size_t n, struct buf *account)
{
    struct totals t = {.completion_tokens = -1};
    struct http1 h;
    struct sse s;
    struct buf body = {0};
    http1_init(&h);
    sse_init(&s, 16 * 1024 * 1024);
    enum http1_event event = HTTP1_MORE;
    for (size_t i = 0; i <= n; i++) {
        struct span input;
        char *copy = split_piece(text, cuts, n, i, &input);
        while ((event = http1_feed(&h, &input)) != HTTP1_MORE && event != HTTP1_DONE) {
            assert_int_not_equal(event, HTTP1_ERROR);
            if (event == HTTP1_BODY && h.event_stream)
                read_events(&s, h.body, &t);
            else if (event == HTTP1_BODY)
                buf_add(&body, h.body.p, h.body.n);
        }
        assert_int_equal(input.n, 0);
        free(copy);
    }
    t.cut = event == HTTP1_MORE;
    if (t.cut)
        assert_int_equal(http1_eof(&h), HTTP1_ERROR);
    assert_true(h.close);
    assert_int_equal(sse_eof(&s, true), SSE_MORE);
    if (!h.event_stream)
        read_document(buf_span(&body), &t);
    t.status = h.status;
    buf_fmt(account, "%d %d events, %d roles, %d usages, %lld tokens, done %d, cut %d: %.*s", h.status, t.events,
            t.roles, t.usages, (long long)t.completion_tokens, t.done, t.cut, SPAN_ARG(t.output));
    buf_done(&totals.output);
    totals = t;
    http1_done(&h);
    sse_done(&s);
    buf_done(&body);
}

static void recorded_answers_are_understood(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int status, events, roles, usages;
        int64_t tokens;
        bool cut; /* the recording is two bytes shorter than its Content-Length */
    } answers[] = {
        {"vllm-0.24.0/http/broken-json", 400, 0, 0, 0, -1, false},
        {"vllm-0.24.0/http/chat-continuous-usage", 200, 7, 1, 6, 4, false},
        {"vllm-0.24.0/http/chat-no-stream-options", 200, 6, 1, 0, -1, false},
        {"vllm-0.24.0/http/chat-not-streamed", 200, 0, 1, 1, 3, false},
        {"vllm-0.24.0/http/completions-continuous-usage", 200, 6, 0, 5, 4, false},
        {"vllm-0.24.0/http/logprobs", 200, 6, 1, 1, 3, false},
        {"vllm-0.24.0/http/max-tokens-too-large", 400, 0, 0, 0, -1, false},
        {"vllm-0.24.0/http/n-2", 200, 10, 2, 1, 6, false},
        {"vllm-0.24.0/http/no-messages", 400, 0, 0, 0, -1, false},
        {"vllm-0.24.0/http/one-token", 200, 4, 1, 1, 1, false},
        {"vllm-0.24.0/http/prompt-too-long", 400, 0, 0, 0, -1, false},
        {"vllm-0.24.0/http/unknown-model", 404, 0, 0, 0, -1, false},
        {"vllm-0.24.0/http/unknown-path", 404, 0, 0, 0, -1, false},
        {"sglang-0.5.16/http/broken-json", 400, 0, 0, 0, -1, true},
        {"sglang-0.5.16/http/chat-continuous-usage", 200, 8, 1, 5, 4, false},
        {"sglang-0.5.16/http/chat-no-stream-options", 200, 7, 1, 0, -1, false},
        {"sglang-0.5.16/http/chat-not-streamed", 200, 0, 1, 1, 3, false},
        {"sglang-0.5.16/http/completions-continuous-usage", 200, 6, 0, 5, 4, false},
        {"sglang-0.5.16/http/logprobs", 200, 7, 1, 1, 3, false},
        {"sglang-0.5.16/http/max-tokens-too-large", 400, 0, 0, 0, -1, false},
        {"sglang-0.5.16/http/no-messages", 400, 0, 0, 0, -1, true},
        {"sglang-0.5.16/http/one-token", 200, 5, 1, 1, 1, false},
        {"sglang-0.5.16/http/prompt-too-long", 400, 0, 0, 0, -1, false},
        {"sglang-0.5.16/http/unknown-model", 200, 6, 1, 0, -1, false},
        {"sglang-0.5.16/http/unknown-path", 404, 0, 0, 0, -1, false},
    };
    if (access(JTOK_SHARED "/h200", R_OK) != 0)
        skip();
    struct buf whole = {0}, text = {0};
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        char path[512];
        struct err e = {0};
        snprintf(path, sizeof path, JTOK_SHARED "/h200/%s.http", answers[i].name);
        buf_clear(&text);
        assert_ok(file_read(path, 1024 * 1024, &text, &e), e);
        split_everywhere(buf_span(&text), run_answer, &whole);
        if (totals.status != answers[i].status || totals.events != answers[i].events ||
            totals.roles != answers[i].roles || totals.usages != answers[i].usages ||
            totals.completion_tokens != answers[i].tokens)
            fail_msg("%s: %s", answers[i].name, buf_text(&whole));
        assert_int_equal(totals.done, answers[i].events > 0);
        assert_int_equal(totals.cut, answers[i].cut);
        assert_int_equal(totals.output.n > 0, totals.status == 200);
    }
    buf_done(&totals.output);
    buf_done(&whole);
    buf_done(&text);
}

/* The two request sets that come with the recordings: 164 problems, gzipped, and 750 questions. */
static void recorded_request_sets_are_json_lines(void **state)
{
    (void)state;
    if (access(JTOK_SHARED "/data", R_OK) != 0)
        skip();
    static const struct {
        const char *path, *key;
        int lines;
    } sets[] = {{JTOK_SHARED "/data/HumanEval.jsonl.gz", "prompt", 164},
                {JTOK_SHARED "/data/arena-hard-v2.0.jsonl", "prompt", 750}};
    for (int i = 0; i < 2; i++) {
        struct buf text = {0}, prompt = {0};
        struct err e = {0};
        assert_ok(file_read(sets[i].path, 0, &text, &e), e);
        int lines = 0, keys = 0;
        for (struct span rest = buf_span(&text); rest.n;) {
            const char *lf = memchr(rest.p, '\n', rest.n);
            size_t n = lf ? (size_t)(lf - rest.p) : rest.n;
            struct json j;
            json_init(&j, (struct span){rest.p, n});
            for (enum json_kind k; (k = json_next(&j)) != JSON_END;) {
                assert_int_not_equal(k, JSON_ERROR);
                if (k == JSON_KEY && j.depth == 1 && json_is(&j, sets[i].key)) {
                    assert_int_equal(json_next(&j), JSON_STRING);
                    buf_clear(&prompt);
                    json_text(&j, &prompt);
                    assert_true(prompt.n > 0 && prompt.n == json_text_length(&j));
                    keys++;
                }
            }
            lines++;
            n += lf != NULL;
            rest = (struct span){rest.p + n, rest.n - n};
        }
        assert_int_equal(lines, sets[i].lines);
        assert_int_equal(keys, sets[i].lines);
        buf_done(&text);
        buf_done(&prompt);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_answers_are_understood),
        cmocka_unit_test(recorded_request_sets_are_json_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
