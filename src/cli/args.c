#include "cli/args.h"

#include <string.h>
#include "base/must.h"
#include "cli/command.h"
#include "schema/set.h"
#include "text/nearest.h"

/* The only name that begins with `text`; null: there is none, or there are several. */
static const char *begins_with(const char *text, const char *const *names)
{
    const char *found = NULL;
    size_t count = 0, n = strlen(text);
    for (; *names; names++)
        if (strncmp(text, *names, n) == 0) {
            found = *names;
            count++;
        }
    return count == 1 ? found : NULL;
}

const char *args_nearest(const char *text, const char *const *names)
{
    const char *begun = begins_with(text, names);
    return begun ? begun : nearest_of(span_of(text), names);
}

bool args_given(const struct command *c, const struct args *args, const char *name)
{
    for (size_t i = 0; i < c->option_count; i++)
        if (strcmp(c->options[i].name, name) == 0)
            return args->given[i] != NULL;
    return false;
}

const char *option_doc(const struct option *o)
{
    must(o->doc || o->field.doc);
    return o->doc ? o->doc : o->field.doc;
}

/* Each row is a schema of one field, so that an option is typed, and refused, as a key of a plan is. */
static struct schema schema_of(const struct option *o, size_t size)
{
    return (struct schema){.name = o->name, .size = size, .fields = &o->field, .count = 1};
}

/* What one call of args_parse works on. */
struct parsing {
    const struct command *command;
    int argc;
    char **argv;
    struct arena *arena;
    void *options;
    struct args *args;
};

/* The option's place in the table, or option_count. */
static size_t find_option(const struct command *c, struct span name)
{
    size_t i = 0;
    for (; i < c->option_count; i++) {
        const struct option *o = &c->options[i];
        if (span_is(name, o->name) || (o->letter && name.n == 2 && name.p[0] == '-' && name.p[1] == o->letter))
            break;
    }
    return i;
}

/* What was typed may be cut off at its "=", so it is copied. */
static bool unknown_option(const struct parsing *p, struct span name, struct err *e)
{
    const struct command *c = p->command;
    const char *known[ARGS_OPTIONS_MAX + 2] = {"--help"};
    for (size_t i = 0; i < c->option_count; i++)
        known[i + 1] = c->options[i].name;
    const char *text = arena_copy(p->arena, name.p, name.n), *near = args_nearest(text, known);
    return err_set(e, ERR_USAGE, "%s: There is no option %s%s%s%s \"jtok %s --help\" lists the options.", c->name, text,
                   near ? "; did you mean " : "", near ? near : "", near ? "?" : ".", c->name);
}

/* Types the value and puts it where the option's field says. */
static bool store(const struct parsing *p, const struct option *o, const char *value, struct err *e)
{
    must(o->field.key);
    struct schema s = schema_of(o, p->command->options_size);
    struct problems problems;
    problems_init(&problems, p->arena, NULL);
    if (schema_set(&s, p->options, o->name, span_of(o->field.key), span_of(o->value ? value : "true"), &problems))
        return true;
    const char *near = o->field.type == FIELD_ENUM ? args_nearest(value, o->field.names) : NULL;
    return err_set(e, ERR_USAGE, "%s: %s: %s%s%s%s", p->command->name, o->name, problems.items[0].text,
                   near ? " Did you mean " : "", near ? near : "", near ? "?" : "");
}

/* Options of the plan wait in `given`: the plan file, which they overrule, is not read yet. */
static bool take_value(const struct parsing *p, size_t place, const char *value, struct err *e)
{
    must(place < p->command->option_count);
    const struct option *o = &p->command->options[place];
    const char **given = &p->args->given[place], *before = *given;
    *given = value;
    if (o->many) {
        struct arg_list *list = &p->args->many;
        if (list->count == ARGS_LIST_MAX)
            return err_set(e, ERR_USAGE, "%s: %s is given more than %d times.", p->command->name, o->name,
                           ARGS_LIST_MAX);
        list->items[list->count++] = value;
        return true;
    }
    if (before && o->value) /* of two values the user meant one, and only the user knows which */
        return err_set(e, ERR_USAGE, "%s: %s is given twice, as \"%s\" and as \"%s\". Keep one of them.",
                       p->command->name, o->name, before, value);
    return o->plan_key || store(p, o, value, e);
}

/* Takes argv[*at], an option, and its value if it has one in argv[*at + 1]. */
static bool take_word_option(const struct parsing *p, int *at, struct err *e)
{
    const char *word = p->argv[*at], *equals = strchr(word, '='), *value = NULL;
    struct span name = span_of(word);
    if (equals && name.n > 2 && name.p[1] == '-') {
        name.n = (size_t)(equals - name.p);
        value = equals + 1;
    }
    if (span_is(name, "--help") || span_is(name, "-h")) {
        p->args->help = true;
        return true;
    }
    size_t place = find_option(p->command, name);
    if (place == p->command->option_count)
        return unknown_option(p, name, e);
    const struct option *o = &p->command->options[place];
    if (!o->value && value)
        return err_set(e, ERR_USAGE, "%s: %s takes no value.", p->command->name, o->name);
    if (o->value && !value) {
        if (*at + 1 >= p->argc)
            return err_set(e, ERR_USAGE, "%s: %s needs a value: %s %s.", p->command->name, o->name, o->name, o->value);
        value = p->argv[++*at];
    }
    return take_value(p, place, value ? value : "", e);
}

/* The word before the first one too many tells a person where the line went wrong: often a missing quote. */
static bool check_operands(const struct command *c, const struct args *a, struct err *e)
{
    const char *usage = c->operands ? c->operands : "";
    if (a->operand_count > c->operands_max) {
        const char *behind = c->operands_max ? a->operands[c->operands_max - 1] : c->name;
        return err_set(e, ERR_USAGE, "%s: \"%s\" is one argument too many after \"%s\". Usage: jtok %s%s%s", c->name,
                       a->operands[c->operands_max], behind, c->name, *usage ? " " : "", usage);
    }
    for (size_t i = 0; i < a->operand_count; i++)
        if (!*a->operands[i])
            return err_set(e, ERR_USAGE,
                           "%s: Argument %zu is empty, as when a shell variable is not set. "
                           "Usage: jtok %s %s",
                           c->name, i + 1, c->name, usage);
    return a->operand_count >= c->operands_min ||
           err_set(e, ERR_USAGE, "%s: An argument is missing. Usage: jtok %s %s", c->name, c->name, usage);
}

static bool take_words(const struct parsing *p, struct err *e)
{
    struct args *a = p->args;
    bool options_over = false;
    for (int i = 1; i < p->argc && !a->help; i++) {
        char *word = p->argv[i];
        if (!options_over && strcmp(word, "--") == 0) {
            options_over = true;
            if (p->command->takes_rest) {
                a->rest = p->argv + i + 1;
                a->rest_count = (size_t)(p->argc - i - 1);
                break;
            }
        } else if (!options_over && word[0] == '-' && word[1]) {
            if (!take_word_option(p, &i, e))
                return false;
        } else if (a->operand_count == ARGS_OPERANDS_MAX) {
            return err_set(e, ERR_USAGE, "%s: There are more than %d arguments.", p->command->name, ARGS_OPERANDS_MAX);
        } else {
            a->operands[a->operand_count++] = word;
        }
    }
    return true;
}

bool args_parse(const struct command *c, int argc, char **argv, struct arena *a, void *options, struct args *ret_args,
                struct err *e)
{
    must(argc > 0);
    must(c->option_count <= ARGS_OPTIONS_MAX && c->operands_max <= ARGS_OPERANDS_MAX);
    struct args args = {0};
    struct parsing p = {c, argc, argv, a, options, &args};
    for (size_t i = 0; i < c->option_count; i++) {
        struct schema s = schema_of(&c->options[i], c->options_size);
        if (s.fields->key)
            schema_defaults(&s, options);
    }
    if (!take_words(&p, e) || (!args.help && !check_operands(c, &args, e)))
        return false;
    *ret_args = args;
    return true;
}
