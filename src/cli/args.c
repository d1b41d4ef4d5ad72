#include "cli/args.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include "base/num.h"
#include "cli/exit.h"

enum { HELP_COLUMNS = 96, NAME_MAX_LENGTH = 63 };

static size_t distance(const char *a, const char *b)
{
    size_t row[NAME_MAX_LENGTH + 2], na = strlen(a), nb = strlen(b);
    if (na > NAME_MAX_LENGTH || nb > NAME_MAX_LENGTH)
        return SIZE_MAX;
    for (size_t j = 0; j <= nb; j++)
        row[j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t change = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            size_t shorter = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            row[j] = change < shorter ? change : shorter;
        }
    }
    return row[nb];
}

const char *args_nearest(const char *text, const char *const *names)
{
    const char *best = NULL;
    size_t best_distance = strlen(text) / 3 + 1;
    for (; *names; names++) {
        size_t d = distance(text, *names);
        if (d < best_distance || (d == best_distance && !best)) {
            best = *names;
            best_distance = d;
        }
    }
    return best;
}

/* The option's place in the table, or option_count. */
static size_t find(const struct args_spec *spec, struct span name)
{
    size_t i = 0;
    for (; i < spec->option_count; i++) {
        const struct arg *o = &spec->options[i];
        if (span_is(name, o->name) || (o->letter && name.n == 2 && name.p[0] == '-' && name.p[1] == o->letter))
            break;
    }
    return i;
}

static bool unknown_option(const struct args_spec *spec, struct span name, struct err *e)
{
    const char *known[ARGS_OPTIONS_MAX + 2] = {"--help"};
    for (size_t i = 0; i < spec->option_count && i < ARGS_OPTIONS_MAX; i++)
        known[i + 1] = spec->options[i].name;
    char text[NAME_MAX_LENGTH + 1];
    snprintf(text, sizeof text, "%.*s", SPAN_ARG(name));
    const char *near = args_nearest(text, known);
    return err_set(e, ERR_USAGE, "%s: there is no option %s%s%s%s \"jtok %s --help\" lists the options.", spec->command,
                   text, near ? "; did you mean " : "", near ? near : "", near ? "?" : ".", spec->command);
}

static bool store(const struct args_spec *spec, const struct arg *o, const char *value, struct err *e)
{
    struct arg_list *list = o->ret_value;
    switch (o->kind) {
    case ARG_FLAG:
        *(bool *)o->ret_value = true;
        return true;
    case ARG_TEXT:
        *(const char **)o->ret_value = value;
        return true;
    case ARG_I64:
        if (num_i64(span_of(value), o->ret_value))
            return true;
        return err_set(e, ERR_USAGE, "%s: %s takes a whole number, not \"%s\".", spec->command, o->name, value);
    case ARG_F64:
        if (num_f64(span_of(value), o->ret_value))
            return true;
        return err_set(e, ERR_USAGE, "%s: %s takes a number, not \"%s\".", spec->command, o->name, value);
    case ARG_LIST:
        if (list->count == ARGS_LIST_MAX)
            return err_set(e, ERR_USAGE, "%s: %s is given over %d times.", spec->command, o->name, ARGS_LIST_MAX);
        list->items[list->count++] = value;
        return true;
    }
    return false;
}

/* Of two values the user meant one, and only the user knows which. */
static bool check_once(const struct args_spec *spec, const struct arg *o, const char **given, const char *value,
                       struct err *e)
{
    const char *before = *given;
    *given = value;
    if (o->kind == ARG_FLAG || o->kind == ARG_LIST || !before)
        return true;
    return err_set(e, ERR_USAGE, "%s: %s is given twice, as \"%s\" and as \"%s\". Keep one of them.", spec->command,
                   o->name, before, value);
}

/* Takes argv[*at], an option, and its value if it has one in argv[*at + 1]; `given` has the value that each option of
 * the table was given so far. */
static bool option(const struct args_spec *spec, int argc, char **argv, int *at, const char **given, struct args *a,
                   struct err *e)
{
    struct span name = span_of(argv[*at]);
    const char *equals = strchr(argv[*at], '='), *value = NULL;
    if (equals && name.n > 2 && name.p[1] == '-') {
        name.n = (size_t)(equals - name.p);
        value = equals + 1;
    }
    if (span_is(name, "--help") || span_is(name, "-h")) {
        a->help = true;
        return true;
    }
    size_t place = find(spec, name);
    if (place == spec->option_count)
        return unknown_option(spec, name, e);
    const struct arg *o = &spec->options[place];
    if (o->kind == ARG_FLAG && value)
        return err_set(e, ERR_USAGE, "%s: %s takes no value.", spec->command, o->name);
    if (o->kind != ARG_FLAG && !value) {
        if (*at + 1 >= argc)
            return err_set(e, ERR_USAGE, "%s: %s needs a value behind it: %s %s.", spec->command, o->name, o->name,
                           o->value);
        value = argv[++*at];
    }
    return check_once(spec, o, &given[place], value, e) && store(spec, o, value, e);
}

static bool check_operands(const struct args_spec *spec, const struct args *a, struct err *e)
{
    if (a->operand_count > spec->operands_max)
        return err_set(e, ERR_USAGE, "%s: \"%s\" is one argument too many%s%s%s. Usage: jtok %s%s%s", spec->command,
                       a->operands[spec->operands_max], spec->operands_max ? " behind \"" : "",
                       spec->operands_max ? a->operands[spec->operands_max - 1] : "", spec->operands_max ? "\"" : "",
                       spec->command, spec->operands ? " " : "", spec->operands ? spec->operands : "");
    if (a->operand_count < spec->operands_min)
        return err_set(e, ERR_USAGE, "%s: an argument is missing. Usage: jtok %s %s", spec->command, spec->command,
                       spec->operands);
    return true;
}

bool args_parse(const struct args_spec *spec, int argc, char **argv, struct args *ret_args, struct err *e)
{
    struct args a = {0};
    const char *given[ARGS_OPTIONS_MAX] = {0};
    bool options_over = false;
    assert(spec->option_count <= ARGS_OPTIONS_MAX);
    for (int i = 1; i < argc; i++) {
        if (!options_over && strcmp(argv[i], "--") == 0) {
            options_over = true;
            if (spec->takes_rest) {
                a.rest = argv + i + 1;
                a.rest_count = (size_t)(argc - i - 1);
                break;
            }
        } else if (!options_over && argv[i][0] == '-' && argv[i][1]) {
            if (!option(spec, argc, argv, &i, given, &a, e))
                return false;
            if (a.help)
                break;
        } else if (a.operand_count == ARGS_OPERANDS_MAX) {
            return err_set(e, ERR_USAGE, "%s: over %d arguments.", spec->command, ARGS_OPERANDS_MAX);
        } else {
            a.operands[a.operand_count++] = argv[i];
        }
    }
    if (!a.help && !check_operands(spec, &a, e))
        return false;
    *ret_args = a;
    return true;
}

/* `text` broken at spaces so that lines end before HELP_COLUMNS; later lines begin at `indent`. */
static void put_wrapped(struct buf *out, const char *text, size_t column, size_t indent)
{
    while (*text) {
        size_t n = strcspn(text, " ");
        if (column > indent && column + 1 + n > HELP_COLUMNS) {
            buf_fmt(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            buf_byte(out, ' ');
            column++;
        }
        buf_add(out, text, n);
        column += n;
        text += n;
        text += strspn(text, " ");
    }
    buf_byte(out, '\n');
}

static void put_option(struct buf *out, const struct arg *o, size_t width)
{
    size_t start = out->n;
    buf_str(out, "  ");
    if (o->letter)
        buf_fmt(out, "-%c, ", o->letter);
    buf_str(out, o->name);
    if (o->value)
        buf_fmt(out, " %s", o->value);
    buf_fmt(out, "%*s", (int)(width - (out->n - start)), "");
    put_wrapped(out, o->doc, width, width);
}

void args_help(const struct args_spec *spec, struct buf *out)
{
    size_t width = sizeof "  -h, --help" + 1;
    for (size_t i = 0; i < spec->option_count; i++) {
        const struct arg *o = &spec->options[i];
        size_t n = 2 + (o->letter ? 4U : 0U) + strlen(o->name) + (o->value ? 1 + strlen(o->value) : 0U) + 2;
        width = n > width ? n : width;
    }
    buf_fmt(out, "Usage: jtok %s%s%s%s\n\n", spec->command, spec->option_count ? " [options]" : "",
            spec->operands ? " " : "", spec->operands ? spec->operands : "");
    put_wrapped(out, spec->summary, 0, 0);
    if (spec->more)
        buf_fmt(out, "\n%s\n", spec->more);
    buf_str(out, "\nOptions:\n");
    for (size_t i = 0; i < spec->option_count; i++)
        put_option(out, &spec->options[i], width);
    put_option(out, &(struct arg){.name = "--help", .letter = 'h', .doc = "this text"}, width);
    buf_str(out, strchr(spec->example, '\n') ? "\nExamples:\n" : "\nExample:\n");
    for (const char *p = spec->example; *p;) {
        size_t n = strcspn(p, "\n");
        buf_fmt(out, "  %.*s\n", (int)n, p);
        p += n + (p[n] == '\n');
    }
}

bool args_take(const struct args_spec *spec, int argc, char **argv, struct args *ret_args, int *ret_code)
{
    struct err e = {0};
    if (!args_parse(spec, argc, argv, ret_args, &e)) {
        *ret_code = exit_with(&e);
        return false;
    }
    if (ret_args->help) {
        struct buf out = {0};
        args_help(spec, &out);
        fwrite(out.p, 1, out.n, stdout);
        buf_done(&out);
        *ret_code = EXIT_OK;
        return false;
    }
    return true;
}
