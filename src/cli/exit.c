#include "cli/exit.h"

#include <stdio.h>

int exit_code_of(const struct err *e)
{
    switch (e->kind) {
    case ERR_NONE:
        return EXIT_OK;
    case ERR_USAGE:
        return EXIT_USAGE;
    case ERR_PLAN:
        return EXIT_PLAN;
    case ERR_DEVICE:
        return EXIT_DEVICE;
    case ERR_BUSY:
        return EXIT_BUSY;
    case ERR_ENGINE:
        return EXIT_ENGINE;
    case ERR_RECORDS:
        return EXIT_RECORDS;
    case ERR_REFUSED:
        return EXIT_REFUSED;
    case ERR_INTERRUPTED:
        return EXIT_INTERRUPTED;
    case ERR_SYSTEM:
    case ERR_INTERNAL:
        break;
    }
    return EXIT_SYSTEM;
}

int exit_with(const struct err *e)
{
    fputs("jtok: ", stderr);
    for (const char *p = e->text; *p; p++)
        fputc(((unsigned char)*p < ' ' && *p != '\n' && *p != '\t') || *p == 127 ? '?' : *p, stderr);
    fputc('\n', stderr);
    return exit_code_of(e);
}
