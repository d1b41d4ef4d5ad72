/* A whole answer, HTTP to verdict: the same chunks, counts and verdict however the bytes are split, with and without
 * shapes. */
#include "fuzz.h"
#include "http/response.h"

static void on_chunk(void *self, const struct rec_chunk *c)
{
    account_word(self, (uint64_t)c->kind << 32 | c->bytes);
    account_word(self, (uint32_t)c->running);
}

static void account_times(struct account *a, const struct rec_request *r)
{
    const int64_t times[] = {r->head_ns, r->role_ns,   r->first_ns, r->first_visible_ns,
                             r->last_ns, r->finish_ns, r->usage_ns, r->end_ns};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        account_word(a, times[i] == ABSENT_I64);
    FUZZ_CHECK(r->first_ns == ABSENT_I64 || r->first_ns <= r->last_ns);
}

static void account_record(struct account *a, const struct rec_request *r)
{
    const int64_t counts[] = {r->status,        r->prompt_tokens, r->completion_tokens, r->reasoning_tokens,
                              r->cached_tokens, r->text_bytes,    r->token_chunks,      r->events};
    account_word(a, r->verdict);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        account_word(a, (uint64_t)counts[i]);
    account_bytes(a, span_of(r->finish_reason));
    account_bytes(a, span_of(r->detail ? r->detail : ""));
    FUZZ_CHECK((r->verdict == VERDICT_OK) == !r->detail);
    FUZZ_CHECK(r->verdict != VERDICT_OK || (r->token_chunks > 0 && r->completion_tokens > 0));
}

static struct event_shapes *shapes;

static void run_response(struct span text, struct cuts cuts, struct account *a)
{
    struct response s;
    struct response_out out = {.chunk = on_chunk, .self = a, .shapes = shapes};
    struct span rest = text;
    response_init(&s, 1 << 16);
    int64_t t_ns = 0;
    for (size_t n = cuts.first; rest.n && !s.closing; n = cuts.step)
        response_feed(&s, fuzz_piece(&rest, n), (struct response_arrival){.t_ns = ++t_ns}, &out);
    if (!s.closing)
        response_eof(&s, ++t_ns, &out);
    FUZZ_CHECK(s.over && s.record.end_ns != ABSENT_I64);
    account_times(a, &s.record);
    account_record(a, &s.record);
    response_done(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct span text = {(const char *)data, n};
    struct event_shapes known = {0};
    struct account plain = {1}, by_shape = {1};
    shapes = NULL;
    fuzz_splits(text, run_response);
    run_response(text, (struct cuts){n, n + 1}, &plain);
    shapes = &known;
    run_response(text, (struct cuts){n, n + 1}, &by_shape);
    FUZZ_CHECK(plain.hash == by_shape.hash);
    return 0;
}
