/* jansson, kept apart: its names and those of text/json.h are the same. */
#ifndef JTOK_TESTS_JANSSON_SIDE_H
#define JTOK_TESTS_JANSSON_SIDE_H

#include <stdbool.h>
#include <stddef.h>
#include "base/span.h"

enum jansson_verdict { JANSSON_ACCEPTS, JANSSON_REFUSES, JANSSON_OVERFLOW /* a number beyond its types */ };

/* *ret_value is the document, or null; *ret_position where it failed. */
enum jansson_verdict jansson_read(struct span text, void **ret_value, size_t *ret_position);
void jansson_free(void *value);

/* One of "{[s#tfn". */
char jansson_kind(const void *value);
struct span jansson_string(const void *value);
double jansson_number(const void *value);
size_t jansson_size(const void *value); /* members or elements */
const void *jansson_member(const void *value, struct span key);
const void *jansson_element(const void *value, size_t index);

#endif
