/* What commands say of themselves: every option of every command is in its help, its man page and the completions of
 * all shells, which the shells and the formatters of this machine take without a word. */
#include "check.h"

#include <ctype.h>
#include <stdlib.h>
#include "base/columns.h"
#include "cli/help.h"

static struct buf all_helps(void)
{
    struct buf all = {0};
    help_program(&all);
    for (const struct command *const *c = commands; *c; c++)
        help_command(*c, &all);
    return all;
}

static void has(const char *text, const char *part, const char *where)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in %s:\n%s", part, where, text);
}

/* The next line of *text, without its end; null: there is none. */
static const char *next_line(const char **text, char *line, size_t size)
{
    size_t n = strcspn(*text, "\n");
    if (!**text)
        return NULL;
    assert_true(n < size);
    memcpy(line, *text, n);
    line[n] = 0;
    *text += n + ((*text)[n] == '\n');
    return line;
}

static void no_line_is_wider_than_a_terminal(void **state)
{
    (void)state;
    struct buf all = all_helps();
    char line[400];
    for (const char *p = buf_text(&all); next_line(&p, line, sizeof line);)
        if (columns_text(line) > HELP_COLUMNS)
            fail_msg("over %d columns: %s", HELP_COLUMNS, line);
    buf_done(&all);
}

static void it_is_plain_english(void **state)
{
    (void)state;
    static const char *const never[] = {" is no ", " are no ", "go on on", "`", "  -  "};
    struct buf all = all_helps();
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        if (strstr(buf_text(&all), never[i]))
            fail_msg("\"%s\" stands in a help text", never[i]);
    buf_done(&all);
}

static void expect_sentence(const char *text, const char *where)
{
    size_t n = strlen(text);
    if (!n || !isupper((unsigned char)text[0]) || text[n - 1] != '.')
        fail_msg("%s: not a sentence: %s", where, text);
}

static void each_text_has_the_form_of_its_kind(void **state)
{
    (void)state;
    for (const struct command *const *c = commands; *c; c++) {
        expect_sentence((*c)->summary, (*c)->name);
        if ((*c)->more)
            expect_sentence((*c)->more, (*c)->name);
        assert_true(islower((unsigned char)(*c)->brief[0]));
        assert_true((*c)->brief[strlen((*c)->brief) - 1] != '.');
        assert_non_null((*c)->example);
        for (size_t i = 0; i < (*c)->option_count; i++) {
            struct buf doc = {0};
            help_option_doc(&(*c)->options[i], &doc);
            expect_sentence(buf_text(&doc), (*c)->options[i].name);
            buf_done(&doc);
        }
    }
    for (size_t i = 0; i < exit_row_count; i++)
        expect_sentence(exit_rows[i].doc, "exit codes");
}

/* An option sets one thing, and no two options of a command have a name or a letter in common. */
static void the_tables_are_whole(void **state)
{
    (void)state;
    for (const struct command *const *c = commands; *c; c++) {
        int many = 0;
        for (size_t i = 0; i < (*c)->option_count; i++) {
            const struct option *o = &(*c)->options[i];
            many += o->many;
            assert_int_equal((o->field.key != NULL) + (o->plan_key != NULL) + o->many, 1);
            assert_int_equal(o->value == NULL, o->field.key && o->field.type == FIELD_BOOL);
            assert_int_equal(strncmp(o->name, "--", 2), 0);
            assert_true(o->letter != 'h');
            for (size_t k = 0; k < i; k++) {
                assert_string_not_equal(o->name, (*c)->options[k].name);
                assert_true(!o->letter || o->letter != (*c)->options[k].letter);
            }
        }
        assert_true(many <= 1); /* args.many has its values */
    }
}

/* "\-\-dry\-run" of "--dry-run". */
static const char *in_roff(const char *name, char *text)
{
    size_t n = 0;
    for (; *name; name++) {
        if (*name == '-')
            text[n++] = '\\';
        text[n++] = *name;
    }
    text[n] = 0;
    return text;
}

static void expect_option(const struct command *c, const struct option *o, const char *help, const char *man)
{
    char text[100], roff[100];
    if (o->letter)
        snprintf(text, sizeof text, "\n  -%c, %s", o->letter, o->name);
    else
        snprintf(text, sizeof text, "\n      %s", o->name);
    has(help, text, c->name);
    snprintf(text, sizeof text, "Fl %s", in_roff(o->name + 1, roff));
    has(man, text, c->name);
    if (o->letter) {
        snprintf(text, sizeof text, "\n.It Fl %c , Fl ", o->letter);
        has(man, text, c->name);
    }
}

static void help_and_man_page_have_every_option(void **state)
{
    (void)state;
    struct buf program = {0}, whole = {0};
    help_program(&program);
    man_program(&whole);
    for (const struct command *const *c = commands; *c; c++) {
        char text[100];
        snprintf(text, sizeof text, "\n  %s ", (*c)->name);
        has(buf_text(&program), text, "jtok --help");
        snprintf(text, sizeof text, "\n.It Xr jtok-%s 1\n", (*c)->name);
        has(buf_text(&whole), text, "jtok.1");
        struct buf help = {0}, man = {0};
        help_command(*c, &help);
        man_command(*c, &man);
        for (size_t i = 0; i < (*c)->option_count; i++)
            expect_option(*c, &(*c)->options[i], buf_text(&help), buf_text(&man));
        for (size_t i = 0; i < exit_row_count; i++) {
            snprintf(text, sizeof text, "\n.It %d\n", (int)exit_rows[i].code);
            assert_int_equal(strstr(buf_text(&man), text) != NULL, help_exits(*c, exit_rows[i].code));
        }
        buf_done(&help);
        buf_done(&man);
    }
    buf_done(&program);
    buf_done(&whole);
}

/* ---- through the programs that read them ---- */

/* What a command line prints, with its errors. */
static const char *printed(const char *command, char *text, size_t size)
{
    char line[1000];
    snprintf(line, sizeof line, "( %s ) 2>&1", command);
    FILE *f = popen(line, "r");
    assert_non_null(f);
    size_t n = fread(text, 1, size - 1, f);
    text[n] = 0;
    pclose(f);
    return text;
}

static void expect_silence(const char *folder, const char *command)
{
    char text[4000], line[600];
    snprintf(line, sizeof line, "cd %s && %s", folder, command);
    if (*printed(line, text, sizeof text))
        fail_msg("%s says:\n%s", command, text);
}

static void expect_completion(const char *folder, const char *words, const char *expected)
{
    char text[4000], line[800];
    snprintf(line, sizeof line,
             "bash -c '. %s/bash-completion/completions/jtok; COMP_WORDS=(%s); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); "
             "_jtok; echo \"${COMPREPLY[*]}\"'",
             folder, words);
    assert_string_equal(printed(line, text, sizeof text), expected);
}

static void readers_take_them_without_a_word(void **state)
{
    (void)state;
    char folder[] = "/tmp/jtok-docs-XXXXXX", words[] = "docs", *argv[] = {words, folder, NULL}, line[200];
    assert_non_null(mkdtemp(folder));
    assert_int_equal(command_run(&cmd_docs, 2, argv), EXIT_OK);
    assert_int_equal(command_run(&cmd_docs, 2, argv), EXIT_OK); /* over what is there */
    expect_silence(folder, "! command -v groff >/dev/null || groff -mdoc -ww -z man/man1/*");
    expect_silence(folder, "! command -v mandoc >/dev/null || mandoc -T lint -W warning man/man1/*");
    expect_silence(folder, "bash -n bash-completion/completions/jtok");
    expect_silence(folder, "! command -v zsh >/dev/null || zsh -n zsh/site-functions/_jtok");
    expect_silence(folder, "! command -v fish >/dev/null || fish -n fish/vendor_completions.d/jtok.fish");
    expect_completion(folder, "jtok ver", "verify\n");
    expect_completion(folder, "jtok run --out", "--output-tokens\n");
    expect_completion(folder, "jtok report --format j", "json\n");
    expect_completion(folder, "jtok report -f \"\"", "text json csv none svg\n");
    expect_completion(folder, "jtok run --engine v", "vllm\n");
    expect_completion(folder, "jtok report ru", "\n");
    expect_completion(folder, "jtok schema e", "estimate\n");
    expect_completion(folder, "jtok help an", "analyze\n");
    if (system("command -v fish >/dev/null") == 0) {
        char text[4000];
        snprintf(line, sizeof line, "fish -c \". %s/fish/vendor_completions.d/jtok.fish; complete -C 'jtok help an'\"",
                 folder);
        assert_string_equal(printed(line, text, sizeof text), "analyze\n");
    }
    snprintf(line, sizeof line, "rm -r %s", folder);
    assert_int_equal(system(line), 0);
}

static void completions_have_every_option(void **state)
{
    (void)state;
    struct buf bash = {0}, zsh = {0}, fish = {0};
    completion_bash(&bash);
    completion_zsh(&zsh);
    completion_fish(&fish);
    for (const struct command *const *c = commands; *c; c++) {
        char text[200];
        snprintf(text, sizeof text, "        %s)\n", (*c)->name);
        const char *in_bash = strstr(buf_text(&bash), text), *in_zsh = strstr(buf_text(&zsh), text);
        assert_true(in_bash && in_zsh);
        for (size_t i = 0; i < (*c)->option_count; i++) {
            const struct option *o = &(*c)->options[i];
            snprintf(text, sizeof text, "%s ", o->name);
            has(in_bash, text, "bash's completion");
            snprintf(text, sizeof text, "%s[", o->name);
            has(in_zsh, text, "zsh's completion");
            snprintf(text, sizeof text, "'__fish_seen_subcommand_from %s' -l %s", (*c)->name, o->name + 2);
            has(buf_text(&fish), text, "fish's completion");
        }
    }
    buf_done(&bash);
    buf_done(&zsh);
    buf_done(&fish);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_line_is_wider_than_a_terminal),    cmocka_unit_test(it_is_plain_english),
        cmocka_unit_test(each_text_has_the_form_of_its_kind),  cmocka_unit_test(the_tables_are_whole),
        cmocka_unit_test(help_and_man_page_have_every_option), cmocka_unit_test(completions_have_every_option),
        cmocka_unit_test(readers_take_them_without_a_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
