/* The engines that a plan can name, one row each: the only list of them. From it come the enum and its names (here),
 * what a plan file may say and its help (plan.c), and the table of what jtok knows of each (src/engine/table.h).
 *
 *     ROW(VLLM, vllm, true, "what its kind means, for the help of engine.kind")
 *
 * gives ENGINE_VLLM, the name "vllm" and the row `engine_vllm`, which src/engine/vllm.c defines. The third column: it
 * is known to keep a count of the tokens that it generates, so that a silent /metrics is a fault, not a property. */
#ifndef JTOK_MODEL_ENGINES_H
#define JTOK_MODEL_ENGINES_H

#define ENGINE_KINDS(ROW)                                                                                              \
    ROW(VLLM, vllm, true, "jtok knows its arguments and checks its identity")                                          \
    ROW(SGLANG, sglang, true, "SGLang, likewise")                                                                      \
    ROW(LLAMACPP, llamacpp, true, "llama.cpp's llama-server, likewise")                                                \
    ROW(OPENAI, openai, false, "any server with the OpenAI API")

#define ENGINE_KIND_ENUMERATOR(KIND, name, keeps_count, doc) ENGINE_##KIND,
enum engine_kind { ENGINE_KINDS(ENGINE_KIND_ENUMERATOR) };

#define ENGINE_KIND_ONE(KIND, name, keeps_count, doc) +1
enum { ENGINE_KIND_COUNT = 0 ENGINE_KINDS(ENGINE_KIND_ONE) };

extern const char *const engine_kind_names[ENGINE_KIND_COUNT + 1];

#endif
