/* Random prompts and the laws of lengths: exact counts, distributions, the same on every machine. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include "schema/set.h"
#include "store/draw.h"
#include "store/length_law.h"
#include "store/plan_yaml.h"
#include "store/random_prompts.h"
#include "store/request_set.h"
#include "store/work_digest.h"
#include "text/json.h"

struct fixture {
    struct arena arena;
    struct problems p;
    struct plan plan;
    struct request_set set;
    struct buf text;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    problems_init(&f->p, &f->arena, "plan.yaml");
    plan_defaults(&f->plan);
    struct plan_requests *q = &f->plan.requests;
    q->api = API_COMPLETIONS;
    q->count = 40;
    q->random.input.kind = INPUT_FIXED;
    q->random.input.tokens = 100;
    q->random.first_id = 1000;
    q->random.last_id = 31999;
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    request_set_done(&f->set);
    buf_done(&f->text);
    arena_done(&f->arena);
    free(f);
    return 0;
}

/* The ids of prompt i, in the arena; their number. */
static size_t ids_of(struct fixture *f, size_t i, int64_t **ret_ids)
{
    struct json j;
    size_t n = 0;
    int64_t *ids = arena_array(&f->arena, 1000000, sizeof *ids);
    buf_clear(&f->text);
    random_prompt_put(&f->plan.requests.random, i, &f->text);
    json_init(&j, buf_span(&f->text));
    assert_int_equal(json_next(&j), JSON_ARRAY);
    while (json_next(&j) == JSON_NUMBER)
        assert_true(json_i64(&j, &ids[n++]));
    assert_int_equal(j.kind, JSON_ARRAY_END);
    assert_int_equal(json_next(&j), JSON_END);
    *ret_ids = ids;
    return n;
}

static void a_prompt_has_as_many_ids_as_asked(void **state)
{
    struct fixture *f = *state;
    int64_t *ids;
    for (size_t i = 0; i < 50; i++) {
        assert_int_equal(ids_of(f, i, &ids), 100);
        for (size_t k = 0; k < 100; k++)
            assert_in_range(ids[k], 1000, 31999);
    }
    /* Every id of a small range comes, all about equally often: chi-squared with 9 degrees of freedom, 99.9 %
     * below 27.9. */
    f->plan.requests.random.last_id = 1009;
    f->plan.requests.random.input.tokens = 10000;
    double seen[10] = {0}, chi = 0;
    assert_int_equal(ids_of(f, 3, &ids), 10000);
    for (size_t k = 0; k < 10000; k++)
        seen[ids[k] - 1000]++;
    for (size_t k = 0; k < 10; k++)
        chi += (seen[k] - 1000) * (seen[k] - 1000) / 1000;
    assert_true(chi < 27.9);
}

static void the_prefix_is_shared_and_nothing_else(void **state)
{
    struct fixture *f = *state;
    f->plan.requests.random.prefix_tokens = 60;
    int64_t *first, *other;
    ids_of(f, 0, &first);
    for (size_t i = 1; i < 20; i++) {
        assert_int_equal(ids_of(f, i, &other), 100);
        assert_memory_equal(other, first, 60 * sizeof *first);
        assert_memory_not_equal(other + 60, first + 60, 40 * sizeof *first);
    }
}

/* splitmix64 in the few lines of its paper; draw_between takes its top 53 bits as a fraction of the range. */
static uint64_t paper_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void ids_are_those_of_the_stated_generator(void **state)
{
    struct fixture *f = *state;
    f->plan.requests.random.seed = 7;
    int64_t *ids;
    size_t n = ids_of(f, 5, &ids);
    uint64_t s = paper_mix(paper_mix(7) + 2) + paper_mix(6); /* stream 2, request 5 */
    for (size_t k = 0; k < n; k++) {
        s += 0x9e3779b97f4a7c15u;
        double u = (double)(paper_mix(s) >> 11) / 9007199254740992.0;
        assert_true(ids[k] == 1000 + (int64_t)floor(u * 31000));
    }
}

static void a_set_goes_on_behind_its_count(void **state)
{
    struct fixture *f = *state;
    struct plan_requests *q = &f->plan.requests;
    q->lengths.kind = LENGTH_UNIFORM;
    q->lengths.min = 10;
    q->lengths.max = 20;
    assert_true(request_set_load(&f->set, &f->plan, -1, &f->p));
    assert_int_equal(f->set.count, 40);
    assert_int_equal(f->set.repeated_prompts, 0);
    uint64_t digests[200];
    for (size_t i = 0; i < 200; i++) {
        struct request_ask ask = request_set_ask(&f->set, i, &f->text);
        assert_int_equal(ask.prompt_tokens, 100);
        assert_true(ask.ids.n > 0 && !ask.prompt.n && !ask.messages.n);
        assert_in_range(ask.max_tokens, 10, 20);
        digests[i] = ask.digest;
        for (size_t k = 0; k < i; k++)
            assert_true(digests[k] != digests[i]);
    }
    /* A longer set begins with the same requests. */
    struct request_set longer;
    q->count = 100;
    assert_true(request_set_load(&longer, &f->plan, -1, &f->p));
    for (size_t i = 0; i < 100; i++)
        assert_true(longer.max_tokens[i] == request_set_ask(&f->set, i, &f->text).max_tokens);
    request_set_done(&longer);
}

static void the_context_must_hold_them(void **state)
{
    struct fixture *f = *state;
    f->plan.requests.lengths.kind = LENGTH_FIXED;
    f->plan.requests.lengths.tokens = 100;
    f->plan.engine.context_length = 200;
    assert_true(request_set_load(&f->set, &f->plan, -1, &f->p));
    f->plan.engine.context_length = 199;
    request_set_done(&f->set);
    assert_false(request_set_load(&f->set, &f->plan, -1, &f->p));
}

static void the_work_is_the_ids(void **state)
{
    struct fixture *f = *state;
    char one[DIGEST_HEX], other[DIGEST_HEX];
    f->plan.requests.random.input.tokens = 3;
    f->plan.requests.count = 1;
    assert_true(request_set_load(&f->set, &f->plan, -1, &f->p));
    work_digest(&f->plan, &f->set, one);
    int64_t *ids;
    assert_int_equal(ids_of(f, 0, &ids), 3);
    const char *line =
        arena_format(&f->arena,
                     "{\"api\":\"completions\",\"body\":{},\"forced\":false,\"max_tokens\":null,\"prompt\":"
                     "[%lld,%lld,%lld]}\n",
                     (long long)ids[0], (long long)ids[1], (long long)ids[2]);
    digest_bytes(span_of(line), other);
    assert_string_equal(one, other);
    f->plan.requests.random.seed = 1;
    request_set_done(&f->set);
    assert_true(request_set_load(&f->set, &f->plan, -1, &f->p));
    work_digest(&f->plan, &f->set, other);
    assert_string_not_equal(one, other);
}

/* ---- laws ---- */

static struct length_law drawn(struct fixture *f, const char *text, double *ret_mean, double *ret_sd,
                               int64_t *ret_least, int64_t *ret_most)
{
    enum { N = 20000 };
    const char *const *settings = length_law_settings(text, "requests.lengths", &f->arena);
    for (; *settings; settings++)
        assert_true(schema_set_argument(&plan_schema, &f->plan, *settings, &f->p));
    struct length_law law = length_law_of_output(&f->plan.requests.lengths);
    double sum = 0, squares = 0;
    *ret_least = INT64_MAX;
    *ret_most = 0;
    for (size_t i = 0; i < N; i++) {
        int64_t n = request_length(&f->plan.requests.lengths, i);
        sum += (double)n;
        squares += (double)n * (double)n;
        *ret_least = n < *ret_least ? n : *ret_least;
        *ret_most = n > *ret_most ? n : *ret_most;
    }
    *ret_mean = sum / N;
    *ret_sd = sqrt(squares / N - *ret_mean * *ret_mean);
    return law;
}

/* Within four standard errors of what the law says, from 20 000. */
static void lengths_follow_their_law(void **state)
{
    struct fixture *f = *state;
    double mean, sd;
    int64_t least, most;
    assert_int_equal(drawn(f, "512..2048", &mean, &sd, &least, &most).kind, LAW_UNIFORM);
    assert_int_equal(least, 512);
    assert_int_equal(most, 2048);
    assert_close(mean, 1280, 4 * 443.7 / sqrt(20000)); /* sd of 1537 equal steps: sqrt((1537^2 - 1) / 12) */
    assert_close(sd, 443.7, 4);
    assert_int_equal(drawn(f, "normal:1024,200", &mean, &sd, &least, &most).kind, LAW_NORMAL);
    assert_close(mean, 1024, 4 * 200 / sqrt(20000));
    assert_close(sd, 200, 4 * 200 / sqrt(40000));
    drawn(f, "normal:1024,200,900..1100", &mean, &sd, &least, &most);
    assert_int_equal(least, 900);
    assert_int_equal(most, 1100);
    drawn(f, "normal:100,200", &mean, &sd, &least, &most);
    assert_int_equal(least, 1);
    assert_int_equal(drawn(f, "lognormal:347,1", &mean, &sd, &least, &most).kind, LAW_LOGNORMAL);
    assert_close(mean, 347 * exp(0.5), 4 * 347 * sqrt((exp(1) - 1) * exp(1)) / sqrt(20000));
    drawn(f, "77", &mean, &sd, &least, &most);
    assert_int_equal(least, 77);
    assert_int_equal(most, 77);
}

/* Of seed 3, as forty lines of Python by docs/FORMAT.md give them, with its own log and exp. */
static void lengths_are_the_same_everywhere(void **state)
{
    struct fixture *f = *state;
    struct plan_lengths *out = &f->plan.requests.lengths;
    struct plan_random *in = &f->plan.requests.random;
    static const int64_t uniform[] = {1034, 1768, 1625, 1044, 1997, 1785},
                         normal[] = {691, 1155, 1162, 753, 1117, 1283}, lognormal[] = {233, 781, 411, 287, 404, 602};
    struct plan_lengths u = *out, n = *out;
    u.kind = LENGTH_UNIFORM;
    n.kind = LENGTH_NORMAL;
    u.seed = n.seed = in->seed = 3;
    u.min = 512;
    u.max = 2048;
    n.mean = 1024;
    n.sd = 200;
    n.max = 4096;
    in->input = (struct plan_input){
        .kind = INPUT_LOGNORMAL, .tokens = ABSENT_I64, .median = 347, .sigma = 1, .min = 1, .max = 2048};
    int64_t sums[3] = {0};
    for (size_t i = 0; i < 1000; i++) {
        int64_t of[] = {request_length(&u, i), request_length(&n, i), random_prompt_tokens(in, i)};
        assert_true(i >= 6 || (of[0] == uniform[i] && of[1] == normal[i] && of[2] == lognormal[i]));
        for (size_t k = 0; k < 3; k++)
            sums[k] += of[k];
    }
    assert_int_equal(sums[0], 1280482);
    assert_int_equal(sums[1], 1028584);
    assert_int_equal(sums[2], 502095);
}

static void a_law_reads_back_as_written(void **state)
{
    struct fixture *f = *state;
    static const char *const texts[] = {"1024",
                                        "512..2048",
                                        "normal:1024,200",
                                        "normal:1024,200,16..4096",
                                        "normal:1024,200,16..",
                                        "lognormal:347,1.5",
                                        "lognormal:347,1,1..2048"};
    double mean, sd;
    int64_t least, most;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct length_law law = drawn(f, texts[i], &mean, &sd, &least, &most);
        assert_string_equal(length_law_text(&law, &f->arena), texts[i]);
    }
    f->plan.requests.random.prefix_tokens = 16;
    assert_string_equal(random_prompts_name(&f->plan.requests, &f->arena),
                        "random 100 in (16 shared), lognormal:347,1,1..2048 out");
}

/* Lengths in and out of one seed have nothing to do with each other: |r| of 4000 pairs below 4 / sqrt(4000). */
static void input_and_output_are_drawn_apart(void **state)
{
    struct fixture *f = *state;
    struct plan_requests *q = &f->plan.requests;
    enum { N = 4000 };
    double xy = 0, xx = 0, yy = 0;
    q->random.input = (struct plan_input){.kind = INPUT_UNIFORM, .min = 1, .max = 2001, .tokens = ABSENT_I64};
    q->lengths.kind = LENGTH_UNIFORM;
    q->lengths.min = 1;
    q->lengths.max = 2001;
    for (size_t i = 0; i < N; i++) {
        double x = (double)random_prompt_tokens(&q->random, i) - 1001,
               y = (double)request_length(&q->lengths, i) - 1001;
        xy += x * y;
        xx += x * x;
        yy += y * y;
    }
    assert_true(fabs(xy / sqrt(xx * yy)) < 4 / sqrt(N));
}

/* ---- what a plan may say ---- */

static const char *faults(struct fixture *f)
{
    struct buf b = {0};
    problems_init(&f->p, &f->arena, NULL);
    random_prompts_check(&f->plan, &f->p);
    problems_print(&f->p, &b);
    const char *text = arena_text(&f->arena, buf_text(&b));
    buf_done(&b);
    return text;
}

static void faults_of_the_plan_are_named(void **state)
{
    struct fixture *f = *state;
    struct plan_requests *q = &f->plan.requests;
    assert_string_equal(faults(f), "");
    q->random.prefix_tokens = 100;
    assert_non_null(strstr(faults(f),
                           "requests.random.prefix_tokens: 100 tokens are shared, but the shortest prompt has "
                           "100."));
    q->random.prefix_tokens = 99;
    assert_string_equal(faults(f), "");
    q->api = API_CHAT;
    q->file = "x.jsonl";
    q->count = ABSENT_I64;
    q->random.input.kind = INPUT_NORMAL;
    const char *text = faults(f);
    assert_non_null(strstr(text, "requests.file: The plan has a file with requests and random prompts"));
    assert_non_null(strstr(text, "requests.api: Random prompts are token ids"));
    assert_non_null(strstr(text, "requests.count: Missing: random prompts need the number of requests (--count N)."));
    assert_non_null(strstr(text, "requests.random.input.mean: Missing: the kind normal needs the mean, in tokens."));
    assert_non_null(strstr(text, "requests.random.input.tokens: Not used with the kind normal."));
    q->random.input.kind = INPUT_NONE;
    assert_non_null(strstr(faults(f), "requests.random.prefix_tokens: Only random prompts have it."));
    q->file = NULL;
    assert_non_null(strstr(faults(f), "requests.file: Required, but missing"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_prompt_has_as_many_ids_as_asked),
        TEST(the_prefix_is_shared_and_nothing_else),
        TEST(ids_are_those_of_the_stated_generator),
        TEST(a_set_goes_on_behind_its_count),
        TEST(the_context_must_hold_them),
        TEST(the_work_is_the_ids),
        TEST(lengths_follow_their_law),
        TEST(lengths_are_the_same_everywhere),
        TEST(a_law_reads_back_as_written),
        TEST(input_and_output_are_drawn_apart),
        TEST(faults_of_the_plan_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
