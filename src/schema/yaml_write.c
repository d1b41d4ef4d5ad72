#include <math.h>
#include "base/buf.h"
#include "base/utf8.h"
#include "base/quantity.h"
#include "schema/yaml.h"

/* Letters, digits and a few marks that mean nothing to YAML, with no mark of a number or null's own. */
static bool is_plain(struct span s)
{
    if (s.n == 0 || span_is(s, "null") || span_is(s, "~"))
        return false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' || c == '_';

        if (!word && !(i > 0 && (c == '.' || c == '-' || c == '+')))
            return false;
    }
    return true;
}

static void put_ascii(struct buf *b, char c)
{
    if (c == '"' || c == '\\')
        buf_fmt(b, "\\%c", c);
    else if (c == '\n')
        buf_str(b, "\\n");
    else if (c == '\t')
        buf_str(b, "\\t");
    else if (c < 0x20 || c == 0x7f)
        buf_fmt(b, "\\x%02X", (unsigned)c);
    else
        buf_byte(b, c);
}

/* Bytes that are no UTF-8, which YAML can't hold, become U+FFFD; what YAML's readers take for a line end, a byte order
 * mark or no character at all is escaped, as is all else that is unsafe to show. */
static void put_quoted(struct buf *b, struct span s)
{
    buf_byte(b, '"');
    while (s.n) {
        size_t n;
        uint32_t code = utf8_first(s, &n);

        if (code < 0x80)
            put_ascii(b, *s.p);
        else if (code == UTF8_ILL_FORMED)
            buf_str(b, "\\uFFFD");
        else if (utf8_is_unsafe(code))
            buf_fmt(b, code > 0xffff ? "\\U%08X" : "\\u%04X", code);
        else
            buf_add(b, s.p, n);
        s.p += n;
        s.n -= n;
    }
    buf_byte(b, '"');
}

static void put_text(struct buf *b, const char *text)
{
    if (!text)
        buf_str(b, "null");
    else if (is_plain(span_of(text)))
        buf_str(b, text);
    else
        put_quoted(b, span_of(text));
}

static void put_scalar(struct buf *b, const struct field *f, enum field_type type, const void *at)
{
    switch (type) {
    case FIELD_BOOL:
        buf_str(b, *(const bool *)at ? "true" : "false");
        break;
    case FIELD_I64:
        if (*(const int64_t *)at == ABSENT_I64)
            buf_str(b, "null");
        else
            buf_i64(b, *(const int64_t *)at);
        break;
    case FIELD_F64:
        if (isfinite(*(const double *)at))
            num_put_f64(b, *(const double *)at);
        else
            buf_str(b, "null");
        break;
    case FIELD_ENUM:
        put_text(b, *(const int *)at < 0 ? NULL : f->names[*(const int *)at]);
        break;
    case FIELD_LIST:
    case FIELD_MAP:
    case FIELD_OBJECT:
    case FIELD_QUANTITY:
    case FIELD_TEXT:
    default:
        put_text(b, *(const char *const *)at);
    }
}

static void indent(struct buf *b, int level)
{
    for (int i = 0; i < level; i++)
        buf_str(b, "  ");
}

static void put_object(struct buf *b, const struct schema *s, const void *object, int level, bool docs);

static void put_items(struct buf *b, const struct field *f, const void *object, int level, bool docs)
{
    const char *items = *(char *const *)((const char *)object + f->offset);
    size_t count = *(const size_t *)((const char *)object + f->count_offset);

    if (count == 0) {
        buf_str(b, f->type == FIELD_MAP ? " {}\n" : " []\n");
        return;
    }
    buf_byte(b, '\n');
    for (size_t i = 0; i < count; i++) {
        const char *item = items + i * field_item_size(f);

        indent(b, level + 1);
        if (f->type == FIELD_MAP) {
            put_text(b, ((const struct field_pair *)item)->name);
            buf_str(b, ": ");
            put_text(b, ((const struct field_pair *)item)->value);
            buf_byte(b, '\n');
        } else if (f->item == FIELD_OBJECT) {
            buf_str(b, "-\n");
            put_object(b, f->sub, item, level + 2, docs);
        } else {
            buf_str(b, "- ");
            put_scalar(b, f, f->item, item);
            buf_byte(b, '\n');
        }
    }
}

static void put_doc(struct buf *b, const struct field *f, int level)
{
    indent(b, level);
    buf_fmt(b, "# %s", f->doc);
    if (f->unit)
        buf_fmt(b, " [%s]", f->unit);
    buf_byte(b, '\n');
}

static void put_object(struct buf *b, const struct schema *s, const void *object, int level, bool docs)
{
    for (const struct field *f = s->fields; f < s->fields + s->count; f++) {
        const void *at = (const char *)object + f->offset;
        bool resolved = f->flags & FIELD_RESOLVED;

        if (resolved && f->type == FIELD_TEXT && !*(const char *const *)at)
            continue;
        if (docs && f->doc)
            put_doc(b, f, level);
        indent(b, level);
        if (resolved)
            buf_str(b, "# ");
        buf_fmt(b, "%s:", f->key);
        if (f->type == FIELD_OBJECT) {
            buf_byte(b, '\n');
            put_object(b, f->sub, at, level + 1, docs);
        } else if (f->type == FIELD_LIST || f->type == FIELD_MAP) {
            put_items(b, f, object, level, docs);
        } else {
            buf_byte(b, ' ');
            put_scalar(b, f, f->type, at);
            buf_byte(b, '\n');
        }
    }
}

void schema_yaml_write(const struct schema *s, const void *object, bool docs, struct buf *b)
{
    put_object(b, s, object, 0, docs);
}
