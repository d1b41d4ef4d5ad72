#include "run/scrape.h"

#include <math.h>
#include "base/must.h"
#include "engine/engine.h"

enum { LIMIT_S = 2, TRIES = 5 };

void scrape_open(struct scrape *s, struct ask *ask, const struct plan *plan)
{
    must(ask && plan);
    *s = (struct scrape){
        .ask = ask, .machine = ask->machine, .plan = plan, .path = engine_metrics_path(plan), .raw_ns = ABSENT_I64};
}

void scrape_close(struct scrape *s)
{
    scrape_stop(s);
}

/* ---- one answer ---- */

static void tell_lack(struct scrape *s, const struct engine_metrics_answer *answer)
{
    if (answer->status != s->told_status)
        stage_fact(s->machine, "metrics.answer", CHECK_NOT_JUDGED, "a count of generated tokens",
                   engine_metrics_lack(s->plan, answer, s->machine->arena));
    s->told_status = answer->status;
}

/* Records an answer of /metrics, or that there was none. */
static void take_scrape(struct scrape *s, const struct http_get_result *result)
{
    bool answered = result->outcome == HTTP_GET_ANSWERED, good = answered && result->status == 200;
    struct span body = good ? result->body : (struct span){0};
    struct rec_metrics m = engine_read_metrics(body);
    m.t_ns = result->sent_ns - s->machine->origin_ns;
    m.took_ns = answered ? result->done_ns - result->sent_ns : ABSENT_I64;
    bool raw = s->raw_ns == ABSENT_I64 || m.t_ns - s->raw_ns >= s->raw_period_ns;
    s->raw_ns = raw && good ? m.t_ns : s->raw_ns;
    if (s->machine->records.metrics)
        s->machine->records.metrics(s->machine->records.self, &m, raw ? body : (struct span){0});
    if (s->heard)
        s->heard(s->hearer, &m);
    s->answered |= answered;
    if (m.t_ns >= s->count_from_ns)
        s->tries++;
    if (isnan(m.generation_tokens)) {
        struct engine_metrics_answer lacking = ask_metrics_answer(result);
        tell_lack(s, &lacking);
        return;
    }
    s->counts_tokens = true;
    s->counted = m.t_ns >= s->count_from_ns;
    s->count = (struct usage_count){m.generation_tokens, m.requests_ended};
}

/* ---- asking ---- */

bool scrape_once(struct scrape *s)
{
    if (!s->path)
        return true;
    struct answer a = {0};
    bool asked = ask_wait(s->ask, s->path, LIMIT_S * SECOND_NS, &a);
    if (asked)
        take_scrape(s, &a.get);
    buf_done(&a.body);
    return asked;
}

static void on_scrape_answer(void *self, const struct http_get_result *result)
{
    struct scrape *s = self;
    s->pending = NULL;
    take_scrape(s, result);
    stage_wake(s->machine);
}

static void on_scrape_due(struct timer *t)
{
    struct scrape *s = t->owner;
    if (!s->on)
        return;
    /* An answer that is still outstanding is load enough: this turn is left out. */
    if (!s->pending) {
        struct err ignored; /* the next one may get through */
        struct http_get_options o = {
            .path = s->path, .timeout_ns = LIMIT_S * SECOND_NS, .done = on_scrape_answer, .self = s};
        if (!ask_start(s->ask, &o, &s->pending, &ignored))
            s->pending = NULL;
    }
    loop_timer_set(s->machine->loop, t, clock_now_ns() + s->period_ns);
}

void scrape_start(struct scrape *s, int64_t period_ns)
{
    must(period_ns > 0);
    scrape_stop(s);
    s->count_from_ns = stage_now_ns(s->machine);
    s->counted = false;
    s->tries = 0;
    if (!s->path)
        return;
    s->on = true;
    s->period_ns = period_ns;
    s->timer = (struct timer){.fire = on_scrape_due, .owner = s};
    loop_timer_set(s->machine->loop, &s->timer, clock_now_ns());
}

void scrape_slow(struct scrape *s, int64_t period_ns)
{
    must(period_ns > 0);
    s->period_ns = period_ns;
}

void scrape_stop(struct scrape *s)
{
    if (!s->on)
        return;
    s->on = false;
    loop_timer_stop(s->machine->loop, &s->timer);
    if (s->pending)
        http_get_cancel(s->pending);
    s->pending = NULL;
}

/* ---- counts ---- */

void scrape_note_own(struct scrape *s)
{
    if (s->counts_tokens)
        s->own = s->count;
}

void scrape_take_told(struct scrape *s, const struct client_progress *p)
{
    must(p->running == 0);
    s->told.tokens += (double)p->tokens;
    s->told.requests += (double)p->succeeded;
}

/* What the engine must have counted by the end of the warm-up. */
static struct usage_count known_before(const struct scrape *s)
{
    return (struct usage_count){s->own.tokens + s->told.tokens, s->own.requests + s->told.requests};
}

static bool has_caught_up(const struct scrape *s)
{
    return s->counted && !(s->count.tokens < known_before(s).tokens);
}

void scrape_note_before(struct scrape *s)
{
    s->before = has_caught_up(s) ? s->count : known_before(s);
}

bool scrape_has_no_count(const struct scrape *s)
{
    return !s->on || (s->answered && !s->counts_tokens);
}

bool scrape_is_caught_up(const struct scrape *s)
{
    return scrape_has_no_count(s) || s->tries >= TRIES || has_caught_up(s);
}

bool scrape_is_settled(const struct scrape *s, const struct client_progress *p, struct usage_own own)
{
    if (scrape_has_no_count(s) || !s->counted)
        return scrape_has_no_count(s);
    struct usage_count told = {(double)p->tokens, (double)p->succeeded};
    struct usage_verdict v = usage_judge(s->before, s->count, s->told, told, own);
    return p->failed > 0 || usage_agrees(&v);
}
