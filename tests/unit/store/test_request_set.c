#include "check.h"
#include <stdlib.h>
#include <unistd.h>
#include "base/buf.h"
#include "store/request_set.h"

struct fixture {
    struct arena arena;
    struct problems p;
    struct plan plan;
    struct request_set set;
    struct buf printed;
    char file[64];
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

    if (f->file[0])
        unlink(f->file);
    request_set_done(&f->set);
    buf_done(&f->printed);
    arena_done(&f->arena);
    free(f);
    return 0;
}

static bool load_text(struct fixture *f, const char *text)
{
    bool good;
    int fd;

    if (f->file[0])
        unlink(f->file);
    strcpy(f->file, "/tmp/jtok_set_XXXXXX");
    fd = mkstemp(f->file);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    f->plan.requests.file = f->file;
    request_set_done(&f->set);
    good = request_set_load(&f->set, &f->plan, &f->p);
    buf_clear(&f->printed);
    problems_print(&f->p, &f->printed);
    return good;
}

static void rows_are_kept_as_they_stand(void **state)
{
    struct fixture *f = *state;
    const struct request_set *s = &f->set;

    assert_true(load_text(f, "\xef\xbb\xbf{\"uid\":[1,{\"prompt\":3}],\"prompt\":\"a\\u00e4\\ud800\"}\n"
                             "\r\n"
                             "{\"messages\": [ {\"role\":\"user\", \"content\":\"x\"} ], \"z\":null}\n"
                             "{\"prompt\":\"first\",\"prompt\":\"a\xc3\xa4\xed\xa0\x80\"}"));
    assert_int_equal(s->row_count, 3);
    assert_int_equal(s->count, 3);
    assert_true(span_is(s->rows[0].prompt, "\"a\\u00e4\\ud800\""));
    assert_true(span_is(s->rows[1].messages, "[ {\"role\":\"user\", \"content\":\"x\"} ]"));
    assert_int_equal(s->rows[1].line, 3);
    /* The last of two keys counts; the same text under another spelling has the same digest. */
    assert_true(s->rows[2].digest == s->rows[0].digest);
    assert_int_equal(s->repeated_prompts, 1);
    assert_true(s->max_tokens[0] == ABSENT_I64);
    assert_true(s->total_max_tokens == ABSENT_I64);
}

static void count_repeats_in_order(void **state)
{
    struct fixture *f = *state;

    f->plan.requests.count = 5;
    f->plan.requests.lengths.kind = LENGTH_FIXED;
    f->plan.requests.lengths.tokens = 64;
    assert_true(load_text(f, "{\"prompt\":\"a\"}\n{\"prompt\":\"b\"}\n"));
    assert_int_equal(f->set.count, 5);
    assert_true(span_is(request_set_row(&f->set, 4)->prompt, "\"a\""));
    assert_int_equal(f->set.repeated_prompts, 3);
    assert_int_equal(f->set.total_max_tokens, 320);
    f->plan.requests.count = 1;
    assert_true(load_text(f, "{\"prompt\":\"a\"}\n{\"prompt\":\"a\"}\n"));
    assert_int_equal(f->set.repeated_prompts, 0);
}

static void public_sets_load(void **state)
{
    struct fixture *f = *state;

    f->plan.requests.file = JTOK_SHARED "/data/arena-hard-v2.0.jsonl";
    if (access(f->plan.requests.file, R_OK) != 0)
        skip();
    f->plan.requests.count = 2500;
    assert_true(request_set_load(&f->set, &f->plan, &f->p));
    assert_int_equal(f->set.row_count, 750);
    assert_string_equal(f->set.sha256, "a75cef6623db6b27aec810497b059f0659705d7ff48dcbccc5bd5b130728ac73");
    /* 2500 = 750 x 3 + 250, so at least 1750 prompts come again. */
    assert_true(f->set.repeated_prompts >= 1750);
    request_set_done(&f->set);
    f->plan.requests.file = JTOK_SHARED "/data/HumanEval.jsonl.gz";
    f->plan.requests.count = ABSENT_I64;
    f->plan.requests.api = API_COMPLETIONS;
    assert_true(request_set_load(&f->set, &f->plan, &f->p));
    assert_int_equal(f->set.count, 164);
    assert_string_equal(f->set.sha256, "b796127e635a67f93fb35c04f4cb03cf06f38c8072ee7cee8833d7bee06979ef");
}

#define A_LINE                                                                                                         \
    "a line is an object with \"prompt\" (a text) or \"messages\" (a list of objects with \"role\" and \"content\")"

static void every_fault_is_named(void **state)
{
    static const struct {
        const char *line, *message;
    } cases[] = {
        {"{\"prompt\":5}", ":1: prompt: expected a text, found a number; " A_LINE},
        {"{\"messages\":{}}", ":1: messages: expected a list, found an object; " A_LINE},
        {"{\"messages\":[]}", ":1: messages: the list is empty; a request needs at least one message"},
        {"{\"messages\":[\"x\"]}", ":1: messages: expected objects in the list, found a text; " A_LINE},
        {"{\"messages\":[{\"role\":\"user\"}]}", ":1: messages: message 1 lacks \"content\"; " A_LINE},
        {"{\"messages\":[{\"content\":\"x\"}]}", ":1: messages: message 1 lacks \"role\"; " A_LINE},
        {"{\"text\":\"x\"}", ":1: neither \"prompt\" nor \"messages\" is here; " A_LINE},
        {"{\"prompt\":\"\"}", ":1: prompt: the prompt is empty; engines refuse that"},
        {"[1]", ":1: expected an object, found a list; " A_LINE},
        {"{\"prompt\":\"a\",\"messages\":[{\"role\":\"u\",\"content\":1}]}",
         ":1: both \"prompt\" and \"messages\" are here; keep one of them"},
        {"\n \n", ": the request set is empty; " A_LINE},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture *f;

        (void)state;
        setup((void **)&f);
        assert_false(load_text(f, cases[i].line));
        assert_string_equal(buf_text(&f->printed), arena_format(&f->arena, "%s%s\n", f->file, cases[i].message));
        teardown((void **)&f);
    }
}

static void bad_json_names_its_column(void **state)
{
    struct fixture *f = *state;

    assert_false(load_text(f, "{\"prompt\":\"a\"}\n{\"prompt\":\"b\",}\nnot json\n"));
    assert_int_equal(f->p.count, 2);
    assert_int_equal(f->p.items[0].line, 2);
    assert_int_equal(f->p.items[0].column, 15);
    assert_int_equal(f->p.items[1].line, 3);
    assert_int_equal(f->p.items[1].column, 1);
}

static void many_faults_are_counted(void **state)
{
    struct fixture *f = *state;
    struct buf text = {0};

    for (int i = 0; i < 100; i++)
        buf_str(&text, "{}\n");
    assert_false(load_text(f, buf_text(&text)));
    assert_int_equal(f->p.count, 21);
    assert_string_equal(f->p.items[20].text, "80 more lines are at fault");
    buf_done(&text);
}

static void messages_do_not_fit_completions(void **state)
{
    struct fixture *f = *state;

    f->plan.requests.api = API_COMPLETIONS;
    assert_false(load_text(f, "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}\n"));
    assert_non_null(strstr(buf_text(&f->printed), "set requests.api: chat"));
}

static void missing_file_names_the_plan_line(void **state)
{
    struct fixture *f = *state;

    problems_place(&f->p, "plan.yaml", 7, 3, "requests.file");
    f->plan.requests.file = "/nowhere/set.jsonl";
    assert_false(request_set_load(&f->set, &f->plan, &f->p));
    problems_print(&f->p, &f->printed);
    assert_true(strncmp(buf_text(&f->printed), "plan.yaml:7:3: requests.file: ", 30) == 0);
    assert_non_null(strstr(f->printed.p, "/nowhere/set.jsonl"));
}

/* Values of an independent evaluation of the documented formula (Python, with its own libm). */
static void lognormal_lengths(void **state)
{
    static const int64_t right[] = {181, 121, 199, 405, 1039, 346, 342, 600, 1331, 1370, 59, 1122};
    static const int64_t right_big_seed[] = {883, 349, 86, 596};
    struct plan_lengths l = {
        .kind = LENGTH_LOGNORMAL, .tokens = ABSENT_I64, .median = 400, .sigma = 0.8, .min = 16, .max = 2048, .seed = 7};
    int64_t sum = 0;

    (void)state;
    for (size_t i = 0; i < sizeof right / sizeof *right; i++)
        assert_int_equal(request_length(&l, i), right[i]);
    for (size_t i = 0; i < 10000; i++)
        sum += request_length(&l, i);
    assert_int_equal(sum, 5385390);
    l.seed = 9007199254740992;
    for (size_t i = 0; i < sizeof right_big_seed / sizeof *right_big_seed; i++)
        assert_int_equal(request_length(&l, i), right_big_seed[i]);
}

/* Without bounds, the logarithms have the mean and the deviation asked for: the standard error of 40 000 is 0.005
 * sigma. */
static void lognormal_has_its_moments(void **state)
{
    struct plan_lengths l = {
        .kind = LENGTH_LOGNORMAL, .median = 1e6, .sigma = 0.5, .min = 1, .max = ABSENT_I64, .seed = 1};
    double sum = 0, squares = 0;
    enum { N = 40000 };

    (void)state;
    for (size_t i = 0; i < N; i++) {
        double x = (log((double)request_length(&l, i)) - log(1e6)) / 0.5;

        sum += x;
        squares += x * x;
    }
    assert_close(sum / N, 0, 0.02);
    assert_close(squares / N, 1, 0.03);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(rows_are_kept_as_they_stand),
        TEST(count_repeats_in_order),
        TEST(public_sets_load),
        TEST(every_fault_is_named),
        TEST(bad_json_names_its_column),
        TEST(many_faults_are_counted),
        TEST(messages_do_not_fit_completions),
        TEST(missing_file_names_the_plan_line),
        TEST(lognormal_lengths),
        TEST(lognormal_has_its_moments),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
