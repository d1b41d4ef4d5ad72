#include "report/report.h"

#include <math.h>
#include <string.h>
#include "base/arena.h"
#include "text/csv.h"

static void put_text(struct buf *out, const char *text, char separator)
{
    csv_put_shown(out, span_of(text ? text : ""), separator);
}

static void put_number(struct buf *out, double value, char separator)
{
    if (!isnan(value))
        num_put_f64(out, value);
    buf_byte(out, separator);
}

/* One value that is no quantity: it is there, or it was not recorded. */
static void put_plain(struct buf *out, const char *path, const char *unit, const char *value)
{
    put_text(out, path, ',');
    put_text(out, unit, ',');
    put_text(out, value, ',');
    put_text(out, value ? "measured" : "not recorded", ',');
    buf_str(out, ",,\n");
}

static void put_quantity(struct buf *out, const char *path, const char *unit, const struct quantity *q)
{
    put_text(out, path, ',');
    put_text(out, unit, ',');
    put_number(out, quantity_has_value(q) ? q->value : NAN, ',');
    put_text(out, quantity_state_words(q), ',');
    put_text(out, q->why, ',');
    put_number(out, quantity_has_value(q) ? q->instrument : NAN, ',');
    put_number(out, quantity_has_value(q) ? q->calibration : NAN, '\n');
}

static void put_object(struct buf *out, const struct schema *s, const char *object, const char *path, const char *unit,
                       struct arena *a);

/* What a list calls its item: the value of its first field where that is a name or a key, else its position. */
static const char *item_name(const struct schema *s, const char *item, size_t i, struct arena *a)
{
    const struct field *f = s->count ? &s->fields[0] : NULL;
    if (f && f->type == FIELD_ENUM && *(const int *)(item + f->offset) >= 0) {
        const char *name = f->names[*(const int *)(item + f->offset)];
        /* Two names where the second field is one, too: reading and K of the steady table. */
        const struct field *g = s->count > 1 ? &s->fields[1] : NULL;
        if (g && g->type == FIELD_ENUM && strcmp(s->name, "result_check") != 0 && strcmp(s->name, "result_flag") != 0)
            return arena_format(a, "%s.%s", name, g->names[*(const int *)(item + g->offset)]);
        return name;
    }
    const char *key = f && f->type == FIELD_TEXT && strcmp(f->key, "key") == 0
                          ? *(const char *const *)(const void *)(item + f->offset)
                          : NULL;
    if (key)
        return key;
    return arena_format(a, "%zu", i);
}

static void put_list(struct buf *out, const struct field *f, const char *object, const char *path, const char *unit,
                     struct arena *a)
{
    const char *items = *(const char *const *)(object + f->offset);
    size_t n = *(const size_t *)(const void *)(object + f->count_offset);
    for (size_t i = 0; i < n; i++) {
        if (f->item == FIELD_OBJECT) {
            const char *item = items + i * f->sub->size;
            put_object(out, f->sub, item, arena_format(a, "%s.%s", path, item_name(f->sub, item, i, a)), unit, a);
        } else if (f->item == FIELD_TEXT) {
            put_plain(out, arena_format(a, "%s.%zu", path, i), f->unit, ((const char *const *)(const void *)items)[i]);
        } else if (f->item == FIELD_F64) {
            struct quantity q = quantity_of(((const double *)(const void *)items)[i]);
            put_quantity(out, arena_format(a, "%s.%zu", path, i), f->unit, &q);
        }
    }
}

/* `unit`: of the object, for fields that have no other. */
static void put_field(struct buf *out, const struct field *f, const char *object, const char *path, const char *unit,
                      struct arena *a)
{
    const char *own = f->flags & FIELD_UNIT_OF_OBJECT ? unit : f->unit;
    const void *at = object + f->offset;
    switch (f->type) {
    case FIELD_BOOL:
        put_plain(out, path, own, *(const bool *)at ? "true" : "false");
        break;
    case FIELD_I64: {
        int64_t value = *(const int64_t *)at;
        put_plain(out, path, own, value == ABSENT_I64 ? NULL : arena_format(a, "%lld", (long long)value));
        break;
    }
    case FIELD_F64: {
        struct quantity q = quantity_of(*(const double *)at);
        put_quantity(out, path, own, &q);
        break;
    }
    case FIELD_TEXT:
        put_plain(out, path, own, *(const char *const *)at);
        break;
    case FIELD_ENUM:
        put_plain(out, path, own, *(const int *)at < 0 ? NULL : f->names[*(const int *)at]);
        break;
    case FIELD_QUANTITY:
        put_quantity(out, path, own, at);
        break;
    case FIELD_OBJECT:
        put_object(out, f->sub, at, path, unit, a);
        break;
    case FIELD_LIST:
        put_list(out, f, object, path, unit, a);
        break;
    case FIELD_MAP:
        break;
    }
}

static void put_object(struct buf *out, const struct schema *s, const char *object, const char *path, const char *unit,
                       struct arena *a)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->fields[i].type == FIELD_TEXT && strcmp(s->fields[i].key, "unit") == 0)
            unit = *(const char *const *)(const void *)(object + s->fields[i].offset);
    for (size_t i = 0; i < s->count; i++)
        put_field(out, &s->fields[i], object,
                  path[0] ? arena_format(a, "%s.%s", path, s->fields[i].key) : s->fields[i].key, unit, a);
}

void report_csv_rows(const struct schema *s, const void *object, const char *prefix, struct buf *out)
{
    struct arena a = {0};
    put_object(out, s, object, prefix, NULL, &a);
    arena_done(&a);
}

void report_csv_header(struct buf *out)
{
    buf_str(out, "metric,unit,value,state,why,instrument,calibration\n");
}

void report_csv(const struct result *r, struct buf *out)
{
    /* The decisions are the method's text, not values: `jtok method` prints them. */
    struct result without = *r;
    without.decision_count = 0;
    report_csv_header(out);
    report_csv_rows(&result_schema, &without, "", out);
}
