/* The digest of what was asked (METHOD section 9, *same work*): plan.requests.work_sha256.
 *
 * SHA-256 over one line for each request, in order: a JSON object in its one spelling (text/canonical.h), then LF.
 *
 *     {"api":"chat","body":{"temperature":0,"top_k":20},"forced":true,"max_tokens":347,
 *      "messages":[{"content":"Hello","role":"user"}]}                                          (all of it in one line)
 *
 *     api         "chat" or "completions"
 *     body        all further members of the request's body that change what is asked: temperature, top_p and seed of
 * the plan, requests.extra_body, what asks for the thinking of engine.settings (chat_template_kwargs,
 *                 reasoning_effort, thinking_token_budget), and the line's own; of
 * one name the one that is sent forced      is the answer to have exactly max_tokens? (false without max_tokens)
 *     max_tokens  the request's, or null
 *     messages    with the chat API: the list; a prompt is one user message
 *     prompt      with completions: the text, or the list of token ids of a random prompt
 *
 * So the file's packing, order of keys, escapes, white space, compression and splitting, the served model's name, the
 * stream's options and each engine's spelling of a forced length (ignore_eos, min_tokens) do not matter; all else does.
 * docs/FORMAT.md has the same in twenty lines of Python. */
#ifndef JTOK_STORE_WORK_DIGEST_H
#define JTOK_STORE_WORK_DIGEST_H

#include "model/plan.h"
#include "store/request_set.h"

/* O(bytes of all requests). */
void work_digest(const struct plan *plan, const struct request_set *set, char ret_hex[DIGEST_HEX]);

/* Appends the line of request i, its LF too. */
void work_line(const struct plan *plan, const struct request_set *set, size_t i, struct buf *out);

#endif
