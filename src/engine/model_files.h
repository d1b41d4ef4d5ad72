/* What a snapshot's own files say of a model: its number format, and how many parameters it has. Pure: bytes in.
 *
 * Formats: Hugging Face's config.json, and the header of a safetensors file (github.com/huggingface/safetensors: eight
 * bytes of length, little-endian, then JSON: one object a tensor with dtype and shape). */
#ifndef JTOK_ENGINE_MODEL_FILES_H
#define JTOK_ENGINE_MODEL_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/span.h"

struct model_config {
    const char *precision; /* as engines call it: "bf16", "fp8", "awq"; null: config.json does not say */
    const char *method;    /* of quantization, as config.json writes it; null: none */
    int64_t bits;          /* of a packed weight; ABSENT_I64: not said */
};

/* Reads config.json, or ModelOpt's hf_quant_config.json. The quantization's method (ModelOpt: its algorithm) names the
 * precision where there is one, else torch_dtype or dtype; each of the model or, for a model of several parts, of its
 * text_config. A text that is not JSON says nothing. O(bytes). */
void model_config_read(struct span json, struct arena *a, struct model_config *ret);

/* The length of the header that a safetensors file's first eight bytes state, in bytes; ABSENT_I64 where it can't be
 * true of a file of `file_bytes`. */
int64_t model_header_bytes(const unsigned char first[8], int64_t file_bytes);

/* Parameters of all tensors of one header; ABSENT_I64 where the header can't be read, or how its weights are packed is
 * not known. Weights packed into int32 (GPTQ, AWQ) count by their bits, scales and zero points of any quantization not
 * at all. O(bytes). */
int64_t model_header_parameters(struct span header, const struct model_config *c);

#endif
