#include "check.h"
#include <stdlib.h>
#include "base/quantity.h"
#include "schema/json.h"
#include "model/plan.h"
#include "text/file_read.h"

struct item {
    const char *label;
    double x;
};

struct sample {
    struct quantity energy, none;
    double *numbers;
    size_t number_count;
    struct item *items;
    size_t item_count;
    struct quantity *series;
    size_t series_count;
    const char *left_out;
    int64_t big;
    int color;
    bool flag;
};

static const char *const colors[] = {"red", "green", NULL};

static const struct field item_fields[] = {
    {.key = "label", .type = FIELD_TEXT, .offset = offsetof(struct item, label)},
    {.key = "x", .type = FIELD_F64, .offset = offsetof(struct item, x)},
};
static const struct schema item_schema = {"item", sizeof(struct item), item_fields, 2, NULL};

#define LIST(k, n, t, s)                                                                                               \
    {                                                                                                                  \
        .key = #k, .type = FIELD_LIST, .offset = offsetof(struct sample, k),                                           \
        .count_offset = offsetof(struct sample, n), .item = (t), .sub = (s)                                            \
    }

static const struct field sample_fields[] = {
    {.key = "energy", .type = FIELD_QUANTITY, .offset = offsetof(struct sample, energy), .unit = "J"},
    {.key = "none", .type = FIELD_QUANTITY, .offset = offsetof(struct sample, none)},
    LIST(numbers, number_count, FIELD_F64, NULL),
    LIST(items, item_count, FIELD_OBJECT, &item_schema),
    LIST(series, series_count, FIELD_QUANTITY, NULL),
    {.key = "left_out", .type = FIELD_TEXT, .offset = offsetof(struct sample, left_out), .flags = FIELD_OMIT_ABSENT},
    {.key = "big", .type = FIELD_I64, .offset = offsetof(struct sample, big)},
    {.key = "color", .type = FIELD_ENUM, .offset = offsetof(struct sample, color), .names = colors},
    {.key = "flag", .type = FIELD_BOOL, .offset = offsetof(struct sample, flag)},
};
static const struct schema sample_schema = {"sample", sizeof(struct sample), sample_fields, SCHEMA_COUNT(sample_fields),
                                            "A sample."};

static const char right[] = "{\n"
                            "  \"energy\": {\n"
                            "    \"value\": 1.5,\n"
                            "    \"state\": \"not_closed\",\n"
                            "    \"why\": \"the release \\\"ended\\\" late\",\n"
                            "    \"instrument\": 0.1,\n"
                            "    \"calibration\": null\n"
                            "  },\n"
                            "  \"none\": {\n"
                            "    \"value\": null,\n"
                            "    \"state\": \"not_reached\",\n"
                            "    \"why\": null,\n"
                            "    \"instrument\": null,\n"
                            "    \"calibration\": null\n"
                            "  },\n"
                            "  \"numbers\": [\n"
                            "    0.1,\n"
                            "    null,\n"
                            "    -3\n"
                            "  ],\n"
                            "  \"items\": [\n"
                            "    {\n"
                            "      \"label\": null,\n"
                            "      \"x\": 2\n"
                            "    }\n"
                            "  ],\n"
                            "  \"series\": [],\n"
                            "  \"big\": 9223372036854775807,\n"
                            "  \"color\": \"green\",\n"
                            "  \"flag\": true\n"
                            "}\n";

static void writes_and_reads(void **state)
{
    double numbers[] = {0.1, NAN, -3};
    struct item items[] = {{NULL, 2}};
    struct sample s = {.energy = quantity_of(1.5),
                       .none = quantity_absent(Q_NOT_REACHED, NULL),
                       .numbers = numbers,
                       .number_count = 3,
                       .items = items,
                       .item_count = 1,
                       .big = INT64_MAX,
                       .color = 1,
                       .flag = true};
    struct sample back;
    struct arena a = {0};
    struct buf b = {0};
    struct err e;

    (void)state;
    s.energy.state = Q_NOT_CLOSED;
    s.energy.why = "the release \"ended\" late";
    s.energy.instrument = 0.1;
    s.none.value = 77; /* a value without meaning never reaches the file */
    schema_json_write(&sample_schema, &s, &b);
    assert_string_equal(buf_text(&b), right);
    memset(&back, 0x55, sizeof back);
    assert_ok(schema_json_read(&sample_schema, &back, "x", buf_span(&b), &a, &e), e);
    assert_true(isnan(back.none.value));
    assert_int_equal(back.energy.state, Q_NOT_CLOSED);
    assert_true(isnan(back.numbers[1]));
    assert_true(back.big == INT64_MAX);
    assert_null(back.left_out);
    buf_clear(&b);
    schema_json_write(&sample_schema, &back, &b);
    assert_string_equal(buf_text(&b), right);
    buf_done(&b);
    arena_done(&a);
}

static void wrong_documents_name_the_key(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"[]", "doc: The value is wrong"},
        {"{\"big\":1.5}", "doc: big: The value is wrong. Expected: a whole number"},
        {"{\"big\":\"5\"}", "doc: big: The value is wrong. Expected: a whole number"},
        {"{\"color\":\"blue\"}", "doc: color: The value is wrong. Expected: one of red, green"},
        {"{\"items\":[{},{\"x\":true}]}", "doc: items.1.x: The value is wrong. Expected: a number"},
        {"{\"energy\":{\"state\":\"x\"}}", "doc: energy: The value is wrong. Expected: a quantity"},
        {"{\"flag\":null}", "doc: flag: The value is wrong. Expected: true or false"},
        {"{\"numbers\":[1,}", "doc: This is not JSON: "},
        {"{\"unknown\":[1,2,{\"a\":}]}", "doc: This is not JSON: "},
        {"{} x", "doc: This is not JSON: "},
        {"", "doc: This is not JSON: "},
    };
    struct arena a = {0};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sample s;
        struct err e = {0};

        assert_false(schema_json_read(&sample_schema, &s, "doc", span_of(cases[i].text), &a, &e));
        assert_int_equal(e.kind, ERR_RECORDS);
        if (strncmp(e.text, cases[i].message, strlen(cases[i].message)) != 0)
            fail_msg("%s gave: %s", cases[i].text, e.text);
    }
    arena_done(&a);
}

static void later_versions_stay_readable(void **state)
{
    struct sample s;
    struct arena a = {0};
    struct err e;

    (void)state;
    assert_ok(
        schema_json_read(&sample_schema, &s, "doc",
                         span_of("{\"new\":{\"deep\":[1,{\"big\":9}]},\"big\":3,\"energy\":{\"value\":1,\"n\":[{}]}}"),
                         &a, &e),
        e);
    assert_int_equal(s.big, 3);
    assert_int_equal(s.color, -1); /* missing: absent */
    assert_int_equal(s.energy.state, Q_NOT_RECORDED);
    assert_int_equal(s.number_count, 0);
    arena_done(&a);
}

/* docs/plan.schema.json is what the table says; `JTOK_WRITE_DOCS=1` writes it anew. */
static void schema_in_docs_is_current(void **state)
{
    struct buf b = {0}, there = {0};
    struct err e;

    (void)state;
    schema_jsonschema(&plan_schema, true, &b);
    if (getenv("JTOK_WRITE_DOCS")) {
        remove(JTOK_SOURCE "/docs/plan.schema.json");
        assert_ok(file_write_new(JTOK_SOURCE "/docs/plan.schema.json", buf_span(&b), &e), e);
    }
    assert_ok(file_read(JTOK_SOURCE "/docs/plan.schema.json", 0, &there, &e), e);
    assert_string_equal(buf_text(&b), buf_text(&there));
    buf_done(&b);
    buf_done(&there);
}

static void schema_describes_results(void **state)
{
    struct buf b = {0};
    struct json j;
    enum json_kind k;

    (void)state;
    schema_jsonschema(&sample_schema, false, &b);
    json_init(&j, buf_span(&b));
    while ((k = json_next(&j)) != JSON_END)
        assert_int_not_equal(k, JSON_ERROR);
    buf_text(&b);
    assert_non_null(strstr(b.p, "\"$ref\": \"#/$defs/quantity\""));
    assert_non_null(strstr(b.p, "\"x-unit\": \"J\""));
    /* Between series and big, left_out is not required. */
    assert_non_null(strstr(b.p, "    \"series\",\n    \"big\",\n    \"color\",\n    \"flag\"\n  ]"));
    buf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_and_reads),
        cmocka_unit_test(wrong_documents_name_the_key),
        cmocka_unit_test(later_versions_stay_readable),
        cmocka_unit_test(schema_in_docs_is_current),
        cmocka_unit_test(schema_describes_results),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
