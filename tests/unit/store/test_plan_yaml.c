#include "check.h"
#include <stdlib.h>
#include <unistd.h>
#include "base/buf.h"
#include "schema/set.h"
#include "schema/json.h"
#include "store/plan_yaml.h"

struct fixture {
    struct arena arena;
    struct problems p;
    struct plan plan;
    struct buf printed;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    problems_init(&f->p, &f->arena, "plan.yaml");
    plan_defaults(&f->plan);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    buf_done(&f->printed);
    arena_done(&f->arena);
    free(f);
    return 0;
}

static const char *read_plan(struct fixture *f, const char *text)
{
    plan_yaml_read(&f->plan, "plan.yaml", span_of(text), &f->p);
    buf_clear(&f->printed);
    problems_print(&f->p, &f->printed);
    return buf_text(&f->printed);
}

static void ten_lines_make_a_plan(void **state)
{
    struct fixture *f = *state;

    assert_string_equal(read_plan(f, "# a plan\n"
                                     "model: {id: meta-llama/Llama-3.1-8B-Instruct, total_parameters: 8.03e9}\n"
                                     "engine:\n"
                                     "  command: vllm serve \"meta llama\" --override '{\"a\":1}'\n"
                                     "  env: {HF_HOME: /data, N: 007}\n"
                                     "  version: 1.20\n"
                                     "gpus: [0, GPU-1a2b]\n"
                                     "requests:\n"
                                     "  file: prompts.jsonl\n"
                                     "  lengths: {kind: lognormal, median: 400, sigma: 0.8}\n"),
                        "");
    assert_string_equal(f->plan.model.id, "meta-llama/Llama-3.1-8B-Instruct");
    assert_close(f->plan.model.total_parameters, 8.03e9, 0);
    assert_int_equal(f->plan.engine.command_count, 5);
    assert_string_equal(f->plan.engine.command[2], "meta llama");
    assert_string_equal(f->plan.engine.command[4], "{\"a\":1}");
    assert_string_equal(f->plan.engine.version, "1.20"); /* text stays text */
    assert_string_equal(f->plan.engine.env[1].value, "007");
    assert_int_equal(f->plan.gpu_count, 2);
    assert_string_equal(f->plan.gpus[0], "0");
    assert_int_equal(f->plan.requests.lengths.kind, LENGTH_LOGNORMAL);
    assert_close(f->plan.requests.lengths.sigma, 0.8, 0);
    assert_int_equal(f->plan.engine.tensor_parallel, 1); /* the default stands */
    plan_check(&f->plan, &f->p);
    assert_int_equal(f->p.count, 0);
}

static void all_errors_come_at_once(void **state)
{
    struct fixture *f = *state;
    const char *text = read_plan(f, "requests:\n"
                                    "  file: a.jsonl\n"
                                    "  cuont: 5\n"
                                    "  api: chatt\n"
                                    "  lengths:\n"
                                    "    tokens: 1.5\n"
                                    "    median: x\n"
                                    "enigne: {}\n"
                                    "engine:\n"
                                    "  port: 70000\n"
                                    "  simulated: yes\n"
                                    "  env: [A=1]\n"
                                    "port: 8000\n");

    assert_string_equal(
        text,
        "plan.yaml:3:3: requests.cuont: There is no such key. Did you mean requests.count? Allowed here: file, api, "
        "count, random, lengths, temperature, top_p, seed, continuous_usage, connect, extra_body.\n"
        "plan.yaml:4:8: requests.api: 'chatt' is not allowed here. Allowed: one of chat, completions.\n"
        "plan.yaml:6:13: requests.lengths.tokens: '1.5' is not allowed here. Allowed: a whole number from 1 to "
        "1000000000 (tokens).\n"
        "plan.yaml:7:13: requests.lengths.median: 'x' is not allowed here. Allowed: a number from 1 to 1000000000 "
        "(tokens).\n"
        "plan.yaml:8:1: enigne: There is no such key. Did you mean engine? Allowed here: name, scenario, model, "
        "engine, gpus, requests, loads, slo, method, limits, power, cost, runs.\n"
        "plan.yaml:10:9: engine.port: '70000' is not allowed here. Allowed: a whole number from 0 to 65535.\n"
        "plan.yaml:11:14: engine.simulated: 'yes' is not allowed here. Allowed: true or false.\n"
        "plan.yaml:12:8: engine.env: This is a list. Allowed here: a section of names with texts.\n"
        "plan.yaml:13:1: port: There is no such key. Did you mean engine.port? Allowed here: name, scenario, model, "
        "engine, gpus, requests, loads, slo, method, limits, power, cost, runs.\n");
}

static void later_checks_know_the_place(void **state)
{
    struct fixture *f = *state;

    read_plan(f, "engine: {command: [x]}\n"
                 "requests:\n"
                 "  file: a\n"
                 "  extra_body: '{\"stream\": 1}'\n"
                 "  lengths: {kind: lognormal,\n"
                 "            min: 9, max: 3}\n");
    plan_check(&f->plan, &f->p);
    buf_clear(&f->printed);
    problems_print(&f->p, &f->printed);
    assert_string_equal(
        buf_text(&f->printed),
        "plan.yaml: model.id: Required, but missing: Name of the model as published, for example "
        "meta-llama/Llama-3.1-8B-Instruct; taken from the engine's command if that names it.\n"
        "plan.yaml:4:3: requests.extra_body: \"stream\" is set by jtok. Leave it out.\n"
        "plan.yaml:5:3: requests.lengths.median: Missing: the kind lognormal needs the median, in tokens.\n"
        "plan.yaml:5:3: requests.lengths.sigma: Missing: the kind lognormal needs the standard deviation "
        "of the logarithm, for example 0.6.\n"
        "plan.yaml:6:21: requests.lengths.max: 3 is below min, which is 9.\n");
}

/* A service that runs already says itself what it is; what is sent to it must be said all the same. */
static void a_running_service_needs_no_command(void **state)
{
    (void)state;
    struct arena a = {0};
    for (int o = OBJECT_LIFE; o <= OBJECT_ATTACH; o++) {
        struct plan plan;
        struct problems p;
        struct buf text = {0};
        plan_defaults(&plan);
        plan.object = (enum run_object)o;
        plan.gpu_count = 0;
        problems_init(&p, &a, NULL);
        plan_check(&plan, &p);
        problems_print(&p, &text);
        assert_int_equal(strstr(buf_text(&text), "engine.command") != NULL, o == OBJECT_LIFE);
        assert_int_equal(strstr(buf_text(&text), "model.id") != NULL, o == OBJECT_LIFE);
        assert_null(strstr(buf_text(&text), "gpus")); /* none: what a scheduler gave, or all */
        assert_non_null(strstr(buf_text(&text), "requests.file"));
        buf_done(&text);
    }
    arena_done(&a);
}

static void yaml_tricks_are_refused(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"name: &a x\n", "plan.yaml:1:7: name: Anchors (&name) are not supported. Write the value out.\n"},
        {"name: *a\n", "plan.yaml:1:7: name: Aliases (*name) are not supported. Write the value out.\n"},
        {"name: !!str 1\n", "plan.yaml:1:7: name: Tags (!name) are not supported. Leave the tag out: the key decides "
                            "what the value is.\n"},
        {"name: a\nname: b\n", "plan.yaml:2:1: name: Duplicate key, first defined on line 1. Keep one of them.\n"},
        {"name: a\n---\nname: b\n", "plan.yaml:2:1: A second document starts here, but a file must hold only one.\n"},
        {"model: {snapshot_sha256: a}\n",
         "plan.yaml:1:9: model.snapshot_sha256: This is filled in by jtok. Leave it out.\n"},
        {"engine: {env: {A: 1, A: 2}}\n", "plan.yaml:1:22: engine.env.A: Duplicate name. Keep one of them.\n"},
        {"engine: {env: {A: [secret]}}\n", "plan.yaml:1:19: engine.env.A: This is a list. Allowed here: a text.\n"},
        {"engine:\n  command: vllm 'serve\n", "plan.yaml:2:12: engine.command: A ' quote is not closed. Close it, or "
                                              "write a list with one word per item.\n"},
        {"requests: {api: null}\n",
         "plan.yaml:1:17: requests.api: 'null' is not allowed here. Allowed: one of chat, completions.\n"},
        {"? [a]\n: b\n", "plan.yaml:1:3: A key must be a single text.\n"},
        {"\tname: a\n", NULL},
        {"name: \"\\0\"\n", "plan.yaml:1:7: name: The text contains a NUL byte, which is not allowed here.\n"},
        {"- a\n", NULL},
        {"name: [\n", NULL},
        {"\xff\xfe\x00", NULL},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture *f;
        const char *text;

        (void)state;
        setup((void **)&f);
        text = read_plan(f, cases[i].text);
        if (cases[i].message)
            assert_string_equal(text, cases[i].message);
        assert_true(f->p.count >= 1);
        assert_true(strncmp(text, "plan.yaml:", 10) == 0);
        teardown((void **)&f);
    }
}

static void deep_brackets_end_soon(void **state)
{
    struct fixture *f = *state;
    char deep[100001];

    memset(deep, '[', sizeof deep - 1);
    deep[sizeof deep - 1] = 0;
    assert_non_null(strstr(read_plan(f, deep), "too deep"));
}

static void empty_file_changes_nothing(void **state)
{
    struct fixture *f = *state;

    assert_string_equal(read_plan(f, ""), "");
    assert_string_equal(read_plan(f, "# only words\n"), "");
    assert_string_equal(read_plan(f, "cost:\nengine:\n  env:\n"), "");
    assert_int_equal(f->plan.gpu_count, 0);
}

/* Editors put a byte order mark in front of UTF-8, and save as UTF-16: the first is passed over, the second is named.
 */
static void encodings_of_a_file(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *said; /* null: a good plan */
    } cases[] = {
#define FILE_OF(bytes, said) {bytes, sizeof(bytes) - 1, said}
        FILE_OF("name: x\n", NULL),
        FILE_OF("\xef\xbb\xbfname: x\n", NULL),
        FILE_OF("\xef\xbb\xbf# first\nname: x\n", NULL),
        FILE_OF("\xef\xbb\xbf", NULL),
        FILE_OF("\xef\xbb\xbfname: x\nnaem: y\n", ":2:1: naem: "),
        FILE_OF("\xff\xfen\0a\0", "The plan is UTF-16LE, but plans are UTF-8. Convert it with \"iconv -f UTF-16LE "),
        FILE_OF("\xfe\xff\0n\0a", "The plan is UTF-16BE, but "),
        FILE_OF("n\0a\0m\0e\0:\0 \0x\0\n\0", "The plan is UTF-16LE, but "),
        FILE_OF("\0n\0a\0m\0e\0:\0 \0x\0\n", "The plan is UTF-16BE, but "),
        FILE_OF("\xff\xfe\0\0n\0\0\0", "The plan is UTF-32LE, but "),
        FILE_OF("\0\0\0n\0\0\0a\0\0\0m", "The plan is UTF-32BE, but "),
#undef FILE_OF
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture *f;
        char path[] = "/tmp/jtok_plan_XXXXXX";
        int fd = mkstemp(path);
        struct span text;
        size_t mark = cases[i].n >= 3 && memcmp(cases[i].bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

        setup((void **)&f);
        assert_int_equal(write(fd, cases[i].bytes, cases[i].n), (ssize_t)cases[i].n);
        close(fd);
        bool good = plan_yaml_load(&f->plan, path, &text, &f->p);
        problems_print(&f->p, &f->printed);
        if (good != !cases[i].said || (cases[i].said && !strstr(buf_text(&f->printed), cases[i].said)))
            fail_msg("case %zu: %s", i, buf_text(&f->printed));
        if (good && cases[i].n > mark)
            assert_string_equal(f->plan.name, "x");
        if (good) /* the source is kept as it stands */
            assert_int_equal(text.n, cases[i].n);
        unlink(path);
        teardown((void **)&f);
    }
}

static void set_overrides(void **state)
{
    struct fixture *f = *state;

    read_plan(f, "requests: {count: 5}\nengine: {env: {A: x}}\n");
    assert_true(schema_set_argument(&plan_schema, &f->plan, "requests.count=750", &f->p));
    assert_true(schema_set_argument(&plan_schema, &f->plan, "engine.env.HF_HOME=/a=b", &f->p));
    assert_true(schema_set_argument(&plan_schema, &f->plan, "engine.env.A=y", &f->p));
    assert_true(schema_set_argument(&plan_schema, &f->plan, "gpus=0 1", &f->p));
    assert_true(schema_set_argument(&plan_schema, &f->plan, "engine.command=[vllm, serve, a b]", &f->p));
    assert_true(schema_set_argument(&plan_schema, &f->plan, "engine.metrics_path=", &f->p));
    assert_true(schema_set_argument(&plan_schema, &f->plan, "requests.lengths={kind: fixed, tokens: 3}", &f->p));
    assert_true(schema_set_argument(&plan_schema, &f->plan, "requests.temperature=null", &f->p));
    assert_int_equal(f->plan.requests.count, 750);
    assert_int_equal(f->plan.engine.env_count, 2);
    assert_string_equal(f->plan.engine.env[0].value, "y");
    assert_string_equal(f->plan.engine.env[1].value, "/a=b");
    assert_string_equal(f->plan.gpus[1], "1");
    assert_string_equal(f->plan.engine.command[2], "a b");
    assert_string_equal(f->plan.engine.metrics_path, "");
    assert_int_equal(f->plan.requests.lengths.tokens, 3);
    assert_true(isnan(f->plan.requests.temperature));
    assert_int_equal(f->p.count, 0);
}

static void set_errors_name_the_key(void **state)
{
    struct fixture *f = *state;

    assert_false(schema_set_argument(&plan_schema, &f->plan, "requests.cuont=1", &f->p));
    assert_false(schema_set_argument(&plan_schema, &f->plan, "engine.env=hf_secretvalue", &f->p));
    assert_false(schema_set_argument(&plan_schema, &f->plan, "requests.count=0", &f->p));
    assert_false(schema_set_argument(&plan_schema, &f->plan, "requests.count.x=0", &f->p));
    assert_false(schema_set_argument(&plan_schema, &f->plan, "nothing", &f->p));
    buf_clear(&f->printed);
    problems_print(&f->p, &f->printed);
    assert_string_equal(
        buf_text(&f->printed),
        "--set: requests.cuont: There is no such key. Did you mean requests.count? Allowed "
        "here: file, api, count, random, lengths, temperature, top_p, seed, continuous_usage, connect, extra_body.\n"
        "--set: engine.env: '...' is not allowed here. Allowed: a section of names with texts.\n"
        "--set: requests.count: '0' is not allowed here. Allowed: a whole number from 1 to "
        "4000000 (requests).\n"
        "--set: requests.count: This key has no keys below it. Set it as a whole.\n"
        "--set nothing: Write it as KEY=VALUE.\n");
    assert_true(f->plan.requests.count == ABSENT_I64);
}

static void json_of(const struct plan *p, struct buf *b)
{
    schema_json_write(&plan_schema, p, b);
}

/* What is written reads back equal, as YAML and as JSON, with awkward texts. */
static void round_trips(void **state)
{
    static const char *texts[] = {"null",
                                  "~",
                                  "",
                                  "yes",
                                  "1.20",
                                  "a: b",
                                  "# c",
                                  "- d",
                                  "\"q\" 'q' \\",
                                  "line\nbreak\ttab",
                                  "\x01\x7f",
                                  "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80",
                                  "\xc2\x85\xe2\x80\xa8",
                                  " lead",
                                  "trail ",
                                  "{}",
                                  "[x]",
                                  "&a",
                                  "*a",
                                  "!t",
                                  "%d",
                                  "@x",
                                  "`",
                                  "key:",
                                  "0x1F",
                                  "-",
                                  "a,b"};
    enum { N = sizeof texts / sizeof *texts };
    struct fixture *f = *state;
    struct field_pair env[N];
    struct buf yaml = {0}, first = {0}, second = {0};
    struct plan back;
    struct err e;

    for (size_t i = 0; i < N; i++)
        env[i] = (struct field_pair){i ? arena_format(&f->arena, "V%zu", i) : "odd: name", texts[i]};
    f->plan.engine.command = texts;
    f->plan.engine.command_count = N;
    f->plan.engine.env = env;
    f->plan.engine.env_count = N;
    f->plan.name = "null";
    f->plan.requests.file = "a b.jsonl";
    f->plan.requests.sha256 = "abc";
    f->plan.method.grid_s = 0.1;
    f->plan.model.total_parameters = 1e22 / 1e10 + 0.1;
    for (int docs = 0; docs < 2; docs++) {
        buf_clear(&yaml);
        buf_clear(&first);
        buf_clear(&second);
        plan_yaml_write(&f->plan, docs, &yaml);
        plan_defaults(&back);
        plan_yaml_read(&back, "back", buf_span(&yaml), &f->p);
        problems_print(&f->p, &f->printed);
        assert_string_equal(buf_text(&f->printed), "");
        assert_null(back.requests.sha256); /* resolved: a comment in YAML */
        back.requests.sha256 = "abc";
        json_of(&f->plan, &first);
        json_of(&back, &second);
        assert_string_equal(buf_text(&first), buf_text(&second));
    }
    memset(&back, 0x55, sizeof back);
    assert_ok(schema_json_read(&plan_schema, &back, "plan.json", buf_span(&first), &f->arena, &e), e);
    buf_clear(&second);
    json_of(&back, &second);
    assert_string_equal(buf_text(&first), buf_text(&second));
    for (size_t i = 0; i < N; i++)
        assert_string_equal(back.engine.command[i], texts[i]);
    buf_done(&yaml);
    buf_done(&first);
    buf_done(&second);
}

static void the_list_fits_an_error(void **state)
{
    struct fixture *f = *state;
    struct err e;

    assert_true(problems_none(&f->p, ERR_PLAN, &e));
    for (int i = 0; i < 200; i++)
        problems_add_at(&f->p, "x", 1, (size_t)i + 1, "key", "something is wrong here");
    assert_false(problems_none(&f->p, ERR_PLAN, &e));
    assert_int_equal(e.kind, ERR_PLAN);
    assert_true(strncmp(e.text, "x:1:1: key: something is wrong here\nx:1:2: ", 42) == 0);
    assert_non_null(strstr(e.text, "more"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(ten_lines_make_a_plan),
        TEST(all_errors_come_at_once),
        TEST(later_checks_know_the_place),
        TEST(yaml_tricks_are_refused),
        cmocka_unit_test(a_running_service_needs_no_command),
        TEST(deep_brackets_end_soon),
        TEST(empty_file_changes_nothing),
        TEST(encodings_of_a_file),
        TEST(set_overrides),
        TEST(set_errors_name_the_key),
        TEST(round_trips),
        TEST(the_list_fits_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
