#include "answer.h"

#include <jansson.h>
#include <stdlib.h>
#include <strings.h>
#include "check.h"

void answer_init(struct answer *a)
{
    *a = (struct answer){.usage = -1, .in.length = -1};
}

void answer_done(struct answer *a)
{
    buf_done(&a->body);
    buf_done(&a->text);
    buf_done(&a->reasoning);
    buf_done(&a->in.raw);
}

/* ---- JSON ---- */

static void add_string(const json_t *object, const char *key, struct buf *b)
{
    const char *text = json_string_value(json_object_get(object, key));
    if (text)
        buf_str(b, text);
}

static void read_choice(struct answer *a, const json_t *choice)
{
    const json_t *delta = json_object_get(choice, "delta"), *message = json_object_get(choice, "message");
    const json_t *said = delta ? delta : message ? message : choice;
    add_string(said, said == choice ? "text" : "content", &a->text);
    add_string(said, "reasoning", &a->reasoning);
    add_string(said, "reasoning_content", &a->reasoning);
    const char *finish = json_string_value(json_object_get(choice, "finish_reason"));
    if (finish)
        snprintf(a->finish, sizeof a->finish, "%s", finish);
}

static void read_json(struct answer *a, const char *text, size_t n, int64_t t_ns)
{
    json_error_t fault;
    json_t *root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &fault);
    if (!json_is_object(root))
        fail_msg("not a JSON object (%s): %.*s", fault.text, (int)n, text);
    size_t shown = a->text.n + a->reasoning.n;
    json_t *choices = json_object_get(root, "choices"), *usage = json_object_get(root, "usage");
    for (size_t i = 0; i < json_array_size(choices); i++)
        read_choice(a, json_array_get(choices, i));
    json_t *tokens = json_object_get(usage, "completion_tokens"), *prompt = json_object_get(usage, "prompt_tokens");
    int64_t count = tokens ? json_integer_value(tokens) : a->in.counted, rose = count - a->in.counted;
    assert_true(!tokens || json_is_integer(tokens));
    if (prompt)
        a->prompt_tokens = json_integer_value(prompt);
    a->error |= json_is_object(json_object_get(root, "error"));
    json_decref(root);
    bool more = a->text.n + a->reasoning.n > shown;
    if (rose > 0)
        a->usage = count;
    if (rose > a->largest)
        a->largest = rose;
    if (more) {
        a->last_ns = t_ns;
        a->first_ns = a->first_ns ? a->first_ns : t_ns;
    }
    /* Without running counts the only count comes with the usage, after the finish reason. */
    a->chunks += more || (rose > 0 && a->finish[0] == 0);
    a->in.counted = count;
}

/* ---- events: "data: X", an empty line, and nothing else ---- */

static void read_events(struct answer *a, int64_t t_ns)
{
    const char *at = a->body.p + a->in.events_n, *end = a->body.p + a->body.n;
    for (const char *stop; at < end && (stop = memmem(at, (size_t)(end - at), "\n\n", 2)); at = stop + 2) {
        if (stop - at < 6 || memcmp(at, "data: ", 6) != 0 || memchr(at, '\n', (size_t)(stop - at)))
            fail_msg("not an event of one data line: %.*s", (int)(stop - at), at);
        assert_false(a->done); /* nothing follows [DONE] */
        const char *data = at + 6;
        size_t n = (size_t)(stop - data);
        a->events++;
        a->done = n == 6 && memcmp(data, "[DONE]", 6) == 0;
        if (!a->done)
            read_json(a, data, n, t_ns);
    }
    a->in.events_n = (size_t)(at - a->body.p);
}

/* ---- HTTP ---- */

/* The value of a field of the head, or null. */
static const char *field(const char *head, const char *name, char *ret_value, size_t size)
{
    for (const char *line = strstr(head, "\r\n"); line && line[2] != '\r'; line = strstr(line + 2, "\r\n")) {
        const char *colon = strchr(line + 2, ':');
        assert_non_null(colon);
        if ((size_t)(colon - line - 2) != strlen(name) || strncasecmp(line + 2, name, strlen(name)) != 0)
            continue;
        assert_int_equal(colon[1], ' ');
        snprintf(ret_value, size, "%.*s", (int)strcspn(colon + 2, "\r"), colon + 2);
        return ret_value;
    }
    return NULL;
}

/* False: the head is not whole yet. */
static bool read_head(struct answer *a)
{
    const char *text = buf_text(&a->in.raw), *end = strstr(text, "\r\n\r\n");
    if (!end)
        return false;
    char value[200];
    assert_int_equal(sscanf(text, "HTTP/1.1 %3d ", &a->status), 1);
    a->in.chunked = field(text, "transfer-encoding", value, sizeof value) != NULL;
    assert_true(!a->in.chunked || strcmp(value, "chunked") == 0);
    if (field(text, "content-length", value, sizeof value)) {
        assert_false(a->in.chunked);
        a->in.length = atoll(value);
    }
    a->in.event_stream =
        field(text, "content-type", value, sizeof value) && strncmp(value, "text/event-stream", 17) == 0;
    buf_consume(&a->in.raw, (size_t)(end + 4 - text));
    return true;
}

/* Takes the next whole chunk; false: it is not there yet. The last one is empty and has no trailer. */
static bool read_chunk(struct answer *a)
{
    struct buf *raw = &a->in.raw;
    const char *text = buf_text(raw), *line = memmem(raw->p, raw->n, "\r\n", 2);
    if (!line)
        return false;
    char *end;
    size_t n = strtoul(text, &end, 16), head = (size_t)(line + 2 - text);
    assert_true(end == line && end > text);
    if (raw->n < head + n + 2)
        return false;
    assert_memory_equal(text + head + n, "\r\n", 2);
    buf_add(&a->body, text + head, n);
    buf_consume(raw, head + n + 2);
    if (n == 0)
        a->ending = COMPLETE;
    return true;
}

static void end_body(struct answer *a, int64_t t_ns)
{
    if (a->in.event_stream)
        assert_true(a->ending != COMPLETE || a->in.events_n == a->body.n);
    else if (a->ending == COMPLETE && a->body.n && a->body.p[0] == '{')
        read_json(a, a->body.p, a->body.n, t_ns);
}

void answer_feed(struct answer *a, const char *bytes, size_t n, int64_t t_ns)
{
    assert_int_equal(a->ending, STILL_OPEN);
    buf_add(&a->in.raw, bytes, n);
    if (!a->status && !read_head(a))
        return;
    if (a->in.chunked) {
        while (a->ending == STILL_OPEN && read_chunk(a))
            ;
    } else {
        buf_add(&a->body, a->in.raw.p, a->in.raw.n);
        buf_clear(&a->in.raw);
        if (a->in.length >= 0 && (int64_t)a->body.n == a->in.length)
            a->ending = COMPLETE;
    }
    if (a->in.event_stream)
        read_events(a, t_ns);
    if (a->ending == COMPLETE) {
        assert_int_equal(a->in.raw.n, 0); /* nothing behind the end */
        end_body(a, t_ns);
    }
}

void answer_closed(struct answer *a, int64_t t_ns)
{
    bool to_the_close = a->status && !a->in.chunked && a->in.length < 0;
    a->ending = to_the_close ? COMPLETE : CUT_OFF;
    end_body(a, t_ns);
}
