/* result-bytes RECORDING_DIR...: every value of the analysis of each recording as one line of hexadecimal bits, and
 * nothing that depends on how it is printed. Two builds agree when their lines do (tests/golden/same_bytes). */
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include "analysis/analyze.h"
#include "golden/recording.h"
#include "schema/visit.h"

static void put_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    printf("%016llx ", value != value ? 0x7ff8000000000000ull : (unsigned long long)bits);
}

static void put_value(void *self, const struct visit *v)
{
    (void)self;
    const struct slot *s = &v->slot;
    if (s->type == FIELD_F64) {
        put_bits(slot_f64(s));
    } else if (s->type == FIELD_QUANTITY) {
        const struct quantity *q = slot_quantity(s);
        printf("%d ", q->state);
        put_bits(quantity_has_value(q) ? q->value : 0);
        put_bits(q->instrument);
        put_bits(q->calibration);
    } else {
        struct buf text = {0};
        slot_put(s, &text);
        printf("\"%s\" ", buf_text(&text));
        buf_done(&text);
    }
}

static void put_object(const struct schema *s, const void *object)
{
    schema_visit(s, object, "", &(struct visitor){.value = put_value});
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
        put_object(&result_schema, &result);
        for (size_t k = 0; k < result.request_count; k++)
            put_object(&result_request_schema, &result.requests[k]);
        for (size_t k = 0; k < result.window_count; k++)
            put_object(&result_window_schema, &result.windows[k]);
        putchar('\n');
        arena_done(&a);
    }
    return 0;
}
