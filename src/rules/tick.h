/* Joins the grid samples of several GPUs into ticks.
 *
 * Each GPU is sampled on its own absolute grid (METHOD section 2), all with the same period but not at the same moment:
 * one thread per GPU, one phase per GPU. A rule that speaks of "all GPUs at once" needs one number for what belongs
 * together:
 *
 *     n of a sample = round((t - o) / period) + floor((o - O) / period)
 *
 * o: time of the GPU's first sample fed, O: time of the first sample fed of any GPU. So a sample keeps its number
 * though it is up to half a period late; one that is later counts for the next tick, and its own tick is missing
 * (METHOD's `sampler_late` is the same limit). Staggers of any size below one period never split a tick.
 *
 * A tick is given out when every GPU has its sample in it, or when some GPU is two ticks further: a missing sample
 * delays by two periods at most, and the ticks that come out depend on the samples alone, not on the order in which
 * threads bring them (as long as none is two periods behind). Ticks come out in order, without holes: one in which no
 * GPU has a sample comes out with all of them missing. */
#ifndef JTOK_RULES_TICK_H
#define JTOK_RULES_TICK_H

#include <stdbool.h>
#include <stdint.h>
#include "model/record.h"

/* Limits are inclusive, and a power that is exactly at one, computed in another order of operations, may be some ulps
 * over it: limits are compared with this much room, relatively. */
#define RULE_ROUNDING 1e-12

enum { TICK_GPUS_MAX = 64, TICK_HELD = 3 };

/* One grid reading of one GPU. */
struct tick_sample {
    int64_t t_ns;        /* middle of the power call */
    double watts;        /* NaN: the reading failed, which is a missing sample */
    int32_t utilisation; /* percent; -1: could not be read */
    int32_t processes;   /* compute processes; -1: the list could not be read */
};

struct tick {
    int64_t number;                           /* from 0 */
    struct tick_sample sample[TICK_GPUS_MAX]; /* valid where `present` has the GPU's bit */
    uint64_t present;                         /* one bit a GPU: it has a sample with power */
    uint64_t failed;                          /* one bit a GPU: its reading was made and failed */
    bool whole;                               /* every GPU is present */
    int64_t first_ns, last_ns;                /* earliest and latest time of those present; ABSENT_I64 without any */
};

/* Private, but for tick_init's parameters. About 8 KiB, no memory of its own. */
struct tick_join {
    uint32_t gpus;
    int64_t period_ns;
    int64_t origin_ns;
    int64_t gpu_origin_ns[TICK_GPUS_MAX];
    int64_t next;                /* number of the tick to give out next */
    int64_t newest;              /* highest number seen */
    uint64_t ignored;            /* samples that came after their tick was given out */
    struct tick held[TICK_HELD]; /* by number modulo TICK_HELD */
    bool has_pending; /* a sample that is too far ahead to be held: placed as the ticks before it are given out */
    uint32_t pending_gpu;
    struct tick_sample pending;
};

/* gpus: 1 to TICK_GPUS_MAX (more is an assertion failure). */
void tick_init(struct tick_join *j, uint32_t gpus, int64_t period_ns);

/* Takes one sample. Then call tick_next until it returns false, before the next sample is fed. */
void tick_feed(struct tick_join *j, uint32_t gpu, const struct tick_sample *s);

/* The next complete tick. O(gpus). */
bool tick_next(struct tick_join *j, struct tick *ret_tick);

/* As tick_next at the end of all samples: gives out what is still held, complete or not. */
bool tick_flush(struct tick_join *j, struct tick *ret_tick);

/* The reading that a GPU's records hold for its i-th instant sample (which must be a grid sample): utilisation and
 * processes are those of the state record nearest in time, up to half a period away, else -1. O(log states). */
struct tick_sample tick_sample_of(const struct rec_gpu *gpu, size_t i, int64_t period_ns);

#endif
