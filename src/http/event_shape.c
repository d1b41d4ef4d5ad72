#include "http/event_shape.h"

#include <assert.h>
#include <string.h>
#include "text/json.h"

enum hole_kind { HOLE_STRING, HOLE_FINGERPRINT, HOLE_VISIBLE, HOLE_REASONING, HOLE_NUMBER, HOLE_COUNT, HOLE_PROMPT };

static bool holds_number(enum hole_kind kind)
{
    return kind >= HOLE_NUMBER;
}

/* ---- reading an event of a known shape ---- */

enum { DIGITS_MAX = 18 }; /* always within an int64 */

/* What fills a hole at p: the length of a string's decoded bytes, or a number. Returns the byte behind it, or null. */
static const char *read_string_hole(const char *p, const char *end, uint64_t *ret_bytes)
{
    const char *q = json_plain_end(p, end);
    if (q < end && *q == '"') {
        *ret_bytes = (uint64_t)(q - p);
        return q;
    }
    struct json j;
    json_init(&j, (struct span){p - 1, (size_t)(end - p + 1)});
    if (json_next(&j) != JSON_STRING)
        return NULL;
    *ret_bytes = json_text_length(&j);
    return p + j.raw.n;
}

static const char *read_number_hole(const char *p, const char *end, int64_t *ret_value)
{
    const char *q = p;
    int64_t value = 0;
    while (q < end && *q >= '0' && *q <= '9' && q - p < DIGITS_MAX)
        value = value * 10 + (*q++ - '0');
    if (q == p || (*p == '0' && q > p + 1))
        return NULL;
    *ret_value = value;
    return q;
}

/* Whatever stands behind a hole must be the shape's own next byte, which no number or string contains there: so a hole
 * can't be left too early. *said is spoilt on failure. */
static bool fill_holes(const struct event_shape *s, struct span text, struct event_said *said)
{
    assert(s->holes <= SHAPE_HOLES && s->n <= SHAPE_BYTES);
    const char *p = text.p, *end = text.p + text.n;
    size_t at = 0;
    *said = s->said;
    for (int i = 0; i < s->holes; i++) {
        size_t n = s->hole[i].at - at;
        if ((size_t)(end - p) < n || memcmp(p, s->text + at, n) != 0)
            return false;
        p += n;
        at += n;
        const char *from = p;
        uint64_t bytes = 0;
        int64_t value = 0;
        enum hole_kind kind = s->hole[i].kind;
        p = holds_number(kind) ? read_number_hole(from, end, &value) : read_string_hole(from, end, &bytes);
        if (!p)
            return false;
        if (kind == HOLE_VISIBLE)
            said->choices.visible += bytes;
        else if (kind == HOLE_REASONING)
            said->choices.reasoning += bytes;
        else if (kind == HOLE_FINGERPRINT)
            said->fingerprint = (struct span){from, (size_t)(p - from)};
        else if (kind == HOLE_COUNT)
            said->usage.count = value;
        else if (kind == HOLE_PROMPT)
            said->usage.prompt = value;
    }
    return (size_t)(end - p) == s->n - at && memcmp(p, s->text + at, s->n - at) == 0;
}

/* ---- learning a shape ---- */

/* Where holes are, and the containers on the way. */
enum place { TOP, CHOICE, DELTA, USAGE, NOWHERE };
static const struct {
    uint8_t in, into, hole;
    const char *key;
} rules[] = {
    {TOP, NOWHERE, HOLE_STRING, "id"},
    {TOP, NOWHERE, HOLE_NUMBER, "created"},
    {TOP, NOWHERE, HOLE_FINGERPRINT, "system_fingerprint"},
    {TOP, CHOICE, 0, "choices"},
    {TOP, USAGE, 0, "usage"},
    {CHOICE, DELTA, 0, "delta"},
    {CHOICE, NOWHERE, HOLE_VISIBLE, "text"},
    {DELTA, NOWHERE, HOLE_VISIBLE, "content"},
    {DELTA, NOWHERE, HOLE_REASONING, "reasoning"},
    {DELTA, NOWHERE, HOLE_REASONING, "reasoning_content"},
    {USAGE, NOWHERE, HOLE_COUNT, "completion_tokens"},
    {USAGE, NOWHERE, HOLE_PROMPT, "prompt_tokens"},
    {USAGE, NOWHERE, HOLE_NUMBER, "total_tokens"},
};
enum { RULES = sizeof rules / sizeof *rules };

struct learner {
    struct json j;
    const char *from; /* literal bytes from here on are not in the shape yet */
    struct event_shape *shape;
    uint32_t seen; /* rules: of two equal keys the last one counts, which no hole could tell */
};

static bool add_literal(struct learner *l, const char *to)
{
    assert(to >= l->from);
    size_t n = (size_t)(to - l->from);
    struct event_shape *s = l->shape;
    if (n > sizeof s->text - s->n)
        return false;
    memcpy(s->text + s->n, l->from, n);
    s->n += (uint16_t)n;
    l->from = to;
    return true;
}

static bool is_plain_number(const struct json *j)
{
    int64_t ignored;
    const char *end = j->raw.p + j->raw.n;
    return j->kind == JSON_NUMBER && read_number_hole(j->raw.p, end, &ignored) == end;
}

/* A hole for the value just read, where it is of the hole's type; else it stays literal. What the learnt event has in
 * it is taken off what the literal bytes say. */
static bool add_hole(struct learner *l, enum hole_kind kind)
{
    struct event_shape *s = l->shape;
    struct event_choices *c = &s->said.choices;
    if (holds_number(kind) ? !is_plain_number(&l->j) : l->j.kind != JSON_STRING)
        return true;
    if (s->holes == SHAPE_HOLES || !add_literal(l, l->j.raw.p))
        return false;
    /* Equal text under both names of reasoning is one text: none of them can vary alone. */
    for (int i = 0; kind == HOLE_REASONING && i < s->holes; i++)
        if (s->hole[i].kind == HOLE_REASONING)
            return false;
    if (kind == HOLE_VISIBLE)
        c->visible -= json_text_length(&l->j);
    if (kind == HOLE_REASONING)
        c->reasoning -= json_text_length(&l->j);
    s->hole[s->holes].kind = (uint8_t)kind;
    s->hole[s->holes++].at = s->n;
    l->from += l->j.raw.n;
    return true;
}

static int find_rule(const struct json *key, enum place in)
{
    int i = 0;
    while (i < RULES && (rules[i].in != in || !json_is(key, rules[i].key)))
        i++;
    return i;
}

static bool learn_object(struct learner *l, enum place in);

/* The value just read, of a key with rule i. */
static bool learn_value(struct learner *l, int i)
{
    assert(i < RULES);
    struct json *j = &l->j;
    enum place into = rules[i].into;
    if (into == NOWHERE)
        return add_hole(l, rules[i].hole);
    if (into == CHOICE && j->kind == JSON_ARRAY) {
        while (json_next(j) != JSON_ARRAY_END)
            if (j->kind == JSON_OBJECT ? !learn_object(l, into) : j->kind == JSON_ARRAY)
                return false;
        return true;
    }
    return into != CHOICE && j->kind == JSON_OBJECT ? learn_object(l, into) : true;
}

/* The members of the object just opened. False: the event can't be a shape. (That it is right JSON is known.) */
static bool learn_object(struct learner *l, enum place in)
{
    while (json_next(&l->j) == JSON_KEY) {
        int i = find_rule(&l->j, in);
        json_next(&l->j);
        if (i < RULES) {
            uint32_t rule = 1u << i;
            if (l->seen & rule || !learn_value(l, i))
                return false;
            l->seen |= rule;
        }
        if (l->j.kind == JSON_OBJECT || l->j.kind == JSON_ARRAY)
            json_skip(&l->j);
    }
    return true;
}

/* Events that end an answer or report an error come once a stream. */
static bool worth_learning(const struct event_said *said)
{
    return said->choices.any && !said->choices.finished && !said->error;
}

static void learn(struct event_shapes *all, struct span text, const struct event_said *said)
{
    assert(all->next < SHAPES);
    struct event_shape shape = {.said = *said};
    struct learner l = {.from = text.p, .shape = &shape};
    json_init(&l.j, text);
    json_next(&l.j);
    if (!learn_object(&l, TOP) || !add_literal(&l, text.p + text.n))
        return;
    all->shape[all->next] = shape;
    all->latest = all->next;
    all->next = (all->next + 1) % SHAPES;
    if (all->count < SHAPES)
        all->count++;
}

/* ---- both ---- */

static bool is_power_of_two(uint32_t n)
{
    return n && !(n & (n - 1));
}

/* Where nothing repeats, learning soon costs nothing: it is tried at the first, second, fourth, eighth miss in a row.
 */
bool event_shapes_read(struct event_shapes *s, struct span text, struct event_said *ret_said)
{
    assert(s->count <= SHAPES);
    for (unsigned i = 0; i < s->count; i++) {
        unsigned k = (s->latest + i) % s->count;
        if (fill_holes(&s->shape[k], text, ret_said)) {
            s->latest = k;
            s->misses = 0;
            return true;
        }
    }
    if (!event_read(text, ret_said))
        return false;
    if (worth_learning(ret_said) && is_power_of_two(++s->misses))
        learn(s, text, ret_said);
    return true;
}
