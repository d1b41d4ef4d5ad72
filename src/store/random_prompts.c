#include "store/random_prompts.h"

#include "base/must.h"
#include "store/draw.h"
#include "store/length_law.h"

int64_t random_prompt_tokens(const struct plan_random *r, size_t i)
{
    struct length_law law = length_law_of_input(&r->input);
    return length_law_draw(&law, draw_start((uint64_t)r->seed, DRAW_INPUT_LENGTHS, i), INPUT_TOKENS_MAX);
}

static void put_ids(const struct plan_random *r, uint64_t state, int64_t n, struct buf *out)
{
    for (int64_t k = 0; k < n; k++) {
        if (out->p[out->n - 1] != '[')
            buf_byte(out, ',');
        buf_i64(out, draw_between(&state, r->first_id, r->last_id));
    }
}

void random_prompt_put(const struct plan_random *r, size_t i, struct buf *out)
{
    must(r->first_id >= 0 && r->last_id >= r->first_id);
    int64_t n = random_prompt_tokens(r, i), shared = r->prefix_tokens;
    must(n >= 1 && shared >= 0 && shared < n);
    buf_byte(out, '[');
    put_ids(r, draw_start((uint64_t)r->seed, DRAW_PREFIX, 0), shared, out);
    put_ids(r, draw_start((uint64_t)r->seed, DRAW_TOKENS, i), n - shared, out);
    buf_byte(out, ']');
}

const char *random_prompts_name(const struct plan_requests *q, struct arena *a)
{
    struct length_law input = length_law_of_input(&q->random.input), output = length_law_of_output(&q->lengths);
    const char *shared =
        q->random.prefix_tokens > 0 ? arena_format(a, " (%lld shared)", (long long)q->random.prefix_tokens) : "";
    return arena_format(a, "random %s in%s, %s out", length_law_text(&input, a), shared, length_law_text(&output, a));
}

/* ---- the plan's keys ---- */

static void check_prefix(const struct plan_random *r, struct problems *p)
{
    int64_t least = r->input.kind == INPUT_FIXED ? r->input.tokens : r->input.min;
    if (least != ABSENT_I64 && r->prefix_tokens >= least && r->prefix_tokens > 0)
        problems_add(
            p, "requests.random.prefix_tokens",
            "%lld tokens are shared, but the shortest prompt has %lld. Each prompt needs at least one token of "
            "its own: share fewer, or raise requests.random.input.%s.",
            (long long)r->prefix_tokens, (long long)least, r->input.kind == INPUT_FIXED ? "tokens" : "min");
}

static void check_present(const struct plan_random *r, struct problems *p)
{
    static const char text[] = "It must not be null. Leave the key out for its default.";
    if (r->seed == ABSENT_I64)
        problems_add(p, "requests.random.seed", "%s", text);
    if (r->prefix_tokens == ABSENT_I64)
        problems_add(p, "requests.random.prefix_tokens", "%s", text);
    if (ENUM_ABSENT(r->input.kind))
        problems_add(p, "requests.random.input.kind", "%s", text);
}

/* Keys that mean nothing where the prompts are a file's. */
static void check_unused_random(const struct plan_random *r, struct problems *p)
{
    static const char text[] =
        "Only random prompts have it. Set requests.random.input (--input-tokens), or leave it out.";
    if (r->prefix_tokens != ABSENT_I64 && r->prefix_tokens > 0)
        problems_add(p, "requests.random.prefix_tokens", "%s", text);
    if (r->vocabulary != ABSENT_I64)
        problems_add(p, "requests.random.vocabulary", "%s", text);
    if (r->input.tokens != ABSENT_I64)
        problems_add(p, "requests.random.input.tokens", "%s", text);
}

void random_prompts_check(const struct plan *plan, struct problems *p)
{
    const struct plan_requests *q = &plan->requests;
    check_present(&q->random, p);
    if (!plan_is_random(plan)) {
        check_unused_random(&q->random, p);
        if (!q->file)
            problems_add(p, "requests.file",
                         "Required, but missing: a file with requests (--requests FILE), or random prompts in its "
                         "place (--input-tokens N).");
        return;
    }
    if (q->file)
        problems_add(p, "requests.file",
                     "The plan has a file with requests and random prompts (requests.random). Keep one of them.");
    if (q->api != API_COMPLETIONS)
        problems_add(p, "requests.api",
                     "Random prompts are token ids, which only the completions API takes. Set requests.api: "
                     "completions.");
    if (q->count == ABSENT_I64 && plan->load_count == 0)
        problems_add(p, "requests.count", "Missing: random prompts need the number of requests (--count N).");
    struct length_law law = length_law_of_input(&q->random.input);
    length_law_check(&law, "requests.random.input", p);
    check_prefix(&q->random, p);
}
