#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool err_set(struct err *e, enum err_kind kind, const char *format, ...)
{
    if (!e)
        return false;
    va_list arguments;
    va_start(arguments, format);
    e->kind = kind;
    vsnprintf(e->text, sizeof e->text, format, arguments);
    va_end(arguments);
    return false;
}

bool err_set_errno(struct err *e, enum err_kind kind, int number, const char *format, ...)
{
    if (!e)
        return false;
    va_list arguments;
    va_start(arguments, format);
    e->kind = kind;
    vsnprintf(e->text, sizeof e->text, format, arguments);
    va_end(arguments);
    size_t n = strlen(e->text);
    char reason[128];
    snprintf(e->text + n, sizeof e->text - n, ": %s", strerror_r(number, reason, sizeof reason));
    return false;
}

bool err_prefix(struct err *e, const char *format, ...)
{
    if (!e)
        return false;
    char prefix[sizeof e->text];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(prefix, sizeof prefix - 2, format, arguments);
    va_end(arguments);
    strcat(prefix, ": ");
    size_t n = strlen(prefix), rest = sizeof e->text - n;
    memmove(e->text + n, e->text, rest);
    memcpy(e->text, prefix, n);
    e->text[sizeof e->text - 1] = 0;
    return false;
}
