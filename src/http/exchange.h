/* One request of the load and its answer: what METHOD section 4 limits in time, and how the client is notified of each
 * end. Private to http.
 *
 * The verdict comes from the bytes (response.h) or from here, where no byte says it: a limit that passed, a connection
 * that could not be opened, a load that was cancelled. Each exchange notifies its client once that it has ended (the
 * verdict stands) and once, then or later, that it is gone (the connection is closed, the record is complete). */
#ifndef JTOK_HTTP_EXCHANGE_H
#define JTOK_HTTP_EXCHANGE_H

#include "http/client.h"
#include "http/conn.h"
#include "http/response.h"

/* What the exchanges of one client have in common; must outlive them. */
struct exchange_terms {
    struct client *client;
    const struct client_options *options;
    struct conn_means means;
    struct span head; /* of every request, up to the value of Content-Length */
    struct response_out out;
    bool paced; /* a request is submitted, and stamped, when its first byte can be given, not before */
};

struct exchange {
    struct conn conn;   /* first: the loop fetches what stands behind its watch */
    struct timer timer; /* set to the earliest limit, or earlier: the true one is computed when it fires */
    const struct exchange_terms *terms;
    const struct client_request *request; /* null: a spare, whose connection waits for one */
    struct response response;
    char length[28]; /* of the body, and the end of the request's head */
    uint8_t reopened;
    bool wanted;  /* submitted: to be sent as soon as the connection is open */
    bool pending; /* the client counts its handshake */
    /* CLOCK_MONOTONIC, unlike the record's times */
    int64_t opened_ns, head_begun_ns, over_ns;
};

extern const struct conn_events exchange_events; /* for exchange_terms.means */

/* `r` may be null: it is bound later, before exchange_submit. */
void exchange_init(struct exchange *x, const struct exchange_terms *t, const struct client_request *r);
void exchange_bind(struct exchange *x, const struct client_request *r, int64_t intended_ns);
void exchange_open(struct exchange *x);   /* starts the handshake; once */
void exchange_submit(struct exchange *x); /* sends the request, now or when the connection is open */
void exchange_cancel(struct exchange *x);
void exchange_done(struct exchange *x); /* without a word to anyone */

/* ---- what the client is notified of (client.c) ---- */

void client_on_opened(struct exchange *x); /* its handshake has ended, either way */

/* A spare is of no use any more: `refused`, as it could not be opened. True: a request has been bound to it, which
 * fails with it; false: the spare is done with. */
bool client_on_spare_lost(struct exchange *x, bool refused);
void client_on_submitted(struct exchange *x, int64_t now_ns);
void client_on_read(struct exchange *x, const struct conn_read *r);
void client_on_ended(struct exchange *x); /* the verdict stands */
void client_on_gone(struct exchange *x);  /* its record is complete */

#endif
