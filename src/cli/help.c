#include "cli/help.h"

#include <string.h>
#include "base/must.h"
#include "model/plan.h"
#include "report/table.h"
#include "schema/set.h"
#include "text/wrap.h"

/* Wide enough for most options; the sentence of a longer one begins on the next line, as other programs do it. */
enum { DOC_COLUMN = 24, EXIT_COLUMN = 7 };

/* Every command has it, so no table does. */
static const struct option help_option = {"--help", 'h', NULL, .doc = "Print this text."};

bool help_exits(const struct command *c, enum exit_code code)
{
    return (c->exits | EXIT_BIT(EXIT_OK) | EXIT_BIT(EXIT_USAGE) | EXIT_BIT(EXIT_SYSTEM)) & EXIT_BIT(code);
}

/* The field that an option sets: its own, the plan's, or null. */
static const struct field *field_of(const struct option *o)
{
    if (!o->plan_key)
        return o->field.key ? &o->field : NULL;
    const struct schema *s = &plan_schema;
    const struct field *f = NULL;
    for (const char *key = o->plan_key; *key;) {
        must(s);
        size_t n = strcspn(key, ".");
        f = schema_find(s, (struct span){key, n});
        must(f);
        s = f->sub;
        key += n + (key[n] == '.');
    }
    return f;
}

const char *const *help_option_names(const struct option *o)
{
    const struct field *f = field_of(o);
    return f ? f->names : NULL; /* of a text: each of several that it lists */
}

void help_put_names(const char *const *names, int preset, struct buf *out)
{
    for (int i = 0; names[i]; i++) {
        const char *between = i == 0 ? "" : names[i + 1] ? ", " : " or ";
        buf_fmt(out, "%s%s%s", between, names[i], i == preset ? " (default)" : "");
    }
}

void help_option_doc(const struct option *o, struct buf *out)
{
    const struct field *f = field_of(o);
    const char *doc = o->doc ? o->doc : f->doc;
    size_t n = strlen(doc);
    must(n && doc[n - 1] == '.');
    buf_add(out, doc, n - 1);
    if (help_option_names(o)) {
        buf_str(out, ": ");
        help_put_names(f->names, f->has_preset ? (int)f->preset : -1, out);
    } else if (o->no_preset) {
        must(o->doc); /* which says what comes */
    } else if (f && f->preset_text) {
        buf_fmt(out, " (default: %s)", f->preset_text);
    } else if (f && f->has_preset && f->type != FIELD_BOOL) {
        buf_str(out, " (default: ");
        num_put_f64(out, f->preset);
        buf_byte(out, ')');
    }
    buf_byte(out, '.');
}

static void help_put_option(const struct option *o, struct buf *out)
{
    size_t start = out->n;
    if (o->letter)
        buf_fmt(out, "  -%c, %s", o->letter, o->name);
    else
        buf_fmt(out, "      %s", o->name);
    if (o->value)
        buf_fmt(out, " %s", o->value);
    size_t column = out->n - start;
    if (column + 2 > DOC_COLUMN) {
        buf_byte(out, '\n');
        column = 0;
    }
    buf_fmt(out, "%*s", (int)(DOC_COLUMN - column), "");
    struct buf doc = {0};
    help_option_doc(o, &doc);
    text_wrap(out, buf_text(&doc), DOC_COLUMN, DOC_COLUMN, HELP_COLUMNS);
    buf_done(&doc);
}

/* One paragraph a line of the table, a blank line before each. */
static void help_put_paragraphs(const char *text, struct buf *out)
{
    while (*text) {
        struct buf paragraph = {0};
        size_t n = strcspn(text, "\n");
        buf_add(&paragraph, text, n);
        buf_byte(out, '\n');
        text_wrap(out, buf_text(&paragraph), 0, 0, HELP_COLUMNS);
        buf_done(&paragraph);
        text += n + (text[n] == '\n');
    }
}

/* Examples stand as they are: a shell takes them by copy and paste, with their backslashes. */
static void help_put_lines(const char *text, struct buf *out)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        buf_fmt(out, "  %.*s\n", (int)n, text);
        text += n + (text[n] == '\n');
    }
}

/* `c` null: all of them. */
static void help_put_exits(const struct command *c, struct buf *out)
{
    buf_str(out, "\nExit codes:\n");
    for (size_t i = 0; i < exit_row_count; i++) {
        const struct exit_row *r = &exit_rows[i];
        if (c && !help_exits(c, r->code))
            continue;
        buf_fmt(out, "  %-5d", (int)r->code);
        text_wrap(out, r->doc, EXIT_COLUMN, EXIT_COLUMN, HELP_COLUMNS);
    }
}

void help_command(const struct command *c, struct buf *out)
{
    must(c->summary && c->example);
    buf_fmt(out, "Usage: jtok %s%s%s%s\n", c->name, c->option_count ? " [OPTIONS]" : "", c->operands ? " " : "",
            c->operands ? c->operands : "");
    help_put_paragraphs(c->summary, out);
    if (c->more)
        help_put_paragraphs(c->more, out);
    buf_str(out, "\nOptions:\n");
    for (size_t i = 0; i < c->option_count; i++)
        help_put_option(&c->options[i], out);
    help_put_option(&help_option, out);
    help_put_exits(c, out);
    buf_str(out, strchr(c->example, '\n') ? "\nExamples:\n" : "\nExample:\n");
    help_put_lines(c->example, out);
}

void help_program(struct buf *out)
{
    buf_str(out, "jtok " JTOK_VERSION "\nEnergy per output token of an LLM inference service, with its uncertainty.\n\n"
                 "Usage: jtok COMMAND [ARGUMENTS]\n\nCommands:\n");
    for (const struct command *const *c = commands; *c; c++) {
        buf_fmt(out, "  %-10s", (*c)->name);
        text_wrap(out, (*c)->brief, 12, 12, HELP_COLUMNS);
    }
    buf_str(out, "\n\"jtok COMMAND --help\" shows the options of a command, with an example.\n"
                 "\"jtok --version\" prints the version.\n");
    help_put_exits(NULL, out);
    buf_str(out, "\nExamples:\n");
    help_put_lines(cmd_run.example, out);
}
