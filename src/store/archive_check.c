#include <assert.h>
#include <ctype.h>
#include <sys/stat.h>
#include "base/file.h"
#include "base/must.h"
#include "store/archive_private.h"
#include "text/digest.h"
#include "text/file_read.h"

enum { SUMS_MAX = 1 << 24 };

bool archive_is_derived(struct span name)
{
    static const char VERSION[] = "-jtok-"; /* "result-jtok-2.json", of a later evaluation */
    static const char *const stems[] = {"result", "result_requests", "windows"};
    static const char *const endings[] = {".json", ".csv", ".csv"};
    for (size_t i = 0; i < sizeof stems / sizeof *stems; i++) {
        size_t stem = strlen(stems[i]), ending = strlen(endings[i]);
        if (name.n < stem + ending || !span_starts(name, stems[i]) || !span_ends(name, endings[i]))
            continue;
        struct span between = {name.p + stem, name.n - stem - ending};
        bool version = span_starts(between, VERSION) && between.n > strlen(VERSION);
        for (size_t k = strlen(VERSION); version && k < between.n; k++)
            version = isdigit((unsigned char)between.p[k]);
        if (between.n == 0 || version)
            return true;
    }
    return false;
}

uint64_t archive_most_bytes(const char *name)
{
    must(name);
    size_t n = strlen(name);
    return n > 5 && strcmp(name + n - 5, ".json") == 0 ? UINT64_C(1) << 26 : UINT64_C(1) << 33;
}

/* ---- the seal ---- */

/* The next line of SHA256SUMS: the hash's 64 digits, two spaces (or " *"), the name. False at the end; an empty name
 * tells of a line in no such form. */
static bool next_sum(struct span *text, struct span *ret_hex, struct span *ret_name)
{
    if (!text->n)
        return false;
    const char *end = memchr(text->p, '\n', text->n);
    struct span line = {text->p, end ? (size_t)(end - text->p) : text->n};
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

bool archive_sealed_name(const char *folder, const char *name, const char *hex, struct sealed_name *ret_sealed,
                         struct err *e)
{
    must(strlen(hex) == DIGEST_HEX - 1);
    struct buf sums = {0};
    bool read = file_read(path_in(folder, SUMS_NAME).text, SUMS_MAX, &sums, e);
    struct sealed_name found = {false, false};
    struct span rest = buf_span(&sums), line_hex, line_name;
    while (read && next_sum(&rest, &line_hex, &line_name)) {
        if (!span_is(line_name, name))
            continue;
        found.equal = (found.equal || !found.listed) && span_is(line_hex, hex);
        found.listed = true;
    }
    buf_done(&sums);
    if (read)
        *ret_sealed = found;
    return read;
}

/* ---- all of a folder ---- */

struct verifier {
    const char *folder;
    struct arena *arena;
    struct archive_check check;
    struct buf text, records_text;
};

static void note_bad_file(struct verifier *v, struct span name, const char *what)
{
    v->check.bad++;
    buf_fmt(&v->text, "%.*s %s\n", SPAN_ARG(name), what);
    if (archive_is_derived(name))
        return;
    v->check.bad_records++;
    buf_fmt(&v->records_text, "%.*s %s\n", SPAN_ARG(name), what);
}

static void check_sum(struct verifier *v, struct span hex, struct span name)
{
    assert(hex.n == DIGEST_HEX - 1 && name.n > 0);
    const char *file = arena_copy(v->arena, name.p, name.n);
    struct path path = path_in(v->folder, file);
    mode_t mode = path_mode(v->folder, file);
    char now[DIGEST_HEX];
    struct stat st;
    struct err e;
    v->check.files++;
    if (!mode)
        note_bad_file(v, name, "is missing");
    else if (!S_ISREG(mode))
        note_bad_file(v, name, arena_format(v->arena, "is %s, but a regular file was sealed", file_kind(mode)));
    else if (stat(path.text, &st) == 0 && (uint64_t)st.st_size > archive_most_bytes(file))
        note_bad_file(v, name, "is too large for such a file");
    else if (!digest_file(path.text, now, NULL, &e))
        note_bad_file(v, name, "can't be read");
    else if (!span_is(hex, now))
        note_bad_file(v, name, "differs from its hash in SHA256SUMS");
}

static void check_sums(struct verifier *v, struct span sums, const struct file_names *files)
{
    bool *listed = arena_array(v->arena, files->count + 1, sizeof *listed);
    struct span hex, name;
    while (next_sum(&sums, &hex, &name)) {
        if (!name.n) {
            note_bad_file(v, span_of(SUMS_NAME), "has a line that is not a hash and a name");
            continue;
        }
        for (size_t i = 0; i < files->count; i++)
            listed[i] = listed[i] || span_is(name, files->items[i]);
        check_sum(v, hex, name);
    }
    for (size_t i = 0; i < files->count; i++)
        if (!listed[i])
            note_bad_file(v, span_of(files->items[i]), "is not in SHA256SUMS: it came after the seal");
}

bool archive_verify(const char *folder, struct arena *a, struct archive_check *ret_check, struct err *e)
{
    must(folder && a);
    struct verifier v = {.folder = folder, .arena = a};
    struct file_names files;
    struct buf sums = {0};
    if (!archive_files(folder, a, &files, e))
        return false;
    v.check.sealed = archive_is_sealed(folder);
    bool read = !v.check.sealed || file_read(path_in(folder, SUMS_NAME).text, SUMS_MAX, &sums, e);
    if (read && v.check.sealed)
        check_sums(&v, buf_span(&sums), &files);
    v.check.text = arena_copy(a, v.text.p, v.text.n);
    v.check.records_text = arena_copy(a, v.records_text.p, v.records_text.n);
    buf_done(&v.text);
    buf_done(&v.records_text);
    buf_done(&sums);
    if (read)
        *ret_check = v.check;
    return read;
}

bool archive_holds(const char *folder, const char *name, struct span content, struct err *e)
{
    must(folder && name && !strchr(name, '/'));
    mode_t mode = path_mode(folder, name);
    if (!archive_is_sealed(folder))
        return err_set(e, ERR_RECORDS,
                       "%s is not sealed: it has no %s, so nothing proves that %s is what the run gave. The run is "
                       "still going, it broke off, or the seal was removed.",
                       folder, SUMS_NAME, name);
    if (!S_ISREG(mode))
        return err_set(e, ERR_RECORDS, "%s is damaged: %s is %s, but a regular file was sealed.", folder, name,
                       mode ? file_kind(mode) : "missing");
    char hex[DIGEST_HEX];
    struct sealed_name sealed;
    digest_bytes(content, hex);
    if (!archive_sealed_name(folder, name, hex, &sealed, e))
        return false;
    if (!sealed.listed)
        return err_set(e, ERR_RECORDS, "%s is damaged: %s is not in %s, so it came after the seal.", folder, name,
                       SUMS_NAME);
    return sealed.equal ||
           err_set(e, ERR_RECORDS,
                   "%s is damaged: %s differs from its hash in %s. \"jtok verify %s\" lists all that do.", folder, name,
                   SUMS_NAME, folder);
}
