/* `--engine`: the kind of a plan's engine, or several whose commands are shown side by side. */
#ifndef JTOK_CLI_ENGINES_H
#define JTOK_CLI_ENGINES_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "model/plan.h"

/* One name, or several joined by commas, as kinds; *ret_n of them, at most ENGINE_KIND_COUNT. ERR_USAGE: a name is not
 * known, or there twice. */
bool engines_read(const char *text, struct arena *a, enum engine_kind ret_kinds[ENGINE_KIND_COUNT], size_t *ret_n,
                  struct err *e);

/* What a plan's settings become for each of these engines: its command, what it can't have, and then each setting in
 * which they differ. Nothing of the machine is looked at. False: one of them can't be started by this plan. */
bool engines_show(const struct plan *p, const enum engine_kind *kinds, size_t n, struct arena *a, struct buf *out,
                  struct err *e);

#endif
