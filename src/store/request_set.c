#include "store/request_set.h"
#include <stdlib.h>
#include "text/compress.h"
#include "text/json.h"

enum { PROBLEMS_MAX = 20 };

static const uint64_t file_max = 2ull << 30;

struct loader {
    struct request_set *set;
    size_t capacity;
    const struct plan *plan;
    struct problems *p;
    size_t faults;
    struct buf decoded;
};

static const char *const what_a_line_is =
    "a line is an object with \"prompt\" (a text) or \"messages\" (a list of objects with \"role\" and \"content\")";

/* Counted beyond the first ones; the caller tells their number. */
static bool fault(struct loader *l, size_t line, size_t column, const char *key, const char *text)
{
    if (l->faults++ < PROBLEMS_MAX)
        problems_add_at(l->p, l->plan->requests.file, line, column, key, "%s", text);
    return false;
}

static const char *kind_words(enum json_kind k)
{
    switch (k) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "a list";
    case JSON_STRING:
        return "a text";
    case JSON_NUMBER:
        return "a number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "true or false";
    default:
        return "null";
    }
}

static bool wrong_kind(struct loader *l, size_t line, const char *key, enum json_kind k, const char *expected)
{
    return fault(l, line, 0, key,
                 arena_format(l->p->arena, "expected %s, found %s; %s", expected, kind_words(k), what_a_line_is));
}

/* The bytes of the value whose first token was just read; skips the rest of it. */
static struct span raw_value(struct json *j)
{
    const char *start = j->kind == JSON_STRING ? j->raw.p - 1 : j->at - 1;

    if (j->kind == JSON_STRING)
        return (struct span){start, j->raw.n + 2};
    if (json_skip(j) == JSON_ERROR)
        return (struct span){0};
    return (struct span){start, (size_t)(j->at - start)};
}

/* Every message an object with a role (a text) and a content or tool calls; the engine judges the rest. */
static bool check_messages(struct loader *l, size_t line, struct span messages)
{
    struct json j;
    enum json_kind k;
    size_t count = 0;

    json_init(&j, messages);
    json_next(&j);
    while ((k = json_next(&j)) == JSON_OBJECT) {
        bool role = false, content = false;

        count++;
        while (json_next(&j) == JSON_KEY) {
            bool is_role = json_is(&j, "role");

            content = content || json_is(&j, "content") || json_is(&j, "tool_calls");
            k = json_next(&j);
            role = role || (is_role && k == JSON_STRING);
            if (k == JSON_OBJECT || k == JSON_ARRAY)
                json_skip(&j);
        }
        if (!role || !content)
            return fault(l, line, 0, "messages",
                         arena_format(l->p->arena, "message %zu lacks \"%s\"; %s", count, role ? "content" : "role",
                                      what_a_line_is));
    }
    if (k != JSON_ARRAY_END)
        return wrong_kind(l, line, "messages", k, "objects in the list");
    if (count == 0)
        return fault(l, line, 0, "messages", "the list is empty; a request needs at least one message");
    return true;
}

/* Reads the object's keys into *row; false when the line is at fault. */
static bool read_keys(struct loader *l, struct json *j, struct request_row *row)
{
    while (json_next(j) == JSON_KEY) {
        enum json_kind k;
        bool prompt = json_is(j, "prompt"), messages = json_is(j, "messages");

        if (!prompt && !messages) {
            if (json_skip(j) == JSON_ERROR)
                break;
            continue;
        }
        k = json_next(j);
        if (k == JSON_ERROR)
            break;
        if (k != (prompt ? JSON_STRING : JSON_ARRAY))
            return wrong_kind(l, row->line, prompt ? "prompt" : "messages", k, prompt ? "a text" : "a list");
        if (prompt) {
            buf_clear(&l->decoded);
            json_text(j, &l->decoded);
            row->prompt = raw_value(j);
        } else {
            row->messages = raw_value(j);
        }
    }
    if (j->kind != JSON_ERROR && json_next(j) == JSON_END)
        return true;
    return fault(l, row->line, json_error_offset(j) + 1, NULL,
                 arena_format(l->p->arena, "this is no JSON: %s; %s", j->fault, what_a_line_is));
}

static bool check_row(struct loader *l, struct request_row *row)
{
    if (!row->prompt.n && !row->messages.n)
        return fault(l, row->line, 0, NULL,
                     arena_format(l->p->arena, "neither \"prompt\" nor \"messages\" is here; %s", what_a_line_is));
    if (row->prompt.n && row->messages.n)
        return fault(l, row->line, 0, NULL, "both \"prompt\" and \"messages\" are here; keep one of them");
    if (row->messages.n && l->plan->requests.api == API_COMPLETIONS)
        return fault(l, row->line, 0, "messages",
                     "messages can't be sent to completions; set requests.api: chat, or give a prompt");
    if (row->messages.n && !check_messages(l, row->line, row->messages))
        return false;
    if (row->prompt.n == 2)
        return fault(l, row->line, 0, "prompt", "the prompt is empty; engines refuse that");
    row->digest = digest_u64(row->prompt.n ? buf_span(&l->decoded) : row->messages);
    row->digest += row->digest == 0;
    return true;
}

static void read_line(struct loader *l, struct span text, size_t line)
{
    struct request_set *s = l->set;
    struct request_row row = {.line = line};
    struct json j;
    enum json_kind k;

    json_init(&j, text);
    k = json_next(&j);
    if (k == JSON_ERROR) {
        fault(l, line, json_error_offset(&j) + 1, NULL,
              arena_format(l->p->arena, "this is no JSON: %s; %s", j.fault, what_a_line_is));
        return;
    }
    if (k != JSON_OBJECT) {
        wrong_kind(l, line, NULL, k, "an object");
        return;
    }
    if (!read_keys(l, &j, &row) || !check_row(l, &row))
        return;
    if (s->row_count == l->capacity) {
        l->capacity = l->capacity ? l->capacity * 2 : 1024;
        s->rows = mem_grow(s->rows, l->capacity, sizeof *s->rows);
    }
    s->rows[s->row_count++] = row;
}

static bool is_blank(struct span s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] != ' ' && s.p[i] != '\t' && s.p[i] != '\r')
            return false;
    return true;
}

static void read_lines(struct loader *l)
{
    struct span rest = buf_span(&l->set->text);

    if (span_starts(rest, "\xef\xbb\xbf")) {
        rest.p += 3;
        rest.n -= 3;
    }
    for (size_t line = 1; rest.n; line++) {
        const char *end = memchr(rest.p, '\n', rest.n);
        struct span text = {rest.p, end ? (size_t)(end - rest.p) : rest.n};

        rest.p += text.n + (end ? 1 : 0);
        rest.n -= text.n + (end ? 1 : 0);
        if (!is_blank(text))
            read_line(l, text, line);
    }
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* Requests whose prompt an earlier one had: all but the different ones among those sent. */
static size_t count_repeated(const struct request_set *s)
{
    size_t used = s->count < s->row_count ? s->count : s->row_count, different = 0;
    uint64_t *digests = mem_zero(used + 1, sizeof *digests);

    for (size_t i = 0; i < used; i++)
        digests[i] = s->rows[i].digest;
    qsort(digests, used, sizeof *digests, compare_u64);
    for (size_t i = 0; i < used; i++)
        different += i == 0 || digests[i] != digests[i - 1];
    free(digests);
    return s->count - different;
}

static void set_lengths(struct request_set *s, const struct plan_lengths *l)
{
    s->max_tokens = mem_zero(s->count, sizeof *s->max_tokens);
    for (size_t i = 0; i < s->count; i++) {
        s->max_tokens[i] = request_length(l, i);
        if (s->max_tokens[i] == ABSENT_I64)
            s->total_max_tokens = ABSENT_I64;
        else if (s->total_max_tokens != ABSENT_I64)
            s->total_max_tokens += s->max_tokens[i];
    }
}

bool request_set_load(struct request_set *s, const struct plan *plan, struct problems *p)
{
    struct request_set loaded = {0};
    struct loader l = {.set = &loaded, .plan = plan, .p = p};
    const char *file = plan->requests.file;
    struct err e;

    if (!file_read(file, file_max, &loaded.text, &e) || !digest_file(file, loaded.sha256, NULL, &e)) {
        problems_add(p, "requests.file", "%s", e.text);
        request_set_done(&loaded);
        return false;
    }
    read_lines(&l);
    buf_done(&l.decoded);
    if (l.faults > PROBLEMS_MAX)
        problems_add_at(p, file, 0, 0, NULL, "%zu more lines are at fault", l.faults - PROBLEMS_MAX);
    if (l.faults == 0 && loaded.row_count == 0)
        problems_add_at(p, file, 0, 0, NULL, "the request set is empty; %s", what_a_line_is);
    if (l.faults || loaded.row_count == 0) {
        request_set_done(&loaded);
        return false;
    }
    loaded.count = plan->requests.count == ABSENT_I64 ? loaded.row_count : (size_t)plan->requests.count;
    loaded.repeated_prompts = count_repeated(&loaded);
    set_lengths(&loaded, &plan->requests.lengths);
    *s = loaded;
    return true;
}

void request_set_done(struct request_set *s)
{
    free(s->rows);
    free(s->max_tokens);
    buf_done(&s->text);
    *s = (struct request_set){0};
}
