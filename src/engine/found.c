/* Where engines say what they are: answers, labels of metrics, output and command, read by the places of a row. */
#include <stdio.h>
#include <string.h>
#include "base/must.h"
#include "base/num.h"
#include "base/utf8.h"
#include "engine/table.h"
#include "text/prom.h"

enum {
    VALUE_MAX = 1024, /* bytes of a value: paths are the longest */
    PATH_MAX_BYTES = 256,
};

/* ---- values ---- */

static bool tells_nothing(struct span text)
{
    static const char *const nothing[] = {"", "None", "null", "auto"};
    for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++)
        if (span_is(text, nothing[i]))
            return true;
    return false;
}

/* The whole number at the front, as the text of it. */
static struct span leading_number(struct span text, int64_t *ret_value)
{
    size_t n = text.n && *text.p == '-' ? 1 : 0;
    while (n < text.n && text.p[n] >= '0' && text.p[n] <= '9')
        n++;
    return num_i64((struct span){text.p, n}, ret_value) ? (struct span){text.p, n} : (struct span){0};
}

static struct span switched(struct span text, bool straight)
{
    static const char on[] = "on", off[] = "off";
    bool yes = span_starts(text, "true") || span_starts(text, "True") || span_is(text, "1");
    bool no = span_starts(text, "false") || span_starts(text, "False") || span_is(text, "0");
    if (!yes && !no)
        return (struct span){0};
    return span_of(yes == straight ? on : off);
}

/* The value of a text as its place has it; nothing (p null) where it says nothing. */
static struct span taken_value(enum engine_take take, struct span text)
{
    int64_t number;
    struct span digits;
    switch (take) {
    case TAKE_TEXT:
        return tells_nothing(text) ? (struct span){0} : text;
    case TAKE_TEXT_OR_NONE:
        return span_is(text, "None") ? span_of("none") : tells_nothing(text) ? (struct span){0} : text;
    case TAKE_COUNT:
        digits = leading_number(text, &number);
        return digits.p && number > 0 ? digits : (struct span){0};
    case TAKE_ON:
    case TAKE_OFF:
        return switched(text, take == TAKE_ON);
    case TAKE_SIZE:
        digits = leading_number(text, &number);
        return !digits.p ? digits : span_of(number > 0 ? "on" : "off");
    }
    return (struct span){0};
}

void property_found(struct engine_identity *id, enum engine_property property, enum engine_source source,
                    struct span text, const char *where)
{
    must(id->arena && where && property < PROPERTY_COUNT);
    text = span_trim(text);
    if (!text.p || text.n == 0)
        return;
    struct engine_finding *f = &id->found[property];
    struct span kept = {text.p, text.n < VALUE_MAX ? text.n : VALUE_MAX};
    const char *value = body_beginning(kept, VALUE_MAX, id->arena);
    int trust = (int)source;
    if (f->value && property_alike(property, f->value, value, id->arena)) {
        if (trust < f->trust)
            *f = (struct engine_finding){value, where, trust, f->other, f->other_source};
        return;
    }
    bool better = !f->value || trust < f->trust;
    if (f->value && !f->other) {
        f->other = better ? f->value : value;
        f->other_source = better ? f->source : where;
    }
    if (better) {
        f->value = value;
        f->source = where;
        f->trust = trust;
    }
}

const char *engine_says(const struct engine_identity *id, enum engine_property property)
{
    must(property < PROPERTY_COUNT);
    return id->found[property].value;
}

/* How a place is called: "/server_info, tp_size". */
static const char *place_name(const struct engine_place *place, const char *asked, struct arena *a)
{
    switch (place->source) {
    case SOURCE_ANSWER:
        return arena_format(a, "%s, %s", asked, place->name);
    case SOURCE_METRICS:
        return arena_format(a, "/metrics, %s of %s", place->name, place->where);
    case SOURCE_OUTPUT:
        break;
    case SOURCE_COMMAND:
        return arena_format(a, "command, %s", place->where);
    }
    return place->name ? arena_format(a, "output, %s", place->name) : "output";
}

void place_found(struct engine_identity *id, const struct engine_place *place, struct span text, const char *asked)
{
    struct span value = taken_value(place->take, text);
    const struct engine_finding *known = &id->found[place->property];
    if (!value.p || (place->spare && known->value))
        return;
    bool same_place = known->value && known->trust == (int)place->source && span_is(value, known->value);
    if (!same_place) /* an output may say a thing by the thousand */
        property_found(id, place->property, place->source, value, place_name(place, asked, id->arena));
}

/* ---- answers ---- */

/* Where in a document a value is: the names of its members, joined by dots; an array's elements have its own name. */
struct json_place {
    char text[PATH_MAX_BYTES];
    size_t n;
    bool overlong;                    /* no place is called so */
    size_t front[JSON_DEPTH_MAX + 2]; /* of each container's members */
};

static void name_member(struct json_place *at, const struct json *j)
{
    size_t front = at->front[j->depth];
    at->overlong = front + j->raw.n + 2 > sizeof at->text;
    if (at->overlong)
        return;
    if (front)
        at->text[front] = '.';
    front += front > 0;
    memcpy(at->text + front, j->raw.p, j->raw.n);
    at->n = front + j->raw.n;
}

struct answer_reader {
    struct engine_identity *id;
    const struct engine *engine;
    const char *path, *asked;
    bool any; /* a place was there */
};

/* Nothing (p null) of a null. */
static struct span scalar_of(const struct json *j, struct arena *a)
{
    if (j->kind == JSON_TRUE || j->kind == JSON_FALSE)
        return span_of(j->kind == JSON_TRUE ? "true" : "false");
    if (j->kind == JSON_STRING && j->escaped)
        return span_of(json_copy(j, a));
    return j->kind == JSON_STRING || j->kind == JSON_NUMBER ? j->raw : (struct span){0};
}

static void take_scalar(struct answer_reader *r, const struct json *j, const struct json_place *at)
{
    struct span name = {at->text, at->n};
    for (const struct engine_place *p = r->engine->places; !at->overlong && p && p->where; p++) {
        if (p->source != SOURCE_ANSWER || strcmp(p->where, r->path) != 0 || !span_is(name, p->name))
            continue;
        struct span text = scalar_of(j, r->id->arena);
        r->any = true;
        if (text.p && p->until)
            text = json_member(text, span_of(p->until));
        if (text.p)
            place_found(r->id, p, text, r->asked);
    }
}

static bool is_object(struct span body)
{
    struct json j;
    json_init(&j, body);
    return json_next(&j) == JSON_OBJECT && json_skip(&j) != JSON_ERROR && json_next(&j) == JSON_END;
}

/* Goes through a whole document. False: it is no JSON object, and nothing of it was taken. O(bytes). */
static bool read_answer(struct answer_reader *r, struct span body)
{
    struct json j;
    struct json_place at = {.n = 0};
    if (!is_object(body))
        return false;
    json_init(&j, body);
    json_next(&j);
    for (enum json_kind k; (k = json_next(&j)) != JSON_END && k != JSON_ERROR;) {
        if (k == JSON_KEY)
            name_member(&at, &j);
        else if (k == JSON_OBJECT || k == JSON_ARRAY)
            at.front[j.depth] = at.n;
        else if (k != JSON_OBJECT_END && k != JSON_ARRAY_END)
            take_scalar(r, &j, &at);
        if (k == JSON_OBJECT_END || k == JSON_ARRAY_END)
            at.n = at.front[j.depth + 1];
    }
    return true;
}

static const struct engine_question *question_of(const struct engine *g, size_t i)
{
    const struct engine_question *q = g ? g->questions : NULL;
    for (; q && q->path && i > 0; i--)
        q++;
    return q && q->path ? q : NULL;
}

const struct engine *engine_found(const struct plan *p, const struct engine_identity *id)
{
    const struct engine *own = engine_of(p), *named = own->any_server ? engine_named(id->name) : NULL;
    return named ? named : own;
}

const char *engine_question(const struct plan *p, const struct engine_identity *id, size_t i, const char **ret_older)
{
    const struct engine_question *q = question_of(engine_found(p, id), i);
    *ret_older = q ? q->older : NULL;
    return q ? q->path : NULL;
}

bool engine_read_answer(const struct plan *p, struct engine_identity *id, size_t i, const char *asked, int status,
                        struct span body, struct err *e)
{
    enum { SHOWN = 300 };
    const struct engine_question *q = question_of(engine_found(p, id), i);
    must(id->arena && q && asked);
    struct answer_reader r = {.id = id, .engine = engine_found(p, id), .path = q->path, .asked = asked};
    if (status != 200)
        return true;
    bool whole = read_answer(&r, body);
    bool own = !engine_of(p)->any_server;
    if (!own || (whole && (r.any || !q->sure)))
        return true;
    return err_set(e, ERR_ENGINE,
                   "The engine's answer to %s is not what %s answers there. Is another server on the engine's port? It "
                   "answers: %s",
                   asked, engine_of(p)->name, body_beginning(body, SHOWN, id->arena));
}

/* ---- metrics ---- */

bool engine_has_labels(const struct plan *p, const struct engine_identity *id)
{
    for (const struct engine_place *at = engine_found(p, id)->places; at && at->where; at++)
        if (at->source == SOURCE_METRICS)
            return true;
    return false;
}

void engine_read_labels(const struct plan *p, struct engine_identity *id, struct span metrics)
{
    struct prom_sample s;
    const struct engine_place *places = engine_found(p, id)->places;
    while (prom_next(&metrics, &s, NULL))
        for (const struct engine_place *at = places; at && at->where; at++) {
            struct span value;
            if (at->source == SOURCE_METRICS && span_is(s.name, at->where) && prom_label(s.labels, at->name, &value))
                place_found(id, at, value, NULL);
        }
}

/* ---- output ---- */

static struct span behind_phrase(const struct engine_place *place, struct span rest)
{
    if (place->name)
        return log_setting(rest, place->name);
    const char *end = place->until ? memmem(rest.p, rest.n, place->until, strlen(place->until)) : NULL;
    if (place->until && !end)
        return (struct span){0};
    return (struct span){rest.p, end ? (size_t)(end - rest.p) : rest.n};
}

void places_read_line(struct engine_identity *id, const struct engine *g, struct span line)
{
    const char *phrase = NULL;
    struct span rest = {0};
    for (const struct engine_place *at = g->places; at && at->where; at++) {
        if (at->source != SOURCE_OUTPUT)
            continue;
        if (!phrase || strcmp(phrase, at->where) != 0)
            rest = span_behind(line, at->where);
        phrase = at->where;
        struct span text = rest.p ? behind_phrase(at, rest) : rest;
        /* A None that a setting has is nothing to log_setting. */
        if (!text.p && rest.p && at->take == TAKE_TEXT_OR_NONE &&
            span_behind(rest, arena_format(id->arena, " %s=None", at->name)).p)
            text = span_of("None");
        if (text.p)
            place_found(id, at, text, NULL);
    }
}

/* ---- command ---- */

/* The value of the last such option, or null. */
static const char *value_in_words(const struct command_words *w, size_t first, const struct engine_place *at)
{
    bool flag = at->take == TAKE_ON || at->take == TAKE_OFF;
    const char *value = NULL;
    for (size_t i = first; i < w->n; i++) {
        const char *word = w->list[i], *equals = word[0] == '-' ? strchr(word, '=') : NULL;
        if (!option_is(word, equals ? (size_t)(equals - word) : strlen(word), at->where))
            continue;
        if (flag && !at->until)
            value = equals ? equals + 1 : "true";
        else if (equals || i + 1 < w->n)
            value = equals ? equals + 1 : w->list[i + 1];
    }
    return value;
}

const char *place_in_command(const struct plan *p, const struct engine *g, enum engine_property property,
                             struct arena *a)
{
    struct command_words w = command_words(p, a);
    size_t first = 0;
    command_engine(&w, &first);
    for (const struct engine_place *at = g->places; at && at->where; at++) {
        if (at->source != SOURCE_COMMAND || at->property != property)
            continue;
        const char *said = value_in_words(&w, first, at);
        struct span text = said ? span_of(said) : (struct span){0};
        if (said && at->until)
            text = json_member(text, span_of(at->until));
        struct span value = text.p ? taken_value(at->take, text) : text;
        if (value.p && value.n)
            return arena_copy(a, value.p, value.n);
    }
    return NULL;
}
