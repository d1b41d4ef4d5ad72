/* What a run folder is worth without its seal, with other bytes than were sealed, with what is no file in it, and made
 * by an older version: through the program itself, each command under a limit of time, as a FIFO may hang it for good.
 */
#include "check.h"
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include "app/evaluate.h"
#include "cli/exit.h"
#include "run_folder.h"
#include "text/file_read.h"

struct bench {
    struct arena a;
    char root[64];
    const char *runs, *whole, *other; /* sealed, with results */
    struct buf out;                   /* of the last command, stdout and stderr */
};

enum { HANGS = 124 };

__attribute__((format(printf, 2, 3))) static int run(struct bench *b, const char *format, ...)
{
    va_list arguments;
    struct err e = {0};
    va_start(arguments, format);
    const char *command = arena_vformat(&b->a, format, arguments);
    va_end(arguments);
    const char *out = arena_format(&b->a, "%s/out", b->root);
    int status = system(arena_format(&b->a, "timeout 60 %s/jtok %s > %s 2>&1 < /dev/null", JTOK_BIN, command, out));
    buf_clear(&b->out);
    assert_ok(file_read(out, 0, &b->out, &e), e);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == HANGS)
        fail_msg("hangs: jtok %s", command);
    return WEXITSTATUS(status);
}

static bool says(struct bench *b, const char *part)
{
    return strstr(buf_text(&b->out), part) != NULL;
}

static void must_say(struct bench *b, const char *part)
{
    if (!says(b, part))
        fail_msg("\"%s\" is not in:\n%s", part, buf_text(&b->out));
}

__attribute__((format(printf, 2, 3))) static void shell(struct bench *b, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int code = system(arena_vformat(&b->a, format, arguments));
    va_end(arguments);
    assert_int_equal(code, 0);
}

static const char *make_run(struct bench *b, const char *label, int64_t day)
{
    struct err e = {0};
    struct records r = life_records(&b->a, 1);
    const char *folder = write_folder(&r, b->runs, label, LIFE_OFFSET_NS + day * 86400 * LIFE_S, &b->a);
    struct evaluation *v = arena_alloc(&b->a, sizeof *v);
    struct method m = method_default();
    assert_ok(archive_seal(folder, &e), e);
    assert_ok(evaluate_run(folder, &m, &b->a, v, &e), e);
    assert_ok(evaluate_store(folder, &v->result, &e), e);
    return folder;
}

static int setup(void **state)
{
    struct bench *b = calloc(1, sizeof *b);
    strcpy(b->root, "/tmp/jtok-seal-XXXXXX");
    assert_non_null(mkdtemp(b->root));
    b->runs = arena_format(&b->a, "%s/runs", b->root);
    b->whole = make_run(b, "whole", 0);
    b->other = make_run(b, "other", 1);
    *state = b;
    return 0;
}

static int teardown(void **state)
{
    struct bench *b = *state;
    shell(b, "rm -r %s", b->root);
    buf_done(&b->out);
    arena_done(&b->a);
    free(b);
    return 0;
}

static const char *copy_of(struct bench *b, const char *folder)
{
    shell(b, "rm -rf %s/copies; mkdir %s/copies; cp -a %s %s/copies/", b->root, b->root, folder, b->root);
    return arena_format(&b->a, "%s/copies/%s", b->root, archive_id(folder, &b->a));
}

/* ---- what is no file ---- */

enum thing { FIFO, SOCKET, FOLDER, DANGLING, LOOP, LINK, DEVICE, THINGS };

static void put_thing(struct bench *b, enum thing kind, const char *path)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int fd;
    switch (kind) {
    case FIFO:
        assert_int_equal(mkfifo(path, 0600), 0);
        return;
    case SOCKET:
        fd = socket(AF_UNIX, SOCK_STREAM, 0);
        snprintf(name.sun_path, sizeof name.sun_path, "%s/s", b->root);
        unlink(name.sun_path);
        assert_int_equal(bind(fd, (struct sockaddr *)&name, sizeof name), 0);
        assert_int_equal(rename(name.sun_path, path), 0);
        close(fd);
        return;
    case FOLDER:
        assert_int_equal(mkdir(path, 0700), 0);
        return;
    case DANGLING:
        assert_int_equal(symlink("/nowhere/at/all", path), 0);
        return;
    case LOOP:
        assert_int_equal(symlink(path, path), 0);
        return;
    case LINK:
        assert_int_equal(symlink(arena_format(&b->a, "%s/out", b->root), path), 0);
        return;
    case DEVICE:
        assert_int_equal(symlink("/dev/zero", path), 0);
        return;
    case THINGS:
        break;
    }
}

/* Every file of a run, replaced by everything that is no file: no command hangs, verify finds it, and no command prints
 * a number from a result or a seal that is none. */
static void what_is_no_file_is_refused(void **state)
{
    struct bench *b = *state;
    static const char *const names[] = {"plan.json",     "run.json",       "gpus.csv",      "marks.csv",
                                        "clock.csv",     "facts.csv",      "instant.csv",   "counter.csv",
                                        "gpu_state.csv", "requests.csv",   "metrics.csv",   "client.json",
                                        "processes.csv", "result.json",    "windows.csv",   "result_requests.csv",
                                        "SHA256SUMS",    "chunks.csv.zst", "buffer.csv.zst"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int kind = 0; kind < THINGS; kind++) {
            /* Of the records, a FIFO, a socket and a folder stand for the rest: each of them is opened in one place. */
            bool shown = strcmp(names[i], "result.json") == 0 || strcmp(names[i], "SHA256SUMS") == 0;
            if (!shown && kind > FOLDER && (i + (size_t)kind) % 4)
                continue;
            const char *copy = copy_of(b, b->whole), *path = arena_format(&b->a, "%s/%s", copy, names[i]);
            assert_int_equal(access(path, F_OK), 0);
            assert_int_equal(unlink(path), 0);
            put_thing(b, (enum thing)kind, path);
            int code = run(b, "verify %s", copy);
            if (code != EXIT_RECORDS)
                fail_msg("%s as thing %d: verify gives %d\n%s", names[i], kind, code, buf_text(&b->out));
            must_say(b, names[i]);
            run(b, "analyze %s", copy);
            const char *const readers[] = {
                arena_format(&b->a, "report %s", copy), arena_format(&b->a, "estimate %s -n 5", copy),
                arena_format(&b->a, "compare %s %s", copy, b->other), arena_format(&b->a, "rank %s", copy),
                arena_format(&b->a, "list %s/copies", b->root)};
            for (size_t k = 0; k < sizeof readers / sizeof *readers; k++) {
                code = run(b, "%s", readers[k]);
                if (shown && (k < 4 ? code != EXIT_RECORDS : says(b, " formal\n")))
                    fail_msg("%s as thing %d: jtok %s gives %d\n%s", names[i], kind, readers[k], code,
                             buf_text(&b->out));
            }
        }
}

/* Nothing but files is ever sealed. */
static void what_is_no_file_is_not_sealed(void **state)
{
    struct bench *b = *state;
    static const char *const names[] = {"chunks.csv", "engine.log", "marks.csv", "extra"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int kind = 0; kind < THINGS; kind++) {
            if (kind == FOLDER && i == 3)
                continue; /* the engine's own folders may stay */
            struct err e = {0};
            struct records r = life_records(&b->a, 1);
            const char *folder = write_folder(&r, arena_format(&b->a, "%s/unsealed", b->root), "x",
                                              LIFE_OFFSET_NS + (int64_t)(100 * i + (size_t)kind) * LIFE_S, &b->a);
            const char *path = arena_format(&b->a, "%s/%s", folder, names[i]);
            unlink(path);
            put_thing(b, (enum thing)kind, path);
            alarm(60);
            bool sealed = archive_seal(folder, &e);
            alarm(0);
            if (kind == FOLDER)
                continue; /* a missing file, and a folder that is none of the seal's business */
            assert_false(sealed);
            assert_int_equal(e.kind, ERR_RECORDS);
            assert_non_null(strstr(e.text, names[i]));
            assert_false(archive_is_sealed(folder));
        }
}

/* ---- other bytes than were sealed ---- */

/* Any byte of result.json changed, cut off or added: no command takes a number from it. */
static void a_changed_result_is_damaged(void **state)
{
    struct bench *b = *state;
    struct buf text = {0};
    struct err e = {0};
    const char *copy = copy_of(b, b->whole), *path = arena_format(&b->a, "%s/result.json", copy);
    assert_ok(file_read(path, 0, &text, &e), e);
    struct result *r = arena_alloc(&b->a, sizeof *r);
    assert_ok(evaluate_stored(copy, &b->a, r, &e), e);
    for (size_t at = 0; at <= text.n; at += at + 211 < text.n || at == text.n ? 211 : text.n - at) {
        for (int how = 0; how < 3; how++) {
            struct buf now = {0};
            buf_add(&now, text.p, how == 1 ? at : text.n);
            if (how == 0 && at < text.n)
                now.p[at] = now.p[at] == '0' ? '1' : '0';
            if (how == 2)
                buf_byte(&now, ' ');
            bool same = now.n == text.n && memcmp(now.p, text.p, text.n) == 0;
            unlink(path);
            assert_ok(file_write_new(path, buf_span(&now), &e), e);
            buf_done(&now);
            struct arena scratch = {0};
            bool stored = evaluate_stored(copy, &scratch, r, &e);
            arena_done(&scratch);
            assert_int_equal(stored, same);
            if (!same) {
                assert_int_equal(e.kind, ERR_RECORDS);
                assert_non_null(strstr(e.text, "is damaged: result.json differs from its hash"));
            }
        }
        if (at == text.n)
            break;
    }
    buf_done(&text);
    /* As a person would: 0.0001 J/token. */
    copy = copy_of(b, b->whole);
    shell(
        b,
        "sed -i 's/\\(\"formal_j_per_token\": {\\)/\\1/; 0,/\"value\": [0-9.e-]*/s//\"value\": 0.0001/' %s/result.json",
        copy);
    assert_int_equal(run(b, "report %s", copy), EXIT_RECORDS);
    must_say(b, "is damaged");
    assert_int_equal(run(b, "report -f json %s", copy), EXIT_RECORDS);
    assert_int_equal(run(b, "compare %s %s", copy, b->other), EXIT_RECORDS);
    assert_int_equal(run(b, "estimate %s -n 5", copy), EXIT_RECORDS);
    assert_int_equal(run(b, "rank %s", copy), EXIT_RECORDS);
    assert_int_equal(run(b, "list %s/copies", b->root), EXIT_OK);
    must_say(b, "damaged");
    assert_false(says(b, "formal\n"));
    assert_int_equal(run(b, "verify %s", copy), EXIT_RECORDS);
}

/* A second line of the seal does not make another result the right one. */
static void a_line_added_to_the_seal_proves_nothing(void **state)
{
    struct bench *b = *state;
    const char *copy = copy_of(b, b->whole);
    shell(b, "cd %s && echo >> result.json && sha256sum result.json >> SHA256SUMS", copy);
    assert_int_equal(run(b, "report %s", copy), EXIT_RECORDS);
    must_say(b, "is damaged");
    assert_int_equal(run(b, "verify %s", copy), EXIT_RECORDS);
}

/* Takes a file's hash anew into the seal, as a tool that sealed what it changed. */
static void seal_anew(struct bench *b, const char *folder, const char *name)
{
    shell(b, "cd %s && sed -i '/  %s$/d' SHA256SUMS && sha256sum %s >> SHA256SUMS", folder, name, name);
}

static void a_list_takes_names_and_marks_from_the_result(void **state)
{
    struct bench *b = *state;
    const char *copy = copy_of(b, b->whole);
    shell(b, "sed -i '/\"model\": {/,/}/s/\"id\": .*/\"id\": \"Liar\",/' %s/plan.json && grep -q Liar %s/plan.json",
          copy, copy);
    shell(b, "sed -i 's/_simulated\": true/_simulated\": false/' %s/run.json", copy);
    shell(b, "sed -i 's/\"simulated\": false/\"simulated\": true/' %s/result.json", copy);
    seal_anew(b, copy, "result.json");
    assert_int_equal(run(b, "list %s/copies", b->root), EXIT_OK);
    must_say(b, "SIMULATED");
    assert_false(says(b, "Liar"));
}

/* Sealed, and at odds with itself. */
static void a_result_that_contradicts_its_checks_is_not_used(void **state)
{
    struct bench *b = *state;
    const char *copy = copy_of(b, b->whole);
    shell(b, "sed -i '/\"checks\": /,$ {0,/\"outcome\": \"passed\"/s//\"outcome\": \"failed\"/}' %s/result.json", copy);
    seal_anew(b, copy, "result.json");
    assert_int_equal(run(b, "report %s", copy), EXIT_RECORDS);
    must_say(b, "it says formal, and a check in it says otherwise");
    assert_int_equal(run(b, "rank %s", copy), EXIT_RECORDS);
    assert_int_equal(run(b, "verify %s", copy), EXIT_RECORDS);
    copy = copy_of(b, b->whole);
    shell(b, "sed -i 's/\"formal\": true/\"formal\": false/' %s/result.json", copy);
    seal_anew(b, copy, "result.json");
    assert_int_equal(run(b, "report %s", copy), EXIT_RECORDS);
    must_say(b, "it says excluded, and no check in it does");
}

/* What every command would print instead of the run's own result is held against the records, too. */
static void a_later_result_is_verified_wherever_it_lies(void **state)
{
    struct bench *b = *state;
    const char *copy = copy_of(b, b->whole);
    shell(b, "cd %s && sed '0,/\"value\": [0-9.e-]*/s//\"value\": 0.0001/' result.json > result-jtok-2.json", copy);
    seal_anew(b, copy, "result-jtok-2.json");
    assert_int_equal(run(b, "verify %s", copy), EXIT_RECORDS);
    must_say(b, "DIFFERENT: result-jtok-2.json");
}

/* A file beyond all reason is refused by its size: neither read whole into memory nor hashed. */
static void a_file_beyond_all_reason_is_refused(void **state)
{
    struct bench *b = *state;
    static const char *const names[] = {"result.json", "plan.json", "run.json", "client.json", "instant.csv"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *copy = copy_of(b, b->whole);
        shell(b, "truncate -s 256G %s/%s", copy, names[i]);
        assert_int_equal(run(b, "list %s/copies", b->root), EXIT_OK);
        assert_int_equal(run(b, "compare %s %s", copy, b->other), i < 3 ? EXIT_RECORDS : EXIT_OK);
        assert_int_equal(run(b, "verify %s", copy), EXIT_RECORDS);
    }
}

/* Rows can't be held against a count that was taken out. */
static void a_count_that_was_taken_out_is_named(void **state)
{
    struct bench *b = *state;
    const char *copy = copy_of(b, b->whole);
    assert_int_equal(run(b, "verify %s", copy), EXIT_OK);
    shell(b, "sed -i 's/\"method_id\": .*/\"method_id\": \"jtok-2\",/' %s/run.json", copy);
    shell(b, "sed -i 's/\"file\": \"facts.csv\"/\"file\": \"other.csv\"/' %s/run.json", copy);
    seal_anew(b, copy, "run.json");
    assert_int_equal(run(b, "verify %s", copy), EXIT_RECORDS);
    must_say(b, "run.json does not say how many rows facts.csv has");
}

static void damaged_or_unsealed_power_is_not_drawn(void **state)
{
    struct bench *b = *state;
    const char *copy = copy_of(b, b->whole);
    assert_int_equal(run(b, "report -f svg %s", copy), EXIT_OK);
    shell(b, "tail -n 1 %s/instant.csv >> %s/instant.csv", copy, copy);
    assert_int_equal(run(b, "report -f svg %s", copy), EXIT_RECORDS);
    must_say(b, "is damaged");
    copy = copy_of(b, b->whole);
    shell(b, "rm %s/SHA256SUMS", copy);
    assert_int_equal(run(b, "report -f svg %s", copy), EXIT_RECORDS);
    must_say(b, "is not sealed");
    assert_int_equal(run(b, "report -f svg --unsealed %s", copy), EXIT_OK);
}

static void a_result_without_a_seal_proves_nothing(void **state)
{
    struct bench *b = *state;
    const char *copy = copy_of(b, b->whole);
    shell(b, "rm %s/SHA256SUMS", copy);
    assert_int_equal(run(b, "report %s", copy), EXIT_RECORDS);
    must_say(b, "is not sealed");
    assert_false(says(b, "FORMAL"));
    assert_int_equal(run(b, "compare %s %s", copy, b->other), EXIT_RECORDS);
    assert_int_equal(run(b, "estimate %s -n 5", copy), EXIT_RECORDS);
    assert_int_equal(run(b, "list %s/copies", b->root), EXIT_OK);
    must_say(b, "not sealed");
    assert_int_equal(run(b, "report --unsealed %s", copy), EXIT_OK);
    assert_true(strncmp(buf_text(&b->out), "NOT SEALED", 10) == 0);
    /* With a seal that does not name it, or one that is empty, it is no better. */
    shell(b, "touch %s/SHA256SUMS", copy);
    assert_int_equal(run(b, "report --unsealed %s", copy), EXIT_RECORDS);
    must_say(b, "it came after the seal");
}

/* ---- made by an older version ---- */

static const char *older_run(struct bench *b, const char *label)
{
    struct err e = {0};
    struct buf old = {0};
    struct records r = life_records(&b->a, 1);
    r.run.method_id = "jtok-1";
    const char *folder =
        write_folder(&r, arena_format(&b->a, "%s/old", b->root), label, LIFE_OFFSET_NS + 5 * LIFE_S, &b->a);
    assert_ok(archive_seal(folder, &e), e);
    /* A real result of jtok-1: 21 checks, 9 marks, doubts by their old names. */
    assert_ok(file_read(JTOK_SOURCE "/tests/cli/result-jtok-1.json", 0, &old, &e), e);
    assert_ok(archive_add(folder, "result.json", buf_span(&old), &e), e);
    buf_done(&old);
    return folder;
}

static void an_older_result_is_read_by_names(void **state)
{
    struct bench *b = *state;
    struct err e = {0};
    struct result r;
    const char *folder = older_run(b, "read");
    assert_ok(evaluate_stored(folder, &b->a, &r, &e), e);
    assert_true(result_is_older(&r));
    assert_int_equal(r.check_count, CODE_COUNT);
    assert_int_equal(r.flag_count, FLAG_COUNT);
    for (int i = 0; i < CODE_COUNT; i++) {
        bool newer = i == CODE_IDENTITY_UNKNOWN || i == CODE_GRID_DISAGREES;
        assert_int_equal(r.checks[i].code, i);
        assert_int_equal(r.checks[i].outcome == CHECK_NOT_CHECKED, newer);
        assert_non_null(r.checks[i].why);
    }
    for (int i = 0; i < FLAG_COUNT; i++)
        assert_int_equal(r.flags[i].code, i);
    assert_int_equal(r.flags[FLAG_SAMPLER_LATE].outcome, CHECK_PASSED);
    assert_int_equal(r.flags[FLAG_NO_BUFFER].outcome, CHECK_NOT_CHECKED);
    assert_true(r.metrics.formal_j_per_token.instrument > 0 && r.metrics.formal_j_per_token.calibration > 0);
    assert_int_equal(run(b, "report %s", folder), EXIT_OK);
    must_say(b, "It is jtok-1's; ");
}

/* Hashes and records decide; what another version made of them is told beside. */
static void an_older_run_verifies(void **state)
{
    struct bench *b = *state;
    const char *folder = older_run(b, "verify");
    assert_int_equal(run(b, "verify %s", folder), EXIT_OK);
    must_say(b, "result   evaluated under jtok-1");
    assert_false(says(b, "DIFFERENT"));
    shell(b, "echo >> %s/facts.csv", folder);
    assert_int_equal(run(b, "verify %s", folder), EXIT_RECORDS);
}

static void a_new_evaluation_goes_beside_the_old(void **state)
{
    struct bench *b = *state;
    const char *folder = older_run(b, "store");
    assert_int_equal(run(b, "analyze %s --set k=3 --store", folder), EXIT_USAGE);
    must_say(b, "k=3");
    for (int twice = 0; twice < 2; twice++)
        assert_int_equal(run(b, "analyze %s --store -f none", folder), EXIT_OK);
    shell(b, "test -f %s/result-jtok-2.json && cmp %s/result.json %s/tests/cli/result-jtok-1.json", folder, folder,
          JTOK_SOURCE);
    assert_int_equal(run(b, "verify %s", folder), EXIT_OK);
    must_say(b, "reproduced: the records give result-jtok-2.json");
    assert_int_equal(run(b, "report %s", folder), EXIT_OK);
    assert_false(says(b, "evaluates it anew"));
    must_say(b, "Its records were made under jtok-1");
    /* The new one is as sealed as the old. */
    shell(b, "echo >> %s/result-jtok-2.json", folder);
    assert_int_equal(run(b, "report %s", folder), EXIT_RECORDS);
    assert_int_equal(run(b, "verify %s", folder), EXIT_RECORDS);
}

/* A run of this method keeps its one result; a folder without a seal gets none. */
static void storing_needs_a_reason(void **state)
{
    struct bench *b = *state;
    const char *copy = copy_of(b, b->whole);
    assert_int_equal(run(b, "analyze %s --store -f none", copy), EXIT_OK);
    shell(b, "test ! -e %s/result-jtok-2.json", copy);
    shell(b, "rm %s/SHA256SUMS %s/result.json %s/windows.csv %s/result_requests.csv", copy, copy, copy, copy);
    assert_int_equal(run(b, "analyze %s --store -f none", copy), EXIT_RECORDS);
    must_say(b, "not sealed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_file_is_refused),
        cmocka_unit_test(what_is_no_file_is_not_sealed),
        cmocka_unit_test(a_changed_result_is_damaged),
        cmocka_unit_test(a_line_added_to_the_seal_proves_nothing),
        cmocka_unit_test(a_list_takes_names_and_marks_from_the_result),
        cmocka_unit_test(a_result_that_contradicts_its_checks_is_not_used),
        cmocka_unit_test(a_later_result_is_verified_wherever_it_lies),
        cmocka_unit_test(a_file_beyond_all_reason_is_refused),
        cmocka_unit_test(a_count_that_was_taken_out_is_named),
        cmocka_unit_test(damaged_or_unsealed_power_is_not_drawn),
        cmocka_unit_test(a_result_without_a_seal_proves_nothing),
        cmocka_unit_test(an_older_result_is_read_by_names),
        cmocka_unit_test(an_older_run_verifies),
        cmocka_unit_test(a_new_evaluation_goes_beside_the_old),
        cmocka_unit_test(storing_needs_a_reason),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
