#include "engine/internal.h"

#include <stdio.h>
#include <string.h>
#include "base/num.h"

enum { LONGEST_NEWS = 600 }; /* bytes of the lines about durations; the configuration's is longer */

struct span span_behind(struct span line, const char *mark)
{
    size_t n = strlen(mark);
    const char *at = line.n >= n ? memmem(line.p, line.n, mark, n) : NULL;
    return at ? (struct span){at + n, (size_t)(line.p + line.n - at) - n} : (struct span){0};
}

/* The number at the front, digit groups in commas allowed. */
static bool number(struct span s, double *ret_value)
{
    char digits[64];
    size_t n = 0;
    for (size_t i = 0; i < s.n && n < sizeof digits; i++) {
        char c = s.p[i];
        bool group = c == ',' && i + 1 < s.n && s.p[i + 1] >= '0' && s.p[i + 1] <= '9';
        if ((c < '0' || c > '9') && c != '.' && !group)
            break;
        if (!group)
            digits[n++] = c;
    }
    return num_f64((struct span){digits, n}, ret_value);
}

static void take_number(struct span line, const char *mark, double *field)
{
    struct span at = span_behind(line, mark);
    if (at.p)
        number(at, field);
}

/* The value of one setting of the configuration: `name=value` up to the comma that ends it; quotes are taken off. */
static const char *setting(struct span config, const char *name, struct arena *a)
{
    char mark[64];
    snprintf(mark, sizeof mark, " %s=", name); /* the space keeps tokenizer_revision apart from revision */
    struct span at = span_behind(config, mark);
    if (!at.p)
        return NULL;
    char end = ',';
    if (at.n && (*at.p == '\'' || *at.p == '"')) {
        end = *at.p;
        at.p++;
        at.n--;
    }
    const char *stop = memchr(at.p, end, at.n);
    size_t n = stop ? (size_t)(stop - at.p) : at.n;
    return n == 4 && memcmp(at.p, "None", 4) == 0 && end == ',' ? NULL : arena_copy(a, at.p, n);
}

static void take_count(struct span config, const char *name, struct engine_identity *id, int64_t *field)
{
    const char *text = setting(config, name, id->arena);
    if (text)
        num_i64(span_of(text), field);
}

static void read_configuration(struct engine_identity *id, struct span line)
{
    struct span version = span_behind(line, "LLM engine (v");
    const char *close = version.p ? memchr(version.p, ')', version.n) : NULL;
    if (close && !id->version)
        id->version = arena_copy(id->arena, version.p, (size_t)(close - version.p));
    struct span config = span_behind(line, "with config:");
    if (!config.p)
        return;
    id->log_model = setting(config, "model", id->arena);
    id->dtype = setting(config, "dtype", id->arena);
    id->kv_cache_dtype = setting(config, "kv_cache_dtype", id->arena);
    id->revision = setting(config, "revision", id->arena);
    if (span_behind(config, " quantization=").p) {
        const char *quantization = setting(config, "quantization", id->arena);
        id->quantization = quantization ? quantization : "none";
    }
    take_count(config, "max_seq_len", id, &id->context_length);
    take_count(config, "tensor_parallel_size", id, &id->tensor_parallel);
    take_count(config, "pipeline_parallel_size", id, &id->pipeline_parallel);
    take_count(config, "data_parallel_size", id, &id->data_parallel);
    const char *cache = setting(config, "enable_prefix_caching", id->arena);
    if (cache && (strcmp(cache, "True") == 0 || strcmp(cache, "False") == 0))
        id->prefix_cache = strcmp(cache, "True") == 0;
}

void vllm_read_log(struct engine_identity *id, struct span line)
{
    if (span_behind(line, "LLM engine (v").p) {
        read_configuration(id, line);
        return;
    }
    if (line.n > LONGEST_NEWS)
        return;
    double tokens;
    struct span size = span_behind(line, "KV cache size: ");
    if (size.p && number(size, &tokens))
        id->kv_cache_tokens = (int64_t)tokens;
    take_number(line, "Loading weights took ", &id->weights_s);
    take_number(line, "torch.compile took ", &id->compile_s);
    take_number(line, "Graph capturing finished in ", &id->graphs_s);
    struct span loading = span_behind(line, "Model loading took ");
    if (loading.p) {
        number(loading, &id->model_gib);
        take_number(loading, " and ", &id->model_loading_s);
    }
    struct span start = span_behind(line, "init engine");
    if (start.p)
        take_number(start, " took ", &id->init_s);
}
