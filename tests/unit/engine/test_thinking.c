/* Thinking: what chat templates know of it, and what requests carry. */
#include "check.h"

#include <string.h>
#include "engine/engine.h"
#include "schema/set.h"

/* Written for these tests, in the ways of published templates. */
#define QWEN                                                                                                           \
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- if enable_thinking is defined and "           \
    "enable_thinking is false %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}{%- endif %}"
#define DEEPSEEK                                                                                                       \
    "{% if not thinking is defined %}{% set thinking = false %}{% endif %}{{ '</think>' if not thinking else '' }}"
#define GPT_OSS                                                                                                        \
    "{%- if \"thinking\" in message %}{{ message.thinking }}{%- endif %}{{ \"Reasoning: \" + reasoning_effort }}"
#define LLAMA "{{ bos_token }}Think of enable_thinking. {% for m in messages %}{{ m['content'] }}{% endfor %}"

static void templates_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool enable_thinking, thinking, reasoning_effort;
    } cases[] = {
        {QWEN, true, false, false},
        {DEEPSEEK, false, true, false},
        {GPT_OSS, false, false, true},
        {LLAMA, false, false, false},
        {"", false, false, false},
        {"{{ x.enable_thinking }}{{ 'enable_thinking' }}{{ not_enable_thinking }}", false, false, false},
        {"{{ 'it\\'s' ~ enable_thinking }}", true, false, false},
        {"{{enable_thinking", true, false, false},
        {"{%thinking%}", false, true, false},
        {"{{ 'open", false, false, false},
        {"{", false, false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct engine_template t = engine_read_template(span_of(cases[i].text));
        if (!t.known || t.enable_thinking != cases[i].enable_thinking || t.thinking != cases[i].thinking ||
            t.reasoning_effort != cases[i].reasoning_effort)
            fail_msg("case %zu: %d %d %d", i, t.enable_thinking, t.thinking, t.reasoning_effort);
    }
}

struct thinking_case {
    const char *template; /* null: not known */
    const char *set[4];
    const char *body, *words; /* null body: refused with `says` */
    const char *says;         /* part of the note or the error; null: there is none */
};

#define ON_OFF_BOTH "{\"chat_template_kwargs\":{\"enable_thinking\":false,\"thinking\":false}}"

static const struct thinking_case cases[] = {
    {QWEN, {"engine.settings.thinking=off"}, "{\"chat_template_kwargs\":{\"enable_thinking\":false}}", "off", NULL},
    {QWEN, {"engine.settings.thinking=on"}, "{\"chat_template_kwargs\":{\"enable_thinking\":true}}", "on", NULL},
    {DEEPSEEK, {"engine.settings.thinking=on"}, "{\"chat_template_kwargs\":{\"thinking\":true}}", "on", NULL},
    {QWEN DEEPSEEK,
     {"engine.settings.thinking=on"},
     "{\"chat_template_kwargs\":{\"enable_thinking\":true}}",
     "on",
     NULL},
    {GPT_OSS, {"engine.settings.thinking=low"}, "{\"reasoning_effort\":\"low\"}", "low", NULL},
    {NULL, {"engine.settings.thinking=high"}, "{\"reasoning_effort\":\"high\"}", "high", "was not checked"},
    {NULL, {"engine.settings.thinking=off"}, ON_OFF_BOTH, "off", "was not checked"},
    {QWEN,
     {"engine.settings.thinking=on", "engine.settings.thinking_tokens=500"},
     "{\"chat_template_kwargs\":{\"enable_thinking\":true},\"thinking_token_budget\":500}",
     "on, 500 tokens at most",
     NULL},
    {QWEN, {"engine.settings.thinking_tokens=9"}, "{\"thinking_token_budget\":9}", "on, 9 tokens at most", NULL},
    {LLAMA,
     {"engine.settings.thinking=off"},
     "{\"chat_template_kwargs\":{\"enable_thinking\":false}}",
     "off",
     "answers as it always does"},
    {LLAMA, {"engine.settings.thinking=on"}, NULL, NULL, "ignore it without a word"},
    {GPT_OSS, {"engine.settings.thinking=off"}, NULL, NULL, "low, medium or high"},
    {QWEN, {"engine.settings.thinking=high"}, NULL, NULL, "or set on or off"},
    {QWEN, {"engine.settings.thinking=off", "requests.api=completions"}, NULL, NULL, "requests.api to chat"},
    {QWEN,
     {"engine.settings.thinking=off", "requests.extra_body={\"chat_template_kwargs\": {}}"},
     NULL,
     NULL,
     "Keep one of them"},
    {QWEN,
     {"engine.settings.thinking_tokens=9", "engine.command=vllm serve m"},
     NULL,
     NULL,
     "started with --reasoning-parser"},
    {QWEN,
     {"engine.settings.thinking_tokens=9", "engine.command=vllm serve m --reasoning-parser=qwen3"},
     "{\"thinking_token_budget\":9}",
     "on, 9 tokens at most",
     NULL},
    {QWEN, {"engine.kind=sglang", "engine.settings.thinking_tokens=9"}, NULL, NULL, "by which sglang limits"},
};

static struct plan plan_of(const char *const *set, struct arena *a)
{
    struct err e = {0};
    struct plan p;
    plan_defaults(&p);
    p.engine.kind = ENGINE_VLLM;
    p.engine.served_model = "m";
    for (size_t i = 0; i < 4 && set[i]; i++)
        assert_ok(schema_set_or_err(&plan_schema, &p, set[i], a, &e), e);
    return p;
}

static void requests_carry_what_the_template_knows(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        struct err e = {0};
        const char *note = NULL;
        struct plan p = plan_of(cases[i].set, &a);
        struct engine_template t = {0};
        if (cases[i].template)
            t = engine_read_template(span_of(cases[i].template));
        bool good = engine_set_thinking(&p, &t, &a, &note, &e);
        const char *said = good ? note : e.text;
        if (good != (cases[i].body != NULL) || (said != NULL) != (cases[i].says != NULL) ||
            (said && !strstr(said, cases[i].says)))
            fail_msg("case %zu: %s", i, said ? said : "nothing said");
        if (good) {
            assert_string_equal(p.requests.thinking_body, cases[i].body);
            assert_string_equal(p.requests.thinking, cases[i].words);
        }
        arena_done(&a);
    }
}

/* What the plan itself leaves open, its extra_body may say; the body then has it once. */
static void extra_body_has_its_word(void **state)
{
    (void)state;
    static const struct {
        const char *extra, *words;
    } each[] = {
        {"{\"chat_template_kwargs\": {\"enable_thinking\": false}}", "off"},
        {"{\"chat_template_kwargs\": {\"thinking\": true}}", "on"},
        {"{\"chat_template_kwargs\": {\"other\": true}}", NULL},
        {"{\"top_k\": 1}", NULL},
    };
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        struct arena a = {0};
        struct err e = {0};
        const char *note = NULL;
        struct plan p = plan_of((const char *[]){NULL}, &a);
        p.requests.extra_body = each[i].extra;
        assert_ok(engine_set_thinking(&p, &(struct engine_template){0}, &a, &note, &e), e);
        assert_null(p.requests.thinking_body);
        assert_null(note);
        if (each[i].words)
            assert_string_equal(p.requests.thinking, each[i].words);
        else
            assert_null(p.requests.thinking);
        arena_done(&a);
    }
}

static void bodies_have_it(void **state)
{
    (void)state;
    struct arena a = {0};
    struct err e = {0};
    const char *note;
    struct buf b = {0};
    struct plan p = plan_of((const char *[]){"engine.settings.thinking=off", NULL}, &a);
    struct engine_template t = engine_read_template(span_of(QWEN));
    assert_ok(engine_set_thinking(&p, &t, &a, &note, &e), e);
    struct engine_request r = {.prompt = span_of("hi"), .max_tokens = 4};
    engine_put_body(&p, &r, &b);
    assert_non_null(strstr(buf_text(&b), ",\"chat_template_kwargs\":{\"enable_thinking\":false}}"));
    buf_clear(&b);
    r.plain = true;
    engine_put_body(&p, &r, &b);
    assert_null(strstr(buf_text(&b), "chat_template_kwargs"));
    buf_done(&b);
    arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(templates_are_read),
        cmocka_unit_test(requests_carry_what_the_template_knows),
        cmocka_unit_test(extra_body_has_its_word),
        cmocka_unit_test(bodies_have_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
