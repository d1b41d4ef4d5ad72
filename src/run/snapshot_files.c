/* Is a model's folder whole? What its own index, and the header of each file, say must be there. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/buf.h"
#include "base/must.h"
#include "engine/model_files.h"
#include "run/preflight.h"
#include "run/weights.h"
#include "text/file_read.h"
#include "text/json.h"

enum { INDEX_MOST = 256 << 20, CONFIG_MOST = 16 << 20, LISTED_MOST = 5 };

#define FACT "preflight.snapshot_files"

/* What is found of the weights, file by file. */
struct weighing {
    struct arena *arena;
    const char *folder;
    struct buf faults; /* the first few, each with its file */
    size_t fault_count, file_count;
};

static void add_fault(struct weighing *w, const char *file, const char *what)
{
    if (w->fault_count++ < LISTED_MOST)
        buf_fmt(&w->faults, "%s%s %s", w->fault_count > 1 ? ", " : "", file, what);
}

/* ---- one file of weights ---- */

/* Bytes that a safetensors file must have by its header; ABSENT_I64: it has none that can be read. */
static int64_t stated_bytes(const char *path, int64_t bytes)
{
    enum { LENGTH = 8 }; /* of the number before the header */
    struct buf header = {0};
    int64_t data = weights_header(path, bytes, &header) ? model_header_data_bytes(buf_span(&header)) : ABSENT_I64;
    int64_t stated = data == ABSENT_I64 ? data : LENGTH + (int64_t)header.n + data;
    buf_done(&header);
    return stated;
}

/* A file that Git LFS left as a pointer is a few lines of text. */
static const char *no_header(const char *path)
{
    static const char pointer[] = "version https://git-lfs";
    unsigned char first[sizeof pointer] = {0};
    int64_t n = weights_front(path, first, sizeof pointer - 1);
    return n == sizeof pointer - 1 && memcmp(first, pointer, sizeof pointer - 1) == 0
               ? "is a pointer of Git LFS, not the file itself"
               : "has no header of a safetensors file, or was cut short";
}

static void weigh(struct weighing *w, const char *file)
{
    const char *path = arena_format(w->arena, "%s/%s", w->folder, file);
    struct stat s;
    w->file_count++;
    if (stat(path, &s) != 0 || !S_ISREG(s.st_mode)) {
        add_fault(w, file, "is missing");
        return;
    }
    int64_t stated = stated_bytes(path, s.st_size);
    if (stated == ABSENT_I64)
        add_fault(w, file, no_header(path));
    else if (stated != (int64_t)s.st_size)
        add_fault(
            w, file,
            arena_format(w->arena, "has %lld bytes and should have %lld", (long long)s.st_size, (long long)stated));
}

/* ---- all of them ---- */

/* The files that an index names, each once. False: there is no index that can be read. */
static bool weigh_index(struct weighing *w)
{
    struct buf text = {0};
    bool read =
        file_read(arena_format(w->arena, "%s/model.safetensors.index.json", w->folder), INDEX_MOST, &text, NULL);
    struct json j;
    const char **files = NULL;
    size_t n = 0, capacity = 0;
    if (read) {
        json_init(&j, json_member(buf_span(&text), span_of("weight_map")));
        for (enum json_kind k = json_next(&j); k != JSON_END && k != JSON_ERROR; k = json_next(&j)) {
            size_t at = 0;
            while (k == JSON_STRING && at < n && !json_is(&j, files[at]))
                at++;
            if (k != JSON_STRING || at < n)
                continue;
            if (n == capacity)
                files = mem_grow(files, capacity = capacity ? 2 * capacity : 64, sizeof *files);
            files[n++] = json_copy(&j, w->arena);
        }
    }
    for (size_t i = 0; i < n; i++)
        weigh(w, files[i]);
    free(files);
    buf_done(&text);
    return n > 0;
}

/* Without an index: every safetensors file at the top. *ret_other: weights in other formats are there. */
static void weigh_folder(struct weighing *w, bool has_index, bool *ret_other)
{
    static const char *const others[] = {".bin", ".pt", ".pth", ".gguf"};
    DIR *d = opendir(w->folder);
    *ret_other = false;
    for (struct dirent *f; d && (f = readdir(d));) {
        if (span_ends(span_of(f->d_name), ".safetensors")) {
            if (!has_index)
                weigh(w, f->d_name);
            *ret_other = *ret_other || strncmp(f->d_name, "consolidated", 12) == 0;
        }
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            *ret_other = *ret_other || span_ends(span_of(f->d_name), others[i]);
    }
    if (d)
        closedir(d);
}

/* Downloads that were broken off lie as *.incomplete among the hub's blobs, or below .cache of a folder. */
static size_t count_incomplete(const char *folder, struct arena *a)
{
    static const char *const places[] = {"../../blobs", ".cache/huggingface/download", "."};
    size_t n = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        DIR *d = opendir(arena_format(a, "%s/%s", folder, places[i]));
        for (struct dirent *f; d && (f = readdir(d));)
            n += span_ends(span_of(f->d_name), ".incomplete");
        if (d)
            closedir(d);
    }
    return n;
}

static bool note_weights(struct preflight *p, struct weighing *w, bool other, const char *fetch, struct err *e)
{
    static const char *const expected = "all files of the weights, whole";
    size_t broken_off = count_incomplete(w->folder, w->arena);
    const char *seen =
        w->fault_count
            ? arena_format(p->arena, "%s%s", buf_text(&w->faults), w->fault_count > LISTED_MOST ? ", and more" : "")
            : arena_format(p->arena, "%zu of them%s", w->file_count, broken_off ? ", some broken off" : "");
    const char *remedy =
        fetch ? arena_format(p->arena, " Fetch it again, without jtok: `%s`.", fetch) : " Copy or fetch it again.";
    const char *fault = arena_format(p->arena, "The model's folder %s is not whole: %s.%s", w->folder, seen, remedy);
    if (w->fault_count && !other) {
        preflight_fact(p, FACT, CHECK_FAILED, expected, seen);
        return err_set(e, ERR_PLAN, "%s", fault);
    }
    if (w->fault_count)
        preflight_warn(p, FACT, expected, seen, fault);
    else if (broken_off)
        preflight_warn(p, FACT, expected, seen,
                       arena_format(p->arena,
                                    "%zu download%s of the model's folder %s broken off (*.incomplete), though all "
                                    "weights are there.%s",
                                    broken_off, broken_off == 1 ? "" : "s", broken_off == 1 ? "was" : "were", remedy));
    else
        preflight_fact(p, FACT, w->file_count ? CHECK_PASSED : CHECK_NOT_JUDGED, expected,
                       w->file_count ? seen : "weights in another format");
    return true;
}

bool preflight_weights(struct preflight *p, const char *folder, const char *fetch, struct err *e)
{
    must(folder && e);
    struct weighing w = {.arena = p->arena, .folder = folder};
    bool other, has_index = weigh_index(&w);
    weigh_folder(&w, has_index, &other);
    if (!w.file_count && !other)
        add_fault(&w, "its weights", "are missing");
    bool good = note_weights(p, &w, other, fetch, e);
    buf_done(&w.faults);
    return good;
}

/* ---- beside the weights ---- */

void preflight_tokenizer(struct preflight *p, const char *folder)
{
    static const char *const names[] = {"tokenizer.json", "tokenizer.model", "tekken.json",  "vocab.json",
                                        "spiece.model",   "vocab.txt",       "qwen.tiktoken"};
    const char *found = NULL;
    for (size_t i = 0; !found && i < sizeof names / sizeof *names; i++)
        if (access(arena_format(p->arena, "%s/%s", folder, names[i]), R_OK) == 0)
            found = names[i];
    DIR *d = found ? NULL : opendir(folder);
    for (struct dirent *f; d && !found && (f = readdir(d));)
        if (span_ends(span_of(f->d_name), ".tiktoken") || strstr(f->d_name, "tokenizer.model"))
            found = arena_text(p->arena, f->d_name);
    if (d)
        closedir(d);
    if (found)
        preflight_fact(p, "preflight.tokenizer", CHECK_PASSED, "a tokenizer", found);
    else
        preflight_warn(p, "preflight.tokenizer", "a tokenizer", "none",
                       arena_format(p->arena,
                                    "The model's folder %s holds no tokenizer that is known (tokenizer.json, "
                                    "tokenizer.model, tekken.json ...). Unless the engine is told of another place, it "
                                    "will not start. Fetch the model again.",
                                    folder));
}

void preflight_config(struct preflight *p, const char *folder, int64_t context)
{
    struct buf text = {0};
    struct model_config c;
    file_read(arena_format(p->arena, "%s/config.json", folder), CONFIG_MOST, &text, NULL);
    model_config_read(buf_span(&text), p->arena, &c);
    buf_done(&text);
    if (c.positions == ABSENT_I64 || context == ABSENT_I64)
        return;
    const char *expected = arena_format(p->arena, "%lld tokens of context", (long long)context);
    const char *seen = arena_format(p->arena, "%lld by config.json", (long long)c.positions);
    if (context <= c.positions)
        preflight_fact(p, "preflight.config", CHECK_PASSED, expected, seen);
    else
        preflight_warn(
            p, "preflight.config", expected, seen,
            arena_format(p->arena,
                         "The plan's context is %lld tokens, and config.json of %s says %lld "
                         "(max_position_embeddings). Engines refuse more unless they are told to stretch it.",
                         (long long)context, folder, (long long)c.positions));
}
