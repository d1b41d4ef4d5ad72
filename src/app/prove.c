#include "app/prove.h"

#include <string.h>
#include <unistd.h>
#include "base/must.h"
#include "schema/json.h"
#include "text/file_read.h"

/* Line of the first difference, from 1. */
static size_t first_difference(struct span a, struct span b)
{
    size_t line = 1;
    for (size_t i = 0; i < a.n && i < b.n && a.p[i] == b.p[i]; i++)
        line += a.p[i] == '\n';
    return line;
}

/* The plain file's name, or that with .zst; null where neither is there. */
static const char *path_of(const char *folder, const char *name, struct arena *a)
{
    const char *path = arena_format(a, "%s/%s", folder, name), *packed = arena_format(a, "%s.zst", path);
    return access(path, F_OK) == 0 ? path : access(packed, F_OK) == 0 ? packed : NULL;
}

/* Compares one stored document with what the records give now. */
static bool compare_document(const char *path, const char *name, struct span now, struct proof *p, struct err *e)
{
    must(p->document_count < PROOF_DOCUMENTS_MAX);
    struct proof_document d = {.name = name, .outcome = PROOF_MISSING, .bytes = now.n};
    if (path) {
        struct buf stored = {0};
        bool read = file_read(path, archive_most_bytes(name), &stored, e);
        struct span then = buf_span(&stored);
        bool equal = span_equal(now, then);
        d.outcome = equal ? PROOF_EQUAL : PROOF_DIFFERENT;
        d.line = equal ? 0 : first_difference(now, then);
        buf_done(&stored);
        if (!read)
            return false;
    }
    p->documents[p->document_count++] = d;
    return true;
}

/* The result that was stored with the run, when another version made it; null: this one did, or it can't be read. */
static const struct result *stored_by_another(const char *folder, struct arena *a)
{
    struct result *r = arena_alloc(a, sizeof *r);
    struct buf text = {0};
    struct err none;
    const char *path = path_of(folder, "result.json", a);
    bool other = path && file_read(path, archive_most_bytes("result.json"), &text, &none) &&
                 schema_json_read(&result_schema, r, path, buf_span(&text), a, &none) &&
                 (result_is_older(r) || !r->about.jtok_version || strcmp(r->about.jtok_version, JTOK_VERSION) != 0);
    buf_done(&text);
    return other ? r : NULL;
}

static bool compare_documents(const char *folder, struct arena *a, struct proof *p, struct err *e)
{
    struct document documents[EVALUATE_DOCUMENTS];
    evaluate_documents(&p->evaluation->result, documents);
    bool ok = true;
    for (size_t i = 0; ok && i < EVALUATE_DOCUMENTS; i++) {
        struct span now = buf_span(&documents[i].bytes);
        const char *name = documents[i].name, *later = evaluate_later_name(name, a),
                   *later_path = path_of(folder, later, a);
        if (!p->older)
            ok = compare_document(path_of(folder, name, a), name, now, p, e);
        /* Where it is there it is what every other command prints. */
        if (ok && later_path)
            ok = compare_document(later_path, later, now, p, e);
    }
    documents_done(documents);
    return ok;
}

bool prove(const char *folder, struct arena *a, struct proof *p, struct err *e)
{
    must(folder && p);
    *p = (struct proof){0};
    if (!archive_verify(folder, a, &p->seal, e))
        return false;
    p->has_seal_check = true;
    struct method m = method_default();
    struct evaluation *v = arena_alloc(a, sizeof *v);
    if (!evaluate_run(folder, &m, a, v, e))
        return false;
    p->evaluation = v;
    p->older = stored_by_another(folder, a);
    return compare_documents(folder, a, p, e);
}

/* Where an older version made the result, there is none to compare: seal and records decide. */
bool proof_is_sound(const struct proof *p)
{
    must(p->document_count <= PROOF_DOCUMENTS_MAX);
    for (size_t i = 0; i < p->document_count; i++)
        if (p->documents[i].outcome != PROOF_EQUAL)
            return false;
    return p->seal.sealed && !p->seal.bad && p->evaluation && !p->evaluation->records.damage;
}

bool prove_records(const char *folder, const struct evaluation *v, struct arena *a, struct err *e)
{
    must(folder && v);
    struct archive_check check;
    if (!archive_verify(folder, a, &check, e))
        return false;
    if (check.bad)
        return err_set(e, ERR_RECORDS, "The seal of %s does not hold: %s", folder, check.text);
    return !v->records.damage || err_set(e, ERR_RECORDS, "%s: %s", folder, v->records.damage);
}
