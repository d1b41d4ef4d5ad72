#include "store/archive.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/file.h"
#include "schema/json.h"
#include "store/csv_records.h"
#include "text/compress.h"
#include "text/digest.h"

static const char *const sums_name = "SHA256SUMS", *const sums_new = "SHA256SUMS.new", *const run_new = "run.json.new";

enum { SLUG_MAX = 48, SAME_SECOND_MAX = 1000, PATH_TEXT = 4096 };

/* folder/name; one that is too long is empty, and fails when it is opened. */
struct path {
    char text[PATH_TEXT];
};

static struct path path_in(const char *folder, const char *name)
{
    struct path p;

    if (snprintf(p.text, sizeof p.text, "%s/%s", folder, name) >= (int)sizeof p.text)
        p.text[0] = 0;
    return p;
}

static bool exists(const char *folder, const char *name)
{
    struct stat st;

    return stat(path_in(folder, name).text, &st) == 0;
}

/* Makes names, not contents, last over a power cut. */
static bool sync_folder(const char *folder, struct err *e)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool good = fd >= 0 && fsync(fd) == 0;
    int error = errno;

    if (fd >= 0)
        close(fd);
    return good || err_set_errno(e, ERR_SYSTEM, error, "the folder %s can't be flushed to the disk", folder);
}

/* ---- making ---- */

static bool make_folders(const char *path, struct err *e)
{
    char part[PATH_TEXT];
    size_t n = strlen(path);

    if (n == 0 || n >= sizeof part)
        return err_set(e, ERR_SYSTEM, "the path of the folder for runs is empty or too long");
    memcpy(part, path, n + 1);
    for (size_t i = 1; i <= n; i++) {
        if (part[i] != '/' && part[i] != 0)
            continue;
        part[i] = 0;
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            return err_set_errno(e, ERR_SYSTEM, errno, "the folder %s for runs can't be made", part);
        part[i] = path[i];
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
    time_t seconds = (time_t)(realtime_ns / 1000000000);
    char slug[SLUG_MAX + 1], stamp[32];
    struct tm utc;

    if (!make_folders(runs, e))
        return false;
    make_slug(label, slug);
    gmtime_r(&seconds, &utc);
    strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", &utc);
    for (int i = 1; i < SAME_SECOND_MAX; i++) {
        const char *folder = i == 1 ? arena_format(a, "%s/%s-%s", runs, stamp, slug)
                                    : arena_format(a, "%s/%s-%s-%d", runs, stamp, slug, i);

        if (mkdir(folder, 0777) == 0) {
            *ret_folder = folder;
            return sync_folder(runs, e);
        }
        if (errno != EEXIST)
            return err_set_errno(e, ERR_SYSTEM, errno, "the run folder %s can't be made", folder);
    }
    return err_set(e, ERR_SYSTEM, "no run folder could be made in %s: %d runs have the name %s-%s", runs,
                   SAME_SECOND_MAX, stamp, slug);
}

const char *archive_id(const char *folder, struct arena *a)
{
    size_t end = strlen(folder), start;

    while (end > 1 && folder[end - 1] == '/')
        end--;
    for (start = end; start > 0 && folder[start - 1] != '/'; start--)
        ;
    return arena_copy(a, folder + start, end - start);
}

/* ---- documents ---- */

bool archive_write_file(const char *folder, const char *name, struct span content, struct err *e)
{
    if (archive_is_sealed(folder))
        return err_set(e, ERR_RECORDS, "%s is sealed; %s can't be added to its records", folder, name);
    return file_write_new(path_in(folder, name).text, content, e);
}

bool archive_write_plan(const char *folder, const struct plan *plan, char ret_sha256[DIGEST_HEX], struct err *e)
{
    struct buf text = {0};
    bool good;

    schema_json_write(&plan_schema, plan, &text);
    good = archive_write_file(folder, "plan.json", buf_span(&text), e);
    if (good && ret_sha256)
        digest_bytes(buf_span(&text), ret_sha256);
    buf_done(&text);
    return good;
}

bool archive_write_client(const char *folder, const struct rec_client *client, struct err *e)
{
    struct buf text = {0};
    bool good;

    schema_json_write(&rec_client_schema, client, &text);
    good = archive_write_file(folder, "client.json", buf_span(&text), e);
    buf_done(&text);
    return good;
}

bool archive_write_gpus(const char *folder, const struct rec_gpu *gpus, size_t count, struct err *e)
{
    struct buf text = {0};
    bool good;

    csv_records_header(CSV_GPUS, &text);
    for (size_t i = 0; i < count; i++)
        csv_records_put(&text, CSV_GPUS, (uint32_t)i, &gpus[i]);
    good = archive_write_file(folder, csv_records_file(CSV_GPUS), buf_span(&text), e);
    buf_done(&text);
    return good;
}

bool archive_write_run(const char *folder, const struct rec_run *run, struct err *e)
{
    struct path from = path_in(folder, run_new), to = path_in(folder, "run.json");
    struct buf text = {0};
    bool good;

    unlink(from.text); /* left by a run that was cut here */
    schema_json_write(&rec_run_schema, run, &text);
    good = archive_write_file(folder, run_new, buf_span(&text), e);
    buf_done(&text);
    if (!good)
        return false;
    if (rename(from.text, to.text) != 0)
        return err_set_errno(e, ERR_SYSTEM, errno, "%s can't be put in its place", to.text);
    return sync_folder(folder, e);
}

/* ---- the files of a folder ---- */

struct names {
    char **items;
    size_t count;
};

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* What lies right in the folder but for folders and the sums, in order of their names. */
static bool list_files(const char *folder, struct arena *a, struct names *ret_names, struct err *e)
{
    DIR *d = opendir(folder);
    struct names names = {0};
    size_t capacity = 0;

    if (!d)
        return err_set_errno(e, ERR_RECORDS, errno, "the run folder %s can't be read", folder);
    for (struct dirent *entry; (entry = readdir(d));) {
        struct stat st;

        if (lstat(path_in(folder, entry->d_name).text, &st) != 0 || S_ISDIR(st.st_mode) ||
            strcmp(entry->d_name, sums_name) == 0 || strcmp(entry->d_name, sums_new) == 0)
            continue;
        if (names.count == capacity) {
            char **grown = arena_array(a, capacity ? capacity * 2 : 64, sizeof *grown);

            if (names.count)
                memcpy(grown, names.items, names.count * sizeof *grown);
            names.items = grown;
            capacity = capacity ? capacity * 2 : 64;
        }
        names.items[names.count++] = arena_text(a, entry->d_name);
    }
    closedir(d);
    if (names.count)
        qsort(names.items, names.count, sizeof *names.items, compare_names);
    *ret_names = names;
    return true;
}

/* What a name in the folder is, links not followed; 0: nothing is there. */
static mode_t mode_of(const char *folder, const char *name)
{
    struct stat st;

    return lstat(path_in(folder, name).text, &st) == 0 ? st.st_mode : 0;
}

/* A run folder holds regular files and the engine's folders. What else lies there is no record: it could not be sealed,
 * and might block whoever opens it. */
static bool only_files(const char *folder, const struct names *files, struct err *e)
{
    for (size_t i = 0; i < files->count; i++) {
        mode_t mode = mode_of(folder, files->items[i]);

        if (!S_ISREG(mode))
            return err_set(e, ERR_RECORDS, "%s/%s is %s: only regular files can be sealed. Remove it.", folder,
                           files->items[i], file_kind(mode));
    }
    return true;
}

/* ---- sealing ---- */

bool archive_is_sealed(const char *folder)
{
    return exists(folder, sums_name);
}

/* Does the open file hold exactly these bytes? */
static bool holds(int fd, struct span text)
{
    enum { BLOCK = 1 << 20 };
    char *block = mem_alloc(BLOCK);
    ssize_t n;

    while ((n = read(fd, block, BLOCK)) > 0) {
        if ((size_t)n > text.n || memcmp(block, text.p, (size_t)n) != 0)
            break;
        text.p += n;
        text.n -= (size_t)n;
    }
    free(block);
    return n == 0 && text.n == 0;
}

/* Does `packed` unpack to exactly what `plain` holds? */
static bool packed_equals(const char *packed, const char *plain, bool *ret_equal, struct err *e)
{
    int fd = file_open(plain, e);
    struct buf text = {0};
    struct err unreadable;

    if (fd < 0)
        return false;
    *ret_equal = file_read(packed, 0, &text, &unreadable) && holds(fd, buf_span(&text));
    close(fd);
    buf_done(&text);
    return true;
}

/* NAME to NAME.zst. A .zst beside the plain file comes from a seal that was broken off. */
static bool pack(const char *folder, const char *name, struct err *e)
{
    struct path plain = path_in(folder, name), packed;
    char packed_name[64];
    bool equal = false;

    if (!exists(folder, name))
        return true;
    snprintf(packed_name, sizeof packed_name, "%s.zst", name);
    packed = path_in(folder, packed_name);
    if (access(packed.text, F_OK) == 0) {
        if (!packed_equals(packed.text, plain.text, &equal, e))
            return false;
        if (!equal && unlink(packed.text) != 0)
            return err_set_errno(e, ERR_SYSTEM, errno, "%s, half-written by an earlier seal, can't be removed",
                                 packed.text);
    }
    if (!equal) {
        if (!file_compress(plain.text, packed.text, e) || !packed_equals(packed.text, plain.text, &equal, e))
            return false;
        if (!equal)
            return err_set(e, ERR_SYSTEM,
                           "%s does not unpack to what %s holds; the disk or the memory is at fault, and "
                           "the plain file stays",
                           packed.text, plain.text);
    }
    if (unlink(plain.text) != 0)
        return err_set_errno(e, ERR_SYSTEM, errno, "%s can't be removed after it was packed", plain.text);
    return true;
}

bool archive_seal(const char *folder, struct err *e)
{
    static const char *const big[] = {"chunks.csv", "buffer.csv", "metrics.prom", "engine.log"};
    struct path from = path_in(folder, sums_new), to = path_in(folder, sums_name);
    struct arena a = {0};
    struct names files = {0};
    struct buf sums = {0};
    bool good;

    if (archive_is_sealed(folder))
        return err_set(e, ERR_RECORDS, "%s is sealed already", folder);
    unlink(from.text);
    unlink(path_in(folder, run_new).text);
    good = list_files(folder, &a, &files, e) && only_files(folder, &files, e);
    for (size_t i = 0; i < sizeof big / sizeof *big && good; i++)
        good = pack(folder, big[i], e);
    good = good && list_files(folder, &a, &files, e);
    for (size_t i = 0; good && i < files.count; i++) {
        char hex[DIGEST_HEX];

        good = digest_file(path_in(folder, files.items[i]).text, hex, NULL, e);
        if (good)
            buf_fmt(&sums, "%s  %s\n", hex, files.items[i]);
    }
    good = good && file_write_new(from.text, buf_span(&sums), e);
    if (good && rename(from.text, to.text) != 0)
        good = err_set_errno(e, ERR_SYSTEM, errno, "%s can't be put in its place", to.text);
    good = good && sync_folder(folder, e);
    buf_done(&sums);
    arena_done(&a);
    return good;
}

/* "result.json", and "result-jtok-2.json" of a later evaluation. */
bool archive_is_derived(struct span name)
{
    static const char *const stems[] = {"result", "result_requests", "windows"};
    static const char *const endings[] = {".json", ".csv", ".csv"};

    for (size_t i = 0; i < sizeof stems / sizeof *stems; i++) {
        size_t stem = strlen(stems[i]), ending = strlen(endings[i]);

        if (name.n < stem + ending || !span_starts(name, stems[i]) ||
            memcmp(name.p + name.n - ending, endings[i], ending) != 0)
            continue;
        struct span between = {name.p + stem, name.n - stem - ending};
        bool version = span_starts(between, "-jtok-") && between.n > strlen("-jtok-");

        for (size_t k = strlen("-jtok-"); version && k < between.n; k++)
            version = isdigit((unsigned char)between.p[k]);
        if (between.n == 0 || version)
            return true;
    }
    return false;
}

uint64_t archive_most_bytes(const char *name)
{
    size_t n = strlen(name);

    return n > 5 && strcmp(name + n - 5, ".json") == 0 ? UINT64_C(1) << 26 : UINT64_C(1) << 33;
}

/* ---- checking ---- */

/* The next line of SHA256SUMS: the hash's 64 digits, two spaces (or " *"), the name. False at the end; an empty name
 * tells of a line in no such form. */
static bool next_sum(struct span *text, struct span *ret_hex, struct span *ret_name)
{
    const char *end;
    struct span line;

    if (!text->n)
        return false;
    end = memchr(text->p, '\n', text->n);
    line = (struct span){text->p, end ? (size_t)(end - text->p) : text->n};
    text->p += line.n + (end ? 1 : 0);
    text->n -= line.n + (end ? 1 : 0);
    *ret_name = *ret_hex = (struct span){0};
    if (line.n > 66 && line.p[64] == ' ' && (line.p[65] == ' ' || line.p[65] == '*') &&
        !memchr(line.p + 66, '/', line.n - 66)) {
        *ret_hex = (struct span){line.p, 64};
        *ret_name = (struct span){line.p + 66, line.n - 66};
    }
    return true;
}

struct verifier {
    struct arena *a;
    struct archive_check check;
    struct buf text, records_text;
};

static void bad(struct verifier *v, struct span name, const char *what)
{
    v->check.bad++;
    buf_fmt(&v->text, "%.*s %s\n", SPAN_ARG(name), what);
    if (archive_is_derived(name))
        return;
    v->check.bad_records++;
    buf_fmt(&v->records_text, "%.*s %s\n", SPAN_ARG(name), what);
}

static void check_line(struct verifier *v, const char *folder, struct span hex, struct span name)
{
    const char *file = arena_copy(v->a, name.p, name.n);
    struct path path = path_in(folder, file);
    mode_t mode = mode_of(folder, file);
    char now[DIGEST_HEX];
    struct stat st;
    struct err e;

    v->check.files++;
    if (!mode)
        bad(v, name, "is missing");
    else if (!S_ISREG(mode))
        bad(v, name, arena_format(v->a, "is %s, where a regular file was sealed", file_kind(mode)));
    else if (stat(path.text, &st) == 0 && (uint64_t)st.st_size > archive_most_bytes(file))
        bad(v, name, "is larger than any such file");
    else if (!digest_file(path.text, now, NULL, &e))
        bad(v, name, "can't be read");
    else if (!span_is(hex, now))
        bad(v, name, "differs from its hash in SHA256SUMS");
}

bool archive_verify(const char *folder, struct arena *a, struct archive_check *ret_check, struct err *e)
{
    struct verifier v = {.a = a};
    struct names files;
    struct buf sums = {0};
    struct span rest, hex = {0}, name;
    bool *listed;

    if (!list_files(folder, a, &files, e))
        return false;
    v.check.sealed = archive_is_sealed(folder);
    if (v.check.sealed && !file_read(path_in(folder, sums_name).text, 1 << 24, &sums, e)) {
        buf_done(&sums);
        return false;
    }
    listed = arena_array(a, files.count + 1, sizeof *listed);
    rest = buf_span(&sums);
    while (next_sum(&rest, &hex, &name)) {
        if (!name.n) {
            bad(&v, span_of(sums_name), "holds a line that is no hash and name");
            continue;
        }
        for (size_t i = 0; i < files.count; i++)
            listed[i] = listed[i] || span_is(name, files.items[i]);
        check_line(&v, folder, hex, name);
    }
    for (size_t i = 0; v.check.sealed && i < files.count; i++)
        if (!listed[i])
            bad(&v, span_of(files.items[i]), "is not in SHA256SUMS: it came after the seal");
    v.check.text = arena_copy(a, v.text.p ? v.text.p : "", v.text.n);
    v.check.records_text = arena_copy(a, v.records_text.p ? v.records_text.p : "", v.records_text.n);
    *ret_check = v.check;
    buf_done(&v.text);
    buf_done(&v.records_text);
    buf_done(&sums);
    return true;
}

/* ---- what is derived ---- */

/* Is `name` listed, and with this hash alone? A second line with another hash was added to the seal. */
static bool find_sum(const char *folder, const char *name, const char *hex, bool *ret_listed, bool *ret_equal,
                     struct err *e)
{
    struct buf sums = {0};
    struct span rest, line_hex = {0}, line_name;

    *ret_listed = *ret_equal = false;
    if (!file_read(path_in(folder, sums_name).text, 1 << 24, &sums, e)) {
        buf_done(&sums);
        return false;
    }
    rest = buf_span(&sums);
    while (next_sum(&rest, &line_hex, &line_name))
        if (span_is(line_name, name)) {
            *ret_equal = (*ret_equal || !*ret_listed) && span_is(line_hex, hex);
            *ret_listed = true;
        }
    buf_done(&sums);
    return true;
}

static bool append_sum(const char *folder, const char *name, const char *hex, struct err *e)
{
    struct path path = path_in(folder, sums_name);
    int fd = open(path.text, O_WRONLY | O_APPEND | O_CLOEXEC), error;
    char line[DIGEST_HEX + 300];
    int n = snprintf(line, sizeof line, "%s  %s\n", hex, name);
    bool good = fd >= 0 && write(fd, line, (size_t)n) == n && fsync(fd) == 0;

    error = errno;
    if (fd >= 0)
        close(fd);
    return good || err_set_errno(e, ERR_SYSTEM, error, "the hash of %s can't be added to %s", name, path.text);
}

bool archive_add(const char *folder, const char *name, struct span content, struct err *e)
{
    char hex[DIGEST_HEX], there[DIGEST_HEX];
    struct path path = path_in(folder, name);
    bool listed, equal;

    if (!archive_is_derived(span_of(name)))
        return err_set(e, ERR_INTERNAL, "%s is no derived file and can't be added to a sealed run", name);
    if (!archive_is_sealed(folder))
        return err_set(e, ERR_RECORDS, "%s is not sealed; %s is made from sealed records", folder, name);
    digest_bytes(content, hex);
    if (!find_sum(folder, name, hex, &listed, &equal, e))
        return false;
    if (listed && !equal)
        return err_set(e, ERR_RECORDS, "%s is sealed with other content; nothing is overwritten", path.text);
    if (exists(folder, name)) {
        if (!digest_file(path.text, there, NULL, e))
            return false;
        if (strcmp(hex, there) != 0)
            return err_set(e, ERR_RECORDS, "%s is there with other content; nothing is overwritten", path.text);
    } else if (!file_write_new(path.text, content, e)) {
        return false;
    }
    return (listed || append_sum(folder, name, hex, e)) && sync_folder(folder, e);
}

bool archive_holds(const char *folder, const char *name, struct span content, struct err *e)
{
    char hex[DIGEST_HEX];
    bool listed, equal;
    mode_t mode = mode_of(folder, name);

    if (!archive_is_sealed(folder))
        return err_set(e, ERR_RECORDS,
                       "%s is not sealed: it holds no %s, so nothing proves that %s is what the run gave. The run is "
                       "still on, it broke off, or the seal was taken away.",
                       folder, sums_name, name);
    if (!S_ISREG(mode))
        return err_set(e, ERR_RECORDS, "%s is damaged: %s is %s, where a regular file was sealed.", folder, name,
                       mode ? file_kind(mode) : "missing");
    digest_bytes(content, hex);
    if (!find_sum(folder, name, hex, &listed, &equal, e))
        return false;
    if (!listed)
        return err_set(e, ERR_RECORDS, "%s is damaged: %s is not in %s; it came after the seal.", folder, name,
                       sums_name);
    return equal || err_set(e, ERR_RECORDS,
                            "%s is damaged: %s differs from its hash in %s. \"jtok verify %s\" names all that does.",
                            folder, name, sums_name, folder);
}

/* ---- listing ---- */

static bool read_document(const struct schema *s, void *object, const char *folder, const char *name, struct arena *a,
                          struct err *e)
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
    struct archive_entry entry = {.folder = arena_text(a, folder), .id = archive_id(folder, a)};
    struct err e;

    entry.sealed = archive_is_sealed(folder);
    entry.has_result = exists(folder, "result.json");
    if (!read_document(&plan_schema, &entry.plan, folder, "plan.json", a, &e)) {
        schema_absent(&plan_schema, &entry.plan);
        entry.fault = arena_text(a, e.text);
    }
    if (!read_document(&rec_run_schema, &entry.run, folder, "run.json", a, &e)) {
        schema_absent(&rec_run_schema, &entry.run);
        entry.fault = arena_text(a, e.text);
    }
    return entry;
}

static bool is_run_folder(const char *folder)
{
    return exists(folder, "run.json") || exists(folder, "plan.json");
}

static int compare_entries(const void *a, const void *b)
{
    return strcmp(((const struct archive_entry *)a)->id, ((const struct archive_entry *)b)->id);
}

bool archive_list(const char *directory, struct arena *a, struct archive_entry **ret_entries, size_t *ret_count,
                  struct err *e)
{
    struct archive_entry *entries = NULL;
    size_t count = 0, capacity = 0;
    DIR *d;

    if (is_run_folder(directory)) {
        *ret_entries = arena_array(a, 1, sizeof **ret_entries);
        **ret_entries = read_entry(directory, a);
        *ret_count = 1;
        return true;
    }
    d = opendir(directory);
    if (!d)
        return err_set_errno(e, ERR_RECORDS, errno, "the folder %s can't be read", directory);
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
