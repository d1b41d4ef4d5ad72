#include "run/view.h"

#include <math.h>
#include "base/must.h"

enum { LOOK_NS = 900000000 };

double rate_look(struct rate *r, int64_t now_ns, int64_t chunks)
{
    must(now_ns >= r->since_ns);
    if (now_ns - r->since_ns >= LOOK_NS) {
        r->per_s = r->since_ns ? (double)(chunks - r->chunks) / ((double)(now_ns - r->since_ns) / 1e9) : NAN;
        r->since_ns = now_ns;
        r->chunks = chunks;
    }
    return r->per_s;
}

struct run_view view_make(const struct stage_machine *m, const struct service *s, const struct observer *v,
                          const struct load_list *formal, struct rate *rate)
{
    int64_t now = stage_now_ns(m);
    struct run_view view = {
        .stage = m->stage,
        .elapsed_ns = now,
        .stage_elapsed_ns = now - m->stage_start_ns,
        .watts = observer_watts(v),
        .chunks_per_s = NAN,
        .note = s->note[0] ? s->note : NULL,
        .interrupted = m->interrupts > 0,
        .asked = m->asked,
    };
    const struct load *planned = load_list_current(formal);
    struct client_progress p = planned ? load_progress(planned) : load_list_progress(formal);
    if (planned) {
        view.load = planned->number + 1;
        view.loads = (int64_t)formal->count;
        bool counted = isnan(planned->planned->for_s) && planned->start_ns != ABSENT_I64;
        p.total = counted ? (size_t)planned->planned->count : 0;
    } else if (p.total == 0) /* no client is open */
        return view;
    if (planned || load_list_start_ns(formal) != ABSENT_I64)
        view.requests = (int64_t)p.total;
    view.done = (int64_t)p.succeeded;
    view.failed = (int64_t)p.failed;
    view.running = (int64_t)p.running;
    view.chunks_per_s = rate_look(rate, now, load_list_progress(formal).token_chunks);
    return view;
}
