#include "check.h"

#include "text/canonical.h"
#include "text/json.h"

static void spelt(const char *json, const char *canonical)
{
    struct buf b = {0};
    buf_str(&b, "before");
    bool good = canonical_put(&b, span_of(json));
    assert_int_equal(good, canonical != NULL);
    if (strcmp(buf_text(&b) + 6, canonical ? canonical : "") != 0)
        fail_msg("%s\ngave     %s\nexpected %s", json, buf_text(&b) + 6, canonical);
    buf_done(&b);
}

/* Right values are Python's, by the recipe in the header. */
static void each_value_has_one_spelling(void **state)
{
    (void)state;
    spelt(" { } ", "{}");
    spelt("[ ]", "[]");
    spelt("[ 1 , [ ] , { \"a\" : null } , true,false ]", "[1,[],{\"a\":null},true,false]");
    spelt("{\"b\":1,\"a\":2,\"ab\":3,\"\":4}", "{\"\":4,\"a\":2,\"ab\":3,\"b\":1}");
    spelt("{\"a\":1,\"b\":2,\"\\u0061\":3}", "{\"a\":3,\"b\":2}"); /* the last of equal names */
    spelt("{\"a\":{\"c\":1,\"b\":2}}", "{\"a\":{\"b\":2,\"c\":1}}");
    spelt("{\"\\ud83d\\ude00\":1,\"\\uffff\":2}", "{\"\xef\xbf\xbf\":2,\"\xf0\x9f\x98\x80\":1}"); /* by code points */
    spelt("\"\\u0041\\u00e4\\/\\\"\\\\\\b\\f\\n\\r\\t\\u0000\\u001f\\u007f\"",
          "\"A\xc3\xa4/\\\"\\\\\\b\\f\\n\\r\\t\\u0000\\u001f\x7f\"");
    spelt("[0,-0,-0.0,5.0,5e0,50e-1,-7,9223372036854775807,-9223372036854775808]",
          "[0,0,0,5,5,5,-7,9223372036854775807,-9223372036854775808]");
    spelt("[0.1,1e22,1E+22,1e-5,0.00001,2.5e-10,9223372036854775808,1e300,123456789.125,0.30000000000000004]",
          "[0.1,1e+22,1e+22,1e-05,1e-05,2.5e-10,9.223372036854776e+18,1e+300,123456789.125,0.30000000000000004]");
    spelt("1e999", "1e999"); /* beyond a double: as it stands */
    spelt("{\"a\":1", NULL);
    spelt("[1,]", NULL);
    spelt("{} {}", NULL);
    spelt("", NULL);
}

/* A spelling spelt again is itself, whatever came in: 20 000 random documents, each also with its white space, escapes
 * and order of names changed. */
static uint64_t seed = 11;

static unsigned draw(unsigned n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % n;
}

static void put_space(struct buf *b, bool varied)
{
    static const char *const spaces[] = {"", " ", "\n", "\t  "};
    if (varied)
        buf_str(b, spaces[draw(4)]);
}

static void put_word(struct buf *b, unsigned word, bool varied)
{
    static const char *const plain[] = {"a", "b", "ab", "\xc3\xa9", "\\n", "\xf0\x9f\x98\x80"};
    static const char *const escaped[] = {"\\u0061", "\\u0062", "\\u0061b", "\\u00E9", "\\u000a", "\\uD83D\\uDE00"};
    buf_byte(b, '"');
    buf_str(b, (varied ? escaped : plain)[word]);
    buf_byte(b, '"');
}

/* A document of that shape; `varied` spells it differently. Equal shapes make equal values. */
static void put_document(struct buf *b, uint64_t shape, int depth, bool varied)
{
    unsigned kind = (unsigned)(shape % (depth > 3 ? 3 : 5));
    shape = shape / 5 * 2654435761u + 17;
    put_space(b, varied);
    if (kind == 0) {
        put_word(b, (unsigned)(shape % 6), varied);
    } else if (kind == 1) {
        buf_fmt(b, varied ? "%llu.0" : "%llu", (unsigned long long)(shape % 1000));
    } else if (kind == 2) {
        buf_str(b, varied ? "25e-2" : "0.25");
    } else {
        unsigned n = (unsigned)(shape % 4);
        buf_byte(b, kind == 3 ? '[' : '{');
        for (unsigned i = 0; i < n; i++) {
            unsigned k = varied && kind == 4 ? n - 1 - i : i; /* members in another order */
            if (i)
                buf_byte(b, ',');
            if (kind == 4) {
                put_space(b, varied);
                put_word(b, k, varied);
                put_space(b, varied);
                buf_byte(b, ':');
            }
            put_document(b, shape / (k + 3) + k, depth + 1, varied);
        }
        buf_byte(b, kind == 3 ? ']' : '}');
    }
    put_space(b, varied);
}

static void equal_values_have_equal_bytes(void **state)
{
    (void)state;
    struct buf plain = {0}, varied = {0}, a = {0}, b = {0}, again = {0};
    size_t changed = 0;
    for (int i = 0; i < 20000; i++) {
        uint64_t shape = (uint64_t)draw(1u << 30) << 30 | draw(1u << 30);
        buf_clear(&plain);
        buf_clear(&varied);
        buf_clear(&a);
        buf_clear(&b);
        buf_clear(&again);
        put_document(&plain, shape, 0, false);
        put_document(&varied, shape, 0, true);
        assert_true(canonical_put(&a, buf_span(&plain)) && canonical_put(&b, buf_span(&varied)));
        assert_string_equal(buf_text(&a), buf_text(&b));
        assert_true(canonical_put(&again, buf_span(&a)));
        assert_string_equal(buf_text(&again), buf_text(&a));
        changed += strcmp(buf_text(&plain), buf_text(&varied)) != 0;
    }
    assert_true(changed > 10000);
    buf_done(&plain);
    buf_done(&varied);
    buf_done(&a);
    buf_done(&b);
    buf_done(&again);
}

static void depth_is_bounded(void **state)
{
    (void)state;
    struct buf deep = {0}, out = {0};
    for (int n = JSON_DEPTH_MAX; n <= JSON_DEPTH_MAX + 1; n++) {
        buf_clear(&deep);
        for (int i = 0; i < n; i++)
            buf_byte(&deep, '[');
        for (int i = 0; i < n; i++)
            buf_byte(&deep, ']');
        assert_int_equal(canonical_put(&out, buf_span(&deep)), n == JSON_DEPTH_MAX);
    }
    assert_int_equal(out.n, 2 * JSON_DEPTH_MAX);
    buf_done(&deep);
    buf_done(&out);
}

static void members_are_found(void **state)
{
    (void)state;
    struct span object = span_of(" {\"a\" : [1, 2] ,\"\\u0062\":\"x\",\"a\": {\"c\":1} ,\"n\":null}");
    assert_true(span_is(json_member(object, span_of("a")), "{\"c\":1}"));
    assert_true(span_is(json_member(object, span_of("b")), "\"x\""));
    assert_true(span_is(json_member(object, span_of("n")), "null"));
    assert_int_equal(json_member(object, span_of("c")).n, 0);
    assert_int_equal(json_member(span_of("[1]"), span_of("a")).n, 0);
    assert_int_equal(json_member(span_of(""), span_of("a")).n, 0);
}

static void lone_surrogates_are_found(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        size_t at; /* SIZE_MAX: none */
    } cases[] = {{"\"ab\"", SIZE_MAX},
                 {"\"\\ud83d\\ude00\"", SIZE_MAX},
                 {"\"\\\\ud83d\"", SIZE_MAX},
                 {"\"\\ud7ff\\ue000\\uffff\"", SIZE_MAX},
                 {"\"ab\\ud83d\"", 2},
                 {"\"\\udc00\"", 0},
                 {"\"\\ud83d\\ud83d\\ude00\"", 0},
                 {"\"\\ud83d\\ude00\\ude00\"", 12},
                 {"\"\\ud83d\\u0041\"", 0},
                 {"\"\\n\\uDBFF!\"", 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct json j;
        json_init(&j, span_of(cases[i].json));
        assert_int_equal(json_next(&j), JSON_STRING);
        assert_int_equal(json_lone_surrogate(&j), cases[i].at == SIZE_MAX ? j.raw.n : cases[i].at);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_value_has_one_spelling),
        cmocka_unit_test(equal_values_have_equal_bytes),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(members_are_found),
        cmocka_unit_test(lone_surrogates_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
