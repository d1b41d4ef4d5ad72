/* What a server that runs on this machine is, property by property, against what its command line states. */
#ifndef JTOK_APP_IDENTIFY_H
#define JTOK_APP_IDENTIFY_H

#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/err.h"
#include "schema/schema.h"

enum identity_state {
    IDENTITY_VERIFIED,       /* stated, and seen */
    IDENTITY_WRONG,          /* stated, and something else was seen */
    IDENTITY_NOT_STATED,     /* the command says nothing of it */
    IDENTITY_NOT_VERIFIABLE, /* stated, and the engine gives no way to see it */
    IDENTITY_STATE_COUNT
};
extern const char *const identity_state_names[IDENTITY_STATE_COUNT + 1];

struct identified_property {
    const char *name, *label; /* "kv_cache_dtype", "KV-cache precision" */
    enum identity_state state;
    const char *stated, *seen; /* null: nothing */
    const char *source;        /* of what was seen, and what another place says otherwise; null */
};

struct identification {
    const char *url;
    const char *engine;  /* its kind, or the name that it gives itself */
    const char *process; /* "pid 12 (vllm)"; null: it can't be seen from here */
    bool command_known;  /* there is a command line to hold it against */
    struct identified_property *properties;
    size_t property_count;
    int64_t counts[IDENTITY_STATE_COUNT];
};

extern const struct schema identification_schema;

/* Asks the server at `url` (run/running.h says how it is written) by GETs that generate nothing, each path once, with a
 * limit of 10 s and 4 MiB an answer. `key`: a bearer token; null: the one that its command or this process's
 * environment has, if any. ERR_REFUSED where the address is another machine's, ERR_ENGINE where no inference server
 * answers. Everything lives in the arena. */
bool identify_server(const char *url, const char *key, struct arena *a, struct identification *ret_identification,
                     struct err *e);

#endif
