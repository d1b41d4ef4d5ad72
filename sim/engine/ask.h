/* The body of a generation request, and what vLLM answers to a wrong one. */
#ifndef JTOK_SIM_ENGINE_ASK_H
#define JTOK_SIM_ENGINE_ASK_H

#include <stdbool.h>
#include <stdint.h>
#include "base/buf.h"
#include "base/span.h"
#include "options.h"

struct ask {
    bool chat; /* /v1/chat/completions, else /v1/completions */
    bool stream, include_usage, continuous_usage, ignore_eos;
    uint64_t prompt_hash;
    int64_t prompt_tokens; /* without a tokenizer: a token for each four bytes of text begun, and four a message */
    int64_t max_tokens;    /* resolved: what was asked for, else what the context leaves */
    int64_t min_tokens;
};

/* Reads and checks a body. 200, or the status of the refusal, whose body is appended to `error`. O(n). */
int ask_read(struct ask *a, bool chat, struct span body, const struct options *o, struct buf *error);

#endif
