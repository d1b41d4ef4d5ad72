#include "cli/plan_args.h"

#include <string.h>
#include "base/must.h"
#include "schema/set.h"
#include "store/plan_yaml.h"

/* Token ids go to the completions API only, and stand in place of a file. */
const char *const plan_random_with[] = {"requests.file=null", "requests.api=completions", NULL};
const char *const plan_forced_with[] = {"requests.lengths.ignore_eos=true", NULL};

/* Key paths that the command line has set, each with the words that did it: none is set twice. */
struct set_keys {
    struct {
        struct span key;
        const char *words;
    } items[ARGS_LIST_MAX + 4 * ARGS_OPTIONS_MAX];
    size_t count;
};

/* Of two values the user meant one, and only the user knows which. */
static bool set_once(struct set_keys *k, struct span key, const char *words, struct problems *problems)
{
    for (size_t i = 0; i < k->count; i++)
        if (span_equal(k->items[i].key, key)) {
            problems_add_at(problems, NULL, 0, 0, NULL, "\"%s\" and \"%s\" both set %.*s. Keep one of them.",
                            k->items[i].words, words, SPAN_ARG(key));
            return false;
        }
    must(k->count < sizeof k->items / sizeof *k->items);
    k->items[k->count].key = key;
    k->items[k->count++].words = words;
    return true;
}

/* Settings KEY=VALUE, null-terminated; null: none. */
static void set_all(const struct option *o, const char *const *settings, const char *words, struct plan *plan,
                    struct set_keys *k, struct problems *problems)
{
    for (; settings && *settings; settings++) {
        struct span key = {*settings, strcspn(*settings, "=")};
        if (set_once(k, key, words, problems))
            schema_set(&plan_schema, plan, o->name, key, span_of(*settings + key.n + 1), problems);
    }
}

/* One option as the plan keys that it stands for, typed and told as --set would be. */
static void set_option(const struct option *o, const char *value, struct plan *plan, struct set_keys *k,
                       struct problems *problems)
{
    const char *words = arena_format(problems->arena, "%s %s", o->name, value);
    if (o->plan_settings)
        set_all(o, o->plan_settings(value, o->plan_key, problems->arena), words, plan, k, problems);
    else if (set_once(k, span_of(o->plan_key), words, problems))
        schema_set(&plan_schema, plan, o->name, span_of(o->plan_key),
                   span_of(o->commas ? arena_format(problems->arena, "[%s]", value) : value), problems);
    set_all(o, o->plan_with, words, plan, k, problems);
}

static void set_argument(const char *argument, struct plan *plan, struct set_keys *k, struct problems *problems)
{
    struct span key = {argument, strcspn(argument, "=")};
    int shown = strncmp(argument, "engine.env", 10) == 0 ? (int)key.n : (int)strlen(argument); /* may be a secret */
    if (set_once(k, span_trim(key), arena_format(problems->arena, "--set %.*s", shown, argument), problems))
        schema_set_argument(&plan_schema, plan, argument, problems);
}

void plan_args_set(const struct command *c, const struct args *args, struct plan *plan, struct problems *problems)
{
    must(plan && problems->arena);
    struct set_keys keys = {0};
    for (size_t i = 0; i < c->option_count; i++)
        if (c->options[i].plan_key && args->given[i])
            set_option(&c->options[i], args->given[i], plan, &keys, problems);
    for (size_t i = 0; i < args->many.count; i++)
        set_argument(args->many.items[i], plan, &keys, problems);
}

/* The command wins over the file's, as options do. */
static void take_engine_command(struct plan *p, const struct args *args, struct arena *a)
{
    p->engine.command = arena_array(a, args->rest_count, sizeof *p->engine.command);
    p->engine.command_count = args->rest_count;
    for (size_t i = 0; i < args->rest_count; i++)
        p->engine.command[i] = args->rest[i];
}

bool plan_args_make(const struct command *c, const struct args *args, struct arena *a, struct plan *ret_plan,
                    const char **ret_source, struct err *e)
{
    must(c->operands_max == 1 && c->takes_rest);
    struct plan plan;
    struct problems problems;
    struct span source = {0};
    if (args->operand_count == 0 && args->rest_count == 0)
        return err_set(e, ERR_USAGE,
                       "%s: Give a plan file, or an engine command after \"--\". \"jtok %s --help\" shows both.",
                       c->name, c->name);
    plan_defaults(&plan);
    problems_init(&problems, a, NULL);
    if (args->operand_count)
        plan_yaml_load(&plan, args->operands[0], &source, &problems);
    if (args->rest_count)
        take_engine_command(&plan, args, a);
    plan_args_set(c, args, &plan, &problems);
    if (!problems_none(&problems, ERR_PLAN, e))
        return false;
    *ret_source = source.n ? arena_copy(a, source.p, source.n) : NULL;
    *ret_plan = plan;
    return true;
}
