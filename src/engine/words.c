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

/* The word behind `sh -c`, `bash -lc`, `bash -o pipefail -c --`, from word `from` on; n: there is none. */
static size_t shell_text(const char *const *words, size_t from, size_t n)
{
    for (size_t i = from; i < n; i++) {
        if (!is_shell(words[i]))
            continue;
        bool is_text = false;
        size_t k = i + 1;
        for (; k < n && words[k][0] == '-'; k++) {
            is_text = is_text || (words[k][1] != '-' && strchr(words[k], 'c'));
            k += strcmp(words[k], "-o") == 0;
        }
        if (is_text && k < n)
            return k;
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

/* Where a word sends or takes a stream: "> FILE", "2>FILE". The number of words that it takes; 0: it is none. */
static size_t redirection(const char *const *words, size_t i, size_t n)
{
    const char *at = words[i] + strspn(words[i], "0123456789&");
    if (*at != '>' && *at != '<')
        return 0;
    at += strspn(at, "<>&|");
    return *at || i + 1 == n ? 1 : 2;
}

/* One command of a shell's text: without redirections, and with `more` (what stands behind the text and its name) where
 * it says "$@". False: a quote is not closed. */
static bool split_command(struct span text, const struct command_words *more, struct arena *a,
                          struct command_words *ret_words)
{
    const char **words;
    size_t count, n = 0;
    if (words_split(text, a, &words, &count) != 0)
        return false;
    const char **all = arena_array(a, count * (more->n + 1) + 1, sizeof *all);
    for (size_t i = 0; i < count; i++) {
        size_t skipped = redirection(words, i, count);
        bool arguments = strcmp(words[i], "$@") == 0 || strcmp(words[i], "$*") == 0;
        for (size_t k = 0; arguments && k < more->n; k++)
            all[n++] = more->list[k];
        if (!skipped && !arguments)
            all[n++] = words[i];
        i += skipped > 1;
    }
    *ret_words = (struct command_words){.list = all, .n = n, .in_shell = true};
    return true;
}

/* The command of a shell's text that starts an engine, else one that is a shell's again, else all of them as one.
 * False: the text can't be split. */
static bool choose_command(struct span text, const struct command_words *more, struct arena *a,
                           struct command_words *ret_words)
{
    size_t first;
    for (struct span rest = text; rest.n;) {
        struct command_words one;
        if (!split_command(words_command(&rest), more, a, &one))
            return false;
        if (command_engine(&one, &first) || shell_text(one.list, 0, one.n) < one.n) {
            *ret_words = one;
            return true;
        }
    }
    return split_command(text, more, a, ret_words);
}

struct command_words command_words(const struct plan *p, struct arena *a)
{
    enum { NESTED = 3 }; /* a shell that starts a shell */
    struct command_words w = with_entrypoint(p, a), inner;
    for (int depth = 0; depth < NESTED; depth++) {
        size_t at = shell_text(w.list, 0, w.n), behind = at + 2; /* the first word behind the text is its name */
        struct command_words more = {.list = w.list + (behind < w.n ? behind : w.n),
                                     .n = behind < w.n ? w.n - behind : 0};
        if (at == w.n || !choose_command(span_of(w.list[at]), &more, a, &inner))
            break;
        w = inner;
    }
    return w;
}

/* ---- engines ---- */

static bool is_next(const char *word, const char *next)
{
    size_t n = strlen(next);
    return next[n - 1] == '.' ? strncmp(word, next, n) == 0 : strcmp(word, next) == 0;
}

/* `-m MODULE`, `-mMODULE`, also behind letters of Python's that take no value (`-um`). */
static bool is_module(const struct command_words *w, size_t i, const char *module)
{
    const char *word = w->list[i], *at = word + 1;
    if (word[0] != '-')
        return false;
    at += strspn(at, "bBdEiIOPqsSuvVx");
    if (*at != 'm')
        return false;
    return at[1] ? is_next(at + 1, module) : i + 1 < w->n && is_next(w->list[i + 1], module);
}

/* `python -m MODULE`, `vllm serve`. */
static bool starts_at(const struct engine_start *s, const struct command_words *w, size_t i)
{
    const char *word = w->list[i];
    if (strcmp(s->program, "-m") == 0)
        return is_module(w, i, s->next);
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
