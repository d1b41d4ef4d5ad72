/* What a snapshot's own files say of a model: its number format, its token ids, and how many parameters it has. Pure:
 * bytes in.
 *
 * Formats: Hugging Face's config.json, and the header of a safetensors file (github.com/huggingface/safetensors: eight
 * bytes of length, little-endian, then JSON: one object a tensor with dtype and shape). */
#ifndef JTOK_ENGINE_MODEL_FILES_H
#define JTOK_ENGINE_MODEL_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/span.h"

struct model_config {
    const char *precision; /* as engines call it: "bf16", "fp8", "awq"; null: config.json does not say */
    const char *method;    /* of quantization, as config.json writes it; null: none */
    int64_t bits;          /* of a packed weight; ABSENT_I64: not said */
    int64_t positions;     /* max_position_embeddings of the model, else of its text_config; ABSENT_I64 */
};

/* Reads config.json, or ModelOpt's hf_quant_config.json. The quantization's method (ModelOpt: its algorithm) names the
 * precision where there is one, else torch_dtype or dtype; each of the model or, for a model of several parts, of its
 * text_config. A text that is not JSON says nothing. O(bytes). */
void model_config_read(struct span json, struct arena *a, struct model_config *ret);

/* What a snapshot says of its token ids, to draw random ones that mean nothing special. Zeroed but for the size. */
struct model_vocabulary {
    int64_t size; /* rows of the embedding: vocab_size of the model, else of its text_config; ABSENT_I64: not said */
    int64_t *special; /* ids with a meaning of their own, in no order */
    size_t special_count, special_capacity;
};

enum { MODEL_IDS_LEFT = 1000 };

/* Adds what one file says: vocab_size; every *_token_id, *_token_ids and *_token_index (config.json,
 * generation_config.json: begin, end, padding, images); the ids of added_tokens_decoder (tokenizer_config.json). A text
 * that is not JSON says nothing. O(bytes). */
void model_vocabulary_read(struct model_vocabulary *v, struct span json);
void model_vocabulary_done(struct model_vocabulary *v);

/* The ids that can be drawn from a vocabulary of `size`, first to last inclusive: without the lowest MODEL_IDS_LEFT (an
 * eighth of a vocabulary below 8000), where bytes and control tokens lie; above the highest special id of the lower
 * half; below the lowest one of the upper half, behind which more of them follow and rows that no token has. False:
 * none is left. O(special). */
bool model_vocabulary_range(const struct model_vocabulary *v, int64_t size, int64_t *ret_first, int64_t *ret_last);

/* The length of the header that a safetensors file's first eight bytes state, in bytes; ABSENT_I64 where it can't be
 * true of a file of `file_bytes`. */
int64_t model_header_bytes(const unsigned char first[8], int64_t file_bytes);

/* Bytes of data that must follow a header: the highest end of a tensor's data_offsets; ABSENT_I64 where the header
 * can't be read. O(bytes). */
int64_t model_header_data_bytes(struct span header);

/* Parameters of all tensors of one header; ABSENT_I64 where the header can't be read, or how its weights are packed is
 * not known. Weights packed into int32 (GPTQ, AWQ) count by their bits, scales and zero points of any quantization not
 * at all. O(bytes). */
int64_t model_header_parameters(struct span header, const struct model_config *c);

#endif
