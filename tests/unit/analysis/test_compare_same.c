#include "compared.h"
#include "schema/visit.h"

struct two {
    struct arena a;
    struct made *x, *y;
    struct findings f;
    struct plan_differences d;
};

static int setup(void **state)
{
    struct two *t = test_calloc(1, sizeof *t);
    t->x = made_run(&t->a, "one", 0, 0.05);
    t->y = made_run(&t->a, "two", 1, 0.06);
    *state = t;
    return 0;
}

static int teardown(void **state)
{
    struct two *t = *state;
    arena_done(&t->a);
    test_free(t);
    return 0;
}

static void differences(struct two *t)
{
    struct sentences notes = {0};
    compare_differences(&t->x->as, &t->y->as, &t->a, &t->d, &notes);
    t->f.notes = notes;
}

static void repetition(struct two *t)
{
    t->f = (struct findings){0};
    compare_repetition(&t->x->as, &t->y->as, &t->a, &t->f);
}

static void conditions(struct two *t)
{
    t->f = (struct findings){0};
    compare_conditions(&t->x->as, &t->y->as, &t->a, &t->f);
}

/* ---- every key of a plan ---- */

struct walk {
    struct two *t;
    const char *key; /* the one that is changed; null: none yet */
    int seen, wanted;
};

/* Changes a value, whatever it is. */
static void change_slot(struct walk *w, const struct slot *s)
{
    struct arena *a = &w->t->a;
    switch (s->type) {
    case FIELD_BOOL:
        slot_set_bool(s, !slot_bool(s));
        break;
    case FIELD_I64:
        slot_set_i64(s, slot_is_absent(s) ? 77 : slot_i64(s) + 1);
        break;
    case FIELD_F64:
        slot_set_f64(s, slot_is_absent(s) ? 77 : slot_f64(s) * 2 + 1);
        break;
    case FIELD_TEXT:
        slot_set_text(s, "something else");
        break;
    case FIELD_ENUM:
        slot_set_enum(s, slot_enum(s) ? 0 : 1);
        break;
    case FIELD_LIST: {
        if (s->field->item == FIELD_OBJECT) {
            assert_int_equal(slot_count(s), 0);
            void *one = arena_alloc(a, s->field->sub->size);
            schema_defaults(s->field->sub, one);
            slot_set_items(s, one, 1);
            break;
        }
        const char **longer = arena_array(a, slot_count(s) + 1, sizeof *longer);
        for (size_t i = 0; i < slot_count(s); i++) {
            struct slot item = slot_item(s, i);
            longer[i] = slot_text(&item);
        }
        longer[slot_count(s)] = "--one-more";
        slot_set_items(s, longer, slot_count(s) + 1);
        break;
    }
    case FIELD_MAP: {
        struct field_pair *longer = arena_array(a, slot_count(s) + 1, sizeof *longer);
        for (size_t i = 0; i < slot_count(s); i++) {
            struct slot item = slot_item(s, i);
            longer[i] = (struct field_pair){slot_item_name(s, i), slot_text(&item)};
        }
        longer[slot_count(s)] = (struct field_pair){"ANY_NAME", "1"};
        slot_set_items(s, longer, slot_count(s) + 1);
        break;
    }
    case FIELD_HEX:
    case FIELD_OBJECT:
    case FIELD_QUANTITY:
        fail_msg("%s is of a kind that this test does not change", s->field->key);
    }
}

static void change_value(void *self, const struct visit *v)
{
    struct walk *w = self;
    if (w->key || w->seen++ != w->wanted)
        return;
    w->key = arena_text(&w->t->a, v->path);
    change_slot(w, &v->slot);
}

static bool change_enter(void *self, const struct visit *v)
{
    if (v->slot.type == FIELD_OBJECT)
        return true;
    change_value(self, v);
    return false;
}

static bool is_place(const char *key)
{
    static const char *const places[] = {"name",
                                         "runs",
                                         "engine.port",
                                         "gpus",
                                         "requests.file",
                                         "requests.sha256",
                                         "model.snapshot",
                                         "stat.repetition",
                                         "attach.url",
                                         "attach.pid",
                                         "attach.gpus_stated",
                                         "attach.for_s",
                                         "engine.container.name",
                                         "engine.in_force"}; /* told where both have it */
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (strcmp(key, places[i]) == 0)
            return true;
    return strncmp(key, "limits.", 7) == 0 || strncmp(key, "cost.", 5) == 0;
}

/* METHOD section 9: the frozen plans are the same but for names, places, limits and cost. Each key of the schema is
 * changed alone; a key that is added to it later counts, unless it is put among the places. */
static void each_key_of_the_plan_counts_but_names_and_places(void **state)
{
    (void)state;
    int keys = 0, counted = 0;
    for (;; keys++) {
        struct two t = {0};
        t.x = made_run(&t.a, "one", 0, 0.05);
        t.y = made_run(&t.a, "two", 1, 0.05);
        struct walk w = {.t = &t, .wanted = keys};
        schema_visit(&plan_schema, &t.y->plan, "",
                     &(struct visitor){.self = &w, .enter = change_enter, .value = change_value});
        if (!w.key) {
            arena_done(&t.a);
            break;
        }
        differences(&t);
        bool objects = strcmp(w.key, "loads") == 0; /* one that is added differs in each of its keys */
        if (objects ? t.d.count == 0 : t.d.count != !is_place(w.key))
            fail_msg("%s: %zu differences", w.key, t.d.count);
        counted += t.d.count > 0;
        if (t.d.count)
            assert_int_equal(strncmp(t.d.items[0].key, w.key, strlen(w.key)), 0);
        /* As a repetition it is refused for that key, with both values. */
        repetition(&t);
        assert_int_equal(t.f.reasons.count, t.d.count);
        if (t.d.count) {
            assert_non_null(strstr(t.f.reasons.items[0], t.d.items[0].key));
            assert_non_null(strstr(t.f.reasons.items[0], t.d.items[0].a));
            assert_non_null(strstr(t.f.reasons.items[0], t.d.items[0].b));
        }
        arena_done(&t.a);
    }
    assert_true(keys > 50 && counted > 30);
}

/* The request file's and the snapshot's path are places only where digests show that they hold the same. */
static void a_path_is_a_place_where_its_digests_agree(void **state)
{
    struct two *t = *state;
    t->y->plan.requests.file = "/elsewhere/p.jsonl";
    t->y->plan.model.snapshot = "/elsewhere/m";
    const char *command[] = {"vllm", "serve", "/elsewhere/m", "--port", "8000", "--quick"};
    t->y->plan.engine.command = command;
    differences(t);
    assert_int_equal(t->d.count, 0);
    t->y->plan.model.snapshot_sha256 = "tt";
    differences(t);
    assert_int_equal(t->d.count, 3); /* the command with it, the path, the digest */
    t->y->plan.model.snapshot_sha256 = NULL;
    differences(t);
    assert_int_equal(t->d.count, 3);
    t->x->plan.model.snapshot_sha256 = NULL;
    differences(t);
    assert_int_equal(t->d.count, 2);
    /* The digest of the weights decides alone; one that only one of the plans has shows nothing. */
    t->x->plan.model.snapshot_digest = t->y->plan.model.snapshot_digest = "dd";
    t->x->plan.model.snapshot_sha256 = "ss";
    differences(t);
    assert_int_equal(t->d.count, 0);
    t->y->plan.model.snapshot_digest = NULL;
    t->y->plan.model.snapshot_sha256 = "ss";
    differences(t);
    assert_int_equal(t->d.count, 3);
    t->x->plan.model.snapshot_digest = t->y->plan.model.snapshot_digest = NULL;
    t->y->plan.model.snapshot = "/models/m";
    t->y->plan.engine.command = t->x->plan.engine.command;
    differences(t);
    assert_int_equal(t->d.count, 0);
    /* Where the digest of the work decides, how the file is packed does not count; else its bytes do. */
    t->y->plan.requests.sha256 = "bb";
    differences(t);
    assert_int_equal(t->d.count, 0);
    t->y->plan.requests.work_sha256 = "vv";
    differences(t);
    assert_int_equal(t->d.count, 3);
    t->x->plan.requests.work_sha256 = t->y->plan.requests.work_sha256 = NULL;
    differences(t);
    assert_int_equal(t->d.count, 2);
}

struct word {
    const char *x, *y;
    bool same;
};

/* Run one listens on 8000 and lies in /runs/one, run two on 31337 and in /runs/two. */
static void places_within_words_are_left_out(void **state)
{
    struct two *t = *state;
    static const struct word words[] = {
        {"8000", "31337", true},
        {"--port=8000", "--port=31337", true},
        {"http://127.0.0.1:8000/v1", "http://127.0.0.1:31337/v1", true},
        {"8000", "8000", true},
        {"8000", "8001", false}, /* no number of the second run's port */
        {"--len=80001", "--len=313371", false},
        {"0.8000", "0.31337", false}, /* a fraction */
        {"x8000", "x31337", false},   /* part of a name */
        {"08000", "031337", false},
        {"/runs/one/cache", "/data/more/two/cache", true},
        {"a=/runs/one:b=/runs/one/x", "a=/r/two:b=/r/two/x", true},
        {"/runs/one", "/runs/two", true},
        {"/runs/one-more/x", "/runs/two-more/x", false}, /* other folders */
        {"/runs/zone/x", "/runs/ztwo/x", false},
        {"/runs/one/cache", "/runs/two/cash", false},
        {"/models/m", "/m2/m", true},
        {"--model=/models/m", "--model=/m2/m", true},
        {"/models/m/tokenizer", "/m2/m/tokenizer", true},
        {"/models/m2", "/m2/m2", false},
        {"/data/prompts.jsonl", "/d/p.jsonl", true},
    };
    t->y->plan.engine.port = 31337;
    t->y->plan.model.snapshot = "/m2/m";
    t->y->plan.requests.file = "/d/p.jsonl";
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *x[] = {"vllm", words[i].x}, *y[] = {"vllm", words[i].y};
        t->x->plan.engine.command = x;
        t->y->plan.engine.command = y;
        t->x->plan.engine.command_count = t->y->plan.engine.command_count = 2;
        t->x->plan.engine.env[0].value = words[i].x;
        t->y->plan.engine.env[0].value = words[i].y;
        differences(t);
        if (t->d.count != (words[i].same ? 0 : 2))
            fail_msg("\"%s\" and \"%s\": %zu differences", words[i].x, words[i].y, t->d.count);
        if (t->d.count) {
            assert_string_equal(t->d.items[0].key, "engine.command");
            assert_string_equal(t->d.items[0].a, arena_format(&t->a, "vllm %s", words[i].x));
            assert_string_equal(t->d.items[1].key, "engine.env.VLLM_USE_V1");
        }
    }
}

/* Documents are read from files: a null where a text belongs is a difference, and no reason to crash. */
static void nulls_are_values_like_others(void **state)
{
    struct two *t = *state;
    const char *words[] = {NULL, "serve", "/models/m", "--port", "8000", "--quick"};
    struct field_pair env[] = {{"VLLM_USE_V1", NULL}}, inherited[] = {{"VLLM_CACHE_ROOT", NULL}, {"HOME", NULL}};
    t->y->plan.engine.command = words;
    t->y->plan.engine.env = env;
    t->y->run.environment = inherited;
    t->y->run.environment_count = 2;
    differences(t);
    assert_int_equal(t->d.count, 4); /* command, env, and two variables that count and are not set */
    t->x->plan = t->y->plan;
    t->x->run.environment = inherited;
    t->x->run.environment_count = 2;
    differences(t);
    assert_int_equal(t->d.count, 0);
    t->x->result.about.run_id = t->y->result.about.run_id = NULL;
    repetition(t);
    assert_int_equal(t->f.reasons.count, 0);
}

static void the_order_of_variables_does_not_count(void **state)
{
    struct two *t = *state;
    struct field_pair x[] = {{"A", "1"}, {"B", "2"}}, y[] = {{"B", "2"}, {"A", "1"}};
    t->x->plan.engine.env = x;
    t->y->plan.engine.env = y;
    t->x->plan.engine.env_count = t->y->plan.engine.env_count = 2;
    differences(t);
    assert_int_equal(t->d.count, 0);
    y[1].value = "3";
    differences(t);
    assert_int_equal(t->d.count, 1);
    t->y->plan.engine.env_count = 1;
    differences(t);
    assert_int_equal(t->d.count, 1);
    assert_string_equal(t->d.items[0].b, "not stated");
}

/* ---- environment ---- */

static void variables_of_each_family_count_and_others_are_shown(void **state)
{
    struct two *t = *state;
    static const char *const counted[] = {
        "VLLM_X",       "SGLANG_X", "SGL_X", "NCCL_X", "CUDA_LAUNCH_BLOCKING", "TORCH_X", "TORCHINDUCTOR_X",
        "PYTORCH_X",    "TRITON_X", "HF_X",  "OMP_X",  "LD_PRELOAD",           "LLAMA_X", "GGML_X",
        "FLASHINFER_X", "TVM_FFI_X"};
    static const char *const shown[] = {"PATH",   "HOME",          "MY_VLLM_X",           "XCUDA_",
                                        "vllm_x", "JTOK_SIM_SEED", "CUDA_VISIBLE_DEVICES"};
    struct field_pair x[] = {{"PWD", "/"}, {NULL, "1"}}, y[] = {{"PWD", "/"}, {NULL, "2"}};
    t->x->run.environment = x;
    t->y->run.environment = y;
    t->x->run.environment_count = t->y->run.environment_count = 2;
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++) {
        x[1].name = y[1].name = counted[i];
        repetition(t);
        assert_int_equal(t->f.reasons.count, 1);
        assert_string_equal(t->f.reasons.items[0],
                            arena_format(&t->a,
                                         "Run two is not a repetition of one: environment.%s is \"1\" and "
                                         "\"2\".",
                                         counted[i]));
        t->y->run.environment_count = 1; /* not set on one side is a difference, too, either way */
        repetition(t);
        assert_told(&t->f.reasons, "is \"1\" and \"not set\"");
        t->y->run.environment_count = 2;
        t->x->run.environment_count = 1;
        repetition(t);
        assert_told(&t->f.reasons, "is \"not set\" and \"2\"");
        t->x->run.environment_count = 2;
    }
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        x[1].name = y[1].name = shown[i];
        repetition(t);
        assert_int_equal(t->f.reasons.count, 0);
        assert_told(&t->f.notes, arena_format(&t->a, "%s (1 and 2)", shown[i]));
    }
}

static void paths_into_the_run_folder_do_not_count(void **state)
{
    struct two *t = *state;
    repetition(t); /* VLLM_CACHE_ROOT is /runs/one/cache and /runs/two/cache */
    assert_int_equal(t->f.reasons.count, 0);
    t->y->run.environment[0].value = "/somewhere/cache";
    repetition(t);
    assert_int_equal(t->f.reasons.count, 1);
}

static void an_environment_that_was_not_recorded_is_named(void **state)
{
    struct two *t = *state;
    t->x->run.environment_count = 0;
    repetition(t);
    assert_int_equal(t->f.reasons.count, 0);
    assert_told(&t->f.notes, "The environment of run one was not recorded");
    t->y->plan.engine.env[0].value = "0"; /* then the plan's own variables decide */
    repetition(t);
    assert_told(&t->f.reasons, "engine.env.VLLM_USE_V1 is \"1\" and \"0\"");
}

static void a_run_without_its_documents_is_not_taken_for_a_repetition(void **state)
{
    struct two *t = *state;
    t->y->as.run = NULL;
    repetition(t);
    assert_told(&t->f.reasons, "run two has no run.json");
    t->x->as.plan = NULL;
    repetition(t);
    assert_told(&t->f.reasons, "run one has no plan.json");
}

static void another_engine_or_version_is_not_a_repetition(void **state)
{
    struct two *t = *state;
    t->y->result.about.engine_version = "1.1";
    repetition(t);
    assert_int_equal(t->f.reasons.count, 1);
    assert_string_equal(t->f.reasons.items[0],
                        "Run two is not a repetition of one: the engine's version is 1.0 and 1.1.");
}

/* Plans that are silent on the model are alike whatever ran. */
static void another_model_that_was_found_is_not_a_repetition(void **state)
{
    struct two *t = *state;
    t->x->plan.model.precision = t->y->plan.model.precision = NULL;
    t->x->result.about.precision = t->y->result.about.precision = "bf16";
    repetition(t);
    assert_int_equal(t->f.reasons.count, 0);
    const char **const found[] = {&t->y->result.about.model, &t->y->result.about.revision,
                                  &t->y->result.about.precision};
    for (size_t i = 0; i < sizeof found / sizeof *found; i++) {
        const char *own = *found[i];
        *found[i] = "other";
        repetition(t);
        assert_int_equal(t->f.reasons.count, 1);
        assert_non_null(strstr(t->f.reasons.items[0], "and other."));
        *found[i] = own;
    }
}

/* ---- the same work ---- */

static void digests_of_the_work_decide_where_both_are_there(void **state)
{
    struct two *t = *state;
    t->y->result.about.requests_sha256 = "bb"; /* the same prompts, packed otherwise */
    conditions(t);
    assert_int_equal(t->f.reasons.count, 0);
    t->y->result.about.requests_sha256 = "aa"; /* the same file, asked otherwise */
    t->y->result.about.work_sha256 = "vv";
    conditions(t);
    assert_int_equal(t->f.reasons.count, 1);
    assert_told(&t->f.reasons, "What was asked differs, in the texts, their order or their lengths");
    t->y->plan.requests.temperature = 0;
    conditions(t);
    assert_int_equal(t->f.reasons.count, 1);
    assert_string_equal(t->f.reasons.items[0], "What was asked differs: requests.temperature is 0.7 and 0.");
}

static void set_temperature(struct plan_requests *r)
{
    r->temperature = NAN;
}
static void set_top_p(struct plan_requests *r)
{
    r->top_p = 0.9;
}
static void set_seed(struct plan_requests *r)
{
    r->seed = 1;
}
static void set_api(struct plan_requests *r)
{
    r->api = API_COMPLETIONS;
}
static void set_count(struct plan_requests *r)
{
    r->count = 10;
}
static void set_extra(struct plan_requests *r)
{
    r->extra_body = "{\"chat_template_kwargs\":{\"enable_thinking\":false}}";
}
static void set_length_kind(struct plan_requests *r)
{
    r->lengths.kind = LENGTH_FIXED;
}
static void set_tokens(struct plan_requests *r)
{
    r->lengths.tokens = 9;
}
static void set_median(struct plan_requests *r)
{
    r->lengths.median = 9;
}
static void set_sigma(struct plan_requests *r)
{
    r->lengths.sigma = 0.1;
}
static void set_min(struct plan_requests *r)
{
    r->lengths.min = 9;
}
static void set_max(struct plan_requests *r)
{
    r->lengths.max = 9;
}
static void set_length_seed(struct plan_requests *r)
{
    r->lengths.seed = 9;
}
static void set_ignore_eos(struct plan_requests *r)
{
    r->lengths.ignore_eos = true;
}

/* A run that is older than the digest: request file and every setting of what is asked stand in, whichever side it is.
 */
static void without_a_digest_file_and_each_setting_decide(void **state)
{
    struct two *t = *state;
    static const struct {
        void (*set)(struct plan_requests *r);
        const char *key;
    } cases[] = {
        {set_temperature, "requests.temperature"},
        {set_top_p, "requests.top_p"},
        {set_seed, "requests.seed"},
        {set_api, "requests.api"},
        {set_count, "requests.count"},
        {set_extra, "requests.extra_body"},
        {set_length_kind, "requests.lengths.kind"},
        {set_tokens, "requests.lengths.tokens"},
        {set_median, "requests.lengths.median"},
        {set_sigma, "requests.lengths.sigma"},
        {set_min, "requests.lengths.min"},
        {set_max, "requests.lengths.max"},
        {set_length_seed, "requests.lengths.seed"},
        {set_ignore_eos, "requests.lengths.ignore_eos"},
    };
    const struct plan_requests as_it_was = t->y->plan.requests;
    for (int side = 0; side < 3; side++) {
        t->x->result.about.work_sha256 = side == 1 ? "ww" : NULL;
        t->y->result.about.work_sha256 = side == 0 ? "ww" : NULL;
        conditions(t);
        assert_int_equal(t->f.reasons.count, 0);
        assert_told(&t->f.notes, "has no digest of its work");
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            cases[i].set(&t->y->plan.requests);
            conditions(t);
            assert_int_equal(t->f.reasons.count, 1);
            assert_told(&t->f.reasons, arena_format(&t->a, "What was asked differs: %s is ", cases[i].key));
            t->y->plan.requests = as_it_was;
        }
        /* What changes nothing of what is asked. */
        t->y->plan.requests.connect = CONNECT_WITH_REQUEST;
        t->y->plan.requests.continuous_usage = true;
        t->y->plan.requests.file = "/x";
        conditions(t);
        assert_int_equal(t->f.reasons.count, 0);
        t->y->plan.requests = as_it_was;
        t->y->result.about.requests_sha256 = "bb";
        conditions(t);
        assert_told(&t->f.reasons, "The request file (SHA-256) differs: aa and bb.");
        t->y->result.about.requests_sha256 = NULL;
        conditions(t);
        assert_told(&t->f.reasons, "The request file (SHA-256) differs: aa and not stated.");
        t->y->result.about.requests_sha256 = "aa";
        t->y->as.plan = NULL;
        conditions(t);
        assert_told(&t->f.reasons, "Whether the same was asked can't be told");
        t->y->as.plan = &t->y->plan;
    }
}

/* ---- the same machine ---- */

static void boards_count_by_what_they_are(void **state)
{
    struct two *t = *state;
    struct result_gpu *g = &t->y->result.gpus[0];
    const struct result_gpu as_it_was = *g;
    g->uuid = "GPU-2"; /* another board of the kind */
    conditions(t);
    assert_int_equal(t->f.reasons.count, 0);
    assert_false(compare_same_boards(&t->x->result, &t->y->result));
    assert_told(&t->f.notes, "Runs one and two ran on other boards: GPU-1 and GPU-2.");
    const char *const choices[] = {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"};
    for (size_t i = 0; i < 2; i++) {
        t->x->plan.engine.env[0] = (struct field_pair){choices[i], "0"};
        t->y->plan.engine.env[0] = (struct field_pair){choices[i], "1"};
        repetition(t);
        assert_int_equal(t->f.reasons.count, 0);
    }
    struct {
        struct result_gpu gpu;
        const char *reason;
    } cases[6];
    for (size_t i = 0; i < 6; i++)
        cases[i].gpu = as_it_was; /* the same UUID: it does not help */
    cases[0].gpu.name = "NVIDIA H100";
    cases[0].reason = "The GPUs differ: NVIDIA H200 at 700 W, power by field 186 scope 0 and NVIDIA H100 at 700 W";
    cases[1].gpu.power_limit_w = 600;
    cases[1].reason = "and NVIDIA H200 at 600 W";
    cases[2].gpu.partitioned = 1;
    cases[2].reason = "and NVIDIA H200 at 700 W split into parts";
    cases[3].gpu.instant_source = "power_usage";
    cases[3].reason = "power by power_usage";
    cases[4].gpu.power_limit_w = NAN;
    cases[4].reason = "Run two does not say the power limit of GPU 0";
    cases[5].gpu.instant_source = NULL;
    cases[5].reason = "Run two does not say the source of the instant power of GPU 0";
    for (size_t i = 0; i < 6; i++) {
        *g = cases[i].gpu;
        conditions(t);
        assert_told(&t->f.reasons, cases[i].reason);
        repetition(t);
        assert_told(&t->f.reasons, cases[i].reason);
    }
    *g = as_it_was;
    g->partitioned = ABSENT_I64; /* not supported is not on */
    conditions(t);
    assert_int_equal(t->f.reasons.count, 0);
    t->y->result.flags[FLAG_AVERAGED_POWER].outcome = CHECK_FAILED;
    conditions(t);
    assert_told(&t->f.reasons, "(averaged_power)");
    t->x->result.flags[FLAG_AVERAGED_POWER].outcome = CHECK_FAILED; /* its like */
    conditions(t);
    assert_int_equal(t->f.reasons.count, 0);
    t->y->result.gpu_count = 0;
    conditions(t);
    assert_told(&t->f.reasons, "The number of GPUs differs or is 0: 1 and 0.");
}

/* Two boards in either order are the same two boards. */
static void the_order_of_boards_does_not_count(void **state)
{
    struct two *t = *state;
    struct result_gpu h200 = t->x->result.gpus[0], h100 = h200;
    h100.name = "NVIDIA H100";
    h100.uuid = "GPU-2";
    struct result_gpu x[] = {h200, h100}, y[] = {h100, h200};
    t->x->result.gpus = x;
    t->y->result.gpus = y;
    t->x->result.gpu_count = t->y->result.gpu_count = 2;
    conditions(t);
    assert_int_equal(t->f.reasons.count, 0);
    assert_true(compare_same_boards(&t->x->result, &t->y->result));
    y[0] = h200;
    conditions(t);
    assert_int_equal(t->f.reasons.count, 1);
}

static void host_driver_and_cpu_are_shown(void **state)
{
    struct two *t = *state;
    t->y->run.host = "node2";
    t->y->run.driver_version = "590";
    t->y->run.cpu = "Xeon";
    conditions(t);
    assert_int_equal(t->f.reasons.count, 0);
    assert_told(&t->f.notes, "Runs one and two differ in the host: node1 and node2.");
    assert_told(&t->f.notes, "differ in the driver: 580 and 590.");
    assert_told(&t->f.notes, "differ in the CPU: EPYC and Xeon.");
}

/* What an engine said that it is, where both said it; what is compared by itself is not told twice. */
static void settings_that_differ_are_shown(void **state)
{
    struct two *t = *state;
    struct result_identity x[] = {{.name = "attention_backend", .seen = "FLASH_ATTN"},
                                  {.name = "prefix_cache", .seen = "on"},
                                  {.name = "kv_cache_dtype", .seen = NULL},
                                  {.name = "version", .seen = "1"}};
    struct result_identity y[] = {{.name = "version", .seen = "2"},
                                  {.name = "kv_cache_dtype", .seen = "fp8"},
                                  {.name = "prefix_cache", .seen = "on"},
                                  {.name = "attention_backend", .seen = "triton"}};
    conditions(t);
    size_t before = t->f.notes.count;
    t->x->result.about.identity = x;
    t->y->result.about.identity = y;
    t->x->result.about.identity_count = t->y->result.about.identity_count = 4;
    conditions(t);
    assert_told(&t->f.notes, "differ in the engine's attention_backend: FLASH_ATTN and triton.");
    assert_int_equal(t->f.notes.count, before + 1);
}

/* What holds of a setting is told where both plans state it and it differs, whoever says it. */
static void settings_in_force_are_told_by_their_values(void **state)
{
    struct two *t = *state;
    struct field_pair x[] = {{"prefix_cache", "on (default)"},
                             {"seed", "0 (default)"},
                             {"max_running", "64 (command)"},
                             {"front_ends", "1 (default)"},
                             {"memory_share", "not known"}};
    struct field_pair y[] = {{"prefix_cache", "on (command)"},
                             {"seed", "drawn anew by each start (default)"},
                             {"max_running", "64 of (some) (command)"},
                             {"memory_share", "not known"}};
    t->x->plan.engine.in_force = x;
    t->x->plan.engine.in_force_count = sizeof x / sizeof *x;
    t->y->plan.engine.in_force = y;
    t->y->plan.engine.in_force_count = sizeof y / sizeof *y;
    differences(t);
    assert_int_equal(t->d.count, 2);
    assert_string_equal(t->d.items[0].key, "engine.in_force.seed");
    assert_string_equal(t->d.items[1].key, "engine.in_force.max_running");
}

/* Asked or set otherwise it is another work; known of one alone, it is said. */
static void thinking_that_differs_is_refused(void **state)
{
    struct two *t = *state;
    static const struct {
        const char *x, *y;
        bool refused, noted;
    } cases[] = {{NULL, NULL, false, false},
                 {"off", "off", false, false},
                 {"off", "on", true, false},
                 {NULL, "on", false, true},
                 {"low", NULL, false, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct findings f = {0};
        t->x->result.about.thinking = cases[i].x;
        t->y->result.about.thinking = cases[i].y;
        compare_pair(&t->x->as, &t->y->as, &t->a, &f);
        bool refused = false, noted = false;
        for (size_t k = 0; k < f.reasons.count; k++)
            refused = refused || strstr(f.reasons.items[k], "thinking setting differs: off and on.");
        for (size_t k = 0; k < f.notes.count; k++)
            noted = noted || strstr(f.notes.items[k], "thinking setting of run");
        assert_int_equal(refused, cases[i].refused);
        assert_int_equal(noted, cases[i].noted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_key_of_the_plan_counts_but_names_and_places),
        cmocka_unit_test_setup_teardown(a_path_is_a_place_where_its_digests_agree, setup, teardown),
        cmocka_unit_test_setup_teardown(places_within_words_are_left_out, setup, teardown),
        cmocka_unit_test_setup_teardown(nulls_are_values_like_others, setup, teardown),
        cmocka_unit_test_setup_teardown(the_order_of_variables_does_not_count, setup, teardown),
        cmocka_unit_test_setup_teardown(variables_of_each_family_count_and_others_are_shown, setup, teardown),
        cmocka_unit_test_setup_teardown(paths_into_the_run_folder_do_not_count, setup, teardown),
        cmocka_unit_test_setup_teardown(an_environment_that_was_not_recorded_is_named, setup, teardown),
        cmocka_unit_test_setup_teardown(a_run_without_its_documents_is_not_taken_for_a_repetition, setup, teardown),
        cmocka_unit_test_setup_teardown(another_engine_or_version_is_not_a_repetition, setup, teardown),
        cmocka_unit_test_setup_teardown(another_model_that_was_found_is_not_a_repetition, setup, teardown),
        cmocka_unit_test_setup_teardown(digests_of_the_work_decide_where_both_are_there, setup, teardown),
        cmocka_unit_test_setup_teardown(without_a_digest_file_and_each_setting_decide, setup, teardown),
        cmocka_unit_test_setup_teardown(boards_count_by_what_they_are, setup, teardown),
        cmocka_unit_test_setup_teardown(the_order_of_boards_does_not_count, setup, teardown),
        cmocka_unit_test_setup_teardown(host_driver_and_cpu_are_shown, setup, teardown),
        cmocka_unit_test_setup_teardown(settings_that_differ_are_shown, setup, teardown),
        cmocka_unit_test_setup_teardown(thinking_that_differs_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(settings_in_force_are_told_by_their_values, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
