/* Folders of models that are whole, and those that lack something: every length of a cut file, each kind of fault. */
#include "check.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/must.h"
#include "run/preflight.h"

struct place {
    char top[64], folder[128];
    struct arena a;
    struct preflight p;
};

static void place_make(struct place *x)
{
    *x = (struct place){.top = "/tmp/jtok-files-XXXXXX"};
    assert_non_null(mkdtemp(x->top));
    snprintf(x->folder, sizeof x->folder, "%s/snapshots/c", x->top);
    char command[400];
    snprintf(command, sizeof command, "mkdir -p '%s' '%s/blobs'", x->folder, x->top);
    assert_int_equal(system(command), 0);
    preflight_init(&x->p, &x->a);
}

static void place_done(struct place *x)
{
    char command[200];
    snprintf(command, sizeof command, "rm -rf '%s'", x->top);
    assert_int_equal(system(command), 0);
    preflight_done(&x->p);
    arena_done(&x->a);
}

static void put(struct place *x, const char *name, const void *bytes, size_t n)
{
    int fd = open(arena_format(&x->a, "%s/%s", x->folder, name), O_CREAT | O_WRONLY | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, n), n);
    close(fd);
}

/* A file of two tensors of 8 and 4 bytes, by the format's own description. */
enum { DATA = 12 };
static const char header[] = "{\"__metadata__\":{\"data_offsets\":\"x\"},"
                             "\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
                             "\"b\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[8,12]}}";

static size_t whole_file(char *bytes)
{
    size_t n = sizeof header - 1;
    memset(bytes, 0, 8 + n + DATA);
    bytes[0] = (char)n;
    must(n < 256);
    memcpy(bytes + 8, header, n);
    return 8 + n + DATA;
}

static const struct rec_fact *last(const struct place *x)
{
    return &x->p.facts[x->p.fact_count - 1];
}

static bool look(struct place *x, struct err *e)
{
    *e = (struct err){0};
    return preflight_weights(&x->p, x->folder, "hf download org/m", e);
}

/* A file is whole at one length only. */
static void a_file_is_as_long_as_its_header_says(void **state)
{
    (void)state;
    struct place x;
    struct err e;
    char bytes[400] = {0};
    place_make(&x);
    size_t whole = whole_file(bytes);
    for (size_t n = 0; n <= whole + 2; n++) {
        put(&x, "model.safetensors", bytes, n);
        bool good = look(&x, &e);
        if (good != (n == whole))
            fail_msg("%zu of %zu bytes: %s", n, whole, e.text);
        assert_int_equal(last(&x)->outcome, good ? CHECK_PASSED : CHECK_FAILED);
        if (!good)
            assert_true(strstr(e.text, "model.safetensors") && strstr(e.text, "`hf download org/m`"));
    }
    place_done(&x);
}

static const char index_text[] = "{\"metadata\":{\"total_size\":24},\"weight_map\":{\"a\":\"one.safetensors\","
                                 "\"b\":\"two.safetensors\",\"c\":\"one.safetensors\"}}";
static const char pointer[] = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n";

/* Which files lie there: w whole, c cut, p a pointer, e of some bytes; what comes of it. */
static void each_fault_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *files[4]; /* "w name" */
        bool has_index;
        enum check_outcome outcome;
        bool advised;
        const char *told; /* in the error, the advice or what was seen */
    } cases[] = {
        {{"w one.safetensors", "w two.safetensors"}, true, CHECK_PASSED, false, "2 of them"},
        {{"w one.safetensors"}, true, CHECK_FAILED, true, "two.safetensors is missing"},
        {{"w one.safetensors", "c two.safetensors"}, true, CHECK_FAILED, true, "two.safetensors has "},
        {{"p one.safetensors", "w two.safetensors"}, true, CHECK_FAILED, true, "is a pointer of Git LFS"},
        {{NULL}, true, CHECK_FAILED, true, "one.safetensors is missing, two.safetensors is missing"},
        /* Not named by the index: nobody loads it. */
        {{"w one.safetensors", "w two.safetensors", "c other.safetensors"}, true, CHECK_PASSED, false, "2 of them"},
        {{"w one.safetensors", "e pytorch_model.bin"}, true, CHECK_NOT_JUDGED, true, "two.safetensors is missing"},
        {{"w consolidated.safetensors"}, true, CHECK_NOT_JUDGED, true, "one.safetensors is missing"},
        {{"w a.safetensors", "c b.safetensors"}, false, CHECK_FAILED, true, "b.safetensors has "},
        {{"e x.gguf"}, false, CHECK_NOT_JUDGED, false, "weights in another format"},
        {{"e pytorch_model.bin"}, false, CHECK_NOT_JUDGED, false, "weights in another format"},
        {{"e README.md"}, false, CHECK_FAILED, true, "its weights are missing"},
        {{"w m.safetensors", "e ../../blobs/abc.incomplete"}, false, CHECK_NOT_JUDGED, true, "1 download"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct place x;
        struct err e;
        char bytes[400];
        place_make(&x);
        size_t whole = whole_file(bytes);
        if (cases[i].has_index)
            put(&x, "model.safetensors.index.json", index_text, sizeof index_text - 1);
        for (size_t k = 0; k < 4 && cases[i].files[k]; k++) {
            const char *f = cases[i].files[k];
            if (*f == 'p')
                put(&x, f + 2, pointer, sizeof pointer - 1);
            else
                put(&x, f + 2, bytes, *f == 'w' ? whole : *f == 'c' ? whole - 1 : 3);
        }
        bool good = look(&x, &e);
        const char *advice = x.p.advice[x.p.fact_count - 1], *said = good ? advice ? advice : last(&x)->seen : e.text;
        if (good != (cases[i].outcome != CHECK_FAILED) || last(&x)->outcome != cases[i].outcome ||
            !strstr(said, cases[i].told) || (good && (advice != NULL) != cases[i].advised))
            fail_msg("case %zu: %s", i, said);
        place_done(&x);
    }
}

static void a_tokenizer_is_looked_for(void **state)
{
    (void)state;
    static const char *const names[] = {"tokenizer.json", "tokenizer.model", "tekken.json", "tokenizer.model.v3",
                                        "vocab.json",     "own.tiktoken",    "spiece.model"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct place x;
        place_make(&x);
        preflight_tokenizer(&x.p, x.folder);
        assert_int_equal(last(&x)->outcome, CHECK_NOT_JUDGED);
        assert_non_null(x.p.advice[x.p.fact_count - 1]);
        put(&x, names[i], "x", 1);
        preflight_tokenizer(&x.p, x.folder);
        if (last(&x)->outcome != CHECK_PASSED)
            fail_msg("%s", names[i]);
        assert_string_equal(last(&x)->seen, names[i]);
        place_done(&x);
    }
}

/* The context against max_position_embeddings, of the model before its text part. */
static void config_is_held_to_the_plan(void **state)
{
    (void)state;
    static const struct {
        const char *config;
        int64_t context;
        int facts;
        bool warned;
    } cases[] = {
        {"{\"max_position_embeddings\":4096}", 4096, 1, false},
        {"{\"max_position_embeddings\":4096}", 4097, 1, true},
        {"{\"text_config\":{\"max_position_embeddings\":4096}}", 4097, 1, true},
        {"{\"text_config\":{\"max_position_embeddings\":1},\"max_position_embeddings\":9}", 9, 1, false},
        {"{\"max_position_embeddings\":4096}", ABSENT_I64, 0, false},
        {"{\"rope_scaling\":{\"original_max_position_embeddings\":8}}", 4096, 0, false},
        {"{}", 4096, 0, false},
        {"not JSON", 4096, 0, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct place x;
        place_make(&x);
        put(&x, "config.json", cases[i].config, strlen(cases[i].config));
        preflight_config(&x.p, x.folder, cases[i].context);
        assert_int_equal(x.p.fact_count, cases[i].facts);
        if (x.p.fact_count)
            assert_int_equal(x.p.advice[0] != NULL, cases[i].warned);
        place_done(&x);
    }
}

static const struct rec_fact *fact_of(const struct place *x, const char *name)
{
    for (size_t i = x->p.fact_count; i-- > 0;)
        if (strcmp(x->p.facts[i].name, name) == 0)
            return &x->p.facts[i];
    fail_msg("no fact %s", name);
    return NULL;
}

/* Of a model in the hub's cache that a plan names by its repository alone: its formats and its 2 + 2 elements. */
static void the_hubs_folder_tells_the_model(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"{\"torch_dtype\":\"bfloat16\"}", "bf16"},
        {"{\"dtype\":\"float16\"}", "fp16"},
        {"{\"torch_dtype\":\"bfloat16\",\"quantization_config\":{\"quant_method\":\"fp8\"}}", "fp8"},
        {"{}", NULL},
    };
    struct place x;
    char bytes[400] = {0}, command[400];
    place_make(&x);
    snprintf(x.folder, sizeof x.folder, "%s/models--org--m/snapshots/c", x.top);
    snprintf(command, sizeof command, "mkdir -p '%s'", x.folder);
    assert_int_equal(system(command), 0);
    put(&x, "model.safetensors", bytes, whole_file(bytes));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = {0};
        put(&x, "config.json", cases[i][0], strlen(cases[i][0]));
        assert_ok(preflight_model(&x.p, x.folder, &e), e);
        const char *precision = fact_of(&x, "snapshot.precision")->seen;
        assert_true(cases[i][1] ? precision && strcmp(precision, cases[i][1]) == 0 : !precision);
        assert_string_equal(fact_of(&x, "snapshot.model_id")->seen, "org/m");
        if (i != 2) /* packed weights count by their entry, which this one lacks */
            assert_string_equal(fact_of(&x, "snapshot.parameters")->seen, "4");
    }
    struct err e = {0};
    assert_false(preflight_model(&x.p, "/nowhere/at/all", &e));
    place_done(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_as_long_as_its_header_says), cmocka_unit_test(each_fault_is_told),
        cmocka_unit_test(a_tokenizer_is_looked_for), cmocka_unit_test(config_is_held_to_the_plan),
        cmocka_unit_test(the_hubs_folder_tells_the_model)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
