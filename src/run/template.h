/* The chat template of a plan's model, by the files of its snapshot: what of thinking it knows. */
#ifndef JTOK_RUN_TEMPLATE_H
#define JTOK_RUN_TEMPLATE_H

#include "base/arena.h"
#include "engine/engine.h"
#include "model/plan.h"

/* Reads chat_template.jinja, else the chat_template of chat_template.json or tokenizer_config.json (of several, all
 * together), in the folder that vocabulary_folder names; nothing is known where none is there. Only of a plan that sets
 * engine.settings.thinking. O(bytes), 16 MiB at most. */
struct engine_template template_read(const struct plan *p, struct arena *a);

#endif
