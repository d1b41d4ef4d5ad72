#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "cli/args.h"
#include "cli/commands.h"
#include "app/evaluate.h"
#include "cli/exit.h"
#include "cli/show.h"
#include "report/number.h"
#include "report/report.h"
#include "report/table.h"
#include "store/archive.h"
#include "schema/fields_json.h"
#include "text/compress.h"

struct verification {
    const char *folder;
    struct arena *a;
    struct buf out;
    bool sound; /* nothing wrong so far */
};

static void check_seal(struct verification *v, const struct archive_check *c)
{
    if (!c->sealed)
        buf_str(&v->out,
                "seal     missing: there is no SHA256SUMS to check by. The run is still on, or it broke off.\n");
    else if (c->bad)
        buf_fmt(&v->out, "seal     BROKEN: %zu of %zu files are not as sealed\n%s", c->bad, c->files, c->text);
    else
        buf_fmt(&v->out, "seal     right: %zu files, every hash as sealed\n", c->files);
    v->sound = v->sound && c->sealed && !c->bad;
}

/* Line of the first difference, from 1. */
static size_t first_difference(struct span a, struct span b)
{
    size_t line = 1;
    for (size_t i = 0; i < a.n && i < b.n && a.p[i] == b.p[i]; i++)
        line += a.p[i] == '\n';
    return line;
}

/* The plain file's name, or that with .zst; null where neither is there. */
static const char *path_of(struct verification *v, const char *name)
{
    const char *path = arena_format(v->a, "%s/%s", v->folder, name), *packed = arena_format(v->a, "%s.zst", path);
    return access(path, F_OK) == 0 ? path : access(packed, F_OK) == 0 ? packed : NULL;
}

/* Compares one stored document with what the records give now. */
static bool check_document(struct verification *v, const char *name, const struct document *d, struct err *e)
{
    const char *path = path_of(v, name);
    if (!path) {
        buf_fmt(&v->out, "result   MISSING: there is no %s; \"jtok analyze %s\" prints what it would hold\n", name,
                v->folder);
        v->sound = false;
        return true;
    }
    struct buf stored = {0};
    bool read = file_read(path, archive_most_bytes(name), &stored, e);
    struct span now = buf_span(&d->bytes), then = buf_span(&stored);
    if (read && (now.n != then.n || (now.n && memcmp(now.p, then.p, now.n) != 0))) {
        buf_fmt(&v->out, "result   DIFFERENT: %s from line %zu on is not what the records give\n", name,
                first_difference(now, then));
        v->sound = false;
    } else if (read) {
        buf_fmt(&v->out, "result   right: %s is what the records give, byte for byte (%zu bytes)\n", name, now.n);
    }
    buf_done(&stored);
    return read;
}

static const char *number_of(struct verification *v, const struct quantity *q)
{
    return number_text_instrument(v->a, q);
}

/* What another version of jtok or of the method made of the same records: told, and no damage. The seal says whether it
 * is as it was stored. */
static void tell_older(struct verification *v, const struct result *then, const struct result *now)
{
    buf_fmt(&v->out, "result   evaluated under %s by jtok %s: %s, %s J/token\n",
            then->method_id ? then->method_id : "an unknown method",
            then->jtok_version ? then->jtok_version : "of an unknown version", then->formal ? "formal" : "excluded",
            number_of(v, &then->metrics.formal_j_per_token));
    buf_fmt(&v->out, "         under %s, from the records: %s, %s J/token", METHOD_ID,
            now->formal ? "formal" : "excluded", number_of(v, &now->metrics.formal_j_per_token));
    if (result_is_older(then)) /* of one method there is one result a folder */
        buf_fmt(&v->out, "; \"jtok analyze %s --store\" keeps it", v->folder);
    buf_byte(&v->out, '\n');
}

/* The result that was stored with the run, when another version made it; null: this one did, or it can't be read. */
static const struct result *stored_by_another(struct verification *v)
{
    struct result *r = arena_alloc(v->a, sizeof *r);
    struct buf text = {0};
    struct err none;
    const char *path = path_of(v, "result.json");
    bool other = path && file_read(path, archive_most_bytes("result.json"), &text, &none) &&
                 fields_json_read(&result_schema, r, path, buf_span(&text), v->a, &none) &&
                 (result_is_older(r) || !r->jtok_version || strcmp(r->jtok_version, JTOK_VERSION) != 0);
    buf_done(&text);
    return other ? r : NULL;
}

static bool check_results(struct verification *v, const struct result *now, struct err *e)
{
    const struct result *then = stored_by_another(v);
    struct document documents[EVALUATE_DOCUMENTS];
    bool ok = true;
    if (then)
        tell_older(v, then, now);
    evaluate_documents(now, documents);
    for (size_t i = 0; ok && i < EVALUATE_DOCUMENTS; i++) {
        const char *later = evaluate_later_name(documents[i].name, v->a);
        if (!then)
            ok = check_document(v, documents[i].name, &documents[i], e);
        /* Where it is there it is what every other command prints. */
        if (ok && path_of(v, later))
            ok = check_document(v, later, &documents[i], e);
    }
    documents_done(documents);
    return ok;
}

static void tell_verdict(struct verification *v, const struct result *r)
{
    buf_fmt(&v->out, "verdict  %s: %s%s\n", r->formal ? "formal" : "excluded", result_checks_text(r, v->a),
            r->simulated ? "; SIMULATED" : "");
    for (size_t i = 0; i < r->check_count; i++) {
        const struct result_check *c = &r->checks[i];
        if (!check_excludes(c->outcome))
            continue;
        buf_str(&v->out, "         ");
        text_wrap(&v->out,
                  arena_format(v->a, "%s (%s): %s", check_code_names[c->code], check_outcome_names[c->outcome],
                               c->why ? c->why : ""),
                  9, 11, REPORT_COLUMNS);
    }
}

static bool check_all(struct verification *v, bool *ret_formal, struct err *e)
{
    struct archive_check seal;
    if (!archive_verify(v->folder, v->a, &seal, e))
        return false;
    check_seal(v, &seal);
    struct method m = method_default();
    struct evaluation *x = arena_alloc(v->a, sizeof *x);
    if (!evaluate_run(v->folder, &m, v->a, x, e))
        return false;
    if (x->records.damage) {
        buf_fmt(&v->out, "records  DAMAGED: %s\n", x->records.damage);
        v->sound = false;
    } else {
        buf_fmt(&v->out, "records  consistent: %zu GPU%s, %zu requests, %zu chunks\n", x->records.gpu_count,
                x->records.gpu_count == 1 ? "" : "s", x->records.request_count, x->records.chunk_count);
    }
    bool ok = check_results(v, &x->result, e);
    tell_verdict(v, &x->result);
    *ret_formal = x->result.formal;
    return ok;
}

int cmd_verify(int argc, char **argv)
{
    bool quiet = false;
    const struct arg options[] = {{"--quiet", ARG_FLAG, NULL, "print nothing; the exit code tells", &quiet, 'q'}};
    const struct args_spec spec = {
        .command = "verify",
        .operands = "RUN",
        .operands_min = 1,
        .operands_max = 1,
        .summary = "Checks a run folder: every hash of its seal, the consistency of its records, and its result, which "
                   "is computed again "
                   "and compared byte for byte.",
        .more = "Exit code: 0 all is right and the run is formal, 1 all is right and the run is excluded, 7 a file is\n"
                "missing, changed or damaged, or the stored result is not what the records give. A result that another "
                "version\n"
                "made is shown beside the one computed now; it is no damage.",
        .example = "jtok verify runs/20261130T010000Z-llama-8b",
        .options = options,
        .option_count = 1,
    };
    struct args args;
    int code;
    if (!args_take(&spec, argc, argv, &args, &code))
        return code;
    struct arena a = {0};
    struct err e = {0}, unwritten = {0};
    struct verification v = {.folder = args.operands[0], .a = &a, .sound = true};
    bool formal = false, whole = check_all(&v, &formal, &e);
    bool told = quiet || show_flush(&v.out, &unwritten);
    if (!whole)
        code = exit_with(&e);
    else if (!told)
        code = exit_with(&unwritten);
    else
        code = !v.sound ? EXIT_RECORDS : formal ? EXIT_OK : EXIT_EXCLUDED;
    buf_done(&v.out);
    arena_done(&a);
    return code;
}
