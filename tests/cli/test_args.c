#include "check.h"
#include <math.h>
#include "cli/command.h"
#include "cli/help.h"
#include "cli/plan_args.h"
#include "cli/show.h"
#include "schema/table.h"

struct values {
    enum format format;
    int64_t number;
    double real;
    bool flag;
};

static const struct option options[] = {
    {"--dry-run", 'n', NULL, .field = BOOL(values, flag, "Say what would happen.")},
    FORMAT_OPTION(values, format, format_names_three),
    {"--requests", 0, "N", .field = I64(values, number, "How many.", RANGE(1, 10), DEFAULT(5))},
    {"--pue", 0, "X", .field = F64(values, real, "A factor.")},
    {"--set", 0, "KEY=VALUE", .many = true, .doc = "One parameter."},
    {"--count", 0, "N", .plan_key = "requests.count", .doc = "Requests."},
};

static struct command probe = {.name = "probe",
                               .brief = "a probe",
                               .operands = "A [B]",
                               .operands_min = 1,
                               .operands_max = 2,
                               .summary = "A probe.",
                               .example = "jtok probe a",
                               .options = options,
                               .option_count = SCHEMA_COUNT(options),
                               .options_size = sizeof(struct values)};

static struct arena arena;

static bool parse(struct values *v, struct args *a, struct err *e, const char *const *words, bool takes_rest)
{
    char name[] = "probe", *argv[16] = {name};
    int argc = 1;
    for (; *words; words++)
        argv[argc++] = (char *)(uintptr_t)*words;
    probe.takes_rest = takes_rest;
    return args_parse(&probe, argc, argv, &arena, v, a, e);
}
#define PARSE(v, a, e, ...) parse(v, a, e, (const char *const[]){__VA_ARGS__, NULL}, false)

static void values_reach_their_place(void **state)
{
    (void)state;
    struct values v = {0};
    struct args a;
    struct err e = {0};
    assert_ok(PARSE(&v, &a, &e, "one", "--format=json", "-n", "--set", "k=3", "--pue", "1.5", "two", "--set=a=b"), e);
    assert_true(v.flag);
    assert_int_equal(v.format, FORMAT_JSON);
    assert_int_equal(v.number, 5);
    assert_close(v.real, 1.5, 0);
    assert_int_equal(a.many.count, 2);
    assert_string_equal(a.many.items[0], "k=3");
    assert_string_equal(a.many.items[1], "a=b");
    assert_int_equal(a.operand_count, 2);
    assert_string_equal(a.operands[1], "two");
    assert_ok(PARSE(&v, &a, &e, "one"), e);
    assert_int_equal(v.format, FORMAT_TEXT);
    assert_true(isnan(v.real));
    assert_false(v.flag);
}

static void wrong_lines_are_named(void **state)
{
    (void)state;
    const struct {
        const char *words[6], *text;
    } cases[] = {
        {{"x", "--formt", "json"},
         "probe: There is no option --formt; did you mean --format? \"jtok probe --help\" lists the "
         "options."},
        {{"x", "--req"},
         "probe: There is no option --req; did you mean --requests? \"jtok probe --help\" lists the options."},
        {{"x", "--qqqqqqqq"}, "probe: There is no option --qqqqqqqq. \"jtok probe --help\" lists the options."},
        {{"x", "--requests", "5.5"}, "probe: --requests: '5.5'"},
        {{"x", "--requests", "11"}, "probe: --requests: '11'"},
        {{"x", "--pue", "two"}, "probe: --pue: 'two'"},
        {{"x", "--format", "xml"}, "probe: --format: 'xml'"},
        {{"x", "--format"}, "probe: --format needs a value: --format NAME."},
        {{"x", "--dry-run=1"}, "probe: --dry-run takes no value."},
        {{"--dry-run"}, "probe: An argument is missing. Usage: jtok probe A [B]"},
        {{"x", "y", "z"}, "probe: \"z\" is one argument too many after \"y\". Usage: jtok probe A [B]"},
        {{"x", ""}, "probe: Argument 2 is empty, as when a shell variable is not set. Usage: jtok probe A [B]"},
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
        if (strncmp(e.text, cases[i].text, strlen(cases[i].text)) != 0)
            fail_msg("%s\nis not: %s", e.text, cases[i].text);
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
    struct buf out = {0};
    help_command(&probe, &out);
    const char *text = buf_text(&out);
    static const char *const parts[] = {
        "Usage: jtok probe [OPTIONS] A [B]\n\nA probe.\n\nOptions:\n",
        "\n  -n, --dry-run         Say what would happen.\n",
        "\n  -f, --format NAME     Output format: text (default), json or csv.\n",
        "\n      --requests N      How many (default: 5).\n",
        "\n      --set KEY=VALUE   One parameter.\n",
        "\n  -h, --help            Print this text.\n\nExit codes:\n  0    Success.",
        "\n  2    The command line is wrong.\n  9    ",
        "\n\nExample:\n  jtok probe a\n",
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(text, parts[i]))
            fail_msg("\"%s\" is not in:\n%s", parts[i], text);
    buf_done(&out);
}

/* What an option and a --set say of one key is typed once, by the plan's table; twice is an error. */
static void options_set_keys_of_the_plan(void **state)
{
    (void)state;
    static const struct {
        const char *words[6], *fault;
        int64_t count;
    } cases[] = {{{"x", "--count", "7"}, NULL, 7},
                 {{"x", "--set", "requests.count=8"}, NULL, 8},
                 {{"x", "--count", "7", "--set", "requests.count=7"}, "both set requests.count", 0},
                 {{"x", "--count", "seven"}, "--count", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct values v = {0};
        struct args a;
        struct err e = {0};
        struct plan plan;
        struct problems problems;
        assert_ok(parse(&v, &a, &e, cases[i].words, false), e);
        plan_defaults(&plan);
        problems_init(&problems, &arena, NULL);
        plan_args_set(&probe, &a, &plan, &problems);
        assert_int_equal(problems_none(&problems, ERR_PLAN, &e), !cases[i].fault);
        if (cases[i].fault)
            assert_non_null(strstr(e.text, cases[i].fault));
        else
            assert_int_equal(plan.requests.count, cases[i].count);
    }
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
        cmocka_unit_test(values_reach_their_place),    cmocka_unit_test(wrong_lines_are_named),
        cmocka_unit_test(two_dashes_end_the_options),  cmocka_unit_test(help_wins_over_what_is_missing),
        cmocka_unit_test(help_lists_each_option),      cmocka_unit_test(options_set_keys_of_the_plan),
        cmocka_unit_test(each_kind_has_its_exit_code),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    arena_done(&arena);
    return failed;
}
