/* Where a model's chat template lies, in snapshots shaped like those of public models. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include "base/file.h"
#include "run/template.h"

static const struct {
    const char *name, *text, *other, *other_text; /* files; null: none */
    bool known, enable_thinking, thinking, reasoning_effort;
} cases[] = {
    {"chat_template.jinja", "{{ enable_thinking }}", NULL, NULL, true, true, false, false},
    {"chat_template.jinja", "{{ x }}", "tokenizer_config.json", "{\"chat_template\": \"{{ thinking }}\"}", true, false,
     false, false},
    {"tokenizer_config.json", "{\"chat_template\": \"{{ thinking }}\", \"x\": \"{{ enable_thinking }}\"}", NULL, NULL,
     true, false, true, false},
    {"tokenizer_config.json",
     "{\"chat_template\": [{\"name\": \"default\", \"template\": \"{{ x }}\"}, {\"name\": \"think\", \"template\": "
     "\"{%- if reasoning_effort %}\\n\"}]}",
     NULL, NULL, true, false, false, true},
    {"chat_template.json", "{\"chat_template\": \"{{ \\u0065nable_thinking }}\"}", "tokenizer_config.json", "{}", true,
     true, false, false},
    {"tokenizer_config.json", "{\"chat_template\": null}", NULL, NULL, false, false, false, false},
    {"tokenizer_config.json", "not json", NULL, NULL, false, false, false, false},
    {"config.json", "{}", NULL, NULL, false, false, false, false},
};

static void each_place_is_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a = {0};
        struct err e = {0};
        struct plan p;
        char folder[] = "/tmp/jtok_template_XXXXXX", command[100];
        assert_non_null(mkdtemp(folder));
        assert_ok(file_write_new(arena_format(&a, "%s/%s", folder, cases[i].name), span_of(cases[i].text), &e), e);
        if (cases[i].other)
            assert_ok(
                file_write_new(arena_format(&a, "%s/%s", folder, cases[i].other), span_of(cases[i].other_text), &e), e);
        plan_defaults(&p);
        p.model.snapshot = folder;
        assert_false(template_read(&p, &a).known); /* nobody asks */
        p.engine.settings.thinking = THINKING_OFF;
        struct engine_template t = template_read(&p, &a);
        if (t.known != cases[i].known || t.enable_thinking != cases[i].enable_thinking ||
            t.thinking != cases[i].thinking || t.reasoning_effort != cases[i].reasoning_effort)
            fail_msg("case %zu: %d, %d %d %d", i, t.known, t.enable_thinking, t.thinking, t.reasoning_effort);
        snprintf(command, sizeof command, "rm -r '%s'", folder);
        assert_int_equal(system(command), 0);
        arena_done(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_place_is_read)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
