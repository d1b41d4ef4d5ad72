#include "check.h"
#include <stdlib.h>
#include "store/secrets.h"

static void names(void **state)
{
    static const char *const secret[] = {"HF_TOKEN",
                                         "OPENAI_API_KEY",
                                         "--api-key",
                                         "--hf-token",
                                         "AWS_SECRET_ACCESS_KEY",
                                         "db.password",
                                         "APIKEY",
                                         "MyAuthToken",
                                         "GOOGLE_APPLICATION_CREDENTIALS",
                                         "MYSQL_PASSWD",
                                         "--ssl-keyfile-password",
                                         "MYSQL_PWD",
                                         "db_pass",
                                         "--http-cookie",
                                         "GITHUB_PAT",
                                         "PROXY_AUTHORIZATION"};
    static const char *const plain[] = {"TOKENIZERS_PARALLELISM",
                                        "--max-tokens",
                                        "--tokenizer",
                                        "PATH",
                                        "--max-num-batched-tokens",
                                        "KEYBOARD",
                                        "--keyfile",
                                        "",
                                        "_",
                                        "PWD",
                                        "OLDPWD",
                                        "TIKTOKEN_CACHE_DIR",
                                        "COMPASS_DIR",
                                        "PATH_PATTERN",
                                        "HOME"};

    (void)state;
    for (size_t i = 0; i < sizeof secret / sizeof *secret; i++)
        assert_true(secrets_is_name(span_of(secret[i])));
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        assert_false(secrets_is_name(span_of(plain[i])));
}

static void replaced(struct secrets *s, const char *text, const char *right, size_t places)
{
    struct buf b = {0};

    assert_int_equal(secrets_replace(s, span_of(text), &b), places);
    assert_string_equal(buf_text(&b), right);
    buf_done(&b);
}

static void values_are_replaced(void **state)
{
    struct secrets s = {0};

    (void)state;
    replaced(&s, "nothing is secret", "nothing is secret", 0);
    secrets_add(&s, "HF_TOKEN", span_of("hf_abcdef"));
    secrets_add(&s, "LONG", span_of("hf_abcdefghi"));
    replaced(&s, "hf_abcdef", "[secret:HF_TOKEN]", 1);
    replaced(&s, "x=hf_abcdef;hf_abcdefhf_abcdef.", "x=[secret:HF_TOKEN];[secret:HF_TOKEN][secret:HF_TOKEN].", 3);
    replaced(&s, "hf_abcdefghi", "[secret:LONG]", 1); /* the longest */
    replaced(&s, "hf_abcde", "hf_abcde", 0);
    replaced(&s, "", "", 0);
    secrets_done(&s);
}

static void overlaps_leave_nothing(void **state)
{
    struct secrets s = {0};

    (void)state;
    secrets_add(&s, "A", span_of("abcdefgh"));
    secrets_add(&s, "B", span_of("efghijkl"));
    secrets_add(&s, "C", span_of("ijklmnop"));
    replaced(&s, "<abcdefghijklmnop>", "<[secret:A]>", 1);
    replaced(&s, "<abcdefghij>", "<[secret:A]ij>", 1);
    secrets_add(&s, "S", span_of("aaaaaa"));
    replaced(&s, "aaaaaaaa", "[secret:S]", 1); /* it overlaps itself */
    secrets_done(&s);
}

static void short_and_long_values(void **state)
{
    struct secrets s = {0};

    (void)state;
    secrets_add(&s, "KEY", span_of("12345"));
    assert_int_equal(s.short_values, 1);
    replaced(&s, "12345 stays", "12345 stays", 0);
    secrets_add(&s, "PEM_KEY", span_of("-----BEGIN\r\nMIIEabcd\nab\n"));
    assert_int_equal(s.short_values, 2);
    replaced(&s, "log: MIIEabcd", "log: [secret:PEM_KEY]", 1);
    secrets_add(&s, "PASSWORD", span_of("pa\"ss\\word"));
    replaced(&s, "{\"p\":\"pa\\\"ss\\\\word\"} pa\"ss\\word", "{\"p\":\"[secret:PASSWORD]\"} [secret:PASSWORD]", 2);
    secrets_done(&s);
}

static void plans_are_masked(void **state)
{
    const char *command[] = {"env",
                             "WANDB_API_KEY=wandb-key-1",
                             "vllm",
                             "serve",
                             "model",
                             "--api-key",
                             "sk-first-1",
                             "sk-other-2",
                             "--port",
                             "8000",
                             "--hf-token=hf_0123456",
                             "--max-tokens",
                             "77",
                             "--note",
                             "with sk-first-1 inside"};
    struct field_pair env[] = {{"HF_TOKEN", "hf_0123456"}, {"MY_KEY", "x"}, {"OTHER", "sk-other-2"}, {"PATH", "/bin"}};
    char token[] = "SERVICE_TOKEN=from-outside", home[] = "HOME=/root", empty[] = "EMPTY_KEY=";
    char *environment[] = {token, home, empty, NULL};
    struct secrets s = {0};
    struct arena a = {0};
    struct plan p, masked;
    size_t places = 0;

    (void)state;
    plan_defaults(&p);
    p.engine.command = command;
    p.engine.command_count = sizeof command / sizeof *command;
    p.engine.env = env;
    p.engine.env_count = sizeof env / sizeof *env;
    p.name = "uses from-outside";
    secrets_add_environ(&s, environment);
    secrets_add_plan(&s, &p);
    masked = secrets_mask_plan(&s, &p, &a, &places);
    assert_string_equal(masked.engine.command[1], "WANDB_API_KEY=[secret:WANDB_API_KEY]");
    assert_string_equal(masked.engine.command[4], "model");
    assert_string_equal(masked.engine.command[6], "[secret:--api-key]");
    assert_string_equal(masked.engine.command[7], "[secret:--api-key]");
    assert_string_equal(masked.engine.command[9], "8000");
    assert_string_equal(masked.engine.command[10], "--hf-token=[secret:--hf-token]");
    assert_string_equal(masked.engine.command[12], "77");
    assert_string_equal(masked.engine.command[14], "with [secret:--api-key] inside");
    assert_string_equal(masked.engine.env[0].value, "[secret:HF_TOKEN]");
    assert_string_equal(masked.engine.env[1].value, "[secret:MY_KEY]"); /* by place, though short */
    assert_string_equal(masked.engine.env[2].value, "[secret:--api-key]");
    assert_string_equal(masked.engine.env[3].value, "/bin");
    assert_string_equal(masked.name, "uses [secret:SERVICE_TOKEN]");
    assert_int_equal(places, 9);
    assert_string_equal(command[6], "sk-first-1"); /* the plan itself stays */
    assert_string_equal(env[0].value, "hf_0123456");
    secrets_done(&s);
    arena_done(&a);
}

static void a_command_of_stat_is_masked(void **state)
{
    (void)state;
    const char *command[] = {"env", "MY_TOKEN=abc", "./a.out", "--api-key", "sk-first-1", "--n=sk-first-1", NULL};
    struct secrets s = {0};
    struct arena a = {0};
    struct plan p;
    size_t places = 0;
    plan_defaults(&p);
    p.stat.command = command;
    p.stat.command_count = 6;
    secrets_add_plan(&s, &p);
    const struct plan masked = secrets_mask_plan(&s, &p, &a, &places);
    assert_string_equal(masked.stat.command[1], "MY_TOKEN=[secret:MY_TOKEN]"); /* by place, though short */
    assert_string_equal(masked.stat.command[2], "./a.out");
    assert_string_equal(masked.stat.command[4], "[secret:--api-key]");
    assert_string_equal(masked.stat.command[5], "--n=[secret:--api-key]");
    assert_int_equal(places, 3);
    assert_string_equal(command[4], "sk-first-1");
    secrets_done(&s);
    arena_done(&a);
}

/* What a shell is given as one word holds the same secrets. */
static void texts_of_a_shell_are_masked(void **state)
{
    static const struct {
        const char *text, *right;
    } cases[] = {
        {"HF_TOKEN=hf_012345 vllm serve m", "HF_TOKEN=[secret:HF_TOKEN] vllm serve m"},
        {"export HF_TOKEN='hf_012345'; vllm serve m", "export HF_TOKEN='[secret:HF_TOKEN]'; vllm serve m"},
        {"vllm serve m --api-key sk-012345 --port 1", "vllm serve m --api-key [secret:--api-key] --port 1"},
        {"vllm serve m --api-key=sk-012345", "vllm serve m --api-key=[secret:--api-key]"},
        {"vllm serve m --max-tokens 123456", "vllm serve m --max-tokens 123456"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct secrets s = {0};
        struct arena a = {0};
        struct plan p;
        size_t places = 0;
        const char *command[] = {"bash", "-c", cases[i].text};
        plan_defaults(&p);
        p.engine.command = command;
        p.engine.command_count = 3;
        secrets_add_plan(&s, &p);
        assert_string_equal(secrets_mask_plan(&s, &p, &a, &places).engine.command[2], cases[i].right);
        secrets_done(&s);
        arena_done(&a);
    }
}

/* Whatever a variable is called, and in a command: the password of a URL. */
static void passwords_in_urls(void **state)
{
    static const struct {
        const char *variable, *text, *right;
    } cases[] = {
        {"PIP_INDEX_URL=https://bob:s3cr3tpass@pypi.example/simple", "see s3cr3tpass", "see [secret:PIP_INDEX_URL]"},
        {"A=x, postgresql://u:p@ss:word@h:5432/db", "p@ss:word", "[secret:A]"},
        {"A=http://plain:8080/a@bcdef:ghijkl http://u:secondone@h", "plain ghijkl secondone",
         "plain ghijkl [secret:A]"},
        {"A=https://ghp_0123456789abcdefghij@github.com/x", "ghp_0123456789abcdefghij", "[secret:A]"},
        {"A=ssh://deploy@host/", "deployment", "deployment"},
        {"A=https://bob:@host/://", "bob", "bob"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct secrets s = {0};
        char variable[128];
        char *environment[] = {variable, NULL};
        struct buf b = {0};
        snprintf(variable, sizeof variable, "%s", cases[i].variable);
        secrets_add_environ(&s, environment);
        secrets_replace(&s, span_of(cases[i].text), &b);
        assert_string_equal(buf_text(&b), cases[i].right);
        buf_done(&b);
        secrets_done(&s);
    }
    struct secrets s = {0};
    struct plan p;
    const char *command[] = {"serve", "--endpoint=http://u:elsewhere@h"};
    plan_defaults(&p);
    p.engine.command = command;
    p.engine.command_count = 2;
    secrets_add_plan(&s, &p);
    replaced(&s, command[1], "--endpoint=http://u:[secret:url]@h", 1);
    secrets_done(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(names),
                                       cmocka_unit_test(values_are_replaced),
                                       cmocka_unit_test(overlaps_leave_nothing),
                                       cmocka_unit_test(short_and_long_values),
                                       cmocka_unit_test(plans_are_masked),
                                       cmocka_unit_test(a_command_of_stat_is_masked),
                                       cmocka_unit_test(texts_of_a_shell_are_masked),
                                       cmocka_unit_test(passwords_in_urls)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
