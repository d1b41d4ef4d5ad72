/* A result that was read: made whole by names, or refused. */
#include "model/result.h"

#include <string.h>
#include "base/must.h"
#include "schema/visit.h"

bool result_is_older(const struct result *r)
{
    return !r->about.method_id || strcmp(r->about.method_id, METHOD_ID) != 0;
}

bool result_is_of_unknown_method(const struct result *r)
{
    return result_is_older(r) && (!r->about.method_id || strcmp(r->about.method_id, "jtok-1") != 0);
}

/* Enums that a file did not hold, or held under a name of another version, as their first name. Those that may be left
 * out stay absent. */
static void fill_enum(void *self, const struct visit *v)
{
    bool *whole = self;
    if (v->slot.type != FIELD_ENUM || !slot_is_absent(&v->slot) || (v->slot.field->flags & FIELD_OMIT_ABSENT))
        return;
    slot_set_enum(&v->slot, 0);
    *whole = false;
}

/* Each table in the order of its codes, what an older version did not know from the blank result. False where one is
 * there twice or its code is not known; *ret_whole becomes false where one is missing. */
static bool order_checks(struct result *r, const struct result *blank, const char *unknown, bool *ret_whole)
{
    bool there[CODE_COUNT] = {0};
    for (size_t i = 0; i < r->check_count; i++) {
        enum check_code code = r->checks[i].code;
        if (code >= CODE_COUNT || there[code])
            return false;
        there[code] = true;
        blank->checks[code] = r->checks[i];
    }
    for (size_t i = 0; i < CODE_COUNT; i++) {
        if (!there[i])
            blank->checks[i].why = unknown;
        *ret_whole = *ret_whole && there[i];
    }
    r->checks = blank->checks;
    r->check_count = CODE_COUNT;
    return true;
}

static bool order_flags(struct result *r, const struct result *blank, const char *unknown, bool *ret_whole)
{
    bool there[FLAG_COUNT] = {0};
    for (size_t i = 0; i < r->flag_count; i++) {
        enum flag_code code = r->flags[i].code;
        if (code >= FLAG_COUNT || there[code])
            return false;
        there[code] = true;
        blank->flags[code] = r->flags[i];
    }
    for (size_t i = 0; i < FLAG_COUNT; i++) {
        if (!there[i])
            blank->flags[i].why = unknown;
        *ret_whole = *ret_whole && there[i];
    }
    r->flags = blank->flags;
    r->flag_count = FLAG_COUNT;
    return true;
}

static bool gpus_are_listed(const struct result_stage *s, size_t gpu_count)
{
    for (size_t g = 0; g < s->gpu_count; g++)
        if (s->gpus[g].gpu < 0 || s->gpus[g].gpu >= (int64_t)gpu_count)
            return false;
    return true;
}

static bool order_stages(struct result *r, const struct result *blank, bool *ret_whole)
{
    bool there[STAGE_COUNT] = {0};
    for (size_t i = 0; i < r->stage_count; i++) {
        enum stage_id id = r->stages[i].stage;
        if (id >= STAGE_COUNT || there[id] || !gpus_are_listed(&r->stages[i], r->gpu_count))
            return false;
        there[id] = true;
        blank->stages[id] = r->stages[i];
    }
    for (size_t i = 0; i < STAGE_COUNT; i++)
        *ret_whole = *ret_whole && there[i];
    r->stages = blank->stages;
    r->stage_count = blank->stage_count;
    return true;
}

/* Each load has a window, of GPUs that are there. */
static bool points_are_listed(const struct result *r)
{
    for (size_t i = 0; i < r->loads.point_count; i++)
        if (r->loads.points[i].window.stage != STAGE_WINDOW ||
            !gpus_are_listed(&r->loads.points[i].window, r->gpu_count))
            return false;
    return true;
}

/* Does it say formal or valid where a check of its own excludes it, or the other way round? Older methods are held to
 * what they call failed. */
static bool contradicts_checks(const struct result *r, bool older)
{
    bool stands = result_standing(r) != STANDING_EXCLUDED;
    bool excluded = false, failed = false;
    for (size_t i = 0; i < r->check_count; i++) {
        excluded |= check_excludes(r->checks[i].outcome);
        failed |= r->checks[i].outcome == CHECK_FAILED;
    }
    return older ? stands && failed : stands == excluded;
}

bool result_complete(struct result *r, struct arena *a, const char **ret_why)
{
    bool older = result_is_older(r), whole = true;
    if (result_is_of_unknown_method(r)) {
        *ret_why = r->about.method_id ? "it was made under a method that this version does not know; use a newer jtok"
                                      : "it does not say under which method it was made";
        return false;
    }
    const char *unknown = arena_format(a, "This result was made under %s, which did not look at it.",
                                       r->about.method_id ? r->about.method_id : "an unknown method");
    struct result *blank = arena_alloc(a, sizeof *blank);
    result_absent(blank, a, "this result does not hold it");
    /* Codes must be there; other names may be newer than the result. */
    for (size_t i = 0; i < r->check_count; i++)
        whole = whole && !ENUM_ABSENT(r->checks[i].code);
    for (size_t i = 0; i < r->flag_count; i++)
        whole = whole && !ENUM_ABSENT(r->flags[i].code);
    for (size_t i = 0; i < r->stage_count; i++)
        whole = whole && !ENUM_ABSENT(r->stages[i].stage);
    if (!whole) {
        *ret_why = "a check, a flag or a stage in it has no name";
        return false;
    }
    bool named = true;
    schema_visit(&result_schema, r, "", &(struct visitor){.self = &named, .value = fill_enum});
    bool stages = r->stage_count == STAGE_COUNT && r->check_count > 0;
    if (!order_checks(r, blank, unknown, &whole) || !order_flags(r, blank, unknown, &whole) ||
        !order_stages(r, blank, &whole) || !points_are_listed(r)) {
        *ret_why = "a check, a flag or a stage stands in it twice, or a stage names a GPU that it does not list";
        return false;
    }
    if (older ? !stages : !(named && whole)) {
        *ret_why = "it lacks what every result of its own version holds";
        return false;
    }
    if (contradicts_checks(r, older)) {
        *ret_why = r->formal                              ? "it says formal, and a check in it says otherwise"
                   : result_standing(r) == STANDING_VALID ? "it says valid, and a check in it says otherwise"
                                                          : "it says excluded, and no check in it does";
        return false;
    }
    return true;
}
