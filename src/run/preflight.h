/* Looks at the machine before anything starts, so that a run does not fail an hour later (METHOD sections 3 and 8).
 *
 * Every check gives facts named preflight.*; a check that must stop the run gives an error, too. All of it is done
 * before t0, hashing included: reading weights between t0 and t2 would show as load. */
#ifndef JTOK_RUN_PREFLIGHT_H
#define JTOK_RUN_PREFLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/err.h"
#include "model/plan.h"
#include "model/record.h"
#include "power/device.h"
#include "run/weights.h"

struct preflight {
    struct arena *arena;
    struct weights_memory digests; /* of large files; zeroed: nothing is remembered */
    struct rec_fact *facts;
    const char **advice; /* one a fact: what is so, and what to do; null: nothing to say */
    size_t fact_count, fact_capacity;
};

void preflight_init(struct preflight *p, struct arena *a);
void preflight_done(struct preflight *p);

/* Adds a fact; its texts are borrowed. */
void preflight_fact(struct preflight *p, const char *name, enum check_outcome outcome, const char *expected,
                    const char *seen);

/* What must be known and stops nothing: a fact that is not judged, and a sentence to be told before the start. */
void preflight_warn(struct preflight *p, const char *name, const char *expected, const char *seen, const char *advice);

enum preflight_state { PREFLIGHT_PASSED, PREFLIGHT_WARNED, PREFLIGHT_FAILED };
extern const char *const preflight_state_names[PREFLIGHT_FAILED + 2];

/* A fact as a line for people: the same table in doctor, dry run and run. */
struct preflight_line {
    const char *name, *label;
    enum preflight_state state;
    const char *seen;   /* null: nothing could be seen */
    const char *advice; /* warned, failed: what is so, and what to do */
};

/* A line for each fact preflight.*, in order, of the arena. */
void preflight_lines(const struct preflight *p, struct arena *a, struct preflight_line **ret_list, size_t *ret_count);

/* preflight.disk: is there room for the records below `folder`, or the nearest folder above it that exists? Needs
 * `bytes`, by preflight_record_bytes. */
bool preflight_disk(struct preflight *p, const char *folder, int64_t bytes, struct err *e);

/* Bytes that a run's raw records take before they are sealed, generously: 40 a token, 400 a request, 64 MiB for power,
 * log and metrics. tokens: expected output tokens of all requests; ABSENT_I64: 4096 a request. */
int64_t preflight_record_bytes(int64_t requests, int64_t tokens);

/* preflight.open_files: one descriptor a request and 256 for the rest. Raises the soft limit; where the hard limit is
 * too low the error says so and how to raise it. *ret_limit (may be null): the soft limit now in force. */
bool preflight_open_files(struct preflight *p, int64_t requests, int64_t *ret_limit, struct err *e);

/* preflight.port: can host:port be bound (as a server would, with SO_REUSEADDR)? The error names the port and, where
 * /proc tells, the process that listens on it. host: a literal address or "localhost". */
bool preflight_port(struct preflight *p, const char *host, int64_t port, struct err *e);

/* preflight.port of a server on a Unix socket: nothing may be at `path`, which must be absolute, since the engine has a
 * working folder of its own. The error says whether a server listens there. */
bool preflight_unix_socket(struct preflight *p, const char *path, struct err *e);

/* A port that is free now on this host. */
bool preflight_free_port(const char *host, int64_t *ret_port, struct err *e);

/* preflight.memory: can as many bytes be had at once, and some for the engine beside, within this machine's memory and
 * this process's control group? preflight.shared_memory: is there room for what an engine's processes exchange? Both
 * warn. */
void preflight_memory(struct preflight *p, int64_t bytes);
void preflight_shared_memory(struct preflight *p, const char *folder);

/* Of the folder of a model: preflight.snapshot_files, every file that the index names (without one, every safetensors
 * file) is there and as long as its header says; an error where one is not, unless weights of another format are there,
 * too. `fetch`: the command that gets it; null: not known. preflight.tokenizer: there is one. preflight.config: the
 * plan's context (ABSENT_I64: not stated, and no fact) is one that config.json allows. The last two warn. Reads the
 * headers, without a trace in the page cache. */
bool preflight_weights(struct preflight *p, const char *folder, const char *fetch, struct err *e);
void preflight_tokenizer(struct preflight *p, const char *folder);
void preflight_config(struct preflight *p, const char *folder, int64_t context);

/* preflight.leftovers: processes that look like an engine somebody left behind (VLLM::*, sglang::*, vllm serve,
 * sglang.launch_server), with their parents and children. Those that hold memory on one of these GPUs fail the fact,
 * never the run by itself; *ret_n (may be null) is their number. Those that hold some on other GPUs only are named, and
 * those that hold none are warned of. Where GPUs and processes can't be brought together (no device, another namespace
 * of process ids), all of them fail. O(processes x GPU processes). */
void preflight_leftovers(struct preflight *p, const struct device *d, const uint32_t *gpus, size_t gpu_count,
                         size_t *ret_n);

struct snapshot {
    const char *folder;   /* resolved: absolute, without links */
    const char *revision; /* the 40 hex digits behind /snapshots/; null: the path names none */
    char sha256[65], digest[65];
    int64_t files, bytes;
    int64_t
        resident_bytes;    /* in the page cache, before anything of it was read; ABSENT_I64: the kernel would not say */
    int64_t read_bytes;    /* that had to be read for the digest */
    const char *model_id;  /* as the hub's cache names it; null: the path does not say */
    int64_t largest_bytes; /* of its largest file */
    const char *precision; /* by config.json; null: it does not say */
    int64_t parameters;    /* by the headers of its safetensors files; ABSENT_I64: not known */
};

/* preflight.snapshot: a folder with a readable config.json. preflight.revision: the path's against the plan's.
 *
 * The hash is the SHA-256 of one line a file, sorted by path in byte order: "<path> <size> <digest>\n", path relative
 * to the folder with '/', links followed, digest the hex SHA-256 of files below 16 MiB and "-" for larger ones
 * (weights: the time to read 100 GB is not spent, and reading would fill the page cache). Folders whose name begins
 * with a dot are left out. Works without a plan hash; with one, preflight.snapshot_sha256 compares. `digest` is made
 * alike of every file's digest (run/weights.h); preflight.snapshot_digest compares it with the plan's, where it has
 * one. snapshot.precision, .model_id and .parameters tell what the files say, judged by nobody here. */
bool preflight_snapshot(struct preflight *p, const struct plan *plan, struct snapshot *ret_snapshot, struct err *e);

/* The same three facts of a folder that the plan does not name, in the hub's cache: no digest is made of it. False: it
 * can't be read. O(files). */
bool preflight_model(struct preflight *p, const char *folder, struct err *e);

/* preflight.driver: does the driver serve the version of its toolkit that the engine's PyTorch was built with, by
 * torch/version.py in PYTHONPATH (of `env`, or set by a word of the command) or beside the command's Python (a word of
 * the command that is one, or a script whose first line names one)? No PyTorch, or one for no GPU: no fact. An older
 * driver is warned of: NVIDIA's forward compatibility package may still serve. O(folders in PATH). */
void preflight_driver(struct preflight *p, const struct device *d, const char *const *argv, const char *const *env);

/* Both digests of a snapshot once more. O(small files), where nothing changed. */
bool snapshot_again(struct preflight *p, const struct snapshot *s, char ret_sha256[65], char ret_digest[65],
                    struct err *e);

/* How much of the snapshot's files is in the page cache now (cachestat, else mincore). Read it again just before t2.
 * ABSENT_I64: not known. O(pages) without cachestat. */
int64_t snapshot_resident_bytes(const struct snapshot *s);

#endif
