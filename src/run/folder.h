/* The run folder and what a run says of itself: the frozen plan, run.json, the recorder, and at the end the proof that
 * what ran is what was frozen. The folder stays unsealed and without a result.
 *
 *     folder_make         the folder, plan and documents in it, the recorder: before anything starts
 *     folder_note_*       what is learnt on the way
 *     folder_check_plan   is what ran still what was frozen?
 *     folder_finish       closes the recorder, writes the last documents
 *     folder_done */
#ifndef JTOK_RUN_FOLDER_H
#define JTOK_RUN_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "engine/engine.h"
#include "model/record.h"
#include "run/recorder.h"
#include "run/resolve.h"
#include "run/stage.h"

struct folder {
    const char *path;      /* of the arena; null: there is none, or none any more */
    int64_t origin_ns;     /* CLOCK_MONOTONIC of the run's begin: when the folder was made */
    struct rec_run record; /* run.json as it will be */
    struct recorder *recorder;
    struct arena *arena;
    struct resolved *resolved;
    struct err unwritten; /* a record could not be written: the folder must not be sealed; kind ERR_NONE: none */
};

struct folder_options {
    const char *plan_source; /* bytes of the user's plan file, kept beside plan.json; null: there was none */
};

/* `r` must be resolved and is borrowed until folder_done. Where it fails `path` says whether a folder was left, with
 * what it holds so far. */
bool folder_make(struct folder *f, struct resolved *r, const struct folder_options *o, struct arena *a, struct err *e);

/* Records what was looked at before there was a folder: preflight, and which GPUs were meant. */
void folder_note_resolved(const struct folder *f, struct stage_machine *m);

/* What the engine inherits and what jtok sets for it, without the secrets. */
void folder_note_environment(struct folder *f, const struct engine_launch *launch);

/* How much of the snapshot is in the page cache just before the engine starts: hashing must have left it as it was,
 * since startup energy depends on it. */
void folder_note_residency(struct folder *f, struct stage_machine *m);

/* What the engine said of itself, and how its first process ended. The texts are borrowed. */
void folder_note_engine(struct folder *f, const struct engine_identity *id, int64_t exit_status);

/* Is what ran still what was frozen? A fact each: plan.requests_sha256, plan.work_sha256, plan.requests_count (`sent`:
 * formal requests that were recorded; not where their user ended them early), and the snapshot's. */
void folder_check_plan(struct folder *f, struct stage_machine *m, size_t sent);

/* Closes the recorder and writes client.json (`client`: null without a formal stage) and run.json. False: a record was
 * not written, now or earlier, with the reason in `unwritten`. */
bool folder_finish(struct folder *f, const struct rec_client *client);

/* Removes what serves no other run: compile caches may hold gigabytes. What the engine left in its working folder
 * stays. */
void folder_remove_caches(const struct folder *f);

/* Closes the recorder where folder_finish did not; a zeroed struct is accepted. */
void folder_done(struct folder *f);

#endif
