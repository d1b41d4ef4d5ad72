/* From Prometheus text to neutral figures. */
#include <math.h>
#include "base/must.h"
#include "engine/table.h"
#include "text/prom.h"

/* The names of all rows, one list. */
struct names {
    const struct engine_metric *list[128];
    size_t n;
};

static struct names all_names(void)
{
    struct names names = {.n = 0};
    const struct engine *g;
    for (size_t i = 0; (g = engine_row(i)); i++)
        for (const struct engine_metric *m = g->metrics.names; m && m->name; m++) {
            must(names.n < sizeof names.list / sizeof *names.list);
            names.list[names.n++] = m;
        }
    return names;
}

/* Where each figure stands. */
struct figures {
    double *at[FIGURE_COUNT];
};

static struct figures figures_of(struct rec_metrics *m)
{
    return (struct figures){{[FIGURE_RUNNING] = &m->running,
                             [FIGURE_WAITING] = &m->waiting,
                             [FIGURE_KV_CACHE_USED] = &m->kv_cache_used,
                             [FIGURE_PREEMPTIONS] = &m->preemptions,
                             [FIGURE_PROMPT_TOKENS] = &m->prompt_tokens,
                             [FIGURE_GENERATION_TOKENS] = &m->generation_tokens,
                             [FIGURE_PREFIX_QUERIES] = &m->prefix_queries,
                             [FIGURE_PREFIX_HITS] = &m->prefix_hits,
                             [FIGURE_REQUESTS_ENDED] = &m->requests_ended,
                             [FIGURE_TTFT_SUM] = &m->ttft_sum_s,
                             [FIGURE_TTFT_COUNT] = &m->ttft_count,
                             [FIGURE_QUEUE_SUM] = &m->queue_sum_s,
                             [FIGURE_QUEUE_COUNT] = &m->queue_count,
                             [FIGURE_PREFILL_SUM] = &m->prefill_sum_s,
                             [FIGURE_PREFILL_COUNT] = &m->prefill_count,
                             [FIGURE_TPOT_SUM] = &m->tpot_sum_s,
                             [FIGURE_TPOT_COUNT] = &m->tpot_count,
                             [FIGURE_ITL_SUM] = &m->itl_sum_s,
                             [FIGURE_ITL_COUNT] = &m->itl_count,
                             [FIGURE_E2E_SUM] = &m->e2e_sum_s,
                             [FIGURE_E2E_COUNT] = &m->e2e_count,
                             [FIGURE_DRAFTS] = &m->drafts,
                             [FIGURE_DRAFTED_TOKENS] = &m->drafted_tokens,
                             [FIGURE_ACCEPTED_TOKENS] = &m->accepted_tokens,
                             [FIGURE_ACCEPTED_SHARE] = &m->accepted_share,
                             [FIGURE_ACCEPTED_LENGTH] = &m->accepted_length}};
}

/* What is beyond can't be right, and is as if it were not said (the ranges of rec_metrics). */
static double most_of(enum figure figure)
{
    static const double less[FIGURE_COUNT] = {[FIGURE_KV_CACHE_USED] = 1,
                                              [FIGURE_ACCEPTED_SHARE] = 1,
                                              [FIGURE_RUNNING] = RECORD_REQUESTS_MAX,
                                              [FIGURE_WAITING] = RECORD_REQUESTS_MAX,
                                              [FIGURE_PREEMPTIONS] = RECORD_REQUESTS_MAX};
    return less[figure] > 0 ? less[figure] : RECORD_FIGURE_MAX;
}

/* A share or a length does not add up over engines: it is their mean. */
static bool is_mean(enum figure figure)
{
    return figure == FIGURE_KV_CACHE_USED || figure == FIGURE_ACCEPTED_SHARE || figure == FIGURE_ACCEPTED_LENGTH;
}

/* vLLM counts by what ended a request, and among its "successes" those that were aborted or failed. */
static bool ended_badly(const struct prom_sample *s)
{
    struct span reason;
    return prom_label(s->labels, "finished_reason", &reason) && (span_is(reason, "abort") || span_is(reason, "error"));
}

struct rec_metrics engine_read_metrics(struct span text)
{
    const struct names names = all_names();
    double sum[sizeof names.list / sizeof *names.list] = {0};
    unsigned count[sizeof names.list / sizeof *names.list] = {0};
    struct prom_sample s;
    while (prom_next(&text, &s, NULL))
        for (size_t i = 0; i < names.n; i++)
            if (span_is(s.name, names.list[i]->name) && isfinite(s.value) && !ended_badly(&s)) {
                sum[i] += s.value;
                count[i]++;
            }
    struct rec_metrics m = rec_metrics_absent();
    const struct figures figures = figures_of(&m);
    for (size_t i = 0; i < names.n; i++) {
        enum figure figure = names.list[i]->figure;
        double *field = figures.at[figure];
        if (!count[i] || !isnan(*field))
            continue;
        double value = is_mean(figure) ? sum[i] / count[i] : sum[i];
        if (value >= 0 && value <= most_of(figure))
            *field = value;
    }
    return m;
}

static bool counts_tokens_as(const struct engine *g, struct span name)
{
    for (const struct engine_metric *m = g->metrics.names; m && m->name; m++)
        if (m->figure == FIGURE_GENERATION_TOKENS && span_is(name, m->name))
            return true;
    return false;
}

const char *engine_metrics_source(struct span text)
{
    struct prom_sample s;
    while (prom_next(&text, &s, NULL)) {
        const struct engine *g;
        for (size_t i = 0; (g = engine_row(i)); i++)
            if (counts_tokens_as(g, s.name))
                return g->name;
    }
    return NULL;
}

bool engine_counts_at_end(const char *name)
{
    const struct engine *g = engine_named(name);
    return g && g->metrics.counts_at_end;
}

/* "status 501 ("This server does not support metrics.")": the body's beginning, where there is one. */
static const char *status_text(const struct engine_metrics_answer *answer, struct arena *a)
{
    enum { MOST = 120 };
    if (!answer->body.n)
        return arena_format(a, "status %d", answer->status);
    return arena_format(a, "status %d (\"%s\")", answer->status, body_beginning(answer->body, MOST, a));
}

/* The plan's own engine's advice before that of others. */
static const char *hint_for(const struct plan *p, int status)
{
    const struct engine *g = engine_of(p);
    for (size_t i = 0; g; g = engine_row(i++))
        for (const struct engine_metrics_hint *h = g->metrics.hints; h && h->phrase; h++)
            if (h->status == status)
                return h->phrase;
    return NULL;
}

static const char *redirect_text(const struct engine_metrics_answer *answer, const char *status, struct arena *a)
{
    if (answer->location && answer->location[0])
        return arena_format(a, "status %d, which points to %s: set engine.metrics_path to that", answer->status,
                            answer->location);
    return arena_format(a, "%s, a redirect to nowhere: set engine.metrics_path to where the engine has its metrics",
                        status);
}

const char *engine_metrics_lack(const struct plan *p, const struct engine_metrics_answer *answer, struct arena *a)
{
    must(answer->status == -1 || answer->status > 0);
    if (answer->status < 0)
        return arena_format(a, "no answer: %s", answer->detail ? answer->detail : "it is not known why");
    const char *path = engine_metrics_path(p), *status = status_text(answer, a), *hint = hint_for(p, answer->status);
    if (answer->status == 200)
        return arena_format(a, "%s, which holds no count of generated tokens that jtok knows", status);
    if (answer->status >= 300 && answer->status < 400)
        return redirect_text(answer, status, a);
    if (answer->status == 404)
        return arena_format(a, "%s: %s%sset engine.metrics_path to where the engine has its metrics (asked: %s)",
                            status, hint ? hint : "", hint ? ", or " : "", path ? path : "nothing");
    if (hint)
        return arena_format(a, "%s: %s", status, hint);
    if (answer->status == 401 || answer->status == 403)
        return arena_format(a, "%s: give the server's key in JTOK_API_KEY", status);
    return status;
}
