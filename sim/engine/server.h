/* The server: sockets, connections, the clock that drives batch.h, and the delivery of what it generates. One thread,
 * plain epoll, one timer. Internal to the engine: server.c holds the loop, peer.c a connection's bytes and requests,
 * deliver.c the way from generated tokens to chunks. */
#ifndef JTOK_SIM_ENGINE_SERVER_H
#define JTOK_SIM_ENGINE_SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include "batch.h"
#include "base/buf.h"
#include "base/span.h"
#include "flavour.h"
#include "front.h"
#include "gpu.h"
#include "metrics.h"
#include "options.h"
#include "seen.h"
#include "start.h"
#include "tree.h"
#include "wire.h"

struct peer {
    int fd;
    bool dead;        /* closed; the struct lives until the loop's turn is over */
    bool wants_write; /* EPOLLOUT is asked for */
    bool close_when_sent;
    struct buf in, out;
    char address[64];
    struct peer *next; /* of the dead, or of those whose answer is due later */

    /* The request in progress. */
    bool busy;
    bool close;      /* asked for by the client */
    uint64_t serial; /* of the request, never used again */
    int64_t number;  /* of the POST, for faults */
    int32_t job;     /* in the batch; -1: none (any more) */
    struct answer answer;
    int64_t cached_tokens;
    int64_t generated, delivered;
    int64_t arrived_ns, admitted_ns; /* admitted 0: it waits */
    int64_t first_ns, last_ns;       /* ends of the steps that gave its first and its latest token */
    int64_t steps;                   /* that gave it tokens */
    int64_t chunks;                  /* token chunks delivered */
    bool merges;                     /* see front in deliver.c */
    int64_t due_ns;                  /* of a delayed answer */
    struct buf delayed;
};

/* Descriptors that the loop waits on, beside the connections'. */
struct sockets {
    int epoll, listener, timer, signals;
};

/* What /metrics and the log tell. */
struct telling {
    struct metrics live, shown, logged;
    bool dirty;        /* `live` has changed since `shown` was taken */
    int64_t shown_ns;  /* when `shown` may be taken again */
    int64_t logged_ns; /* when the log last told the throughput */
};

struct server {
    const struct options *options;
    struct tree tree;
    struct gpus gpus;
    struct start start;
    struct batch batch;
    struct sockets sockets;
    struct front front;
    struct telling telling;
    struct seen seen;    /* prompts */
    bool serves, ready;  /* listens; has started */
    struct peer **peers; /* by descriptor */
    int peer_capacity;
    struct peer *dead, *delayed;

    bool stepping;
    int64_t step_ends_ns;

    int64_t owed;  /* requests taken and not yet answered whole */
    int64_t posts; /* generation requests so far */
    uint64_t serials;

    int64_t own_ns;  /* when a front end warms itself up behind the others; INT64_MAX: never */
    int64_t stop_ns; /* when a stop in progress is over; INT64_MAX: none */
    bool over;
    int status;
    struct buf scratch, event;
};

/* Runs the engine until it stops; its exit status. argv is used for the children's titles. */
int server_run(const struct options *o, int argc, char **argv);

/* Stops: the listener closes, streams are cut, and after stop_s the processes end. */
void server_stop(struct server *s, int64_t delay_ns, int status);

/* peer.c */
void peer_open(struct server *s, int fd, const char *address);
void peer_input(struct server *s, struct peer *c);
void peer_output(struct server *s, struct peer *c);
void peer_close(struct server *s, struct peer *c, bool reset); /* aborts its request; takes a dead one too */
void peer_send(struct server *s, struct peer *c, struct span bytes);
void peer_request_over(struct server *s, struct peer *c); /* after the last byte was given to peer_send */
void peer_next(struct server *s, struct peer *c);         /* goes on with what the client has sent meanwhile */
void peer_log(struct server *s, struct peer *c, const char *method, const char *path, int status);
int64_t peer_delayed_ns(const struct server *s); /* the earliest delayed answer's time */
void peer_delayed_go(struct server *s, int64_t now_ns);
void peer_sweep(struct server *s); /* frees the dead */

/* deliver.c */
void deliver_start(struct server *s, struct peer *c); /* a valid request: into the batch */
void deliver_got(void *server, int32_t job);          /* for batch_end */
void deliver_front(struct server *s, int64_t now_ns); /* the lagging front end's turn */
int64_t deliver_front_ns(const struct server *s);     /* when it is due */
void deliver_failed(struct server *s);                /* the core has died: an error to every stream */
struct metrics deliver_metrics(const struct server *s);

#endif
