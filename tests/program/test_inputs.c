/* What a user gives: the same words in a dry run and in a run, and what was read once is what is sent. */
#include "check.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/buf.h"
#include "cli/exit.h"
#include "program/harness.h"
#include "text/digest.h"

#define ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})

struct writer {
    const char *path, *text;
    pthread_t thread;
};

static void *write_pipe(void *arg)
{
    const struct writer *w = arg;
    int fd = open(w->path, O_WRONLY | O_CLOEXEC);
    assert_true(write(fd, w->text, strlen(w->text)) == (ssize_t)strlen(w->text));
    close(fd);
    return NULL;
}

/* The text after "KEY: " in a line of the printed plan; "" without one. */
static const char *printed(struct life *l, const char *key)
{
    const char *at = strstr(l->out, arena_format(&l->arena, " %s: ", key));
    return at ? arena_copy(&l->arena, at + strlen(key) + 3, strcspn(at + strlen(key) + 3, "\n")) : "";
}

static const char *const lines = "{\"prompt\":\"one\",\"max_tokens\":21,\"uid\":1,\"temperature\":0.5}\n"
                                 "{\"prompt\":\"two\",\"output_tokens\":22,\"uid\":2,\"top_p\":0.5}\n"
                                 "{\"messages\":[{\"role\":\"user\",\"content\":\"three\"}],\"max_tokens\":23}\n";

/* A pipe that nobody opens again after it was read, lengths and members of the lines' own, and the same warnings twice.
 */
static void a_piped_set_is_what_runs(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    struct writer w = {.path = arena_format(&l.arena, "%s/prompts.jsonl", l.scratch), .text = lines};
    const char *plan = life_plan(&l, "", life_requests(&l, ", temperature: 0"));
    char sha256[DIGEST_HEX];
    digest_bytes(span_of(lines), sha256);
    const char *const words[][3] = {{"run", "--dry-run", plan}, {"run", "--quiet", plan}};
    const char *said[2], *work = "";
    unlink(w.path);
    assert_int_equal(mkfifo(w.path, 0600), 0);
    for (int i = 0; i < 2; i++) {
        pthread_create(&w.thread, NULL, write_pipe, &w);
        int code = life_run(&l, ARGS(words[i][0], words[i][1], words[i][2]), NULL, 60);
        pthread_join(w.thread, NULL);
        assert_int_equal(code, i ? EXIT_EXCLUDED : EXIT_OK);
        said[i] = arena_text(&l.arena, l.err);
        if (i == 0) {
            assert_string_equal(printed(&l, "sha256"), sha256);
            work = printed(&l, "work_sha256");
            assert_non_null(strstr(l.out, "\nscenario: \"piped requests\"\n"));
            assert_non_null(strstr(l.out, "    kind: lines\n"));
        }
    }
    /* What stands behind it is of the machine: another engine that runs now. */
    const char *warnings = arena_format(
        &l.arena,
        "jtok: %s: Keys in the lines are not sent, because the plan sets them for all requests: temperature (1 line, "
        "first in line 1).\n"
        "jtok: %s: Keys in the lines are not sent, because they do not belong to a request's body: uid (2 lines, first "
        "in "
        "line 1).\n",
        w.path, w.path);
    for (int i = 0; i < 2; i++)
        if (strncmp(said[i], warnings, strlen(warnings)) != 0)
            fail_msg("%s", said[i]);
    struct records *r = life_records(&l);
    assert_string_equal(r->plan.requests.sha256, sha256);
    assert_string_equal(r->plan.requests.work_sha256, work);
    assert_string_equal(life_result(&l)->about.work_sha256, work);
    assert_int_equal(r->request_count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(r->requests[i].verdict, VERDICT_OK);
        assert_int_equal(r->requests[i].max_tokens, 21 + i);
    }
    int seen = 0;
    for (size_t i = 0; i < r->fact_count; i++) {
        bool requests = strcmp(r->facts[i].name, "plan.requests_sha256") == 0;
        seen += requests || strcmp(r->facts[i].name, "plan.work_sha256") == 0;
        if (requests)
            assert_string_equal(r->facts[i].seen, sha256);
    }
    assert_int_equal(seen, 2);
    assert_int_equal(life_result(&l)->checks[CODE_PLAN_MISMATCH].outcome, CHECK_PASSED);
    life_close(&l);
}

/* Two sets that come through the same name are two works; two spellings of one are one. */
static void piped_sets_are_told_apart(void **state)
{
    (void)state;
    static const char *const texts[] = {"{\"prompt\":\"set one\"}\n", "{\"prompt\":\"set two\"}\n",
                                        " {\"prompt\" : \"set\\u0020one\"}"};
    const char *sha256[3], *work[3];
    struct life l;
    life_open(&l);
    struct writer w = {.path = arena_format(&l.arena, "%s/prompts.jsonl", l.scratch)};
    const char *plan = life_plan(&l, "", life_requests(&l, ""));
    unlink(w.path);
    assert_int_equal(mkfifo(w.path, 0600), 0);
    for (int i = 0; i < 3; i++) {
        w.text = texts[i];
        pthread_create(&w.thread, NULL, write_pipe, &w);
        assert_int_equal(life_run(&l, ARGS("run", "--dry-run", plan), NULL, 60), EXIT_OK);
        pthread_join(w.thread, NULL);
        sha256[i] = printed(&l, "sha256");
        work[i] = printed(&l, "work_sha256");
        assert_int_equal(strlen(sha256[i]), 64);
        assert_int_equal(strlen(work[i]), 64);
    }
    assert_string_not_equal(sha256[0], sha256[1]);
    assert_string_not_equal(sha256[0], sha256[2]);
    assert_string_not_equal(work[0], work[1]);
    assert_string_equal(work[0], work[2]);
    life_close(&l);
}

/* A pipe that nobody writes to can be given up. */
static void a_pipe_without_a_writer_can_be_left(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    const char *plan = life_plan(&l, "", life_requests(&l, "")),
               *path = arena_format(&l.arena, "%s/prompts.jsonl", l.scratch);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    life_start(&l, ARGS("run", "--dry-run", plan), NULL);
    usleep(500000);
    life_signal(&l, SIGINT);
    assert_int_equal(life_wait(&l, 20), EXIT_INTERRUPTED);
    assert_string_equal(l.err, "jtok: Interrupted before anything was started; nothing was written.\n");
    assert_int_equal(life_survivors(&l), 0);
    life_close(&l);
}

static void what_is_given_twice_is_named(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    const char *plan = life_plan(&l, "", life_requests(&l, ""));
    const struct {
        const char *words[8], *said;
        int code;
    } cases[] = {
        {{"run", "--dry-run", "-r", "a.jsonl", "-r", "b.jsonl", plan},
         "jtok: run: --requests is given twice, as \"a.jsonl\" and as \"b.jsonl\". Keep one of them.\n",
         EXIT_USAGE},
        {{"run", "--dry-run", plan, "-n", "5", "--count=6"},
         "jtok: run: --count is given twice, as \"5\" and as \"6\". Keep one of them.\n",
         EXIT_USAGE},
        {{"run", "--dry-run", plan, "-r", "a.jsonl", "-s", "requests.file=b.jsonl"},
         "jtok: \"--requests a.jsonl\" and \"--set requests.file=b.jsonl\" both set requests.file. Keep one of them.\n",
         EXIT_PLAN},
        {{"run", "--dry-run", plan, "-s", "engine.env.API_KEY=hush1", "-s", "engine.env.API_KEY=hush2"},
         "jtok: \"--set engine.env.API_KEY\" and \"--set engine.env.API_KEY\" both set engine.env.API_KEY. Keep one of "
         "them.\n",
         EXIT_PLAN},
        {{"run", "one.yaml", "two.yaml"},
         "jtok: run: \"two.yaml\" is one argument too many after \"one.yaml\". ",
         EXIT_USAGE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(life_run(&l, cases[i].words, NULL, 60), cases[i].code);
        if (strncmp(l.err, cases[i].said, strlen(cases[i].said)) != 0)
            fail_msg("case %zu: %s", i, l.err);
    }
    life_close(&l);
}

/* A whole life of the method's own length, with token ids instead of texts: formal, each prompt as long as asked. */
static void random_prompts_end_formal(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    assert_int_equal(life_run(&l,
                              ARGS("demo", "--quiet", "--runs", "RUNS", "--count", "500", "--input-tokens", "64..512",
                                   "--prefix-tokens", "32", "--output-tokens", "normal:120,40,16..400"),
                              NULL, 150),
                     EXIT_OK);
    const struct result *q = life_result(&l);
    if (!q->formal)
        fail_msg("%s", l.out);
    const struct records *r = life_records(&l);
    const struct plan_random *random = &r->plan.requests.random;
    assert_int_equal(random->vocabulary, 128256);
    assert_int_equal(random->first_id, 1000);
    assert_int_equal(random->last_id, 128255);
    assert_null(r->plan.requests.file);
    assert_string_equal(q->about.scenario, "random 64..512 in (32 shared), normal:120,40,16..400 out");
    assert_int_equal(r->request_count, 500);
    int64_t least = INT64_MAX, most = 0;
    for (size_t i = 0; i < 500; i++) {
        const struct rec_request *s = &r->requests[i];
        assert_int_equal(s->prompt_tokens, s->prompt_tokens_sent);
        assert_int_equal(s->completion_tokens, s->max_tokens);
        assert_in_range(s->prompt_tokens, 64, 512);
        assert_in_range(s->max_tokens, 16, 400);
        least = s->prompt_tokens < least ? s->prompt_tokens : least;
        most = s->prompt_tokens > most ? s->prompt_tokens : most;
    }
    assert_true(least < 100 && most > 480);
    assert_int_equal(q->checks[CODE_PLAN_MISMATCH].outcome, CHECK_PASSED);
    assert_non_null(strstr(q->checks[CODE_PLAN_MISMATCH].why, "500 prompts had as many tokens as were sent"));
    life_close(&l);
}

/* What a user writes wrong is told before anything starts. */
static void random_prompts_written_wrong(void **state)
{
    (void)state;
    struct life l;
    life_open(&l);
    const char *plan = life_plan(&l, "", "");
    const struct {
        const char *words[8];
        int code;
        const char *said;
    } cases[] = {
        {{"run", "--dry-run", plan}, EXIT_PLAN, "requests.file: Required, but missing: a file with requests"},
        {{"run", "--dry-run", plan, "--input-tokens", "100"},
         EXIT_PLAN,
         "requests.count: Missing: random prompts need"},
        {{"run", "--dry-run", plan, "--count=5", "--input-tokens=100"},
         EXIT_PLAN,
         "The size of the model's vocabulary is not"},
        {{"run", "--dry-run", plan, "--count=5", "--input-tokens=many"}, EXIT_PLAN, "requests.random.input.tokens"},
        {{"run", "--dry-run", plan, "--count=5", "--input-tokens=normal:5"},
         EXIT_PLAN,
         "requests.random.input.sd: Missing"},
        {{"run", "--dry-run", plan, "--count=5", "--input-tokens=9..5"},
         EXIT_PLAN,
         "requests.random.input.max: 5 is below min"},
        {{"run", "--dry-run", plan, "--requests=x", "--input-tokens=9"},
         EXIT_PLAN,
         "\"--requests x\" and \"--input-tokens 9\" both set requests.file. Keep one of them."},
        {{"run", "--dry-run", plan, "--requests=x", "--prefix-tokens=9"},
         EXIT_PLAN,
         "requests.random.prefix_tokens: Only random prompts have it."},
        {{"run", "--dry-run", plan, "--count=5", "--input-tokens=100", "--set=requests.random.vocabulary=32000"},
         EXIT_OK,
         ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int code = life_run(&l, cases[i].words, NULL, 60);
        if (code != cases[i].code || !strstr(l.err, cases[i].said))
            fail_msg("case %zu: exit code %d: %s", i, code, l.err);
    }
    assert_non_null(strstr(l.out, "last_id: 31999"));
    life_close(&l);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_piped_set_is_what_runs),
        cmocka_unit_test(piped_sets_are_told_apart),
        cmocka_unit_test(a_pipe_without_a_writer_can_be_left),
        cmocka_unit_test(what_is_given_twice_is_named),
        cmocka_unit_test(random_prompts_end_formal),
        cmocka_unit_test(random_prompts_written_wrong),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
