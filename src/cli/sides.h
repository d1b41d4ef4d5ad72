/* The sides of a comparison on the terminal: what compare, gate and rank print alike. */
#ifndef JTOK_CLI_SIDES_H
#define JTOK_CLI_SIDES_H

#include "app/run_list.h"
#include "base/buf.h"

/* Appends "A  2 runs of vllm 0.24.0, SIMULATED: ID, ID", wrapped. */
void sides_put(const char *letter, const struct run_list *s, struct arena *a, struct buf *out);

/* Appends why the method refuses it. */
void sides_put_refusal(const struct sentences *reasons, struct buf *out);

/* Appends each as an item of a list. */
void sides_put_items(const struct sentences *items, struct buf *out);

#endif
