/* A view of bytes that somebody else owns. Not terminated by NUL; p may be null only when n is 0. */
#ifndef JTOK_BASE_SPAN_H
#define JTOK_BASE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

struct span {
    const char *p;
    size_t n;
};

/* For printf's "%.*s". */
#define SPAN_ARG(s) (int)(s).n, (s).p

static inline struct span span_of(const char *text)
{
    return (struct span){text, strlen(text)};
}

static inline bool span_is(struct span s, const char *text)
{
    return s.n == strlen(text) && (s.n == 0 || memcmp(s.p, text, s.n) == 0);
}

static inline bool span_equal(struct span a, struct span b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool span_is_nocase(struct span s, const char *text)
{
    return s.n == strlen(text) && (s.n == 0 || strncasecmp(s.p, text, s.n) == 0);
}

static inline bool span_starts(struct span s, const char *prefix)
{
    size_t n = strlen(prefix);
    return s.n >= n && (n == 0 || memcmp(s.p, prefix, n) == 0);
}

static inline bool span_ends(struct span s, const char *ending)
{
    size_t n = strlen(ending);
    return s.n >= n && (n == 0 || memcmp(s.p + s.n - n, ending, n) == 0);
}

static inline bool span_ends_nocase(struct span s, const char *ending)
{
    size_t n = strlen(ending);
    return s.n >= n && (n == 0 || strncasecmp(s.p + s.n - n, ending, n) == 0);
}

/* Without spaces and tabs at either end. */
static inline struct span span_trim(struct span s)
{
    while (s.n && (*s.p == ' ' || *s.p == '\t')) {
        s.p++;
        s.n--;
    }
    while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
        s.n--;
    return s;
}

/* A path without the slashes at its end; "/" stays. */
static inline struct span span_without_slash(struct span path)
{
    while (path.n > 1 && path.p[path.n - 1] == '/')
        path.n--;
    return path;
}

#endif
