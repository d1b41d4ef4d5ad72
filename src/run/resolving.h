/* A plan on its way, and the table of what is looked at before a run. Private to resolve and preflight. */
#ifndef JTOK_RUN_RESOLVING_H
#define JTOK_RUN_RESOLVING_H

#include "run/resolve.h"

/* `plan` is still being completed, `r` takes what it stands for. */
struct resolving {
    const struct resolve_options *o;
    struct arena *arena;
    struct plan *plan;
    struct resolved *r;
};

/* A row: one question about the plan or the machine. Its answer is the fact preflight.NAME, made by the look, or passed
 * and failed as the look ends. */
struct preflight_row {
    const char *name, *label;                         /* of the fact; for people */
    const char *wanted;                               /* what the fact expects, where the look makes none */
    bool (*applies)(const struct resolving *v);       /* null: always */
    bool (*look)(struct resolving *v, struct err *e); /* null: another row's look makes this fact, too */
};

extern const struct preflight_row preflight_rows[];
extern const size_t preflight_row_count;

/* All rows, in order. The first that fails ends it; with resolve_options.look_through none does, and the first error is
 * in resolved.stopped. */
bool preflight_go(struct resolving *v, struct err *e);

/* The folder with the model's config.json: the plan's snapshot, else the model's in the hub's cache, where the engine
 * will load it from there; null: there is none that can be seen. Of the arena. */
const char *resolve_model_folder(const struct resolving *v);

/* ---- the looks ---- */

bool resolve_texts(struct resolving *v, struct err *e);
bool resolve_gpus(struct resolving *v, struct err *e); /* opens them; fact gpus_given */
bool resolve_port(struct resolving *v, struct err *e);
bool resolve_snapshot(struct resolving *v, struct err *e);
bool resolve_can_connect(struct resolving *v, struct err *e);
bool resolve_can_launch(struct resolving *v, struct err *e); /* and fact driver */

bool look_at_weights(struct resolving *v, struct err *e);        /* in the hub's cache? */
bool look_at_snapshot_files(struct resolving *v, struct err *e); /* and the tokenizer, and config.json */
bool look_at_disk(struct resolving *v, struct err *e);
bool look_at_sizes(struct resolving *v, struct err *e);
bool look_whether_busy(struct resolving *v, struct err *e);
bool look_at_persistence(struct resolving *v, struct err *e);
bool look_at_power_limit(struct resolving *v, struct err *e);
bool look_at_clocks(struct resolving *v, struct err *e);
bool look_at_protection(struct resolving *v, struct err *e);
bool look_at_ecc(struct resolving *v, struct err *e);

#endif
