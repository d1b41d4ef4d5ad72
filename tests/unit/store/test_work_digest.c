/* The digest of what was asked. The right hashes are those of a Python program that builds the requests by hand,
 * without a file, a plan or any code of jtok (docs/FORMAT.md). */
#include "check.h"
#include <math.h>
#include <stdlib.h>
#include <unistd.h>
#include "store/work_digest.h"

static const char plain_sha256[] = "4942289417387d31bff8640660740b70a5588f298ed4d071b1f94d6857effc57";
static const char rich_sha256[] = "e881314cbd723370ca4860482b340f289591b39cac82da52405d24d25ab077d2";
static const char odd_sha256[] = "7f4f8fd6637f16b146534d30796dc5e27726dcbd5b81a411e54b25a6541d4376";
static const char parts_sha256[] = "86cae5d5de371c848bd17a37e0e3d50bc469fe9c527da0e0c8bf712680a56223";

struct asked {
    struct arena arena;
    struct plan plan;
    struct request_set set;
    char digest[DIGEST_HEX];
};

static void ask_with(struct asked *a, const struct plan *plan, const char *lines)
{
    char file[] = "/tmp/jtok_work_XXXXXX";
    int fd = mkstemp(file);
    struct problems p;
    struct buf printed = {0};

    *a = (struct asked){.plan = *plan};
    problems_init(&p, &a->arena, NULL);
    assert_int_equal(write(fd, lines, strlen(lines)), (ssize_t)strlen(lines));
    close(fd);
    a->plan.requests.file = file;
    bool good = request_set_load(&a->set, &a->plan, -1, &p);
    problems_print(&p, &printed);
    if (!good)
        fail_msg("%s", buf_text(&printed));
    buf_done(&printed);
    unlink(file);
    work_digest(&a->plan, &a->set, a->digest);
}

static void done(struct asked *a)
{
    request_set_done(&a->set);
    arena_done(&a->arena);
}

static void digest_is(const struct plan *plan, const char *lines, const char *sha256, bool equal)
{
    struct asked a;

    ask_with(&a, plan, lines);
    if ((strcmp(a.digest, sha256) == 0) != equal) {
        struct buf b = {0};
        for (size_t i = 0; i < a.set.count; i++)
            work_line(&a.plan, &a.set, i, &b);
        print_error("%s\ngives %s:\n%s", lines, a.digest, buf_text(&b));
        buf_done(&b);
        fail();
    }
    done(&a);
}

static struct plan plan_of(void)
{
    struct plan p;

    plan_defaults(&p);
    return p;
}

/* ---- how a set is packed does not matter ---- */

static void packing_does_not_matter(void **state)
{
    static const char *const packings[] = {
        "{\"prompt\":\"Hello\"}",
        "{\"prompt\":\"Hello\"}\n",
        "\xef\xbb\xbf\n \n{\"prompt\" : \"Hello\" }\r\n\n",
        "{\"prompt\":\"\\u0048ello\"}\n",
        "{\"uid\":7,\"prompt\":\"Hello\",\"note\":[1,2],\"model\":\"x\",\"stream\":true,\"stop\":null}\n",
        "{\"messages\":[{\"role\":\"user\",\"content\":\"Hello\"}]}\n",
        "{\"messages\":[ {\"content\":\"He\\u006clo\",\t\"role\":\"user\"} ]}\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof packings / sizeof *packings; i++) {
        struct plan p = plan_of();
        digest_is(&p, packings[i], plain_sha256, true);
    }
}

/* Nor what an engine is called and how it is asked for its stream. */
static void the_engine_does_not_matter(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        struct plan p = plan_of();
        p.engine.kind = i == 0 ? ENGINE_OPENAI : ENGINE_VLLM;
        p.engine.served_model = i == 1 ? "a" : "b";
        p.requests.continuous_usage = i == 2;
        p.requests.connect = i == 3 ? CONNECT_WITH_REQUEST : CONNECT_AHEAD;
        p.requests.lengths.kind = i == 4 ? LENGTH_NATURAL : LENGTH_LINES;
        digest_is(&p, "{\"prompt\":\"Hello\"}", plain_sha256, true);
    }
}

static struct plan rich_plan(void)
{
    struct plan p = plan_of();

    p.requests.temperature = 0;
    p.requests.top_p = 0.9;
    p.requests.seed = 7;
    p.requests.extra_body = "{\"top_k\": 20.0, \"chat_template_kwargs\": {\"enable_thinking\": false}}";
    p.requests.lengths.ignore_eos = true;
    return p;
}

#define RICH_LINES                                                                                                     \
    "{\"prompt\":\"a\xc3\xa4\\ud83d\\ude00\\n\x7f\",\"max_tokens\":347}\n{\"output_length\":12,\"prompt\":\"b\"}\n"

/* Where a value comes from does not matter: the plan's own key, its extra_body, the line, drawn lengths. */
static void sources_do_not_matter(void **state)
{
    (void)state;
    struct plan p = rich_plan();
    digest_is(&p, RICH_LINES, rich_sha256, true);

    p.requests.temperature = 5; /* extra_body wins, as in what is sent */
    p.requests.top_p = NAN;
    p.requests.seed = ABSENT_I64;
    p.requests.extra_body = "{\"seed\":7,\"temperature\":0.0,\"top_p\":9e-1,\"top_k\":1,\"top_k\":20,"
                            "\"chat_template_kwargs\":{\"enable_thinking\":true,\"enable_thinking\":false}}";
    digest_is(&p, RICH_LINES, rich_sha256, true);

    p = rich_plan();
    p.requests.temperature = p.requests.top_p = NAN;
    p.requests.extra_body = NULL;
    digest_is(&p,
              "{\"prompt\":\"a\xc3\xa4\\ud83d\\ude00\\n\x7f\",\"max_tokens\":347,\"temperature\":0,\"top_p\":0.9,\"top_"
              "k\":20,"
              "\"seed\":99,\"chat_template_kwargs\":{\"enable_thinking\":false}}\n"
              "{\"chat_template_kwargs\":{\"enable_thinking\":false},\"top_p\":0.90,\"top_k\":20,\"temperature\":-0,"
              "\"output_tokens\":12,\"messages\":[{\"content\":\"b\",\"role\":\"user\"}]}\n",
              rich_sha256, true);
}

/* The bytes themselves. */
static void lines_are_as_documented(void **state)
{
    struct asked a;
    struct buf b = {0};

    (void)state;
    struct plan p = rich_plan();
    ask_with(&a, &p, RICH_LINES);
    work_line(&a.plan, &a.set, 0, &b);
    work_line(&a.plan, &a.set, 1, &b);
    assert_string_equal(
        buf_text(&b),
        "{\"api\":\"chat\",\"body\":{\"chat_template_kwargs\":{\"enable_thinking\":false},\"seed\":7,\"temperature\":0,"
        "\"top_k\":20,\"top_p\":0.9},\"forced\":true,\"max_tokens\":347,\"messages\":[{\"content\":"
        "\"a\xc3\xa4\xf0\x9f\x98"
        "\x80\\n\x7f\",\"role\":\"user\"}]}\n"
        "{\"api\":\"chat\",\"body\":{\"chat_template_kwargs\":{\"enable_thinking\":false},\"seed\":7,\"temperature\":0,"
        "\"top_k\":20,\"top_p\":0.9},\"forced\":true,\"max_tokens\":12,\"messages\":[{\"content\":\"b\",\"role\":"
        "\"user\"}]}\n");
    char sha256[DIGEST_HEX];
    digest_bytes(buf_span(&b), sha256);
    assert_string_equal(sha256, a.digest);
    buf_done(&b);
    done(&a);

    p = plan_of();
    p.requests.api = API_COMPLETIONS;
    digest_is(&p,
              "{\"prompt\":\"p\\u0000q\\\"\\\\\\/\",\"max_tokens\":9,\"stop\":[\"x\",1e22,0.1,-0.0,5.0,1e-5,"
              "12345678901234567890,9007199254740993]}",
              odd_sha256, true);
    p = plan_of();
    p.requests.count = 3;
    digest_is(&p,
              "{\"messages\":[{\"role\":\"user\",\"content\":[{\"text\":\"x\",\"type\":\"text\"}]},"
              "{\"tool_calls\":[],\"content\":null,\"role\":\"assistant\"}]}",
              parts_sha256, true);
}

/* ---- all else does ---- */

static void differences_are_seen(void **state)
{
    static const char *const lines[] = {
        "{\"prompt\":\"Hello \"}",
        "{\"prompt\":\"hello\"}",
        "{\"prompt\":\"Hello\"}\n{\"prompt\":\"Hello\"}",
        "{\"prompt\":\"Hello\",\"max_tokens\":5}",
        "{\"prompt\":\"Hello\",\"temperature\":0}",
        "{\"prompt\":\"Hello\",\"tools\":[]}",
        "{\"messages\":[{\"role\":\"system\",\"content\":\"Hello\"}]}",
        "{\"messages\":[{\"role\":\"user\",\"content\":\"Hello\",\"name\":\"x\"}]}",
        "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Hello\"}]}]}",
        "{\"messages\":[{\"role\":\"user\",\"content\":\"Hello\"},{\"role\":\"user\",\"content\":\"Hello\"}]}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct plan p = plan_of();
        digest_is(&p, lines[i], plain_sha256, false);
    }
    for (int i = 0; i < 7; i++) {
        struct plan p = rich_plan();
        struct plan_requests *r = &p.requests;
        r->temperature = i == 0 ? 0.1 : 0;
        r->top_p = i == 1 ? NAN : 0.9;
        r->seed = i == 2 ? 8 : 7;
        r->extra_body = i == 3 ? "{\"top_k\":20,\"chat_template_kwargs\":{\"enable_thinking\":true}}" : r->extra_body;
        r->lengths.ignore_eos = i != 4;
        r->api = i == 5 ? API_COMPLETIONS : API_CHAT;
        r->count = i == 6 ? 3 : ABSENT_I64;
        digest_is(&p, RICH_LINES, rich_sha256, false);
    }
    struct plan p = rich_plan(); /* the order of the requests */
    digest_is(
        &p,
        "{\"output_length\":12,\"prompt\":\"b\"}\n{\"prompt\":\"a\xc3\xa4\\ud83d\\ude00\\n\x7f\",\"max_tokens\":347}\n",
        rich_sha256, false);
}

/* A count above the file's is the same work as the lines written out; drawn lengths as the lengths written out. */
static void repeating_is_writing_out(void **state)
{
    struct asked a, b;

    (void)state;
    struct plan p = plan_of();
    p.requests.count = 5;
    ask_with(&a, &p, "{\"prompt\":\"a\"}\n{\"prompt\":\"b\"}\n");
    p.requests.count = ABSENT_I64;
    ask_with(&b, &p,
             "{\"prompt\":\"a\"}\n{\"prompt\":\"b\"}\n{\"prompt\":\"a\"}\n{\"prompt\":\"b\"}\n{\"prompt\":\"a\"}\n");
    assert_string_equal(a.digest, b.digest);
    done(&a);
    done(&b);

    p.requests.lengths = (struct plan_lengths){
        .kind = LENGTH_LOGNORMAL, .tokens = ABSENT_I64, .median = 400, .sigma = 0.8, .min = 16, .max = 2048, .seed = 7};
    ask_with(&a, &p, "{\"prompt\":\"a\"}\n{\"prompt\":\"b\"}\n");
    p.requests.lengths = plan_of().requests.lengths;
    ask_with(&b, &p, "{\"prompt\":\"a\",\"max_tokens\":181}\n{\"prompt\":\"b\",\"max_tokens\":121}\n");
    assert_string_equal(a.digest, b.digest);
    done(&a);
    done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packing_does_not_matter), cmocka_unit_test(the_engine_does_not_matter),
        cmocka_unit_test(sources_do_not_matter),   cmocka_unit_test(lines_are_as_documented),
        cmocka_unit_test(differences_are_seen),    cmocka_unit_test(repeating_is_writing_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
