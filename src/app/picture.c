#include "app/picture.h"

#include "app/evaluate.h"
#include "base/must.h"
#include "report/number.h"
#include "report/svg.h"
#include "store/archive.h"

/* "15 057 J" below each stage's name, where there is a stored result to take it from. */
static struct svg_notes stage_notes(const char *folder, struct arena *a)
{
    static const int stages[SVG_STAGES] = {STAGE_BASELINE, STAGE_STARTUP, STAGE_FORMAL, STAGE_RELEASE, -1};
    struct svg_notes notes = {0};
    struct result *r = arena_alloc(a, sizeof *r);
    struct err none;
    if (!evaluate_stored(folder, a, r, &none))
        return notes;
    for (size_t i = 0; i < SVG_STAGES; i++)
        if (stages[i] >= 0 && (size_t)stages[i] < r->stage_count) {
            const struct quantity *q = &result_stage_of(r, stages[i])->energy.headline;
            notes.stage[i] = quantity_has_value(q) ? arena_format(a, "%s J", number_text_quantity(a, q)) : NULL;
        }
    return notes;
}

bool picture_draw(const char *folder, bool unsealed, struct arena *a, struct buf *out, struct err *e)
{
    must(folder && out);
    struct records *r = arena_alloc(a, sizeof *r);
    if (!records_load(folder, a, r, e))
        return false;
    bool sealed = archive_is_sealed(folder);
    if (!sealed && !unsealed)
        return err_set(e, ERR_RECORDS, "%s is not sealed. Give --unsealed to draw it anyway.", folder);
    if (sealed && r->damage)
        return err_set(e, ERR_RECORDS, "%s is damaged, so its power is not drawn: %s", folder, r->damage);
    struct svg_notes notes = stage_notes(folder, a);
    return svg_power(r, &notes, a, out, e);
}
