/* Shared by client.c (the load, its steps) and client_conn.c (one connection). Private to http. */
#ifndef JTOK_HTTP_CONN_H
#define JTOK_HTTP_CONN_H

#include <sys/epoll.h>
#include "http/client.h"
#include "http/stamp.h"
#include "loop/hist.h"
#include "http/response.h"

enum conn_state {
    CONN_NEW,        /* no socket yet */
    CONN_CONNECTING, /* and, with `wanted`, to be written as soon as it is open */
    CONN_OPEN,       /* opened ahead, nothing sent */
    CONN_SENDING,
    CONN_RECEIVING, /* sent whole */
    CONN_GONE,      /* closed, given to the sink */
};

enum {
    RECEIVE_BUFFER = 256 << 10,
    CHUNK_BATCH = 2048,
    REOPEN_MAX = 3, /* a server that keeps closing what is opened ahead */
    FULL_READS = 4, /* of one stream in one turn of the loop */
    WATCHED = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
};

struct conn {
    struct watch watch;
    struct timer timer; /* set to the earliest limit, or earlier: the true one is computed when it fires */
    struct client *client;
    struct response response;
    const struct client_request *request;
    uint8_t state, reopened;
    bool wanted;     /* the sweep has passed here */
    bool pending;    /* counted in client->handshakes */
    int write_error; /* errno: the peer takes no more; what it still says decides */
    size_t sent_bytes;
    /* CLOCK_MONOTONIC, unlike the record's times */
    int64_t opened_ns, progress_ns, head_begun_ns, over_ns, arrival_ns;
};

struct client {
    struct loop *loop;
    struct client_options o;
    struct client_request *requests;
    struct conn *conns;
    size_t count;
    struct stamps stamps;
    struct buf head; /* of every request, up to the value of Content-Length */
    char *buffer;
    struct response_out out;
    struct event_shapes shapes;
    /* Opening */
    size_t next_connect, handshakes, opened_or_failed;
    bool connecting;
    struct timer wave_timer;
    /* Submission */
    size_t next_submit;
    bool submitting, cancelled;
    int64_t first_submit_ns, last_submit_ns;
    struct timer sweep_timer;
    /* Ends */
    size_t ended, gone;
    int64_t last_end_ns;
    bool tell_ended, tell_closed;
    struct timer tell_timer, clock_timer;
    /* What was seen */
    struct client_progress progress;
    struct rec_client seen;
    char fingerprint[128]; /* the first that came */
    int64_t cpu_start_ns, wall_start_ns, connect_start_ns, connect_end_ns;
    bool frozen;
    struct hist handled;
    size_t batch_count;
    struct rec_chunk batch[CHUNK_BATCH];
};

static inline int64_t run_time(const struct client *c, int64_t monotonic_ns)
{
    return monotonic_ns - c->o.origin_ns;
}

/* ---- client_conn.c ---- */

void conn_init(struct conn *k, struct client *c, const struct client_request *r);
void conn_open(struct conn *k);   /* starts the handshake */
void conn_submit(struct conn *k); /* writes the request, now or when the connection is open */
void conn_cancel(struct conn *k);
void conn_done(struct conn *k); /* without a word to anyone */

/* ---- client.c ---- */

void client_on_opened(struct conn *k); /* a handshake has ended, either way */
void client_on_ended(struct conn *k);  /* the verdict stands */
void client_on_gone(struct conn *k);   /* its record is complete */

#endif
