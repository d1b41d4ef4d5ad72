/* Engines in containers: a stand-in for docker, whose daemon starts the engine outside jtok's process tree, and the
 * real podman where it can run. The image is the simulated engine, linked statically, and nothing else: tar c
 * sim-engine-static | podman import - NAME. Nothing comes from a network. */
#include "check.h"

#include <stdlib.h>
#include <sys/stat.h>
#include "base/clock.h"
#include "cli/exit.h"
#include "program/harness.h"

#define ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* The client, as far as jtok uses it. Its containers share the machine's folders, so that an image is but a name. */
static const char DOCKER[] =
    "#!/bin/bash\n"
    "cd \"$(dirname \"$0\")\"; echo \"$*\" >> asked\n"
    "case \"$1 $2\" in\n"
    "'image inspect') [ \"$3\" = sim ] || { echo \"Error: No such image: $3\" >&2; exit 1; }\n"
    "  echo '[{\"Id\":\"sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\",\"RepoDigests\":[],"
    "\"Config\":{\"Entrypoint\":null,\"Cmd\":null}}]'; exit;;\n"
    "'container inspect') exit 1;;\n"
    "'ps --all') exit;;\n"
    "'rm --force') [ -e box ] && kill -9 -$(cat box); rm -f box; exit;;\n"
    "esac\n"
    "[ $1 = run ] || exit 125; shift; E=(); P=\n"
    "while [[ $1 == --* ]]; do case $1 in\n"
    "  --env=*=*) E+=(\"${1#--env=}\");; --env=*) n=${1#--env=}; E+=(\"$n=${!n}\");;\n"
    "  --entrypoint=*) P=${1#--entrypoint=};;\n"
    "  esac; shift; done; shift\n"
    "printf '%s\\0' \"${E[@]}\" \"$P\" \"$@\" > ask.new; mv ask.new ask\n"
    "while [ ! -e box ]; do sleep 0.02; done\n"
    "tail -n +1 -f log & t=$!; trap 'kill $(cat box)' TERM\n"
    "while [ -e box ]; do sleep 0.05 & wait $!; done; kill $t\n";

/* Starts one container, and tells when it has ended. */
static const char DAEMON[] =
    "cd '%s'; touch log; while [ ! -e ask ]; do sleep 0.02; done\n"
    "xargs -0 setsid sh -c 'echo $$ > box.new; mv box.new box; exec env \"$@\"' sh < ask > log "
    "2>&1; rm -f box";

struct scene {
    struct life life;
    pid_t daemon;
    const char *plan, *path;
};

static void open_docker(struct scene *s)
{
    *s = (struct scene){0};
    struct life *l = &s->life;
    life_open(l);
    s->plan = life_plan(l, "", life_requests(l, ""));
    life_file(l, "docker", DOCKER);
    chmod(arena_format(&l->arena, "%s/docker", l->scratch), 0755);
    s->path = arena_format(&l->arena, "PATH=%s:%s", l->scratch, getenv("PATH"));
    const char *script = arena_format(&l->arena, DAEMON, l->scratch);
    s->daemon = fork();
    if (s->daemon == 0) {
        freopen("/dev/null", "w", stderr);
        execlp("sh", "sh", "-c", script, (char *)NULL);
        _exit(127);
    }
}

static void close_docker(struct scene *s)
{
    kill(s->daemon, SIGKILL);
    waitpid(s->daemon, NULL, 0);
    life_close(&s->life);
}

static const char *const in_docker[] = {"run",
                                        "--format",
                                        "none",
                                        "--set",
                                        "engine.container.image=sim",
                                        "--set",
                                        "engine.container.args=-e JTOK_SIM_STATE",
                                        NULL};

static const char *const *arguments(struct scene *s, const char *const *first)
{
    const char **all = arena_array(&s->life.arena, 32, sizeof *all);
    size_t n = 0;
    while (first[n]) {
        all[n] = first[n];
        n++;
    }
    all[n] = s->plan;
    return all;
}

static const struct rec_fact *fact(const struct records *r, const char *name)
{
    for (size_t i = 0; i < r->fact_count; i++)
        if (strcmp(r->facts[i].name, name) == 0)
            return &r->facts[i];
    return NULL;
}

static void check_life(struct life *l)
{
    static const char *const must_pass[] = {"foreign_process", "gpu_mismatch", "identity_wrong", "release_not_closed",
                                            "plan_mismatch"};
    struct result *x = life_result(l);
    for (size_t i = 0; i < sizeof must_pass / sizeof *must_pass; i++)
        for (size_t k = 0; k < x->check_count; k++)
            if (strcmp(check_code_names[x->checks[k].code], must_pass[i]) == 0 &&
                x->checks[k].outcome != CHECK_PASSED) {
                print_error("%s: %s\n", must_pass[i], x->checks[k].why);
                fail();
            }
    assert_int_equal(life_survivors(l), 0);
}

static void docker_a_whole_life(void **state)
{
    (void)state;
    struct scene s;
    open_docker(&s);
    life_run(&s.life, arguments(&s, in_docker), ARGS(s.path), 60);
    check_life(&s.life);
    struct records *r = life_records(&s.life);
    assert_int_equal(fact(r, "engine.outside")->outcome, CHECK_PASSED);
    assert_int_equal(fact(r, "preflight.container_image")->outcome, CHECK_PASSED);
    assert_int_equal(fact(r, "preflight.containers")->outcome, CHECK_PASSED);
    assert_int_equal(fact(r, "identity.image_digest")->outcome, CHECK_PASSED);
    close_docker(&s);
}

/* In whatever stage jtok is killed, the container goes as well. */
static void docker_killed(void **state)
{
    (void)state;
    static const char *const stages[] = {"starting", "formal"};
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        struct scene s;
        open_docker(&s);
        life_start(&s.life, arguments(&s, in_docker), ARGS(s.path));
        char box[300];
        snprintf(box, sizeof box, "%s/box", s.life.scratch);
        for (int k = 0; k < 1000 && access(box, F_OK) != 0; k++)
            clock_sleep_until_ns(clock_now_ns() + 20000000);
        assert_int_equal(access(box, F_OK), 0);
        clock_sleep_until_ns(clock_now_ns() + (i ? 1200000000 : 0));
        life_signal(&s.life, SIGKILL);
        life_wait(&s.life, 10);
        for (int k = 0; k < 500 && life_survivors(&s.life); k++)
            clock_sleep_until_ns(clock_now_ns() + 20000000);
        assert_int_equal(life_survivors(&s.life), 0);
        close_docker(&s);
    }
}

static void an_image_that_is_not_here(void **state)
{
    (void)state;
    struct scene s;
    open_docker(&s);
    life_run(&s.life, arguments(&s, ARGS("run", "-q", "--set", "engine.container.image=other")), ARGS(s.path), 30);
    assert_int_equal(s.life.code, EXIT_ENGINE);
    assert_string_equal(s.life.err,
                        "jtok: The image other is not on this machine, and nothing is downloaded while something is "
                        "measured. Get it with \"docker pull other\", then start again.\n");
    close_docker(&s);
}

/* ---- podman ---- */

/* An image of the engine alone, and options under which this machine's podman runs one; false: it can't. */
static bool has_podman(struct life *l, const char *image)
{
    life_file(l, "containers.conf",
              "[engine]\nruntime=\"runc\"\n[containers]\n"
              "default_ulimits=[\"nofile=4096:4096\",\"nproc=1000:1000\"]\n");
    setenv("CONTAINERS_CONF", arena_format(&l->arena, "%s/containers.conf", l->scratch), 1);
    return system(arena_format(&l->arena,
                               "command -v podman >/dev/null && tar c -C " JTOK_BIN " sim-engine-static 2>/dev/null | "
                               "timeout 30 podman import - %s >/dev/null 2>&1 && "
                               "timeout 30 podman run --rm --network=host --entrypoint=/sim-engine-static %s --version "
                               ">/dev/null 2>&1; [ $? -ne 125 -a $? -ne 127 ]",
                               image, image)) == 0;
}

static void podman_ways(bool kill_it)
{
    struct scene s = {0};
    struct life *l = &s.life;
    life_open(l);
    const char *image = arena_format(&l->arena, "jtok-test-%d", (int)getpid());
    if (!has_podman(l, image)) {
        print_message("skipped: podman does not run a container here\n");
        life_close(l);
        return;
    }
    s.plan = life_plan(l, "", life_requests(l, ""));
    const char *args =
        arena_format(&l->arena, "engine.container.args=--pid=host -v %s:%s -e JTOK_SIM_STATE", l->scratch, l->scratch);
    const char *const options[] = {"run",
                                   "--format",
                                   "none",
                                   "--set",
                                   arena_format(&l->arena, "engine.container.image=%s", image),
                                   "--set",
                                   "engine.container.runtime=podman",
                                   "--set",
                                   args,
                                   "--set",
                                   "engine.command=/sim-engine-static serve simulated/model --sim-start-s 0.5",
                                   NULL};
    life_start(l, arguments(&s, options), NULL);
    if (kill_it) {
        life_wait_for(l, "start", 40);
        clock_sleep_until_ns(clock_now_ns() + 1500000000);
        life_signal(l, SIGKILL);
    }
    life_wait(l, 90);
    for (int k = 0; k < 1000 && life_survivors(l); k++)
        clock_sleep_until_ns(clock_now_ns() + 20000000);
    assert_int_equal(life_survivors(l), 0);
    if (!kill_it)
        check_life(l);
    clock_sleep_until_ns(clock_now_ns() + 2000000000); /* the removal */
    assert_int_equal(system("[ -z \"$(podman ps --all --quiet --filter label=jtok.owner)\" ]"), 0);
    assert_int_equal(system(arena_format(&l->arena, "timeout 30 podman rmi --force %s >/dev/null 2>&1", image)), 0);
    life_close(l);
}

static void podman_a_whole_life(void **state)
{
    (void)state;
    podman_ways(false);
}

static void podman_killed(void **state)
{
    (void)state;
    podman_ways(true);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(docker_a_whole_life),
        cmocka_unit_test(docker_killed),
        cmocka_unit_test(an_image_that_is_not_here),
        cmocka_unit_test(podman_a_whole_life),
        cmocka_unit_test(podman_killed),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
