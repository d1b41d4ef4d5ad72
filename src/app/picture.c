#include "app/picture.h"

#include "analysis/picture.h"
#include "app/evaluate.h"
#include "base/must.h"
#include "report/number.h"
#include "report/svg.h"
#include "report/svg_curve.h"
#include "store/records.h"

/* "15 057 J" below each stage's name and the phases of the startup, where there is a stored result to take them from.
 */
static struct svg_notes stage_notes(const char *folder, struct arena *a)
{
    static const struct {
        enum power_stage drawn;
        enum stage_id stage;
    } stages[] = {{POWER_BASELINE, STAGE_BASELINE},
                  {POWER_STARTUP, STAGE_STARTUP},
                  {POWER_FORMAL, STAGE_FORMAL},
                  {POWER_RELEASE, STAGE_RELEASE}};
    struct svg_notes notes = {0};
    struct result *r = arena_alloc(a, sizeof *r);
    struct err none;
    if (!evaluate_stored(folder, a, r, &none))
        return notes;
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        const struct quantity *q = &result_stage_of(r, stages[i].stage)->energy.headline;
        if (quantity_has_value(q))
            notes.stage[stages[i].drawn] = arena_format(a, "%s J", number_text_quantity(a, q));
    }
    notes.phases = r->startup_phases;
    notes.phase_count = r->startup_phase_count;
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
    struct result *curve = arena_alloc(a, sizeof *curve);
    struct err none;
    if (plan_has_loads(&r->plan) && evaluate_stored(folder, a, curve, &none) && svg_curve_has_points(curve)) {
        svg_curve(curve, out);
        return true;
    }
    struct svg_notes notes = stage_notes(folder, a);
    struct power_series series;
    if (!picture_series(r, SVG_COLUMNS, a, &series, e))
        return false;
    svg_power(&series, &notes, out);
    return true;
}
