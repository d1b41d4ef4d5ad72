/* A run folder: made (archive_create.c), sealed (archive_seal.c), checked (archive_check.c), listed (archive_list.c);
 * its records are read by store/records.h. Every file and column: docs/FORMAT.md.
 *
 * Life of a folder: archive_create, files appended by run/recorder, archive_write_* for the documents, archive_seal
 * (big files to .zst, SHA256SUMS), then archive_add for what is derived from the sealed records (result.json). Nothing
 * is ever overwritten, but run.json, which is replaced in one step while the run is on. Folders within the run folder
 * (the engine's caches) are no records: they are neither sealed nor looked at. */
#ifndef JTOK_STORE_ARCHIVE_H
#define JTOK_STORE_ARCHIVE_H

#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/err.h"
#include "base/span.h"
#include "model/record.h"

/* Makes RUNS/20261130T005313Z-SLUG, and RUNS with its parents where missing. `label` becomes the slug: lower case,
 * letters, digits and single '-', at most 48 bytes, "run" where nothing is left. Where the name is taken (two runs in
 * one second), "-2", "-3" ... follow. *ret_folder is the path; the id is its last part (archive_id). Texts live in the
 * arena. */
bool archive_create(const char *runs, const char *label, int64_t realtime_ns, struct arena *a, const char **ret_folder,
                    struct err *e);

/* The last part of a path, without slashes at its end. */
const char *archive_id(const char *folder, struct arena *a);

/* plan.json, a new file; ret_sha256 of its bytes (may be null). The plan must be masked (store/secrets.h). */
bool archive_write_plan(const char *folder, const struct plan *plan, char ret_sha256[65], struct err *e);

/* run.json: replaced in one step (new file, flushed, renamed). Refused once the folder is sealed. */
bool archive_write_run(const char *folder, const struct rec_run *run, struct err *e);

/* gpus.csv and client.json, new files. */
bool archive_write_gpus(const char *folder, const struct rec_gpu *gpus, size_t count, struct err *e);
bool archive_write_client(const char *folder, const struct rec_client *client, struct err *e);

/* Any other new file among the records (plan.yaml, as the user gave it; masked). */
bool archive_write_file(const char *folder, const char *name, struct span content, struct err *e);

/* Seals, if the folder holds nothing but regular files and folders: big files become NAME.zst (the plain one goes only
 * after the compressed one was read back equal), then SHA256SUMS is written, in the form of sha256sum -c, over every
 * file. A seal that was broken off can be repeated. O(bytes). */
bool archive_seal(const char *folder, struct err *e);
bool archive_is_sealed(const char *folder);

/* Files that follow from the records alone: result.json, result_requests.csv, windows.csv, and the same with "-jtok-N"
 * before the ending, of an evaluation under a later method. They are made from the sealed folder, so they come after
 * the seal and have no say in whether the records are whole. */
bool archive_is_derived(struct span name);

/* The most that a file of this name may hold, packed or not: 64 MiB of a document, 8 GiB of any other. */
uint64_t archive_most_bytes(const char *name);

/* Adds a derived file to a sealed folder: a new file, then its line in SHA256SUMS. Where it is there already with the
 * same bytes, nothing happens; with others it is an error. */
bool archive_add(const char *folder, const char *name, struct span content, struct err *e);

/* Is `content` what the seal says of `name`? False, with the reason (ERR_RECORDS), where the folder is not sealed, the
 * name is not listed, has another hash, or is not a regular file. Hashes `content` alone. O(content). */
bool archive_holds(const char *folder, const char *name, struct span content, struct err *e);

struct archive_check {
    bool sealed;        /* SHA256SUMS is there */
    size_t files, bad;  /* listed in it; missing, different, or there without being listed */
    const char *text;   /* one line for each bad one, naming it; "" when all is well */
    size_t bad_records; /* the same two without derived files */
    const char *records_text;
};

/* Compares every file with SHA256SUMS. False only where the folder can't be read. O(bytes). */
bool archive_verify(const char *folder, struct arena *a, struct archive_check *ret_check, struct err *e);

/* One run of a listing: its small documents only. */
struct archive_entry {
    const char *folder, *id;
    bool sealed, has_result;
    struct rec_run run;
    struct plan plan;
    const char *fault; /* null, or why run.json or plan.json can't be read */
};

/* The run folders right under `directory`, in order of their ids; folders without run.json and plan.json are passed
 * over. Also takes a run folder itself: a list of one. */
bool archive_list(const char *directory, struct arena *a, struct archive_entry **ret_entries, size_t *ret_count,
                  struct err *e);

#endif
