/* The container that an engine will run in, before anything starts: what its runtime says of the image, and whether it
 * can be had. The runtime is asked by its own program, a few short questions; nothing is pulled and nothing is made. */
#ifndef JTOK_RUN_CONTAINER_H
#define JTOK_RUN_CONTAINER_H

#include "engine/container.h"
#include "model/plan.h"
#include "proc/cgroup.h"
#include "run/preflight.h"

/* Takes the plan's command or engine.container apart (engine/container.h), pins the image by the id and digest that the
 * runtime tells, chooses the container's name. Facts: preflight.container_image, preflight.containers (of jtok, left
 * behind: failed, and never the run by itself), preflight.container_gpus. Errors: the runtime is not there or not
 * allowed, the image is not on this machine, a container of that name exists, podman has no names for the GPUs. Nothing
 * where there is no container. */
bool container_resolve(struct preflight *f, struct plan *p, struct err *e);

/* Who stands in front of a container's published port, by the name of the process that listens there: "docker" for
 * docker-proxy, "podman" for conmon, rootlessport, pasta and slirp4netns; null: none of them. */
const char *container_proxy_runtime(const char *process_name);

/* Asks that runtime for the container that publishes this port here. False: it has none, or does not say. */
bool container_behind_port(const char *runtime, int64_t port, struct arena *a, char ret_id[CONTAINER_ID]);

/* The hub's cache on this machine (HF_HOME, or its usual place); null: there is none. */
const char *container_hub_folder(struct arena *a);

#endif
