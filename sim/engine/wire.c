#include "wire.h"

#include "flavour.h"
#include "text/json.h"
#include "words.h"

void answer_init(struct answer *a, const struct options *o, const struct ask *ask, uint64_t id, int64_t created_s)
{
    *a = (struct answer){.options = o, .ask = *ask, .id = id, .created_s = created_s};
    a->hash = words_mix(ask->prompt_hash, o->seed);
    a->total_tokens = ask->max_tokens;
    if (!ask->ignore_eos) {
        int64_t natural = words_length(a->hash, o->median_tokens);
        if (natural < ask->min_tokens)
            natural = ask->min_tokens;
        a->stopped = natural < ask->max_tokens;
        if (a->stopped)
            a->total_tokens = natural;
    }
    a->reasoning_tokens = ask->chat ? (int64_t)((double)a->total_tokens * o->reasoning) : 0;
}

void wire_text(struct buf *b, const char *text)
{
    struct json_writer w;
    json_writer_init(&w, b, 0);
    json_put_text(&w, text);
}

static void put_start(const struct answer *a, const char *object, struct buf *b)
{
    char id[17];
    uint64_t rest = a->id;
    for (int i = 16; i-- > 0; rest >>= 4)
        id[i] = "0123456789abcdef"[rest & 15];
    buf_str(b, a->options->flavour->bare_id ? "{\"id\":\"" : a->ask.chat ? "{\"id\":\"chatcmpl-" : "{\"id\":\"cmpl-");
    buf_add(b, id, 16);
    buf_str(b, "\",\"object\":\"");
    buf_str(b, object);
    buf_str(b, "\",\"created\":");
    buf_i64(b, a->created_s);
    buf_str(b, ",\"model\":");
    wire_text(b, a->options->served_name);
    buf_str(b, ",\"choices\":[");
}

static void put_event_start(const struct answer *a, struct buf *b)
{
    buf_str(b, "data: ");
    put_start(a, a->ask.chat ? "chat.completion.chunk" : "text_completion", b);
}

static void put_usage(const struct answer *a, int64_t tokens, struct buf *b)
{
    buf_str(b, "\"usage\":{\"prompt_tokens\":");
    buf_i64(b, a->ask.prompt_tokens);
    buf_str(b, ",\"total_tokens\":");
    buf_i64(b, a->ask.prompt_tokens + tokens);
    buf_str(b, ",\"completion_tokens\":");
    buf_i64(b, tokens);
}

static void put_running_usage(const struct answer *a, int64_t tokens, struct buf *b)
{
    if (!a->ask.continuous_usage || !a->ask.include_usage || a->no_usage)
        return;
    buf_byte(b, ',');
    put_usage(a, tokens, b);
    buf_byte(b, '}');
}

static void put_fingerprint(const struct answer *a, struct buf *b)
{
    if (a->options->flavour->fingerprint)
        buf_fmt(b, ",\"system_fingerprint\":\"%s\"", a->options->flavour->fingerprint);
}

/* Held back: the text of token i comes with token i + 1. */
static bool held(const struct answer *a, int64_t i)
{
    return i >= 0 && i < a->total_tokens - 1 && i != a->reasoning_tokens - 1 && a->options->held > 0 &&
           words_share(words_mix(a->hash ^ 0x68656c64, (uint64_t)i)) < a->options->held;
}

/* The text that the chunk [from, to) shows of the tokens [first, last). */
static void put_tokens(const struct answer *a, int64_t from, int64_t to, int64_t first, int64_t last, struct buf *b)
{
    for (int64_t i = from > first ? from - 1 : first; i < to && i < last; i++) {
        int64_t shown = i + held(a, i);
        if (i >= first && shown >= from && shown < to)
            words_token(b, a->hash, i);
    }
}

static void put_text_field(const struct answer *a, const char *name, int64_t from, int64_t to, int64_t first,
                           int64_t last, struct buf *b)
{
    buf_byte(b, '"');
    buf_str(b, name);
    buf_str(b, "\":\"");
    put_tokens(a, from, to, first, last, b);
    buf_byte(b, '"');
}

static void put_delta(const struct answer *a, int64_t from, int64_t to, struct buf *b)
{
    buf_str(b, "{\"index\":0,\"delta\":{");
    if (from < a->reasoning_tokens)
        put_text_field(a, a->options->reasoning_field, from, to, 0, a->reasoning_tokens, b);
    if (from < a->reasoning_tokens && to > a->reasoning_tokens)
        buf_byte(b, ',');
    if (to > a->reasoning_tokens)
        put_text_field(a, "content", from, to, a->reasoning_tokens, a->total_tokens, b);
    buf_str(b, "},\"logprobs\":null");
}

void answer_role(const struct answer *a, struct buf *b)
{
    put_event_start(a, b);
    const struct flavour *f = a->options->flavour;
    buf_str(b, "{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"logprobs\":null,"
               "\"finish_reason\":null");
    if (f->finish_apart) {
        buf_fmt(b, "%s}]}\n\n", f->stop);
        return;
    }
    buf_str(b, "}]");
    put_running_usage(a, 0, b);
    buf_str(b, ",\"prompt_token_ids\":null,\"prompt_text\":null}\n\n");
}

/* A chat's chunk of an engine that tells the end in a chunk of its own. */
static void put_chat_apart(const struct answer *a, int64_t from, int64_t to, struct buf *b)
{
    const char *stop = a->options->flavour->stop;
    put_event_start(a, b);
    put_delta(a, from, to, b);
    buf_fmt(b, ",\"finish_reason\":null%s}]", stop);
    put_running_usage(a, to, b);
    buf_str(b, "}\n\n");
    if (to < a->total_tokens)
        return;
    put_event_start(a, b);
    buf_fmt(b, "{\"index\":0,\"delta\":{},\"logprobs\":null,\"finish_reason\":\"%s\"%s}]}\n\n",
            a->stopped ? "stop" : "length", stop);
}

void answer_tokens(const struct answer *a, int64_t from, int64_t to, struct buf *b)
{
    bool last = to == a->total_tokens;
    if (a->ask.chat && a->options->flavour->finish_apart) {
        put_chat_apart(a, from, to, b);
        return;
    }
    put_event_start(a, b);
    if (a->ask.chat) {
        put_delta(a, from, to, b);
    } else {
        buf_str(b, "{\"index\":0,");
        put_text_field(a, "text", from, to, 0, a->total_tokens, b);
        buf_str(b, ",\"logprobs\":null");
    }
    buf_str(b, !last        ? ",\"finish_reason\":null"
               : a->stopped ? ",\"finish_reason\":\"stop\""
                            : ",\"finish_reason\":\"length\"");
    if (!a->ask.chat)
        buf_str(b, ",\"stop_reason\":null,\"prompt_token_ids\":null,\"token_ids\":null}]");
    else
        buf_str(b, last ? ",\"stop_reason\":null,\"token_ids\":null}]" : ",\"token_ids\":null}]");
    put_running_usage(a, to, b);
    if (last && (!a->ask.include_usage || a->no_usage))
        put_fingerprint(a, b);
    buf_str(b, "}\n\n");
}

void answer_usage(const struct answer *a, struct buf *b)
{
    put_event_start(a, b);
    buf_str(b, "],");
    put_usage(a, a->total_tokens, b);
    buf_fmt(b, "%s}", a->options->flavour->usage);
    put_fingerprint(a, b);
    buf_str(b, "}\n\n");
}

void answer_done(struct buf *b)
{
    buf_str(b, "data: [DONE]\n\n");
}

static void put_message(const struct answer *a, struct buf *b)
{
    buf_str(b, "{\"index\":0,\"message\":{\"role\":\"assistant\",");
    put_text_field(a, "content", 0, a->total_tokens, a->reasoning_tokens, a->total_tokens, b);
    buf_str(b, ",\"refusal\":null,\"annotations\":null,\"audio\":null,\"function_call\":null,");
    if (a->reasoning_tokens) {
        put_text_field(a, a->options->reasoning_field, 0, a->total_tokens, 0, a->reasoning_tokens, b);
    } else {
        wire_text(b, a->options->reasoning_field);
        buf_str(b, ":null");
    }
    buf_str(b, "},\"logprobs\":null");
}

void answer_whole(const struct answer *a, struct buf *b)
{
    put_start(a, a->ask.chat ? "chat.completion" : "text_completion", b);
    if (a->ask.chat) {
        put_message(a, b);
    } else {
        buf_str(b, "{\"index\":0,");
        put_text_field(a, "text", 0, a->total_tokens, 0, a->total_tokens, b);
        buf_str(b, ",\"logprobs\":null");
    }
    buf_fmt(b, ",\"finish_reason\":\"%s\",\"stop_reason\":null,", a->stopped ? "stop" : "length");
    buf_str(b, a->ask.chat ? "\"token_ids\":null,\"routed_experts\":null}],"
                           : "\"token_ids\":null,\"prompt_logprobs\":null,\"prompt_token_ids\":null}],");
    buf_str(b, "\"service_tier\":null");
    put_fingerprint(a, b);
    if (!a->no_usage) {
        buf_byte(b, ',');
        put_usage(a, a->total_tokens, b);
        buf_str(b, ",\"prompt_tokens_details\":null}");
    }
    buf_str(b, ",\"prompt_logprobs\":null,\"prompt_token_ids\":null,\"prompt_text\":null,"
               "\"kv_transfer_params\":null}");
}
