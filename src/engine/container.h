/* An engine in a container: from what a person writes to one form in the plan, and from that to the command that the
 * runtime (docker, podman) is given. Pure, as the rest of this folder: run/container.h asks the runtime.
 *
 *     container_take     a command that begins with `docker run`, or engine.container: one form
 *     container_settle   what the image says of itself: id, digest, entrypoint
 *     container_address  where the engine listens: inside, and on this machine
 *     container_wrap     the command and variables of a launch
 *
 * The container is removed with its anonymous volumes; jtok makes no network and no named volume. It listens on the
 * host's network unless its ports are published, since a proxy in front of it would be in each latency. Compile caches
 * lie in the container's own layer, which is new and goes with it. */
#ifndef JTOK_ENGINE_CONTAINER_H
#define JTOK_ENGINE_CONTAINER_H

#include "engine/engine.h"

struct engine_command;

/* The label that each container of jtok carries; its value is jtok's process id. */
#define CONTAINER_LABEL "jtok.owner"

/* Does the plan's engine run in a container? */
bool container_is_used(const struct plan *p);

/* Takes a command that begins with docker or podman and runs an image apart: into engine.container, engine.command
 * (what stands behind the image), engine.env (-e NAME=VALUE) and, where the plan names none, gpus (--gpus, --device
 * nvidia.com/gpu=..., NVIDIA_VISIBLE_DEVICES). Brings the options of engine.container.args into the same form. An
 * option that a measurement can't have (detached, another pull, a restart ...) or that contradicts the plan is an error
 * that says why. Where there is no container nothing changes. */
bool container_take(struct plan *p, struct arena *a, struct err *e);

/* What `image inspect` says. */
struct container_image {
    const char *id;       /* "sha256:..." */
    const char **digests; /* "NAME@sha256:..." or "sha256:...", of the manifest */
    size_t digest_count;
    const char **entrypoint, **command;
    size_t entrypoint_count, command_count;
};

/* Reads the answer of `docker image inspect` or `podman image inspect`: an array of one object. False where it is
 * something else. O(bytes). */
bool container_read_image(struct span json, struct arena *a, struct container_image *ret_image);

/* Pins the image: its id into the plan, and its digest, or an error where the plan states another one. The image's
 * entrypoint, unless an option sets another or the plan's command is a whole one; the image's own arguments where there
 * is no command. */
bool container_settle(struct plan *p, const struct container_image *image, struct arena *a, struct err *e);

/* Private to this folder. What the command says of where the engine listens is about the inside of the container: puts
 * this machine's port in its place, where ports are published, and the plan's host. An error where jtok could not reach
 * it. */
bool container_address(struct plan *p, struct engine_command *c, struct arena *a, struct err *e);

/* Is the host's port left to jtok ({port} in an option)? */
bool container_port_is_free(const struct plan *p);

/* Where a path of this machine lies inside, and the other way round, by the mounts that the options name; inside, a
 * path that no option mounts lies where it does outside. Null: it is the image's own. Of the arena. */
const char *container_inner_path(const struct plan *p, const char *path, struct arena *a);
const char *container_outer_path(const struct plan *p, const char *path, struct arena *a);

/* Private to this folder. What the engine inherits inside, null-terminated "NAME=value": HF_HOME, where the options or
 * jtok mount the hub's cache, since the moved caches would hide it. */
const char *const *container_inherits(const struct plan *p, const struct engine_site *site, struct arena *a);

/* Does an option mount something at this very place inside? */
bool container_mounts(const struct plan *p, const char *inner);

/* Private to this folder. The engine's own words, the filled-in options and `variables` (a list of "NAME=value" that
 * ends with null) become the runtime's command, and the removal. Values of engine.env are not in it: they are given by
 * name, from the runtime's own environment. */
void container_wrap(const struct plan *p, const struct engine_site *site, const char *const *variables, struct arena *a,
                    struct engine_launch *l);

/* Where caches lie inside. */
#define CONTAINER_CACHE "/tmp/jtok-cache"

/* Private to this folder: an option's value among engine.container.args ("--network"), the last one; null: not there.
 * `i`: from which word on; the place behind the one found. */
const char *container_option(const struct plan *p, const char *name, size_t *i);

#endif
