#include "engine/engine.h"

#include <string.h>
#include "base/must.h"

const char *precision_name(const char *text)
{
    static const char *const names[][2] = {
        {"bfloat16", "bf16"}, {"float16", "fp16"},       {"half", "fp16"},        {"float32", "fp32"},
        {"float", "fp32"},    {"awq_marlin", "awq"},     {"gptq_marlin", "gptq"}, {"bitsandbytes", "bnb"},
        {"modelopt", "fp8"},  {"modelopt_fp4", "nvfp4"}, {"fbgemm_fp8", "fp8"},   {"ptpc_fp8", "fp8"},
        {"fp8", "fp8"},       {"nvfp4", "nvfp4"},
    };
    must(text);
    if (strncmp(text, "torch.", 6) == 0)
        text += 6;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(text, names[i][0]) == 0)
            return names[i][1];
    return text;
}

/* Where `part` stands last in a path, or null. */
static const char *last_of(const char *path, const char *part)
{
    const char *last = NULL;
    for (const char *at = path; at && (at = strstr(at, part)); at++)
        last = at;
    return last;
}

const char *snapshot_revision(const char *path, struct arena *a)
{
    must(a);
    const char *at = last_of(path, "/snapshots/");
    if (!at)
        return NULL;
    at += strlen("/snapshots/");
    size_t n = strspn(at, "0123456789abcdef");
    return n == 40 && (at[n] == 0 || at[n] == '/') ? arena_copy(a, at, n) : NULL;
}

const char *hub_model_id(const char *path, struct arena *a)
{
    must(a);
    const char *at = last_of(path, "/models--");
    const char *end = at ? strchr(at + 1, '/') : NULL;
    if (!end)
        return NULL;
    at += strlen("/models--");
    struct buf b = {0};
    for (; at < end; at++) {
        bool dashes = at[0] == '-' && at[1] == '-' && at + 1 < end;
        buf_byte(&b, dashes ? '/' : *at);
        at += dashes;
    }
    const char *id = arena_copy(a, b.p, b.n);
    buf_done(&b);
    return id;
}
