#include "engine/engine.h"

#include <string.h>
#include "base/must.h"
#include "base/num.h"

const char *precision_name(const char *text)
{
    static const char *const names[][2] = {
        {"bfloat16", "bf16"},
        {"float16", "fp16"},
        {"half", "fp16"},
        {"float32", "fp32"},
        {"float", "fp32"},
        {"awq_marlin", "awq"},
        {"gptq_marlin", "gptq"},
        {"bitsandbytes", "bnb"},
        {"modelopt", "fp8"},
        {"modelopt_fp4", "nvfp4"},
        {"fbgemm_fp8", "fp8"},
        {"ptpc_fp8", "fp8"},
        {"fp8", "fp8"},
        {"nvfp4", "nvfp4"},
        /* llama.cpp's names of its formats, as files and commands have them. */
        {"F16", "fp16"},
        {"F32", "fp32"},
        {"all F32", "fp32"},
        {"Q2_K - Medium", "Q2_K"},
        {"Q2_K - Small", "Q2_K_S"},
        {"Q3_K - Small", "Q3_K_S"},
        {"Q3_K - Medium", "Q3_K_M"},
        {"Q3_K - Large", "Q3_K_L"},
        {"Q4_K - Small", "Q4_K_S"},
        {"Q4_K - Medium", "Q4_K_M"},
        {"Q5_K - Small", "Q5_K_S"},
        {"Q5_K - Medium", "Q5_K_M"},
        {"IQ1_S - 1.5625 bpw", "IQ1_S"},
        {"IQ1_M - 1.75 bpw", "IQ1_M"},
        {"IQ2_XXS - 2.0625 bpw", "IQ2_XXS"},
        {"IQ2_XS - 2.3125 bpw", "IQ2_XS"},
        {"IQ2_S - 2.5 bpw", "IQ2_S"},
        {"IQ2_M - 2.7 bpw", "IQ2_M"},
        {"IQ3_XXS - 3.0625 bpw", "IQ3_XXS"},
        {"IQ3_XS - 3.3 bpw", "IQ3_XS"},
        {"IQ3_S - 3.4375 bpw", "IQ3_S"},
        {"IQ3_S mix - 3.66 bpw", "IQ3_M"},
        {"IQ4_NL - 4.5 bpw", "IQ4_NL"},
        {"IQ4_XS - 4.25 bpw", "IQ4_XS"},
        {"TQ1_0 - 1.69 bpw ternary", "TQ1_0"},
        {"TQ2_0 - 2.06 bpw ternary", "TQ2_0"},
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
static const char *last_part(const char *path, const char *part)
{
    const char *last = NULL;
    for (const char *at = path; at && (at = strstr(at, part)); at++)
        last = at;
    return last;
}

const char *snapshot_revision(const char *path, struct arena *a)
{
    must(a);
    const char *at = last_part(path, "/snapshots/");
    if (!at)
        return NULL;
    at += strlen("/snapshots/");
    size_t n = strspn(at, "0123456789abcdef");
    return n == 40 && (at[n] == 0 || at[n] == '/') ? arena_copy(a, at, n) : NULL;
}

const char *hub_model_id(const char *path, struct arena *a)
{
    must(a);
    const char *at = last_part(path, "/models--");
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

/* ---- versions ---- */

/* A version that is being read, part by part. */
struct version {
    const char *at, *end;
    bool release; /* only numbers so far */
};

/* What stands behind '+', or behind '-' where a build's hash follows, is how it was built. */
static struct version version_of(const char *text, struct span *ret_build)
{
    if ((*text == 'v' || *text == 'V' || *text == 'b') && num_is_digit(text[1]))
        text++;
    const char *plus = strchr(text, '+'), *dash = strchr(text, '-');
    if (!plus && dash && strspn(dash + 1, "0123456789abcdef") == strlen(dash + 1) && strlen(dash + 1) >= 7)
        plus = dash;
    *ret_build = plus ? span_of(plus + 1) : (struct span){0};
    return (struct version){text, plus ? plus : text + strlen(text), true};
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The next run of digits or letters; empty at the end. Zeros that end a release, and those in front of a number, are no
 * part of it. */
static struct span next_part(struct version *v)
{
    while (v->at < v->end && !num_is_digit(*v->at) && !is_letter(*v->at))
        v->at++;
    const char *from = v->at;
    bool digits = from < v->end && num_is_digit(*from);
    while (v->at < v->end && (digits ? num_is_digit(*v->at) : is_letter(*v->at)))
        v->at++;
    v->release = v->release && digits;
    while (digits && from + 1 < v->at && *from == '0')
        from++;
    return (struct span){from, (size_t)(v->at - from)};
}

static bool same_part(struct span x, struct span y)
{
    return x.n == y.n && (x.n == 0 || strncasecmp(x.p, y.p, x.n) == 0);
}

bool version_same(const char *stated, const char *seen)
{
    must(stated && seen);
    struct span build_x, build_y;
    struct version x = version_of(stated, &build_x), y = version_of(seen, &build_y);
    struct span a = next_part(&x), b = next_part(&y);
    while (a.n || b.n) {
        if (!same_part(a, b)) {
            /* 0.24 and 0.24.0: skip the zeros of the longer release. */
            bool skip_a = x.release && span_is(a, "0") && !y.release,
                 skip_b = y.release && span_is(b, "0") && !x.release;
            if (!skip_a && !skip_b)
                return false;
            if (skip_a)
                a = next_part(&x);
            else
                b = next_part(&y);
            continue;
        }
        a = next_part(&x);
        b = next_part(&y);
    }
    return !build_x.p || same_part(build_x, build_y);
}
