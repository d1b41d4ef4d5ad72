#include "engine/model_files.h"

#include <string.h>
#include "base/must.h"
#include "engine/engine.h"
#include "text/json.h"

/* ---- config.json ---- */

struct config_reader {
    struct json j;
    struct arena *arena;
    const char *dtype, *text_dtype, *method, *algorithm;
    int64_t bits;
};

enum where { TOP, TEXT_PART, QUANTIZATION };

/* An object whose `{` was just read. False on a fault. */
static bool read_object(struct config_reader *r, enum where at)
{
    while (json_next(&r->j) == JSON_KEY) {
        bool dtype = json_is(&r->j, "torch_dtype") || json_is(&r->j, "dtype");
        bool part = at == TOP && json_is(&r->j, "text_config");
        bool quantization =
            at != QUANTIZATION && (json_is(&r->j, "quantization_config") || json_is(&r->j, "compression_config") ||
                                   (at == TOP && json_is(&r->j, "quantization")));
        bool algorithm = at == QUANTIZATION && json_is(&r->j, "quant_algo");
        bool method = at == QUANTIZATION && json_is(&r->j, "quant_method");
        bool bits = at == QUANTIZATION && (json_is(&r->j, "bits") || json_is(&r->j, "w_bit"));
        enum json_kind k = json_next(&r->j);
        if (k == JSON_STRING && dtype && at != QUANTIZATION)
            *(at == TOP ? &r->dtype : &r->text_dtype) = json_copy(&r->j, r->arena);
        else if (k == JSON_STRING && method)
            r->method = json_copy(&r->j, r->arena);
        else if (k == JSON_STRING && algorithm)
            r->algorithm = json_copy(&r->j, r->arena);
        else if (k == JSON_NUMBER && bits)
            json_i64(&r->j, &r->bits);
        else if (k == JSON_OBJECT && (part || quantization)) {
            if (!read_object(r, part ? TEXT_PART : QUANTIZATION))
                return false;
        } else if ((k == JSON_OBJECT || k == JSON_ARRAY) && json_skip(&r->j) == JSON_ERROR)
            return false;
        else if (k == JSON_ERROR)
            return false;
    }
    return r->j.kind == JSON_OBJECT_END;
}

void model_config_read(struct span json, struct arena *a, struct model_config *ret)
{
    must(a && ret);
    struct config_reader r = {.arena = a, .bits = ABSENT_I64};
    *ret = (struct model_config){.bits = ABSENT_I64};
    json_init(&r.j, json);
    if (json_next(&r.j) != JSON_OBJECT || !read_object(&r, TOP))
        return;
    /* ModelOpt's method is the same for each of its formats. */
    if (r.algorithm && (!r.method || strcmp(r.method, "modelopt") == 0))
        r.method = r.algorithm;
    const char *named = r.method ? r.method : r.dtype ? r.dtype : r.text_dtype;
    *ret = (struct model_config){.precision = named ? precision_name(named) : NULL, .method = r.method, .bits = r.bits};
}

/* ---- safetensors ---- */

int64_t model_header_bytes(const unsigned char first[8], int64_t file_bytes)
{
    enum { MOST = 100 << 20 }; /* the format's own limit */
    must(file_bytes >= 0);
    uint64_t n = 0;
    for (int i = 8; i-- > 0;)
        n = n << 8 | first[i];
    return n >= 2 && n <= MOST && (int64_t)n <= file_bytes - 8 ? (int64_t)n : ABSENT_I64;
}

/* What one tensor's elements hold. */
enum content { ONE_EACH, PACKED, NO_PARAMETERS, UNKNOWN };

static bool ends_in(struct span name, const char *ending)
{
    size_t n = strlen(ending);
    return name.n >= n && memcmp(name.p + name.n - n, ending, n) == 0;
}

static enum content content_of(struct span name, struct span dtype, const struct model_config *c)
{
    static const char *const aside[] = {"scales",       "qzeros",      "g_idx",        "_scale",
                                        "_scale_inv",   "_zero_point", "weight_shape", "input_scale",
                                        "weight_scale", "absmax",      "quant_map",    "quant_state"};
    static const char *const packs_many[] = {"U8", "I8", "U32", "I32"};
    if (!c->method) {
        for (size_t i = 0; i < sizeof packs_many / sizeof *packs_many; i++)
            if (span_is(dtype, packs_many[i])) /* quantized, and no entry that says how */
                return UNKNOWN;
        return ONE_EACH;
    }
    for (size_t i = 0; i < sizeof aside / sizeof *aside; i++)
        if (ends_in(name, aside[i]))
            return NO_PARAMETERS;
    bool packs = strcmp(c->method, "gptq") == 0 || strcmp(c->method, "awq") == 0;
    if (packs && ends_in(name, "qweight") && span_is(dtype, "I32"))
        return c->bits >= 1 && c->bits <= 32 && 32 % c->bits == 0 ? PACKED : UNKNOWN;
    /* Whole bytes and floats hold one parameter each; anything else is packed in a way that is not known here. */
    bool whole = span_starts(dtype, "F") || span_starts(dtype, "BF");
    return whole ? ONE_EACH : UNKNOWN;
}

/* "shape": its `[` was just read. */
static int64_t product(struct json *j)
{
    int64_t n = 1, of;
    while (json_next(j) == JSON_NUMBER)
        if (!json_i64(j, &of) || of < 0 || __builtin_mul_overflow(n, of, &n))
            return ABSENT_I64;
    return j->kind == JSON_ARRAY_END ? n : ABSENT_I64;
}

/* A tensor whose `{` was just read. */
static int64_t read_tensor(struct json *j, struct span name, const struct model_config *c)
{
    struct span dtype = {0};
    int64_t elements = ABSENT_I64;
    while (json_next(j) == JSON_KEY) {
        bool is_dtype = json_is(j, "dtype"), is_shape = json_is(j, "shape");
        enum json_kind k = json_next(j);
        if (k == JSON_STRING && is_dtype)
            dtype = j->raw;
        else if (k == JSON_ARRAY && is_shape)
            elements = product(j);
        else if ((k == JSON_OBJECT || k == JSON_ARRAY) && json_skip(j) == JSON_ERROR)
            return ABSENT_I64;
    }
    if (j->kind != JSON_OBJECT_END || elements == ABSENT_I64 || !dtype.n)
        return ABSENT_I64;
    switch (content_of(name, dtype, c)) {
    case ONE_EACH:
        return elements;
    case PACKED:
        return __builtin_mul_overflow(elements, 32 / c->bits, &elements) ? ABSENT_I64 : elements;
    case NO_PARAMETERS:
        return 0;
    case UNKNOWN:
        break;
    }
    return ABSENT_I64;
}

int64_t model_header_parameters(struct span header, const struct model_config *c)
{
    must(c);
    struct json j;
    int64_t sum = 0;
    json_init(&j, header);
    if (json_next(&j) != JSON_OBJECT)
        return ABSENT_I64;
    while (json_next(&j) == JSON_KEY) {
        struct span name = j.raw;
        bool aside = json_is(&j, "__metadata__");
        if (json_next(&j) != JSON_OBJECT)
            return ABSENT_I64;
        if (aside) {
            if (json_skip(&j) == JSON_ERROR)
                return ABSENT_I64;
            continue;
        }
        int64_t n = read_tensor(&j, name, c);
        if (n == ABSENT_I64 || __builtin_add_overflow(sum, n, &sum))
            return ABSENT_I64;
    }
    return j.kind == JSON_OBJECT_END ? sum : ABSENT_I64;
}
