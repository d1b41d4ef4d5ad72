/* A run folder from a plan resolved by hand: what stands in it at the beginning and at the end, and that no secret
 * does. */
#include "fake_device.h"
#include "made.h"
#include <sys/stat.h>
#include <unistd.h>
#include "run/folder.h"
#include "run/service.h"
#include "store/archive.h"

struct made_folder {
    struct made d;
    char runs[64];
    struct plan plan;
    struct fake_device device;
    struct resolved r;
    struct folder f;
    struct request_row row;
    int64_t max_tokens[1];
};

static void open_made(struct made_folder *c)
{
    memset(c, 0, sizeof *c);
    made_open(&c->d);
    snprintf(c->runs, sizeof c->runs, "/tmp/jtok-folder-XXXXXX");
    assert_non_null(mkdtemp(c->runs));
    plan_defaults(&c->plan);
    c->plan.runs = c->runs;
    c->plan.name = "A made run";
    c->plan.model.id = c->plan.engine.served_model = "tiny";
    c->plan.requests.file = "prompts.jsonl";
    c->plan.requests.sha256 = "0000";
    c->plan.requests.work_sha256 = "1111";
    fake_device_init(&c->device);
    static const char *uuids[] = {"GPU-bbbb"};
    c->plan.gpus = uuids;
    c->plan.gpu_count = 1;
    c->r.plan = &c->plan;
    c->r.device = &c->device.device;
    c->r.gpus[0] = 1;
    c->r.gpu_count = 1;
    c->r.set = (struct request_set){
        .rows = &c->row, .row_count = 1, .count = 1, .max_tokens = c->max_tokens, .total_max_tokens = 8};
    snprintf(c->r.set.sha256, sizeof c->r.set.sha256, "0000");
    c->row.prompt = span_of("\"Hello\"");
    preflight_init(&c->r.preflight, &c->d.arena);
    secrets_add(&c->r.secrets, "API_KEY", span_of("sesame-open"));
}

static void make(struct made_folder *c, const char *source)
{
    struct err e;
    assert_ok(folder_make(&c->f, &c->r, &(struct folder_options){.plan_source = source}, &c->d.arena, &e), e);
    stage_begin(&c->d.machine, made_sink(&c->d), c->f.origin_ns);
}

static void close_made(struct made_folder *c)
{
    char command[100];
    folder_done(&c->f);
    preflight_done(&c->r.preflight);
    secrets_done(&c->r.secrets);
    made_close(&c->d);
    snprintf(command, sizeof command, "rm -r %s", c->runs);
    assert_int_equal(system(command), 0);
}

static bool holds(const struct made_folder *c, const char *name, const char *text)
{
    char path[400], all[20000];
    snprintf(path, sizeof path, "%s/%s", c->f.path, name);
    FILE *f = fopen(path, "re");
    assert_non_null(f);
    size_t n = fread(all, 1, sizeof all - 1, f);
    all[n] = 0;
    fclose(f);
    return strstr(all, text);
}

static bool is_there(const struct made_folder *c, const char *name)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", c->f.path, name);
    return access(path, F_OK) == 0;
}

static void a_folder_begins_with_its_documents(void **state)
{
    (void)state;
    struct made_folder c;
    open_made(&c);
    int64_t before = clock_now_ns();
    make(&c, "name: x\nkey: sesame-open\n");
    assert_true(c.f.origin_ns >= before && c.f.origin_ns <= clock_now_ns());
    assert_true(is_there(&c, "plan.json") && is_there(&c, "run.json") && is_there(&c, "gpus.csv"));
    assert_true(holds(&c, "plan.yaml", "key: [secret:API_KEY]\n"));
    assert_false(holds(&c, "plan.yaml", "sesame"));
    assert_int_equal(c.f.record.secrets_replaced, 1);
    assert_true(holds(&c, "gpus.csv", "GPU-bbbb"));
    assert_false(holds(&c, "gpus.csv", "GPU-aaaa")); /* of the plan's only */
    folder_note_resolved(&c.f, &c.d.machine);
    assert_string_equal(c.d.facts[made_find(&c.d, "gpu.uuid", 0)].seen, "GPU-bbbb");
    close_made(&c);
}

static void variables_are_noted_without_their_secrets(void **state)
{
    (void)state;
    struct made_folder c;
    open_made(&c);
    make(&c, NULL);
    assert_false(is_there(&c, "plan.yaml"));
    const char *env[] = {"HOME=/root", "HF_TOKEN=abc", "NOTE=the sesame-open key", "HF_TOKEN_EMPTY=", "no variable"};
    folder_note_environment(&c.f, &(struct engine_launch){.env = env, .env_count = 5});
    const struct rec_run *r = &c.f.record;
    assert_int_equal(r->environment_count, 4);
    assert_string_equal(r->environment[0].value, "/root");
    assert_string_equal(r->environment[1].name, "HF_TOKEN");
    assert_string_equal(r->environment[1].value, "[secret:HF_TOKEN]");
    assert_string_equal(r->environment[2].value, "the [secret:API_KEY] key");
    assert_int_equal(r->secrets_replaced, 1);
    close_made(&c);
}

/* What ran is what was frozen, but for the number of requests: one was to be sent, none was. */
static void what_ran_is_held_to_the_plan(void **state)
{
    (void)state;
    struct made_folder c;
    open_made(&c);
    make(&c, NULL);
    folder_note_residency(&c.f, &c.d.machine); /* without a snapshot there is nothing to say */
    assert_int_equal(made_find(&c.d, "snapshot.page_cache", 0), -1);
    folder_check_plan(&c.f, &c.d.machine, 0);
    assert_int_equal(c.d.facts[made_find(&c.d, "plan.requests_sha256", 0)].outcome, CHECK_PASSED);
    assert_int_equal(c.d.facts[made_find(&c.d, "plan.requests_count", 0)].outcome, CHECK_FAILED);
    assert_string_equal(c.d.facts[made_find(&c.d, "plan.requests_count", 0)].expected, "1");
    assert_string_equal(c.d.facts[made_find(&c.d, "plan.requests_count", 0)].seen, "0");
    assert_int_equal(made_find(&c.d, "plan.snapshot_sha256", 0), -1);
    close_made(&c);
}

static void the_end_is_written_once(void **state)
{
    (void)state;
    struct made_folder c;
    open_made(&c);
    make(&c, NULL);
    struct engine_identity id;
    engine_identity_init(&id, &c.d.arena);
    id.found[PROPERTY_VERSION].value = "0.24.0";
    id.found[PROPERTY_PREFIX_CACHE].value = "off";
    folder_note_engine(&c.f, &id, 128 + 15);
    assert_int_equal(c.f.record.prefix_cache, 0);
    struct rec_client client = {.wall_ns = 5, .stamps_kernel = 1};
    assert_true(folder_finish(&c.f, &client));
    assert_int_equal(c.f.unwritten.kind, ERR_NONE);
    assert_true(is_there(&c, "client.json"));
    assert_true(holds(&c, "run.json", "\"0.24.0\""));
    assert_true(holds(&c, "run.json", "143"));
    assert_true(holds(&c, "run.json", "\"kernel\""));
    char path[400];
    snprintf(path, sizeof path, "%s/" ENGINE_CACHE "/deep/er", c.f.path);
    char command[500];
    snprintf(command, sizeof command, "mkdir -p %s && touch %s/kernel.bin && mkdir %s/" ENGINE_WORK, path, path,
             c.f.path);
    assert_int_equal(system(command), 0);
    folder_remove_caches(&c.f);
    assert_false(is_there(&c, ENGINE_CACHE));
    assert_false(is_there(&c, ENGINE_WORK)); /* nothing was left in it */
    close_made(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_folder_begins_with_its_documents),
        cmocka_unit_test(variables_are_noted_without_their_secrets),
        cmocka_unit_test(what_ran_is_held_to_the_plan),
        cmocka_unit_test(the_end_is_written_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
