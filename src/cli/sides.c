#include "cli/sides.h"

#include <string.h>
#include <unistd.h>
#include "app/evaluate.h"
#include "cli/show.h"
#include "report/report.h"
#include "report/table.h"
#include "store/archive.h"
#include "schema/fields_json.h"
#include "store/rows.h"
#include "text/compress.h"

/* Null where the folder has no such document. One that is not what the seal names could make unlike runs alike. */
static bool read_document(const struct schema *s, const char *folder, const char *name, struct arena *a,
                          const void **ret_object, struct err *e)
{
    const char *path = arena_format(a, "%s/%s", folder, name);
    *ret_object = NULL;
    if (access(path, F_OK) != 0)
        return true;
    struct buf text = {0};
    void *object = arena_alloc(a, s->size);
    bool read = file_read(path, archive_most_bytes(name), &text, e) &&
                archive_holds(folder, name, buf_span(&text), e) &&
                fields_json_read(s, object, path, buf_span(&text), a, e);
    buf_done(&text);
    *ret_object = read ? object : NULL;
    return read;
}

bool sides_read_run(const char *folder, struct arena *a, struct compare_run *ret_run, struct err *e)
{
    struct result *result = arena_alloc(a, sizeof *result);
    const void *plan, *run;
    if (!evaluate_stored(folder, a, result, e) || !read_document(&plan_schema, folder, "plan.json", a, &plan, e) ||
        !read_document(&rec_run_schema, folder, "run.json", a, &run, e))
        return false;
    *ret_run = (struct compare_run){result, plan, run};
    return true;
}

bool sides_read(const char *command, const char *list, struct arena *a, struct run_list *ret_list, struct err *e)
{
    size_t most = 1;
    for (const char *p = list; *p; p++)
        most += *p == ',';
    struct run_list s = {.runs = arena_array(a, most, sizeof *s.runs)};
    for (const char *p = list; *p;) {
        size_t n = strcspn(p, ",");
        if (n && !sides_read_run(arena_copy(a, p, n), a, &s.runs[s.count++], e))
            return false;
        p += n + (p[n] == ',');
    }
    if (!s.count)
        return err_set(e, ERR_USAGE, "%s: a run folder is missing. Usage: jtok %s A B", command, command);
    *ret_list = s;
    return true;
}

void sides_put(const char *letter, const struct run_list *s, struct arena *a, struct buf *out)
{
    const struct result *first = s->runs[0].result;
    const char *text =
        arena_format(a, "%s  %zu run%s of %s%s%s%s: ", letter, s->count, s->count == 1 ? "" : "s",
                     first->engine ? first->engine : "an unknown engine", first->engine_version ? " " : "",
                     first->engine_version ? first->engine_version : "", first->simulated ? ", SIMULATED" : "");
    for (size_t i = 0; i < s->count; i++)
        text = arena_format(a, "%s%s%s", text, i ? ", " : "", compare_id(s->runs[i].result));
    text_wrap(out, text, 0, 3, REPORT_COLUMNS);
}

void sides_put_items(const struct sentences *items, struct buf *out)
{
    for (size_t i = 0; i < items->count; i++)
        show_item(items->items[i], out);
}

void sides_put_refusal(const struct sentences *reasons, struct buf *out)
{
    buf_str(out, "\nNot compared: the method refuses it.\n");
    sides_put_items(reasons, out);
}
