/* HTTP/1.1: the same events however the bytes are split; what is consumed, given and left adds up; end states stay. */
#include "base/buf.h"
#include "fuzz.h"
#include "http/http1.h"

static void account_head(struct account *a, const struct http1 *h)
{
    account_word(a, (uint64_t)h->status << 8 | (uint64_t)(h->close << 2 | h->chunked << 1 | h->event_stream));
    account_word(a, (uint64_t)h->length);
    account_word(a, (uint64_t)h->interim);
    account_bytes(a, span_of(h->content_type));
    account_bytes(a, span_of(h->location));
    FUZZ_CHECK(h->head_started && h->status >= 0 && h->status <= 999 && h->interim <= 100);
    for (const char *p = h->content_type; *p; p++)
        FUZZ_CHECK(*p >= ' ' && *p <= '~');
    for (const char *p = h->location; *p; p++)
        FUZZ_CHECK(*p >= ' ' && *p <= '~');
}

static void run_http1(struct span text, struct cuts cuts, struct account *a)
{
    struct http1 h;
    http1_init(&h);
    enum http1_event event = HTTP1_MORE;
    uint64_t unused = 0;
    struct buf bytes = {0};
    buf_reserve(&bytes, text.n + 1);
    struct span rest = text;
    for (size_t n = cuts.first; rest.n; n = cuts.step) {
        struct span input = fuzz_piece(&rest, n);
        do {
            struct span before = input;
            event = http1_feed(&h, &input);
            FUZZ_CHECK(input.n <= before.n && input.p + input.n == before.p + before.n);
            if (event == HTTP1_HEAD)
                account_head(a, &h);
            if (event == HTTP1_BODY) {
                FUZZ_CHECK(h.body.n > 0 && h.body.p >= before.p && h.body.p + h.body.n <= input.p);
                buf_add(&bytes, h.body.p, h.body.n);
            }
        } while (event == HTTP1_HEAD || event == HTTP1_BODY);
        FUZZ_CHECK(event != HTTP1_MORE || input.n == 0);
        unused += input.n;
    }
    if (event == HTTP1_MORE) /* a state that needs no byte may be waiting: a body of none, a coding that is refused */
        event = http1_feed(&h, &(struct span){0});
    if (event == HTTP1_MORE)
        event = http1_eof(&h);
    FUZZ_CHECK(event == HTTP1_DONE || event == HTTP1_ERROR);
    FUZZ_CHECK((event == HTTP1_ERROR) == (h.fault != NULL));
    FUZZ_CHECK(http1_feed(&h, &(struct span){0}) == event && http1_eof(&h) == event);
    if (event == HTTP1_DONE && h.length >= 0 && h.status != 304 && h.status != 204 && h.status != 101)
        FUZZ_CHECK(bytes.n == (uint64_t)h.length);
    account_word(a, event);
    account_word(a, h.too_large);
    account_word(a, event == HTTP1_DONE ? unused : 0);
    account_bytes(a, buf_span(&bytes));
    buf_done(&bytes);
    http1_done(&h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    fuzz_splits((struct span){(const char *)data, n}, run_http1);
    return 0;
}
