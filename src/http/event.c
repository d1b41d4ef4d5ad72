#include "http/event.h"

#include "base/num.h"
#include "text/json.h"

/* Each read_ function is called with the first token of its value just read and leaves with its last one. False: the
 * JSON is broken; json_next keeps saying so. */

static bool rest(struct json *j)
{
    if (j->kind == JSON_OBJECT || j->kind == JSON_ARRAY)
        return json_skip(j) != JSON_ERROR;
    return j->kind != JSON_ERROR;
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

/* A string, or a list of parts that carry `text`. */
static bool read_content(struct json *j, uint64_t *ret_bytes)
{
    *ret_bytes = string_bytes(j);
    if (j->kind != JSON_ARRAY)
        return rest(j);
    while (json_next(j) != JSON_ARRAY_END) {
        if (j->kind != JSON_OBJECT) {
            if (!rest(j))
                return false;
            continue;
        }
        uint64_t part = 0;
        struct word key;
        while (member(j, &key)) {
            if (key_is(&key, "text"))
                part = string_bytes(j);
            if (!rest(j))
                return false;
        }
        if (j->kind != JSON_OBJECT_END)
            return false;
        *ret_bytes += part;
    }
    return true;
}

/* {"name": ..., "arguments": ...} */
static bool read_function(struct json *j, uint64_t *ret_bytes)
{
    uint64_t name = 0, arguments = 0;
    if (j->kind == JSON_OBJECT) {
        struct word key;
        while (member(j, &key)) {
            if (key_is(&key, "name"))
                name = string_bytes(j);
            else if (key_is(&key, "arguments"))
                arguments = string_bytes(j);
            if (!rest(j))
                return false;
        }
        if (j->kind != JSON_OBJECT_END)
            return false;
    } else if (!rest(j)) {
        return false;
    }
    *ret_bytes = name + arguments;
    return true;
}

static bool read_tool_calls(struct json *j, uint64_t *ret_bytes)
{
    *ret_bytes = 0;
    if (j->kind != JSON_ARRAY)
        return rest(j);
    while (json_next(j) != JSON_ARRAY_END) {
        if (j->kind != JSON_OBJECT) {
            if (!rest(j))
                return false;
            continue;
        }
        uint64_t call = 0;
        struct word key;
        while (member(j, &key)) {
            if (!(key_is(&key, "function") ? read_function(j, &call) : rest(j)))
                return false;
        }
        if (j->kind != JSON_OBJECT_END)
            return false;
        *ret_bytes += call;
    }
    return true;
}

struct delta {
    bool role;
    uint64_t content, refusal, tools, function;
    struct word reasoning, reasoning_content;
};

static bool read_delta(struct json *j, struct delta *ret_delta)
{
    *ret_delta = (struct delta){0};
    if (j->kind != JSON_OBJECT)
        return rest(j);
    struct delta d = {0};
    struct word key;
    while (member(j, &key)) {
        bool fine;
        if (key_is(&key, "content")) {
            fine = read_content(j, &d.content);
        } else if (key_is(&key, "reasoning")) {
            d.reasoning = string_word(j);
            fine = rest(j);
        } else if (key_is(&key, "reasoning_content")) {
            d.reasoning_content = string_word(j);
            fine = rest(j);
        } else if (key_is(&key, "role")) {
            d.role = j->kind == JSON_STRING;
            fine = rest(j);
        } else if (key_is(&key, "refusal")) {
            d.refusal = string_bytes(j);
            fine = rest(j);
        } else if (key_is(&key, "tool_calls")) {
            fine = read_tool_calls(j, &d.tools);
        } else if (key_is(&key, "function_call")) {
            fine = read_function(j, &d.function);
        } else {
            fine = rest(j);
        }
        if (!fine)
            return false;
    }
    *ret_delta = d;
    return j->kind == JSON_OBJECT_END;
}

/* The two names of reasoning are aliases: equal text under both is counted once. */
static uint64_t reasoning_bytes(const struct delta *d)
{
    uint64_t a = word_bytes(d->reasoning), b = word_bytes(d->reasoning_content);
    struct span x = d->reasoning.raw, y = d->reasoning_content.raw;
    if (a && b && x.n == y.n && memcmp(x.p, y.p, x.n) == 0)
        return a;
    return a + b;
}

/* ---- choices ---- */

static bool read_choice(struct json *j, struct event_choices *sum)
{
    struct delta delta = {0};
    uint64_t text = 0;
    struct word finish = {0};
    struct word key;
    while (member(j, &key)) {
        bool fine;
        if (key_is(&key, "delta")) {
            fine = read_delta(j, &delta);
        } else if (key_is(&key, "text")) {
            text = string_bytes(j);
            fine = rest(j);
        } else if (key_is(&key, "finish_reason")) {
            finish = string_word(j);
            fine = rest(j);
        } else {
            fine = rest(j);
        }
        if (!fine)
            return false;
    }
    if (j->kind != JSON_OBJECT_END)
        return false;
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
    return true;
}

static bool read_choices(struct json *j, struct event_choices *ret_choices)
{
    struct event_choices sum = {0};
    if (j->kind != JSON_ARRAY) {
        *ret_choices = sum;
        return rest(j);
    }
    while (json_next(j) != JSON_ARRAY_END) {
        sum.any = true;
        if (!(j->kind == JSON_OBJECT ? read_choice(j, &sum) : rest(j)))
            return false;
    }
    *ret_choices = sum;
    return true;
}

/* ---- usage ---- */

static bool read_detail(struct json *j, const char *name, size_t n, int64_t *ret_count)
{
    *ret_count = ABSENT_I64;
    if (j->kind != JSON_OBJECT)
        return rest(j);
    struct word key;
    while (member(j, &key)) {
        if (key_equals(&key, name, n))
            *ret_count = optional_count(j);
        if (!rest(j))
            return false;
    }
    return j->kind == JSON_OBJECT_END;
}

static void take_count(const struct json *j, struct event_usage *u)
{
    u->count_kind = j->kind == JSON_NULL                               ? USAGE_COUNT_NULL
                    : j->kind == JSON_NUMBER && json_i64(j, &u->count) ? USAGE_COUNT_INTEGER
                                                                       : USAGE_COUNT_OTHER;
}

static bool read_usage(struct json *j, struct event_usage *ret_usage)
{
    struct event_usage u = {
        .present = j->kind != JSON_NULL, .prompt = ABSENT_I64, .reasoning = ABSENT_I64, .cached = ABSENT_I64};
    int64_t flat_reasoning = ABSENT_I64;
    if (j->kind == JSON_OBJECT) {
        struct word key;
        while (member(j, &key)) {
            bool fine;
            if (key_is(&key, "completion_tokens")) {
                take_count(j, &u);
                fine = rest(j);
            } else if (key_is(&key, "prompt_tokens")) {
                u.prompt = optional_count(j);
                fine = rest(j);
            } else if (key_is(&key, "reasoning_tokens")) {
                flat_reasoning = optional_count(j);
                fine = rest(j);
            } else if (key_is(&key, "completion_tokens_details")) {
                fine = read_detail(j, "reasoning_tokens", 16, &u.reasoning);
            } else if (key_is(&key, "prompt_tokens_details")) {
                fine = read_detail(j, "cached_tokens", 13, &u.cached);
            } else {
                fine = rest(j);
            }
            if (!fine)
                return false;
        }
        if (j->kind != JSON_OBJECT_END)
            return false;
        if (u.reasoning == ABSENT_I64)
            u.reasoning = flat_reasoning;
    } else if (!rest(j)) {
        return false;
    }
    *ret_usage = u;
    return true;
}

/* ---- the event ---- */

/* Non-null and not empty: a string, or an object with at least one member. */
static bool read_error(struct json *j, bool *ret_error)
{
    *ret_error = j->kind == JSON_STRING && j->raw.n > 0;
    if (j->kind != JSON_OBJECT)
        return rest(j);
    struct word key;
    while (member(j, &key)) {
        *ret_error = true;
        if (!rest(j))
            return false;
    }
    return j->kind == JSON_OBJECT_END;
}

static bool read_members(struct json *j, struct event_said *said)
{
    bool error = false, object_error = false;
    struct word key;
    while (member(j, &key)) {
        bool fine;
        if (key_is(&key, "choices")) {
            fine = read_choices(j, &said->choices);
        } else if (key_is(&key, "usage")) {
            fine = read_usage(j, &said->usage);
        } else if (key_is(&key, "error")) {
            fine = read_error(j, &error);
        } else if (key_is(&key, "system_fingerprint")) {
            said->fingerprint = string_word(j).raw;
            fine = rest(j);
        } else if (key_is(&key, "object")) {
            object_error = j->kind == JSON_STRING && json_is(j, "error");
            fine = rest(j);
        } else {
            fine = rest(j);
        }
        if (!fine)
            return false;
    }
    said->error = error || object_error;
    return j->kind == JSON_OBJECT_END;
}

bool event_read(struct span text, struct event_said *ret_said)
{
    struct event_said said = {0};
    struct json j;
    json_init(&j, text);
    if (json_next(&j) != JSON_ERROR && j.kind != JSON_OBJECT) {
        *ret_said = (struct event_said){.fault = "it is no JSON object"};
        return false;
    }
    if (j.kind == JSON_OBJECT && read_members(&j, &said) && json_next(&j) == JSON_END) {
        *ret_said = said;
        return true;
    }
    *ret_said =
        (struct event_said){.fault = j.fault ? j.fault : "the JSON is broken", .fault_at = json_error_offset(&j)};
    return false;
}

/* ---- an error's words ---- */

static void take_text(const struct json *j, struct buf *b)
{
    if (j->kind == JSON_STRING) {
        buf_clear(b);
        json_text(j, b);
    }
}

void event_error_text(struct span text, struct buf *b)
{
    struct json j;
    struct word key;
    json_init(&j, text);
    if (json_next(&j) != JSON_OBJECT)
        return;
    while (member(&j, &key)) {
        if (key_is(&key, "error") && j.kind == JSON_OBJECT) {
            struct word inner;
            while (member(&j, &inner)) {
                if (key_is(&inner, "message"))
                    take_text(&j, b);
                if (!rest(&j))
                    return;
            }
        } else if (key_is(&key, "error") || key_is(&key, "message") || key_is(&key, "detail")) {
            take_text(&j, b);
        }
        if (j.kind != JSON_OBJECT_END && !rest(&j))
            return;
        if (j.kind == JSON_ERROR)
            return;
    }
}
