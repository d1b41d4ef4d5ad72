/* What a file is that holds no requests in JSON Lines, for the message that refuses it: its form by name, and the one
 * command that turns it into lines. Reading those forms is not done here. */
#ifndef JTOK_STORE_REQUEST_FORM_H
#define JTOK_STORE_REQUEST_FORM_H

#include "base/arena.h"
#include "base/span.h"

/* A sentence about the whole file, of the arena: UTF-16 and UTF-32, Parquet and other binary forms, compressions that
 * aren't read, archives, a Git LFS pointer, a page of HTML, a JSON list (ShareGPT among them), one JSON object over
 * several lines, a CSV table or trace, plain text. Null: it may be JSON Lines. `text` is the content (of a gzip or zstd
 * file what it holds); `file` is its path, for the command. O(bytes) at most. */
const char *request_form(struct span text, const char *file, struct arena *a);

/* The same of a line, one JSON object, that has neither "prompt" nor "messages": which keys it has and what they are
 * known as (ShareGPT, an OpenAI batch, a trace, a question ...), a phrase; *ret_advice: what to do, to stand behind it
 * (". This makes ..."), or "". */
const char *request_line_form(struct span line, const char *file, struct arena *a, const char **ret_advice);

#endif
