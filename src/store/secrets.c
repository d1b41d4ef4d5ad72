#include "store/secrets.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "base/must.h"
#include "schema/visit.h"
#include "text/json.h"
#include "text/words.h"

void secrets_done(struct secrets *s)
{
    free(s->items);
    arena_done(&s->arena);
    *s = (struct secrets){0};
}

bool secrets_is_name(struct span name)
{
    static const char *const ends[] = {"KEY",    "TOKEN",      "SECRET",     "PASSWORD",
                                       "PASSWD", "PASSPHRASE", "CREDENTIAL", "CREDENTIALS"};
    static const char *const whole[] = {"PASS", "PWD", "PAT", "COOKIE", "AUTHORIZATION"};
    for (size_t i = 0; i < name.n;) {
        size_t n = 0;
        while (i + n < name.n && name.p[i + n] != '_' && name.p[i + n] != '-' && name.p[i + n] != '.')
            n++;
        bool tokenizer = n == strlen("TIKTOKEN") && span_ends_nocase((struct span){name.p + i, n}, "TIKTOKEN");
        for (size_t k = 0; !tokenizer && k < sizeof ends / sizeof *ends; k++)
            if (span_ends_nocase((struct span){name.p + i, n}, ends[k]))
                return true;
        for (size_t k = 0; k < sizeof whole / sizeof *whole; k++) /* PWD alone is the working directory */
            if (n == strlen(whole[k]) && n < name.n && span_ends_nocase((struct span){name.p + i, n}, whole[k]))
                return true;
        i += n + 1;
    }
    return false;
}

static void add_one(struct secrets *s, const char *name, struct span value)
{
    for (size_t i = 0; i < s->count; i++)
        if (span_equal(s->items[i].value, value))
            return;
    if (s->count == s->capacity) {
        s->capacity = s->capacity ? s->capacity * 2 : 16;
        s->items = mem_grow(s->items, s->capacity, sizeof *s->items);
    }
    s->items[s->count++] =
        (struct secret){arena_text(&s->arena, name), {arena_copy(&s->arena, value.p, value.n), value.n}};
    s->starts[(unsigned char)value.p[0]] = true;
}

/* As it stands, and as JSON would write it where that differs. */
static void add_forms(struct secrets *s, const char *name, struct span value)
{
    struct json_writer w;
    struct buf json = {0};
    add_one(s, name, value);
    json_writer_init(&w, &json, 0);
    json_put_string(&w, value);
    if (json.n > value.n + 2)
        add_one(s, name, (struct span){json.p + 1, json.n - 2});
    buf_done(&json);
}

void secrets_add(struct secrets *s, const char *name, struct span value)
{
    must(name && *name);
    while (value.n) {
        const char *end = memchr(value.p, '\n', value.n);
        struct span line = {value.p, end ? (size_t)(end - value.p) : value.n};
        value.p += line.n + (end ? 1 : 0);
        value.n -= line.n + (end ? 1 : 0);
        while (line.n && line.p[line.n - 1] == '\r')
            line.n--;
        if (line.n >= SECRET_MIN)
            add_forms(s, name, line);
        else
            s->short_values += line.n > 0;
    }
}

enum { TOKEN_MIN = 20 };

/* What stands before the @ of a URL's host, whatever the variable is called: the password, or the whole where it is as
 * long as a token. */
static void add_of_urls(struct secrets *s, struct span name, const char *text)
{
    for (const char *at = text; at && (at = strstr(at, "://"));) {
        at += 3;
        size_t n = strcspn(at, "/?# \t\r\n\"'"), user = strcspn(at, ":@");
        while (n && at[n - 1] != '@')
            n--;
        if (n < 2)
            continue;
        size_t from = user < n - 1 ? user + 1 : 0;
        if (from || n - 1 >= TOKEN_MIN)
            secrets_add(s, arena_copy(&s->arena, name.p, name.n), (struct span){at + from, n - 1 - from});
    }
}

/* "NAME=value" */
static void add_variable(struct secrets *s, const char *variable)
{
    const char *equals = strchr(variable, '=');
    struct span name = {variable, equals ? (size_t)(equals - variable) : 0};
    if (equals && secrets_is_name(name))
        secrets_add(s, arena_copy(&s->arena, name.p, name.n), span_of(equals + 1));
    else if (equals)
        add_of_urls(s, name, equals + 1);
}

void secrets_add_environ(struct secrets *s, char **environment)
{
    for (; environment && *environment; environment++)
        add_variable(s, *environment);
}

/* Walks the words of a command; for each value of a secret option calls `each` with the option's name and where the
 * value begins in its word. */
static void walk_command(const char *const *command, size_t count,
                         void (*each)(void *self, struct span name, size_t word, size_t from), void *self)
{
    struct span open = {0}; /* a secret option whose values follow */
    for (size_t i = 0; i < count; i++) {
        const char *word = command[i], *equals = strchr(word, '=');
        struct span name = {word, equals ? (size_t)(equals - word) : strlen(word)};
        bool option = word[0] == '-' && word[1] != 0;
        /* NAME=VALUE before a program: "env HF_TOKEN=x vllm ...". */
        bool variable = !option && equals && i + 1 < count;
        if (option)
            open = (struct span){0};
        if ((option || variable) && secrets_is_name(name)) {
            if (equals)
                each(self, name, i, name.n + 1);
            else
                open = name;
        } else if (open.n && !option) {
            each(self, open, i, 0);
            /* vLLM's --api-key takes several values; after another option's value, a word may be anything. */
            if (!span_is(open, "--api-key"))
                open = (struct span){0};
        }
    }
}

struct add_command {
    struct secrets *secrets;
    const char *const *command;
};

static void add_word(void *self, struct span name, size_t word, size_t from)
{
    struct add_command *a = self;
    secrets_add(a->secrets, arena_copy(&a->secrets->arena, name.p, name.n), span_of(a->command[word] + from));
}

/* A word may be a shell's text: `bash -c "HF_TOKEN=x vllm serve ..."`. */
static void add_texts(struct secrets *s, const char *const *command, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (struct span rest = span_of(command[i]); rest.n && strpbrk(command[i], " \t\n");) {
            const char **inner;
            size_t n;
            if (words_split(words_command(&rest), &s->arena, &inner, &n) != 0 || n == 0)
                continue;
            walk_command(inner, n, add_word, &(struct add_command){s, inner});
            add_variable(s, inner[n - 1]); /* of a shell itself: nothing need stand behind it */
        }
}

static void add_command(struct secrets *s, const char *const *command, size_t count)
{
    for (size_t i = 0; i < count; i++)
        add_of_urls(s, span_of("url"), command[i]);
    walk_command(command, count, add_word, &(struct add_command){s, command});
    add_texts(s, command, count);
}

void secrets_add_plan(struct secrets *s, const struct plan *plan)
{
    for (size_t i = 0; i < plan->engine.env_count; i++)
        if (secrets_is_name(span_of(plan->engine.env[i].name)))
            secrets_add(s, plan->engine.env[i].name, span_of(plan->engine.env[i].value));
        else
            add_of_urls(s, span_of(plan->engine.env[i].name), plan->engine.env[i].value);
    add_command(s, plan->engine.command, plan->engine.command_count);
    add_command(s, plan->engine.container.args, plan->engine.container.arg_count);
    add_command(s, plan->stat.command, plan->stat.command_count);
}

/* The longest value that stands at the front of `text`. */
static const struct secret *match(const struct secrets *s, struct span text)
{
    const struct secret *longest = NULL;
    for (size_t i = 0; i < s->count; i++) {
        const struct secret *one = &s->items[i];
        if (one->value.n <= text.n && memcmp(one->value.p, text.p, one->value.n) == 0 &&
            (!longest || one->value.n > longest->value.n))
            longest = one;
    }
    return longest;
}

size_t secrets_replace(const struct secrets *s, struct span text, struct buf *b)
{
    assert(text.p || text.n == 0);
    size_t places = 0, kept = 0, covered = 0; /* [.., covered) belongs to the stretch being replaced */
    for (size_t i = 0; i < text.n; i++) {
        if (!s->starts[(unsigned char)text.p[i]])
            continue;
        const struct secret *found = match(s, (struct span){text.p + i, text.n - i});
        if (!found)
            continue;
        if (places == 0 || i >= covered) {
            buf_add(b, text.p + kept, i - kept);
            buf_fmt(b, "[secret:%s]", found->name);
            places++;
        }
        if (i + found->value.n > covered)
            covered = i + found->value.n;
        kept = covered;
    }
    if (text.n)
        buf_add(b, text.p + kept, text.n - kept);
    return places;
}

/* ---- a plan that may be stored ---- */

struct mask {
    const struct secrets *secrets;
    struct arena *arena;
    size_t *count;
    const char **command; /* the one that is gone through */
};

static const char *mask_text(struct mask *m, const char *text)
{
    struct buf masked = {0};
    if (!text)
        return NULL;
    size_t places = secrets_replace(m->secrets, span_of(text), &masked);
    if (places)
        text = arena_copy(m->arena, masked.p, masked.n);
    *m->count += places;
    buf_done(&masked);
    return text;
}

static void mask_word(void *self, struct span name, size_t word, size_t from)
{
    struct mask *m = self;
    const char *text = m->command[word];
    m->command[word] = arena_format(m->arena, "%.*s[secret:%.*s]", (int)from, text, SPAN_ARG(name));
    ++*m->count;
}

static bool mask_enter(void *self, const struct visit *v)
{
    struct mask *m = self;
    if (v->slot.type != FIELD_OBJECT)
        slot_own_items(&v->slot, m->arena);
    return true;
}

static void mask_value(void *self, const struct visit *v)
{
    struct mask *m = self;
    if (v->slot.type != FIELD_TEXT)
        return;
    bool secret = v->slot.field->type == FIELD_MAP && secrets_is_name(span_of(v->key));
    *m->count += secret;
    slot_set_text(&v->slot, secret ? arena_format(m->arena, "[secret:%s]", v->key) : mask_text(m, slot_text(&v->slot)));
}

static const char **mask_command(struct mask *m, const char *const *command, size_t count)
{
    m->command = arena_array(m->arena, count, sizeof *m->command);
    for (size_t i = 0; i < count; i++)
        m->command[i] = command[i];
    walk_command(command, count, mask_word, m);
    return m->command;
}

struct plan secrets_mask_plan(const struct secrets *s, const struct plan *plan, struct arena *a, size_t *count)
{
    must(a && count);
    struct plan masked = *plan;
    struct mask m = {.secrets = s, .arena = a, .count = count};
    /* By place first, so that a value is counted once and named after its option. */
    masked.engine.command = mask_command(&m, plan->engine.command, plan->engine.command_count);
    masked.engine.container.args = mask_command(&m, plan->engine.container.args, plan->engine.container.arg_count);
    masked.stat.command = mask_command(&m, plan->stat.command, plan->stat.command_count);
    schema_visit(&plan_schema, &masked, "", &(struct visitor){.self = &m, .enter = mask_enter, .value = mask_value});
    return masked;
}
