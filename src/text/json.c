#include "text/json.h"

#include <assert.h>
#include <limits.h>
#include "base/num.h"
#include "base/utf8.h"
#include "text/scan.h"
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* What the grammar allows next. */
enum {
    EXPECT_VALUE,
    EXPECT_VALUE_OR_END, /* just behind '[' */
    EXPECT_KEY,
    EXPECT_KEY_OR_END, /* just behind '{' */
    EXPECT_COMMA,      /* or the end of the container */
    EXPECT_NOTHING,    /* the outermost value is complete */
    FAILED,
};

void json_init(struct json *j, struct span text)
{
    assert(text.p || text.n == 0);
    const char *start = text.n ? text.p : "";
    *j = (struct json){.start = start, .at = start, .end = start + text.n, .kind = JSON_END, .expect = EXPECT_VALUE};
}

static enum json_kind json_failed(struct json *j, const char *at, const char *fault)
{
    j->at = at;
    j->fault = fault;
    j->expect = FAILED;
    return j->kind = JSON_ERROR;
}

static const char *skip_space(const char *p, const char *end)
{
    while (p < end && (unsigned char)*p <= ' ' && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
        p++;
    return p;
}

static bool in_object(const struct json *j)
{
    return j->depth && (j->is_object >> (j->depth - 1) & 1);
}

static enum json_kind value_done(struct json *j, enum json_kind kind, const char *at)
{
    j->at = at;
    j->expect = j->depth ? EXPECT_COMMA : EXPECT_NOTHING;
    return j->kind = kind;
}

static enum json_kind open_container(struct json *j, const char *p, bool object)
{
    if (j->depth == JSON_DEPTH_MAX)
        return json_failed(j, p, "nested more than 64 deep");
    uint64_t bit = UINT64_C(1) << j->depth++;
    j->is_object = object ? j->is_object | bit : j->is_object & ~bit;
    j->expect = object ? EXPECT_KEY_OR_END : EXPECT_VALUE_OR_END;
    j->at = p + 1;
    return j->kind = object ? JSON_OBJECT : JSON_ARRAY;
}

static enum json_kind close_container(struct json *j, const char *p)
{
    enum json_kind kind = in_object(j) ? JSON_OBJECT_END : JSON_ARRAY_END;
    j->depth--;
    return value_done(j, kind, p + 1);
}

const char *json_plain_end(const char *p, const char *end)
{
#ifdef __SSE2__
    for (; end - p >= 16; p += 16) {
        __m128i word = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(word, _mm_set1_epi8(0x1f)), word);
        __m128i quote = _mm_cmpeq_epi8(word, _mm_set1_epi8('"')), slash = _mm_cmpeq_epi8(word, _mm_set1_epi8('\\'));
        int hits = _mm_movemask_epi8(_mm_or_si128(control, _mm_or_si128(quote, slash)));
        if (hits)
            return p + __builtin_ctz((unsigned)hits);
    }
#endif
    for (; end - p >= 8; p += 8) {
        uint64_t word = scan_load(p);
        uint64_t hits = scan_equal(word, '"') | scan_equal(word, '\\') | scan_below(word, 0x20);
        if (hits)
            return p + scan_first(hits);
    }
    while (p < end && *p != '"' && *p != '\\' && (unsigned char)*p >= 0x20)
        p++;
    return p;
}

/* Bytes of the escape at p; 0 when it is none. */
static size_t escape_length(const char *p, const char *end)
{
    if (end - p < 2)
        return 0;
    if (p[1] != 'u')
        return p[1] && strchr("\"\\/bfnrt", p[1]) ? 2 : 0;
    if (end - p < 6)
        return 0;
    for (int i = 2; i < 6; i++) {
        if (scan_hex(p[i]) < 0)
            return 0;
    }
    return 6;
}

/* Sets raw and escaped of the string whose opening quote is at p. Returns the byte behind the closing quote, or null.
 */
static const char *read_string(struct json *j, const char *p)
{
    const char *from = p + 1;
    j->escaped = false;
    for (const char *q = from;;) {
        q = json_plain_end(q, j->end);
        if (q == j->end) {
            json_failed(j, p, "a string without its closing quote");
            return NULL;
        }
        if (*q == '"') {
            j->raw = (struct span){from, (size_t)(q - from)};
            return q + 1;
        }
        size_t n = *q == '\\' ? escape_length(q, j->end) : 0;
        if (n == 0) {
            json_failed(j, q, *q == '\\' ? "an escape that JSON does not have" : "a control character inside a string");
            return NULL;
        }
        j->escaped = true;
        q += n;
    }
}

static enum json_kind scan_key(struct json *j, const char *p)
{
    const char *q = read_string(j, p);
    if (!q)
        return JSON_ERROR;
    q = skip_space(q, j->end);
    if (q == j->end || *q != ':')
        return json_failed(j, q, "a key without its colon");
    j->at = q + 1;
    j->expect = EXPECT_VALUE;
    return j->kind = JSON_KEY;
}

static const char *skip_digits(const char *p, const char *end)
{
    while (p < end && *p >= '0' && *p <= '9')
        p++;
    return p;
}

static enum json_kind scan_number(struct json *j, const char *p)
{
    const char *digits = p + (*p == '-');
    const char *q = skip_digits(digits, j->end);
    if (q == digits)
        return json_failed(j, p, "a minus without a number");
    if (*digits == '0' && q > digits + 1)
        return json_failed(j, p, "a number with a leading zero");
    if (q < j->end && *q == '.') {
        digits = q + 1;
        q = skip_digits(digits, j->end);
        if (q == digits)
            return json_failed(j, p, "a number without digits behind its point");
    }
    if (q < j->end && (*q == 'e' || *q == 'E')) {
        digits = q + 1;
        if (digits < j->end && (*digits == '+' || *digits == '-'))
            digits++;
        q = skip_digits(digits, j->end);
        if (q == digits)
            return json_failed(j, p, "a number without digits in its exponent");
    }
    j->raw = (struct span){p, (size_t)(q - p)};
    return value_done(j, JSON_NUMBER, q);
}

static inline enum json_kind read_word(struct json *j, const char *p, const char *word, size_t n, enum json_kind kind)
{
    if ((size_t)(j->end - p) < n || memcmp(p, word, n) != 0)
        return json_failed(j, p, "a word that is not true, false or null");
    return value_done(j, kind, p + n);
}

static enum json_kind scan_value(struct json *j, const char *p)
{
    switch (*p) {
    case '"':;
        const char *q = read_string(j, p);
        return q ? value_done(j, JSON_STRING, q) : JSON_ERROR;
    case '{':
        return open_container(j, p, true);
    case '[':
        return open_container(j, p, false);
    case 't':
        return read_word(j, p, "true", 4, JSON_TRUE);
    case 'f':
        return read_word(j, p, "false", 5, JSON_FALSE);
    case 'n':
        return read_word(j, p, "null", 4, JSON_NULL);
    case '-':
    case '0' ... '9':
        return scan_number(j, p);
    case ']':
        if (j->expect == EXPECT_VALUE_OR_END)
            return close_container(j, p);
        break;
    default:
        break;
    }
    return json_failed(j, p, "no value where one must come");
}

enum json_kind json_next(struct json *j)
{
    if (j->expect == FAILED)
        return JSON_ERROR;
    const char *p = skip_space(j->at, j->end);
    if (j->expect == EXPECT_NOTHING) {
        if (p < j->end)
            return json_failed(j, p, "something behind the end of the value");
        j->at = p;
        return j->kind = JSON_END;
    }
    if (j->expect == EXPECT_COMMA && p < j->end) {
        if (*p == (in_object(j) ? '}' : ']'))
            return close_container(j, p);
        if (*p != ',')
            return json_failed(j, p, "neither a comma nor the end of the container behind a value");
        j->expect = in_object(j) ? EXPECT_KEY : EXPECT_VALUE;
        p = skip_space(p + 1, j->end);
    }
    if (p == j->end)
        return json_failed(j, p, "the text ends inside the value");
    if (j->expect != EXPECT_KEY && j->expect != EXPECT_KEY_OR_END)
        return scan_value(j, p);
    if (*p == '"')
        return scan_key(j, p);
    if (*p == '}' && j->expect == EXPECT_KEY_OR_END)
        return close_container(j, p);
    return json_failed(j, p, "no key where one must come");
}

enum json_kind json_skip(struct json *j)
{
    enum json_kind kind = j->kind;
    if (kind != JSON_OBJECT && kind != JSON_ARRAY)
        kind = json_next(j);
    if (kind != JSON_OBJECT && kind != JSON_ARRAY)
        return kind;
    for (uint8_t outside = j->depth - 1; j->depth > outside;) {
        kind = json_next(j);
        if (kind == JSON_ERROR)
            break;
    }
    return kind;
}

size_t json_error_offset(const struct json *j)
{
    return (size_t)(j->at - j->start);
}

static unsigned hex4(const char *p)
{
    unsigned value = 0;
    for (int i = 0; i < 4; i++)
        value = value << 4 | (unsigned)scan_hex(p[i]);
    return value;
}

/* Decodes the escape at the front of *rest, which read_string has found well formed, and drops it there. */
static size_t decode_escape(struct span *rest, char to[4])
{
    const char *p = rest->p;
    size_t used = 2, n = 1;
    switch (p[1]) {
    case 'b':
        to[0] = '\b';
        break;
    case 'f':
        to[0] = '\f';
        break;
    case 'n':
        to[0] = '\n';
        break;
    case 'r':
        to[0] = '\r';
        break;
    case 't':
        to[0] = '\t';
        break;
    case 'u':;
        unsigned code = hex4(p + 2);
        used = 6;
        if (code >> 10 == 0xd800 >> 10 && rest->n >= 12 && p[6] == '\\' && p[7] == 'u') {
            unsigned low = hex4(p + 8);
            if (low >> 10 == 0xdc00 >> 10) {
                code = 0x10000 + ((code & 0x3ff) << 10) + (low & 0x3ff);
                used = 12;
            }
        }
        n = utf8_encode(code, to);
        break;
    default: /* a quote, a backslash or a slash stands for itself */
        to[0] = p[1];
        break;
    }
    rest->p += used;
    rest->n -= used;
    return n;
}

/* Takes the next decoded piece off *rest: a stretch without escapes, in place, or one escape, in `room`. */
static struct span next_piece(struct span *rest, char room[4])
{
    if (*rest->p == '\\') {
        size_t n = decode_escape(rest, room);
        return (struct span){room, n};
    }
    const char *stop = memchr(rest->p, '\\', rest->n);
    struct span piece = {rest->p, stop ? (size_t)(stop - rest->p) : rest->n};
    rest->p += piece.n;
    rest->n -= piece.n;
    return piece;
}

bool json_is_decoded(const struct json *j, const char *text)
{
    char room[4];
    size_t left = strlen(text);
    for (struct span rest = j->raw; rest.n;) {
        struct span piece = next_piece(&rest, room);
        if (piece.n > left || memcmp(piece.p, text, piece.n) != 0)
            return false;
        text += piece.n;
        left -= piece.n;
    }
    return left == 0;
}

void json_text(const struct json *j, struct buf *b)
{
    assert(j->kind == JSON_STRING || j->kind == JSON_KEY);
    char room[4];
    for (struct span rest = j->raw; rest.n;) {
        struct span piece = j->escaped ? next_piece(&rest, room) : rest;
        buf_add(b, piece.p, piece.n);
        if (!j->escaped)
            break;
    }
}

const char *json_copy(const struct json *j, struct arena *a)
{
    struct buf b = {0};
    json_text(j, &b);
    const char *text = arena_copy(a, b.p ? b.p : "", b.n);
    buf_done(&b);
    return text;
}

size_t json_lone_surrogate(const struct json *j)
{
    if (!j->escaped)
        return j->raw.n;
    for (struct span rest = j->raw; rest.n;) {
        const char *at = rest.p;
        char room[4];
        struct span piece = next_piece(&rest, room);
        /* Only an escape gives a piece of its own room, and only a lone surrogate three bytes from U+D800 on. */
        if (piece.p == room && piece.n == 3 && (unsigned char)room[0] == 0xed && (unsigned char)room[1] >= 0xa0)
            return (size_t)(at - j->raw.p);
    }
    return j->raw.n;
}

struct span json_member(struct span object, struct span name)
{
    struct span value = {0};
    struct buf key = {0};
    struct json j;
    json_init(&j, object);
    json_next(&j);
    while (json_next(&j) == JSON_KEY) {
        buf_clear(&key);
        json_text(&j, &key);
        const char *start = skip_space(j.at, j.end);
        if (json_skip(&j) == JSON_ERROR)
            break;
        if (key.n == name.n && (key.n == 0 || memcmp(key.p, name.p, key.n) == 0))
            value = (struct span){start, (size_t)(j.at - start)};
    }
    buf_done(&key);
    return value;
}

size_t json_text_length(const struct json *j)
{
    if (!j->escaped)
        return j->raw.n;
    char room[4];
    size_t n = 0;
    for (struct span rest = j->raw; rest.n;)
        n += next_piece(&rest, room).n;
    return n;
}

/* The exponent of a number's text, held within +-INT_MAX / 2: no text in memory has that many digits to shift. */
static int64_t read_exponent(const char *p, const char *end)
{
    bool negative = *p == '-';
    int64_t value = 0;
    for (p += *p == '-' || *p == '+'; p < end; p++)
        value = value < INT_MAX / 20 ? value * 10 + (*p - '0') : INT_MAX / 2;
    return negative ? -value : value;
}

/* The text is an integer when every digit right of the shifted point is 0. Exact: no double in between. */
static bool shifted_integer(struct span raw, int64_t *ret_value)
{
    const char *p = raw.p, *end = raw.p + raw.n;
    bool negative = *p == '-';
    p += negative;
    const char *mantissa_end = p;
    while (mantissa_end < end && *mantissa_end != 'e' && *mantissa_end != 'E')
        mantissa_end++;
    const char *point = memchr(p, '.', (size_t)(mantissa_end - p));
    int64_t places = (point ? point : mantissa_end) - p; /* digits left of the point */
    if (mantissa_end < end)
        places += read_exponent(mantissa_end + 1, end);
    uint64_t value = 0;
    for (; p < mantissa_end; p++) {
        if (*p == '.')
            continue;
        unsigned digit = (unsigned)(*p - '0');
        if (places-- <= 0) {
            if (digit)
                return false;
        } else if (__builtin_mul_overflow(value, 10u, &value) || __builtin_add_overflow(value, digit, &value)) {
            return false;
        }
    }
    for (; value && places > 0; places--) {
        if (__builtin_mul_overflow(value, 10u, &value))
            return false;
    }
    if (value > (uint64_t)INT64_MAX + negative)
        return false;
    *ret_value = negative ? (int64_t)(0 - value) : (int64_t)value;
    return true;
}

bool json_i64(const struct json *j, int64_t *ret_value)
{
    if (j->kind != JSON_NUMBER)
        return false;
    return num_i64(j->raw, ret_value) || shifted_integer(j->raw, ret_value);
}

bool json_f64(const struct json *j, double *ret_value)
{
    return j->kind == JSON_NUMBER && num_f64(j->raw, ret_value);
}
