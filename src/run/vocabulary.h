/* From which token ids random prompts are drawn: by the snapshot's own files, with no tokenizer. */
#ifndef JTOK_RUN_VOCABULARY_H
#define JTOK_RUN_VOCABULARY_H

#include <stdbool.h>
#include "base/arena.h"
#include "base/err.h"
#include "model/plan.h"

/* Fills in requests.random.vocabulary, first_id and last_id (engine/model_files.h says by which rule) of a plan whose
 * prompts are random, from config.json, generation_config.json and tokenizer_config.json of model.snapshot; without
 * one, of the model's snapshot in the hub's cache of this user (HF_HUB_CACHE, HF_HOME, XDG_CACHE_HOME, HOME; the plan's
 * engine.env counts before jtok's own environment). They are read without a trace in the page cache. ERR_PLAN: no size
 * is known, or the plan's is larger than the model's. */
bool vocabulary_resolve(struct plan *p, struct arena *a, struct err *e);

/* The folder with the files of a plan's model: its snapshot, else the model's in the hub's cache, found as above and
 * perhaps not there; of the arena. Null: the plan does not say. */
const char *vocabulary_folder(const struct plan *p, struct arena *a);

#endif
