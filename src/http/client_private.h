/* What client.c and paced.c share. Private to http. */
#ifndef JTOK_HTTP_CLIENT_PRIVATE_H
#define JTOK_HTTP_CLIENT_PRIVATE_H

#include "http/client.h"
#include "http/exchange.h"
#include "loop/hist.h"

enum { CHUNK_BATCH = 2048, FINGERPRINT_MAX = 127 };

/* A slice of sending, after which the loop reads; a pause between waves, in which a busy server can accept. */
static const int64_t SLICE_NS = 500000, WAVE_GAP_NS = 10000000;

/* Handshakes ahead of the submission, in waves. */
struct opening {
    bool active;
    size_t next, pending, over; /* over: opened or failed */
    int64_t start_ns, end_ns;
    struct timer timer;
};

struct submission {
    bool begun;
    size_t next;
    int64_t first_ns, last_ns, wall_start_ns, cpu_start_ns;
    struct timer timer;
};

/* Ends, and what the owner has not been notified of yet. */
struct ends {
    size_t ended, gone;
    int64_t last_ns;
    bool cancelled, all_ended, all_gone;
    bool notify_last, notify_ended, notify_closed;
    struct timer timer;
};

/* What the client has seen of its own condition. */
struct seen {
    struct rec_client record;
    struct hist handled;
    char fingerprint[FINGERPRINT_MAX + 1]; /* the first that came */
    bool frozen;                           /* the last request has ended: record stands */
};

struct pacing;

struct client {
    struct loop *loop;
    struct client_options o;
    struct client_request *requests;
    struct exchange *exchanges; /* one for each request */
    size_t count;
    struct pacing *pacing; /* null: all at once; else there are neither requests nor exchanges nor a count */
    struct exchange_terms terms;
    struct stamps stamps;
    int source;      /* of a paced load's connections (conn.h) */
    struct buf head; /* of every request, up to the value of Content-Length */
    struct event_shapes shapes;
    struct opening opening;
    struct submission submission;
    struct ends ends;
    struct client_progress progress;
    struct seen seen;
    struct timer clock_timer;
    size_t batch_count;
    struct rec_chunk batch[CHUNK_BATCH];
};

/* ---- client.c, for paced.c ---- */

/* Everything but the requests: limits are the caller's matter. False: the head can't be made; nothing is left. */
bool client_make(struct loop *l, const struct client_options *o, int64_t files, struct client **ret_client,
                 struct err *e);

/* The owner is notified soon, never from within a call. */
void client_notify_soon(struct client *c);

/* The first submission: from here on the client's own condition is measured. */
void client_start_measuring(struct client *c);

/* Have all ended, have all gone? The owner is notified once of each. */
void client_check_ends(struct client *c);

/* ---- paced.c, for client.c ---- */

bool paced_is_over(const struct client *c);    /* nothing more comes: what has ended by now is all */
int64_t paced_last_ns(const struct client *c); /* run time from which on nothing was sent */
void paced_on_opened(struct exchange *x);
void paced_on_submitted(struct client *c);
void paced_on_ended(struct exchange *x);
void paced_on_gone(struct exchange *x);
bool paced_on_spare_lost(struct exchange *x, bool refused);
void paced_cancel(struct client *c);
void paced_done(struct client *c);

#endif
