#include "app/run_list.h"

#include <string.h>
#include "app/evaluate.h"
#include "app/stat.h"
#include "text/file_read.h"
#include "text/words.h"
#include "base/file.h"
#include "base/must.h"
#include "schema/json.h"
#include "store/archive.h"
#include "store/csv_records.h"

/* Null where the folder has no such document. */
static bool read_sealed(const struct schema *s, const char *folder, const char *name, struct arena *a,
                        const void **ret_object, struct err *e)
{
    const char *path = arena_format(a, "%s/%s", folder, name);
    *ret_object = NULL;
    if (!path_exists(folder, name))
        return true;
    struct buf text = {0};
    void *object = arena_alloc(a, s->size);
    bool read = file_read(path, archive_most_bytes(name), &text, e) &&
                archive_holds(folder, name, buf_span(&text), e) &&
                schema_json_read(s, object, path, buf_span(&text), a, e);
    buf_done(&text);
    *ret_object = read ? object : NULL;
    return read;
}

static bool read_run(const char *folder, struct arena *a, struct compare_run *ret_run, struct err *e)
{
    struct result *result = arena_alloc(a, sizeof *result);
    const void *plan, *run;
    if (stat_is_recorded(folder, a))
        return stat_read_run(folder, a, ret_run, e);
    if (!evaluate_stored(folder, a, result, e) || !read_sealed(&plan_schema, folder, "plan.json", a, &plan, e) ||
        !read_sealed(&rec_run_schema, folder, "run.json", a, &run, e))
        return false;
    *ret_run = (struct compare_run){result, plan, run, ABSENT_I64};
    return true;
}

bool run_list_read(const char *const *folders, size_t count, struct arena *a, struct run_list *ret_list, struct err *e)
{
    must(count > 0);
    struct run_list list = {.runs = arena_array(a, count, sizeof *list.runs)};
    for (; list.count < count; list.count++)
        if (!read_run(folders[list.count], a, &list.runs[list.count], e))
            return false;
    *ret_list = list;
    return true;
}

bool run_list_read_side(const char *folders, struct arena *a, struct run_list *ret_list, struct err *e)
{
    must(folders && a);
    size_t count;
    const char **list = words_by_comma(folders, a, &count);
    return count ? run_list_read(list, count, a, ret_list, e)
                 : err_set(e, ERR_USAGE, "\"%s\" does not name a run folder. Give one, or several separated by commas.",
                           folders);
}
