/* Man pages in mdoc, the macros that groff and mandoc both know. */
#include <stdio.h>
#include <string.h>
#include "base/must.h"
#include "cli/help.h"

/* Text as roff takes it: a backslash, a dash that a reader may copy, a point or quote at the start of a line. */
static void man_text(const char *text, struct buf *out)
{
    bool start = out->n == 0 || out->p[out->n - 1] == '\n';
    for (; *text; text++) {
        if (start && (*text == '.' || *text == '\''))
            buf_str(out, "\\&");
        start = *text == '\n';
        if (*text == '\\')
            buf_str(out, "\\e");
        else if (*text == '-')
            buf_str(out, "\\-");
        else
            buf_byte(out, *text);
    }
}

/* One sentence a line, as mdoc wants it. */
static void man_sentences(const char *text, struct buf *out)
{
    while (*text) {
        const char *end = strstr(text, ". ");
        size_t n = end ? (size_t)(end - text) + 1 : strlen(text);
        struct buf sentence = {0};
        buf_add(&sentence, text, n);
        man_text(buf_text(&sentence), out);
        buf_byte(out, '\n');
        buf_done(&sentence);
        text += n + strspn(text + n, " ");
    }
}

/* One paragraph a line of the table. */
static void man_paragraphs(const char *text, struct buf *out)
{
    while (*text) {
        struct buf paragraph = {0};
        size_t n = strcspn(text, "\n");
        buf_add(&paragraph, text, n);
        buf_str(out, ".Pp\n");
        man_sentences(buf_text(&paragraph), out);
        buf_done(&paragraph);
        text += n + (text[n] == '\n');
    }
}

/* The date stays as a keyword, for a page says the same whenever it is made; readers show the day. */
static void man_head(const char *name, const char *title, const char *brief, struct buf *out)
{
    buf_fmt(out, ".Dd $Mdocdate$\n.Dt %s 1\n.Os jtok " JTOK_VERSION "\n.Sh NAME\n.Nm %s\n.Nd ", title, name);
    man_text(brief, out);
    buf_byte(out, '\n');
}

static void man_option(const struct option *o, struct buf *out)
{
    buf_str(out, ".It ");
    if (o->letter)
        buf_fmt(out, "Fl %c , ", o->letter);
    buf_str(out, "Fl ");
    man_text(o->name + 1, out);
    if (o->value) {
        buf_str(out, " Ar ");
        man_text(o->value, out);
    }
    buf_byte(out, '\n');
    struct buf doc = {0};
    help_option_doc(o, &doc);
    man_sentences(buf_text(&doc), out);
    buf_done(&doc);
}

static void man_options(const struct command *c, struct buf *out)
{
    buf_str(out, ".Pp\nThe options are:\n.Bl -tag -width Ds\n");
    for (size_t i = 0; i < c->option_count; i++)
        man_option(&c->options[i], out);
    buf_str(out, ".It Fl h , Fl \\-help\nPrint a short form of this page.\n.El\n");
}

/* `c` null: all of them. */
static void man_exits(const struct command *c, struct buf *out)
{
    buf_str(out, ".Sh EXIT STATUS\n.Bl -tag -width Ds\n");
    for (size_t i = 0; i < exit_row_count; i++) {
        if (c && !help_exits(c, exit_rows[i].code))
            continue;
        buf_fmt(out, ".It %d\n", (int)exit_rows[i].code);
        man_sentences(exit_rows[i].doc, out);
    }
    buf_str(out, ".El\n");
}

static void man_example(const char *text, struct buf *out)
{
    buf_str(out, ".Sh EXAMPLES\n.Bd -literal\n");
    man_text(text, out);
    buf_str(out, "\n.Ed\n");
}

static void man_environment(struct buf *out)
{
    static const struct {
        const char *name, *doc;
    } variables[] = {
        {"JTOK_API_KEY", "Key that jtok sends to the engine as a bearer token. It is never recorded."},
        {"JTOK_NVML", "Path of NVML, if it is not in one of the usual places. A plan's power.library comes first."},
        {"NO_COLOR", "If this is set and not empty, the output has no colours."},
        {"TMPDIR", "Folder for the scratch files of a demo, instead of /tmp."},
    };
    buf_str(out, ".Sh ENVIRONMENT\n.Bl -tag -width Ds\n");
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        buf_fmt(out, ".It Ev %s\n", variables[i].name);
        man_sentences(variables[i].doc, out);
    }
    buf_str(out, ".El\n");
}

void man_command(const struct command *c, struct buf *out)
{
    must(c->summary && c->example);
    char name[40], title[40];
    snprintf(name, sizeof name, "jtok-%s", c->name);
    for (size_t i = 0; i <= strlen(name); i++)
        title[i] = (char)(name[i] >= 'a' && name[i] <= 'z' ? name[i] - 'a' + 'A' : name[i]);
    man_head(name, title, c->brief, out);
    buf_fmt(out, ".Sh SYNOPSIS\n.Nm jtok %s\n", c->name);
    if (c->option_count)
        buf_str(out, ".Op Ar options\n");
    if (c->operands) {
        buf_str(out, ".Ar ");
        man_text(c->operands, out);
        buf_byte(out, '\n');
    }
    buf_str(out, ".Sh DESCRIPTION\n");
    man_sentences(c->summary, out);
    if (c->more)
        man_paragraphs(c->more, out);
    man_options(c, out);
    man_exits(c, out);
    man_example(c->example, out);
    buf_str(out, ".Sh SEE ALSO\n.Xr jtok 1\n");
}

void man_program(struct buf *out)
{
    man_head("jtok", "JTOK", "energy per output token of an LLM inference service", out);
    buf_str(out, ".Sh SYNOPSIS\n.Nm\n.Ar command\n.Op Ar arguments\n.Nm\n.Fl \\-version\n.Sh DESCRIPTION\n"
                 ".Nm\nmeasures the energy per output token of an LLM inference service, with its uncertainty.\n"
                 "The commands are:\n.Bl -tag -width Ds\n");
    for (const struct command *const *c = commands; *c; c++) {
        buf_fmt(out, ".It Xr jtok-%s 1\n", (*c)->name);
        man_text((*c)->brief, out);
        buf_byte(out, '\n');
    }
    buf_str(out, ".El\n");
    man_environment(out);
    man_exits(NULL, out);
    man_example(cmd_run.example, out);
}
