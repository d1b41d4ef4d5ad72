/* Events of one stream, one a line: read by shape, an event says exactly what it says read in full. */
#include "fuzz.h"
#include "http/event_shape.h"

static bool same_span(struct span a, struct span b)
{
    return a.n == b.n && (a.n == 0 || a.p == b.p);
}

static void check_event(struct event_shapes *shapes, struct span text)
{
    struct event_said full = {0}, by_shape = {0};
    bool fine = event_read(text, &full);
    FUZZ_CHECK(event_shapes_read(shapes, text, &by_shape) == fine);
    const struct event_choices *c = &full.choices, *d = &by_shape.choices;
    const struct event_usage *u = &full.usage, *v = &by_shape.usage;
    FUZZ_CHECK(c->any == d->any && c->role == d->role && c->finished == d->finished);
    FUZZ_CHECK(c->visible == d->visible && c->reasoning == d->reasoning && same_span(c->finish, d->finish));
    FUZZ_CHECK(u->present == v->present && u->count_kind == v->count_kind);
    FUZZ_CHECK(u->count_kind != USAGE_COUNT_INTEGER || u->count == v->count);
    FUZZ_CHECK(u->prompt == v->prompt && u->reasoning == v->reasoning && u->cached == v->cached);
    FUZZ_CHECK(same_span(full.fingerprint, by_shape.fingerprint));
    FUZZ_CHECK(full.error == by_shape.error && full.fault == by_shape.fault && full.fault_at == by_shape.fault_at);
}

/* Twice: the second time each event may have the shape that was learnt from itself, or from a later one. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct event_shapes shapes = {0};
    for (int pass = 0; pass < 2; pass++) {
        struct span rest = {(const char *)data, n};
        while (rest.n) {
            const char *end = memchr(rest.p, '\n', rest.n);
            size_t length = end ? (size_t)(end - rest.p) : rest.n;
            check_event(&shapes, fuzz_piece(&rest, length));
            fuzz_piece(&rest, end != NULL);
        }
    }
    return 0;
}
