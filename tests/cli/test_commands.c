/* The commands that work on run folders, called as main calls them, on folders written by the store. */
#include "run_folder.h"
#include <stdio.h>
#include <stdlib.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "analysis/verify.h"
#include "cli/command.h"
#include "app/evaluate.h"
#include "cli/exit.h"
#include "cli/texts.h"
#include "schema/table.h"
#include "base/columns.h"
#include "report/table.h"
#include "text/file_read.h"
#include "text/digest.h"

struct bench {
    char root[64];
    struct arena a;
    const char *runs, *first, *second, *third; /* formal */
    const char *more[3];                       /* formal, too */
    const char *other, *open;                  /* of another scenario; not sealed */
    const char *slower, *excluded;             /* formal, of another engine command; with method_shortened */
    struct buf out, err;
};

/* Runs one command, or with null the program, with stdout and stderr in files, read back into out and err. */
static int call(struct bench *b, const struct command *command, const char *const *words)
{
    char *argv[16];
    int argc = 0;
    for (; words[argc]; argc++)
        argv[argc] = (char *)(uintptr_t)words[argc];
    const char *names[] = {arena_format(&b->a, "%s/out", b->root), arena_format(&b->a, "%s/err", b->root)};
    int saved[2];
    fflush(NULL);
    for (int i = 0; i < 2; i++) {
        int fd = open(names[i], O_CREAT | O_TRUNC | O_WRONLY, 0600);
        saved[i] = dup(i + 1);
        dup2(fd, i + 1);
        close(fd);
    }
    int code = (int)(command ? command_run(command, argc, argv) : command_main(argc, argv));
    fflush(NULL);
    for (int i = 0; i < 2; i++) {
        dup2(saved[i], i + 1);
        close(saved[i]);
    }
    struct err e = {0};
    buf_clear(&b->out);
    buf_clear(&b->err);
    assert_ok(file_read(names[0], 0, &b->out, &e), e);
    assert_ok(file_read(names[1], 0, &b->err, &e), e);
    buf_text(&b->out);
    buf_text(&b->err);
    return code;
}
#define CALL(b, command, ...) call(b, &command, (const char *const[]){#command, __VA_ARGS__, NULL})

static void has(struct buf *text, const char *part)
{
    if (!strstr(buf_text(text), part)) {
        print_error("\"%s\" is not in:\n%s\n", part, buf_text(text));
        fail();
    }
}

static const char *finished(struct bench *b, struct records *r, const char *label, int64_t day)
{
    struct err e = {0};
    const char *folder = write_folder(r, b->runs, label, LIFE_OFFSET_NS + day * 86400 * LIFE_S, &b->a);
    assert_ok(archive_seal(folder, &e), e);
    struct evaluation *v = arena_alloc(&b->a, sizeof *v);
    struct method m = method_default();
    assert_ok(evaluate_run(folder, &m, &b->a, v, &e), e);
    assert_ok(evaluate_store(folder, &v->result, &e), e);
    return folder;
}

static int setup(void **state)
{
    struct bench *b = calloc(1, sizeof *b);
    strcpy(b->root, "/tmp/jtok-commands-XXXXXX");
    assert_non_null(mkdtemp(b->root));
    b->runs = arena_format(&b->a, "%s/runs", b->root);
    struct records r = life_records(&b->a, 2);
    b->first = finished(b, &r, "first", 0);
    b->second = finished(b, &r, "second", 1);
    b->third = finished(b, &r, "third", 4);
    for (int i = 0; i < 3; i++)
        b->more[i] = finished(b, &r, "more", 7 + i);
    const char *command[] = {"vllm", "serve", "--slower"}, **usual = r.plan.engine.command;
    size_t usual_count = r.plan.engine.command_count;
    r.plan.engine.command = command;
    r.plan.engine.command_count = 3;
    b->slower = finished(b, &r, "slower", 5);
    r.plan.engine.command = usual;
    r.plan.engine.command_count = usual_count;
    double baseline_s = r.plan.method.baseline_s;
    r.plan.method.baseline_s = 1;
    b->excluded = finished(b, &r, "excluded", 6);
    r.plan.method.baseline_s = baseline_s;
    r.plan.scenario = "code";
    b->other = finished(b, &r, "other", 2);
    b->open = write_folder(&r, b->runs, "open", LIFE_OFFSET_NS + 3 * 86400 * LIFE_S, &b->a);
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

static void read_whole(const char *path, struct buf *ret)
{
    struct err e = {0};
    buf_clear(ret);
    assert_ok(file_read(path, 0, ret, &e), e);
}

static void a_formal_run_verifies(void **state)
{
    struct bench *b = *state;
    assert_int_equal(CALL(b, cmd_verify, b->first), EXIT_OK);
    has(&b->out, "seal     intact: ");
    has(&b->out, "records  consistent: 2 GPUs, 400 requests, 8000 chunks\n");
    has(&b->out, "result   reproduced: the records give result.json, byte for byte");
    has(&b->out, "verdict  formal: 23 checks passed\n");
    assert_int_equal(CALL(b, cmd_verify, b->first, "--quiet"), EXIT_OK);
    assert_int_equal(b->out.n, 0);
}

/* A whole run on a real GPU lies beside the documents; every build of every version proves it, and gets the same
 * numbers from its records. */
static void a_real_run_is_proven(void **state)
{
    struct bench *b = *state;
    const char *folder = JTOK_SOURCE "/docs/examples/h200-vllm-750";
    assert_int_equal(CALL(b, cmd_verify, folder), EXIT_OK);
    has(&b->out, "seal     intact: ");
    has(&b->out, "records  consistent: 1 GPU, 750 requests, ");
    has(&b->out, "verdict  formal: ");
    assert_null(strstr(buf_text(&b->out), "SIMULATED"));
    struct method m = method_default();
    struct err e = {0};
    struct evaluation *now = arena_alloc(&b->a, sizeof *now);
    struct result *stored = arena_alloc(&b->a, sizeof *stored);
    assert_ok(evaluate_run(folder, &m, &b->a, now, &e), e);
    assert_ok(evaluate_stored(folder, &b->a, stored, &e), e);
    const struct result_metrics *x = &now->result.metrics, *y = &stored->metrics;
    assert_int_equal(memcmp(&x->formal_j_per_token.value, &y->formal_j_per_token.value, sizeof(double)), 0);
    assert_int_equal(memcmp(&x->formal_j_per_token.instrument, &y->formal_j_per_token.instrument, sizeof(double)), 0);
    assert_int_equal(memcmp(&x->lifecycle_j_per_token.value, &y->lifecycle_j_per_token.value, sizeof(double)), 0);
    assert_int_equal(memcmp(&x->startup_j.value, &y->startup_j.value, sizeof(double)), 0);
    assert_int_equal(memcmp(&x->startup_j.instrument, &y->startup_j.instrument, sizeof(double)), 0);
    assert_int_equal(memcmp(&x->release_j.value, &y->release_j.value, sizeof(double)), 0);
    assert_int_equal(now->result.load.output_tokens, 307909); /* the lengths are forced, their seed is 1 */
    assert_int_equal(now->result.load.output_tokens, stored->load.output_tokens);
}

static void reports_come_in_every_format(void **state)
{
    struct bench *b = *state;
    struct buf stored = {0};
    assert_int_equal(CALL(b, cmd_report, b->first), EXIT_OK);
    has(&b->out, "FORMAL  Every check");
    has(&b->out, arena_format(&b->a, "\nRUN is %s", columns_cut_front(&b->a, b->first, 73)));
    assert_null(strchr(buf_text(&b->out), '\033'));
    assert_int_equal(CALL(b, cmd_report, b->first, "--checks"), EXIT_OK);
    has(&b->out, "FORMAL  23 checks passed");
    assert_int_equal(CALL(b, cmd_report, b->first, "--full"), EXIT_OK);
    has(&b->out, "Energy by stage");
    assert_int_equal(CALL(b, cmd_report, b->first, "--full", "--checks"), EXIT_USAGE);
    assert_int_equal(CALL(b, cmd_report, b->first, "--full", "--format", "csv"), EXIT_USAGE);
    assert_int_equal(CALL(b, cmd_report, b->first, "--format", "json"), EXIT_OK);
    read_whole(arena_format(&b->a, "%s/result.json", b->first), &stored);
    assert_int_equal(stored.n, b->out.n);
    assert_memory_equal(stored.p, b->out.p, stored.n);
    assert_int_equal(CALL(b, cmd_report, b->first, "--format=csv"), EXIT_OK);
    has(&b->out, "metric,unit,value,state,why,instrument,calibration\n");
    assert_int_equal(CALL(b, cmd_report, b->first, "--format=svg"), EXIT_OK);
    has(&b->out, "<svg xmlns=");
    assert_int_equal(CALL(b, cmd_report, b->first, "--format=jsn"), EXIT_USAGE);
    has(&b->err, "jtok: report: --format: 'jsn' is not allowed here");
    has(&b->err, " Did you mean json?\n");
    assert_int_equal(CALL(b, cmd_report, b->open), EXIT_RECORDS);
    has(&b->err, "holds no result.json");
    assert_int_equal(CALL(b, cmd_report, arena_format(&b->a, "%s/result.json", b->first)), EXIT_RECORDS);
    has(&b->err, "result.json is a file, but a run folder is needed.");
    buf_done(&stored);
}

static void other_readings_leave_the_folder_alone(void **state)
{
    struct bench *b = *state;
    assert_int_equal(CALL(b, cmd_analyze, b->first, "--set", "attribution=interval", "--set", "k=3"), EXIT_OK);
    has(&b->out, "VALID  Every check passed, but under rules of your own");
    has(&b->out, "  rules of your own       attribution=interval, k=3.\n");
    assert_int_equal(CALL(b, cmd_analyze, b->first, "--set", "k=4"), EXIT_USAGE);
    has(&b->err, "k: '4' is not allowed here. Allowed: one of all, 1, 2, 3.");
    assert_int_equal(CALL(b, cmd_analyze, b->first, "--set", "atribution=gap"), EXIT_USAGE);
    has(&b->err, "Did you mean attribution?");
    assert_int_equal(CALL(b, cmd_verify, b->first, "--quiet"), EXIT_OK);
    /* The default is the stored result. */
    struct buf stored = {0};
    assert_int_equal(CALL(b, cmd_analyze, b->first, "--format", "json"), EXIT_OK);
    read_whole(arena_format(&b->a, "%s/result.json", b->first), &stored);
    assert_int_equal(stored.n, b->out.n);
    assert_memory_equal(stored.p, b->out.p, stored.n);
    buf_done(&stored);
}

static void a_run_without_seal_is_analysed_and_excluded(void **state)
{
    struct bench *b = *state;
    assert_int_equal(CALL(b, cmd_analyze, b->open), EXIT_EXCLUDED);
    has(&b->out, "records_damaged         The records are damaged or incomplete: ");
    assert_int_equal(CALL(b, cmd_verify, b->open), EXIT_RECORDS);
    has(&b->out, "seal     missing");
    has(&b->out, "there is no result.json");
    assert_int_equal(CALL(b, cmd_analyze, b->root), EXIT_RECORDS);
    assert_int_equal(CALL(b, cmd_verify, "/nowhere/at/all"), EXIT_RECORDS);
}

static void pairs_are_compared_and_others_refused(void **state)
{
    struct bench *b = *state;
    assert_int_equal(CALL(b, cmd_compare, b->first, b->second), EXIT_OK);
    has(&b->out, "on the same boards, scenario chat; output tokens differ by 0.0 %");
    has(&b->out, "One run each: spread between runs unknown; no statement about the set-ups.");
    has(&b->out, "\n  formal_j_per_token ");
    assert_null(strstr(buf_text(&b->out), "higher"));
    assert_null(strstr(buf_text(&b->out), "lower"));
    assert_int_equal(CALL(b, cmd_compare, b->first, b->other), EXIT_REFUSED);
    has(&b->out, "Not compared, because the method does not allow it:\n  - The scenario differs: chat and code.\n");
    assert_int_equal(CALL(b, cmd_compare, b->first, b->first), EXIT_REFUSED);
    has(&b->out, "It is the same run twice: ");
    assert_int_equal(CALL(b, cmd_compare, b->first, b->second, "--format=json"), EXIT_OK);
    has(&b->out, "\"reasons\": []");
    has(&b->out, "\"key\": \"formal_j_per_token\"");
    has(&b->out, "\"verdict\": \"none\"");
    assert_int_equal(CALL(b, cmd_compare, b->first), EXIT_USAGE);
    assert_int_equal(CALL(b, cmd_compare, ",", b->first), EXIT_USAGE);
}

/* Each line of a metric has its key in front and its unit beside it; what is a share or a count has none. */
static void lines_of_a_comparison_carry_key_and_unit(void **state)
{
    struct bench *b = *state;
    assert_int_equal(CALL(b, cmd_compare, b->first, b->second, "--format=csv"), EXIT_OK);
    static const char *const lines[] = {
        "\nrows.formal_j_per_token.a,J/token,",
        "\nrows.formal_j_per_token.b_runs.mean,J/token,",
        "\nrows.formal_j_per_token.difference,J/token,",
        "\nrows.formal_j_per_token.ratio,,",
        "\nrows.startup_j.a,J,",
        "\nrows.throughput_tok_s.difference,tok/s,",
        "\nrows.formal_w.b,W,",
        "\nrows.ttft_p99_s.a_runs.sd,s,",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        has(&b->out, lines[i]);
}

static void models_are_ranked_and_mixtures_refused(void **state)
{
    struct bench *b = *state;
    assert_int_equal(CALL(b, cmd_rank, b->first), EXIT_OK);
    has(&b->out, "scenario chat on 2 x NVIDIA H200 at 700 W\n");
    has(&b->out, "Medians over this group, n = 1: full lifecycle ");
    has(&b->out, "Medians over all models, n = 1: full lifecycle ");
    has(&b->out, "Grouping does not imply equal computation.\n");
    assert_int_equal(CALL(b, cmd_rank, b->first, b->other), EXIT_REFUSED);
    has(&b->out, "Not ranked, because the method does not allow it:\n");
    has(&b->out, "The scenario differs: chat and code.");
    assert_int_equal(CALL(b, cmd_rank, b->first, b->second, "--format=json"), EXIT_OK); /* repetitions */
    has(&b->out, "\"n\": 2");
    assert_int_equal(CALL(b, cmd_rank, b->first, "--format=json"), EXIT_OK);
    has(&b->out, "\"lifecycle_rank\": 1");
    has(&b->out, "\"caveat\": \"Grouping does not imply equal computation.\"");
    assert_int_equal(CALL(b, cmd_rank, b->first, "--format=csv"), EXIT_OK);
    has(&b->out, "\ngroups.up to 50e9.models.0.lifecycle_rank,,1,");
    assert_int_equal(CALL(b, cmd_rank, b->first, "--format=xml"), EXIT_USAGE);
    assert_int_equal(CALL(b, cmd_rank, "/nowhere/at/all"), EXIT_RECORDS);
    assert_int_equal(CALL(b, cmd_rank, b->excluded), EXIT_EXCLUDED);
    has(&b->out, "No model has a rank, because ");
    has(&b->out, "not formal: ");
}

static void repetitions_have_a_spread(void **state)
{
    struct bench *b = *state;
    const char *both = arena_format(&b->a, "%s,%s", b->first, b->second);
    assert_int_equal(CALL(b, cmd_compare, both, b->third), EXIT_OK);
    has(&b->out, "A 2 runs of vllm 0.24.0: ");
    has(&b->out, " (0.00 %) ");
    has(&b->out, "Under 3 runs a side: no statement about the set-ups.");
    assert_int_equal(CALL(b, cmd_compare, both, b->other), EXIT_REFUSED);
    has(&b->out, "  - The scenario differs: chat and code.\n");
    assert_int_equal(CALL(b, cmd_compare, both, b->third, "--format=json"), EXIT_OK);
    has(&b->out, "\"sd\": null");
    /* A run with another engine command is not pooled with these, and the key is named. */
    assert_int_equal(CALL(b, cmd_compare, arena_format(&b->a, "%s,%s", b->first, b->slower), b->third), EXIT_REFUSED);
    has(&b->out, "is not a repetition of");
    has(&b->out, "engine.command is");
    assert_int_equal(CALL(b, cmd_compare, both, b->slower), EXIT_OK);
    has(&b->out, "The plans differ in engine.command");
}

/* Six runs of one plan: the page says how many false differences to expect, and fits a terminal of 100 columns. */
static void groups_fit_the_page_and_say_what_chance_does(void **state)
{
    struct bench *b = *state;
    const char *a = arena_format(&b->a, "%s,%s,%s", b->first, b->third, b->more[1]),
               *other = arena_format(&b->a, "%s,%s,%s", b->second, b->more[0], b->more[2]);
    assert_int_equal(CALL(b, cmd_compare, a, other), EXIT_OK);
    has(&b->out, "By construction, about one in twenty comparisons");
    has(&b->out, "none seen");
    has(&b->out, "Both sides have the same plan, but for what names a run or a place.");
    for (const char *p = buf_text(&b->out); *p; p += strcspn(p, "\n") + 1) {
        struct buf line = {0};
        buf_add(&line, p, strcspn(p, "\n"));
        assert_true(columns_text(buf_text(&line)) <= 100);
        buf_done(&line);
    }
}

/* Each outcome has its exit code. */
static void a_gate_passes_fails_or_does_not_decide(void **state)
{
    struct bench *b = *state;
    const char *metric = "--metric=formal_j_per_token", *out = NULL;
    assert_int_equal(CALL(b, cmd_gate, b->first, b->second, metric, "--max-rise", "5%"), EXIT_UNDECIDED);
    has(&b->out, "undecided: formal_j_per_token may rise by at most 5 %\n");
    assert_int_equal(CALL(b, cmd_gate, b->first, b->second, metric, "--max-rise=5%", "--spread=1.5%"), EXIT_OK);
    has(&b->out, "passed: ");
    assert_int_equal(CALL(b, cmd_gate, b->first, b->second, metric, "--max-rise=4%", "--spread=1.5%"), EXIT_UNDECIDED);
    assert_int_equal(CALL(b, cmd_gate, b->first, b->second, metric, "--max-rise=-5%", "--spread=1.5%"),
                     EXIT_GATE_FAILED);
    has(&b->out, "failed: ");
    assert_int_equal(CALL(b, cmd_gate, b->first, b->other, metric, "--max-rise=5%"), EXIT_REFUSED);
    has(&b->out, "The scenario differs");
    assert_int_equal(CALL(b, cmd_gate, b->first, b->second, metric, "--max-fall=5%", "-f", "json", "--spread=1.5%"),
                     EXIT_OK);
    has(&b->out, "\"outcome\": \"passed\"");
    has(&b->out, "\"change\": \"fall\"");
    out = arena_text(&b->a, buf_text(&b->out));
    assert_int_equal(CALL(b, cmd_schema, "gate"), EXIT_OK);
    has(&b->out, "\"outcome\"");
    assert_non_null(strstr(out, "\"comparison\""));
    static const struct {
        const char *words[6];
        const char *error;
    } wrong[] = {
        {{"--max-rise=5%"}, "--metric is missing"},
        {{"--metric=formal_j_token", "--max-rise=5%"}, "did you mean formal_j_per_token?"},
        {{"--metric=startup_j"}, "Give one limit"},
        {{"--metric=startup_j", "--max-rise=5%", "--max-fall=5%"}, "Give one limit"},
        {{"--metric=startup_j", "--max-rise=5"}, "--max-rise takes a percentage such as 5%, not \"5\"."},
        {{"--metric=startup_j", "--max-fall=x%"}, "--max-fall takes a percentage such as 5%, not \"x%\"."},
        {{"--metric=startup_j", "--max-rise=%"}, "not \"%\"."},
        {{"--metric=startup_j", "--max-rise=5%", "--spread=0%"}, "--spread takes a percentage above 0"},
        {{"--metric=startup_j", "--max-rise=5%", "--spread=-1%"}, "--spread takes a percentage above 0"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *words[10] = {"gate", b->first, b->second};
        for (int k = 0; wrong[i].words[k]; k++)
            words[3 + k] = wrong[i].words[k];
        assert_int_equal(call(b, &cmd_gate, words), EXIT_USAGE);
        has(&b->err, wrong[i].error);
    }
}

/* The plan decides what is a repetition, so a changed one is damage like a changed result. */
static void a_changed_plan_or_run_document_is_damage(void **state)
{
    struct bench *b = *state;
    static const char *const names[] = {"plan.json", "run.json", "result.json"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *folder = arena_format(&b->a, "%s/changed-%zu", b->root, i);
        char command[400];
        snprintf(command, sizeof command, "cp -r %s %s && sed -i '1s/$/ /' %s/%s", b->third, folder, folder, names[i]);
        assert_int_equal(system(command), 0);
        assert_int_equal(CALL(b, cmd_compare, b->first, folder), EXIT_RECORDS);
        has(&b->err, names[i]);
        assert_int_equal(CALL(b, cmd_gate, b->first, folder, "-m", "startup_j", "--max-rise=5%"), EXIT_RECORDS);
        assert_int_equal(CALL(b, cmd_rank, folder), EXIT_RECORDS);
    }
}

/* What was published without its records: a pair it can be where what was asked can be told, a repetition never. */
static void a_result_alone_is_a_pair_and_no_repetition(void **state)
{
    struct bench *b = *state;
    const char *bare = arena_format(&b->a, "%s/bare", b->root);
    char command[300];
    snprintf(command, sizeof command, "cp -r %s %s && rm %s/run.json", b->third, bare, bare);
    assert_int_equal(system(command), 0);
    assert_int_equal(CALL(b, cmd_compare, b->first, bare), EXIT_OK);
    assert_int_equal(CALL(b, cmd_compare, b->first, arena_format(&b->a, "%s,%s", b->second, bare)), EXIT_REFUSED);
    has(&b->out, "has no run.json, so it");
    snprintf(command, sizeof command, "rm %s/plan.json", bare);
    assert_int_equal(system(command), 0);
    assert_int_equal(CALL(b, cmd_compare, b->first, bare), EXIT_REFUSED);
    has(&b->out, "Whether the same was asked can't be told");
}

static void runs_are_listed(void **state)
{
    struct bench *b = *state;
    assert_int_equal(CALL(b, cmd_list, b->runs), EXIT_OK);
    has(&b->out, "-first");
    has(&b->out, "formal");
    has(&b->out, "running or broken off");
    assert_int_equal(CALL(b, cmd_list, b->runs, "--format", "json"), EXIT_OK);
    has(&b->out, "\"verdict\": \"formal\"");
    assert_int_equal(CALL(b, cmd_list, b->runs, "--format", "csv"), EXIT_OK);
    has(&b->out, "run,model,engine,simulated,verdict,object,loads,load,");
    has(&b->out, ",formal,life,0,,");
}

/* Whatever a list holds, it fits a terminal; a run's name is never cut. */
static void a_list_fits_eighty_columns(void **state)
{
    (void)state;
    static const char *const verdicts[] = {"formal", "valid", "excluded: method_shortened and 12 more",
                                           "unreadable: run.json can't be opened: No such file or directory, anywhere"};
    static const char *const loads[] = {NULL, "concurrency 64, for 60 s",
                                        "a command with so many words that no column holds them all"};
    struct arena a = {0};
    for (int object = OBJECT_LIFE; object <= OBJECT_STAT; object++)
        for (size_t v = 0; v < SCHEMA_COUNT(verdicts); v++)
            for (size_t k = 0; k < SCHEMA_COUNT(loads); k++) {
                struct listed_run l;
                struct buf out = {0};
                schema_absent(&listed_run_schema, &l);
                l.id = "20261201T134027Z-a-name-of-its";
                l.model = "somebody/a-model-with-a-name-that-is-longer-than-eighty-columns-of-a-terminal-have";
                l.verdict = verdicts[v];
                l.object = (enum run_object)object;
                l.load = loads[k];
                l.loads = object == OBJECT_STAT || object == OBJECT_WATCH ? 0 : (int64_t)k + 1;
                l.steady = l.formal = l.lifecycle = quantity_absent(Q_NOT_RECORDED, "none");
                l.low_j_per_token = 0.0001234;
                l.high_j_per_token = l.low_w = l.energy_j = 12.345678;
                text_listing(&l, 1, &a, &out);
                const char *text = buf_text(&out);
                assert_non_null(strstr(text, l.id));
                for (const char *line = text, *end; (end = strchr(line, '\n')); line = end + 1)
                    if (columns_count((struct span){line, (size_t)(end - line)}) > 80)
                        fail_msg("over 80 columns: %.*s", (int)(end - line), line);
                buf_done(&out);
            }
    arena_done(&a);
}

static void a_demo_takes_loads(void **state)
{
    struct bench *b = *state;
    assert_int_equal(CALL(b, cmd_demo, "--rate", "2", "--concurrency", "4"), EXIT_PLAN);
    has(&b->err, "names the load already");
    assert_int_equal(CALL(b, cmd_demo, "--loads", "bursts"), EXIT_PLAN);
    has(&b->err, "is not a load");
    assert_int_equal(CALL(b, cmd_demo, "--arrivals", "constant"), EXIT_PLAN);
    has(&b->err, "no load by rate");
}

static void estimates_follow_the_formula(void **state)
{
    struct bench *b = *state;
    struct result r;
    struct err e = {0};
    assert_ok(evaluate_stored(b->first, &b->a, &r, &e), e);
    assert_int_equal(CALL(b, cmd_estimate, b->first, "--requests", "1000", "--format=csv"), EXIT_OK);
    const char *line = strstr(buf_text(&b->out), "estimate.1000.total_j,J,");
    assert_non_null(line);
    assert_close_rel(strtod(line + strlen("estimate.1000.total_j,J,"), NULL),
                     r.estimate.fixed_j.value + 1000 * r.estimate.e_request_j.value, 1e-12);
    assert_int_equal(CALL(b, cmd_estimate, b->first, "-n", "10", "-n", "1000000"), EXIT_OK);
    has(&b->out, "1 000 000");
    assert_int_equal(CALL(b, cmd_estimate, b->first, "--requests", "0"), EXIT_USAGE);
    assert_string_equal(buf_text(&b->err), "jtok: --requests takes a whole number from 1, not \"0\".\n");
    assert_int_equal(CALL(b, cmd_estimate, b->first), EXIT_USAGE);
}

static void every_command_has_help_with_an_example(void **state)
{
    struct bench *b = *state;
    for (size_t i = 0; commands[i]; i++) {
        assert_int_equal(call(b, commands[i], (const char *const[]){"x", "--help", NULL}), EXIT_OK);
        has(&b->out, "Usage: jtok ");
        has(&b->out, "\nExample");
        assert_int_equal(call(b, commands[i], (const char *const[]){"x", "--nonsense", NULL}), EXIT_USAGE);
        has(&b->err, "There is no option --nonsense");
    }
}

static void the_program_finds_its_commands(void **state)
{
    struct bench *b = *state;
    static const struct {
        const char *words[4], *out, *err;
        enum exit_code code;
    } cases[] = {
        {{"jtok"}, "", "Usage: jtok COMMAND", EXIT_USAGE},
        {{"jtok", "--help"}, "Usage: jtok COMMAND", "", EXIT_OK},
        {{"jtok", "help"}, "Usage: jtok COMMAND", "", EXIT_OK},
        {{"jtok", "help", "gate"}, "Usage: jtok gate [OPTIONS] BASE CANDIDATE\n", "", EXIT_OK},
        {{"jtok", "gate", "-h"}, "Usage: jtok gate [OPTIONS] BASE CANDIDATE\n", "", EXIT_OK},
        {{"jtok", "--version"}, "jtok " JTOK_VERSION "\n", "", EXIT_OK},
        {{"jtok", "-V"}, "jtok " JTOK_VERSION "\n", "", EXIT_OK},
        {{"jtok", "method"}, "Method " METHOD_ID "\n", "", EXIT_OK},
        {{"jtok", "rep"}, "", "Did you mean \"jtok report\"?", EXIT_USAGE},
        {{"jtok", "verfy", "x"}, "", "Did you mean \"jtok verify\"?", EXIT_USAGE},
        {{"jtok", "help", "xyz"}, "", "There is no command \"xyz\".", EXIT_USAGE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(call(b, NULL, cases[i].words), cases[i].code);
        has(&b->out, cases[i].out);
        has(&b->err, cases[i].err);
        assert_int_equal(b->out.n == 0, !*cases[i].out);
        assert_int_equal(b->err.n == 0, !*cases[i].err);
    }
}

static void the_method_prints_every_decision_and_code(void **state)
{
    struct bench *b = *state;
    assert_int_equal(call(b, &cmd_method, (const char *const[]){"method", NULL}), EXIT_OK);
    for (size_t i = 0; i < method_decision_count; i++)
        has(&b->out, method_decisions[i].id);
    for (enum check_code i = 0; i < CODE_COUNT; i++)
        has(&b->out, check_code_names[i]);
    assert_int_equal(CALL(b, cmd_method, "--format", "json"), EXIT_OK);
    has(&b->out, "\"id\": \"" METHOD_ID "\"");
}

/* docs/result.schema.json is what `jtok schema result` prints. */
static void the_schema_in_the_documentation_is_in_step(void **state)
{
    struct bench *b = *state;
    struct buf stored = {0};
    assert_int_equal(CALL(b, cmd_schema, "result"), EXIT_OK);
    read_whole(JTOK_SOURCE "/docs/result.schema.json", &stored);
    assert_int_equal(stored.n, b->out.n);
    assert_memory_equal(stored.p, b->out.p, stored.n);
    assert_int_equal(CALL(b, cmd_schema, "resul"), EXIT_USAGE);
    has(&b->err, "did you mean result?");
    buf_done(&stored);
}

/* docs/CHECKS.md has a section for each code and mark, which begins with what `jtok method` says of it. */
static void every_code_is_documented(void **state)
{
    struct bench *b = *state;
    struct buf text = {0};
    read_whole(JTOK_SOURCE "/docs/CHECKS.md", &text);
    for (enum check_code i = 0; i < CODE_COUNT; i++)
        has(&text, arena_format(&b->a, "\n### `%s`\n\n%s\n", check_code_names[i], check_code_meaning(i)));
    for (enum flag_code i = 0; i < FLAG_COUNT; i++)
        has(&text, arena_format(&b->a, "\n### `%s`\n\n%s\n", flag_code_names[i], flag_code_meaning(i)));
    buf_done(&text);
}

/* A result of another version, or a changed one, is no reason to crash. */
static void put_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void a_strange_result_is_refused(void **state)
{
    struct bench *b = *state;
    static const char *const texts[] = {"{}", "{\"stages\": [{\"stage\": \"formal\"}]}",   "[]", "{\"checks\": 5}",
                                        "",   "{\"stages\": [{}, {}, {}, {}, {}, {}, {}]}"};
    const char *folder = arena_format(&b->a, "%s/strange", b->root),
               *path = arena_format(&b->a, "%s/result.json", folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char hex[DIGEST_HEX];
        digest_bytes(span_of(texts[i]), hex);
        put_file(path, texts[i]);
        put_file(arena_format(&b->a, "%s/SHA256SUMS", folder), arena_format(&b->a, "%s  result.json\n", hex));
        assert_int_equal(CALL(b, cmd_report, folder), EXIT_RECORDS);
        assert_int_equal(CALL(b, cmd_compare, folder, b->first), EXIT_RECORDS);
        assert_int_equal(CALL(b, cmd_estimate, folder, "-n", "5"), EXIT_RECORDS);
        has(&b->err, "strange/result.json");
    }
}

/* Last: it damages the second run. */
static void a_changed_file_is_found(void **state)
{
    struct bench *b = *state;
    FILE *f = fopen(arena_format(&b->a, "%s/marks.csv", b->second), "a");
    assert_non_null(f);
    fputs("1,hold_end,\n", f);
    fclose(f);
    assert_int_equal(CALL(b, cmd_verify, b->second), EXIT_RECORDS);
    has(&b->out, "seal     BROKEN: 1 of ");
    has(&b->out, "marks.csv");
}

/* Several engines of one plan: their commands and what differs, with nothing of the machine looked at. */
static void engines_are_shown_side_by_side(void **state)
{
    struct bench *b = *state;
    struct err e = {0};
    const char *plan = arena_format(&b->a, "%s/settings.yaml", b->root);
    assert_ok(file_write_new(plan,
                             span_of("model: {id: org/model}\nengine: {settings: {max_running: 64, prefix_cache: off, "
                                     "front_ends: 2}}\n"),
                             &e),
              e);
    assert_int_equal(CALL(b, cmd_run, plan, "--engine", "vllm,sglang", "--dry-run"), EXIT_OK);
    has(&b->out, "vllm serve org/model --max-num-seqs 64 --no-enable-prefix-caching \\\n");
    has(&b->out, "--max-running-requests 64 --disable-radix-cache");
    has(&b->out, "  memory_share\n    vllm     0.92, of the GPU");
    assert_null(strstr(buf_text(&b->out), "  max_running\n"));
    assert_null(strstr(buf_text(&b->out), "  prefix_cache\n"));
    assert_int_equal(CALL(b, cmd_run, plan, "--engine", "llamacpp, vllm", "--dry-run"), EXIT_OK);
    has(&b->out, "engine.settings.front_ends (2) can't be had from llamacpp");
    has(&b->out, "llamacpp 2 (asked for, and not to be had)");
    assert_int_equal(CALL(b, cmd_run, plan, "--engine", "vllm,sglang"), EXIT_USAGE);
    has(&b->err, "Add --dry-run");
    assert_int_equal(CALL(b, cmd_run, plan, "--engine", "vllm,sglag", "--dry-run"), EXIT_USAGE);
    has(&b->err, "Did you mean sglang?");
    assert_int_equal(CALL(b, cmd_run, plan, "--engine", "vllm,vllm", "--dry-run"), EXIT_USAGE);
    assert_int_equal(CALL(b, cmd_run, plan, "--engine", "vllm", "--set", "engine.kind=sglang"), EXIT_PLAN);
    has(&b->err, "Keep one of them");
    assert_int_equal(CALL(b, cmd_run, plan, "--engine", "vllm,openai", "--dry-run"), EXIT_PLAN);
    has(&b->err, "openai: ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(engines_are_shown_side_by_side),
        cmocka_unit_test(a_formal_run_verifies),
        cmocka_unit_test(a_real_run_is_proven),
        cmocka_unit_test(reports_come_in_every_format),
        cmocka_unit_test(other_readings_leave_the_folder_alone),
        cmocka_unit_test(a_run_without_seal_is_analysed_and_excluded),
        cmocka_unit_test(pairs_are_compared_and_others_refused),
        cmocka_unit_test(lines_of_a_comparison_carry_key_and_unit),
        cmocka_unit_test(models_are_ranked_and_mixtures_refused),
        cmocka_unit_test(groups_fit_the_page_and_say_what_chance_does),
        cmocka_unit_test(a_gate_passes_fails_or_does_not_decide),
        cmocka_unit_test(a_changed_plan_or_run_document_is_damage),
        cmocka_unit_test(a_result_alone_is_a_pair_and_no_repetition),
        cmocka_unit_test(repetitions_have_a_spread),
        cmocka_unit_test(runs_are_listed),
        cmocka_unit_test(a_list_fits_eighty_columns),
        cmocka_unit_test(a_demo_takes_loads),
        cmocka_unit_test(estimates_follow_the_formula),
        cmocka_unit_test(every_command_has_help_with_an_example),
        cmocka_unit_test(the_program_finds_its_commands),
        cmocka_unit_test(the_method_prints_every_decision_and_code),
        cmocka_unit_test(the_schema_in_the_documentation_is_in_step),
        cmocka_unit_test(every_code_is_documented),
        cmocka_unit_test(a_strange_result_is_refused),
        cmocka_unit_test(a_changed_file_is_found),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
