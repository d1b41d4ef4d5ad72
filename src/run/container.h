/* The container that an engine will run in, before anything starts: what its runtime says of the image, and whether it
 * can be had. The runtime is asked by its own program, a few short questions; nothing is pulled and nothing is made. */
#ifndef JTOK_RUN_CONTAINER_H
#define JTOK_RUN_CONTAINER_H

#include "engine/container.h"
#include "model/plan.h"
#include "run/preflight.h"

/* Takes the plan's command or engine.container apart (engine/container.h), pins the image by the id and digest that the
 * runtime tells, chooses the container's name. Facts: preflight.container_image, preflight.containers (of jtok, left
 * behind: failed, and never the run by itself), preflight.container_gpus. Errors: the runtime is not there or not
 * allowed, the image is not on this machine, a container of that name exists, podman has no names for the GPUs. Nothing
 * where there is no container. */
bool container_resolve(struct preflight *f, struct plan *p, struct err *e);

/* The hub's cache on this machine (HF_HOME, or its usual place); null: there is none. */
const char *container_hub_folder(struct arena *a);

#endif
