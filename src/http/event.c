#include "http/event.h"

#include <assert.h>
#include "base/num.h"
#include "text/json.h"

/* Each read_ function is called with the first token of its value just read and leaves with any token of it: rest()
 * goes on from there. Broken JSON needs no check on the way: json_next says so for ever after, so the loops end, and
 * event_read sees it. */

/* To the last token of the value whose first or last token was just read. */
static void rest(struct json *j)
{
    if (j->kind == JSON_OBJECT || j->kind == JSON_ARRAY)
        json_skip(j);
}

/* A key or string kept beyond its token. */
struct word {
    struct span raw;
    bool escaped;
};

static inline bool key_equals(const struct word *key, const char *text, size_t n)
{
    if (!key->escaped)
        return key->raw.n == n && memcmp(key->raw.p, text, n) == 0;
    return json_is(&(struct json){.raw = key->raw, .escaped = true}, text);
}

/* The length is known when compiling: most keys are told apart by it alone. */
#define key_is(key, text) key_equals(key, text, sizeof(text) - 1)

/* The next key of an object and the first token of its value. False at the object's end, or when broken. */
static bool member(struct json *j, struct word *ret_key)
{
    if (json_next(j) != JSON_KEY)
        return false;
    *ret_key = (struct word){j->raw, j->escaped};
    return json_next(j) != JSON_ERROR;
}

/* The first token of an array's next element. False at its end, or when broken. */
static bool element(struct json *j)
{
    enum json_kind kind = json_next(j);
    return kind != JSON_ARRAY_END && kind != JSON_ERROR;
}

/* Over the members of the value just begun, if it is an object; over the elements, if it is an array. */
#define for_members(j, key)                                                                                            \
    if ((j)->kind == JSON_OBJECT)                                                                                      \
        for (struct word key; member(j, &(key)); rest(j))
#define for_elements(j)                                                                                                \
    if ((j)->kind == JSON_ARRAY)                                                                                       \
        for (; element(j); rest(j))

static struct word string_word(const struct json *j)
{
    return j->kind == JSON_STRING ? (struct word){j->raw, j->escaped} : (struct word){0};
}

static uint64_t word_bytes(struct word w)
{
    return w.escaped ? json_text_length(&(struct json){.raw = w.raw, .escaped = true}) : w.raw.n;
}

static uint64_t string_bytes(const struct json *j)
{
    return word_bytes(string_word(j));
}

static int64_t optional_count(const struct json *j)
{
    int64_t value;
    return j->kind == JSON_NUMBER && json_i64(j, &value) && value >= 0 ? value : ABSENT_I64;
}

/* ---- output text ---- */

static uint64_t read_part(struct json *j)
{
    uint64_t bytes = 0;
    for_members(j, key) if (key_is(&key, "text")) bytes = string_bytes(j);
    return bytes;
}

/* A string, or a list of parts that carry `text`. */
static uint64_t read_content(struct json *j)
{
    uint64_t bytes = string_bytes(j);
    for_elements(j) bytes += read_part(j);
    return bytes;
}

/* {"name": ..., "arguments": ...} */
static uint64_t read_function(struct json *j)
{
    uint64_t name = 0, arguments = 0;
    for_members(j, key)
    {
        if (key_is(&key, "name"))
            name = string_bytes(j);
        else if (key_is(&key, "arguments"))
            arguments = string_bytes(j);
    }
    return name + arguments;
}

static uint64_t read_tool_call(struct json *j)
{
    uint64_t bytes = 0;
    for_members(j, key) if (key_is(&key, "function")) bytes = read_function(j);
    return bytes;
}

static uint64_t read_tool_calls(struct json *j)
{
    uint64_t bytes = 0;
    for_elements(j) bytes += read_tool_call(j);
    return bytes;
}

struct delta {
    bool role;
    uint64_t content, refusal, tools, function;
    struct word reasoning, reasoning_content;
};

static struct delta read_delta(struct json *j)
{
    struct delta d = {0};
    for_members(j, key)
    {
        if (key_is(&key, "content"))
            d.content = read_content(j);
        else if (key_is(&key, "reasoning"))
            d.reasoning = string_word(j);
        else if (key_is(&key, "reasoning_content"))
            d.reasoning_content = string_word(j);
        else if (key_is(&key, "role"))
            d.role = j->kind == JSON_STRING;
        else if (key_is(&key, "refusal"))
            d.refusal = string_bytes(j);
        else if (key_is(&key, "tool_calls"))
            d.tools = read_tool_calls(j);
        else if (key_is(&key, "function_call"))
            d.function = read_function(j);
    }
    return d;
}

/* The two names of reasoning are aliases: equal text under both is counted once. */
static uint64_t reasoning_bytes(const struct delta *d)
{
    uint64_t a = word_bytes(d->reasoning), b = word_bytes(d->reasoning_content);
    return a && b && span_equal(d->reasoning.raw, d->reasoning_content.raw) ? a : a + b;
}

/* ---- choices ---- */

static void read_choice(struct json *j, struct event_choices *sum)
{
    struct delta delta = {0};
    uint64_t text = 0;
    struct word finish = {0};
    for_members(j, key)
    {
        if (key_is(&key, "delta"))
            delta = read_delta(j);
        else if (key_is(&key, "text"))
            text = string_bytes(j);
        else if (key_is(&key, "finish_reason"))
            finish = string_word(j);
    }
    sum->role |= delta.role;
    sum->visible += text + delta.content + delta.refusal + delta.tools + delta.function;
    sum->reasoning += reasoning_bytes(&delta);
    if (finish.raw.n) {
        bool failed = key_is(&finish, "abort") || key_is(&finish, "error");
        if (failed || !sum->failed)
            sum->finish = finish.raw;
        sum->finished = true;
        sum->failed |= failed;
    }
}

static struct event_choices read_choices(struct json *j)
{
    struct event_choices sum = {0};
    for_elements(j)
    {
        sum.any = true;
        read_choice(j, &sum);
    }
    return sum;
}

/* ---- usage ---- */

/* One count within completion_tokens_details or prompt_tokens_details. */
static int64_t read_detail(struct json *j, struct span name)
{
    int64_t count = ABSENT_I64;
    for_members(j, key) if (key_equals(&key, name.p, name.n)) count = optional_count(j);
    return count;
}

static void take_count(const struct json *j, struct event_usage *u)
{
    u->count_kind = j->kind == JSON_NULL                               ? USAGE_COUNT_NULL
                    : j->kind == JSON_NUMBER && json_i64(j, &u->count) ? USAGE_COUNT_INTEGER
                                                                       : USAGE_COUNT_OTHER;
}

static struct event_usage read_usage(struct json *j)
{
    struct event_usage u = {
        .present = j->kind != JSON_NULL, .prompt = ABSENT_I64, .reasoning = ABSENT_I64, .cached = ABSENT_I64};
    int64_t flat_reasoning = ABSENT_I64;
    for_members(j, key)
    {
        if (key_is(&key, "completion_tokens"))
            take_count(j, &u);
        else if (key_is(&key, "prompt_tokens"))
            u.prompt = optional_count(j);
        else if (key_is(&key, "reasoning_tokens"))
            flat_reasoning = optional_count(j);
        else if (key_is(&key, "completion_tokens_details"))
            u.reasoning = read_detail(j, span_of("reasoning_tokens"));
        else if (key_is(&key, "prompt_tokens_details"))
            u.cached = read_detail(j, span_of("cached_tokens"));
    }
    if (u.reasoning == ABSENT_I64)
        u.reasoning = flat_reasoning;
    return u;
}

/* ---- the event ---- */

/* Non-null and not empty: a string, or an object with at least one member. */
static bool read_error(struct json *j)
{
    bool error = j->kind == JSON_STRING && j->raw.n > 0;
    for_members(j, key) error = true;
    return error;
}

static void read_members(struct json *j, struct event_said *said)
{
    bool error = false, object_error = false;
    for_members(j, key)
    {
        if (key_is(&key, "choices"))
            said->choices = read_choices(j);
        else if (key_is(&key, "usage"))
            said->usage = read_usage(j);
        else if (key_is(&key, "error"))
            error = read_error(j);
        else if (key_is(&key, "system_fingerprint"))
            said->fingerprint = string_word(j).raw;
        else if (key_is(&key, "object"))
            object_error = j->kind == JSON_STRING && json_is(j, "error");
    }
    said->error = error || object_error;
}

bool event_read(struct span text, struct event_said *ret_said)
{
    assert(text.p || text.n == 0);
    struct event_said said = {0};
    struct json j;
    json_init(&j, text);
    if (json_next(&j) != JSON_ERROR && j.kind != JSON_OBJECT) {
        *ret_said = (struct event_said){.fault = "it is not a JSON object"};
        return false;
    }
    read_members(&j, &said);
    if (j.kind == JSON_OBJECT_END && json_next(&j) == JSON_END) {
        *ret_said = said;
        return true;
    }
    *ret_said =
        (struct event_said){.fault = j.fault ? j.fault : "the JSON is broken", .fault_at = json_error_offset(&j)};
    return false;
}

/* ---- an error's words ---- */

static void add_text(const struct json *j, struct buf *b)
{
    if (j->kind == JSON_STRING) {
        buf_clear(b);
        json_text(j, b);
    }
}

void event_error_text(struct span text, struct buf *b)
{
    assert(b);
    struct json j;
    json_init(&j, text);
    json_next(&j);
    for_members(&j, key)
    {
        if (key_is(&key, "error"))
            for_members(&j, inner) if (key_is(&inner, "message")) add_text(&j, b);
        if (key_is(&key, "error") || key_is(&key, "message") || key_is(&key, "detail"))
            add_text(&j, b);
    }
}
