#include "cli/exit.h"

#include <stdio.h>
#include "base/utf8.h"

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

void exit_tell(const char *text)
{
    struct buf b = {0};
    buf_str(&b, "jtok: ");
    utf8_show(&b, span_of(text), true);
    buf_byte(&b, '\n');
    fwrite(b.p, 1, b.n, stderr);
    buf_done(&b);
}

int exit_with(const struct err *e)
{
    exit_tell(e->text);
    return exit_code_of(e);
}
