#include "base/typed.h"

#include <string.h>
#include "base/must.h"

static bool is_safe(const char *word)
{
    static const char SAFE[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,+@%^";
    for (const char *p = word; *p; p++)
        if (!strchr(SAFE, *p))
            return false;
    return *word;
}

void typed_put_word(struct buf *b, const char *word)
{
    must(word);
    if (is_safe(word)) {
        buf_str(b, word);
        return;
    }
    buf_byte(b, '\'');
    for (; *word; word++)
        buf_fmt(b, *word == '\'' ? "'\\%c'" : "%c", *word);
    buf_byte(b, '\'');
}

void typed_put(struct buf *b, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        buf_str(b, i ? " " : "");
        typed_put_word(b, words[i]);
    }
}
