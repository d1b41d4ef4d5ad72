/* The documents and the program say the same: every word that a result can hold is explained, every decision stands in
 * the section of docs/METHOD.md that it names, every test that is named there exists, every reference to a section
 * meets one. Where the method's source page lies beside the project, sections and codes are held against it, too. */
#include "check.h"
#include <ctype.h>
#include <fts.h>
#include <stdlib.h>
#include "base/arena.h"
#include "base/buf.h"
#include "model/method.h"
#include "model/record.h"
#include "model/result.h"

enum { SECTIONS = 12 };

struct documents {
    struct arena a;
    struct span method, checks, format;
    struct span source; /* of the method; empty: not here */
};

static struct span read_file(struct arena *a, const char *path)
{
    FILE *f = fopen(path, "r");
    if (!f)
        return (struct span){0};
    struct buf b = {0};
    char piece[65536];
    for (size_t n; (n = fread(piece, 1, sizeof piece, f)) > 0;)
        buf_add(&b, piece, n);
    fclose(f);
    struct span text = {arena_copy(a, b.p, b.n), b.n};
    buf_done(&b);
    return text;
}

static int setup(void **state)
{
    struct documents *d = calloc(1, sizeof *d);
    d->method = read_file(&d->a, JTOK_SOURCE "/docs/METHOD.md");
    d->checks = read_file(&d->a, JTOK_SOURCE "/docs/CHECKS.md");
    d->format = read_file(&d->a, JTOK_SOURCE "/docs/FORMAT.md");
    d->source = read_file(&d->a, JTOK_SHARED "/METHOD.md");
    *state = d;
    return !(d->method.n && d->checks.n && d->format.n);
}

static int teardown(void **state)
{
    struct documents *d = *state;
    arena_done(&d->a);
    free(d);
    return 0;
}

/* ---- text ---- */

static const char *find(struct span s, const char *word)
{
    return s.n ? memmem(s.p, s.n, word, strlen(word)) : NULL;
}

static struct span behind(struct span s, const char *at)
{
    return (struct span){at, (size_t)(s.p + s.n - at)};
}

static struct span line_at(struct span s)
{
    const char *end = memchr(s.p, '\n', s.n);
    return (struct span){s.p, end ? (size_t)(end - s.p) : s.n};
}

/* From the heading "## N. " to the next "## ". */
static struct span section(struct arena *a, struct span document, int number)
{
    const char *from = find(document, arena_format(a, "\n## %d. ", number));
    if (!from)
        return (struct span){0};
    struct span rest = behind(document, from + 1);
    const char *end = find(rest, "\n## ");
    return (struct span){rest.p, end ? (size_t)(end - rest.p) : rest.n};
}

static void stands(struct arena *a, struct span document, const char *name, const char *word)
{
    if (find(document, arena_format(a, "`%s`", word)))
        return;
    print_error("`%s` does not stand in %s.\n", word, name);
    fail();
}

static void all_stand(struct arena *a, struct span document, const char *name, const char *const *words)
{
    for (; *words; words++)
        stands(a, document, name, *words);
}

/* ---- words ---- */

/* Codes have sections of their own in docs/CHECKS.md. */
static void enums_stand(struct documents *d, const struct schema *s)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct field *f = &s->fields[i];
        bool code = f->names == check_code_names || f->names == flag_code_names;
        if (f->type == FIELD_ENUM && !code)
            all_stand(&d->a, d->format, "docs/FORMAT.md", f->names);
        if (f->sub)
            enums_stand(d, f->sub);
    }
}

static void every_word_is_explained(void **state)
{
    struct documents *d = *state;
    enums_stand(d, &result_schema);
    enums_stand(d, &result_request_schema);
    enums_stand(d, &result_window_schema);
    static const char *const *const of_records[] = {boundary_names,   verdict_names,     request_stage_names,
                                                    chunk_kind_names, chunk_stamp_names, check_outcome_names,
                                                    q_state_names};
    for (size_t i = 0; i < sizeof of_records / sizeof *of_records; i++)
        all_stand(&d->a, d->format, "docs/FORMAT.md", of_records[i]);
    all_stand(&d->a, d->checks, "docs/CHECKS.md", check_outcome_names);
    all_stand(&d->a, section(&d->a, d->method, 8), "section 8 of docs/METHOD.md", check_outcome_names);
    all_stand(&d->a, section(&d->a, d->method, 1), "section 1 of docs/METHOD.md", q_state_names);
    all_stand(&d->a, section(&d->a, d->method, 5), "section 5 of docs/METHOD.md", rule_names);
}

/* ---- codes ---- */

enum { CODES_MAX = 64 };

/* The words in backticks in the first column of section 8's table with that head, in order. */
static size_t first_column(struct arena *a, struct span document, const char *head, struct span *ret)
{
    struct span s = section(a, document, 8);
    const char *at = find(s, arena_format(a, "\n| %s |", head));
    assert_non_null(at);
    size_t n = 0;
    for (struct span rest = behind(s, at + 1); rest.n && *rest.p == '|';) {
        struct span line = line_at(rest);
        const char *end = memchr(line.p + 1, '|', line.n - 1);
        for (const char *p = line.p; end && (p = memchr(p, '`', (size_t)(end - p)));) {
            const char *close = memchr(p + 1, '`', (size_t)(end - p - 1));
            assert_non_null(close);
            assert_true(n < CODES_MAX);
            ret[n++] = (struct span){p + 1, (size_t)(close - p - 1)};
            p = close + 1;
        }
        rest = behind(rest, line.p + line.n < rest.p + rest.n ? line.p + line.n + 1 : rest.p + rest.n);
    }
    return n;
}

static void same_words(const struct span *words, size_t n, const char *const *names, const char *where)
{
    size_t count = 0;
    for (; names[count]; count++) {
        size_t i = 0;
        while (i < n && !span_is(words[i], names[count]))
            i++;
        if (i == n)
            print_error("%s does not stand in the table of section 8 of %s.\n", names[count], where);
        assert_true(i < n);
    }
    for (size_t i = 0; i < n; i++)
        if (name_index(names, words[i]) < 0) {
            print_error("%.*s stands in section 8 of %s, and the program does not know it.\n", SPAN_ARG(words[i]),
                        where);
            fail();
        }
    assert_int_equal(n, count);
}

static void codes_are_those_of(struct documents *d, struct span document, const char *where)
{
    struct span words[CODES_MAX];
    same_words(words, first_column(&d->a, document, "excludes | when", words), check_code_names, where);
    same_words(words, first_column(&d->a, document, "marks | effect", words), flag_code_names, where);
}

/* docs/CHECKS.md has a section for each word, in that order. Returns where the last one begins. */
static const char *sections_follow(struct documents *d, const char *from, const struct span *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *heading = arena_format(&d->a, "\n### `%.*s`\n", SPAN_ARG(words[i]));
        const char *at = find(behind(d->checks, from), heading);
        if (!at)
            print_error("docs/CHECKS.md has no section %.*s, or not where it stands in METHOD.\n", SPAN_ARG(words[i]));
        assert_non_null(at);
        from = at + 1;
    }
    return from;
}

static void codes_are_the_methods(void **state)
{
    struct documents *d = *state;
    struct span words[CODES_MAX];
    codes_are_those_of(d, d->method, "docs/METHOD.md");
    const char *at = d->checks.p;
    at = sections_follow(d, at, words, first_column(&d->a, d->method, "excludes | when", words));
    sections_follow(d, at, words, first_column(&d->a, d->method, "marks | effect", words));
}

/* Behind its heading, docs/CHECKS.md says of each code what the program says. */
static void meaning_stands(struct documents *d, const char *name, const char *meaning)
{
    const char *part = arena_format(&d->a, "\n### `%s`\n\n%s\n", name, meaning);
    if (!find(d->checks, part))
        print_error("docs/CHECKS.md does not say of %s: \"%s\"\n", name, meaning);
    assert_non_null(find(d->checks, part));
}

static void meanings_are_the_same(void **state)
{
    struct documents *d = *state;
    for (int i = 0; i < CODE_COUNT; i++)
        meaning_stands(d, check_code_names[i], check_code_meaning((enum check_code)i));
    for (int i = 0; i < FLAG_COUNT; i++)
        meaning_stands(d, flag_code_names[i], flag_code_meaning((enum flag_code)i));
}

/* ---- decisions ---- */

static const struct method_decision *decision_of(struct span id)
{
    for (size_t i = 0; i < method_decision_count; i++)
        if (span_is(id, method_decisions[i].id))
            return &method_decisions[i];
    return NULL;
}

/* Each **[D]** of a section is followed by the name of a decision of that section; each decision stands once. */
static void decisions_stand_in_their_sections(void **state)
{
    struct documents *d = *state;
    static const char TAG[] = "**[D]** `";
    size_t found = 0;
    bool seen[256] = {false};
    assert_true(method_decision_count < sizeof seen);
    for (int number = 1; number <= SECTIONS; number++) {
        struct span s = section(&d->a, d->method, number);
        for (const char *p; (p = find(s, "[D]"));) {
            const char *tag = find((struct span){p - 2, (size_t)(s.p + s.n - p + 2)}, TAG);
            if (tag != p - 2)
                print_error("section %d: \"%.60s\" is not tagged with the name of its decision.\n", number, p - 2);
            assert_true(tag == p - 2);
            struct span id = {tag + strlen(TAG), strcspn(tag + strlen(TAG), "`")};
            const struct method_decision *x = decision_of(id);
            if (!x || strcmp(x->section, arena_format(&d->a, "%d", number)) != 0 || seen[x - method_decisions])
                print_error("section %d: %.*s is not a decision of this section, or stands there twice.\n", number,
                            SPAN_ARG(id));
            assert_non_null(x);
            assert_string_equal(x->section, arena_format(&d->a, "%d", number));
            assert_false(seen[x - method_decisions]);
            seen[x - method_decisions] = true;
            found++;
            s = behind(s, id.p);
        }
    }
    for (size_t i = 0; i < method_decision_count; i++) {
        if (!seen[i])
            print_error("%s does not stand in docs/METHOD.md.\n", method_decisions[i].id);
        assert_true(seen[i]);
    }
    assert_int_equal(found, method_decision_count);
}

/* A decision's name begins with its section's subject. */
static void decisions_are_named_by_their_sections(void **state)
{
    (void)state;
    static const char *const subjects[] = {[1] = "clock", "energy",  "stage", "request", "attribution",
                                           "steady",      "metrics", "check", "compare"};
    for (size_t i = 0; i < method_decision_count; i++) {
        const struct method_decision *x = &method_decisions[i];
        int number = x->section[0] - '0';
        assert_true(number >= 1 && number <= 9 && !x->section[1]);
        size_t n = strlen(subjects[number]);
        assert_true(strncmp(x->id, subjects[number], n) == 0 && x->id[n] == '.');
        assert_true(x->text[0] && x->text[strlen(x->text) - 1] == '.');
    }
}

/* ---- formulas ---- */

/* "(2.10)" at p, or empty. */
static struct span formula_at(const char *p)
{
    size_t digits = 0, n = 1;
    if (*p != '(' || !isdigit((unsigned char)p[n]))
        return (struct span){0};
    for (; isdigit((unsigned char)p[n]); n++)
        ;
    if (p[n++] != '.')
        return (struct span){0};
    for (; isdigit((unsigned char)p[n]); n++)
        digits++;
    return digits && p[n] == ')' ? (struct span){p, n + 1} : (struct span){0};
}

/* A formula is defined at the head of a line of its own, or of a row; numbers follow each other within a section, and
 * whatever is referred to is defined. */
static void formulas_are_numbered(void **state)
{
    struct documents *d = *state;
    struct buf defined = {0};
    for (int number = 1; number <= SECTIONS; number++) {
        struct span s = section(&d->a, d->method, number);
        int next = 1;
        for (const char *p = s.p; p < s.p + s.n; p++) {
            struct span f = formula_at(p);
            const char *head = p;
            while (f.n && head > s.p && (head[-1] == ' ' || head[-1] == '|'))
                head--;
            bool defines = f.n && head < p - 1 && head[-1] == '\n';
            if (!defines)
                continue;
            if (!span_is(f, arena_format(&d->a, "(%d.%d)", number, next)))
                print_error("section %d: formula %.*s stands where (%d.%d) should.\n", number, SPAN_ARG(f), number,
                            next);
            assert_true(span_is(f, arena_format(&d->a, "(%d.%d)", number, next)));
            buf_fmt(&defined, "%.*s", SPAN_ARG(f));
            next++;
        }
    }
    const struct span documents[] = {d->method, d->checks, d->format};
    struct span all = {defined.p, defined.n};
    assert_true(all.n > 0);
    for (size_t i = 0; i < 3; i++)
        for (const char *p = section(&d->a, documents[i], 1).n ? section(&d->a, documents[i], 1).p : documents[i].p;
             p < documents[i].p + documents[i].n; p++) {
            struct span f = formula_at(p);
            const char *text = f.n ? arena_format(&d->a, "%.*s", SPAN_ARG(f)) : NULL;
            if (text && !find(all, text))
                print_error("Formula %s is not defined in docs/METHOD.md.\n", text);
            assert_true(!text || find(all, text));
        }
    buf_done(&defined);
}

/* ---- tests ---- */

/* "unit.analysis.energy" is tests/unit/analysis/test_energy.c. */
static struct span test_file(struct arena *a, struct span name)
{
    const char *dot = memrchr(name.p, '.', name.n);
    struct span folder = {name.p, (size_t)(dot - name.p)}, stem = behind(name, dot + 1);
    char *path = arena_copy(a, folder.p, folder.n);
    for (char *p = path; *p; p++)
        *p = *p == '.' ? '/' : *p;
    bool recordings = span_is(name, "golden.recordings");
    return read_file(a, arena_format(a, JTOK_SOURCE "/tests/%s/test_%.*s.c", path, recordings ? 6 : (int)stem.n,
                                     recordings ? "golden" : stem.p));
}

/* Of what stands in italics and begins with the name of a test program, every name in backticks is one of its tests. */
static void tests_that_are_named_exist(void **state)
{
    struct documents *d = *state;
    static const char *const groups[] = {"unit.", "golden.", "cli.", "program.", "engine."};
    size_t named = 0;
    struct span file = {0};
    bool inside = false;
    const char *begin = section(&d->a, d->method, 1).p;
    for (const char *p = begin; p < d->method.p + d->method.n; p++) {
        for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
            struct span rest = behind(d->method, p);
            if ((p[-1] != '*' && !(inside && p[-1] == ' ')) || !span_starts(rest, groups[i]))
                continue;
            struct span name = {p, strspn(p, "abcdefghijklmnopqrstuvwxyz0123456789_.")};
            file = test_file(&d->a, name);
            if (!file.n)
                print_error("docs/METHOD.md names %.*s, and there is no such test.\n", SPAN_ARG(name));
            assert_true(file.n > 0);
            inside = true;
        }
        if (inside && *p == '*')
            inside = false;
        if (inside && *p == '`') {
            struct span name = {p + 1, strcspn(p + 1, "`")};
            const char *text = arena_format(&d->a, "(%.*s", SPAN_ARG(name));
            const char *at = find(file, text);
            bool whole = at && strchr("),", at[name.n + 1]);
            if (!whole)
                print_error("docs/METHOD.md names the test %.*s, which is not there.\n", SPAN_ARG(name));
            assert_true(whole);
            named++;
            p = name.p + name.n;
        }
    }
    assert_true(named > 50);
}

/* ---- references ---- */

#define BREAK " \n*/" /* what may stand between words of a comment */

/* A name that a comment's line break divides, as it is. */
static const char *unbroken(struct arena *a, struct span name)
{
    char *text = arena_copy(a, name.p, name.n), *to = text;
    for (const char *p = text; *p;) {
        size_t gap = strspn(p, BREAK);
        if (gap)
            *to++ = ' ';
        else
            *to++ = *p;
        p += gap ? gap : 1;
    }
    *to = 0;
    return text;
}

/* Behind "METHOD section": each number that follows, and a name in quotation marks, which must stand in that section.
 */
static void check_reference(struct documents *d, struct span file, const char *at, const char *path)
{
    const char *p = at + strlen("METHOD"), *end = file.p + file.n;
    p += strspn(p, BREAK);
    if (end - p < 9 || strncmp(p, "section", 7) != 0)
        return;
    p += 7 + (p[7] == 's');
    for (bool more = true; more;) {
        p += strspn(p, BREAK);
        char *after;
        long number = strtol(p, &after, 10);
        struct span s = number >= 1 && number <= SECTIONS ? section(&d->a, d->method, (int)number) : (struct span){0};
        if (!s.n)
            print_error("%s refers to METHOD section %.12s, which is not there.\n", path, p);
        assert_true(s.n > 0);
        p = after;
        size_t joint = strncmp(p, ", ", 2) == 0 ? 2 : strncmp(p, " and ", 5) == 0 ? 5 : 0;
        more = joint && isdigit((unsigned char)p[joint]);
        if (strncmp(p, ", \"", 3) == 0) {
            const char *name = unbroken(&d->a, (struct span){p + 3, strcspn(p + 3, "\"")});
            if (!find(s, name))
                print_error("%s refers to \"%s\" of METHOD section %ld, where it does not stand.\n", path, name,
                            number);
            assert_non_null(find(s, name));
        }
        p += joint;
    }
}

static void references_meet_a_section(void **state)
{
    struct documents *d = *state;
    static const char *const roots[] = {"src", "docs", "tests", "sim", "bench", "README.md", "CONTRIBUTING.md"};
    char *paths[sizeof roots / sizeof *roots + 1] = {NULL};
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++)
        paths[i] = arena_format(&d->a, JTOK_SOURCE "/%s", roots[i]);
    FTS *walk = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    size_t references = 0;
    assert_non_null(walk);
    for (FTSENT *x; (x = fts_read(walk));) {
        const char *dot = strrchr(x->fts_name, '.');
        if (x->fts_info != FTS_F || !dot || (strcmp(dot, ".c") && strcmp(dot, ".h") && strcmp(dot, ".md")))
            continue;
        if (strcmp(x->fts_name, "test_documents.c") == 0)
            continue;
        struct arena a = {0};
        struct span file = read_file(&a, x->fts_path), rest = file;
        for (const char *p; (p = find(rest, "METHOD"));) {
            check_reference(d, file, p, x->fts_path);
            references++;
            rest = behind(file, p + 1);
        }
        arena_done(&a);
    }
    fts_close(walk);
    assert_true(references > 50);
}

/* ---- the method's source ---- */

/* Headings of a document from section 1 on, one a line, without a tag behind them. */
static void put_headings(struct buf *b, struct arena *a, struct span document)
{
    struct span rest = behind(document, section(a, document, 1).p);
    while (rest.n) {
        struct span line = line_at(rest);
        if (span_starts(line, "## ") || span_starts(line, "### ")) {
            const char *tag = find(line, " **[D]**");
            line.n = tag ? (size_t)(tag - line.p) : line.n;
            buf_fmt(b, "%.*s\n", SPAN_ARG(line));
        }
        rest = line.n == rest.n ? (struct span){0} : behind(rest, line.p + line_at(rest).n + 1);
    }
}

static void sections_are_those_of_the_source(void **state)
{
    struct documents *d = *state;
    if (!d->source.n) {
        print_message("The method's source is not beside the project: skipped.\n");
        skip();
    }
    struct buf ours = {0}, theirs = {0};
    put_headings(&ours, &d->a, d->method);
    put_headings(&theirs, &d->a, d->source);
    assert_string_equal(buf_text(&ours), buf_text(&theirs));
    buf_done(&ours);
    buf_done(&theirs);
    codes_are_those_of(d, d->source, "the method's source");
    /* Each [D] of the source is one decision or several; what is not built yet (section 11) has none. */
    for (int number = 1; number < 11; number++) {
        size_t theirs_n = 0, ours_n = 0;
        struct span rest = section(&d->a, d->source, number);
        for (const char *p; (p = find(rest, "[D]")); rest = behind(rest, p + 1))
            theirs_n++;
        for (size_t i = 0; i < method_decision_count; i++)
            ours_n += strcmp(method_decisions[i].section, arena_format(&d->a, "%d", number)) == 0;
        if (ours_n < theirs_n)
            print_error("Section %d of the source decides %zu times, the program %zu.\n", number, theirs_n, ours_n);
        assert_true(ours_n >= theirs_n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_word_is_explained),
        cmocka_unit_test(codes_are_the_methods),
        cmocka_unit_test(meanings_are_the_same),
        cmocka_unit_test(decisions_stand_in_their_sections),
        cmocka_unit_test(decisions_are_named_by_their_sections),
        cmocka_unit_test(formulas_are_numbered),
        cmocka_unit_test(tests_that_are_named_exist),
        cmocka_unit_test(references_meet_a_section),
        cmocka_unit_test(sections_are_those_of_the_source),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
