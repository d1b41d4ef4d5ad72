#include "jansson_side.h"

#include <jansson.h>

enum jansson_verdict jansson_read(struct span text, void **ret_value, size_t *ret_position)
{
    json_error_t error;
    /* Integers as doubles: else those over 2^63 would be refused. */
    *ret_value =
        json_loadb(text.n ? text.p : "", text.n, JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, &error);
    *ret_position = *ret_value ? text.n : (size_t)error.position;
    if (*ret_value)
        return JANSSON_ACCEPTS;
    return json_error_code(&error) == json_error_numeric_overflow ? JANSSON_OVERFLOW : JANSSON_REFUSES;
}

void jansson_free(void *value)
{
    json_decref(value);
}

char jansson_kind(const void *value)
{
    return "{[s##tfn"[json_typeof((const json_t *)value)];
}

struct span jansson_string(const void *value)
{
    return (struct span){json_string_value(value), json_string_length(value)};
}

double jansson_number(const void *value)
{
    return json_number_value(value);
}

size_t jansson_size(const void *value)
{
    return json_is_object((const json_t *)value) ? json_object_size(value) : json_array_size(value);
}

const void *jansson_member(const void *value, struct span key)
{
    return json_object_getn(value, key.p, key.n);
}

const void *jansson_element(const void *value, size_t index)
{
    return json_array_get(value, index);
}
