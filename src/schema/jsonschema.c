#include "base/must.h"
#include "schema/json.h"
#include "schema/visit.h"

static void put_type(struct json_writer *w, const char *type, bool nullable)
{
    json_put_key(w, "type");
    if (!nullable) {
        json_put_text(w, type);
        return;
    }
    json_put_array(w);
    json_put_text(w, type);
    json_put_text(w, "null");
    json_put_array_end(w);
}

static void put_any_scalar(struct json_writer *w)
{
    json_put_key(w, "type");
    json_put_array(w);
    json_put_text(w, "string");
    json_put_text(w, "number");
    json_put_text(w, "boolean");
    json_put_text(w, "null");
    json_put_array_end(w);
}

static void put_bound(struct json_writer *w, const char *key, double value)
{
    json_put_key(w, key);
    json_put_f64(w, value);
}

static void put_struct(struct json_writer *w, const struct schema *s, bool for_user);
static void put_values(struct json_writer *w, const struct field *f, enum field_type type, bool for_user);

static void put_names(struct json_writer *w, const char *const *names, bool nullable)
{
    json_put_key(w, "enum");
    json_put_array(w);
    for (size_t i = 0; names[i]; i++)
        json_put_text(w, names[i]);
    if (nullable)
        json_put_null(w);
    json_put_array_end(w);
}

/* Of a user's list, one text that is split into words will do as well. */
static void put_list(struct json_writer *w, const struct field *f, bool for_user)
{
    json_put_key(w, for_user ? "anyOf" : "type");
    if (for_user) {
        json_put_array(w);
        json_put_object(w);
        put_type(w, "string", true);
        json_put_object_end(w);
        json_put_object(w);
        json_put_key(w, "type");
    }
    json_put_text(w, "array");
    json_put_key(w, "items");
    json_put_object(w);
    put_values(w, f, f->item, for_user);
    json_put_object_end(w);
    if (for_user) {
        json_put_object_end(w);
        json_put_array_end(w);
    }
}

/* What says which values of one type are right. */
static void put_values(struct json_writer *w, const struct field *f, enum field_type type, bool for_user)
{
    switch (type) {
    case FIELD_BOOL:
        put_type(w, "boolean", false);
        break;
    case FIELD_I64:
    case FIELD_F64:
        put_type(w, type == FIELD_I64 ? "integer" : "number", true);
        if (f->min < f->max) {
            put_bound(w, "minimum", f->min);
            put_bound(w, "maximum", f->max);
        }
        break;
    case FIELD_TEXT:
    case FIELD_HEX:
        if (for_user) /* every YAML scalar will do: `gpus: [0]`, `version: 1.20` */
            put_any_scalar(w);
        else
            put_type(w, "string", true);
        break;
    case FIELD_ENUM:
        put_names(w, f->names, !for_user || f->flags & FIELD_OPEN);
        break;
    case FIELD_QUANTITY:
        json_put_key(w, "$ref");
        json_put_text(w, "#/$defs/quantity");
        break;
    case FIELD_OBJECT:
        put_struct(w, f->sub, for_user);
        break;
    case FIELD_LIST:
        put_list(w, f, for_user);
        break;
    case FIELD_MAP:
        put_type(w, "object", for_user);
        json_put_key(w, "additionalProperties");
        json_put_object(w);
        put_type(w, "string", !for_user);
        json_put_object_end(w);
        break;
    }
}

static void put_default(struct json_writer *w, const struct field *f)
{
    if (f->type == FIELD_OBJECT || f->type == FIELD_LIST || f->type == FIELD_MAP || f->type == FIELD_QUANTITY)
        return;
    json_put_key(w, "default");
    if (f->type == FIELD_BOOL)
        json_put_bool(w, f->preset != 0);
    else if (f->type == FIELD_TEXT)
        json_put_text(w, f->preset_text);
    else if (!f->has_preset)
        json_put_null(w);
    else if (f->type == FIELD_ENUM)
        json_put_text(w, f->names[(int)f->preset]);
    else
        json_put_f64(w, f->preset);
}

static void put_field(struct json_writer *w, const struct field *f, bool for_user)
{
    if (for_user && (f->flags & FIELD_RESOLVED))
        return;
    json_put_key(w, f->key);
    json_put_object(w);
    if (f->doc) {
        json_put_key(w, "description");
        json_put_text(w, f->doc);
    }
    if (f->unit) {
        json_put_key(w, "x-unit");
        json_put_text(w, f->unit);
    }
    if (for_user && !(f->flags & FIELD_REQUIRED))
        put_default(w, f);
    put_values(w, f, f->type, for_user);
    json_put_object_end(w);
}

/* Members of an object's schema, into an object that is open. Required here: what a document always holds; of a user's,
 * no key, since jtok reads a missing one off the command or says so itself. */
static void put_struct(struct json_writer *w, const struct schema *s, bool for_user)
{
    put_type(w, "object", for_user);
    json_put_key(w, "properties");
    json_put_object(w);
    for (size_t i = 0; i < s->count; i++)
        put_field(w, &s->fields[i], for_user);
    json_put_object_end(w);
    if (for_user) {
        json_put_key(w, "additionalProperties");
        json_put_bool(w, false);
        return;
    }
    json_put_key(w, "required");
    json_put_array(w);
    for (size_t i = 0; i < s->count; i++)
        if (!(s->fields[i].flags & FIELD_OMIT_ABSENT))
            json_put_text(w, s->fields[i].key);
    json_put_array_end(w);
}

static void put_quantity_definition(struct json_writer *w)
{
    static const char *const numbers[] = {"value", "instrument", "calibration"};
    json_put_key(w, "$defs");
    json_put_object(w);
    json_put_key(w, "quantity");
    json_put_object(w);
    json_put_key(w, "description");
    json_put_text(
        w, "A value with its state and its uncertainties (k = 2, in the value's unit); the value is null where the "
           "state has none.");
    put_type(w, "object", false);
    json_put_key(w, "properties");
    json_put_object(w);
    for (size_t i = 0; i < 3; i++) {
        json_put_key(w, numbers[i]);
        json_put_object(w);
        put_type(w, "number", true);
        json_put_object_end(w);
    }
    json_put_key(w, "state");
    json_put_object(w);
    put_names(w, q_state_names, false);
    json_put_object_end(w);
    json_put_key(w, "why");
    json_put_object(w);
    put_type(w, "string", true);
    json_put_object_end(w);
    json_put_object_end(w);
    json_put_key(w, "required");
    json_put_array(w);
    for (size_t i = 0; i < 3; i++)
        json_put_text(w, numbers[i]);
    json_put_text(w, "state");
    json_put_text(w, "why");
    json_put_array_end(w);
    json_put_object_end(w);
    json_put_object_end(w);
}

static bool has_quantity(const struct schema *s)
{
    for (const struct field *f = s->fields; f < s->fields + s->count; f++)
        if (f->type == FIELD_QUANTITY || (f->type == FIELD_LIST && f->item == FIELD_QUANTITY) ||
            (f->sub && has_quantity(f->sub)))
            return true;
    return false;
}

void schema_jsonschema(const struct schema *s, bool for_user, struct buf *b)
{
    must(s->name);
    struct json_writer w;
    json_writer_init(&w, b, 2);
    json_put_object(&w);
    json_put_key(&w, "$schema");
    json_put_text(&w, "https://json-schema.org/draft/2020-12/schema");
    json_put_key(&w, "title");
    json_put_text(&w, s->name);
    if (s->doc) {
        json_put_key(&w, "description");
        json_put_text(&w, s->doc);
    }
    put_struct(&w, s, for_user);
    if (has_quantity(s))
        put_quantity_definition(&w);
    json_put_object_end(&w);
    buf_byte(b, '\n');
}
