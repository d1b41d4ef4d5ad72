/* What the engine counts: /metrics, read again and again, and how its count of generated tokens stands beside what its
 * clients were told (METHOD section 3, "Waiting in a stage").
 *
 *     scrape_open
 *     scrape_once         waited for, when the engine is ready
 *     scrape_note_own     what is counted by now was generated for nobody
 *     scrape_start        at once, and each period from now on
 *     scrape_take_told    readiness and warm-up have ended, and were told so many tokens
 *     scrape_note_before  the formal requests begin
 *     scrape_is_settled   everything that they were told of has been counted
 *     scrape_stop, scrape_close
 *
 * Each answer, and that there was none, goes to the records. An answer without a count leaves a fact that says why,
 * each status once in a row. */
#ifndef JTOK_RUN_SCRAPE_H
#define JTOK_RUN_SCRAPE_H

#include <stdbool.h>
#include <stdint.h>
#include "http/client.h"
#include "model/plan.h"
#include "rules/usage.h"
#include "run/ask.h"

struct scrape {
    struct ask *ask;
    struct stage_machine *machine;
    const struct plan *plan;
    const char *path;         /* null: the engine has none, and nothing is ever asked */
    struct http_get *pending; /* of a period's scrape */
    struct timer timer;
    bool on; /* between scrape_start and scrape_stop */
    int64_t period_ns;
    int64_t count_from_ns; /* run time of scrape_start: a scrape that was asked for before is too old */
    int tries;             /* answers and silences of scrapes asked for since then */
    bool answered;         /* an answer has come, ever */
    bool counts_tokens;    /* one of them held a count */
    bool counted;          /* `count` was asked for since scrape_start */
    int told_status;       /* of the last answer without a count that was told of; 0: none */
    int64_t raw_period_ns; /* the raw text is recorded no more often; 0: each time */
    int64_t raw_ns;        /* run time of the last one that was */
    void *hearer;
    void (*heard)(void *hearer, const struct rec_metrics *m); /* of each answer and silence; null: nobody */
    struct usage_count count;                                 /* the engine's latest */
    struct usage_count own;                                   /* what it had counted before the first request */
    struct usage_count told;                                  /* what readiness and warm-up were told */
    struct usage_count before;                                /* what it had counted at the formal start */
};

/* Everything is borrowed until scrape_close, which gives up what is on its way. */
void scrape_open(struct scrape *s, struct ask *ask, const struct plan *plan);
void scrape_close(struct scrape *s);

/* Once, waited for. False: the run was interrupted or failed meanwhile. */
bool scrape_once(struct scrape *s);

/* At once and each period from now on. Scrapes that were asked for before are too old for scrape_is_caught_up and
 * scrape_is_settled, and one on its way is given up. A turn is left out while the one before has no answer. */
void scrape_start(struct scrape *s, int64_t period_ns);

/* Another period, from the next turn on. */
void scrape_slow(struct scrape *s, int64_t period_ns);

/* Waits for nothing: what is on its way is given up. */
void scrape_stop(struct scrape *s);

void scrape_note_own(struct scrape *s);
void scrape_take_told(struct scrape *s, const struct client_progress *p);

/* As analysis has it: the latest scrape since the warm-up, where it has caught up; else what is known. */
void scrape_note_before(struct scrape *s);

/* The engine keeps no count of tokens, as far as the plan or its answers say: there is nothing to wait for. */
bool scrape_has_no_count(const struct scrape *s);

/* The engine's count has caught up with what is known to have been generated, or it is not worth waiting for any longer
 * (the GPUs idle meanwhile, and analysis makes do without). */
bool scrape_is_caught_up(const struct scrape *s);

/* Has the engine counted all that the formal requests were told of, or can't that be told? A request that failed may
 * have left any number. */
bool scrape_is_settled(const struct scrape *s, const struct client_progress *p, struct usage_own own);

#endif
