#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include "base/file.h"
#include "base/must.h"
#include "schema/json.h"
#include "store/archive_private.h"
#include "text/file_read.h"

/* ---- the files of a run ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool archive_files(const char *folder, struct arena *a, struct file_names *ret_names, struct err *e)
{
    must(folder && a);
    DIR *d = opendir(folder);
    if (!d)
        return err_set_errno(e, ERR_RECORDS, errno, "The run folder %s can't be read", folder);
    struct file_names names = {0};
    size_t capacity = 0;
    for (struct dirent *entry; (entry = readdir(d));) {
        mode_t mode = path_mode(folder, entry->d_name);
        if (!mode || S_ISDIR(mode) || strcmp(entry->d_name, SUMS_NAME) == 0 || strcmp(entry->d_name, SUMS_NEW) == 0)
            continue;
        if (names.count == capacity) {
            capacity = capacity ? capacity * 2 : 64;
            const char **grown = arena_array(a, capacity, sizeof *grown);
            if (names.count)
                memcpy(grown, names.items, names.count * sizeof *grown);
            names.items = grown;
        }
        names.items[names.count++] = arena_text(a, entry->d_name);
    }
    closedir(d);
    if (names.count)
        qsort(names.items, names.count, sizeof *names.items, by_name);
    *ret_names = names;
    return true;
}

/* ---- the runs of a folder ---- */

static bool read_stored_document(const struct schema *s, void *object, const char *folder, const char *name,
                                 struct arena *a, struct err *e)
{
    struct path path = path_in(folder, name);
    struct buf text = {0};
    bool good = file_read(path.text, archive_most_bytes(name), &text, e) &&
                schema_json_read(s, object, path.text, buf_span(&text), a, e);
    buf_done(&text);
    return good;
}

static struct archive_entry read_entry(const char *folder, struct arena *a)
{
    struct archive_entry entry = {.folder = arena_text(a, folder),
                                  .id = archive_id(folder, a),
                                  .sealed = archive_is_sealed(folder),
                                  .has_result = path_exists(folder, "result.json")};
    struct err e;
    if (!read_stored_document(&plan_schema, &entry.plan, folder, "plan.json", a, &e)) {
        schema_absent(&plan_schema, &entry.plan);
        entry.fault = arena_text(a, e.text);
    }
    if (!read_stored_document(&rec_run_schema, &entry.run, folder, "run.json", a, &e)) {
        schema_absent(&rec_run_schema, &entry.run);
        entry.fault = arena_text(a, e.text);
    }
    return entry;
}

static bool is_run_folder(const char *folder)
{
    return path_exists(folder, "run.json") || path_exists(folder, "plan.json");
}

static int compare_entries(const void *a, const void *b)
{
    return strcmp(((const struct archive_entry *)a)->id, ((const struct archive_entry *)b)->id);
}

bool archive_list(const char *directory, struct arena *a, struct archive_entry **ret_entries, size_t *ret_count,
                  struct err *e)
{
    must(directory && a);
    if (is_run_folder(directory)) {
        *ret_entries = arena_array(a, 1, sizeof **ret_entries);
        **ret_entries = read_entry(directory, a);
        *ret_count = 1;
        return true;
    }
    DIR *d = opendir(directory);
    if (!d)
        return err_set_errno(e, ERR_RECORDS, errno, "The folder %s can't be read", directory);
    struct archive_entry *entries = NULL;
    size_t count = 0, capacity = 0;
    for (struct dirent *entry; (entry = readdir(d));) {
        struct path folder = path_in(directory, entry->d_name);
        if (entry->d_name[0] == '.' || !is_run_folder(folder.text))
            continue;
        if (count == capacity) {
            capacity = capacity ? capacity * 2 : 16;
            entries = mem_grow(entries, capacity, sizeof *entries);
        }
        entries[count++] = read_entry(folder.text, a);
    }
    closedir(d);
    if (count)
        qsort(entries, count, sizeof *entries, compare_entries);
    *ret_entries = arena_array(a, count, sizeof *entries);
    if (count)
        memcpy(*ret_entries, entries, count * sizeof *entries);
    *ret_count = count;
    free(entries);
    return true;
}
