#include "cli/texts.h"

#include "base/must.h"
#include "report/number.h"
#include "report/report.h"
#include "report/table.h"
#include "text/wrap.h"

static void put_seal(const struct archive_check *c, struct buf *out)
{
    if (!c->sealed)
        buf_str(out, "seal     missing: there is no SHA256SUMS. The run is still going, or it broke off.\n");
    else if (c->bad)
        buf_fmt(out, "seal     BROKEN: %zu of %zu files differ from the seal\n%s", c->bad, c->files, c->text);
    else
        buf_fmt(out, "seal     intact: all %zu files have their sealed hashes\n", c->files);
}

static void put_records(const struct records *r, struct buf *out)
{
    if (r->damage)
        buf_fmt(out, "records  DAMAGED: %s\n", r->damage);
    else
        buf_fmt(out, "records  consistent: %zu GPU%s, %zu requests, %zu chunks\n", r->gpu_count,
                r->gpu_count == 1 ? "" : "s", r->request_count, r->chunk_count);
}

static void put_document(const struct proof_document *d, const char *folder, struct buf *out)
{
    switch (d->outcome) {
    case PROOF_EQUAL:
        buf_fmt(out, "result   reproduced: the records give %s, byte for byte (%zu bytes)\n", d->name, d->bytes);
        return;
    case PROOF_MISSING:
        buf_fmt(out, "result   MISSING: there is no %s; \"jtok analyze %s\" prints what it would contain\n", d->name,
                folder);
        return;
    case PROOF_DIFFERENT:
        buf_fmt(out, "result   DIFFERENT: %s differs from what the records give, from line %zu on\n", d->name, d->line);
        return;
    }
}

/* "formal, 0.0565 J/token"; of loads how many there are, as each has its own J/token. */
static const char *outcome_text(const struct result *r, struct arena *a)
{
    const char *standing = run_standing_names[result_standing(r)];
    if (r->loads.point_count)
        return arena_format(a, "%s, %zu load%s", standing, r->loads.point_count, r->loads.point_count == 1 ? "" : "s");
    return arena_format(a, "%s, %s J/token", standing, number_text_instrument(a, &r->metrics.formal_j_per_token));
}

/* What another version of jtok or of the method made of the same records: told, and no damage. The seal says whether it
 * is as it was stored. */
static void put_older(const struct result *then, const struct result *now, const char *folder, struct arena *a,
                      struct buf *out)
{
    buf_fmt(out, "result   evaluated under %s by jtok %s: %s\n",
            then->about.method_id ? then->about.method_id : "an unknown method",
            then->about.jtok_version ? then->about.jtok_version : "of an unknown version", outcome_text(then, a));
    buf_fmt(out, "         under %s, from the records: %s", METHOD_ID, outcome_text(now, a));
    if (result_is_older(then)) /* of one method there is one result a folder */
        buf_fmt(out, "; \"jtok analyze %s --store\" keeps it", folder);
    buf_byte(out, '\n');
}

static void put_conclusion(const struct result *r, struct arena *a, struct buf *out)
{
    buf_fmt(out, "verdict  %s: %s%s\n", run_standing_names[result_standing(r)], result_checks_text(r, a),
            r->about.simulated ? "; SIMULATED" : "");
    for (size_t i = 0; i < r->check_count; i++) {
        const struct result_check *c = &r->checks[i];
        if (!check_excludes(c->outcome))
            continue;
        buf_str(out, "         ");
        text_wrap(out,
                  arena_format(a, "%s (%s): %s", check_code_names[c->code], check_outcome_names[c->outcome],
                               c->why ? c->why : ""),
                  9, 11, REPORT_COLUMNS);
    }
}

void text_proof(const struct proof *p, const char *folder, struct arena *a, struct buf *out)
{
    must(p->document_count <= PROOF_DOCUMENTS_MAX);
    if (p->has_seal_check)
        put_seal(&p->seal, out);
    if (!p->evaluation)
        return;
    const struct result *now = &p->evaluation->result;
    put_records(&p->evaluation->records, out);
    if (p->older)
        put_older(p->older, now, folder, a, out);
    for (size_t i = 0; i < p->document_count; i++)
        put_document(&p->documents[i], folder, out);
    put_conclusion(now, a, out);
}
