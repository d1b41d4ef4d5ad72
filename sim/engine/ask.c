#include "ask.h"

#include <stdio.h>
#include "http.h"
#include "text/json.h"
#include "words.h"

struct reader {
    struct json j;
    struct buf model;
    bool has_prompt;
    int64_t text_bytes, messages, token_ids, asked_tokens, n, prompts;
    bool has_max;
};

static void hash_raw(const struct reader *r, struct ask *a)
{
    for (size_t i = 0; i < r->j.raw.n; i++)
        a->prompt_hash = (a->prompt_hash ^ (unsigned char)r->j.raw.p[i]) * 0x100000001b3;
    a->prompt_hash = words_mix(a->prompt_hash, r->j.raw.n);
}

/* A value that may hold text anywhere inside: messages, their contents in parts, prompts. Roles are counted as
 * messages. */
static bool read_texts(struct reader *r, struct ask *a)
{
    int outside = r->j.depth;
    bool is_text = true;
    do {
        switch (json_next(&r->j)) {
        case JSON_ERROR:
        case JSON_END:
            return false;
        case JSON_KEY:
            if (json_is(&r->j, "role"))
                r->messages++;
            is_text = json_is(&r->j, "content") || json_is(&r->j, "text");
            if (!is_text && json_skip(&r->j) == JSON_ERROR)
                return false;
            break;
        case JSON_STRING:
            r->prompts++;
            r->text_bytes += (int64_t)json_text_length(&r->j);
            hash_raw(r, a);
            break;
        case JSON_NUMBER:
            r->token_ids++;
            hash_raw(r, a);
            break;
        case JSON_ARRAY:
        case JSON_ARRAY_END:
        case JSON_FALSE:
        case JSON_NULL:
        case JSON_OBJECT:
        case JSON_OBJECT_END:
        case JSON_TRUE:
        default:
            break;
        }
    } while (r->j.depth > outside);
    return true;
}

static bool read_bool(struct reader *r, bool *ret_value)
{
    enum json_kind k = json_next(&r->j);
    *ret_value = k == JSON_TRUE;
    return k == JSON_TRUE || k == JSON_FALSE || k == JSON_NULL;
}

static bool read_i64(struct reader *r, int64_t *ret_value, bool *ret_given)
{
    enum json_kind k = json_next(&r->j);
    *ret_given = k == JSON_NUMBER;
    return k == JSON_NULL || (k == JSON_NUMBER && json_i64(&r->j, ret_value));
}

static bool read_stream_options(struct reader *r, struct ask *a)
{
    enum json_kind k = json_next(&r->j);
    if (k == JSON_NULL)
        return true;
    if (k != JSON_OBJECT)
        return false;
    while ((k = json_next(&r->j)) == JSON_KEY) {
        bool good = json_is(&r->j, "include_usage")            ? read_bool(r, &a->include_usage)
                    : json_is(&r->j, "continuous_usage_stats") ? read_bool(r, &a->continuous_usage)
                                                               : json_skip(&r->j) != JSON_ERROR;
        if (!good)
            return false;
    }
    return k == JSON_OBJECT_END;
}

static bool read_key(struct reader *r, struct ask *a)
{
    struct json *j = &r->j;
    bool given;
    if (json_is(j, "model")) {
        if (json_next(j) != JSON_STRING)
            return false;
        buf_clear(&r->model);
        json_text(j, &r->model);
        return true;
    }
    if (json_is(j, a->chat ? "messages" : "prompt"))
        return r->has_prompt = read_texts(r, a);
    if (json_is(j, "stream"))
        return read_bool(r, &a->stream);
    if (json_is(j, "stream_options"))
        return read_stream_options(r, a);
    if (json_is(j, "ignore_eos"))
        return read_bool(r, &a->ignore_eos);
    if (json_is(j, "max_tokens") || (a->chat && json_is(j, "max_completion_tokens"))) {
        bool good = read_i64(r, &r->asked_tokens, &given);
        r->has_max |= given;
        return good;
    }
    if (json_is(j, "min_tokens"))
        return read_i64(r, &a->min_tokens, &given);
    if (json_is(j, "n"))
        return read_i64(r, &r->n, &given);
    return json_skip(j) != JSON_ERROR;
}

/* Position of the fault that made the body unreadable, or -1. */
static int64_t read_body(struct reader *r, struct ask *a, struct span body)
{
    json_init(&r->j, body);
    bool good = json_next(&r->j) == JSON_OBJECT;
    enum json_kind k = JSON_ERROR;
    while (good && (k = json_next(&r->j)) == JSON_KEY)
        good = read_key(r, a);
    if (good && k == JSON_OBJECT_END && json_next(&r->j) == JSON_END)
        return -1;
    return (int64_t)(r->j.kind == JSON_ERROR ? json_error_offset(&r->j) : (size_t)(r->j.at - r->j.start));
}

static int refuse(struct buf *error, int code, const char *type, const char *param, struct buf *message)
{
    http_error_body(error, code, type, param, buf_text(message));
    buf_done(message);
    return code;
}

static int refuse_validation(struct buf *error, bool chat, const char *detail, const char *param)
{
    struct buf message = {0};
    buf_fmt(&message,
            "1 validation error:\n  %s\n\n  File \"/srv/site/vllm/entrypoints/serve/utils/api_utils.py\", line 40, in "
            "create_%s\n    POST /v1/%s [%s]",
            detail, chat ? "chat_completion" : "completion", chat ? "chat/completions" : "completions", detail);
    return refuse(error, 400, "Bad Request", param, &message);
}

static int refuse_json(struct buf *error, bool chat, int64_t at)
{
    char detail[160], param[40];
    snprintf(detail, sizeof detail,
             "{'type': 'json_invalid', 'loc': ('body', %lld), 'msg': 'JSON decode error', 'input': {}, 'ctx': "
             "{'error': 'Expecting value'}}",
             (long long)at);
    snprintf(param, sizeof param, "body.%lld", (long long)at);
    return refuse_validation(error, chat, detail, param);
}

static int refuse_missing(struct buf *error, bool chat)
{
    const char *field = chat ? "messages" : "prompt";
    char detail[160], param[40];
    snprintf(detail, sizeof detail, "{'type': 'missing', 'loc': ('body', '%s'), 'msg': 'Field required', 'input': {}}",
             field);
    snprintf(param, sizeof param, "body.%s", field);
    return refuse_validation(error, chat, detail, param);
}

/* The context's rule, with vLLM's two sentences. */
static int check_length(struct ask *a, const struct reader *r, const struct options *o, struct buf *error)
{
    long long limit = o->max_model_len, asked = r->has_max ? r->asked_tokens : 0;
    struct buf message = {0};
    if (r->has_max && asked < 1) {
        buf_fmt(&message, "max_tokens must be at least 1, got %lld. (parameter=max_tokens, value=%lld)", asked, asked);
        return refuse(error, 400, "BadRequestError", "max_tokens", &message);
    }
    if (asked > limit) {
        buf_fmt(
            &message,
            "max_tokens=%lld cannot be greater than max_model_len=max_total_tokens=%lld. Please request fewer output "
            "tokens. (parameter=max_tokens, value=%lld)",
            asked, limit, asked);
        return refuse(error, 400, "BadRequestError", "max_tokens", &message);
    }
    long long least_output = asked ? asked : 1, input = limit - least_output + 1;
    if (a->prompt_tokens >= input) {
        buf_fmt(
            &message,
            "This model's maximum context length is %lld tokens. However, you requested %lld output tokens and your "
            "prompt contains at least %lld input tokens, for a total of at least %lld tokens. Please reduce the length "
            "of the input prompt or the number of requested output tokens. (parameter=input_tokens, value=%lld)",
            limit, asked, input, input + least_output, input);
        return refuse(error, 400, "BadRequestError", "input_tokens", &message);
    }
    a->max_tokens = asked ? asked : limit - a->prompt_tokens;
    if (a->min_tokens > a->max_tokens) {
        buf_fmt(&message, "min_tokens must be less than or equal to max_tokens=%lld, got %lld.",
                (long long)a->max_tokens, (long long)a->min_tokens);
        return refuse(error, 400, "BadRequestError", "min_tokens", &message);
    }
    return 200;
}

static int check(struct ask *a, struct reader *r, const struct options *o, struct buf *error)
{
    struct buf message = {0};
    if (!r->has_prompt)
        return refuse_missing(error, a->chat);
    if (r->model.n && !span_is(buf_span(&r->model), o->served_name)) {
        buf_fmt(&message, "The model `%s` does not exist.", buf_text(&r->model));
        return refuse(error, 404, "NotFoundError", "model", &message);
    }
    if (r->n != 1 || (!a->chat && r->prompts > 1)) {
        buf_str(&message, "The simulated engine answers one prompt with one choice: n must be 1.");
        return refuse(error, 400, "BadRequestError", "n", &message);
    }
    a->prompt_tokens = (r->text_bytes + 3) / 4 + r->token_ids + (a->chat ? 4 * r->messages : 0);
    if (a->prompt_tokens < 1)
        a->prompt_tokens = 1;
    a->include_usage |= o->force_usage;
    return check_length(a, r, o, error);
}

int ask_read(struct ask *a, bool chat, struct span body, const struct options *o, struct buf *error)
{
    *a = (struct ask){.chat = chat, .prompt_hash = 0xcbf29ce484222325};
    struct reader r = {.n = 1};
    int64_t at = read_body(&r, a, body);
    int status = at >= 0 ? refuse_json(error, chat, at) : check(a, &r, o, error);
    buf_done(&r.model);
    return status;
}
