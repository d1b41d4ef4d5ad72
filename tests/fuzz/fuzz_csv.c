/* CSV: fields put again read back the same; a text cut anywhere gives the first of its records. */
#include "fuzz.h"
#include "text/csv.h"

enum { FIELDS = 8 };

static size_t count_records(struct span text, bool *ret_cut)
{
    struct csv c;
    struct span fields[FIELDS];
    size_t n = 0;
    csv_init(&c, text);
    while (csv_next(&c, fields, FIELDS))
        n++;
    FUZZ_CHECK(c.rest.n == 0 && c.line == n);
    *ret_cut = c.cut;
    return n;
}

static void check_again(const struct span *fields, size_t n, bool quoted)
{
    struct buf line = {0}, plain = {0}, again = {0};
    size_t ends[FIELDS];
    for (size_t i = 0; i < n; i++) {
        size_t from = plain.n;
        csv_unquote(fields[i], &plain);
        ends[i] = plain.n;
        FUZZ_CHECK(plain.n - from <= fields[i].n);
        FUZZ_CHECK(quoted || (plain.n - from == fields[i].n));
        struct span value = plain.n ? (struct span){plain.p + from, plain.n - from} : (struct span){0};
        csv_put(&line, value, i + 1 < n ? ',' : '\n');
    }
    struct csv c;
    struct span back[FIELDS];
    csv_init(&c, buf_span(&line));
    FUZZ_CHECK(csv_next(&c, back, FIELDS) == n);
    for (size_t i = 0; i < n; i++) {
        csv_unquote(back[i], &again);
        FUZZ_CHECK(again.n == ends[i]);
    }
    FUZZ_CHECK(again.n == 0 || memcmp(again.p, plain.p, again.n) == 0);
    FUZZ_CHECK(csv_next(&c, back, FIELDS) == 0 && !c.cut);
    buf_done(&line);
    buf_done(&plain);
    buf_done(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct span text = {(const char *)data, n};
    struct csv c;
    struct span fields[FIELDS];
    csv_init(&c, text);
    size_t records = 0;
    for (size_t count; (count = csv_next(&c, fields, FIELDS)); records++) {
        FUZZ_CHECK(count <= FIELDS + 1);
        for (size_t i = 0; i < count && i < FIELDS; i++)
            FUZZ_CHECK(fields[i].p >= text.p && fields[i].p + fields[i].n < text.p + text.n);
        if (count <= FIELDS)
            check_again(fields, count, c.quoted);
        /* What was read so far, alone, gives the same records and no cut one. */
        bool cut;
        size_t used = n - c.rest.n;
        if (records < 4 || c.rest.n == 0) {
            FUZZ_CHECK(count_records((struct span){text.p, used}, &cut) == records + 1 && !cut);
            FUZZ_CHECK(count_records((struct span){text.p, used - 1}, &cut) == records);
        }
    }
    FUZZ_CHECK(n == 0 || records > 0 || c.cut);
    return 0;
}
