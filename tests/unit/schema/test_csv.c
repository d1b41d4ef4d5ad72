#include "check.h"

#include <math.h>
#include "schema/csv.h"
#include "schema/table.h"
#include "text/csv.h"

enum __attribute__((packed)) shade { SHADE_RED, SHADE_GREEN };
static const char *const shade_names[] = {"red", "green", NULL};

struct row {
    int64_t t_ns, left;
    int32_t mw;
    uint32_t id;
    enum shade shade;
    uint64_t digest;
    double share;
    const char *note, *reason;
    int64_t told;
};

#define MOST 315360000000000000 /* not a double's neighbour: both ends must be exact */

static const struct field row_fields[] = {
    I64(row, t_ns, "When.", RANGE(-3600000000000, MOST), FLAGS(FIELD_NEEDED)),
    ASIDE("gpu", "Whose.", RANGE(0, 255)),
    I64(row, left, "What is left.", RANGE(0, 0x1p50), FLAGS(FIELD_NEGATIVE_ABSENT)),
    I32(row, mw, "Power.", RANGE(0, 1e7)),
    U32(row, id, "Which.", RANGE(0, INT32_MAX)),
    ENUM(row, shade, shade, "Its colour."),
    HEX(row, digest, "Of it."),
    F64(row, share, "A share.", RANGE(0, 1)),
    TEXT(row, note, "A note."),
    TEXT(row, reason, "A reason.", FLAGS(FIELD_EMPTY_TEXT)),
    I64(row, told, "As told.", RANGE(0, 100), FLAGS(FIELD_LENIENT | FIELD_LATER)),
};
static const struct schema row_schema = SCHEMA(row, "A row.");
#define HEADER "t_ns,gpu,left,mw,id,shade,digest,share,note,reason,told\n"

static void lines_are_what_was_put(void **state)
{
    (void)state;
    const struct row full = {-5, 7, 1000, 3, SHADE_GREEN, 0xab, 0.5, "a, \"b\"", "end", 9};
    struct row none;
    schema_absent_as(&row_schema, &none, 0, NULL);
    struct buf b = {0};
    schema_csv_header(&row_schema, &b);
    assert_string_equal(buf_text(&b), HEADER);
    buf_clear(&b);
    assert_int_equal(schema_csv_put(&row_schema, &full, 2, CSV_EXACT, &b), 11);
    assert_int_equal(schema_csv_put(&row_schema, &none, 0, CSV_EXACT, &b), 3); /* gpu, id and shade are never absent */
    const struct row formula = {.note = "=1+1", .reason = ""};
    schema_csv_put(&row_schema, &formula, 0, CSV_SHOWN, &b);
    assert_string_equal(buf_text(&b), "-5,2,7,1000,3,green,00000000000000ab,0.5,\"a, \"\"b\"\"\",end,9\n"
                                      ",0,,,0,red,,,,,\n"
                                      "0,0,0,0,0,red,,0,'=1+1,,0\n");
    buf_done(&b);
}

static void note(void *self, const char *text)
{
    buf_fmt(self, "%s. ", text);
}

/* Reads one line under a header; what is wrong with either, or "". */
static const char *read_row(const char *header, const char *text, struct row *ret, struct csv_line *ret_line,
                            struct arena *a)
{
    struct csv csv;
    struct span cells[CSV_COLUMNS_MAX];
    struct csv_columns columns;
    struct buf notes = {0};
    csv_init(&csv, span_of(header));
    size_t n = csv_next(&csv, cells, CSV_COLUMNS_MAX);
    bool good = schema_csv_columns(&row_schema, cells, n, &columns, note, &notes);
    const char *said = arena_text(a, buf_text(&notes));
    buf_done(&notes);
    if (!good)
        return said;
    csv_init(&csv, span_of(text));
    n = csv_next(&csv, cells, CSV_COLUMNS_MAX);
    assert_int_equal(n, columns.count);
    schema_absent_as(&row_schema, ret, 0, NULL);
    if (schema_csv_get(&columns, cells, csv.quoted, ret, ret_line, a))
        return said;
    return arena_format(a, "%s%s %s", said, columns.fields[ret_line->column]->key, ret_line->wrong);
}

static void lines_are_read_back(void **state)
{
    (void)state;
    struct arena a = {0};
    struct row r;
    struct csv_line line;
    assert_string_equal(
        read_row(HEADER, "-5,2,7,1000,3,green,00000000000000ab,0.5,\"a, \"\"b\"\"\",end,9\n", &r, &line, &a), "");
    assert_true(r.t_ns == -5 && r.left == 7 && r.mw == 1000 && r.id == 3 && r.shade == SHADE_GREEN);
    assert_true(r.digest == 0xab && r.share == 0.5 && r.told == 9);
    assert_string_equal(r.note, "a, \"b\"");
    assert_int_equal(line.aside, 2);
    assert_int_equal(line.filled, 11);
    assert_string_equal(read_row(HEADER, "1,0,,,0,red,,,,,\n", &r, &line, &a), "");
    assert_true(r.left == ABSENT_I64 && r.mw == -1 && r.digest == 0 && isnan(r.share) && !r.note && !*r.reason);
    assert_int_equal(line.filled, 4);
    /* In any order, with what is not known, and without a column that older versions did not write. */
    assert_string_equal(
        read_row("shade,new,id,gpu,t_ns,left,mw,digest,share,note,reason\n", "red,x,4,1,9,,,,,,\n", &r, &line, &a), "");
    assert_true(r.id == 4 && r.t_ns == 9 && r.told == ABSENT_I64);
    assert_int_equal(line.filled, 4);
    arena_done(&a);
}

static void what_is_wrong_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *line, *said;
    } cases[] = {
        {",0,,,0,red,,,,,\n", "t_ns is not a whole number"},
        {"315360000000000000,0,,,0,red,,,,,\n", ""},
        {"315360000000000001,0,,,0,red,,,,,\n", "t_ns is out of range"},
        {"-3600000000001,0,,,0,red,,,,,\n", "t_ns is out of range"},
        {"1,256,,,0,red,,,,,\n", "gpu is out of range"},
        {"1,,,,0,red,,,,,\n", "gpu is not a whole number"},
        {"1,0,-1,,0,red,,,,,\n", "left is out of range"},
        {"1,0,,10000001,0,red,,,,,\n", "mw is out of range"},
        {"1,0,,,2147483648,red,,,,,\n", "id is out of range"},
        {"1,0,,,,red,,,,,\n", "id is not a whole number"},
        {"1,0,,,0,blue,,,,,\n", "shade is not a known name"},
        {"1,0,,,0,,,,,,\n", "shade is not a known name"},
        {"1,0,,,0,red,ab,,,,\n", "digest is not 16 hexadecimal digits"},
        {"1,0,,,0,red,00000000000000AB,,,,\n", "digest is not 16 hexadecimal digits"},
        {"1,0,,,0,red,,1.5,,,\n", "share is out of range"},
        {"1,0,,,0,red,,nan,,,\n", "share is not a number"},
    };
    struct arena a = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct row r;
        struct csv_line line;
        const char *said = read_row(HEADER, cases[i].line, &r, &line, &a);
        if (strcmp(said, cases[i].said) != 0)
            fail_msg("%s: \"%s\", not \"%s\"", cases[i].line, said, cases[i].said);
    }
    arena_done(&a);
}

/* The caller decides whether it is forgiven; the value is absent, and what was said of it is there. */
static void a_lenient_field_may_be_wrong(void **state)
{
    (void)state;
    struct arena a = {0};
    struct row r;
    struct csv_line line;
    assert_string_equal(read_row(HEADER, "1,0,,,0,red,,,,,101\n", &r, &line, &a), "");
    assert_true(line.lenient && r.told == ABSENT_I64);
    assert_string_equal(line.wrong, "is out of range");
    assert_string_equal(read_row(HEADER, "1,0,,,0,red,,,,,100\n", &r, &line, &a), "");
    assert_true(!line.lenient && r.told == 100);
    arena_done(&a);
}

static void a_header_must_fit(void **state)
{
    (void)state;
    struct arena a = {0};
    struct row r;
    struct csv_line line;
    assert_string_equal(read_row("gpu,id,shade\n", "", &r, &line, &a), "the header lacks the column t_ns. ");
    assert_string_equal(read_row("t_ns,t_ns\n", "", &r, &line, &a), "the header has the column t_ns twice. ");
    /* Without a column that may be empty the line is read, and the loss is told. */
    assert_string_equal(read_row("t_ns,gpu,left,mw,id,shade,digest,share,reason\n", "1,0,,,0,red,,,\n", &r, &line, &a),
                        "the header lacks the column note. ");
    arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_what_was_put), cmocka_unit_test(lines_are_read_back),
        cmocka_unit_test(what_is_wrong_is_named), cmocka_unit_test(a_lenient_field_may_be_wrong),
        cmocka_unit_test(a_header_must_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
