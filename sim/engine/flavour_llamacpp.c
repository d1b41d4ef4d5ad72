/* llama.cpp's llama-server, as its documentation and source of 2026 have it; none was recorded. */
#include "flavour.h"

#include "wire.h"

#define BUILD "b9465-simulated"

static void put_line_head(const struct tree *t, enum speaker s, const char *level, const char *source)
{
    (void)t, (void)s, (void)level, (void)source; /* plain lines */
}

#define SAY(...) tree_log(s->tree, SPEAKER_MAIN, "", NULL, __VA_ARGS__)

static void say(const struct start *s, enum log_line line)
{
    const struct options *o = s->options;
    switch (line) {
    case SAY_BANNER:
        SAY("build: 9465 (simulated) for Linux x86_64");
        SAY("main: HTTP server is listening, hostname: %s, port: %lld, http threads: 15", o->host, (long long)o->port);
        SAY("main: loading model");
        break;
    case SAY_MODEL:
        SAY("srv    load_model: loading model '%s'", o->model);
        break;
    case SAY_WEIGHTS:
        SAY("load_tensors: offloaded 33/33 layers to GPU");
        SAY("llama_context: constructing llama_context");
        SAY("llama_context: n_ctx_seq     = %lld", (long long)o->max_model_len);
        break;
    case SAY_GRAPHS:
        SAY("common_init_from_params: warming up the model with an empty run - please wait ... (--no-warmup to "
            "disable)");
        break;
    case SAY_READY:
        SAY("main: model loaded");
        SAY("main: server is listening on http://%s:%lld - starting the main loop", o->host, (long long)o->port);
        SAY("srv  update_slots: all slots are idle");
        break;
    case SAY_NOTHING:
    case SAY_CORE:
    case SAY_DYNAMO:
    case SAY_COMPILED:
    case SAY_KV:
    case SAY_INITIALIZED:
    case SAY_OWN:
        break;
    }
}

static void say_load(const struct tree *t, const struct metrics *now, const struct metrics *before, double seconds)
{
    (void)t, (void)now, (void)before, (void)seconds;
}

static void put_metrics(const struct metrics *m, const struct options *o, struct buf *b)
{
    (void)o;
    const struct {
        const char *name, *type;
        double value;
    } list[] = {{"prompt_tokens_total", "counter", (double)m->prompt_tokens},
                {"tokens_predicted_total", "counter", (double)m->generation_tokens},
                {"requests_processing", "gauge", (double)m->running},
                {"requests_deferred", "gauge", (double)m->waiting}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        buf_fmt(b, "# TYPE llamacpp:%s %s\nllamacpp:%s %.0f\n", list[i].name, list[i].type, list[i].name,
                list[i].value);
}

static bool answer(const struct options *o, struct span path, int64_t owed, struct buf *b)
{
    (void)owed;
    if (!span_is(path, "/props"))
        return false;
    buf_fmt(b, "{\"default_generation_settings\":{\"params\":{},\"n_ctx\":%lld},\"total_slots\":%lld,\"model_alias\":",
            (long long)o->max_model_len, (long long)o->max_running);
    wire_text(b, o->served_name);
    buf_str(b, ",\"model_ftype\":\"BF16\",\"model_path\":");
    wire_text(b, o->model);
    buf_fmt(b, ",\"endpoint_metrics\":%s,\"build_info\":\"" BUILD "\"}", o->enable_metrics ? "true" : "false");
    return true;
}

const struct flavour flavour_llamacpp = {
    .name = "llamacpp",
    .fingerprint = BUILD,
    .has_no_root = true,
    .metrics_off = 501,
    .finish_apart = true,
    .stop = "",
    .usage = "",
    .core = "llama-server",
    .worker = "llama-server_",
    .server = "llama-server_",
    .serves_early = true,
    .loading = "{\"error\":{\"code\":503,\"message\":\"Loading model\",\"type\":\"unavailable_error\"}}",
    .put_head = put_line_head,
    .say = say,
    .say_load = say_load,
    .put_metrics = put_metrics,
    .answer = answer,
};
