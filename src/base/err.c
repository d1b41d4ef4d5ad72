#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void err_put(struct err *e, enum err_kind kind, const char *format, ...)
{
    if (!e)
        return;
    va_list arguments;
    va_start(arguments, format);
    e->kind = kind;
    vsnprintf(e->text, sizeof e->text, format, arguments);
    va_end(arguments);
}

void err_put_errno(struct err *e, enum err_kind kind, int number, const char *format, ...)
{
    if (!e)
        return;
    va_list arguments;
    va_start(arguments, format);
    e->kind = kind;
    vsnprintf(e->text, sizeof e->text, format, arguments);
    va_end(arguments);
    size_t n = strlen(e->text);
    char reason[128];
    snprintf(e->text + n, sizeof e->text - n, ": %s.", strerror_r(number, reason, sizeof reason));
}

void err_put_prefix(struct err *e, const char *format, ...)
{
    if (!e)
        return;
    char rest[sizeof e->text];
    memcpy(rest, e->text, sizeof rest);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(e->text, sizeof e->text - 2, format, arguments);
    va_end(arguments);
    size_t n = strlen(e->text);
    snprintf(e->text + n, sizeof e->text - n, ": %s", rest);
}
