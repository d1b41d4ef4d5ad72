/* result-bytes RECORDING_DIR...: every value of the analysis of each recording as one line of hexadecimal bits, and
 * nothing that depends on how it is printed. Two builds agree when their lines do (tests/golden/same_bytes). */
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include "analysis/analyze.h"
#include "golden/recording.h"

static void put_value(const struct field *f, const void *at, const char *object);

static void put_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    printf("%016llx ", value != value ? 0x7ff8000000000000ull : (unsigned long long)bits);
}

static void put_object(const struct schema *s, const char *object)
{
    for (size_t i = 0; i < s->count; i++)
        put_value(&s->fields[i], object + s->fields[i].offset, object);
}

static void put_value(const struct field *f, const void *at, const char *object)
{
    const struct quantity *q = at;
    switch (f->type) {
    case FIELD_BOOL:
        printf("%d ", *(const bool *)at);
        break;
    case FIELD_I64:
        printf("%lld ", (long long)*(const int64_t *)at);
        break;
    case FIELD_F64:
        put_bits(*(const double *)at);
        break;
    case FIELD_TEXT:
        printf("\"%s\" ", *(const char *const *)at ? *(const char *const *)at : "");
        break;
    case FIELD_ENUM:
        printf("%d ", *(const int *)at);
        break;
    case FIELD_QUANTITY:
        printf("%d ", q->state);
        put_bits(quantity_has_value(q) ? q->value : 0);
        put_bits(q->instrument);
        put_bits(q->calibration);
        break;
    case FIELD_OBJECT:
        put_object(f->sub, at);
        break;
    case FIELD_LIST:
    case FIELD_MAP: {
        size_t n = *(const size_t *)(object + f->count_offset);
        for (size_t i = 0; i < n && f->item == FIELD_OBJECT; i++)
            put_object(f->sub, *(const char *const *)at + i * f->sub->size);
        for (size_t i = 0; i < n && f->item == FIELD_F64; i++)
            put_bits((*(const double *const *)at)[i]);
    }
    }
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "");
    for (int i = 1; i < argc; i++) {
        struct arena a = {0};
        struct records r;
        struct result result;
        struct err e = {0};
        struct method m = method_default();
        if (!recording_load(argv[i], &a, &r, &e) || !analyze(&r, &m, &a, &result, &e)) {
            fprintf(stderr, "result-bytes: %s\n", e.text);
            return 1;
        }
        put_object(&result_schema, (const char *)&result);
        for (size_t k = 0; k < result.request_count; k++)
            put_object(&result_request_schema, (const char *)&result.requests[k]);
        for (size_t k = 0; k < result.window_count; k++)
            put_object(&result_window_schema, (const char *)&result.windows[k]);
        putchar('\n');
        arena_done(&a);
    }
    return 0;
}
