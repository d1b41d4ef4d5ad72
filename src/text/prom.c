#include "text/prom.h"

#include <math.h>
#include <stdlib.h>

static bool is_name_byte(char c, bool first)
{
    char lower = c | 0x20;
    return (lower >= 'a' && lower <= 'z') || c == '_' || c == ':' || (!first && c >= '0' && c <= '9');
}

static void skip(struct span *s, size_t n)
{
    s->p += n;
    s->n -= n;
}

static void skip_blanks(struct span *s)
{
    while (s->n && (*s->p == ' ' || *s->p == '\t'))
        skip(s, 1);
}

static bool take_metric_name(struct span *s, struct span *ret_name)
{
    size_t n = 0;
    while (n < s->n && is_name_byte(s->p[n], n == 0))
        n++;
    *ret_name = (struct span){s->p, n};
    skip(s, n);
    return n > 0;
}

static bool take_byte(struct span *s, char c)
{
    skip_blanks(s);
    if (s->n == 0 || *s->p != c)
        return false;
    skip(s, 1);
    return true;
}

/* Takes `name="value"` and the comma behind it, if any. */
static bool take_label(struct span *s, struct span *ret_name, struct span *ret_value)
{
    skip_blanks(s);
    if (!take_metric_name(s, ret_name) || !take_byte(s, '=') || !take_byte(s, '"'))
        return false;
    size_t n = 0;
    while (n < s->n && s->p[n] != '"')
        n += s->p[n] == '\\' ? 2 : 1;
    if (n >= s->n)
        return false;
    *ret_value = (struct span){s->p, n};
    skip(s, n + 1);
    take_byte(s, ',');
    return true;
}

/* A number as Go's ParseFloat takes it, without its hexadecimal forms and underscores. */
static bool read_sample_value(struct span s, double *ret_value)
{
    char text[64];
    if (s.n == 0 || s.n >= sizeof text)
        return false;
    memcpy(text, s.p, s.n);
    text[s.n] = 0;
    bool word =
        span_is_nocase(s, "nan") || span_is_nocase(s, "inf") || span_is_nocase(s, "+inf") || span_is_nocase(s, "-inf");
    if (!word && strspn(text, "0123456789+-.eE") != s.n)
        return false;
    char *end;
    double value = strtod(text, &end);
    if (*end || (!word && isinf(value)))
        return false;
    *ret_value = value;
    return true;
}

static struct span take_word(struct span *s)
{
    skip_blanks(s);
    size_t n = 0;
    while (n < s->n && s->p[n] != ' ' && s->p[n] != '\t')
        n++;
    struct span word = {s->p, n};
    skip(s, n);
    return word;
}

static bool read_sample(struct span line, struct prom_sample *ret_sample)
{
    struct prom_sample sample = {0};
    if (!take_metric_name(&line, &sample.name))
        return false;
    if (take_byte(&line, '{')) {
        const char *from = line.p;
        while (!take_byte(&line, '}')) {
            struct span name, value;
            if (!take_label(&line, &name, &value))
                return false;
        }
        sample.labels = (struct span){from, (size_t)(line.p - 1 - from)};
    }
    if (!read_sample_value(take_word(&line), &sample.value))
        return false;
    double timestamp;
    struct span word = take_word(&line);
    if ((word.n && !read_sample_value(word, &timestamp)) || take_word(&line).n)
        return false;
    *ret_sample = sample;
    return true;
}

static struct span take_text_line(struct span *text)
{
    const char *lf = memchr(text->p, '\n', text->n);
    struct span line = {text->p, lf ? (size_t)(lf - text->p) : text->n};
    skip(text, line.n + (lf != NULL));
    if (line.n && line.p[line.n - 1] == '\r')
        line.n--;
    return span_trim(line);
}

bool prom_next(struct span *text, struct prom_sample *ret_sample, unsigned *bad)
{
    while (text->n) {
        struct span line = take_text_line(text);
        if (line.n == 0 || *line.p == '#')
            continue;
        if (read_sample(line, ret_sample))
            return true;
        if (bad)
            ++*bad;
    }
    return false;
}

bool prom_label(struct span labels, const char *name, struct span *ret_value)
{
    struct span key, value;
    while (labels.n && take_label(&labels, &key, &value)) {
        if (span_is(key, name)) {
            *ret_value = value;
            return true;
        }
    }
    return false;
}
