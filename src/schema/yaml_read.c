#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml.h>
#include "base/must.h"
#include "base/utf8.h"
#include "schema/parse.h"
#include "schema/yaml.h"

/* A file whose brackets nest deeper than this is no plan; libyaml would take quadratic time on it. */
enum { YAML_DEPTH_MAX = 16, KEYS_MAX = 64 };

struct yaml_reader {
    yaml_parser_t parser;
    yaml_event_t event;
    bool have_event, dead;
    int depth;
    const struct schema *root;
    const char *source;
    const struct spot *fixed; /* where everything stands, or null: by libyaml's marks */
    struct problems *p;
    struct buf path;
};

static struct spot spot_here(struct yaml_reader *r)
{
    struct spot at = {r->source, r->event.start_mark.line + 1, r->event.start_mark.column + 1, buf_text(&r->path)};
    if (r->fixed)
        at = (struct spot){r->fixed->source, r->fixed->line, r->fixed->column, at.path};
    if (!r->path.n)
        at.path = NULL;
    return at;
}

static void die(struct yaml_reader *r, const struct spot *at, const char *text)
{
    problems_add_at(r->p, SPOT_ARG(at), "%s", text);
    r->dead = true;
}

static void syntax_error(struct yaml_reader *r)
{
    yaml_parser_t *y = &r->parser;
    yaml_mark_t mark = y->problem_mark;
    struct spot at = {r->source, mark.line + 1, mark.column + 1, NULL};
    if (r->fixed)
        at = (struct spot){r->fixed->source, r->fixed->line, r->fixed->column, NULL};
    if (y->error == YAML_READER_ERROR)
        at.line = at.column = 0;
    const char *context = y->context ? y->context : "", *problem = y->problem ? y->problem : "it can't be read";
    problems_add_at(r->p, SPOT_ARG(&at), "This is not YAML: %s%s%s.", context, *context ? ": " : "", problem);
    r->dead = true;
}

/* What a plan may not use of YAML; null: it is fine. */
static const char *refused(const struct yaml_reader *r)
{
    const yaml_event_t *e = &r->event;
    bool scalar = e->type == YAML_SCALAR_EVENT, list = e->type == YAML_SEQUENCE_START_EVENT,
         section = e->type == YAML_MAPPING_START_EVENT;
    const yaml_char_t *anchor = scalar    ? e->data.scalar.anchor
                                : list    ? e->data.sequence_start.anchor
                                : section ? e->data.mapping_start.anchor
                                          : NULL;
    const yaml_char_t *tag = scalar    ? e->data.scalar.tag
                             : list    ? e->data.sequence_start.tag
                             : section ? e->data.mapping_start.tag
                                       : NULL;
    if (e->type == YAML_ALIAS_EVENT)
        return "Aliases (*name) are not supported. Write the value out.";
    if (anchor)
        return "Anchors (&name) are not supported. Write the value out.";
    if (tag)
        return "Tags (!name) are not supported. Leave the tag out: the key decides what the value is.";
    return r->depth > YAML_DEPTH_MAX ? "The brackets are nested too deeply for a plan." : NULL;
}

/* The next event that carries content. After a fault, only YAML_NO_EVENT. */
static yaml_event_type_t next(struct yaml_reader *r)
{
    if (r->have_event)
        yaml_event_delete(&r->event);
    r->have_event = false;
    if (r->dead)
        return YAML_NO_EVENT;
    if (!yaml_parser_parse(&r->parser, &r->event)) {
        syntax_error(r);
        return YAML_NO_EVENT;
    }
    r->have_event = true;
    yaml_event_type_t type = r->event.type;
    r->depth += (type == YAML_SEQUENCE_START_EVENT || type == YAML_MAPPING_START_EVENT) -
                (type == YAML_SEQUENCE_END_EVENT || type == YAML_MAPPING_END_EVENT);
    const char *why = refused(r);
    if (!why)
        return type;
    struct spot at = spot_here(r);
    die(r, &at, why);
    return YAML_NO_EVENT;
}

static struct span event_text(const struct yaml_reader *r)
{
    return (struct span){(const char *)r->event.data.scalar.value, r->event.data.scalar.length};
}

static bool scalar_is_plain(const struct yaml_reader *r)
{
    return r->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

static bool scalar_is_null(const struct yaml_reader *r)
{
    struct span s = event_text(r);
    return scalar_is_plain(r) && (s.n == 0 || span_is(s, "null") || span_is(s, "~"));
}

/* The rest of the value whose first event was just read. */
static void skip_value(struct yaml_reader *r)
{
    int depth = r->depth;
    if (!r->have_event || (r->event.type != YAML_MAPPING_START_EVENT && r->event.type != YAML_SEQUENCE_START_EVENT))
        return;
    while (!r->dead && r->depth >= depth)
        next(r);
}

static const char *event_words(const struct yaml_reader *r)
{
    return r->event.type == YAML_MAPPING_START_EVENT    ? "a section of keys"
           : r->event.type == YAML_SEQUENCE_START_EVENT ? "a list"
                                                        : "a single value";
}

static void wrong_shape(struct yaml_reader *r, const struct field *f, enum field_type type)
{
    struct spot at = spot_here(r);
    struct buf allowed = {0};
    put_allowed(f, type, &allowed);
    problems_add_at(r->p, SPOT_ARG(&at), "This is %s. Allowed here: %s.", event_words(r), buf_text(&allowed));
    buf_done(&allowed);
    skip_value(r);
}

static void read_yaml_object(struct yaml_reader *r, const struct schema *s, void *object);

static void read_sequence(struct yaml_reader *r, const struct slot *list)
{
    const struct field *f = list->field;
    size_t n = r->path.n, count = 0;
    void *items = NULL;
    yaml_event_type_t type;
    while ((type = next(r)) != YAML_NO_EVENT && type != YAML_SEQUENCE_END_EVENT) {
        buf_fmt(&r->path, ".%zu", count);
        struct spot at = spot_here(r);
        const struct slot item = {f, f->item, list_push(r->p->arena, &items, &count, field_item_size(f)), NULL};
        if (f->item == FIELD_OBJECT && type == YAML_MAPPING_START_EVENT) {
            schema_defaults(f->sub, slot_object(&item));
            read_yaml_object(r, f->sub, slot_object(&item));
        } else if (f->item != FIELD_OBJECT && type == YAML_SCALAR_EVENT) {
            parse_value(&item, event_text(r), false, &at, r->p);
        } else {
            wrong_shape(r, f, f->item);
        }
        r->path.n = n;
    }
    slot_set_items(list, items, count);
}

/* The name of a map's entry, just read; the value is still to come. */
static struct field_pair *read_name(struct yaml_reader *r, void **items, size_t *count)
{
    struct span name = event_text(r);
    buf_byte(&r->path, '.');
    buf_add(&r->path, name.p, name.n);
    struct spot at = spot_here(r);
    bool twice = false;
    for (size_t i = 0; i < *count; i++)
        twice = twice || span_is(name, ((struct field_pair *)*items)[i].name);
    if (twice)
        problems_add_at(r->p, SPOT_ARG(&at), "Duplicate name. Keep one of them.");
    else if (name.n == 0 || memchr(name.p, 0, name.n))
        problems_add_at(r->p, SPOT_ARG(&at), "A name must not be empty or contain a NUL byte.");
    problems_place(r->p, at.source, at.line, at.column, at.path);
    struct field_pair *pair = list_push(r->p->arena, items, count, sizeof *pair);
    *pair = (struct field_pair){arena_copy(r->p->arena, name.p, name.n), ""};
    return pair;
}

static void read_named_items(struct yaml_reader *r, const struct slot *map)
{
    size_t n = r->path.n, count = 0;
    void *items = NULL;
    yaml_event_type_t type;
    while ((type = next(r)) == YAML_SCALAR_EVENT) {
        struct field_pair *pair = read_name(r, &items, &count);
        if (next(r) == YAML_SCALAR_EVENT) {
            struct spot at = spot_here(r);
            parse_text(&pair->value, event_text(r), &at, r->p);
        } else if (!r->dead) {
            wrong_shape(r, map->field, FIELD_TEXT);
        }
        r->path.n = n;
    }
    if (type != YAML_MAPPING_END_EVENT && !r->dead) {
        struct spot at = spot_here(r);
        die(r, &at, "A key must be a single text.");
    }
    slot_set_items(map, items, count);
}

static void read_words(struct yaml_reader *r, const struct slot *list)
{
    struct spot at = spot_here(r);
    const char **words;
    size_t count;
    if (parse_words(event_text(r), &words, &count, &at, r->p))
        slot_set_items(list, words, count);
}

/* The value whose first event was just read. */
static void read_node(struct yaml_reader *r, const struct slot *s)
{
    yaml_event_type_t type = r->event.type;
    bool scalar = type == YAML_SCALAR_EVENT, none = scalar && scalar_is_null(r);
    struct spot at = spot_here(r);
    if (s->type == FIELD_OBJECT && type == YAML_MAPPING_START_EVENT) {
        read_yaml_object(r, s->field->sub, slot_object(s));
    } else if (s->type == FIELD_LIST && type == YAML_SEQUENCE_START_EVENT) {
        read_sequence(r, s);
    } else if (s->type == FIELD_MAP && type == YAML_MAPPING_START_EVENT) {
        read_named_items(r, s);
    } else if (s->type == FIELD_OBJECT || s->type == FIELD_MAP || s->type == FIELD_LIST) {
        if (none && s->type != FIELD_OBJECT)
            slot_set_absent(s);
        else if (scalar && s->type == FIELD_LIST && s->field->item == FIELD_TEXT)
            read_words(r, s);
        else if (!none)
            wrong_shape(r, s->field, s->type);
    } else if (scalar) {
        parse_value(s, event_text(r), scalar_is_plain(r), &at, r->p);
    } else {
        wrong_shape(r, s->field, s->type);
    }
}

/* One key, just read, and its value. */
static void read_yaml_key(struct yaml_reader *r, const struct schema *s, void *object, size_t *seen_lines)
{
    struct span key = event_text(r);
    struct slot slot;
    const struct field *f = slot_find(s, object, key, &slot) ? slot.field : NULL;
    if (r->path.n)
        buf_byte(&r->path, '.');
    buf_add(&r->path, key.p, key.n);
    struct spot at = spot_here(r);
    if (!f) {
        problem_unknown_key(r->root, s, key, &at, r->p);
    } else if (f->flags & FIELD_RESOLVED) {
        problems_add_at(r->p, SPOT_ARG(&at), "This is filled in by jtok. Leave it out.");
        f = NULL;
    } else if (seen_lines[f - s->fields]) {
        problems_add_at(r->p, SPOT_ARG(&at), "Duplicate key, first defined on line %zu. Keep one of them.",
                        seen_lines[f - s->fields]);
        f = NULL;
    } else {
        seen_lines[f - s->fields] = r->event.start_mark.line + 1;
        problems_place(r->p, at.source, at.line, at.column, at.path);
    }
    if (next(r) == YAML_NO_EVENT)
        return;
    if (f)
        read_node(r, &slot);
    else
        skip_value(r);
}

/* A mapping whose start was just read. */
static void read_yaml_object(struct yaml_reader *r, const struct schema *s, void *object)
{
    size_t seen_lines[KEYS_MAX] = {0}, n = r->path.n;
    yaml_event_type_t type;
    must(s->count <= KEYS_MAX);
    while ((type = next(r)) == YAML_SCALAR_EVENT) {
        read_yaml_key(r, s, object, seen_lines);
        r->path.n = n;
    }
    if (type != YAML_MAPPING_END_EVENT && !r->dead) {
        struct spot at = spot_here(r);
        die(r, &at, "A key must be a single text.");
    }
}

static void reader_open(struct yaml_reader *r, const char *source, struct span text)
{
    if (!yaml_parser_initialize(&r->parser)) {
        const struct spot at = {source, 0, 0, NULL};
        die(r, &at, "The YAML reader is out of memory.");
        return;
    }
    text = utf8_without_mark(text);
    yaml_parser_set_input_string(&r->parser, (const unsigned char *)(text.p ? text.p : ""), text.n);
    yaml_parser_set_encoding(&r->parser, YAML_UTF8_ENCODING);
    next(r); /* stream start */
}

static void reader_close(struct yaml_reader *r)
{
    if (r->have_event)
        yaml_event_delete(&r->event);
    yaml_parser_delete(&r->parser);
    buf_done(&r->path);
}

/* Nothing may stand behind the first document. */
static void expect_end(struct yaml_reader *r)
{
    if (!r->dead && next(r) == YAML_DOCUMENT_END_EVENT && next(r) == YAML_DOCUMENT_START_EVENT) {
        struct spot at = spot_here(r);
        die(r, &at, "A second document starts here, but a file must hold only one.");
    }
}

bool schema_yaml_read(const struct schema *s, void *object, const char *source, struct span text, struct problems *p)
{
    must(object && source && p->arena);
    struct yaml_reader r = {.root = s, .source = arena_text(p->arena, source), .p = p};
    size_t before = p->count;
    reader_open(&r, source, text);
    if (!r.dead && next(&r) == YAML_DOCUMENT_START_EVENT) {
        if (next(&r) == YAML_MAPPING_START_EVENT) {
            read_yaml_object(&r, s, object);
        } else if (!r.dead && !(r.event.type == YAML_SCALAR_EVENT && scalar_is_null(&r))) {
            struct spot at = spot_here(&r);
            struct buf allowed = {0};
            put_allowed(&(struct field){.sub = s}, FIELD_OBJECT, &allowed);
            problems_add_at(p, SPOT_ARG(&at), "The document is %s. Expected: %s.", event_words(&r), buf_text(&allowed));
            buf_done(&allowed);
            skip_value(&r);
        }
        expect_end(&r);
    }
    reader_close(&r);
    return p->count == before;
}

bool yaml_read_value(const struct schema *root, const struct slot *s, const struct spot *at, struct span text,
                     struct problems *p)
{
    must(at->source && at->path);
    struct yaml_reader r = {.root = root, .source = at->source, .fixed = at, .p = p};
    size_t before = p->count;
    buf_str(&r.path, at->path);
    reader_open(&r, at->source, text);
    if (!r.dead && next(&r) == YAML_DOCUMENT_START_EVENT && next(&r) != YAML_NO_EVENT) {
        read_node(&r, s);
        expect_end(&r);
    }
    reader_close(&r);
    return p->count == before;
}
