#include "engine/model_files.h"

#include <stdlib.h>
#include <string.h>
#include "base/must.h"
#include "engine/engine.h"
#include "text/json.h"

/* ---- config.json ---- */

struct config_reader {
    struct json j;
    struct arena *arena;
    const char *dtype, *text_dtype, *method, *algorithm;
    int64_t bits, positions, text_positions;
};

enum where { TOP, TEXT_PART, QUANTIZATION };

/* An object whose `{` was just read. False on a fault. */
static bool read_config_object(struct config_reader *r, enum where at)
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
        bool positions = at != QUANTIZATION && json_is(&r->j, "max_position_embeddings");
        enum json_kind k = json_next(&r->j);
        if (k == JSON_NUMBER && positions)
            json_i64(&r->j, at == TOP ? &r->positions : &r->text_positions);
        else if (k == JSON_STRING && dtype && at != QUANTIZATION)
            *(at == TOP ? &r->dtype : &r->text_dtype) = json_copy(&r->j, r->arena);
        else if (k == JSON_STRING && method)
            r->method = json_copy(&r->j, r->arena);
        else if (k == JSON_STRING && algorithm)
            r->algorithm = json_copy(&r->j, r->arena);
        else if (k == JSON_NUMBER && bits)
            json_i64(&r->j, &r->bits);
        else if (k == JSON_OBJECT && (part || quantization)) {
            if (!read_config_object(r, part ? TEXT_PART : QUANTIZATION))
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
    struct config_reader r = {.arena = a, .bits = ABSENT_I64, .positions = ABSENT_I64, .text_positions = ABSENT_I64};
    *ret = (struct model_config){.bits = ABSENT_I64, .positions = ABSENT_I64};
    json_init(&r.j, json);
    if (json_next(&r.j) != JSON_OBJECT || !read_config_object(&r, TOP))
        return;
    /* ModelOpt's method is the same for each of its formats. */
    if (r.algorithm && (!r.method || strcmp(r.method, "modelopt") == 0))
        r.method = r.algorithm;
    const char *named = r.method ? r.method : r.dtype ? r.dtype : r.text_dtype;
    *ret = (struct model_config){.precision = named ? precision_name(named) : NULL,
                                 .method = r.method,
                                 .bits = r.bits,
                                 .positions = r.positions != ABSENT_I64 ? r.positions : r.text_positions};
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
        if (span_ends(name, aside[i]))
            return NO_PARAMETERS;
    bool packs = strcmp(c->method, "gptq") == 0 || strcmp(c->method, "awq") == 0;
    if (packs && span_ends(name, "qweight") && span_is(dtype, "I32"))
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

/* "data_offsets": its `[` was just read. The second number is the end. */
static int64_t read_end(struct json *j)
{
    int64_t end = ABSENT_I64;
    while (json_next(j) == JSON_NUMBER)
        if (!json_i64(j, &end))
            return ABSENT_I64;
    return j->kind == JSON_ARRAY_END ? end : ABSENT_I64;
}

int64_t model_header_data_bytes(struct span header)
{
    struct json j;
    int64_t most = 0;
    int depth = 0;
    json_init(&j, header);
    for (enum json_kind k = json_next(&j); k != JSON_END; k = json_next(&j)) {
        depth += (k == JSON_OBJECT) - (k == JSON_OBJECT_END);
        if (k == JSON_ERROR)
            return ABSENT_I64;
        if (k != JSON_KEY || depth != 2 || !json_is(&j, "data_offsets"))
            continue;
        if (json_next(&j) != JSON_ARRAY) /* metadata may have any name */
            continue;
        int64_t end = read_end(&j);
        if (end < 0)
            return ABSENT_I64;
        most = end > most ? end : most;
    }
    return most;
}

/* ---- token ids ---- */

static void add_special(struct model_vocabulary *v, int64_t id)
{
    if (id < 0)
        return;
    if (v->special_count == v->special_capacity) {
        v->special_capacity = v->special_capacity ? 2 * v->special_capacity : 64;
        v->special = mem_grow(v->special, v->special_capacity, sizeof *v->special);
    }
    v->special[v->special_count++] = id;
}

/* "eos_token_id", "image_token_index", ...: a number or a list of them. */
static bool names_special(const struct json *j)
{
    return j->kind == JSON_KEY &&
           (span_ends(j->raw, "_token_id") || span_ends(j->raw, "_token_ids") || span_ends(j->raw, "_token_index"));
}

/* "added_tokens_decoder": {"128000": {...}, ...}; its `{` was just read. */
static bool read_added(struct model_vocabulary *v, struct json *j)
{
    while (json_next(j) == JSON_KEY) {
        int64_t id;
        if (num_i64(j->raw, &id))
            add_special(v, id);
        if (json_skip(j) == JSON_ERROR)
            return false;
    }
    return j->kind == JSON_OBJECT_END;
}

static bool read_ids(struct model_vocabulary *v, struct json *j)
{
    int64_t id;
    while (json_next(j) == JSON_NUMBER)
        if (json_i64(j, &id))
            add_special(v, id);
    return j->kind == JSON_ARRAY_END;
}

/* An object whose `{` was just read. */
static bool read_vocabulary(struct model_vocabulary *v, struct json *j, enum where at, int64_t *ret_size)
{
    while (json_next(j) == JSON_KEY) {
        bool size = json_is(j, "vocab_size"), part = at == TOP && json_is(j, "text_config");
        bool special = names_special(j), added = at == TOP && json_is(j, "added_tokens_decoder");
        enum json_kind k = json_next(j);
        int64_t number;
        bool good = k != JSON_ERROR;
        if (k == JSON_NUMBER && (size || special) && json_i64(j, &number)) {
            if (special)
                add_special(v, number);
            else
                *ret_size = at == TOP || *ret_size == ABSENT_I64 ? number : *ret_size;
        } else if (k == JSON_ARRAY && special) {
            good = read_ids(v, j);
        } else if (k == JSON_OBJECT && (part || added)) {
            good = part ? read_vocabulary(v, j, TEXT_PART, ret_size) : read_added(v, j);
        } else if (k == JSON_OBJECT || k == JSON_ARRAY) {
            good = json_skip(j) != JSON_ERROR;
        }
        if (!good)
            return false;
    }
    return j->kind == JSON_OBJECT_END;
}

void model_vocabulary_read(struct model_vocabulary *v, struct span json)
{
    must(v);
    struct json j;
    int64_t size = ABSENT_I64;
    json_init(&j, json);
    if (json_next(&j) == JSON_OBJECT)
        read_vocabulary(v, &j, TOP, &size);
    v->size = size > 0 ? size : v->size;
}

void model_vocabulary_done(struct model_vocabulary *v)
{
    free(v->special);
    *v = (struct model_vocabulary){.size = ABSENT_I64};
}

bool model_vocabulary_range(const struct model_vocabulary *v, int64_t size, int64_t *ret_first, int64_t *ret_last)
{
    must(size > 0);
    int64_t first = size / 8 < MODEL_IDS_LEFT ? size / 8 : MODEL_IDS_LEFT, last = size - 1;
    for (size_t i = 0; i < v->special_count; i++) {
        int64_t id = v->special[i];
        if (id < size / 2)
            first = id >= first ? id + 1 : first;
        else
            last = id <= last ? id - 1 : last;
    }
    if (last < first)
        return false;
    *ret_first = first;
    *ret_last = last;
    return true;
}
