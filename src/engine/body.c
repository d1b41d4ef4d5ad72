#include <math.h>
#include <string.h>
#include "base/must.h"
#include "engine/table.h"

static const char *const reserved[] = {
    "model",      "messages",   "prompt", "stream", "stream_options", "max_tokens", "max_completion_tokens",
    "min_tokens", "ignore_eos", "n"};

static bool extra_fault(struct err *e, const struct json *j)
{
    if (!j->fault)
        return err_set(e, ERR_PLAN, "requests.extra_body must be one JSON object, like {\"top_k\": 20}.");
    return err_set(e, ERR_PLAN, "requests.extra_body can't be read as JSON: %s at byte %zu.", j->fault,
                   json_error_offset(j) + 1);
}

bool engine_check_extra_body(const struct plan *p, struct err *e)
{
    if (!p->requests.extra_body)
        return true;
    struct json j;
    json_init(&j, span_of(p->requests.extra_body));
    if (json_next(&j) != JSON_OBJECT)
        return extra_fault(e, &j);
    for (enum json_kind k; (k = json_next(&j)) != JSON_OBJECT_END;) {
        if (k != JSON_KEY)
            return extra_fault(e, &j);
        for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
            if (json_is(&j, reserved[i]))
                return err_set(e, ERR_PLAN,
                               "requests.extra_body sets \"%s\", which jtok sets itself. Take it out; lengths are "
                               "set under requests.lengths.",
                               reserved[i]);
        if (json_skip(&j) == JSON_ERROR)
            return extra_fault(e, &j);
    }
    return json_next(&j) == JSON_END || extra_fault(e, &j);
}

static bool extra_has(const struct plan *p, const struct engine_request *r, const char *name)
{
    return !r->plain && p->requests.extra_body && json_member(span_of(p->requests.extra_body), span_of(name)).n;
}

static void put_prompt(const struct plan *p, const struct engine_request *r, struct json_writer *w)
{
    if (p->requests.api == API_COMPLETIONS) {
        json_put_key(w, "prompt");
        if (r->ids.n)
            json_put_raw(w, r->ids);
        else
            json_put_string(w, r->prompt);
        return;
    }
    json_put_key(w, "messages");
    if (r->has_messages) {
        json_put_raw(w, r->messages);
        return;
    }
    json_put_array(w);
    json_put_object(w);
    json_put_key(w, "role");
    json_put_text(w, "user");
    json_put_key(w, "content");
    json_put_string(w, r->prompt);
    json_put_object_end(w);
    json_put_array_end(w);
}

static void put_stream(const struct plan *p, const struct engine_request *r, struct json_writer *w)
{
    json_put_key(w, "stream");
    json_put_bool(w, true);
    json_put_key(w, "stream_options");
    json_put_object(w);
    json_put_key(w, "include_usage");
    json_put_bool(w, true);
    if (p->requests.continuous_usage && !r->plain) {
        json_put_key(w, "continuous_usage_stats");
        json_put_bool(w, true);
    }
    json_put_object_end(w);
}

void put_length_min_tokens(const struct engine_request *r, struct json_writer *w)
{
    must(r->max_tokens > 0);
    json_put_key(w, "min_tokens");
    json_put_i64(w, r->max_tokens);
    json_put_key(w, "ignore_eos");
    json_put_bool(w, true);
}

static void put_lengths(const struct plan *p, const struct engine_request *r, struct json_writer *w)
{
    if (r->max_tokens == ABSENT_I64)
        return;
    json_put_key(w, "max_tokens");
    json_put_i64(w, r->max_tokens);
    if (r->forced)
        engine_of(p)->put_length(r, w);
}

static void put_sampling(const struct plan *p, const struct engine_request *r, struct json_writer *w)
{
    if (!isnan(p->requests.temperature) && !extra_has(p, r, "temperature")) {
        json_put_key(w, "temperature");
        json_put_f64(w, p->requests.temperature);
    }
    if (!isnan(p->requests.top_p) && !extra_has(p, r, "top_p")) {
        json_put_key(w, "top_p");
        json_put_f64(w, p->requests.top_p);
    }
    if (!r->plain && p->requests.seed != ABSENT_I64 && !extra_has(p, r, "seed")) {
        json_put_key(w, "seed");
        json_put_i64(w, p->requests.seed);
    }
}

/* The members of an object, as they stand. */
static void put_extra(struct span object, struct json_writer *w)
{
    struct buf name = {0};
    struct json j;
    json_init(&j, object);
    json_next(&j);
    while (json_next(&j) == JSON_KEY) {
        buf_clear(&name);
        json_text(&j, &name);
        const char *start = j.at;
        if (json_skip(&j) == JSON_ERROR)
            break;
        struct span value = {start, (size_t)(j.at - start)};
        /* The colon and the white space around it came with the value. */
        while (value.n &&
               (*value.p == ':' || *value.p == ' ' || *value.p == '\t' || *value.p == '\n' || *value.p == '\r')) {
            value.p++;
            value.n--;
        }
        json_put_key(w, buf_text(&name));
        json_put_raw(w, value);
    }
    buf_done(&name);
}

void engine_put_body(const struct plan *p, const struct engine_request *r, struct buf *b)
{
    must(p->engine.served_model);
    must(!r->has_messages || p->requests.api == API_CHAT);
    must(!r->ids.n || p->requests.api == API_COMPLETIONS);
    struct json_writer w;
    json_writer_init(&w, b, 0);
    json_put_object(&w);
    json_put_key(&w, "model");
    json_put_text(&w, p->engine.served_model);
    put_prompt(p, r, &w);
    put_stream(p, r, &w);
    put_lengths(p, r, &w);
    put_sampling(p, r, &w);
    if (r->extra.n)
        put_extra(r->extra, &w);
    if (!r->plain && p->requests.extra_body)
        put_extra(span_of(p->requests.extra_body), &w);
    if (!r->plain && p->requests.thinking_body)
        put_extra(span_of(p->requests.thinking_body), &w);
    json_put_object_end(&w);
}

bool engine_forces_warmup(const struct plan *p)
{
    return p->requests.lengths.ignore_eos || engine_of(p)->forces_lengths;
}

const char *engine_request_path(const struct plan *p)
{
    return p->requests.api == API_COMPLETIONS ? "/v1/completions" : "/v1/chat/completions";
}

/* No common opening, so no prefix cache can hold any part of one for another. */
static const char *const warmup_prompts[ENGINE_WARMUP_PROMPTS] = {
    "Lighthouses once burned coal. Describe an evening of the keeper who had to carry it up the stairs.",
    "Given a bag with four red and six blue marbles, explain step by step how likely two red ones in a row are.",
    "Write a short letter in which a gardener thanks a neighbour for the loan of a wheelbarrow.",
    "How does a bicycle stay upright while it rolls? Answer for a curious child of nine.",
    "Translate into French: the train to the coast leaves at half past seven from the old platform.",
    "A function should return the median of three numbers without sorting them. Sketch it in C.",
    "Summarise in two sentences why bread dough needs rest before it goes into the oven.",
    "Name five tools of a watchmaker and say in a few words what each of them is for.",
};

const char *engine_warmup_prompt(size_t i)
{
    return warmup_prompts[i % ENGINE_WARMUP_PROMPTS];
}
