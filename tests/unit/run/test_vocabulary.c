/* Which token ids are drawn from: by the files of a snapshot, shaped like those of public models. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"
#include "run/vocabulary.h"

struct fixture {
    struct arena arena;
    struct plan plan;
    char folder[64];
    struct err e;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    plan_defaults(&f->plan);
    f->plan.requests.random.input.kind = INPUT_FIXED;
    f->plan.requests.random.input.tokens = 10;
    strcpy(f->folder, "/tmp/jtok_vocabulary_XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    f->plan.model.snapshot = f->folder;
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    char command[100];
    snprintf(command, sizeof command, "rm -r '%s'", f->folder);
    assert_int_equal(system(command), 0);
    arena_done(&f->arena);
    free(f);
    return 0;
}

static void put(struct fixture *f, const char *name, const char *text)
{
    const char *path = arena_format(&f->arena, "%s/%s", f->folder, name);
    unlink(path);
    assert_ok(file_write_new(path, span_of(text), &f->e), f->e);
}

static void expect(struct fixture *f, int64_t vocabulary, int64_t first, int64_t last)
{
    struct plan_random *r = &f->plan.requests.random;
    r->vocabulary = ABSENT_I64;
    assert_ok(vocabulary_resolve(&f->plan, &f->arena, &f->e), f->e);
    assert_int_equal(r->vocabulary, vocabulary);
    assert_int_equal(r->first_id, first);
    assert_int_equal(r->last_id, last);
}

static void special_ids_are_left_out(void **state)
{
    struct fixture *f = *state;
    /* Begin and end behind the text's tokens, 254 more special ones and nothing else behind them. */
    put(f, "config.json",
        "{\"bos_token_id\": 128000, \"eos_token_id\": [128001, 128008, 128009], \"vocab_size\": 128256}");
    expect(f, 128256, 1000, 127999);
    /* The first of them is told by the tokenizer's file alone. */
    put(f, "tokenizer_config.json",
        "{\"added_tokens_decoder\": {\"127990\": {\"content\": \"<|x|>\", \"special\": true}}}");
    expect(f, 128256, 1000, 127989);
    /* Begin and end in front, padding told by the third file. */
    put(f, "config.json", "{\"vocab_size\": 32000, \"bos_token_id\": 1, \"eos_token_id\": 2, \"pad_token_id\": null}");
    put(f, "tokenizer_config.json", "{}");
    put(f, "generation_config.json", "{\"pad_token_id\": 31999}");
    expect(f, 32000, 1000, 31998);
    /* A model of several parts; an id of its pictures in the lower half, above those left out anyway. */
    put(f, "generation_config.json", "not JSON");
    put(f, "config.json",
        "{\"image_token_index\": 1500, \"text_config\": {\"vocab_size\": 50000, \"eos_token_id\": 49000}}");
    expect(f, 50000, 1501, 48999);
    put(f, "config.json", "{\"vocab_size\": 256}");
    expect(f, 256, 32, 255);
}

static void the_plan_may_state_it(void **state)
{
    struct fixture *f = *state;
    struct plan_random *r = &f->plan.requests.random;
    f->plan.model.snapshot = NULL;
    r->vocabulary = 50257;
    assert_ok(vocabulary_resolve(&f->plan, &f->arena, &f->e), f->e);
    assert_int_equal(r->first_id, 1000);
    assert_int_equal(r->last_id, 50256);
    f->plan.model.snapshot = f->folder;
    put(f, "config.json", "{\"vocab_size\": 32000}");
    assert_false(vocabulary_resolve(&f->plan, &f->arena, &f->e));
    assert_non_null(strstr(f->e.text, "requests.random.vocabulary is 50257, but the model has 32000 tokens"));
    put(f, "config.json", "{\"model_type\": \"x\"}");
    r->vocabulary = ABSENT_I64;
    assert_false(vocabulary_resolve(&f->plan, &f->arena, &f->e));
    assert_non_null(strstr(f->e.text, "there is no vocab_size in the config.json of "));
}

static void the_hubs_cache_is_looked_into(void **state)
{
    struct fixture *f = *state;
    const char *model = arena_format(&f->arena, "%s/models--org--name", f->folder);
    const char *const folders[] = {"", "/refs", "/snapshots", "/snapshots/abc"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        mkdir(arena_format(&f->arena, "%s%s", model, folders[i]), 0700);
    put(f, "models--org--name/refs/main", "abc");
    put(f, "models--org--name/snapshots/abc/config.json", "{\"vocab_size\": 40000}");
    struct field_pair variable = {"HF_HUB_CACHE", f->folder};
    f->plan.model.snapshot = NULL;
    f->plan.model.id = "org/name";
    f->plan.engine.env = &variable;
    f->plan.engine.env_count = 1;
    expect(f, 40000, 1000, 39999);
    f->plan.model.revision = "abc";
    expect(f, 40000, 1000, 39999);
    f->plan.model.revision = "missing";
    f->plan.requests.random.vocabulary = ABSENT_I64;
    assert_false(vocabulary_resolve(&f->plan, &f->arena, &f->e));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(special_ids_are_left_out),
        TEST(the_plan_may_state_it),
        TEST(the_hubs_cache_is_looked_into),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
