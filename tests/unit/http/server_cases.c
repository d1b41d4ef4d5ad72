#include "server_cases.h"

#include <stdlib.h>
#include "base/buf.h"
#include "base/num.h"
#include "check.h"

#define CASES_FILE JTOK_SOURCE "/tests/unit/http/server.cases"

enum { DEFINITIONS_MAX = 40, GROUPS_MAX = 8, GROUP_LINES_MAX = 16, STEPS_MAX = 32, CASES_MAX = 400, ARGUMENTS = 2 };

struct definition {
    struct span name, text;
};

struct group {
    struct span name, lines[GROUP_LINES_MAX];
    size_t n;
};

struct reader {
    struct arena *arena;
    unsigned line; /* for messages */
    struct definition definitions[DEFINITIONS_MAX];
    size_t definition_count;
    struct group groups[GROUPS_MAX];
    size_t group_count;
    bool in_group, wanted; /* within `steps`; within the part that is asked for */
    struct server_case *list;
    size_t n;
    struct step steps[STEPS_MAX]; /* of the case in hand */
    size_t step_count;
};

#define wrong(r, ...)                                                                                                  \
    do {                                                                                                               \
        print_error(CASES_FILE ":%u: ", (r)->line);                                                                    \
        print_error(__VA_ARGS__);                                                                                      \
        print_error("\n");                                                                                             \
        fail();                                                                                                        \
    } while (0)

/* ---- texts ---- */

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

static struct span take(struct span *text, size_t n)
{
    struct span front = {text->p, n};
    text->p += n;
    text->n -= n;
    return front;
}

static void put_escape(struct reader *r, struct span *text, struct buf *b)
{
    static const char names[] = "rnt\\$", bytes[] = "\r\n\t\\$";
    take(text, 1);
    const char *at = text->n ? memchr(names, *text->p, sizeof names - 1) : NULL;
    if (at) {
        buf_byte(b, bytes[at - names]);
        take(text, 1);
        return;
    }
    if (text->n < 3 || *text->p != 'x')
        wrong(r, "no such escape: \\%.*s", (int)(text->n < 3 ? text->n : 3), text->p);
    take(text, 1);
    char hex[3] = {text->p[0], text->p[1], 0}, *end;
    buf_byte(b, (char)strtoul(hex, &end, 16));
    if (end != hex + 2)
        wrong(r, "\\x wants two hex digits, not %s", hex);
    take(text, 2);
}

/* What stands in the brackets in front of `text`, those within it in pairs. */
static struct span take_brackets(struct reader *r, struct span *text)
{
    size_t depth = 0;
    for (size_t i = 0; i < text->n; i++) {
        depth += text->p[i] == '(';
        depth -= text->p[i] == ')';
        if (depth == 0) {
            struct span all = take(text, i + 1);
            return (struct span){all.p + 1, all.n - 2};
        }
    }
    wrong(r, "a bracket is not closed");
    return (struct span){0};
}

static void expand(struct reader *r, struct span text, const struct span *arguments, struct buf *b);

static struct span expanded(struct reader *r, struct span text, const struct span *arguments)
{
    struct buf b = {0};
    expand(r, text, arguments, &b);
    struct span done = {arena_copy(r->arena, b.p, b.n), b.n};
    buf_done(&b);
    return done;
}

static struct span definition(struct reader *r, struct span name)
{
    for (size_t i = 0; i < r->definition_count; i++)
        if (r->definitions[i].name.n == name.n && memcmp(r->definitions[i].name.p, name.p, name.n) == 0)
            return r->definitions[i].text;
    wrong(r, "nothing is defined as \"%.*s\"", SPAN_ARG(name));
    return (struct span){0};
}

static void put_name(struct reader *r, struct span *text, const struct span *arguments, struct buf *b)
{
    take(text, 1);
    bool braces = text->n && *text->p == '{';
    take(text, braces);
    size_t n = 0;
    while (n < text->n && is_name(text->p[n]))
        n++;
    struct span name = take(text, n);
    if (braces && (!text->n || *text->p != '}'))
        wrong(r, "the brace behind ${%.*s is missing", SPAN_ARG(name));
    take(text, braces);
    if (span_is(name, "1") || span_is(name, "2")) {
        struct span a = arguments[name.p[0] - '1'];
        buf_add(b, a.p, a.n);
        return;
    }
    struct span given[ARGUMENTS] = {{"", 0}, {"", 0}};
    if (!braces && text->n && *text->p == '(') {
        struct span inner = take_brackets(r, text);
        const char *bar = memchr(inner.p, '|', inner.n);
        size_t first = bar ? (size_t)(bar - inner.p) : inner.n;
        given[0] = expanded(r, (struct span){inner.p, first}, arguments);
        if (bar)
            given[1] = expanded(r, (struct span){bar + 1, inner.n - first - 1}, arguments);
    }
    expand(r, definition(r, name), given, b);
}

static void expand(struct reader *r, struct span text, const struct span *arguments, struct buf *b)
{
    while (text.n) {
        if (*text.p == '\\')
            put_escape(r, &text, b);
        else if (*text.p == '$')
            put_name(r, &text, arguments, b);
        else
            buf_byte(b, *take(&text, 1).p);
    }
}

static struct span text_of(struct reader *r, struct span text)
{
    static const struct span none[ARGUMENTS] = {{"", 0}, {"", 0}};
    return expanded(r, text, none);
}

/* ---- steps ---- */

/* The word in front, and the blank behind it. */
static struct span take_word(struct span *text)
{
    const char *blank = text->n ? memchr(text->p, ' ', text->n) : NULL;
    struct span word = take(text, blank ? (size_t)(blank - text->p) : text->n);
    if (text->n)
        take(text, 1);
    return word;
}

static int64_t take_number(struct reader *r, struct span *text)
{
    struct span word = take_word(text);
    int64_t n = 0;
    if (!num_i64(word, &n))
        wrong(r, "a number is missing: \"%.*s\"", SPAN_ARG(word));
    return n;
}

static void add_step(struct reader *r, struct step s)
{
    if (r->step_count == STEPS_MAX - 1)
        wrong(r, "a case has at most %d steps", STEPS_MAX - 1);
    r->steps[r->step_count++] = s;
}

static void read_step(struct reader *r, struct span line);

static void use_group(struct reader *r, struct span name)
{
    for (size_t i = 0; i < r->group_count; i++) {
        const struct group *g = &r->groups[i];
        if (g->name.n != name.n || memcmp(g->name.p, name.p, name.n) != 0)
            continue;
        for (size_t k = 0; k < g->n; k++)
            read_step(r, g->lines[k]);
        return;
    }
    wrong(r, "no steps are called \"%.*s\"", SPAN_ARG(name));
}

static void more_text(struct reader *r, struct span text)
{
    if (!r->step_count)
        wrong(r, "there is no line to go on with");
    struct step *s = &r->steps[r->step_count - 1];
    struct buf b = {0};
    struct span more = text_of(r, text);
    buf_add(&b, s->text.p, s->text.n);
    buf_add(&b, more.p, more.n);
    s->text = (struct span){arena_copy(r->arena, b.p, b.n), b.n};
    buf_done(&b);
}

static void read_step(struct reader *r, struct span line)
{
    static const char *const ends[] = {"close", "reset", "shut", "silent"};
    struct span verb = take_word(&line);
    if (span_is(verb, "+")) {
        more_text(r, line);
    } else if (span_is(verb, "use")) {
        use_group(r, line);
    } else if (span_is(verb, "send")) {
        add_step(r, (struct step){.kind = STEP_SEND, .text = text_of(r, line)});
    } else if (span_is(verb, "chunk")) {
        add_step(r, (struct step){.kind = STEP_CHUNK, .text = text_of(r, line)});
    } else if (span_is(verb, "repeat")) {
        int64_t n = take_number(r, &line);
        add_step(r, (struct step){.kind = STEP_REPEAT, .text = text_of(r, line), .n = n});
    } else if (span_is(verb, "wait")) {
        add_step(r, (struct step){.kind = STEP_WAIT, .n = take_number(r, &line)});
    } else {
        int i = 0;
        while (i < 4 && !span_is(verb, ends[i]))
            i++;
        if (i == 4)
            wrong(r, "no such line: \"%.*s\"", SPAN_ARG(verb));
        add_step(r, (struct step){.kind = STEP_CLOSE + (enum step_kind)i});
    }
}

/* ---- what is expected ---- */

static unsigned note_of(struct reader *r, struct span name)
{
    static const struct {
        const char *name;
        unsigned note;
    } notes[] = {{"no_done", NOTE_NO_DONE},
                 {"content_type", NOTE_CONTENT_TYPE},
                 {"reopened", NOTE_REOPENED},
                 {"after_done", NOTE_AFTER_DONE},
                 {"reset_after_done", NOTE_RESET_AFTER_DONE}};
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        if (span_is(name, notes[i].name))
            return notes[i].note;
    wrong(r, "no such note: \"%.*s\"", SPAN_ARG(name));
    return 0;
}

static enum verdict verdict_of(struct reader *r, struct span name)
{
    for (int i = 0; i < VERDICT_COUNT; i++)
        if (span_is(name, verdict_names[i]))
            return (enum verdict)i;
    wrong(r, "no such verdict: \"%.*s\"", SPAN_ARG(name));
    return VERDICT_OK;
}

static void read_expected(struct reader *r, struct server_case *c, struct span line)
{
    struct span verdict = take_word(&line);
    verdict.n -= verdict.n && verdict.p[verdict.n - 1] == ':';
    c->verdict = verdict_of(r, verdict);
    while (line.n) {
        const char *comma = memchr(line.p, ',', line.n);
        struct span item = take(&line, comma ? (size_t)(comma - line.p) : line.n), key = take_word(&item);
        take(&line, comma ? 2 : 0);
        if (span_is(key, "tokens"))
            c->tokens = take_number(r, &item);
        else if (span_is(key, "chunks"))
            c->chunks = take_number(r, &item);
        else if (span_is(key, "status"))
            c->status = span_is(item, "none") ? -1 : (int)take_number(r, &item);
        else if (span_is(key, "note"))
            c->notes |= note_of(r, item);
        else
            wrong(r, "\"%.*s\" can't be expected", SPAN_ARG(key));
    }
}

/* ---- the file ---- */

static void end_case(struct reader *r)
{
    if (!r->step_count)
        return;
    r->steps[r->step_count++] = (struct step){.kind = STEP_END};
    struct step *steps = arena_array(r->arena, r->step_count, sizeof *steps);
    memcpy(steps, r->steps, r->step_count * sizeof *steps);
    if (r->wanted)
        r->list[r->n - 1].steps = steps;
    r->step_count = 0;
}

static void begin_case(struct reader *r, struct span name)
{
    if (!r->wanted)
        return;
    if (r->n == CASES_MAX)
        wrong(r, "more than %d cases", CASES_MAX);
    r->list[r->n++] = (struct server_case){
        .name = arena_copy(r->arena, name.p, name.n), .tokens = ABSENT_I64, .max_tokens = ABSENT_I64, .status = 200};
}

static void define(struct reader *r, struct span line)
{
    struct span name = take_word(&line);
    if (r->definition_count == DEFINITIONS_MAX || !span_starts(line, "= "))
        wrong(r, "expected `let NAME = TEXT`, at most %d times", DEFINITIONS_MAX);
    take(&line, 2);
    r->definitions[r->definition_count++] = (struct definition){name, line};
}

static void begin_group(struct reader *r, struct span name)
{
    if (r->group_count == GROUPS_MAX)
        wrong(r, "more than %d groups of steps", GROUPS_MAX);
    r->groups[r->group_count++] = (struct group){.name = name};
    r->in_group = true;
}

static void read_heading(struct reader *r, struct span line, const char *part)
{
    struct span verb = take_word(&line);
    end_case(r);
    r->in_group = false;
    if (span_is(verb, "part"))
        r->wanted = span_is(line, part);
    else if (span_is(verb, "let"))
        define(r, line);
    else if (span_is(verb, "steps"))
        begin_group(r, line);
    else if (span_is(verb, "case"))
        begin_case(r, line);
    else
        wrong(r, "no such line: \"%.*s\"", SPAN_ARG(verb));
}

/* A line that belongs to what the last heading began. */
static void read_inner(struct reader *r, struct span line)
{
    if (r->in_group) {
        struct group *g = &r->groups[r->group_count - 1];
        if (g->n == GROUP_LINES_MAX)
            wrong(r, "more than %d lines in one group", GROUP_LINES_MAX);
        g->lines[g->n++] = line;
        return;
    }
    if (!r->wanted)
        return;
    if (!r->n)
        wrong(r, "this line stands in no case");
    struct server_case *c = &r->list[r->n - 1];
    struct span rest = line, verb = take_word(&rest);
    if (span_is(verb, "expect"))
        read_expected(r, c, rest);
    else if (span_is(verb, "detail"))
        c->detail = text_of(r, rest).p;
    else if (span_is(verb, "max_tokens"))
        c->max_tokens = take_number(r, &rest);
    else
        read_step(r, line);
}

static void read_file(struct buf *b)
{
    FILE *f = fopen(CASES_FILE, "re");
    if (!f)
        fail_msg("%s can't be opened", CASES_FILE);
    for (size_t n = 1; n > 0; b->n += n) {
        buf_reserve(b, 65536);
        n = fread(b->p + b->n, 1, 65536, f);
    }
    fclose(f);
}

void server_cases_load(struct server_cases *ret_cases, const char *part)
{
    *ret_cases = (struct server_cases){0};
    struct buf b = {0};
    read_file(&b);
    struct reader r = {.arena = &ret_cases->arena};
    r.list = arena_array(r.arena, CASES_MAX, sizeof *r.list);
    struct span rest = {arena_copy(r.arena, b.p, b.n), b.n};
    buf_done(&b);
    while (rest.n) {
        const char *end = memchr(rest.p, '\n', rest.n);
        struct span line = take(&rest, end ? (size_t)(end - rest.p) : rest.n);
        take(&rest, end ? 1 : 0);
        r.line++;
        if (line.n == 0 || *line.p == '#')
            continue;
        bool heading = *line.p != ' ';
        while (line.n && *line.p == ' ')
            take(&line, 1);
        if (heading)
            read_heading(&r, line, part);
        else if (line.n)
            read_inner(&r, line);
    }
    end_case(&r);
    ret_cases->list = r.list;
    ret_cases->n = r.n;
    assert_true(r.n > 0);
}

void server_cases_done(struct server_cases *c)
{
    arena_done(&c->arena);
}

const struct server_case *server_case_named(const struct server_cases *c, const char *name)
{
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->list[i].name, name) == 0)
            return &c->list[i];
    fail_msg("%s has no case \"%s\"", CASES_FILE, name);
    return NULL;
}

bool server_case_is_met(const struct server_case *c, const struct rec_request *r, const char *how)
{
    unsigned notes = r->notes & ~(unsigned)NOTE_STAMP_MISSING;
    bool detail =
        (r->verdict == VERDICT_OK) == !r->detail && (!c->detail || (r->detail && strstr(r->detail, c->detail)));
    if (r->verdict == c->verdict && notes == c->notes && r->completion_tokens == c->tokens &&
        r->token_chunks == c->chunks && r->status == c->status && detail)
        return true;
    print_error(
        "%s (%s): %s, expected %s; notes %u, expected %u; tokens %lld, expected %lld; chunks %lld, expected %lld; "
        "status %d, expected %d; detail: %s\n",
        c->name, how, verdict_names[r->verdict], verdict_names[c->verdict], notes, c->notes,
        (long long)r->completion_tokens, (long long)c->tokens, (long long)r->token_chunks, (long long)c->chunks,
        r->status, c->status, r->detail ? r->detail : "none");
    return false;
}
