/* A plan's command as words, and which engine they start. */
#include "text/words.h"

#include <string.h>
#include "base/must.h"
#include "engine/table.h"

/* Does a path end in this name? */
static bool is_program(const char *word, const char *name)
{
    size_t n = strlen(word), k = strlen(name);
    return n >= k && strcmp(word + n - k, name) == 0 && (n == k || word[n - k - 1] == '/');
}

/* ---- shells ---- */

static bool is_shell(const char *word)
{
    static const char *const shells[] = {"sh", "bash", "dash", "zsh", "ksh", "ash"};
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (is_program(word, shells[i]))
            return true;
    return false;
}

/* The word behind `sh -c`, `bash -lc`, `bash -o pipefail -c`, from word `from` on; n: there is none. */
static size_t shell_text(const char *const *words, size_t from, size_t n)
{
    for (size_t i = from; i < n; i++) {
        size_t k = i + 1;
        if (!is_shell(words[i]))
            continue;
        for (; k + 1 < n && words[k][0] == '-'; k++) {
            if (words[k][1] != '-' && strchr(words[k], 'c'))
                return k + 1;
            k += strcmp(words[k], "-o") == 0;
        }
    }
    return n;
}

/* What an image puts in front of the plan's words belongs to them. */
static struct command_words with_entrypoint(const struct plan *p, struct arena *a)
{
    const struct plan_engine *g = &p->engine;
    size_t before = g->container.entrypoint_count;
    if (!before)
        return (struct command_words){.list = (const char *const *)g->command, .n = g->command_count};
    const char **all = arena_array(a, before + g->command_count + 1, sizeof *all);
    memcpy(all, g->container.entrypoint, before * sizeof *all);
    if (g->command_count)
        memcpy(all + before, g->command, g->command_count * sizeof *all);
    return (struct command_words){.list = (const char *const *)all, .n = before + g->command_count};
}

struct command_words command_words(const struct plan *p, struct arena *a)
{
    enum { NESTED = 3 }; /* a shell that starts a shell */
    struct command_words w = with_entrypoint(p, a);
    size_t from = 0;
    for (int depth = 0; depth < NESTED; depth++) {
        size_t at = shell_text(w.list, from, w.n), inner_count;
        const char **inner;
        if (at == w.n || words_split(span_of(w.list[at]), a, &inner, &inner_count) != 0)
            break;
        const char **all = arena_array(a, w.n + inner_count, sizeof *all);
        memcpy(all, w.list, at * sizeof *all);
        memcpy(all + at, inner, inner_count * sizeof *all);
        w = (struct command_words){.list = all, .n = at + inner_count, .in_shell = true};
        from = at;
    }
    return w;
}

/* ---- engines ---- */

static bool is_next(const char *word, const char *next)
{
    size_t n = strlen(next);
    return next[n - 1] == '.' ? strncmp(word, next, n) == 0 : strcmp(word, next) == 0;
}

/* `python -m MODULE`, `python -mMODULE`, `vllm serve`. */
static bool starts_at(const struct engine_start *s, const struct command_words *w, size_t i)
{
    const char *word = w->list[i];
    if (strcmp(s->program, "-m") == 0 && strncmp(word, "-m", 2) == 0 && word[2])
        return is_next(word + 2, s->next);
    return is_program(word, s->program) && (!s->next || (i + 1 < w->n && is_next(w->list[i + 1], s->next)));
}

const struct engine *command_engine(const struct command_words *w, size_t *ret_first)
{
    must(ret_first);
    const struct engine *g;
    for (size_t i = 0; i < w->n; i++)
        for (size_t k = 0; (g = engine_row(k)); k++)
            for (const struct engine_start *s = g->starts; s && s->program; s++)
                if (starts_at(s, w, i)) {
                    *ret_first = i;
                    return g;
                }
    return NULL;
}
