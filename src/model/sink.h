/* Where records go while a run is on. Every function may be called from any thread, copies what it is given, never
 * blocks on the disk and never fails: what could not be written down is counted and ends the run at its next step. */
#ifndef JTOK_MODEL_SINK_H
#define JTOK_MODEL_SINK_H

#include "base/span.h"
#include "model/record.h"

struct record_sink {
    void *self;
    void (*boundary)(void *self, const struct rec_boundary *b);
    void (*clock)(void *self, const struct rec_clock *c);
    void (*fact)(void *self, const struct rec_fact *f);
    void (*instant)(void *self, uint32_t gpu, const struct rec_instant *i);
    void (*counter)(void *self, uint32_t gpu, const struct rec_counter *c);
    void (*buffer)(void *self, uint32_t gpu, const struct rec_buffer *b, size_t n);
    void (*state)(void *self, uint32_t gpu, const struct rec_gpu_state *s, const struct rec_process *p, size_t n);
    void (*request)(void *self, const struct rec_request *r);
    void (*chunk)(void *self, const struct rec_chunk *c, size_t n);
    void (*metrics)(void *self, const struct rec_metrics *m, struct span raw);
    void (*log)(void *self, int64_t t_ns, char stream, struct span line); /* 'o' stdout, 'e' stderr, 'j' jtok itself */
};

#endif
