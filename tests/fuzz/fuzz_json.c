/* JSON against jansson 2.14: both accept or both refuse, and read the same values. The differences are taken out first,
 * or allowed for. Those that METHOD's table of verdicts names:
 *
 *   depth            ours ends at 64 containers, jansson's at 2048
 *   invalid UTF-8    kept by ours, refused by jansson: each such byte becomes '?'
 *   lone surrogates  kept by ours, refused by jansson: each such escape becomes \ufffd
 *   \u0000           kept by ours, refused by jansson inside keys: it becomes \u0001
 *   duplicate keys   the last wins in both (jansson's default)
 *
 * and two of jansson's own:
 *
 *   large numbers    RFC 8259 sets no limit: ours accepts 1e999 and gives no double for it, jansson refuses it
 *   zero bytes       jansson loses one right behind a number and so accepts "[1\0]": each becomes \x01
 *
 * What is replaced must not change ours' verdict. */
#include <math.h>
#include "base/buf.h"
#include "fuzz.h"
#include "jansson_side.h"
#include "base/utf8.h"
#include "text/canonical.h"
#include "text/json.h"

/* Bytes of the well-formed UTF-8 sequence at p, 0 where there is none: decoded, and checked for overlong forms,
 * surrogates and values over U+10FFFF. */
static size_t utf8_length(const unsigned char *p, size_t n)
{
    size_t length = p[0] < 0x80 ? 1 : p[0] >> 5 == 6 ? 2 : p[0] >> 4 == 14 ? 3 : p[0] >> 3 == 30 ? 4 : 0;
    if (length == 0 || length > n)
        return 0;
    unsigned code = length == 1 ? p[0] : p[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if (p[i] >> 6 != 2)
            return 0;
        code = code << 6 | (p[i] & 0x3f);
    }
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    bool right = code >= least[length] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
    return right ? length : 0;
}

/* The code of an escape \uXXXX at p, or -1. */
static long escape_code(const char *p, size_t n)
{
    if (n < 6 || p[0] != '\\' || p[1] != 'u' || strspn(p + 2, "0123456789abcdefABCDEF") < 4)
        return -1;
    char digits[5] = {p[2], p[3], p[4], p[5], 0};
    return strtol(digits, NULL, 16);
}

/* The text with the differences taken out. b's content is followed by a NUL, for strspn. */
static void take_out(struct buf *b)
{
    buf_text(b);
    for (size_t i = 0; i < b->n;) {
        size_t left = b->n - i, length = utf8_length((unsigned char *)b->p + i, left);
        char *p = b->p + i;
        long code = escape_code(p, left);
        bool high = code >= 0xd800 && code <= 0xdbff, low = code >= 0xdc00 && code <= 0xdfff;
        long next = high ? escape_code(p + 6, left - 6) : -1;
        if (length == 0)
            *p = '?';
        if (*p == 0)
            *p = 1;
        if (code == 0)
            memcpy(p, "\\u0001", 6);
        if (high && next >= 0xdc00 && next <= 0xdfff)
            i += 12;
        else if (high || low)
            memcpy(p, "\\ufffd", 6);
        else if (code >= 0)
            i += 6;
        else if (*p == '\\' && left >= 2 && (unsigned char)p[1] < 0x80)
            i += 2;
        else
            i += length ? length : 1;
    }
}

static enum json_kind read_all(struct json *j, struct span text)
{
    enum json_kind kind;
    json_init(j, text);
    do
        kind = json_next(j);
    while (kind != JSON_END && kind != JSON_ERROR);
    return kind;
}

static void check_number(const struct json *j, double expected)
{
    double value = NAN;
    int64_t integer;
    if (j->raw.n <= 400) {
        FUZZ_CHECK(json_f64(j, &value));
        FUZZ_CHECK(value == expected);
    }
    bool plain = true;
    for (size_t i = 0; i < j->raw.n; i++)
        plain &= (j->raw.p[i] >= '0' && j->raw.p[i] <= '9') || (i == 0 && j->raw.p[i] == '-');
    bool is_integer = json_i64(j, &integer);
    FUZZ_CHECK(is_integer || !plain || j->raw.n > 18);
    FUZZ_CHECK(!is_integer || (double)integer == expected);
}

static void check_string(const struct json *j, struct span expected)
{
    struct buf text = {0}, written = {0}, back = {0};
    json_text(j, &text);
    FUZZ_CHECK(text.n == expected.n && text.n == json_text_length(j));
    FUZZ_CHECK(text.n == 0 || memcmp(text.p, expected.p, text.n) == 0);
    FUZZ_CHECK(json_is(j, expected.p) == (strlen(expected.p) == expected.n));
    struct json_writer w;
    struct json again;
    json_writer_init(&w, &written, 0);
    json_put_string(&w, buf_span(&text));
    json_init(&again, buf_span(&written));
    FUZZ_CHECK(json_next(&again) == JSON_STRING);
    json_text(&again, &back);
    FUZZ_CHECK(json_next(&again) == JSON_END);
    FUZZ_CHECK(back.n == text.n && (text.n == 0 || memcmp(text.p, back.p, text.n) == 0));
    buf_done(&text);
    buf_done(&written);
    buf_done(&back);
}

static void check_value(struct json *j, const void *expected);

/* Where a member's value stands, and what jansson has for it. */
struct member {
    struct json key, value;
    const void *expected;
};

/* The place of a key among the n members seen so far: a key that comes again takes its place again, so the last counts.
 */
static size_t find_member(const struct member *members, size_t n, struct span key)
{
    struct buf other = {0};
    size_t i = 0;
    for (; i < n; i++) {
        buf_clear(&other);
        json_text(&members[i].key, &other);
        if (other.n == key.n && (key.n == 0 || memcmp(other.p, key.p, key.n) == 0))
            break;
    }
    buf_done(&other);
    return i;
}

static void check_object(struct json *j, const void *expected)
{
    struct member *members = calloc(jansson_size(expected) + 1, sizeof *members);
    size_t n = 0;
    struct buf key = {0};
    while (json_next(j) == JSON_KEY) {
        buf_clear(&key);
        json_text(j, &key);
        struct span text = key.n ? buf_span(&key) : (struct span){"", 0};
        size_t i = find_member(members, n, text);
        n += i == n;
        FUZZ_CHECK(n <= jansson_size(expected));
        members[i] = (struct member){*j, *j, jansson_member(expected, text)};
        FUZZ_CHECK(members[i].expected);
        json_skip(j);
    }
    FUZZ_CHECK(j->kind == JSON_OBJECT_END && n == jansson_size(expected));
    for (size_t i = 0; i < n; i++)
        check_value(&members[i].value, members[i].expected);
    free(members);
    buf_done(&key);
}

static void check_array(struct json *j, const void *expected)
{
    size_t n = jansson_size(expected);
    for (size_t i = 0; i < n; i++)
        check_value(j, jansson_element(expected, i));
    FUZZ_CHECK(json_next(j) == JSON_ARRAY_END);
}

static void check_value(struct json *j, const void *expected)
{
    enum json_kind kind = json_next(j);
    char wanted = jansson_kind(expected);
    FUZZ_CHECK(wanted == "..{.[..s#tfn"[kind]);
    if (kind == JSON_OBJECT)
        check_object(j, expected);
    else if (kind == JSON_ARRAY)
        check_array(j, expected);
    else if (kind == JSON_STRING)
        check_string(j, jansson_string(expected));
    else if (kind == JSON_NUMBER)
        check_number(j, jansson_number(expected));
}

/* What reads as a document has one spelling, which is its own; and shown with its unsafe characters escaped it is the
 * same value, with nothing unsafe left. */
static void check_spelling(struct span document, bool reads)
{
    struct buf once = {0}, twice = {0}, shown = {0}, of_shown = {0};
    FUZZ_CHECK(canonical_put(&once, document) == reads);
    if (reads) {
        FUZZ_CHECK(canonical_put(&twice, buf_span(&once)));
        FUZZ_CHECK(once.n == twice.n && memcmp(once.p, twice.p, once.n) == 0);
        json_show(&shown, buf_span(&once));
        bool whole = utf8_valid(buf_span(&once)) == once.n;
        FUZZ_CHECK(canonical_put(&of_shown, buf_span(&shown)));
        FUZZ_CHECK(!whole || (of_shown.n == once.n && memcmp(of_shown.p, once.p, once.n) == 0));
        size_t n = shown.n;
        utf8_show_from(&shown, 0, true);
        FUZZ_CHECK(shown.n == n);
    }
    buf_done(&once);
    buf_done(&twice);
    buf_done(&shown);
    buf_done(&of_shown);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct json original, j;
    enum json_kind kind = read_all(&original, (struct span){(const char *)data, n});
    check_spelling((struct span){(const char *)data, n}, kind == JSON_END);
    struct buf text = {0};
    buf_add(&text, data, n);
    take_out(&text);
    struct span plain = {text.p, text.n};
    FUZZ_CHECK(read_all(&j, plain) == kind);
    FUZZ_CHECK(kind == JSON_END || json_error_offset(&original) == json_error_offset(&j));
    void *value;
    size_t position;
    enum jansson_verdict verdict = jansson_read(plain, &value, &position);
    bool deep = kind == JSON_ERROR && strcmp(j.fault, "nested more than 64 deep") == 0;
    if (verdict == JANSSON_OVERFLOW) {
        /* jansson is behind the number that it refuses; ours gets at least to its front. */
        while (position > 0 && memchr("0123456789+-.eE", plain.p[position - 1], 15))
            position--;
        FUZZ_CHECK(kind == JSON_END || deep || json_error_offset(&j) >= position);
    } else if (!deep) {
        FUZZ_CHECK((kind == JSON_END) == (verdict == JANSSON_ACCEPTS));
        if (value) {
            json_init(&j, plain);
            check_value(&j, value);
            FUZZ_CHECK(json_next(&j) == JSON_END);
        }
    }
    jansson_free(value);
    buf_done(&text);
    return 0;
}
