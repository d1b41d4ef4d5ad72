#include "cli/evaluate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "analysis/verify.h"
#include "store/archive.h"
#include "store/fields_json.h"
#include "text/compress.h"
#include "text/csv.h"

bool evaluate_run(const char *folder, const struct method *m, struct arena *a, struct evaluation *ret_evaluation,
                  struct err *e)
{
    struct evaluation *v = arena_alloc(a, sizeof *v);
    if (!records_load(folder, a, &v->records, e))
        return false;
    if (!analyze_and_verify(&v->records, m, a, &v->result, e))
        return err_prefix(e, "%s", folder);
    *ret_evaluation = *v;
    return true;
}

struct row {
    struct buf *out;
    bool header;
};

static void put_cell(void *self, const char *path, const struct field *f, struct span value)
{
    (void)f;
    struct row *row = self;
    csv_put(row->out, row->header ? span_of(path) : value, ',');
}

static void put_row(const struct schema *s, const void *object, bool header, struct buf *b)
{
    struct row row = {.out = b, .header = header};
    fields_flat(s, object, put_cell, &row);
    b->p[b->n - 1] = '\n';
}

/* A list of flat structs: the header line of its schema, then one line an object. */
static void put_table(const struct schema *s, const void *rows, size_t count, struct buf *b)
{
    void *blank = mem_zero(1, s->size);
    fields_absent(s, blank);
    put_row(s, blank, true, b);
    free(blank);
    for (size_t i = 0; i < count; i++)
        put_row(s, (const char *)rows + i * s->size, false, b);
}

void evaluate_documents(const struct result *r, struct document ret_documents[EVALUATE_DOCUMENTS])
{
    struct document *d = ret_documents;
    memset(d, 0, EVALUATE_DOCUMENTS * sizeof *d);
    d[0].name = "result.json";
    fields_json_write(&result_schema, r, &d[0].bytes);
    d[1].name = "result_requests.csv";
    put_table(&result_request_schema, r->requests, r->request_count, &d[1].bytes);
    d[2].name = "windows.csv";
    put_table(&result_window_schema, r->windows, r->window_count, &d[2].bytes);
}

void documents_done(struct document documents[EVALUATE_DOCUMENTS])
{
    for (size_t i = 0; i < EVALUATE_DOCUMENTS; i++)
        buf_done(&documents[i].bytes);
}

bool evaluate_store(const char *folder, const struct result *r, struct err *e)
{
    struct document documents[EVALUATE_DOCUMENTS];
    evaluate_documents(r, documents);
    bool stored = true;
    for (size_t i = 0; stored && i < EVALUATE_DOCUMENTS; i++)
        stored = archive_add(folder, documents[i].name, buf_span(&documents[i].bytes), e);
    documents_done(documents);
    return stored;
}

/* Names that the tables don't know, or a name that is missing: its index would lead nowhere. */
static bool enums_known(const struct schema *s, const char *object)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct field *f = &s->fields[i];
        const char *at = object + f->offset;
        if (f->type == FIELD_ENUM && *(const int *)(const void *)at < 0)
            return false;
        if (f->type == FIELD_OBJECT && !enums_known(f->sub, at))
            return false;
        if (f->type != FIELD_LIST || f->item != FIELD_OBJECT)
            continue;
        const char *items = *(const char *const *)(const void *)at;
        size_t n = *(const size_t *)(const void *)(object + f->count_offset);
        for (size_t k = 0; k < n; k++)
            if (!enums_known(f->sub, items + k * f->sub->size))
                return false;
    }
    return true;
}

/* Tables of fixed length are whole and in order, as every reader of a result may take for granted. */
static bool is_whole(const struct result *r)
{
    bool whole = r->stage_count == STAGE_COUNT && r->check_count == CODE_COUNT && r->mark_count == RMARK_COUNT &&
                 enums_known(&result_schema, (const char *)r);
    for (size_t i = 0; whole && i < r->stage_count; i++) {
        whole = r->stages[i].stage == (int)i;
        for (size_t g = 0; whole && g < r->stages[i].gpu_count; g++)
            whole = r->stages[i].gpus[g].gpu >= 0 && r->stages[i].gpus[g].gpu < (int64_t)r->gpu_count;
    }
    for (size_t i = 0; whole && i < r->check_count; i++)
        whole = r->checks[i].code == (int)i;
    for (size_t i = 0; whole && i < r->mark_count; i++)
        whole = r->marks[i].code == (int)i;
    return whole;
}

bool evaluate_stored(const char *folder, struct arena *a, struct result *ret_result, struct err *e)
{
    const char *path = arena_format(a, "%s/result.json", folder);
    if (access(path, F_OK) != 0 && errno == ENOENT)
        return err_set(
            e, ERR_RECORDS,
            "%s holds no result.json: it is no run folder, or the run broke off. \"jtok analyze %s\" computes "
            "the result from what was recorded.",
            folder, folder);
    struct buf text = {0};
    bool read =
        file_read(path, 0, &text, e) && fields_json_read(&result_schema, ret_result, path, buf_span(&text), a, e);
    buf_done(&text);
    if (read && !is_whole(ret_result))
        return err_set(e, ERR_RECORDS,
                       "%s is no whole result of this version of jtok. \"jtok analyze %s\" computes it again from the "
                       "records.",
                       path, folder);
    return read;
}
