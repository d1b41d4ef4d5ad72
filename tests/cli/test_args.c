#include "check.h"
#include "cli/args.h"
#include "cli/exit.h"

struct values {
    bool flag;
    const char *text;
    int64_t number;
    double real;
    struct arg_list list;
};

static bool parse(struct values *v, struct args *a, struct err *e, const char *const *words, bool takes_rest)
{
    const struct arg options[] = {
        {"--dry-run", ARG_FLAG, NULL, "says what would happen", &v->flag, 'n'},
        {"--format", ARG_TEXT, "NAME", "text or json", &v->text, 0},
        {"--requests", ARG_I64, "N", "how many", &v->number, 0},
        {"--pue", ARG_F64, "X", "a factor", &v->real, 0},
        {"--set", ARG_LIST, "KEY=VALUE", "one parameter", &v->list, 0},
    };
    const struct args_spec spec = {.command = "probe",
                                   .operands = "A [B]",
                                   .operands_min = 1,
                                   .operands_max = 2,
                                   .summary = "A probe.",
                                   .example = "jtok probe a",
                                   .options = options,
                                   .option_count = 5,
                                   .takes_rest = takes_rest};
    char name[] = "probe", *argv[16] = {name};
    int argc = 1;
    for (; *words; words++)
        argv[argc++] = (char *)(uintptr_t)*words;
    return args_parse(&spec, argc, argv, a, e);
}
#define PARSE(v, a, e, ...) parse(v, a, e, (const char *const[]){__VA_ARGS__, NULL}, false)

static void values_reach_their_place(void **state)
{
    (void)state;
    struct values v = {.number = 5};
    struct args a;
    struct err e = {0};
    assert_ok(PARSE(&v, &a, &e, "one", "--format=json", "-n", "--set", "k=3", "--pue", "1.5", "two", "--set=a=b"), e);
    assert_true(v.flag);
    assert_string_equal(v.text, "json");
    assert_int_equal(v.number, 5);
    assert_close(v.real, 1.5, 0);
    assert_int_equal(v.list.count, 2);
    assert_string_equal(v.list.items[0], "k=3");
    assert_string_equal(v.list.items[1], "a=b");
    assert_int_equal(a.operand_count, 2);
    assert_string_equal(a.operands[1], "two");
}

static void wrong_lines_are_named(void **state)
{
    (void)state;
    const struct {
        const char *words[6], *text;
    } cases[] = {
        {{"x", "--formt", "json"},
         "probe: there is no option --formt; did you mean --format? \"jtok probe --help\" lists the "
         "options."},
        {{"x", "--qqqqqqqq"}, "probe: there is no option --qqqqqqqq. \"jtok probe --help\" lists the options."},
        {{"x", "--requests", "5.5"}, "probe: --requests takes a whole number, not \"5.5\"."},
        {{"x", "--pue", "two"}, "probe: --pue takes a number, not \"two\"."},
        {{"x", "--format"}, "probe: --format needs a value behind it: --format NAME."},
        {{"x", "--dry-run=1"}, "probe: --dry-run takes no value."},
        {{"--dry-run"}, "probe: an argument is missing. Usage: jtok probe A [B]"},
        {{"x", "y", "z"}, "probe: \"z\" is one argument too many behind \"y\". Usage: jtok probe A [B]"},
        {{"x", "--format", "json", "--format", "csv"},
         "probe: --format is given twice, as \"json\" and as \"csv\". Keep one of them."},
        {{"x", "--requests", "1", "y", "--requests=2"},
         "probe: --requests is given twice, as \"1\" and as \"2\". Keep one of them."},
        {{"x", "--pue", "1.5", "--pue", "1.5"},
         "probe: --pue is given twice, as \"1.5\" and as \"1.5\". Keep one of them."},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct values v = {0};
        struct args a;
        struct err e = {0};
        assert_false(parse(&v, &a, &e, cases[i].words, false));
        assert_string_equal(e.text, cases[i].text);
        assert_int_equal(exit_code_of(&e), 2);
    }
}

static void two_dashes_end_the_options(void **state)
{
    (void)state;
    struct values v = {0};
    struct args a;
    struct err e = {0};
    assert_ok(PARSE(&v, &a, &e, "--", "--format"), e);
    assert_string_equal(a.operands[0], "--format");
    assert_ok(parse(&v, &a, &e, (const char *const[]){"x", "--", "serve", "--port", "1", NULL}, true), e);
    assert_int_equal(a.operand_count, 1);
    assert_int_equal(a.rest_count, 3);
    assert_string_equal(a.rest[1], "--port");
}

static void help_wins_over_what_is_missing(void **state)
{
    (void)state;
    struct values v = {0};
    struct args a;
    struct err e = {0};
    assert_ok(PARSE(&v, &a, &e, "--help"), e);
    assert_true(a.help);
}

static void help_lists_each_option(void **state)
{
    (void)state;
    const char *text;
    const struct arg option = {"--format", ARG_TEXT, "NAME", "text or json", &text, 'f'};
    const struct args_spec spec = {.command = "probe",
                                   .operands = "RUN",
                                   .summary = "A probe.",
                                   .example = "jtok probe a",
                                   .options = &option,
                                   .option_count = 1};
    struct buf out = {0};
    args_help(&spec, &out);
    assert_string_equal(buf_text(&out), "Usage: jtok probe [options] RUN\n\nA probe.\n\nOptions:\n"
                                        "  -f, --format NAME  text or json\n"
                                        "  -h, --help         this text\n\nExample:\n  jtok probe a\n");
    buf_done(&out);
}

static void each_kind_has_its_exit_code(void **state)
{
    (void)state;
    const struct {
        enum err_kind kind;
        int code;
    } cases[] = {{ERR_NONE, 0},   {ERR_USAGE, 2},    {ERR_PLAN, 3},         {ERR_DEVICE, 4},
                 {ERR_BUSY, 5},   {ERR_ENGINE, 6},   {ERR_RECORDS, 7},      {ERR_REFUSED, 8},
                 {ERR_SYSTEM, 9}, {ERR_INTERNAL, 9}, {ERR_INTERRUPTED, 130}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(exit_code_of(&(struct err){.kind = cases[i].kind}), cases[i].code);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_reach_their_place),   cmocka_unit_test(wrong_lines_are_named),
        cmocka_unit_test(two_dashes_end_the_options), cmocka_unit_test(help_wins_over_what_is_missing),
        cmocka_unit_test(help_lists_each_option),     cmocka_unit_test(each_kind_has_its_exit_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
