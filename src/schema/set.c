#include "schema/set.h"

#include "base/must.h"
#include "schema/parse.h"

static bool set_entry(const struct slot *map, struct span name, struct span value, const struct spot *at,
                      struct problems *p)
{
    const char *text;
    if (!parse_text(&text, value, at, p))
        return false;
    /* A fresh list: the old one may be a constant of the defaults. */
    size_t count = slot_count(map);
    struct field_pair *list = arena_array(p->arena, count + 1, sizeof *list), *pair = NULL;
    for (size_t i = 0; i < count; i++) {
        struct slot old = slot_item(map, i);
        list[i] = (struct field_pair){slot_item_name(map, i), slot_text(&old)};
        if (span_is(name, list[i].name))
            pair = &list[i];
    }
    if (!pair) {
        pair = &list[count++];
        pair->name = arena_copy(p->arena, name.p, name.n);
    }
    pair->value = text;
    slot_set_items(map, list, count);
    return true;
}

static bool set_words(const struct slot *list, struct span value, const struct spot *at, struct problems *p)
{
    const char **words;
    size_t count;
    if (list->field->item != FIELD_TEXT)
        return problem_wrong_value(list->field, list->type, value, at, p);
    if (!parse_words(value, &words, &count, at, p))
        return false;
    slot_set_items(list, words, count);
    return true;
}

static bool set_slot(const struct schema *root, const struct slot *s, struct span value, const struct spot *at,
                     struct problems *p)
{
    bool flow = value.n && (value.p[0] == '[' || value.p[0] == '{');
    bool many = s->type == FIELD_LIST || s->type == FIELD_MAP;
    if (s->field->flags & FIELD_RESOLVED) {
        problems_add_at(p, SPOT_ARG(at), "This is filled in by jtok. Leave it out.");
        return false;
    }
    if (flow && (many || s->type == FIELD_OBJECT))
        return yaml_read_value(root, s, at, value, p);
    return s->type == FIELD_LIST ? set_words(s, value, at, p) : parse_value(s, value, value.n > 0, at, p);
}

bool schema_set(const struct schema *s, void *object, const char *source, struct span key_path, struct span value,
                struct problems *p)
{
    must(object && source && p);
    const struct schema *here = s;
    const struct spot whole = {source, 0, 0, arena_copy(p->arena, key_path.p, key_path.n)};
    struct span rest = key_path;
    size_t before = p->count;
    for (;;) {
        const char *dot = rest.n ? memchr(rest.p, '.', rest.n) : NULL;
        struct span key = {rest.p, dot ? (size_t)(dot - rest.p) : rest.n};
        const struct spot at = {source, 0, 0, arena_copy(p->arena, key_path.p, (size_t)(key.p - key_path.p) + key.n)};
        struct slot slot;
        if (!slot_find(here, object, key, &slot)) {
            problem_unknown_key(s, here, key, &at, p);
            return false;
        }
        if (!dot) {
            problems_place(p, source, 0, 0, whole.path);
            return set_slot(s, &slot, value, &whole, p) && p->count == before;
        }
        rest.p += key.n + 1;
        rest.n -= key.n + 1;
        if (slot.type == FIELD_MAP) {
            problems_place(p, source, 0, 0, whole.path);
            return set_entry(&slot, rest, value, &whole, p);
        }
        if (slot.type != FIELD_OBJECT) {
            problems_add_at(p, SPOT_ARG(&at), "This key has no keys below it. Set it as a whole.");
            return false;
        }
        object = slot_object(&slot);
        here = slot.field->sub;
    }
}

bool schema_set_argument(const struct schema *s, void *object, const char *argument, struct problems *p)
{
    must(argument);
    const char *equals = strchr(argument, '=');
    if (!equals || equals == argument) {
        problems_add_at(p, arena_format(p->arena, "--set %.60s", argument), 0, 0, NULL, "Write it as KEY=VALUE.");
        return false;
    }
    struct span key = {argument, (size_t)(equals - argument)};
    return schema_set(s, object, "--set", key, span_of(equals + 1), p);
}

bool schema_set_or_err(const struct schema *s, void *object, const char *argument, struct arena *a, struct err *e)
{
    struct problems p;
    problems_init(&p, a, NULL);
    schema_set_argument(s, object, argument, &p);
    return problems_none(&p, ERR_USAGE, e);
}

static void check_required_slot(void *self, const struct visit *v)
{
    if ((v->slot.field->flags & FIELD_REQUIRED) && slot_is_absent(&v->slot))
        problems_add(self, v->path, "Required, but missing: %s", v->slot.field->doc);
}

static bool enter_required(void *self, const struct visit *v)
{
    if (v->slot.type == FIELD_OBJECT)
        return true;
    check_required_slot(self, v);
    return false;
}

void schema_check_required(const struct schema *s, const void *object, struct problems *p)
{
    must(p && p->arena);
    schema_visit(s, object, "", &(struct visitor){.self = p, .enter = enter_required, .value = check_required_slot});
}
