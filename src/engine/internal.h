/* Private to this folder. */
#ifndef JTOK_ENGINE_INTERNAL_H
#define JTOK_ENGINE_INTERNAL_H

#include "engine/engine.h"

/* What a command line says. Null, ABSENT_I64 and -1: nothing. */
struct command {
    const char *model, *host, *uds, *dtype, *quantization, *revision;
    const char *served[8]; /* --served-model-name takes several */
    size_t served_count;
    int64_t port, context_length, tensor_parallel, pipeline_parallel, data_parallel;
    int prefix_cache;
    bool has_port, has_host; /* also as a placeholder */
};

struct command command_read(const struct plan *p);

/* What stands behind the first `mark`, or nothing (p null). */
struct span span_behind(struct span line, const char *mark);

/* SGLang's log: its name, and how many requests it makes to warm itself up. */
void sglang_read_log(struct engine_identity *id, struct span line);

/* vLLM's log: the engine's configuration and how long the parts of its start took. */
void vllm_read_log(struct engine_identity *id, struct span line);

#endif
