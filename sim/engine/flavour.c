#include "flavour.h"

#include <string.h>

static const struct flavour *const flavours[] = {&flavour_vllm, &flavour_sglang, &flavour_llamacpp};
enum { FLAVOURS = sizeof flavours / sizeof *flavours };

const struct flavour *flavour_named(const char *name)
{
    for (size_t i = 0; i < FLAVOURS; i++)
        if (strcmp(flavours[i]->name, name) == 0)
            return flavours[i];
    return NULL;
}

void flavour_put_names(struct buf *b)
{
    for (size_t i = 0; i < FLAVOURS; i++)
        buf_fmt(b, " %s", flavours[i]->name);
}
