#include "check.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/buf.h"
#include "store/request_form.h"
#include "store/request_set.h"
#include "store/work_digest.h"

struct fixture {
    struct arena arena;
    struct problems p;
    struct plan plan;
    struct request_set set;
    struct buf printed;
    char file[64];
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    problems_init(&f->p, &f->arena, "plan.yaml");
    plan_defaults(&f->plan);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    if (f->file[0])
        unlink(f->file);
    request_set_done(&f->set);
    buf_done(&f->printed);
    arena_done(&f->arena);
    free(f);
    return 0;
}

static bool load_bytes(struct fixture *f, struct span text)
{
    bool good;
    int fd;

    if (f->file[0])
        unlink(f->file);
    strcpy(f->file, "/tmp/jtok_set_XXXXXX");
    fd = mkstemp(f->file);
    assert_int_equal(write(fd, text.p, text.n), (ssize_t)text.n);
    close(fd);
    f->plan.requests.file = f->file;
    request_set_done(&f->set);
    good = request_set_load(&f->set, &f->plan, -1, &f->p);
    buf_clear(&f->printed);
    problems_print(&f->p, &f->printed);
    return good;
}

static bool load_text(struct fixture *f, const char *text)
{
    return load_bytes(f, span_of(text));
}

static void rows_are_kept_as_they_stand(void **state)
{
    struct fixture *f = *state;
    const struct request_set *s = &f->set;

    assert_true(load_text(f, "\xef\xbb\xbf{\"uid\":[1,{\"prompt\":3}],\"prompt\":\"a\\u00e4\\ud83d\\ude00\"}\n"
                             "\r\n"
                             "{\"messages\": [ {\"role\":\"user\", \"content\":\"x\"} ], \"z\":null}\n"
                             "{\"prompt\":\"first\",\"prompt\":\"a\xc3\xa4\xf0\x9f\x98\x80\"}"));
    assert_int_equal(s->row_count, 3);
    assert_int_equal(s->count, 3);
    assert_true(span_is(s->rows[0].prompt, "\"a\\u00e4\\ud83d\\ude00\""));
    assert_true(span_is(s->rows[1].messages, "[ {\"role\":\"user\", \"content\":\"x\"} ]"));
    assert_int_equal(s->rows[1].line, 3);
    /* The last of two keys counts; the same text under another spelling has the same digest. */
    assert_true(s->rows[2].digest == s->rows[0].digest);
    assert_int_equal(s->repeated_prompts, 1);
    assert_true(s->max_tokens[0] == ABSENT_I64);
    assert_true(s->total_max_tokens == ABSENT_I64);
}

static void count_repeats_in_order(void **state)
{
    struct fixture *f = *state;

    f->plan.requests.count = 5;
    f->plan.requests.lengths.kind = LENGTH_FIXED;
    f->plan.requests.lengths.tokens = 64;
    assert_true(load_text(f, "{\"prompt\":\"a\"}\n{\"prompt\":\"b\"}\n"));
    assert_int_equal(f->set.count, 5);
    assert_true(span_is(request_set_row(&f->set, 4)->prompt, "\"a\""));
    assert_int_equal(f->set.repeated_prompts, 3);
    assert_int_equal(f->set.total_max_tokens, 320);
    f->plan.requests.count = 1;
    assert_true(load_text(f, "{\"prompt\":\"a\"}\n{\"prompt\":\"a\"}\n"));
    assert_int_equal(f->set.repeated_prompts, 0);
}

static void public_sets_load(void **state)
{
    struct fixture *f = *state;

    f->plan.requests.file = JTOK_SHARED "/data/arena-hard-v2.0.jsonl";
    if (access(f->plan.requests.file, R_OK) != 0)
        skip();
    f->plan.requests.count = 2500;
    assert_true(request_set_load(&f->set, &f->plan, -1, &f->p));
    assert_int_equal(f->set.row_count, 750);
    assert_string_equal(f->set.sha256, "a75cef6623db6b27aec810497b059f0659705d7ff48dcbccc5bd5b130728ac73");
    /* 2500 = 750 x 3 + 250, so at least 1750 prompts come again. */
    assert_true(f->set.repeated_prompts >= 1750);
    request_set_done(&f->set);
    f->plan.requests.file = JTOK_SHARED "/data/HumanEval.jsonl.gz";
    f->plan.requests.count = ABSENT_I64;
    f->plan.requests.api = API_COMPLETIONS;
    assert_true(request_set_load(&f->set, &f->plan, -1, &f->p));
    assert_int_equal(f->set.count, 164);
    assert_string_equal(f->set.sha256, "b796127e635a67f93fb35c04f4cb03cf06f38c8072ee7cee8833d7bee06979ef");
}

#define A_LINE                                                                                                         \
    "Each line must be an object with \"prompt\" (a text) or \"messages\" (a list of objects with \"role\" and "       \
    "\"content\")."

static void every_fault_is_named(void **state)
{
    static const struct {
        const char *line, *message;
    } cases[] = {
        {"{\"prompt\":5}", ":1: prompt: Expected a text, but found a number. " A_LINE},
        {"{\"messages\":{}}", ":1: messages: Expected a list, but found an object. " A_LINE},
        {"{\"messages\":[]}", ":1: messages: The list is empty, but a request needs at least one message."},
        {"{\"messages\":[\"x\"]}", ":1: messages: Expected objects in the list, but found a text. " A_LINE},
        {"{\"messages\":[{\"role\":\"user\"}]}", ":1: messages: Message 1 has no \"content\". " A_LINE},
        {"{\"messages\":[{\"content\":\"x\"}]}", ":1: messages: Message 1 has no \"role\". " A_LINE},
        {"{}", ":1: There is neither \"prompt\" nor \"messages\" here. " A_LINE},
        {"{\"id\":1,\"k\":2}", ":1: There is neither \"prompt\" nor \"messages\" here: the line has id, k. " A_LINE},
        {"{\"prompt\":\"\"}", ":1: prompt: The prompt is empty, and engines refuse that."},
        {"{\"prompt\":\"a\"}\n[1]", ":2: Expected an object, but found a list. " A_LINE},
        {"{\"prompt\":\"a\",\"max_tokens\":0}",
         ":1:28: max_tokens: Expected a whole number of tokens from 1 to 1000000000, but found 0."},
        {"{\"prompt\":\"a\",\"output_length\": \"5\"}",
         ":1:32: output_length: Expected a whole number of tokens from 1 to 1000000000, but found \"5\"."},
        {"{\"prompt\":\"a\",\"max_tokens\":5.5}",
         ":1:28: max_tokens: Expected a whole number of tokens from 1 to 1000000000, but found 5.5."},
        {"{\"prompt\":\"a\",\"max_tokens\":5,\"output_tokens\":6}",
         ":1:46: output_tokens: 6 here, but 5 under another name of the same setting. Keep one of them."},
        {"{\"prompt\":\"a\",\"n\":2}", ":1:19: n: 2 answers for one request can't be measured: tokens and times are "
                                       "those of one answer. Remove it, and "
                                       "repeat the line instead."},
        {"{\"prompt\":\"a\",\"messages\":[{\"role\":\"u\",\"content\":1}]}",
         ":1: There are both \"prompt\" and \"messages\" here. Keep one of them."},
        {"\n \n", ": The request set is empty. " A_LINE},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture *f;

        (void)state;
        setup((void **)&f);
        assert_false(load_text(f, cases[i].line));
        assert_string_equal(buf_text(&f->printed), arena_format(&f->arena, "%s%s\n", f->file, cases[i].message));
        teardown((void **)&f);
    }
}

static void bad_json_names_its_column(void **state)
{
    struct fixture *f = *state;

    assert_false(load_text(f, "{\"prompt\":\"a\"}\n{\"prompt\":\"b\",}\nnot json\n"));
    assert_int_equal(f->p.count, 2);
    assert_int_equal(f->p.items[0].line, 2);
    assert_int_equal(f->p.items[0].column, 15);
    assert_int_equal(f->p.items[1].line, 3);
    assert_int_equal(f->p.items[1].column, 1);
}

static void many_faults_are_counted(void **state)
{
    struct fixture *f = *state;
    struct buf text = {0};

    for (int i = 0; i < 100; i++)
        buf_str(&text, "{}\n");
    assert_false(load_text(f, buf_text(&text)));
    assert_int_equal(f->p.count, 21);
    assert_string_equal(f->p.items[20].text, "80 more lines are wrong.");
    buf_done(&text);
}

static void messages_do_not_fit_completions(void **state)
{
    struct fixture *f = *state;

    f->plan.requests.api = API_COMPLETIONS;
    assert_false(load_text(f, "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}\n"));
    assert_non_null(strstr(buf_text(&f->printed), "Set requests.api: chat"));
}

static void missing_file_names_the_plan_line(void **state)
{
    struct fixture *f = *state;

    problems_place(&f->p, "plan.yaml", 7, 3, "requests.file");
    f->plan.requests.file = "/nowhere/set.jsonl";
    assert_false(request_set_load(&f->set, &f->plan, -1, &f->p));
    problems_print(&f->p, &f->printed);
    assert_true(strncmp(buf_text(&f->printed), "plan.yaml:7:3: requests.file: ", 30) == 0);
    assert_non_null(strstr(f->printed.p, "/nowhere/set.jsonl"));
}

/* ---- what of a line is sent ---- */

static void a_line_has_its_own_length(void **state)
{
    struct fixture *f = *state;
    const char *lines = "{\"prompt\":\"a\",\"max_tokens\":33}\n{\"prompt\":\"b\",\"output_tokens\":34.0}\n"
                        "{\"prompt\":\"c\",\"output_length\":35}\n{\"prompt\":\"d\",\"max_completion_tokens\":36}\n"
                        "{\"prompt\":\"e\"}\n{\"prompt\":\"f\",\"max_tokens\":null}\n"
                        "{\"prompt\":\"g\",\"max_tokens\":37,\"output_tokens\":37}\n";
    const int64_t own[] = {33, 34, 35, 36, ABSENT_I64, ABSENT_I64, 37};

    f->plan.requests.count = 9;
    assert_true(load_text(f, lines));
    for (size_t i = 0; i < 9; i++)
        assert_true(f->set.max_tokens[i] == own[i % 7]);
    assert_true(f->set.has_lengths && f->set.total_max_tokens == ABSENT_I64);
    assert_int_equal(f->set.warning_count, 0);

    f->plan.requests.lengths.tokens = 99; /* for the lines without one */
    assert_true(load_text(f, lines));
    assert_int_equal(f->set.max_tokens[0], 33);
    assert_int_equal(f->set.max_tokens[4], 99);
    assert_int_equal(f->set.total_max_tokens, 33 + 34 + 35 + 36 + 99 + 99 + 37 + 33 + 34);

    const enum length_kind kinds[] = {LENGTH_NATURAL, LENGTH_FIXED,
                                      LENGTH_LOGNORMAL}; /* the plan decides, and says so */
    for (size_t k = 0; k < 3; k++) {
        f->plan.requests.lengths = (struct plan_lengths){.kind = kinds[k],
                                                         .tokens = kinds[k] == LENGTH_LOGNORMAL ? ABSENT_I64 : 50,
                                                         .median = 50,
                                                         .sigma = 0,
                                                         .min = 1,
                                                         .max = ABSENT_I64};
        assert_true(load_text(f, lines));
        for (size_t i = 0; i < 9; i++)
            assert_int_equal(f->set.max_tokens[i], 50);
        assert_false(f->set.has_lengths);
        assert_int_equal(f->set.warning_count, 1);
        assert_string_equal(
            f->set.warnings[0],
            arena_format(&f->arena,
                         "%s: Lengths in the lines are not sent, because the plan sets requests.lengths.kind: "
                         "max_tokens (2 lines, first in line 1), output_tokens (2 lines, first in line 2), "
                         "output_length (1 line, first in line 3), max_completion_tokens (1 line, first in "
                         "line 4).",
                         f->file));
    }
}

static void members_of_a_body_are_sent(void **state)
{
    struct fixture *f = *state;

    assert_true(load_text(f,
                          "{\"temperature\": 0.1 ,\"prompt\":\"a\",\"tools\":[{\"type\":\"function\"}],\"stop\":null}\n"
                          "{\"prompt\":\"b\",\"seed\":1,\"seed\":2}\n{\"prompt\":\"c\"}\n"));
    assert_true(span_is(f->set.rows[0].extra, "{\"temperature\": 0.1, \"tools\": [{\"type\":\"function\"}]}"));
    assert_true(span_is(f->set.rows[1].extra, "{\"seed\": 2}"));
    assert_int_equal(f->set.rows[2].extra.n, 0);
    assert_int_equal(f->set.warning_count, 0);
}

/* What the plan sets wins, what jtok decides stays, what is a column of the set is none of the body's: each told once,
 * with its number of lines and the first. */
static void what_is_not_sent_is_told(void **state)
{
    struct fixture *f = *state;

    f->plan.requests.temperature = 0;
    f->plan.requests.seed = 5;
    f->plan.requests.extra_body = "{\"top_k\": 3}";
    f->plan.requests.lengths =
        (struct plan_lengths){.kind = LENGTH_FIXED, .tokens = 9, .max = ABSENT_I64, .ignore_eos = true};
    f->plan.engine.served_model = "org/m";
    assert_true(load_text(
        f,
        "{\"prompt\":\"a\",\"uid\":\"x\",\"temperature\":1,\"stream\":true,\"model\":\"org/m\",\"n\":1,\"top_p\":0.5}\n"
        "\n{\"prompt\":\"b\",\"uid\":\"y\",\"stream\":false,\"model\":\"other\",\"top_k\":1,\"reasoning\":\"because\"}"
        "\n"
        "{\"prompt\":\"c\",\"temperature\":2,\"seed\":1,\"ignore_eos\":true,\"\":0,\"stream_options\":{}}\n"));
    const char *const said[] = {
        "Keys in the lines are not sent, because the plan sets them for all requests: temperature (2 lines, first in "
        "line "
        "1), "
        "top_k (1 line, first in line 3), seed (1 line, first in line 4), ignore_eos (1 line, first in line 4).",
        "Keys in the lines are not sent, because jtok decides them (each answer is streamed from the served model): "
        "stream "
        "(1 line, "
        "first in line 3), model (1 line, first in line 3), stream_options (1 line, first in line 4).",
        "Keys in the lines are not sent, because they do not belong to a request's body: uid (2 lines, first in line "
        "1), "
        "reasoning (1 "
        "line, first in line 3),  (1 line, first in line 4)."};
    assert_int_equal(f->set.warning_count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(f->set.warnings[i], arena_format(&f->arena, "%s: %s", f->file, said[i]));
    assert_true(span_is(f->set.rows[0].extra, "{\"top_p\": 0.5}"));
    assert_int_equal(f->set.rows[1].extra.n, 0);
}

/* As many columns as a set may have: the first are named, the rest counted. */
static void many_columns_are_counted(void **state)
{
    struct fixture *f = *state;
    struct buf text = {0};

    buf_str(&text, "{\"prompt\":\"a\"");
    for (int i = 0; i < 300; i++)
        buf_fmt(&text, ",\"c%d\":1", i);
    buf_str(&text, "}\n");
    assert_true(load_text(f, buf_text(&text)));
    assert_int_equal(f->set.warning_count, 1);
    assert_non_null(strstr(f->set.warnings[0], "c7 (1 line, first in line 1) and 292 more."));
    buf_done(&text);
}

/* ---- text that can't be sent ---- */

static const char *const carriers[] = {
    "{\"prompt\":\"ab cd\"}",
    "{\"messages\":[{\"role\":\"u\",\"content\":\"ab\"},{\"content\":[{\"type\":\"text\",\"text\":\"c\"}]}]}",
    "{\"prompt\":\"a\",\"stop\":[\"b\",\"c\"],\"tools\":[{\"name\":\"d\"}]}",
};

/* A piece put in at every byte of a line: never passed over. What is refused is named with its line and column. */
static void no_position_lets_bad_text_through(void **state)
{
    static const char *const pieces[] = {"\xff",          "\xe9",         "\xc3",         "\xc0\xaf",
                                         "\xe0\x80\x80",  "\xed\xa0\xbd", "\xed\xb0\x80", "\xf4\x90\x80\x80",
                                         "\xf0\x9f\x98",  "\x80",         "\\ud83d",      "\\uDC00",
                                         "\\ude00\\ud83d"};
    size_t refused = 0, tried = 0;

    (void)state;
    for (size_t c = 0; c < sizeof carriers / sizeof *carriers; c++)
        for (size_t k = 0; k < sizeof pieces / sizeof *pieces; k++)
            for (size_t at = 0; at <= strlen(carriers[c]); at++) {
                struct fixture *f;
                struct buf text = {0};

                setup((void **)&f);
                buf_str(&text, "{\"prompt\":\"good\"}\n");
                buf_add(&text, carriers[c], at);
                buf_str(&text, pieces[k]);
                buf_str(&text, carriers[c] + at);
                tried++;
                bool good = load_text(f, buf_text(&text));
                if (good) /* only an escape in the name of what is not sent is no matter */
                    assert_true(pieces[k][0] == '\\' && f->set.warning_count == 1);
                else
                    assert_true(f->p.count == 1 && f->p.items[0].line == 2);
                if (!good && strstr(f->p.items[0].text, "engines refuse such text")) {
                    assert_int_equal(f->p.items[0].column, at + 1);
                    refused++;
                }
                buf_done(&text);
                teardown((void **)&f);
            }
    assert_true(refused > tried / 6);
}

static void every_text_that_is_sent_is_looked_at(void **state)
{
    static const struct {
        const char *line, *message;
    } cases[] = {
        {"{\"prompt\":\"Stra\xdf"
         "e\"}",
         ":1:16: prompt: The byte 0xDF is not UTF-8, and engines refuse such text."},
        {"{\"prompt\":\"x \\ud83d y\"}", ":1:14: prompt: \\ud83d is half of a surrogate pair"},
        {"{\"messages\":[{\"role\":\"u\",\"content\":\"\\udc00\"}]}", ":1:37: messages: \\udc00 is half of "},
        {"{\"messages\":[{\"role\":\"u\",\"content\":\"a\",\"\\ud800\":1}]}", ":1:41: messages: \\ud800 is half of "},
        {"{\"prompt\":\"a\",\"tools\":[{\"d\":\"\\udfff\"}]}", ":1:30: tools: \\udfff is half of "},
        {"{\"prompt\":\"a\",\"note\":\"\xe9\"}", ":1:23: The byte 0xE9 is not UTF-8"},
        {"{\"prompt\":\"a\",\"not\xe9\":1}", ":1:19: The byte 0xE9 is not UTF-8"},
        {"\xe9{\"prompt\":\"a\"}", ":1:1: The byte 0xE9 is not UTF-8"},
    };
    static const char *const fine[] = {"{\"prompt\":\"a\",\"note\":\"\\ud83d\"}", /* not sent */
                                       "{\"prompt\":\"\\ud83d\\ude00\"}", "{\"prompt\":\"a\\u0000b\"}",
                                       "{\"prompt\":\"\\\\ud83d\"}",
                                       "{\"prompt\":\"\xf4\x8f\xbf\xbf\xef\xbf\xbd\xed\x9f\xbf\"}"};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture *f;

        setup((void **)&f);
        assert_false(load_text(f, cases[i].line));
        const char *said = buf_text(&f->printed) + strlen(f->file);
        if (strncmp(said, cases[i].message, strlen(cases[i].message)) != 0)
            fail_msg("%s: %s", cases[i].line, said);
        teardown((void **)&f);
    }
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) {
        struct fixture *f;

        setup((void **)&f);
        assert_true(load_text(f, fine[i]));
        teardown((void **)&f);
    }
}

/* ---- pipes ---- */

static void *write_fifo(void *arg)
{
    const struct span *bytes = ((void **)arg)[1];
    int fd = open(((void **)arg)[0], O_WRONLY | O_CLOEXEC);

    for (size_t at = 0; at < bytes->n;) { /* in small pieces, as a slow writer */
        ssize_t n = write(fd, bytes->p + at, bytes->n - at < 7 ? bytes->n - at : 7);

        assert_true(n > 0);
        at += (size_t)n;
    }
    close(fd);
    return NULL;
}

/* The hash is that of the bytes that came through, compressed or not, and they are read once: a second reader would
 * wait for ever. */
static void a_pipe_is_read_once(void **state)
{
    struct fixture *f = *state;
    static const unsigned char packed[] = {/* gzip of the first one */
                                           0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xab,
                                           0x56, 0x2a, 0x28, 0xca, 0xcf, 0x2d, 0x28, 0x51, 0xb2, 0x52, 0x2a,
                                           0x4e, 0x2d, 0x51, 0xc8, 0xcf, 0x4b, 0x55, 0xaa, 0xe5, 0x02, 0x00,
                                           0xa4, 0x44, 0xa2, 0xae, 0x15, 0x00, 0x00, 0x00};
    const struct span contents[] = {span_of("{\"prompt\":\"set one\"}\n"),
                                    span_of("{\"prompt\":\"set two\"}\n{\"prompt\":\"b\"}\n"),
                                    {(const char *)packed, sizeof packed},
                                    span_of("")};
    char folder[] = "/tmp/jtok_fifo_XXXXXX", other[DIGEST_HEX] = "";

    assert_non_null(mkdtemp(folder));
    snprintf(f->file, sizeof f->file, "%s/fifo", folder);
    assert_int_equal(mkfifo(f->file, 0600), 0);
    f->plan.requests.file = f->file;
    for (size_t i = 0; i < 4; i++) {
        pthread_t writer;
        char expected[DIGEST_HEX];
        void *arg[] = {f->file, (void *)(uintptr_t)&contents[i]};

        request_set_done(&f->set);
        pthread_create(&writer, NULL, write_fifo, arg);
        bool good = request_set_load(&f->set, &f->plan, -1, &f->p);
        pthread_join(writer, NULL);
        if (i == 3) {
            assert_false(good);
            assert_non_null(strstr(f->p.items[0].text, "The request set is empty"));
            break;
        }
        assert_true(good);
        digest_bytes(contents[i], expected);
        assert_string_equal(f->set.sha256, expected);
        assert_string_not_equal(f->set.sha256, other);
        strcpy(other, expected);
        assert_true(span_is(f->set.rows[0].prompt, i == 1 ? "\"set two\"" : "\"set one\""));
    }
    unlink(f->file);
    f->file[0] = 0;
    rmdir(folder);
}

/* What was read is what is used, whatever becomes of the file. */
static void a_file_that_changes_later_changes_nothing(void **state)
{
    struct fixture *f = *state;
    char before[DIGEST_HEX], after[DIGEST_HEX];

    assert_true(load_text(f, "{\"prompt\":\"one\",\"top_p\":0.5}\n"));
    work_digest(&f->plan, &f->set, before);
    int fd = open(f->file, O_WRONLY | O_TRUNC | O_CLOEXEC);
    assert_int_equal(write(fd, "{\"prompt\":\"two\"}\n", 18), 18);
    close(fd);
    work_digest(&f->plan, &f->set, after);
    assert_string_equal(before, after);
    assert_true(span_is(f->set.rows[0].prompt, "\"one\""));
}

/* ---- files of other forms ---- */

static void other_forms_are_named(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *said[2];
    } cases[] = {
#define FORM(bytes, ...)                                                                                               \
    {                                                                                                                  \
        bytes, sizeof(bytes) - 1,                                                                                      \
        {                                                                                                              \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    }
        FORM("\xff\xfe{\0\"\0", "UTF-16LE", "iconv -f UTF-16LE -t UTF-8 "),
        FORM("\xfe\xff\0{\0\"", "UTF-16BE", "iconv -f UTF-16BE "),
        FORM("{\0\"\0p\0r\0o\0", "UTF-16LE"),
        FORM("\0{\0\"\0p\0r\0o", "UTF-16BE"),
        FORM("\xff\xfe\0\0{\0\0\0", "UTF-32LE"),
        FORM("PAR1\x15\x04", "Parquet", "read_parquet"),
        FORM("ARROW1\0\0", "Arrow", "read_feather"),
        FORM("\xfd"
             "7zXZ\0\0\x04",
             "xz", "xz -dc "),
        FORM("BZh91AY&SY", "bzip2", "bzip2 -dc "),
        FORM("\x04\x22\x4d\x18xx", "lz4", "lz4 -dc "),
        FORM("PK\x03\x04xxxx", "zip", "unzip -p "),
        FORM("7z\xbc\xaf\x27\x1cxx", "7-Zip", "7z x -so "),
        FORM("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n", "Git LFS pointer", "git lfs pull"),
        FORM("<!DOCTYPE html>\n<html></html>", "HTML", "curl -fL"),
        FORM("  <HTML><body>", "HTML"),
        FORM("<?xml version=\"1.0\"?>", "XML"),
        FORM("prompt\nhello\n", "CSV", "csv.DictReader"),
        FORM("id,prompt,answer\n1,a,b\n", "CSV", "csv.DictReader"),
        FORM("\"id\",\"prompt\"\n1,a\n", "CSV"),
        FORM("id\tprompt\n1\ta\n", "TSV", "delimiter"),
        FORM("TIMESTAMP,ContextTokens,GeneratedTokens\n1,2,3\n", "trace", "lengths without prompts"),
        FORM("Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n", "trace"),
        FORM("What is a tide?\nHow do bees fly?\n", "plain text", "jq -Rc '{prompt: .}'"),
        FORM("[{\"prompt\":\"a\"},\n{\"prompt\":\"b\"}]\n", "a JSON list", "jq -c '.[]' "),
        FORM("[\"a\",\"b\"]", "a JSON list of texts", "jq -c '.[] | {prompt: .}'"),
        FORM("[]", "a JSON list"),
        FORM("[{\"id\":\"1\",\"conversations\":[{\"from\":\"human\",\"value\":\"x\"}]}]", "ShareGPT",
             ".conversations[]"),
        FORM("[{\"question\":\"x\"}]", "a JSON list", "jq -c '.[] | {prompt: .question}'"),
        FORM("{\n  \"prompt\": \"a\"\n}\n", "over several lines", "jq -c . "),
        FORM("{\"data\": [\n{\"prompt\":\"a\"}]}", "a list in \"data\"", "jq -c '.data[]'"),
        FORM("{\"conversations\":[{\"from\":\"human\",\"value\":\"x\"}]}\n", "ShareGPT", ".conversations[]"),
        FORM("{\"custom_id\":\"1\",\"method\":\"POST\",\"body\":{\"messages\":[]}}\n", "OpenAI batch", "jq -c '.body'"),
        FORM("{\"question_id\":1,\"turns\":[\"a\"]}\n", "question_id, turns", ".turns[0]"),
        FORM("{\"instruction\":\"a\",\"input\":\"\"}\n", "instructions", ".instruction"),
        FORM("{\"timestamp\":0,\"input_length\":5,\"output_length\":4}\n", "a trace", "lengths without prompts"),
#undef FORM
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture *f;

        setup((void **)&f);
        assert_false(load_bytes(f, (struct span){cases[i].bytes, cases[i].n}));
        assert_int_equal(f->p.count, 1);
        for (int k = 0; k < 2 && cases[i].said[k]; k++)
            if (!strstr(buf_text(&f->printed), cases[i].said[k]))
                fail_msg("form %zu: \"%s\" is not in: %s", i, cases[i].said[k], buf_text(&f->printed));
        teardown((void **)&f);
    }
}

/* A path with what a shell would read is quoted in the command; a pipe can't be read again. */
static void commands_can_be_pasted(void **state)
{
    struct fixture *f = *state;
    static const char *const files[][2] = {
        {"a b.jsonl", "'a b.jsonl'"}, {"it's", "'it'\\''s'"},       {"-x", "'./-x'"},
        {"$(id)", "'$(id)'"},         {"d/ok_1.csv", "d/ok_1.csv"}, {"/dev/fd/63", "FILE"}};

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const char *said = request_form(span_of("[1]"), files[i][0], &f->arena);
        assert_non_null(strstr(said, arena_format(&f->arena, "jq -c '.[]' %s > new.jsonl", files[i][1])));
    }
    assert_null(request_form(span_of("{\"prompt\":\"a\"}\n"), "x", &f->arena));
    assert_null(request_form(span_of("\xef\xbb\xbf\n{\"prompt\":\"a\"}"), "x", &f->arena));
    assert_null(request_form(span_of(""), "x", &f->arena));
}

/* Values of an independent evaluation of the documented formula (Python, with its own libm). */
static void lognormal_lengths(void **state)
{
    static const int64_t right[] = {181, 121, 199, 405, 1039, 346, 342, 600, 1331, 1370, 59, 1122};
    static const int64_t right_big_seed[] = {883, 349, 86, 596};
    struct plan_lengths l = {
        .kind = LENGTH_LOGNORMAL, .tokens = ABSENT_I64, .median = 400, .sigma = 0.8, .min = 16, .max = 2048, .seed = 7};
    int64_t sum = 0;

    (void)state;
    for (size_t i = 0; i < sizeof right / sizeof *right; i++)
        assert_int_equal(request_length(&l, i), right[i]);
    for (size_t i = 0; i < 10000; i++)
        sum += request_length(&l, i);
    assert_int_equal(sum, 5385390);
    l.seed = 9007199254740992;
    for (size_t i = 0; i < sizeof right_big_seed / sizeof *right_big_seed; i++)
        assert_int_equal(request_length(&l, i), right_big_seed[i]);
}

/* Without bounds, the logarithms have the mean and the deviation asked for: the standard error of 40 000 is 0.005
 * sigma. */
static void lognormal_has_its_moments(void **state)
{
    struct plan_lengths l = {
        .kind = LENGTH_LOGNORMAL, .median = 1e6, .sigma = 0.5, .min = 1, .max = ABSENT_I64, .seed = 1};
    double sum = 0, squares = 0;
    enum { N = 40000 };

    (void)state;
    for (size_t i = 0; i < N; i++) {
        double x = (log((double)request_length(&l, i)) - log(1e6)) / 0.5;

        sum += x;
        squares += x * x;
    }
    assert_close(sum / N, 0, 0.02);
    assert_close(squares / N, 1, 0.03);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(rows_are_kept_as_they_stand),
        TEST(count_repeats_in_order),
        TEST(public_sets_load),
        TEST(every_fault_is_named),
        TEST(bad_json_names_its_column),
        TEST(many_faults_are_counted),
        TEST(messages_do_not_fit_completions),
        TEST(missing_file_names_the_plan_line),
        TEST(a_line_has_its_own_length),
        TEST(members_of_a_body_are_sent),
        TEST(what_is_not_sent_is_told),
        TEST(many_columns_are_counted),
        TEST(no_position_lets_bad_text_through),
        TEST(every_text_that_is_sent_is_looked_at),
        TEST(a_pipe_is_read_once),
        TEST(a_file_that_changes_later_changes_nothing),
        TEST(other_forms_are_named),
        TEST(commands_can_be_pasted),
        TEST(lognormal_lengths),
        TEST(lognormal_has_its_moments),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
