/* A load: requests of one kind, and what came of them. The formal stage sends one burst, all at once; a plan with
 * `loads` (METHOD section 11) sends those, one behind the other; readiness and warm-up are a load each.
 *
 *     load_make    the bytes of all requests: before anything is measured
 *     load_open    a client for them: limits checked, no packet yet
 *     load_connect connections ahead, where the plan says so
 *     load_submit  all of them, now
 *     load_close
 *
 * One of the plan's loads that is not a burst is paced: its requests are drawn from the set as they are needed, so that
 * a long load needs no memory for all of them:
 *
 *     load_plan    which of the plan's loads, and where in the request set it goes on
 *     load_open    as above
 *     load_begin   its start is set, at least load_lead_ns ahead
 *     load_close
 *
 * The client's callbacks get the load itself: whatever comes back is this load's. Requests and chunks go to the
 * machine's records directly. */
#ifndef JTOK_RUN_LOAD_H
#define JTOK_RUN_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"
#include "http/client.h"
#include "model/plan.h"
#include "model/record.h"
#include "run/stage.h"
#include "store/request_set.h"
#include "store/trace.h"

/* What all loads of a run have in common. Borrowed, and outlives them. */
struct load_site {
    struct stage_machine *machine;
    const struct plan *plan;
    const struct request_set *set;
    const char *api_key;        /* null: none */
    const struct trace *traces; /* one a load of the plan, those of other kinds zeroed; null: no load is a trace */
};

struct load {
    const struct load_site *site;
    enum request_stage stage;
    struct client_request *requests;
    size_t count;
    struct buf bodies;
    struct client *client;            /* null until it is opened, and once it is closed */
    struct address address;           /* that it is sent to; valid once it is opened */
    size_t succeeded, failed;         /* as they went to the records */
    struct rec_request first_failure; /* valid where failed is not 0; texts of the run's arena */
    bool connected, ended, closed;
    int64_t start_ns, end_ns; /* run time of the first submission and the last end; ABSENT_I64: not yet */

    /* One of the plan's loads, else `planned` is null and `number` -1. */
    const struct plan_load *planned;
    int32_t number;
    size_t first;    /* its first request's place among all requests of the plan's loads, which is its id, too */
    size_t sent;     /* submitted; valid once the load has ended */
    int64_t last_ns; /* run time from which on nothing more was sent; ABSENT_I64: not yet */
    struct rec_client condition;     /* of its client, and */
    struct client_progress progress; /* what it has counted; both valid once the load is closed */
    struct draw *draw;               /* paced: where its requests come from */
};

/* Makes the bytes of `count` requests: of the request set in its order with REQUEST_FORMAL (count: the set's), else of
 * jtok's own. O(bytes). `site` is borrowed until load_close. */
void load_make(struct load *l, const struct load_site *site, enum request_stage stage, size_t count);

/* Load `number` of the plan, whose first request is number `first` of all requests that the plan's loads send: request
 * i is row i of the set, which is repeated from its start where it ends. A burst has the bytes of all its requests from
 * here on, any other kind draws them. `site` is borrowed until load_close. */
void load_plan(struct load *l, const struct load_site *site, size_t number, size_t first);
bool load_is_paced(const struct load *l);

/* `known`: the address that has answered so far; null: the first of the host's. */
bool load_open(struct load *l, const struct address *known, struct err *e);

/* Opens the connections ahead; load_is_connected says when. Nothing where the plan connects with each request. */
void load_connect(struct load *l);
bool load_is_connected(const struct load *l);

/* Sends. False: no request was left to send, since no connection could be opened. */
bool load_submit(struct load *l);

/* Paced only. How long before its start load_begin must be called; and the start itself (run time). */
int64_t load_lead_ns(const struct load *l);
void load_begin(struct load *l, int64_t start_ns);

/* A load that has begun, before its end: nothing more is sent from now on, and what is in flight runs to its end. A
 * burst has sent everything. */
void load_finish(struct load *l);

/* Ends everything still open as cancelled; `ended` and `closed` follow. */
void load_cancel(struct load *l);

/* Closes the client (what it has not recorded yet is recorded now) and frees the bytes. Counts and times stay; of one
 * of the plan's loads what load_progress and load_list_condition say, too. A zeroed load is accepted, and one that was
 * closed. */
void load_close(struct load *l);

/* Counts so far; zeros without a client. O(1). */
struct client_progress load_progress(const struct load *l);

/* What the responses named as the model's fingerprint, a text of the run's arena; null: none did. */
const char *load_fingerprint(const struct load *l);

/* ---- a list ---- */

struct load_list {
    struct load *items;
    size_t count;
};

/* The plan's loads, none of them made yet: each is planned when the one before has ended, since it goes on where that
 * stopped. Memory of the arena. */
struct load_list load_list_plan(const struct load_site *site, struct arena *a);

/* Of all loads of the list together. O(loads). */
struct client_progress load_list_progress(const struct load_list *l);
/* Of the plan's loads, the one that has been made last; null: none yet, or the list is not the plan's. */
const struct load *load_list_current(const struct load_list *l);
size_t load_list_answered(const struct load_list *l);   /* requests that were recorded */
bool load_list_is_connected(const struct load_list *l); /* every one */
int64_t load_list_start_ns(const struct load_list *l);  /* of the first; ABSENT_I64: not yet */
int64_t load_list_end_ns(const struct load_list *l);    /* of the last; ABSENT_I64: some load has not ended */
bool load_list_is_closed(const struct load_list *l);    /* every one that was opened */

/* The clients' own condition: counts and times added, percentiles, peaks and limits the largest. */
struct rec_client load_list_condition(const struct load_list *l);
void load_list_close(struct load_list *l);

#endif
