#include "cli/engines.h"

#include <string.h>
#include "base/must.h"
#include "base/typed.h"
#include "cli/show.h"
#include "engine/engine.h"
#include "text/nearest.h"
#include "text/wrap.h"

static bool add_kind(struct span name, enum engine_kind *kinds, size_t *n, struct arena *a, struct err *e)
{
    int kind = name_index(engine_kind_names, name);
    const char *meant = kind < 0 ? nearest_of(name, engine_kind_names) : NULL;
    if (kind < 0)
        return err_set(e, ERR_USAGE, "--engine: \"%.*s\" is not a kind of engine that jtok knows.%s", SPAN_ARG(name),
                       meant ? arena_format(a, " Did you mean %s?", meant)
                             : " They are vllm, sglang, llamacpp and openai.");
    for (size_t i = 0; i < *n; i++)
        if (kinds[i] == (enum engine_kind)kind)
            return err_set(e, ERR_USAGE, "--engine: \"%.*s\" is there twice. Name each engine once.", SPAN_ARG(name));
    must(*n < ENGINE_KIND_COUNT);
    kinds[(*n)++] = (enum engine_kind)kind;
    return true;
}

bool engines_read(const char *text, struct arena *a, enum engine_kind ret_kinds[ENGINE_KIND_COUNT], size_t *ret_n,
                  struct err *e)
{
    must(text && ret_n);
    size_t n = 0;
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        if (!add_kind(span_trim((struct span){at, length}), ret_kinds, &n, a, e))
            return false;
        at += length;
        if (!*at)
            break;
    }
    *ret_n = n;
    return true;
}

/* ---- side by side ---- */

enum { COLUMNS = 80 };

struct shown {
    struct plan plan;
    const char *const *notes;
    const char *name;
};

static bool prepare_engine(const struct plan *p, enum engine_kind kind, struct arena *a, struct shown *s, struct err *e)
{
    struct err why = {0};
    *s = (struct shown){.plan = *p, .name = engine_kind_names[kind]};
    s->plan.engine.kind = kind;
    if (!engine_make_command(&s->plan, a, &s->notes, &why) || !engine_complete_plan(&s->plan, a, &why))
        return err_set(e, why.kind, "%s: %s", s->name, why.text);
    engine_state_settings(&s->plan, a);
    return true;
}

/* Columns of word i, and of the value behind it where it is an option. */
static size_t columns_from(const struct plan *p, size_t i)
{
    const char *word = p->engine.command[i], *next = i + 1 < p->engine.command_count ? p->engine.command[i + 1] : "-";
    return strlen(word) + (word[0] == '-' && next[0] != '-' ? 1 + strlen(next) : 0);
}

/* As a shell would take it: an option and its value stay in one line. */
static void put_command(const struct plan *p, struct buf *out)
{
    enum { INDENT = 6, MARK = 2 }; /* " \\" */
    size_t at = 2;
    buf_str(out, "  ");
    for (size_t i = 0; i < p->engine.command_count; i++) {
        const char *word = p->engine.command[i];
        bool breaks = i > 0 && at + 1 + columns_from(p, i) + MARK > COLUMNS;
        if (breaks)
            buf_fmt(out, " \\\n%*s", INDENT, "");
        else if (i > 0)
            buf_byte(out, ' ');
        typed_put_word(out, word);
        at = (breaks ? INDENT : at + (i > 0)) + strlen(word);
    }
    buf_byte(out, '\n');
}

static void put_engine(const struct shown *s, struct buf *out)
{
    buf_fmt(out, "%s\n", s->name);
    put_command(&s->plan, out);
    for (const char *const *note = s->notes; note && *note; note++)
        show_item(*note, out);
    buf_byte(out, '\n');
}

static const char *in_force(const struct plan *p, const char *name)
{
    for (size_t i = 0; i < p->engine.in_force_count; i++)
        if (strcmp(p->engine.in_force[i].name, name) == 0)
            return p->engine.in_force[i].value;
    return NULL;
}

static bool all_agree(const struct shown *list, size_t n, const char *name)
{
    const char *first = in_force(&list[0].plan, name);
    bool same = true;
    for (size_t i = 1; i < n; i++) {
        const char *other = in_force(&list[i].plan, name);
        same = same &&
               (first && other ? span_equal(engine_setting_value(first), engine_setting_value(other)) : first == other);
    }
    return same;
}

static size_t put_unlike(const struct shown *list, size_t n, struct buf *out)
{
    size_t found = 0;
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const char *name = plan_setting_names[i];
        if (all_agree(list, n, name))
            continue;
        found++;
        buf_fmt(out, "  %s\n", name);
        for (size_t k = 0; k < n; k++) {
            const char *text = in_force(&list[k].plan, name);
            size_t head = out->n;
            buf_fmt(out, "    %-8s ", list[k].name);
            text_wrap(out, text ? text : "it has no such setting", out->n - head, 13, COLUMNS);
        }
    }
    return found;
}

bool engines_show(const struct plan *p, const enum engine_kind *kinds, size_t n, struct arena *a, struct buf *out,
                  struct err *e)
{
    must(n > 0 && n <= ENGINE_KIND_COUNT);
    struct shown list[ENGINE_KIND_COUNT];
    for (size_t i = 0; i < n; i++)
        if (!prepare_engine(p, kinds[i], a, &list[i], e))
            return false;
    for (size_t i = 0; i < n; i++)
        put_engine(&list[i], out);
    buf_str(out, "jtok adds host, port and served model where they are missing.\n\nWhat differs\n");
    if (!put_unlike(list, n, out))
        show_item("Nothing that jtok knows of.", out);
    for (size_t i = 0; i < n; i++) {
        const char *version = in_force(&list[i].plan, "defaults_of");
        if (version)
            show_item(arena_format(a, "Options and defaults of %s are those of %s; another version may have others.",
                                   list[i].name, version),
                      out);
    }
    return true;
}
