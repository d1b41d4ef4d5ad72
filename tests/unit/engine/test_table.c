/* The table of engines: that it is whole, and what is looked up in it. */
#include "check.h"

#include "engine/table.h"
#include "schema/set.h"

static struct plan plan_of(enum engine_kind kind, const char *const *command, size_t n)
{
    struct plan p;
    plan_defaults(&p);
    p.engine.kind = kind;
    p.engine.command = (const char **)(uintptr_t)command;
    p.engine.command_count = n;
    return p;
}

#define PLAN(kind, ...)                                                                                                \
    plan_of(kind, (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* A forgotten entry shows here, not in a run. */
static void every_row_is_whole(void **state)
{
    (void)state;
    const struct engine *g;
    size_t n = 0;
    for (; (g = engine_row(n)); n++) {
        assert_ptr_equal(engine_named(g->name), g); /* each name once */
        assert_non_null(g->health_path);
        assert_non_null(g->put_length);
        for (const struct engine_start *s = g->starts; s && s->program; s++)
            assert_true(s->program[0] && (!s->next || s->next[0]));
        assert_true(g->any_server || (g->starts && g->good_exits && g->output.milestones && g->output.progress));
        /* Each answer's place has a question, each question a place, and nothing stands behind the first that was
         * meant. */
        for (const struct engine_place *at = g->places; at && at->where; at++) {
            const struct engine_question *q = g->questions;
            assert_true(at->name || at->source == SOURCE_OUTPUT || at->source == SOURCE_COMMAND);
            assert_true(at->source != SOURCE_COMMAND || at->where[0] == '-');
            while (at->source == SOURCE_ANSWER && q && q->path && strcmp(q->path, at->where) != 0)
                q++;
            assert_true(at->source != SOURCE_ANSWER || (q && q->path));
        }
        for (const struct engine_question *q = g->questions; q && q->path; q++) {
            bool used = false;
            for (const struct engine_place *at = g->places; at->where; at++)
                used = used || (at->source == SOURCE_ANSWER && strcmp(q->path, at->where) == 0);
            assert_true(used);
        }
        for (const struct engine_option *o = g->options; o && o->name; o++)
            assert_int_equal(o->name[0], '-');
        for (const struct engine_variable *v = g->environment.caches; v && v->name; v++)
            assert_null(strchr(v->value, '/')); /* a folder below the run's */
        /* An engine that takes its address as options has words for all of it. */
        const enum argument address[] = {ARGUMENT_HOST, ARGUMENT_PORT, ARGUMENT_UDS, ARGUMENT_SERVED};
        for (size_t i = 0; i < 4; i++)
            assert_non_null(engine_option_name(g, address[i]));
    }
    assert_true(n >= ENGINE_KIND_COUNT);
    assert_null(engine_named("no such engine"));
    assert_null(engine_named(NULL));
}

static void a_kind_has_the_row_of_its_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < ENGINE_KIND_COUNT; i++) {
        struct plan p = PLAN((enum engine_kind)i, "server");
        assert_string_equal(engine_of(&p)->name, engine_kind_names[i]);
        assert_string_equal(plan_engine_name(&p), engine_kind_names[i]);
    }
    assert_null(engine_kind_names[ENGINE_KIND_COUNT]);
    struct plan p = PLAN((enum engine_kind) - 1, "server");
    assert_null(plan_engine_name(&p));
    assert_false(plan_engine_keeps_count(&p));
}

/* A plan's reader refuses another name, and lists those that there are. */
static void unknown_names_are_refused_with_the_known(void **state)
{
    (void)state;
    struct arena a = {0};
    struct problems problems;
    struct plan p;
    plan_defaults(&p);
    problems_init(&problems, &a, NULL);
    for (size_t i = 0; i < ENGINE_KIND_COUNT; i++) {
        assert_true(
            schema_set_argument(&plan_schema, &p, arena_format(&a, "engine.kind=%s", engine_kind_names[i]), &problems));
        assert_int_equal(p.engine.kind, i);
    }
    assert_int_equal(problems.count, 0);
    assert_false(schema_set_argument(&plan_schema, &p, "engine.kind=vLLM", &problems));
    assert_int_equal(problems.count, 1);
    for (size_t i = 0; i < ENGINE_KIND_COUNT; i++)
        assert_non_null(strstr(problems.items[0].text, engine_kind_names[i]));
    arena_done(&a);
}

static void keys_are_found_as_the_server_gets_them(void **state)
{
    (void)state;
    static const char *const environment[] = {"VLLM_API_KEY=inherited", "OTHER=x", NULL};
    static const char *const none[] = {"VLLM_API_KEYS=wrong", NULL};
    for (int kind = 0; kind < 2; kind++) {
        struct arena a = {0};
        enum engine_kind k = kind ? ENGINE_OPENAI : ENGINE_VLLM;
        struct plan p = PLAN(k, "x", "--api-key", "one", "--api-key=two"); /* the last one counts for every parser */
        assert_string_equal(engine_api_key(&p, environment, &a), "two");
        p = PLAN(k, "x", "--api-key=two", "--port", "1");
        p.engine.env = (struct field_pair[]){{"VLLM_API_KEY", "plan's"}};
        p.engine.env_count = 1;
        assert_string_equal(engine_api_key(&p, environment, &a), "two");
        p = PLAN(k, "x", "--api-key-file", "f");
        assert_string_equal(engine_api_key(&p, environment, &a), "inherited");
        p.engine.env = (struct field_pair[]){{"VLLM_API_KEY", "plan's"}};
        p.engine.env_count = 1;
        assert_string_equal(engine_api_key(&p, environment, &a), "plan's");
        p.engine.env_count = 0;
        assert_null(engine_api_key(&p, none, &a));
        assert_null(engine_api_key(&p, NULL, &a));
        p = PLAN(k, "x", "--api-key"); /* its value is missing */
        assert_null(engine_api_key(&p, NULL, &a));
        arena_done(&a);
    }
}

/* As each engine's parser takes it, and in a shell's text. */
static void keys_are_found_in_every_form(void **state)
{
    (void)state;
    static const struct {
        enum engine_kind kind;
        const char *words[4], *key;
    } cases[] = {
        {ENGINE_VLLM, {"x", "--api_key", "one"}, "one"},
        {ENGINE_VLLM, {"x", "--api_key=one"}, "one"},
        {ENGINE_SGLANG, {"x", "--api-k", "one"}, "one"},
        {ENGINE_VLLM, {"x", "--api-key", "one,two"}, "one,two"},
        {ENGINE_LLAMACPP, {"x", "--api-key", "one,two"}, "one"},
        {ENGINE_LLAMACPP, {"x", "--api-k", "one"}, NULL}, /* its parser takes each name whole */
        {ENGINE_VLLM, {"sh", "-c", "vllm serve m --api-key 'a b' --port 1"}, "a b"},
        {ENGINE_SGLANG, {"sh", "-c", "cd x; python3 -um sglang --api-key=one > log"}, "one"},
        {ENGINE_VLLM, {"sh", "-c", "vllm serve m --api-key $KEY"}, NULL},
        {ENGINE_VLLM, {"sh", "-c", "vllm serve m; other --api-key one"}, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        struct plan p;
        plan_defaults(&p);
        p.engine.kind = cases[i].kind;
        p.engine.command = (const char **)(uintptr_t)cases[i].words;
        while (cases[i].words[p.engine.command_count])
            p.engine.command_count++;
        const char *key = engine_api_key(&p, NULL, &a);
        if (!key != !cases[i].key || (key && strcmp(key, cases[i].key) != 0))
            fail_msg("case %zu: %s", i, key ? key : "none");
        arena_done(&a);
    }
}

static void processes_are_told_by_name_or_command(void **state)
{
    (void)state;
    static const struct {
        const char *name, *command;
        bool is;
    } cases[] = {{"VLLM::EngineCore", "VLLM::EngineCore", true},
                 {"python3", "python3 -m vllm.entrypoints.openai.api_server --model m", true},
                 {"vllm", "/usr/bin/python3 /usr/bin/vllm serve m", true},
                 {"sglang::schedul", "sglang::scheduler", true},
                 {"python3", "python3 -m sglang.launch_server --model-path m", true},
                 {"python3", "python3 train.py --log vllm.log", false},
                 {"xVLLM::Engine", "x", false},
                 {"", "", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (engine_is_process(cases[i].name, cases[i].command) != cases[i].is)
            fail_msg("%s (%s)", cases[i].name, cases[i].command);
}

/* Of a server of which nothing is known, sizes of 1 are the plan's default. */
static void sizes_are_stated_or_known(void **state)
{
    (void)state;
    struct plan p = PLAN(ENGINE_VLLM, "x");
    assert_true(engine_states_sizes(&p));
    p = PLAN(ENGINE_OPENAI, "x");
    assert_false(engine_states_sizes(&p));
    p.engine.data_parallel = 2;
    assert_true(engine_states_sizes(&p));
}

/* METHOD's warm-up has 64 tokens an answer: an engine that keeps to lengths is told so, another only as the plan says.
 */
static void warmup_is_forced_where_it_is_understood(void **state)
{
    (void)state;
    struct plan p = PLAN(ENGINE_VLLM, "x");
    p.requests.lengths.ignore_eos = false;
    assert_true(engine_forces_warmup(&p));
    p.engine.kind = ENGINE_OPENAI;
    assert_false(engine_forces_warmup(&p));
    p.requests.lengths.ignore_eos = true;
    assert_true(engine_forces_warmup(&p));
}

/* The last part of a start that a line tells; lines of other engines tell nothing. */
static void progress_is_the_plans_engines(void **state)
{
    (void)state;
    struct plan p = PLAN(ENGINE_VLLM, "x");
    assert_string_equal(engine_progress(&p, "(EngineCore pid=7) INFO [x.py:1] Loading weights took 2.1 seconds"),
                        "Loading weights took 2.1 seconds");
    assert_null(engine_progress(&p, "Load weight end. elapsed=2.86 s"));
    p.engine.kind = ENGINE_OPENAI;
    assert_null(engine_progress(&p, "Loading weights took 2.1 seconds"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_whole),
        cmocka_unit_test(a_kind_has_the_row_of_its_name),
        cmocka_unit_test(unknown_names_are_refused_with_the_known),
        cmocka_unit_test(keys_are_found_as_the_server_gets_them),
        cmocka_unit_test(keys_are_found_in_every_form),
        cmocka_unit_test(processes_are_told_by_name_or_command),
        cmocka_unit_test(sizes_are_stated_or_known),
        cmocka_unit_test(warmup_is_forced_where_it_is_understood),
        cmocka_unit_test(progress_is_the_plans_engines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
