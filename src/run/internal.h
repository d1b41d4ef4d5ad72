/* Private to src/run: the one struct that the stages share. */
#ifndef JTOK_RUN_INTERNAL_H
#define JTOK_RUN_INTERNAL_H

#include "base/clock.h"
#include "engine/engine.h"
#include "model/limits.h"
#include "proc/child.h"
#include "http/client.h"
#include "http/get.h"
#include "loop/loop.h"
#include "power/device.h"
#include "power/sampler.h"
#include "rules/idle.h"
#include "rules/release.h"
#include "rules/usage.h"
#include "run/preflight.h"
#include "run/recorder.h"
#include "run/run.h"
#include "store/archive.h"
#include "store/request_set.h"

enum {
    LOG_TAIL_LINES = 20,
    LOG_TAIL_BYTES = 240,
    LOG_TAIL_TOLD = 1400,             /* what an error's text has room for: its end is what matters */
    RESIDENCY_SLACK_BYTES = 64 << 20, /* the kernel may keep more of a file than was asked of it */
};

/* Folders of the engine within the run folder. */
#define ENGINE_CACHE "engine-cache"
#define ENGINE_WORK  "engine-work"

/* A load being sent: readiness proof, warm-up or the formal requests. */
struct load {
    int stage;             /* enum request_stage */
    struct client *client; /* null until it is opened */
    struct client_request *requests;
    size_t count;
    struct buf bodies;
    size_t succeeded, failed; /* counted as they go to the sink */
    struct rec_request first_failure;
    bool connected, ended, closed;
    int64_t start_ns, end_ns; /* run time */
};

struct run {
    struct plan *plan;
    struct arena *arena;
    const struct run_options *options;
    struct child *child;
    struct loop *loop;
    struct device *device;
    uint32_t gpu_list[DEVICE_GPUS_MAX];
    size_t gpu_count;
    struct request_set set;
    struct preflight preflight;
    struct snapshot snapshot;
    bool has_snapshot;
    struct secrets secrets;
    const char *api_key;

    /* From here on: while executing. */
    const char *folder;
    int64_t origin_ns; /* CLOCK_MONOTONIC */
    int64_t t0_ns;     /* run time: samples before it are the sampler's lead */
    struct rec_run record;
    struct recorder *recorder;
    struct record_sink recorders; /* of the recorder */
    struct record_sink sink;      /* of clients: counts on the way to the recorder's */
    struct sampler *sampler;
    struct engine_launch launch;
    struct engine_identity identity;
    struct load formal, other;
    struct rec_client formal_client;

    /* Live state, on the loop's thread. */
    int stage;
    int64_t stage_start_ns;
    struct watch signals;
    struct timer tick;
    int interrupts;
    struct err unwritten; /* a record that could not be written; kind ERR_NONE: none */
    struct err failure;
    bool stopping; /* the way out: failures no longer end a wait */
    bool may_exit; /* the engine's exit is expected */
    uint64_t grid_seen[TICK_GPUS_MAX];
    struct sampler_live live[TICK_GPUS_MAX];
    int64_t memory_before[TICK_GPUS_MAX];
    struct idle idle;
    bool idle_open;
    struct release release;
    bool release_open;
    int64_t release_until_ns;
    int64_t release_from_ns; /* run time: what was sampled before says nothing about the release */
    int64_t gone_ns, memory_released_ns;
    int64_t memory_back_ns[TICK_GPUS_MAX]; /* first sample of the release with the GPU's memory back; ABSENT_I64 */
    int exit_status;
    const char *note;
    char note_text[LOG_TAIL_BYTES];
    char tail[LOG_TAIL_LINES][LOG_TAIL_BYTES];
    size_t tail_count;
    int64_t rate_ns; /* of the tokens-per-second figure: last look */
    int64_t rate_chunks;
    double rate;

    /* Side path. */
    struct http_get *poll; /* readiness and identity */
    struct http_get_result poll_result;
    struct buf poll_body;
    struct address poll_address; /* who answered: "localhost" has two addresses, and a server may listen on one */
    bool poll_address_known;
    bool poll_done;
    struct http_get *scrape;
    struct timer scrape_timer;
    bool scraping;
    int64_t scrape_period_ns;
    int64_t count_from_ns;            /* a reading that was asked for before this is older than what is waited for */
    int scrapes;                      /* answers and silences of scrapes asked for since then */
    bool scraped, counts_tokens;      /* an answer has come; one held generation_tokens */
    int metrics_status;               /* of the last answer without a count that was told of; 0: none */
    bool counted;                     /* `count` was asked for since count_from_ns */
    struct usage_count count;         /* the engine's latest */
    struct usage_count own;           /* what it had counted before the first request */
    struct usage_count told;          /* what readiness and warm-up were told */
    struct usage_count before;        /* the engine's count at the formal start */
    bool milestones[MILESTONE_COUNT]; /* seen in its output */
};

int64_t run_now_ns(const struct run *r);

/* Before the loop runs: has a signal come? Then with an error. */
bool run_signalled(struct run *r, struct err *e);

/* From here on samples are judged for the release; only the first call counts. */
void run_watch_release(struct run *r, int64_t from_ns);

/* Stops with a failure: the first one counts. Returns false. */
bool run_fail(struct run *r, enum err_kind kind, const char *format, ...) __attribute__((format(printf, 3, 4)));
bool run_fail_with(struct run *r, const struct err *e);

/* Drives the loop until `done` says so. False at the deadline (run time; INT64_MAX: none), or, unless stopping, when
 * the run failed or was interrupted; while stopping, at the second interrupt. */
bool run_wait(struct run *r, bool (*done)(struct run *r), int64_t deadline_ns);
bool run_pause(struct run *r, int64_t ns);

void run_enter(struct run *r, int stage);
void run_show(struct run *r);
void run_mark(struct run *r, enum boundary id, int64_t t_ns, const char *note);
void run_fact(struct run *r, const char *name, int outcome, const char *expected, const char *seen);
const char *run_gpu_name(void *self, uint32_t gpu);

/* The tail of the engine's output as text for an error, or "" . */
const char *run_log_tail(struct run *r);

/* One GET that is waited for. False: interrupted or failed meanwhile. The body stays valid until the next one. */
bool run_get(struct run *r, const char *path, int64_t timeout_ns, struct http_get_result *ret_result);

/* /metrics now, waited for, into r->count where the answer holds one. False: interrupted or failed meanwhile. */
bool run_scrape_once(struct run *r);

/* /metrics at once and each period from now on, where the engine has any. Readings that were asked for before are too
 * old for r->counted, and one on its way is given up. run_scrape_stop waits for nothing. */
void run_scrape_start(struct run *r, int64_t period_ns);
void run_scrape_stop(struct run *r);

/* Loads (load.c): first the bytes of all requests, O(bytes), then a client that sends them. */
void load_make(struct run *r, struct load *l, int stage, size_t count);
bool load_open(struct run *r, struct load *l, struct err *e);
void load_done(struct load *l);

/* Stages (stages.c); each false when the run failed or was interrupted. */
bool stage_baseline(struct run *r);
bool stage_start(struct run *r);
bool stage_warmup(struct run *r);
bool stage_connect(struct run *r);
bool stage_formal(struct run *r);
void stage_settle(struct run *r);
void stage_stop(struct run *r);
void stage_release(struct run *r);

#endif
