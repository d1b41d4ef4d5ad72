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
    char text[sizeof e->text];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    size_t n = strlen(text);
    snprintf(text + n, sizeof text - n, ": %s", e->text);
    memcpy(e->text, text, sizeof text);
    return false;
}
