#include "check.h"

#include "text/csv.h"

static void fields_are_quoted_only_where_needed(void **state)
{
    (void)state;
    struct buf b = {0};
    csv_put(&b, span_of("a b"), ',');
    csv_put(&b, span_of(""), ',');
    csv_put(&b, span_of("c,d"), ',');
    csv_put(&b, span_of("say \"hi\""), ',');
    csv_put(&b, span_of("x\ny"), ',');
    csv_put(&b, span_of("\r"), '\n');
    assert_string_equal(buf_text(&b), "a b,,\"c,d\",\"say \"\"hi\"\"\",\"x\ny\",\"\r\"\n");
    buf_done(&b);
}

static void formulas_are_made_harmless(void **state)
{
    (void)state;
    static const struct {
        const char *cell, *shown;
    } cases[] = {
        {"a=1", "a=1"},
        {"=1+1", "'=1+1"},
        {"-3", "-3"},
        {"+5", "+5"},
        {"-1.5e-7", "-1.5e-7"},
        {"-", "'-"},
        {"--3", "'--3"},
        {"-3-4", "'-3-4"},
        {"+", "'+"},
        {"@x", "'@x"},
        {"\t=1", "' =1"},
        {"\r@x", "' @x"},
        {"  =1", "'  =1"},
        {"", ""},
        {"=a,b", "\"'=a,b\""},
        {"=\"x\"", "\"'=\"\"x\"\"\""},
        {"\xef\xbc\x9d"
         "1",
         "'\xef\xbc\x9d"
         "1"},
        {"'=1", "'=1"},
        {"a\nb\033", "a b "},
        {"-0x10", "'-0x10"},
        {"-inf", "'-inf"},
        {"\xe2\x88\x92"
         "3",
         "\xe2\x88\x92"
         "3"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf b = {0};
        csv_put_shown(&b, span_of(cases[i].cell), ',');
        assert_int_equal(b.p[b.n - 1], ',');
        b.n--;
        assert_string_equal(buf_text(&b), cases[i].shown);
        buf_done(&b);
    }
}

static void records_split_into_fields(void **state)
{
    (void)state;
    struct csv c;
    struct span f[3];
    csv_init(&c, span_of("t,request,tokens\n1,,3\n\n,\"a,\"\"b\n\",\n1,2,3,4\nlast,cut"));
    assert_int_equal(csv_next(&c, f, 3), 3);
    assert_int_equal(c.line, 1);
    assert_true(span_is(f[0], "t") && span_is(f[1], "request") && span_is(f[2], "tokens"));
    assert_int_equal(csv_next(&c, f, 3), 3);
    assert_true(span_is(f[0], "1") && f[1].n == 0 && span_is(f[2], "3"));
    assert_false(c.quoted);
    assert_int_equal(csv_next(&c, f, 3), 1);
    assert_int_equal(f[0].n, 0);
    assert_int_equal(csv_next(&c, f, 3), 3);
    assert_true(c.quoted);
    assert_int_equal(c.line, 4);
    struct buf b = {0};
    csv_unquote(f[1], &b);
    assert_string_equal(buf_text(&b), "a,\"b\n");
    assert_int_equal(csv_next(&c, f, 3), 4); /* one too many */
    assert_true(span_is(f[2], "3"));
    assert_false(c.quoted);
    assert_false(c.cut);
    assert_int_equal(csv_next(&c, f, 3), 0);
    assert_true(c.cut);
    assert_int_equal(c.line, 5);
    assert_int_equal(csv_next(&c, f, 3), 0);
    buf_done(&b);
}

static void a_file_that_ends_with_its_line_is_not_cut(void **state)
{
    (void)state;
    struct csv c;
    struct span f[2];
    csv_init(&c, span_of("a,b\n"));
    assert_int_equal(csv_next(&c, f, 2), 2);
    assert_int_equal(csv_next(&c, f, 2), 0);
    assert_false(c.cut);
    csv_init(&c, (struct span){0});
    assert_int_equal(csv_next(&c, f, 2), 0);
    assert_false(c.cut);
    csv_init(&c, span_of("\"open quote,\n\n"));
    assert_int_equal(csv_next(&c, f, 2), 0);
    assert_true(c.cut);
}

/* Cut at every byte, whole records only come out, and they are the same as before. */
static void a_cut_text_gives_its_whole_records(void **state)
{
    (void)state;
    const char *text = "a,\"b\n\"\n\"\"\"\",2\n3,4\n";
    const size_t ends[] = {7, 14, 18};
    for (size_t n = 0; n <= strlen(text); n++) {
        struct csv c;
        struct span f[2];
        csv_init(&c, (struct span){text, n});
        size_t records = 0, expected = 0;
        while (csv_next(&c, f, 2))
            records++;
        while (expected < 3 && ends[expected] <= n)
            expected++;
        assert_int_equal(records, expected);
        assert_int_equal(c.cut, n != 0 && n != 7 && n != 14 && n != 18);
    }
}

static void what_is_put_is_read(void **state)
{
    (void)state;
    uint64_t seed = 7;
    struct buf text = {0}, back = {0};
    for (int round = 0; round < 5000; round++) {
        char fields[4][8];
        size_t lengths[4];
        buf_clear(&text);
        for (int i = 0; i < 4; i++) {
            lengths[i] = 0;
            for (int k = 0; k < 7; k++) {
                seed = seed * 6364136223846793005u + 1442695040888963407u;
                unsigned pick = (unsigned)(seed >> 40) % 9;
                if (pick < 7)
                    fields[i][lengths[i]++] = ",\"\n\rab "[pick];
            }
            csv_put(&text, (struct span){fields[i], lengths[i]}, i < 3 ? ',' : '\n');
        }
        struct csv c;
        struct span f[4];
        csv_init(&c, buf_span(&text));
        assert_int_equal(csv_next(&c, f, 4), 4);
        for (int i = 0; i < 4; i++) {
            buf_clear(&back);
            csv_unquote(f[i], &back);
            assert_int_equal(back.n, lengths[i]);
            if (back.n)
                assert_memory_equal(back.p, fields[i], back.n);
        }
        assert_int_equal(csv_next(&c, f, 4), 0);
        assert_false(c.cut);
    }
    buf_done(&text);
    buf_done(&back);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_quoted_only_where_needed),
        cmocka_unit_test(formulas_are_made_harmless),
        cmocka_unit_test(records_split_into_fields),
        cmocka_unit_test(a_file_that_ends_with_its_line_is_not_cut),
        cmocka_unit_test(a_cut_text_gives_its_whole_records),
        cmocka_unit_test(what_is_put_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
