/* Completions: each command's options, the names that an option takes, and files for all else. */
#include <string.h>
#include "cli/help.h"

static void list_commands(struct buf *out)
{
    for (const struct command *const *c = commands; *c; c++)
        buf_fmt(out, "%s%s", c == commands ? "" : " ", (*c)->name);
}

/* `text` as a shell takes it between single quotes; `also` is escaped with a backslash within. */
static void shell_quoted(const char *text, const char *also, struct buf *out)
{
    buf_byte(out, '\'');
    for (; *text; text++) {
        if (*text == '\'')
            buf_str(out, "'\\'");
        else if (strchr(also, *text))
            buf_byte(out, '\\');
        buf_byte(out, *text);
    }
    buf_byte(out, '\'');
}

static void list_names(const char *const *names, struct buf *out)
{
    for (size_t i = 0; names[i]; i++)
        buf_fmt(out, "%s%s", i ? " " : "", names[i]);
}

/* The words that an operand may be; nothing where it may be anything. */
static void list_operand_names(const struct command *c, struct buf *out)
{
    if (c == &cmd_help)
        list_commands(out);
    else if (c->operand_names)
        list_names(c->operand_names, out);
}

/* ---- bash ---- */

/* The value of an option first: what comes after it is not an operand. A value that has no names is a file, or free
 * text, and bash's own completion takes over. */
static void bash_command(const struct command *c, struct buf *out)
{
    buf_fmt(out, "        %s)\n            case $previous in\n", c->name);
    for (size_t i = 0; i < c->option_count; i++) {
        const struct option *o = &c->options[i];
        const char *const *names = help_option_names(o);
        if (!o->value)
            continue;
        buf_fmt(out, "                %s", o->name);
        if (o->letter)
            buf_fmt(out, "|-%c", o->letter);
        buf_str(out, ") ");
        if (names) {
            buf_str(out, "COMPREPLY=($(compgen -W \"");
            list_names(names, out);
            buf_str(out, "\" -- \"$word\")); ");
        }
        buf_str(out, "return ;;\n");
    }
    buf_str(out, "            esac\n            options=\"");
    for (size_t i = 0; i < c->option_count; i++)
        buf_fmt(out, "%s ", c->options[i].name);
    buf_str(out, "--help\" words=\"");
    list_operand_names(c, out);
    buf_str(out, "\" ;;\n");
}

void completion_bash(struct buf *out)
{
    buf_str(out, "# bash completion for jtok " JTOK_VERSION ", made by jtok docs\n"
                 "_jtok()\n{\n"
                 "    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} options= words=\n"
                 "    COMPREPLY=()\n"
                 "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        COMPREPLY=($(compgen -W \"");
    list_commands(out);
    buf_str(out, " --help --version\" -- \"$word\"))\n        return\n    fi\n    case ${COMP_WORDS[1]} in\n");
    for (const struct command *const *c = commands; *c; c++)
        bash_command(*c, out);
    buf_str(out, "    esac\n"
                 "    case $word in\n        -*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;;\n"
                 "        *) COMPREPLY=($(compgen -W \"$words\" -- \"$word\")) ;;\n    esac\n"
                 "}\n"
                 "complete -o default -o bashdefault -F _jtok jtok\n");
}

/* ---- zsh ---- */

/* '*--set[sentence]:KEY=VALUE:_files': zsh's _arguments wants brackets and colons escaped in the sentence. */
static void zsh_option(const struct option *o, struct buf *out)
{
    struct buf spec = {0}, doc = {0};
    help_option_doc(o, &doc);
    const char *const *names = help_option_names(o);
    buf_fmt(&spec, "%s%s[", o->many ? "*" : "", o->name);
    for (const char *p = buf_text(&doc); *p; p++) {
        if (strchr("[]:\\", *p))
            buf_byte(&spec, '\\');
        buf_byte(&spec, *p);
    }
    buf_byte(&spec, ']');
    if (o->value) {
        buf_fmt(&spec, ":%s:", o->value);
        if (names) {
            buf_byte(&spec, '(');
            list_names(names, &spec);
            buf_byte(&spec, ')');
        } else {
            buf_str(&spec, "_files");
        }
    }
    buf_str(out, " \\\n                ");
    shell_quoted(buf_text(&spec), "", out);
    buf_done(&spec);
    buf_done(&doc);
}

void completion_zsh(struct buf *out)
{
    buf_str(out, "#compdef jtok\n# zsh completion for jtok " JTOK_VERSION ", made by jtok docs\n"
                 "_jtok() {\n    local -a commands\n    commands=(\n");
    for (const struct command *const *c = commands; *c; c++) {
        struct buf line = {0};
        buf_fmt(&line, "%s:%s", (*c)->name, (*c)->brief);
        buf_str(out, "        ");
        shell_quoted(buf_text(&line), "", out);
        buf_byte(out, '\n');
        buf_done(&line);
    }
    buf_str(out, "    )\n    if (( CURRENT == 2 )); then\n        _describe command commands\n        return\n    fi\n"
                 "    local command=$words[2]\n    shift words\n    (( CURRENT-- ))\n    case $command in\n");
    for (const struct command *const *c = commands; *c; c++) {
        buf_fmt(out, "        %s)\n            _arguments", (*c)->name);
        for (size_t i = 0; i < (*c)->option_count; i++)
            zsh_option(&(*c)->options[i], out);
        buf_str(out, " \\\n                '--help[Print the help of the command.]' ");
        struct buf names = {0};
        list_operand_names(*c, &names);
        if (names.n)
            buf_fmt(out, "'*:name:(%s)' ;;\n", buf_text(&names));
        else
            buf_str(out, "'*:file:_files' ;;\n");
        buf_done(&names);
    }
    buf_str(out, "    esac\n}\n_jtok \"$@\"\n");
}

/* ---- fish ---- */

/* -x takes no files beside the names; -r is any value. */
static void fish_option(const struct command *c, const struct option *o, struct buf *out)
{
    struct buf doc = {0};
    const char *const *names = help_option_names(o);
    buf_fmt(out, "complete -c jtok -n '__fish_seen_subcommand_from %s' -l %s", c->name, o->name + 2);
    if (o->letter)
        buf_fmt(out, " -s %c", o->letter);
    if (names) {
        buf_str(out, " -x -a '");
        list_names(names, out);
        buf_byte(out, '\'');
    } else if (o->value) {
        buf_str(out, " -r");
    }
    buf_str(out, " -d ");
    help_option_doc(o, &doc);
    shell_quoted(buf_text(&doc), "\\", out);
    buf_byte(out, '\n');
    buf_done(&doc);
}

void completion_fish(struct buf *out)
{
    buf_str(out, "# fish completion for jtok " JTOK_VERSION ", made by jtok docs\n");
    for (const struct command *const *c = commands; *c; c++) {
        buf_fmt(out, "complete -c jtok -f -n __fish_use_subcommand -a %s -d ", (*c)->name);
        shell_quoted((*c)->brief, "\\", out);
        buf_byte(out, '\n');
    }
    for (const struct command *const *c = commands; *c; c++) {
        for (size_t i = 0; i < (*c)->option_count; i++)
            fish_option(*c, &(*c)->options[i], out);
        buf_fmt(out, "complete -c jtok -n '__fish_seen_subcommand_from %s' -l help -s h -d 'Print the help.'\n",
                (*c)->name);
        struct buf names = {0};
        list_operand_names(*c, &names);
        if (names.n)
            buf_fmt(out, "complete -c jtok -n '__fish_seen_subcommand_from %s' -f -a '%s'\n", (*c)->name,
                    buf_text(&names));
        buf_done(&names);
    }
}
