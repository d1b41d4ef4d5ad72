#include "run/watch.h"

#include <math.h>
#include "base/must.h"
#include "engine/engine.h"
#include "run/gpu_check.h"

#define SCRAPE_NS SECOND_NS
#define LINE_NS   (10 * SECOND_NS)
#define SILENT_NS (60 * SECOND_NS) /* without a count: then it is no service any more that can be watched */

void watching_open(struct watching *w, struct stage_machine *m, const struct plan *plan, const struct running *running)
{
    must(m && plan && running);
    *w = (struct watching){.machine = m, .plan = plan, .running = running, .silent_ns = ABSENT_I64};
    w->first.t_ns = w->last.t_ns = w->line.t_ns = ABSENT_I64;
}

/* ---- the look ---- */

/* What the counting rests on, for whoever evaluates the records. */
static void note_service(struct watching *w)
{
    struct stage_machine *m = w->machine;
    const struct running *r = w->running;
    const char *source = r->source ? r->source : "none";
    struct buf who = {0};
    serving_describe(&r->serving, &who);
    stage_fact(m, "service.port", who.n ? CHECK_PASSED : CHECK_NOT_JUDGED, NULL,
               arena_text(m->arena, who.n ? buf_text(&who) : "its process can't be seen from here"));
    buf_done(&who);
    stage_fact(m, "service.gpus", CHECK_NOT_JUDGED, NULL,
               w->plan->attach.gpus_stated ? "stated" : "found behind the port");
    stage_fact(m, "service.count", CHECK_NOT_JUDGED, NULL, source);
    stage_fact(m, "service.count_at_end", CHECK_NOT_JUDGED, NULL, engine_counts_at_end(r->source) ? "yes" : "no");
}

bool stage_look(struct watching *w, struct observer *v, struct scrape *c)
{
    struct stage_machine *m = w->machine;
    stage_enter(m, RUN_LOOK);
    note_service(w);
    if (c)
        scrape_start(c, SCRAPE_NS);
    /* The grid needs a sample before whatever begins. */
    bool through = stage_pause(m, v->t0_ns - stage_now_ns(m) + time_of_seconds(w->plan->attach.look_s) + v->o.grid_ns);
    if (through && !w->running->unseen)
        gpu_check(v);
    if (through && w->running->unseen)
        stage_fact(m, "gpu.memory", CHECK_NOT_JUDGED, "memory of the engine's own processes",
                   "no process can be seen on the GPUs that were named");
    return through;
}

/* ---- readings ---- */

static bool is_countable(const struct rec_metrics *m)
{
    return m->took_ns != ABSENT_I64 && !isnan(m->generation_tokens);
}

static void end_window(struct watching *w, const char *why)
{
    if (!w->ended)
        w->ended = why;
    stage_wake(w->machine);
}

static void make_line(struct watching *w, const struct rec_metrics *m)
{
    double s = (double)(rec_metrics_arrival_ns(m) - rec_metrics_arrival_ns(&w->line)) / 1e9;
    double tokens = m->generation_tokens - w->line.generation_tokens;
    double watts = w->looks ? w->watts / (double)w->looks : NAN;
    w->view =
        (struct window_view){.lines = w->view.lines + 1,
                             .window_s = (double)(rec_metrics_arrival_ns(m) - rec_metrics_arrival_ns(&w->first)) / 1e9,
                             .tokens_per_s = tokens / s,
                             .watts = watts,
                             .j_per_token = tokens > 0 ? watts * s / tokens : NAN,
                             .running = m->running,
                             .waiting = m->waiting};
    w->line = *m;
    w->watts = 0;
    w->looks = 0;
    if (w->machine->changed)
        w->machine->changed(w->machine->self);
}

static void take_silence(struct watching *w, const struct rec_metrics *m)
{
    if (w->silent_ns == ABSENT_I64)
        w->silent_ns = m->t_ns;
    if (m->t_ns - w->silent_ns >= SILENT_NS)
        end_window(w, "The service gave no count of tokens for a minute.");
}

static void take_reading(void *self, const struct rec_metrics *m)
{
    struct watching *w = self;
    if (w->ended)
        return;
    if (!serving_lives(&w->running->serving)) {
        end_window(w, "The service's process ended, or is another one now.");
        return;
    }
    if (!is_countable(m)) {
        take_silence(w, m);
        return;
    }
    w->silent_ns = ABSENT_I64;
    if (w->last.t_ns != ABSENT_I64 && m->generation_tokens < w->last.generation_tokens) {
        end_window(w, "The service's count of tokens fell: it was started anew.");
        return;
    }
    w->last = *m;
    if (w->first.t_ns == ABSENT_I64)
        w->first = w->line = *m;
    double watts = observer_watts(w->observer);
    if (!isnan(watts)) {
        w->watts += watts;
        w->looks++;
    }
    if (rec_metrics_arrival_ns(m) - rec_metrics_arrival_ns(&w->line) >= LINE_NS - SCRAPE_NS / 2)
        make_line(w, m);
}

/* ---- the window ---- */

static bool window_is_over(void *self)
{
    const struct watching *w = self;
    return w->ended || w->machine->asked;
}

static bool read_count(struct watching *w)
{
    return scrape_once(w->scrape) &&
           (w->first.t_ns != ABSENT_I64 ||
            stage_fail(w->machine, ERR_ENGINE,
                       "The service at %s gave no count of tokens as the window began: see metrics.answer in "
                       "facts.csv.%s%s",
                       w->plan->attach.url, w->ended ? " " : "", w->ended ? w->ended : ""));
}

/* Only an engine that is still the same one can say how many tokens there are at the end. */
static bool read_last(struct watching *w)
{
    if (w->ended)
        return true;
    w->scrape->raw_period_ns = 0;
    return scrape_once(w->scrape);
}

static const char *reason_of_end(const struct watching *w)
{
    return w->ended ? w->ended : w->machine->asked ? "asked" : "time";
}

bool stage_window(struct watching *w, struct observer *v, struct scrape *c)
{
    struct stage_machine *m = w->machine;
    double for_s = w->plan->attach.for_s;
    w->observer = v;
    w->scrape = c;
    c->hearer = w;
    c->heard = take_reading;
    stage_enter(m, RUN_WINDOW);
    if (!read_count(w))
        return false;
    observer_boundary(v);
    stage_boundary(m, BOUNDARY_WINDOW_START, rec_metrics_arrival_ns(&w->first), NULL);
    m->asks = true;
    c->raw_period_ns = LINE_NS;
    scrape_start(c, SCRAPE_NS);
    int64_t until = isnan(for_s) ? INT64_MAX : rec_metrics_arrival_ns(&w->first) + time_of_seconds(for_s);
    bool whole = stage_wait(m, window_is_over, w, until) || m->interrupts == 0;
    scrape_stop(c);
    whole = whole && m->failure.kind == ERR_NONE && read_last(w);
    c->heard = NULL;
    observer_boundary(v);
    stage_boundary(m, BOUNDARY_WINDOW_END, rec_metrics_arrival_ns(&w->last), reason_of_end(w));
    /* A boundary needs a sample behind it. */
    stage_wait(m, NULL, NULL, stage_now_ns(m) + 2 * v->o.grid_ns + SECOND_NS / 4);
    m->asks = false;
    return whole && m->interrupts == 0;
}
