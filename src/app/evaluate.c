#include "app/evaluate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "analysis/analyze.h"
#include "base/file.h"
#include "base/must.h"
#include "store/records.h"
#include "schema/csv.h"
#include "schema/json.h"
#include "text/file_read.h"

/* An evaluation is large, so it is built in the arena and copied once it is whole. */
bool evaluate_given(const char *folder, const struct method *m, double total_parameters, struct arena *a,
                    struct evaluation *ret_evaluation, struct err *e)
{
    must(folder && m && total_parameters >= 0);
    struct evaluation *v = arena_alloc(a, sizeof *v);
    if (!records_load(folder, a, &v->records, e))
        return false;
    if (v->records.plan.object == OBJECT_STAT)
        return err_set(e, ERR_RECORDS,
                       "%s is the run of a command, not of a service: \"jtok analyze %s\" shows what it took.", folder,
                       folder);
    v->records.given_parameters = total_parameters;
    if (!analyze(&v->records, m, a, &v->result, e))
        return err_prefix(e, "%s", folder);
    *ret_evaluation = *v;
    return true;
}

bool evaluate_run(const char *folder, const struct method *m, struct arena *a, struct evaluation *ret_evaluation,
                  struct err *e)
{
    return evaluate_given(folder, m, 0, a, ret_evaluation, e);
}

/* A list of flat structs: the header line of its schema, then one line an object. */
static void put_csv_table(const struct schema *s, const void *rows, size_t count, struct buf *b)
{
    schema_csv_header(s, b);
    for (size_t i = 0; i < count; i++)
        schema_csv_put(s, (const char *)rows + i * s->size, 0, CSV_SHOWN, b);
}

void evaluate_documents(const struct result *r, struct document ret_documents[EVALUATE_DOCUMENTS])
{
    must(r && ret_documents);
    struct document *d = ret_documents;
    memset(d, 0, EVALUATE_DOCUMENTS * sizeof *d);
    d[0].name = "result.json";
    schema_json_write(&result_schema, r, &d[0].bytes);
    d[1].name = "result_requests.csv";
    put_csv_table(&result_request_schema, r->requests, r->request_count, &d[1].bytes);
    d[2].name = "windows.csv";
    put_csv_table(&result_window_schema, r->windows, r->window_count, &d[2].bytes);
}

void documents_done(struct document documents[EVALUATE_DOCUMENTS])
{
    for (size_t i = 0; i < EVALUATE_DOCUMENTS; i++)
        buf_done(&documents[i].bytes);
}

const char *evaluate_later_name(const char *name, struct arena *a)
{
    const char *dot = strrchr(name, '.');
    return arena_format(a, "%.*s-%s%s", (int)(dot - name), name, METHOD_ID, dot);
}

/* Was the run's own result made under an older method, so that this one goes beside it? Beside a newer one it would
 * stand in its place. */
static bool goes_beside(const char *folder, struct arena *a, bool *ret_beside, struct err *e)
{
    struct result *own = arena_alloc(a, sizeof *own);
    struct buf text = {0};
    struct err none;
    bool read = file_read(arena_format(a, "%s/result.json", folder), archive_most_bytes("result.json"), &text, &none) &&
                schema_json_read(&result_schema, own, "result.json", buf_span(&text), a, &none);
    buf_done(&text);
    if (read && result_is_of_unknown_method(own))
        return err_set(e, ERR_RECORDS,
                       "%s/result.json was made under %s, which this version of jtok does not know, and nothing is "
                       "stored beside it. Use a newer jtok.",
                       folder, own->about.method_id ? own->about.method_id : "a method that it does not name");
    *ret_beside = read && result_is_older(own);
    return true;
}

bool evaluate_store(const char *folder, const struct result *r, struct err *e)
{
    must(folder && r);
    struct document documents[EVALUATE_DOCUMENTS];
    struct arena a = {0};
    bool beside, stored = goes_beside(folder, &a, &beside, e);
    evaluate_documents(r, documents);
    for (size_t i = 0; stored && i < EVALUATE_DOCUMENTS; i++)
        stored = archive_add(folder, beside ? evaluate_later_name(documents[i].name, &a) : documents[i].name,
                             buf_span(&documents[i].bytes), e);
    arena_done(&a);
    documents_done(documents);
    return stored;
}

/* The stored document of a folder: of this program's method where there is one, else the one made with the run. */
static const char *stored_name(const char *folder, struct arena *a)
{
    const char *later = evaluate_later_name("result.json", a);
    return path_exists(folder, later) ? later : "result.json";
}

static bool read_stored(const char *folder, const char *name, struct span text, struct arena *a,
                        struct result *ret_result, struct err *e)
{
    const char *path = arena_format(a, "%s/%s", folder, name), *why;
    if (!schema_json_read(&result_schema, ret_result, path, text, a, e))
        return false;
    return result_complete(ret_result, a, &why) ||
           err_set(e, ERR_RECORDS,
                   "%s can't be used: %s. \"jtok analyze %s\" computes the result again from the records.", path, why,
                   folder);
}

bool evaluate_document(const char *folder, bool unsealed, struct arena *a, struct buf *out, const char **ret_name,
                       struct err *e)
{
    must(folder && out);
    const char *name = stored_name(folder, a), *path = arena_format(a, "%s/%s", folder, name);
    bool there = access(path, F_OK) == 0;
    if (!there && errno == ENOTDIR)
        return err_set(e, ERR_RECORDS, "%s is a file, but a run folder is needed. Give the folder that holds it.",
                       folder);
    if (!there && errno == ENOENT)
        return err_set(e, ERR_RECORDS,
                       "%s holds no result.json: it is not a run folder, or the run broke off. \"jtok analyze %s\" "
                       "computes the result from what was recorded.",
                       folder, folder);
    if (!file_read(path, archive_most_bytes(name), out, e))
        return false;
    if (ret_name)
        *ret_name = name;
    if (unsealed && !archive_is_sealed(folder))
        return true;
    return archive_holds(folder, name, buf_span(out), e);
}

static bool evaluate_read(const char *folder, bool unsealed, struct arena *a, struct result *ret_result, struct err *e)
{
    struct buf text = {0};
    const char *name;
    bool read = evaluate_document(folder, unsealed, a, &text, &name, e) &&
                read_stored(folder, name, buf_span(&text), a, ret_result, e);
    buf_done(&text);
    return read;
}

bool evaluate_stored(const char *folder, struct arena *a, struct result *ret_result, struct err *e)
{
    return evaluate_read(folder, false, a, ret_result, e);
}

bool evaluate_unsealed(const char *folder, struct arena *a, struct result *ret_result, struct err *e)
{
    return evaluate_read(folder, true, a, ret_result, e);
}
