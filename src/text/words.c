#include "text/words.h"

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
