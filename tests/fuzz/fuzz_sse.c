/* Server-sent events: the same events however the bytes are split, under a wide and under a narrow limit. */
#include "fuzz.h"
#include "http/sse.h"

static size_t event_max;
static bool orderly; /* how the stream ends */

static void account_event(struct account *a, const struct sse *s)
{
    FUZZ_CHECK(s->has_data || s->is_error);
    FUZZ_CHECK(s->data.n <= event_max);
    FUZZ_CHECK(!s->has_data || s->any_data_line);
    account_word(a, s->data.n << 2 | (size_t)(s->has_data << 1) | s->is_error);
    account_bytes(a, s->data);
    account_bytes(a, span_of(s->event));
}

static void run_sse(struct span text, struct cuts cuts, struct account *a)
{
    struct sse s;
    sse_init(&s, event_max);
    enum sse_event_kind kind = SSE_MORE;
    struct span rest = text;
    uint64_t events = 0;
    for (size_t n = cuts.first; rest.n; n = cuts.step) {
        struct span input = fuzz_piece(&rest, n);
        while ((kind = sse_feed(&s, &input)) == SSE_EVENT) {
            account_event(a, &s);
            events++;
        }
        FUZZ_CHECK(kind == SSE_TOO_LARGE || input.n == 0);
        FUZZ_CHECK(s.held.n <= event_max && s.joined.n <= event_max);
    }
    account_word(a, kind);
    while ((kind = sse_eof(&s, orderly)) == SSE_EVENT) {
        account_event(a, &s);
        events++;
    }
    FUZZ_CHECK(s.events == events);
    account_word(a, kind);
    account_word(a, s.events);
    account_word(a, s.comments);
    sse_done(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    orderly = n && data[n - 1] & 1;
    event_max = 16 * 1024 * 1024;
    fuzz_splits((struct span){(const char *)data, n}, run_sse);
    if (n > 512) /* what a narrow limit does shows on short inputs, at a fraction of the time */
        return 0;
    event_max = 40;
    fuzz_splits((struct span){(const char *)data, n}, run_sse);
    return 0;
}
