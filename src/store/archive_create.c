#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/file.h"
#include "base/must.h"
#include "base/time.h"
#include "schema/json.h"
#include "store/archive_private.h"
#include "store/csv_records.h"
#include "text/digest.h"

enum { SLUG_MAX = 48, SAME_SECOND_MAX = 1000 };

static bool make_folders(const char *path, struct err *e)
{
    struct path part;
    size_t n = strlen(path);
    if (n == 0 || n >= sizeof part.text)
        return err_set(e, ERR_SYSTEM, "The path of the folder for runs is empty or too long.");
    memcpy(part.text, path, n + 1);
    for (size_t i = 1; i <= n; i++) {
        if (part.text[i] != '/' && part.text[i] != 0)
            continue;
        part.text[i] = 0;
        if (mkdir(part.text, 0777) != 0 && errno != EEXIST)
            return err_set_errno(e, ERR_SYSTEM, errno, "The folder %s for runs can't be created", part.text);
        part.text[i] = path[i];
    }
    return true;
}

static void make_slug(const char *label, char ret_slug[SLUG_MAX + 1])
{
    size_t n = 0;
    for (; label && *label && n < SLUG_MAX; label++) {
        char c = *label;
        if (c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
            ret_slug[n++] = c;
        else if (n && ret_slug[n - 1] != '-')
            ret_slug[n++] = '-';
    }
    while (n && ret_slug[n - 1] == '-')
        n--;
    ret_slug[n] = 0;
    if (n == 0)
        memcpy(ret_slug, "run", 4);
}

bool archive_create(const char *runs, const char *label, int64_t realtime_ns, struct arena *a, const char **ret_folder,
                    struct err *e)
{
    must(runs && a);
    must(realtime_ns >= 0);
    if (!make_folders(runs, e))
        return false;
    char slug[SLUG_MAX + 1], stamp[32];
    time_t seconds = (time_t)(realtime_ns / SECOND_NS);
    struct tm utc;
    make_slug(label, slug);
    gmtime_r(&seconds, &utc);
    strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", &utc);
    for (int i = 1; i < SAME_SECOND_MAX; i++) {
        const char *folder = i == 1 ? arena_format(a, "%s/%s-%s", runs, stamp, slug)
                                    : arena_format(a, "%s/%s-%s-%d", runs, stamp, slug, i);
        if (mkdir(folder, 0777) == 0) {
            *ret_folder = folder;
            return file_sync_folder(runs, e);
        }
        if (errno != EEXIST)
            return err_set_errno(e, ERR_SYSTEM, errno, "The run folder %s can't be created", folder);
    }
    return err_set(e, ERR_SYSTEM, "No run folder could be created in %s: %d runs are already named %s-%s.", runs,
                   SAME_SECOND_MAX, stamp, slug);
}

const char *archive_id(const char *folder, struct arena *a)
{
    must(*folder);
    size_t end = strlen(folder);
    while (end > 1 && folder[end - 1] == '/')
        end--;
    size_t start = end;
    while (start > 0 && folder[start - 1] != '/')
        start--;
    return arena_copy(a, folder + start, end - start);
}

bool archive_is_sealed(const char *folder)
{
    must(folder);
    return path_exists(folder, SUMS_NAME);
}

/* ---- documents ---- */

bool archive_write_file(const char *folder, const char *name, struct span content, struct err *e)
{
    must(!strchr(name, '/'));
    if (archive_is_sealed(folder))
        return err_set(e, ERR_RECORDS, "%s is sealed, so %s can't be added to its records.", folder, name);
    return file_write_new(path_in(folder, name).text, content, e);
}

/* An object as a new document; ret_sha256 of its bytes, or null. */
static bool write_document(const char *folder, const char *name, const struct schema *s, const void *object,
                           char *ret_sha256, struct err *e)
{
    struct buf text = {0};
    schema_json_write(s, object, &text);
    bool good = archive_write_file(folder, name, buf_span(&text), e);
    if (good && ret_sha256)
        digest_bytes(buf_span(&text), ret_sha256);
    buf_done(&text);
    return good;
}

bool archive_write_plan(const char *folder, const struct plan *plan, char ret_sha256[DIGEST_HEX], struct err *e)
{
    return write_document(folder, "plan.json", &plan_schema, plan, ret_sha256, e);
}

bool archive_write_client(const char *folder, const struct rec_client *client, struct err *e)
{
    return write_document(folder, "client.json", &rec_client_schema, client, NULL, e);
}

bool archive_write_gpus(const char *folder, const struct rec_gpu *gpus, size_t count, struct err *e)
{
    must(count <= RECORD_GPUS_MAX);
    struct buf text = {0};
    csv_records_header(CSV_GPUS, &text);
    for (size_t i = 0; i < count; i++)
        csv_records_put(&text, CSV_GPUS, (uint32_t)i, &gpus[i]);
    bool good = archive_write_file(folder, csv_records_file(CSV_GPUS), buf_span(&text), e);
    buf_done(&text);
    return good;
}

bool archive_write_run(const char *folder, const struct rec_run *run, struct err *e)
{
    struct path from = path_in(folder, RUN_NEW), to = path_in(folder, "run.json");
    unlink(from.text); /* left by a run that was cut here */
    if (!write_document(folder, RUN_NEW, &rec_run_schema, run, NULL, e))
        return false;
    if (rename(from.text, to.text) != 0)
        return err_set_errno(e, ERR_SYSTEM, errno, "%s can't be put in its place", to.text);
    return file_sync_folder(folder, e);
}
