/* Text from outside on every way out: what a terminal could obey, and what a reader would not see, never comes out of
 * the program; and no text comes out as a spreadsheet's formula. */
#include "run_folder.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/utf8.h"
#include "cli/command.h"
#include "app/evaluate.h"
#include "cli/exit.h"
#include "cli/progress.h"
#include "store/plan_yaml.h"
#include "text/file_read.h"
#include "text/csv.h"
#include "text/json.h"

struct bench {
    char root[64];
    struct arena a;
    struct buf out, err;
};

/* Runs one command with stdout and stderr in files, read back into out and err. */
static int call(struct bench *b, const struct command *command, const char *const *words)
{
    char *argv[16];
    int argc = 0;
    for (; words[argc]; argc++)
        argv[argc] = (char *)(uintptr_t)words[argc];
    struct buf *texts[] = {&b->out, &b->err};
    const char *names[] = {arena_format(&b->a, "%s/out", b->root), arena_format(&b->a, "%s/err", b->root)};
    int saved[2];
    fflush(NULL);
    for (int i = 0; i < 2; i++) {
        int fd = open(names[i], O_CREAT | O_TRUNC | O_WRONLY, 0600);
        saved[i] = dup(i + 1);
        dup2(fd, i + 1);
        close(fd);
    }
    int code = (int)command_run(command, argc, argv);
    fflush(NULL);
    for (int i = 0; i < 2; i++) {
        struct err e = {0};
        dup2(saved[i], i + 1);
        close(saved[i]);
        buf_clear(texts[i]);
        assert_ok(file_read(names[i], 0, texts[i], &e), e);
        buf_text(texts[i]);
    }
    return code;
}

static const struct {
    const char *name, *text;
} attacks[] = {
    {"colour", "a\033[31mb\033[0m"},
    {"clear screen", "a\033[2J\033[H"},
    {"title", "a\033]0;owned\a"},
    {"clipboard", "a\033]52;c;eA==\033\\"},
    {"device control", "a\033P$q\033\\"},
    {"hyperlink", "\033]8;;http://example.com\033\\a\033]8;;\033\\"},
    {"carriage return", "aaaa\rFORMAL"},
    {"backspace", "a\b\b\bb"},
    {"line feed", "a\nFORMAL  every check passed"},
    {"bell, DEL, VT, FF", "a\a\x7f\v\f"},
    {"C1 in UTF-8", "a\xc2\x9b"
                    "31m\xc2\x9d"
                    "0;x\xc2\x9c\xc2\x90"},
    {"C1 as bytes", "a\x9b"
                    "31m\x9d\x90"},
    {"ill-formed", "a\xff\xfe\xc0\xaf\xe2\x82"},
    {"surrogate in UTF-8", "a\xed\xa0\xbd\xed\xb8\x80"},
    {"direction", "a\xe2\x80\xae"
                  "dessap\xe2\x80\xac\xd8\x9c\xe2\x80\x8e\xe2\x80\x8f\xe2\x81\xa6\xe2\x81\xa9"},
    {"invisible", "a\xe2\x80\x8b\xe2\x81\xa0\xef\xbb\xbf\xf3\xa0\x81\x81"},
    {"line separators", "a\xe2\x80\xa8\xe2\x80\xa9\xc2\x85"},
    {"formula", "=HYPERLINK(\"http://example.com\")"},
    {"formula with plus", "+cmd|' /C calc'!A0"},
    {"formula with minus", "-2+3"},
    {"formula with at", "@SUM(1)"},
    {"formula behind a tab", "\t=1+1"},
    {"formula in full width", "\xef\xbc\x9d"
                              "1+1"},
};
enum { ATTACKS = sizeof attacks / sizeof *attacks };

static void expect_safe(const char *attack, const char *where, const struct buf *text)
{
    for (struct span rest = buf_span(text); rest.n;) {
        size_t n;
        uint32_t code = utf8_first(rest, &n);
        if (code == UTF8_ILL_FORMED || (utf8_is_unsafe(code) && code != '\n'))
            fail_msg("%s: U+%04X comes out of %s, at byte %zu", attack, code, where, (size_t)(rest.p - text->p));
        rest.p += n;
        rest.n -= n;
    }
}

/* A line that an attack's line feed would begin. */
static void expect_no_own_line(const char *attack, const char *where, struct buf *text)
{
    if (strncmp(buf_text(text), "FORMAL  every", 13) == 0 || strstr(buf_text(text), "\nFORMAL  every"))
        fail_msg("%s: a line of its own comes out of %s:\n%s", attack, where, buf_text(text));
}

static void expect_no_formula(const char *attack, const char *where, struct buf *text)
{
    struct csv c;
    struct span fields[64];
    struct buf cell = {0};
    csv_init(&c, buf_span(text));
    for (size_t n; (n = csv_next(&c, fields, 64)) > 0;) {
        assert_true(n <= 64);
        for (size_t i = 0; i < n; i++) {
            buf_clear(&cell);
            csv_unquote(fields[i], &cell);
            const char *t = buf_text(&cell), *from = t + strspn(t, " ");
            double ignored;
            bool opens = strchr("=+-@", *from) && *from;
            if ((opens && !num_f64(span_of(t), &ignored)) || strncmp(from, "\xef\xbc\x9d", 3) == 0)
                fail_msg("%s: the cell \"%s\" comes out of %s", attack, t, where);
        }
    }
    assert_false(c.cut);
    buf_done(&cell);
}

static const char *attacked_folder(struct bench *b, struct records *r, const char *runs, const char *text, int day)
{
    struct err e = {0};
    struct method m = method_default();
    struct evaluation *v = arena_alloc(&b->a, sizeof *v);
    r->plan.name = text;
    r->plan.scenario = text;
    r->plan.model.id = text;
    r->plan.model.revision = text;
    r->plan.model.precision = text;
    r->plan.engine.version = text;
    r->plan.cost.currency = text;
    r->run.engine_version = text;
    r->run.host = text;
    r->run.cpu = text;
    r->run.kernel = text;
    r->run.driver_version = text;
    r->run.jtok_version = text;
    for (uint32_t g = 0; g < r->gpu_count; g++)
        r->gpus[g].name = text;
    for (size_t i = 0; i < r->fact_count; i++)
        r->facts[i].seen = text;
    r->requests[0].verdict = VERDICT_RESET;
    r->requests[0].detail = text;
    r->requests[1].finish_reason = text;
    const char *folder = write_folder(r, runs, "attacked", LIFE_OFFSET_NS + day * 86400 * LIFE_S, &b->a);
    assert_ok(archive_seal(folder, &e), e);
    assert_ok(evaluate_run(folder, &m, &b->a, v, &e), e);
    assert_ok(evaluate_store(folder, &v->result, &e), e);
    return folder;
}

static void no_command_lets_it_out(void **state)
{
    struct bench *b = *state;
    for (int i = 0; i < ATTACKS; i++) {
        const char *runs = arena_format(&b->a, "%s/runs-%d", b->root, i), *attack = attacks[i].name;
        struct records r = life_records(&b->a, 2);
        const char *one = attacked_folder(b, &r, runs, attacks[i].text, 0);
        bool more = i % 4 == 0; /* the ways out are the same for all; these take most of the time */
        const char *two = more ? attacked_folder(b, &r, runs, attacks[i].text, 1) : one;
        const char *both = arena_format(&b->a, "%s,%s", one, two);
        const struct {
            const char *name;
            const struct command *command;
            const char *words[8];
        } ways[] = {
            {"report", &cmd_report, {"report", one}},
            {"report, JSON", &cmd_report, {"report", one, "--format=json"}},
            {"report, CSV", &cmd_report, {"report", one, "--format=csv"}},
            {"report, SVG", &cmd_report, {"report", one, "--format=svg"}},
            {"analyze", &cmd_analyze, {"analyze", one}},
            {"analyze, JSON", &cmd_analyze, {"analyze", one, "--format=json"}},
            {"analyze, CSV", &cmd_analyze, {"analyze", one, "--format=csv"}},
            {"verify", &cmd_verify, {"verify", one}},
            {"list", &cmd_list, {"list", runs}},
            {"list, JSON", &cmd_list, {"list", runs, "--format=json"}},
            {"compare", &cmd_compare, {"compare", one, two}},
            {"compare, JSON", &cmd_compare, {"compare", one, two, "--format=json"}},
            {"compare, CSV", &cmd_compare, {"compare", one, two, "--format=csv"}},
            {"compare of several", &cmd_compare, {"compare", both, one}},
            {"rank", &cmd_rank, {"rank", one}},
            {"rank, JSON", &cmd_rank, {"rank", one, "--format=json"}},
            {"rank, CSV", &cmd_rank, {"rank", one, "--format=csv"}},
            {"estimate", &cmd_estimate, {"estimate", one, "-n", "10"}},
            {"estimate, CSV", &cmd_estimate, {"estimate", one, "-n", "10", "--format=csv"}},
            {"an unknown option", &cmd_report, {"report", arena_format(&b->a, "--%s", attacks[i].text)}},
            {"a folder that is not there", &cmd_report, {"report", attacks[i].text}},
            {"an unknown format", &cmd_report, {"report", one, "--format", attacks[i].text}},
        };
        for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
            if (!more &&
                (ways[k].command == &cmd_analyze || ways[k].command == &cmd_verify || ways[k].command == &cmd_compare))
                continue;
            call(b, ways[k].command, ways[k].words);
            assert_true(b->out.n + b->err.n > 0);
            expect_safe(attack, ways[k].name, &b->out);
            expect_safe(attack, ways[k].name, &b->err);
            expect_no_own_line(attack, ways[k].name, &b->out);
            if (strstr(ways[k].name, "CSV"))
                expect_no_formula(attack, ways[k].name, &b->out);
            if (strstr(ways[k].name, "JSON")) {
                struct json j;
                json_init(&j, buf_span(&b->out));
                while (json_next(&j) > JSON_END)
                    ;
                assert_int_equal(j.kind, JSON_END);
            }
        }
        struct buf table = {0};
        struct err e = {0};
        assert_ok(file_read(arena_format(&b->a, "%s/result_requests.csv", one), 0, &table, &e), e);
        expect_no_formula(attack, "result_requests.csv", &table);
        buf_done(&table);
    }
}

/* What is stored is what was read: the JSON gives the very bytes back where they are text. */
static void records_keep_the_text(void **state)
{
    struct bench *b = *state;
    const char *text = "=a\033[31m\xe2\x80\xae\xc2\x9b\n\tb";
    struct records r = life_records(&b->a, 1), back;
    struct err e = {0};
    struct result stored;
    const char *folder = attacked_folder(b, &r, arena_format(&b->a, "%s/kept", b->root), text, 0);
    assert_ok(records_load(folder, &b->a, &back, &e), e);
    assert_string_equal(back.plan.model.id, text);
    assert_string_equal(back.run.engine_version, text);
    assert_string_equal(back.requests[0].detail, text);
    assert_string_equal(back.gpus[0].name, text);
    assert_ok(evaluate_stored(folder, &b->a, &stored, &e), e);
    assert_string_equal(stored.about.model, text);
}

static void messages_are_clean(void **state)
{
    struct bench *b = *state;
    for (int i = 0; i < ATTACKS; i++) {
        struct err e = {0};
        err_set(&e, ERR_ENGINE, "The engine said: %s.\n  two lines of ours", attacks[i].text);
        fflush(stderr);
        int saved = dup(2), fd = open(arena_format(&b->a, "%s/err", b->root), O_CREAT | O_TRUNC | O_WRONLY, 0600);
        dup2(fd, 2);
        close(fd);
        assert_int_equal(exit_with(&e), EXIT_ENGINE);
        fflush(stderr);
        dup2(saved, 2);
        close(saved);
        buf_clear(&b->err);
        assert_ok(file_read(arena_format(&b->a, "%s/err", b->root), 0, &b->err, &e), e);
        expect_safe(attacks[i].name, "an error line", &b->err);
        assert_non_null(strstr(buf_text(&b->err), ".\n  two lines of ours\n"));

        struct buf line = {0};
        progress_line(&(struct run_view){.stage = RUN_START, .note = attacks[i].text, .watts = 5}, 0, &line);
        expect_safe(attacks[i].name, "the progress line", &line);
        assert_null(memchr(line.p, '\n', line.n));
        buf_done(&line);
    }
}

/* What the dry run prints, and the doctor: the plan's texts read back as they were. */
static void plans_and_machines_are_clean(void **state)
{
    struct bench *b = *state;
    for (int i = 0; i < ATTACKS; i++) {
        struct plan p, back;
        struct problems problems;
        struct buf text = {0};
        struct field_pair env = {attacks[i].text, attacks[i].text};
        plan_defaults(&p);
        p.name = p.scenario = p.requests.file = p.engine.version = attacks[i].text;
        const char *command[] = {attacks[i].text};
        p.engine.command = command;
        p.engine.command_count = 1;
        p.engine.env = &env;
        p.engine.env_count = 1;
        plan_yaml_write(&p, true, &text);
        expect_safe(attacks[i].name, "the dry run's plan", &text);
        plan_defaults(&back);
        problems_init(&problems, &b->a, NULL);
        plan_yaml_read(&back, "plan", buf_span(&text), &problems);
        assert_int_equal(problems.count, 0);
        if (utf8_valid(span_of(attacks[i].text)) == strlen(attacks[i].text)) {
            assert_string_equal(back.name, attacks[i].text);
            assert_string_equal(back.engine.command[0], attacks[i].text);
            assert_string_equal(back.engine.env[0].value, attacks[i].text);
        }
        buf_done(&text);

        const char *library = arena_format(&b->a, "/nowhere/%s", attacks[i].text);
        for (int json = 0; json < 2; json++) {
            call(b, &cmd_doctor,
                 (const char *const[]){"doctor", "--quick", "--library", library,
                                       json ? "--format=json" : "--format=text", NULL});
            assert_true(b->out.n > 0);
            expect_safe(attacks[i].name, "doctor", &b->out);
            expect_safe(attacks[i].name, "doctor", &b->err);
        }
    }
}

static int setup(void **state)
{
    struct bench *b = calloc(1, sizeof *b);
    strcpy(b->root, "/tmp/jtok-shown-XXXXXX");
    assert_non_null(mkdtemp(b->root));
    *state = b;
    return 0;
}

static int teardown(void **state)
{
    struct bench *b = *state;
    char command[100];
    snprintf(command, sizeof command, "rm -r %s", b->root);
    int code = system(command);
    buf_done(&b->out);
    buf_done(&b->err);
    arena_done(&b->a);
    free(b);
    return code;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_command_lets_it_out),
        cmocka_unit_test(records_keep_the_text),
        cmocka_unit_test(messages_are_clean),
        cmocka_unit_test(plans_and_machines_are_clean),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
