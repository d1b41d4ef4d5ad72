/* Thinking: what a model's chat template knows of it, and the members of a request that ask for it. */
#include <string.h>
#include "base/must.h"
#include "engine/table.h"

/* ---- the template ---- */

static bool is_variable_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static void take_variable(struct engine_template *t, struct span name)
{
    t->enable_thinking = t->enable_thinking || span_is(name, "enable_thinking");
    t->thinking = t->thinking || span_is(name, "thinking");
    t->reasoning_effort = t->reasoning_effort || span_is(name, "reasoning_effort");
}

/* The text of one {{ }} or {% %}; gives what is behind it. */
static const char *read_code(struct engine_template *t, const char *at, const char *end)
{
    while (at + 1 < end && !((at[0] == '}' || at[0] == '%') && at[1] == '}')) {
        const char *from = at;
        if (*at == '\'' || *at == '"') {
            for (at++; at < end && *at != *from; at++)
                at += *at == '\\' && at + 1 < end;
            at += at < end;
        } else if (is_variable_byte(*at)) {
            while (at < end && is_variable_byte(*at))
                at++;
            if (from[-1] != '.')
                take_variable(t, (struct span){from, (size_t)(at - from)});
        } else {
            at++;
        }
    }
    return at;
}

struct engine_template engine_read_template(struct span text)
{
    struct engine_template t = {.known = true};
    const char *at = text.p, *end = text.p + text.n;
    while (at && at + 1 < end) {
        bool code = at[0] == '{' && (at[1] == '{' || at[1] == '%');
        at = code ? read_code(&t, at + 2, end) : at + 1;
    }
    return t;
}

/* ---- requests ---- */

static bool is_switch(enum thinking_kind kind)
{
    return kind == THINKING_ON || kind == THINKING_OFF;
}

/* The template can't be known where the command brings its own. */
static bool brings_template(const struct plan *p, struct arena *a)
{
    size_t at;
    return command_option(p, "--chat-template", true, a, &at) ||
           command_option(p, "--chat-template-file", true, a, &at);
}

static bool extra_sets(const struct plan *p, const char *name)
{
    return p->requests.extra_body && json_member(span_of(p->requests.extra_body), span_of(name)).n;
}

/* What extra_body says of it, where the plan itself says nothing. */
static void read_extra(struct plan *p)
{
    struct span arguments = p->requests.extra_body
                                ? json_member(span_of(p->requests.extra_body), span_of("chat_template_kwargs"))
                                : (struct span){0};
    static const char *const names[] = {"enable_thinking", "thinking"};
    for (size_t i = 0; arguments.n && i < 2; i++) {
        struct span value = json_member(arguments, span_of(names[i]));
        if (span_is(value, "true") || span_is(value, "false"))
            p->requests.thinking =
                span_is(value, "true") ? thinking_kind_names[THINKING_ON] : thinking_kind_names[THINKING_OFF];
    }
}

/* Of a service that runs already nobody knows. */
static bool is_started_for_limits(const struct plan *p, struct err *e)
{
    const struct engine *g = engine_of(p);
    const char *const *option = g->thinking.needs;
    struct arena a = {0};
    size_t at;
    bool started = !option || p->engine.command_count == 0;
    for (; !started && *option; option++)
        started = command_option(p, *option, true, &a, &at) != NULL;
    arena_done(&a);
    return started || err_set(e, ERR_PLAN,
                              "The plan's engine.settings.thinking_tokens is %lld, but %s refuses a limit unless it is "
                              "started with %s. Add that to engine.command, with the parser of this model.",
                              (long long)p->engine.settings.thinking_tokens, g->name, g->thinking.needs[0]);
}

static bool can_ask(const struct plan *p, struct err *e)
{
    static const char *const own[] = {"chat_template_kwargs", "reasoning_effort", "thinking_token_budget"};
    const struct engine *g = engine_of(p);
    const struct plan_settings *s = &p->engine.settings;
    if (p->requests.api == API_COMPLETIONS)
        return err_set(
            e, ERR_PLAN,
            "The plan's engine.settings.thinking is carried by the chat template, which the completions API does not "
            "use. Set requests.api to chat, or leave the setting out.");
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (extra_sets(p, own[i]))
            return err_set(
                e, ERR_PLAN,
                "The plan's engine.settings.thinking and requests.extra_body both decide on thinking (%s). Keep one of "
                "them.",
                own[i]);
    if (s->thinking_tokens != ABSENT_I64 && !g->thinking.limit)
        return err_set(e, ERR_PLAN,
                       "The plan's engine.settings.thinking_tokens is %lld, but jtok knows no member of a request by "
                       "which %s limits "
                       "thinking. Leave it out.",
                       (long long)s->thinking_tokens, g->name);
    return s->thinking_tokens == ABSENT_I64 || is_started_for_limits(p, e);
}

static bool fits_template(const struct plan *p, const struct engine_template *t, const char **ret_note, struct err *e)
{
    enum thinking_kind kind = p->engine.settings.thinking;
    const char *name = thinking_kind_names[kind];
    bool switches = t->enable_thinking || t->thinking;
    if (is_switch(kind) ? switches : t->reasoning_effort)
        return true;
    if (is_switch(kind) && t->reasoning_effort)
        return err_set(e, ERR_PLAN,
                       "The plan's engine.settings.thinking is %s, but this model's chat template knows an effort "
                       "alone. Set it to "
                       "low, medium or high.",
                       name);
    if (kind != THINKING_OFF)
        return err_set(e, ERR_PLAN,
                       "The plan's engine.settings.thinking is %s, but this model's chat template has no argument for "
                       "that, and the "
                       "engine would ignore it without a word. Leave it out%s.",
                       name, switches ? ", or set on or off" : "");
    *ret_note = "The plan's engine.settings.thinking is off, but this model's chat template has no argument for that: "
                "the engine "
                "ignores it, and the model answers as it always does.";
    return true;
}

static void put_switch(struct json_writer *w, const struct engine_template *t, bool on)
{
    json_put_key(w, "chat_template_kwargs");
    json_put_object(w);
    if (!t->known || t->enable_thinking || !t->thinking) {
        json_put_key(w, "enable_thinking");
        json_put_bool(w, on);
    }
    if (!t->known || (t->thinking && !t->enable_thinking)) {
        json_put_key(w, "thinking");
        json_put_bool(w, on);
    }
    json_put_object_end(w);
}

static const char *body_of(const struct plan *p, const struct engine_template *t, struct arena *a)
{
    const struct plan_settings *s = &p->engine.settings;
    struct buf b = {0};
    struct json_writer w;
    json_writer_init(&w, &b, 0);
    json_put_object(&w);
    if (!ENUM_ABSENT(s->thinking) && is_switch(s->thinking))
        put_switch(&w, t, s->thinking == THINKING_ON);
    else if (!ENUM_ABSENT(s->thinking)) {
        json_put_key(&w, "reasoning_effort");
        json_put_text(&w, thinking_kind_names[s->thinking]);
    }
    if (s->thinking_tokens != ABSENT_I64) {
        json_put_key(&w, engine_of(p)->thinking.limit);
        json_put_i64(&w, s->thinking_tokens);
    }
    json_put_object_end(&w);
    const char *text = arena_copy(a, b.p, b.n);
    buf_done(&b);
    return text;
}

bool engine_set_thinking(struct plan *p, const struct engine_template *given, struct arena *a, const char **ret_note,
                         struct err *e)
{
    must(p && given && a && ret_note);
    const struct plan_settings *s = &p->engine.settings;
    struct engine_template t = *given;
    *ret_note = NULL;
    if (ENUM_ABSENT(s->thinking) && s->thinking_tokens == ABSENT_I64) {
        read_extra(p);
        return true;
    }
    if (brings_template(p, a))
        t = (struct engine_template){0};
    if (!can_ask(p, e) || (t.known && !ENUM_ABSENT(s->thinking) && !fits_template(p, &t, ret_note, e)))
        return false;
    if (!t.known && !ENUM_ABSENT(s->thinking))
        *ret_note =
            "The model's chat template can't be read here, so whether it knows of engine.settings.thinking was not "
            "checked: one that doesn't would ignore it without a word.";
    p->requests.thinking = plan_thinking_text(p, a);
    p->requests.thinking_body = body_of(p, &t, a);
    return true;
}
