/* What a container's runtime is asked, with a stand-in for its program. */
#include "check.h"

#include <stdlib.h>
#include <sys/stat.h>
#include "run/container.h"

#define ID_1 "1111111111111111111111111111111111111111111111111111111111111111"
#define ID_2 "2222222222222222222222222222222222222222222222222222222222222222"

struct scene {
    struct arena a;
    struct preflight f;
    struct plan plan;
    char folder[64];
};

static void open_scene(struct scene *s, const char *script)
{
    *s = (struct scene){0};
    snprintf(s->folder, sizeof s->folder, "/tmp/jtok-runtime-XXXXXX");
    assert_non_null(mkdtemp(s->folder));
    const char *program = arena_format(&s->a, "%s/docker", s->folder);
    FILE *f = fopen(program, "we");
    assert_non_null(f);
    fprintf(f, "#!/bin/sh\n%s\n", script);
    fclose(f);
    chmod(program, 0755);
    preflight_init(&s->f, &s->a);
    plan_defaults(&s->plan);
    const char **words = arena_array(&s->a, 6, sizeof *words);
    words[0] = program;
    words[1] = "run";
    words[2] = "img";
    words[3] = "serve";
    s->plan.engine.command = words;
    s->plan.engine.command_count = 4;
}

static void close_scene(struct scene *s)
{
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", s->folder);
    assert_int_equal(system(command), 0);
    preflight_done(&s->f);
    arena_done(&s->a);
}

static const char *seen(const struct scene *s, const char *name, enum check_outcome outcome)
{
    for (size_t i = 0; i < s->f.fact_count; i++)
        if (strcmp(s->f.facts[i].name, name) == 0) {
            assert_int_equal(s->f.facts[i].outcome, outcome);
            return s->f.facts[i].seen;
        }
    return "";
}

#define INSPECTED "echo '[{\"Id\":\"sha256:" ID_1 "\",\"RepoDigests\":[],\"Config\":{}}]'"

static void an_image_is_pinned_and_named(void **state)
{
    (void)state;
    struct scene s;
    struct err e = {0};
    open_scene(&s, "case $1 in image) " INSPECTED ";; ps) ;; *) exit 1;; esac");
    assert_ok(container_resolve(&s.f, &s.plan, &e), e);
    assert_string_equal(s.plan.engine.container.image_id, "sha256:" ID_1);
    assert_string_equal(s.plan.engine.image_digest, "sha256:" ID_1);
    assert_int_equal(strncmp(s.plan.engine.container.name, "jtok-", 5), 0);
    assert_string_equal(seen(&s, "preflight.containers", CHECK_PASSED), "none");
    close_scene(&s);
}

static void what_the_runtime_refuses(void **state)
{
    (void)state;
    static const struct {
        const char *script, *says;
    } cases[] = {
        {"echo 'Error response from daemon: No such image: img' >&2; exit 1", "docker pull img\""},
        {"echo 'Error: img: image not known' >&2; exit 125", "docker pull img\""},
        {"echo 'permission denied while trying to connect to the Docker daemon socket' >&2; exit 1", "may not be used"},
        {"echo 'Cannot connect to the Docker daemon' >&2; exit 1", "Cannot connect to the Docker daemon. Check"},
        {"exit 3", "it ended without a word"},
        {"echo nonsense", "is not understood"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scene s;
        struct err e = {0};
        open_scene(&s, cases[i].script);
        assert_false(container_resolve(&s.f, &s.plan, &e));
        if (!strstr(e.text, cases[i].says))
            print_error("%s\n", e.text);
        assert_non_null(strstr(e.text, cases[i].says));
        assert_int_equal(e.kind, ERR_ENGINE);
        close_scene(&s);
    }
}

static void a_name_that_is_taken(void **state)
{
    (void)state;
    struct scene s;
    struct err e = {0};
    open_scene(&s, INSPECTED);
    s.plan.engine.command[4] = "x";
    s.plan.engine.command = (const char *[]){s.plan.engine.command[0], "run", "--name", "mine", "img", "serve"};
    s.plan.engine.command_count = 6;
    assert_false(container_resolve(&s.f, &s.plan, &e));
    assert_int_equal(e.kind, ERR_BUSY);
    assert_non_null(strstr(e.text, "A container named mine exists already."));
    close_scene(&s);
}

/* Of a jtok that is no more; another's label is not looked at. */
static void leftovers_are_named(void **state)
{
    (void)state;
    struct scene s;
    struct err e = {0};
    open_scene(&s, "case $1 in image) " INSPECTED ";; ps) echo 'one a=b,jtok.owner=2147483600,c=d'; "
                   "echo 'two map[jtok.owner:2147483601]';; *) exit 1;; esac");
    assert_ok(container_resolve(&s.f, &s.plan, &e), e);
    const char *text = seen(&s, "preflight.containers", CHECK_FAILED);
    assert_int_equal(strncmp(text, "one two. Remove with \"", 22), 0);
    assert_non_null(strstr(text, "docker rm --force one two\""));
    close_scene(&s);
}

static void who_stands_in_front(void **state)
{
    (void)state;
    static const char *const cases[][2] = {{"docker-proxy", "docker"}, {"conmon", "podman"},
                                           {"rootlessport", "podman"}, {"rootlessport-ch", "podman"},
                                           {"pasta.avx2", "podman"},   {"slirp4netns", "podman"},
                                           {"python3", NULL},          {"nginx", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *runtime = container_proxy_runtime(cases[i][0]);
        assert_int_equal(runtime != NULL, cases[i][1] != NULL);
        if (runtime)
            assert_string_equal(runtime, cases[i][1]);
    }
    struct scene s;
    char id[CONTAINER_ID] = "";
    open_scene(&s, "echo '" ID_1 " 0.0.0.0:8000->80/tcp'; echo '" ID_2 " 0.0.0.0:9000->8000/tcp, :::9000->8000/tcp'");
    const char *program = s.plan.engine.command[0];
    assert_true(container_behind_port(program, 9000, &s.a, id));
    assert_string_equal(id, ID_2);
    assert_true(container_behind_port(program, 8000, &s.a, id)); /* outside, not 9000's inside */
    assert_string_equal(id, ID_1);
    assert_false(container_behind_port(program, 80, &s.a, id));
    assert_false(container_behind_port("/no/such/runtime", 8000, &s.a, id));
    close_scene(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_image_is_pinned_and_named), cmocka_unit_test(what_the_runtime_refuses),
        cmocka_unit_test(a_name_that_is_taken),         cmocka_unit_test(leftovers_are_named),
        cmocka_unit_test(who_stands_in_front),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
