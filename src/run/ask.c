#include "run/ask.h"

#include "base/must.h"

enum { BODY_MAX = 4 << 20 };

void ask_open(struct ask *k, struct stage_machine *m, const struct plan_engine *engine, const char *api_key)
{
    must(m && engine && engine->host);
    *k = (struct ask){.machine = m, .engine = engine, .api_key = api_key};
}

void ask_close(struct ask *k)
{
    if (k->pending)
        http_get_cancel(k->pending);
    k->pending = NULL;
}

bool ask_start(struct ask *k, const struct http_get_options *what, struct http_get **ret_get, struct err *e)
{
    must(what->path && what->done && what->timeout_ns > 0);
    must(!what->host && !what->header);
    struct buf header = {0};
    if (k->api_key)
        buf_fmt(&header, "Authorization: Bearer %s", k->api_key);
    struct http_get_options o = *what;
    o.host = k->engine->host;
    o.port = (int)k->engine->port;
    o.header = k->api_key ? buf_text(&header) : NULL;
    o.body_max = BODY_MAX;
    bool started = http_get_start(k->machine->loop, &o, ret_get, e);
    buf_done(&header);
    return started;
}

static void take_answer(void *self, const struct http_get_result *result)
{
    struct ask *k = self;
    struct answer *a = k->answer;
    must(a && !k->answered);
    struct arena *texts = k->machine->arena;
    k->pending = NULL;
    buf_clear(&a->body);
    buf_add(&a->body, result->body.p, result->body.n);
    a->get = *result;
    a->get.body = buf_span(&a->body);
    a->get.address = NULL;
    a->get.detail = result->detail ? arena_text(texts, result->detail) : NULL;
    a->get.location = result->location ? arena_text(texts, result->location) : NULL;
    if (result->outcome == HTTP_GET_ANSWERED && result->address) {
        k->address = *result->address;
        k->address_known = true;
    }
    k->answered = true;
    stage_wake(k->machine);
}

static bool is_answered(void *self)
{
    const struct ask *k = self;
    return k->answered;
}

bool ask_wait(struct ask *k, const char *path, int64_t timeout_ns, struct answer *answer)
{
    must(!k->pending && answer);
    struct err e;
    k->answered = false;
    k->answer = answer;
    struct http_get_options o = {.path = path, .timeout_ns = timeout_ns, .done = take_answer, .self = k};
    if (!ask_start(k, &o, &k->pending, &e))
        return stage_fail_with(k->machine, &e);
    bool answered = stage_wait(k->machine, is_answered, k, INT64_MAX);
    ask_close(k);
    k->answer = NULL;
    return answered;
}

int answer_status(const struct answer *answer)
{
    return answer->get.outcome == HTTP_GET_ANSWERED ? answer->get.status : 0;
}

const struct address *ask_address(const struct ask *k)
{
    return k->address_known ? &k->address : NULL;
}

struct engine_metrics_answer ask_metrics_answer(const struct http_get_result *result)
{
    return (struct engine_metrics_answer){.status = result->outcome == HTTP_GET_ANSWERED ? result->status : -1,
                                          .location = result->location,
                                          .body = result->body,
                                          .detail = result->detail};
}
