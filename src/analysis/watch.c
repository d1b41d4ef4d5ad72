#include "analysis/watch.h"

#include <math.h>
#include <string.h>
#include "analysis/scraped.h"
#include "base/must.h"
#include "base/time.h"

static const char NO_COUNT[] = "the engine's count of tokens was not read at both ends of the window";

struct bounds watch_bounds(const struct records *r)
{
    struct bounds b = {records_boundary(r, BOUNDARY_WINDOW_START), records_boundary(r, BOUNDARY_WINDOW_END), NULL};
    if (b.from_ns != ABSENT_I64 && b.to_ns != ABSENT_I64 && b.from_ns < b.to_ns)
        return b;
    return (struct bounds){ABSENT_I64, ABSENT_I64, "the window did not begin, or it did not end"};
}

/* The reading whose answer arrived then; null: none. The last of equal ones counts. */
static const struct rec_metrics *reading_at(const struct records *r, int64_t t_ns)
{
    for (size_t i = r->metrics_count; i-- > 0;) {
        const struct rec_metrics *m = &r->metrics[i];
        if (rec_metrics_arrival_ns(m) == t_ns && !isnan(m->generation_tokens))
            return m;
    }
    return NULL;
}

static const char *fact_seen(const struct records *r, const char *name)
{
    for (size_t i = 0; i < r->fact_count; i++)
        if (r->facts[i].name && strcmp(r->facts[i].name, name) == 0)
            return r->facts[i].seen;
    return NULL;
}

struct watch_count watch_count_between(const struct records *r, int64_t from_ns, int64_t to_ns)
{
    struct watch_count c = {.first = reading_at(r, from_ns), .last = reading_at(r, to_ns)};
    const char *at_end = fact_seen(r, "service.count_at_end");
    c.at_end = at_end && strcmp(at_end, "yes") == 0;
    c.duration_s = time_s(to_ns - from_ns);
    bool both = c.first && c.last;
    c.tokens = both ? c.last->generation_tokens - c.first->generation_tokens : NAN;
    c.input = both ? c.last->prompt_tokens - c.first->prompt_tokens : NAN;
    c.requests = both ? c.last->requests_ended - c.first->requests_ended : NAN;
    return c;
}

double watch_edge_tokens(const struct watch_count *c)
{
    must(c->first && c->last);
    if (c->at_end)
        return (c->first->running + c->last->running) * c->last->generation_tokens / c->last->requests_ended;
    return time_s(c->first->took_ns + c->last->took_ns) * c->tokens / c->duration_s;
}

static int64_t whole_tokens(double count)
{
    return isnan(count) || count < 0 ? ABSENT_I64 : (int64_t)floor(count + 0.5);
}

static struct quantity a_second(double count, double duration_s, const char *what)
{
    return isnan(count) ? quantity_absent(Q_NOT_RECORDED, what) : quantity_of(count / duration_s);
}

static void fill_tokens(struct result_point *p, const struct watch_count *c)
{
    const struct quantity *e = &p->window.energy.headline;
    p->tokens.output = whole_tokens(c->tokens);
    p->tokens.input = whole_tokens(c->input);
    p->rates.output_tok_s = a_second(c->tokens, c->duration_s, NO_COUNT);
    p->rates.input_tok_s = a_second(c->input, c->duration_s, "the engine does not count prompt tokens");
    p->rates.total_tok_s = a_second(c->tokens + c->input, c->duration_s, "the engine does not count prompt tokens");
    p->rates.request_s = a_second(c->requests, c->duration_s, "the engine does not count requests");
    p->j_per_token = quantity_over(e, c->tokens, "the engine generated no token in the window");
    p->j_per_total_token = isnan(c->input) ? p->rates.total_tok_s
                                           : quantity_over(e, c->tokens + c->input, "there was no token in the window");
    p->j_per_request =
        isnan(c->requests) ? p->rates.request_s : quantity_over(e, c->requests, "no request ended in the window");
    if (!quantity_has_value(&p->j_per_token))
        return;
    p->edge_j_per_token = p->j_per_token.value * watch_edge_tokens(c) / c->tokens;
    p->j_per_token.instrument += p->edge_j_per_token;
}

/* As the engine says, at each reading in the window. */
static void put_flight(struct result_point *p, const struct records *r)
{
    double sum = 0, peak = 0;
    size_t n = 0;
    for (size_t i = 0; i < r->metrics_count; i++) {
        const struct rec_metrics *m = &r->metrics[i];
        int64_t t_ns = rec_metrics_arrival_ns(m);
        if (t_ns == ABSENT_I64 || t_ns < p->window.start_ns || t_ns > p->window.end_ns || isnan(m->running))
            continue;
        sum += m->running;
        peak = fmax(peak, m->running);
        n++;
    }
    if (!n)
        return;
    p->flight.mean = quantity_of(sum / (double)n);
    p->flight.peak = whole_tokens(peak);
}

/* Of the window's end: null where time was up or its user asked. */
static const char *window_end_reason(const struct records *r)
{
    const char *note = NULL;
    for (size_t i = 0; i < r->boundary_count; i++)
        if (r->boundaries[i].id == BOUNDARY_WINDOW_END)
            note = r->boundaries[i].note;
    return note && strcmp(note, "time") != 0 && strcmp(note, "asked") != 0 ? note : NULL;
}

static const char *watch_setting(const struct records *r, bool at_end, struct arena *a)
{
    const char *source = fact_seen(r, "service.count"), *early = window_end_reason(r);
    return arena_format(a, "users' load, tokens as %s counts them%s%s%s", source ? source : "the engine",
                        at_end ? ", each request's when it ends" : "", early ? ", ended early: " : "",
                        early ? early : "");
}

struct result_point watch_point(const struct records *r, const struct result_stage *window, struct arena *a)
{
    must(window->stage == STAGE_WINDOW);
    struct result_point p;
    result_point_absent(&p, "no request is jtok's: it saw the engine's count alone");
    p.number = 0;
    p.window = *window;
    p.start_ns = window->start_ns;
    p.last_ns = p.end_ns = window->end_ns;
    p.reached = window->start_ns != ABSENT_I64;
    p.why = p.reached ? NULL : window->why;
    const struct watch_count c =
        p.reached ? watch_count_between(r, window->start_ns, window->end_ns) : (struct watch_count){0};
    p.setting = watch_setting(r, c.at_end, a);
    if (!p.reached)
        return p;
    p.engine = scraped_of(r,
                          &(struct scraped_span){.start_ns = window->start_ns,
                                                 .end_ns = window->end_ns,
                                                 .until_ns = INT64_MAX,
                                                 .from_ns = window->start_ns,
                                                 .to_ns = window->end_ns,
                                                 .load = -1},
                          a);
    if (!c.first || !c.last) {
        p.j_per_token = quantity_absent(Q_NOT_RECORDED, NO_COUNT);
        return p;
    }
    fill_tokens(&p, &c);
    put_flight(&p, r);
    return p;
}
