/* Continuous batching, as a pure model: it sees no clock and no socket.
 *
 * A step takes every running request's next token and, within its token budget, the prompts of those that still lack it
 * and of those that wait, in order of arrival (vLLM's scheduler with chunked prefill). A request whose prompt completes
 * in a step has its first token at that step's end. When the KV cache is full, the request admitted last gives its
 * place back, waits first in the queue and later computes its prompt and its tokens again (a preemption). */
#ifndef JTOK_SIM_ENGINE_BATCH_H
#define JTOK_SIM_ENGINE_BATCH_H

#include <stdbool.h>
#include <stdint.h>

struct batch_limits {
    int64_t max_running;
    int64_t step_budget; /* tokens of one step, decoding and prefill */
    int64_t kv_tokens;
    int64_t step_tokens; /* a decoding request's tokens in one step */
};

enum job_state { JOB_FREE, JOB_WAITING, JOB_RUNNING, JOB_DONE };

struct job {
    enum job_state state;
    void *owner;
    int64_t prompt_tokens; /* > 0 */
    int64_t cached_tokens; /* of them, found in the prefix cache: < prompt_tokens */
    int64_t total_tokens;  /* to generate, > 0 */
    int64_t generated;
    /* Private. */
    int64_t computed; /* tokens whose keys and values are in the cache */
    bool stepping;    /* gets tokens at the end of the step in progress */
    int32_t previous, next;
};

struct job_list {
    int32_t first, last;
    int64_t count;
};

struct batch {
    struct batch_limits limits;
    struct job *jobs;
    int32_t capacity;
    struct job_list waiting, running, free;
    int64_t kv_used;
    int64_t preemptions;
};

void batch_init(struct batch *b, struct batch_limits limits);
void batch_done(struct batch *b);

/* Queues a request; returns its number, valid until batch_remove. Amortised O(1). */
int32_t batch_add(struct batch *b, void *owner, int64_t prompt_tokens, int64_t cached_tokens, int64_t total_tokens);

/* Takes a request out, whatever its state, and frees its number. O(1). */
void batch_remove(struct batch *b, int32_t job);

struct step {
    int64_t decoding; /* requests that go on by a token */
    int64_t prefill;  /* prompt tokens computed */
    int64_t admitted; /* requests that got a place: the last ones of the running list */
};

/* Plans the next step; false when there is nothing to do. O(running). */
bool batch_begin(struct batch *b, struct step *ret_step);

/* Ends it: calls `got` for each request that has new tokens (its `generated` has risen), in order of admission; it may
 * call batch_remove for that request. A request that has all of its tokens is JOB_DONE and holds no place. O(running).
 */
void batch_end(struct batch *b, void (*got)(void *self, int32_t job), void *self);

#endif
