#include "text/words.h"

#include <string.h>
#include "base/buf.h"
#include "base/must.h"

char words_split(struct span text, struct arena *a, const char ***ret_words, size_t *ret_count)
{
    must(a && ret_words && ret_count);
    const char **words = arena_array(a, text.n / 2 + 1, sizeof *words); /* each but the last takes two bytes */
    struct buf word = {0};
    size_t count = 0;
    char quote = 0;
    bool inside = false;
    for (size_t i = 0; i <= text.n; i++) {
        char c = i < text.n ? text.p[i] : ' ';
        if (i == text.n && quote)
            break;
        if (quote ? c == quote : (c == '\'' || c == '"')) {
            quote = quote ? 0 : c;
            inside = true;
        } else if (c == '\\' && quote != '\'' && i + 1 < text.n && text.p[i + 1] == '\n') {
            i++; /* the line goes on */
        } else if (c == '\\' && quote != '\'' && i + 1 < text.n &&
                   (!quote || text.p[i + 1] == '"' || text.p[i + 1] == '\\')) {
            buf_byte(&word, text.p[++i]);
            inside = true;
        } else if (!quote && (c == ' ' || c == '\t' || c == '\n')) {
            if (inside)
                words[count++] = arena_copy(a, word.p, word.n);
            buf_clear(&word);
            inside = false;
        } else {
            buf_byte(&word, c);
            inside = true;
        }
    }
    buf_done(&word);
    must(count <= text.n / 2 + 1);
    if (!quote) {
        *ret_words = words;
        *ret_count = count;
    }
    return quote;
}

const char **words_by_comma(const char *text, struct arena *a, size_t *ret_count)
{
    must(text && a && ret_count);
    const char **list = arena_array(a, strlen(text) / 2 + 1, sizeof *list); /* each but the last takes two bytes */
    *ret_count = 0;
    for (size_t n; *text; text += n + (text[n] == ',')) {
        n = strcspn(text, ",");
        if (n)
            list[(*ret_count)++] = arena_copy(a, text, n);
    }
    return list;
}

/* An unquoted byte that ends a command. */
static bool ends_command(struct span text, size_t i)
{
    char c = text.p[i], before = i ? text.p[i - 1] : 0, behind = i + 1 < text.n ? text.p[i + 1] : 0;
    bool redirects = before == '>' || before == '<' || behind == '>';
    return c == ';' || c == '\n' || c == '|' || (c == '&' && !redirects);
}

struct span words_command(struct span *text)
{
    must(text);
    char quote = 0;
    size_t i = 0;
    for (; i < text->n && (quote || !ends_command(*text, i)); i++) {
        char c = text->p[i];
        if (c == '\\' && quote != '\'')
            i++;
        else if (quote ? c == quote : (c == '\'' || c == '"'))
            quote = quote ? 0 : c;
    }
    size_t n = i < text->n ? i : text->n;
    struct span command = {text->p, n};
    n += n < text->n; /* the operator */
    *text = (struct span){text->p + n, text->n - n};
    return command;
}
