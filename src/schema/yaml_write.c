#include "base/must.h"
#include "base/utf8.h"
#include "schema/visit.h"
#include "schema/yaml.h"

/* Letters, digits and a few marks that mean nothing to YAML, with no mark of a number or null's own. */
static bool needs_no_quotes(struct span s)
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
static void write_quoted(struct buf *b, struct span s)
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

static void write_text(struct buf *b, const char *text)
{
    if (!text)
        buf_str(b, "null");
    else if (needs_no_quotes(span_of(text)))
        buf_str(b, text);
    else
        write_quoted(b, span_of(text));
}

static void put_scalar(struct buf *b, const struct slot *s)
{
    if (s->type == FIELD_TEXT || s->type == FIELD_ENUM)
        write_text(b, slot_text(s));
    else if (slot_is_absent(s))
        buf_str(b, "null");
    else
        slot_put(s, b);
}

struct writer {
    struct buf *b;
    bool docs;
};

static void indent(struct buf *b, size_t level)
{
    for (size_t i = 0; i < level; i++)
        buf_str(b, "  ");
}

static void put_doc(struct buf *b, const struct field *f, size_t level)
{
    indent(b, level);
    buf_fmt(b, "# %s", f->doc);
    if (f->unit)
        buf_fmt(b, " [%s]", f->unit);
    buf_byte(b, '\n');
}

/* All in front of a value: "key:", "name:" or "-". False: the value is left out. */
static bool write_key(struct writer *w, const struct visit *v)
{
    const struct field *f = v->slot.field;
    bool resolved = f->flags & FIELD_RESOLVED;
    if (resolved && v->slot.type == FIELD_TEXT && slot_is_absent(&v->slot))
        return false;
    if (!v->item && w->docs && f->doc)
        put_doc(w->b, f, v->depth);
    indent(w->b, v->depth);
    if (resolved)
        buf_str(w->b, "# ");
    if (!v->item)
        buf_str(w->b, f->key);
    else if (v->key)
        write_text(w->b, v->key);
    buf_byte(w->b, v->key ? ':' : '-');
    return true;
}

static bool enter_slot(void *self, const struct visit *v)
{
    struct writer *w = self;
    bool many = v->slot.type == FIELD_LIST || v->slot.type == FIELD_MAP;
    if (!write_key(w, v))
        return false;
    if (many && slot_count(&v->slot) == 0)
        buf_str(w->b, v->slot.type == FIELD_MAP ? " {}" : " []");
    buf_byte(w->b, '\n');
    return true;
}

static void write_value(void *self, const struct visit *v)
{
    struct writer *w = self;
    if (!write_key(w, v))
        return;
    buf_byte(w->b, ' ');
    put_scalar(w->b, &v->slot);
    buf_byte(w->b, '\n');
}

void schema_yaml_write(const struct schema *s, const void *object, bool docs, struct buf *b)
{
    must(object);
    struct writer w = {b, docs};
    schema_visit(s, object, "", &(struct visitor){.self = &w, .enter = enter_slot, .value = write_value});
}
