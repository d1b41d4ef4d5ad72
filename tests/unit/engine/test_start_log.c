/* What an engine's output says of its start and of what it does by itself, on logs of real engines. */
#include "check.h"

#include <stdlib.h>
#include "engine/table.h"
#include "text/file_read.h"

static void read_file(const char *name, struct buf *b)
{
    char path[1024];
    struct err e = {0};
    snprintf(path, sizeof path, "%s/h200/%s", JTOK_SHARED, name);
    assert_ok(file_read(path, 64 << 20, b, &e), e);
}

/* Takes a line off the front; false at the end. */
static bool next_line(struct span *text, struct span *ret_line)
{
    if (!text->n)
        return false;
    const char *end = memchr(text->p, '\n', text->n);
    *ret_line = (struct span){text->p, end ? (size_t)(end - text->p) : text->n};
    size_t taken = ret_line->n + (end != NULL);
    *text = (struct span){text->p + taken, text->n - taken};
    return true;
}

/* ---- milestones ---- */

/* The first line of each milestone, by part of it and in the order in which they must come. */
static void milestones_of_recorded_starts(void **state)
{
    (void)state;
    static const struct {
        const char *log, *parts[MILESTONE_COUNT];
    } cases[] = {
        {"vllm-0.24.0/front1/engine.log",
         {"22:34:54 [default_loader.py:430] Loading weights took 2.37 seconds",
          "22:35:21 [monitor.py:53] torch.compile took 25.89 s in total", "Graph capturing finished in ",
          "INFO:     Application startup complete."}},
        {"vllm-0.24.0/front4/engine.log",
         {"Loading weights took ", "torch.compile took ", "Graph capturing finished in ",
          "(ApiServer_0 pid=662) INFO"}},
        {"sglang-0.5.16/engine.log",
         {"23:37:01] Load weight end. elapsed=2.86 s", NULL, "23:37:22] Capture target decode CUDA graph end.",
          "23:37:22] INFO:     Application startup complete."}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf b = {0};
        read_file(cases[i].log, &b);
        struct span text = buf_span(&b), line;
        size_t at[MILESTONE_COUNT] = {0}, number = 0;
        while (next_line(&text, &line)) {
            int m = engine_milestone(line);
            number++;
            if (m < 0 || at[m])
                continue;
            at[m] = number;
            char copy[700];
            snprintf(copy, sizeof copy, "%.*s", SPAN_ARG(line));
            if (!cases[i].parts[m] || !strstr(copy, cases[i].parts[m]))
                fail_msg("%s:%zu: %s: %s", cases[i].log, number, milestone_names[m], copy);
        }
        size_t last = 0;
        for (int m = 0; m < MILESTONE_COUNT; m++) {
            assert_int_equal(at[m] != 0, cases[i].parts[m] != NULL);
            assert_true(!at[m] || at[m] > last);
            last = at[m] ? at[m] : last;
        }
        buf_done(&b);
    }
}

/* ---- settings ---- */

static void settings_are_found_by_their_whole_name(void **state)
{
    (void)state;
    static const struct {
        const char *text, *name, *value; /* null: nothing */
    } cases[] = {
        {"Args(a=1, b='x, y', c=None, d=\"None\", e=True)", "a", "1"},
        {"Args(a=1, b='x, y', c=None)", "b", "x, y"}, /* a comma within quotes */
        {"Args(a=1, b='x', c=None, d=2)", "c", NULL},
        {"Args(d=\"None\", e=2)", "d", "None"}, /* a text, not the absent value */
        {"Args(aa=1, ba=2, a=3, z)", "a", "3"}, /* not the ends of other names */
        {"Args(ab=1, z)", "a", NULL},           /* nor their beginnings */
        {"a=1, b=2", "a", "1"},
        {"a=1, b=2", "b", "2"}, /* the last one, to the end */
        {"a='cut in two", "a", "cut in two"},
        {"a=", "a", ""},
        {"a='", "a", ""},
        {"a", "a", NULL},
        {"", "a", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct span value = log_setting(span_of(cases[i].text), cases[i].name);
        if (cases[i].value ? !value.p || !span_is(value, cases[i].value) : value.p != NULL)
            fail_msg("%s in %s: '%.*s'", cases[i].name, cases[i].text, SPAN_ARG(value));
    }
}

/* ---- SGLang's own requests ---- */

static struct plan any_server(void)
{
    struct plan p;
    plan_defaults(&p);
    p.engine.kind = ENGINE_OPENAI;
    return p;
}

static struct engine_identity identity_of(struct span line, struct arena *a)
{
    struct plan p = any_server();
    struct engine_identity id;
    engine_identity_init(&id, a);
    engine_read_log(&p, &id, line);
    return id;
}

static struct span arguments_line(struct buf *b)
{
    read_file("sglang-0.5.16/engine.log", b);
    struct span text = buf_span(b), line;
    while (next_line(&text, &line))
        if (memmem(line.p, line.n, "server_args=", 12))
            return line;
    fail();
    return text;
}

static char *with(struct span line, const char *from, const char *to, struct arena *a)
{
    const char *at = memmem(line.p, line.n, from, strlen(from));
    assert_non_null(at);
    size_t before = (size_t)(at - line.p), after = line.n - before - strlen(from);
    return arena_format(a, "%.*s%s%.*s", (int)before, line.p, to, (int)after, at + strlen(from));
}

static void sglang_tells_how_many_requests_it_makes(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to;
        int64_t expected;
    } cases[] = {
        {" tokenizer_worker_num=1,", " tokenizer_worker_num=1,", 1},
        {" tokenizer_worker_num=1,", " tokenizer_worker_num=4,", 4},
        {" detokenizer_worker_num=1,", " detokenizer_worker_num=7,", 1}, /* ends in the name of the other */
        {" dp_size=1,", " dp_size=3,", 3},
        {" skip_server_warmup=False,", " skip_server_warmup=True,", 0},
        {" skip_server_warmup=False,", "", ABSENT_I64},
        {" tokenizer_worker_num=1,", "", ABSENT_I64},
        {" tokenizer_worker_num=1,", " tokenizer_worker_num=None,", ABSENT_I64},
        {" tokenizer_worker_num=1,", " tokenizer_worker_num=-2,", ABSENT_I64},
        {" tokenizer_worker_num=1,", " tokenizer_worker_num=9223372036854775807,", ABSENT_I64},
        {" dp_size=1,", "", ABSENT_I64},
    };
    struct arena a = {0};
    struct buf b = {0};
    struct span line = arguments_line(&b);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct engine_identity id = identity_of(span_of(with(line, cases[i].from, cases[i].to, &a)), &a);
        assert_string_equal(id.name, "sglang");
        if (id.own_requests_max != cases[i].expected)
            fail_msg("%s: %lld", cases[i].to, (long long)id.own_requests_max);
    }
    /* A line that was cut anywhere says the same or nothing. */
    for (size_t n = 0; n < line.n; n += 13) {
        struct engine_identity id = identity_of((struct span){line.p, n}, &a);
        assert_true(id.own_requests_max == ABSENT_I64 || id.own_requests_max == 1);
    }
    buf_done(&b);
    arena_done(&a);
}

/* Each front end answers its own request and says that it is ready; one of the two is enough, and neither counts before
 * the settings told how many there are. */
static void front_ends_are_waited_for(void **state)
{
    (void)state;
#define POST  "[2026-11-29 23:37:25] INFO:     127.0.0.1:49538 - \"POST /generate HTTP/1.1\" 200 OK"
#define FIRED "[2026-11-29 23:37:25] The server is fired up and ready to roll!"
    static const struct {
        const char *from, *to, *lines[6];
        int64_t pending;
    } cases[] = {
        {" tokenizer_worker_num=1,", " tokenizer_worker_num=1,", {NULL}, 1},
        {" tokenizer_worker_num=1,", " tokenizer_worker_num=1,", {POST}, 0},
        {" tokenizer_worker_num=1,", " tokenizer_worker_num=3,", {POST, FIRED, POST}, 1},
        {" tokenizer_worker_num=1,", " tokenizer_worker_num=3,", {FIRED, FIRED, FIRED}, 0},
        {" tokenizer_worker_num=1,", " tokenizer_worker_num=3,", {POST, POST, POST, POST}, 0},
        {" tokenizer_worker_num=1,",
         " tokenizer_worker_num=2,",
         {"INFO: - \"POST /generate HTTP/1.1\" 500", "\"POST /v1/chat/completions HTTP/1.1\" 200 OK"},
         2},
        {" skip_server_warmup=False,", " skip_server_warmup=True,", {NULL}, 0},
        {" tokenizer_worker_num=1,", "", {NULL}, 0}, /* it does not tell: nothing is waited for */
    };
    struct buf b = {0};
    struct span line = arguments_line(&b);
    for (size_t kind = 0; kind < 2; kind++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            struct arena a = {0};
            struct plan p = any_server();
            struct engine_identity id;
            p.engine.kind = kind ? ENGINE_OPENAI : ENGINE_SGLANG;
            engine_identity_init(&id, &a);
            engine_read_log(&p, &id, span_of(FIRED));
            assert_int_equal(engine_own_pending(&id), 0);
            engine_read_log(&p, &id, span_of(with(line, cases[i].from, cases[i].to, &a)));
            for (const char *const *l = cases[i].lines; *l; l++)
                engine_read_log(&p, &id, span_of(*l));
            if (engine_own_pending(&id) != cases[i].pending)
                fail_msg("case %zu: %lld", i, (long long)engine_own_pending(&id));
            arena_done(&a);
        }
    buf_done(&b);
}

/* Only what was seen is known: another version, another engine or no version explains nothing. */
static void tokens_are_known_by_engine_and_version(void **state)
{
    (void)state;
    static const struct {
        const char *name, *version;
        int64_t expected;
    } cases[] = {{"sglang", "0.5.16", 8},
                 {"sglang", "0.5.17", ABSENT_I64},
                 {"sglang", "0.5.1", ABSENT_I64},
                 {"sglang", NULL, ABSENT_I64},
                 {NULL, "0.5.16", ABSENT_I64},
                 {"vllm", "0.5.16", ABSENT_I64},
                 {"sglang", "0.5.16.post1", ABSENT_I64}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct engine_identity id = {.name = cases[i].name, .found[PROPERTY_VERSION].value = cases[i].version};
        struct plan p = any_server();
        assert_int_equal(engine_own_request_tokens(&p, &id), cases[i].expected);
    }
}

static void sglang_tells_its_version(void **state)
{
    (void)state;
    struct arena a = {0};
    struct buf b = {0}, answer = {0};
    struct err e = {0};
    struct plan p = any_server();
    struct engine_identity id = identity_of(arguments_line(&b), &a);
    const char *older;
    size_t i = 0;
    while (strcmp(engine_question(&p, &id, i, &older), "/v1/loads") != 0)
        i++;
    read_file("sglang-0.5.16/http/get_v1_loads.body", &answer);
    assert_ok(engine_read_answer(&p, &id, i, "/v1/loads", 200, buf_span(&answer), &e), e);
    assert_string_equal(engine_says(&id, PROPERTY_VERSION), "0.5.16");
    assert_int_equal(engine_own_request_tokens(&p, &id), 8);
    struct engine_identity other = identity_of(span_of("vLLM is ready"), &a);
    assert_null(engine_question(&p, &other, 0, &older));
    buf_done(&b);
    buf_done(&answer);
    arena_done(&a);
}

/* Of the whole of `text`, the numbers behind `mark`; the last, or the number of times it occurs. */
static int64_t last_number(struct span text, const char *mark, int64_t *ret_times)
{
    int64_t last = 0;
    *ret_times = 0;
    for (const char *at; (at = memmem(text.p, text.n, mark, strlen(mark)));) {
        at += strlen(mark);
        last = strtoll(at, NULL, 10);
        ++*ret_times;
        text = (struct span){at, (size_t)(text.p + text.n - at)};
    }
    return last;
}

/* The recorded engine's count before its formal stage, told by hand: eight warm-up requests of 64 tokens, the single
 * requests that lie beside it, and one request of its own; its /health probes, of one token each, are in none. */
static void one_request_of_its_own_has_eight_tokens(void **state)
{
    (void)state;
    /* With a usage: its completion tokens. Without: a token a chunk of text. */
    static const char *const singles[] = {"chat-continuous-usage",
                                          "chat-no-stream-options",
                                          "chat-not-streamed",
                                          "completions-continuous-usage",
                                          "logprobs",
                                          "one-token",
                                          "unknown-model"};
    int64_t tokens = 8 * 64, times;
    for (size_t i = 0; i < sizeof singles / sizeof *singles; i++) {
        struct buf b = {0};
        char name[100];
        snprintf(name, sizeof name, "sglang-0.5.16/http/%s.http", singles[i]);
        read_file(name, &b);
        int64_t usage = last_number(buf_span(&b), "\"completion_tokens\":", &times);
        if (!times)
            last_number(buf_span(&b), "\"content\":\" ", &usage);
        assert_true(usage > 0);
        tokens += usage;
        buf_done(&b);
    }
    assert_int_equal(tokens, 8 * 64 + 22);
    struct buf b = {0};
    read_file("sglang-0.5.16/metrics.csv", &b);
    struct span text = buf_span(&b), line;
    assert_true(next_line(&text, &line) && next_line(&text, &line)); /* the header, the first reading */
    const char *last = memrchr(line.p, ',', line.n);
    struct engine_identity id = {.name = "sglang", .found[PROPERTY_VERSION].value = "0.5.16"};
    struct plan p = any_server();
    assert_int_equal(strtoll(last + 1, NULL, 10), tokens + engine_own_request_tokens(&p, &id));
    buf_done(&b);
    /* Probes there were: two of /health and one of /health_generate were answered well. */
    read_file("sglang-0.5.16/engine.log", &b);
    last_number(buf_span(&b), "\"GET /health HTTP/1.1\" 200", &times);
    assert_int_equal(times, 2);
    last_number(buf_span(&b), "\"GET /health_generate HTTP/1.1\" 200", &times);
    assert_int_equal(times, 1);
    buf_done(&b);
}

/* ---- requests that ended ---- */

static void ended_requests_are_those_that_ended_well(void **state)
{
    (void)state;
    struct rec_metrics m =
        engine_read_metrics(span_of("vllm:request_success_total{engine=\"0\",finished_reason=\"stop\"} 3.0\n"
                                    "vllm:request_success_total{engine=\"0\",finished_reason=\"length\"} 40.0\n"
                                    "vllm:request_success_total{engine=\"1\",finished_reason=\"length\"} 500.0\n"
                                    "vllm:request_success_total{engine=\"0\",finished_reason=\"abort\"} 7.0\n"
                                    "vllm:request_success_total{engine=\"0\",finished_reason=\"error\"} 8.0\n"));
    assert_close(m.requests_ended, 543, 0);
    m = engine_read_metrics(span_of("sglang:num_requests_total{model_name=\"m\"} 12.0\n"
                                    "sglang:num_aborted_requests_total{model_name=\"m\"} 1.0\n"));
    assert_close(m.requests_ended, 12, 0);
    m = engine_read_metrics(span_of("vllm:generation_tokens_total 5\n"));
    assert_true(isnan(m.requests_ended));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(milestones_of_recorded_starts),
        cmocka_unit_test(settings_are_found_by_their_whole_name),
        cmocka_unit_test(sglang_tells_how_many_requests_it_makes),
        cmocka_unit_test(front_ends_are_waited_for),
        cmocka_unit_test(tokens_are_known_by_engine_and_version),
        cmocka_unit_test(sglang_tells_its_version),
        cmocka_unit_test(one_request_of_its_own_has_eight_tokens),
        cmocka_unit_test(ended_requests_are_those_that_ended_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
