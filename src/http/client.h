/* The load: many streamed requests, one connection each, on one loop: all at once (METHOD section 4), or paced (METHOD
 * section 11).
 *
 *     client_open     limits of files and ports checked and raised, memory taken; no packet yet
 *     client_connect  connections opened ahead, in waves; `connected` comes after the silence behind the last one
 *     client_submit   all requests in one sweep of writes
 *     ... loop_run ...
 *                     each request goes to sink->request when its connection is closed; `ended` when the last one has
 *                     ended (formal_end: record.end_ns of the latest), `closed` when the last connection is gone
 *     client_read     the client's own condition
 *     client_close
 *
 * Everything runs on the loop's thread; callbacks come from the loop, never from within a call of this module, and may
 * call client_close. The steps are separate calls so that a stage machine can order them; with CONNECT_WITH_REQUEST
 * there is no client_connect.
 *
 * Arrival times are the kernel's (SO_TIMESTAMPNS through recvmsg), turned into run time with a clock pair that the loop
 * refreshes each 100 ms; each pair a second apart, and both sides of a step, go to sink->clock. A socket that asks for
 * stamps is held open from client_open on: the machine's first one gets none. Unix sockets never have any. Over a
 * network card that merges segments (GRO) a stamp is the merged segment's; on loopback, where the engine normally is,
 * nothing is merged before the stamp. A close that comes between the loop's wakeup and the read may lend its stamp to
 * the bytes before it: at most one pause, and only after a server's last byte.
 *
 * Requests carry `Connection: close`: the recordings that METHOD stands on were made so, the server then closes first
 * (its side keeps the TIME_WAIT, our ports are free for the next load), and a kept connection would only add the race
 * between a server's idle close and our write. `end` is [DONE]; the close that follows is `closed`, awaited for at most
 * `linger_ns`.
 *
 * A request is never sent twice. A connection opened ahead that the server closes before client_submit is opened again
 * and noted. The key of the API never reaches a record: where a server echoes it in an error it is replaced.
 *
 * Memory: one connection takes under 2 KiB until an event is split over reads; one receive buffer of 256 KiB is shared.
 * Nothing is allocated a chunk. 15 000 connections need 15 064 open files. */
#ifndef JTOK_HTTP_CLIENT_H
#define JTOK_HTTP_CLIENT_H

#include "base/buf.h"
#include "base/span.h"
#include "model/sink.h"
#include "http/address.h"
#include "loop/loop.h"

struct client;

struct client_request {
    uint32_t id;            /* as in struct rec_request */
    struct span body;       /* JSON; not copied: must stay until client_close */
    int64_t max_tokens;     /* as sent; ABSENT_I64: none */
    uint64_t prompt_digest; /* 0: none */
    int64_t prompt_tokens;  /* token ids that it was made of; 0: only the engine knows */
};

struct client_options {
    struct address address;
    const char *path;    /* "/v1/chat/completions" */
    const char *api_key; /* null: none; sent as Authorization: Bearer */
    enum request_stage stage;
    enum connect_kind connect;
    struct plan_limits limits;      /* connect_s, write_s, head_s, first_token_s, idle_s, total_s */
    int64_t origin_ns;              /* CLOCK_MONOTONIC at the run's begin: every recorded time is relative to it */
    const struct record_sink *sink; /* request is required, chunk and clock may be null; must outlive the client */
    bool chunks;                    /* deliver chunks to the sink: formal requests only */
    size_t event_max;               /* 16 MiB */
    int32_t load;                   /* number of the load, as in struct rec_request; -1: the source's burst */
    int64_t pause_ns;               /* of the loop, from client_submit to the end: 0.8 ms */
    int wave;                       /* handshakes pending at most: 64 */
    int64_t silence_ns;             /* after the last handshake: 0.3 s */
    int64_t linger_ns;              /* after the end of a request, for the rest of an answer and the close: 0.25 s */
    void *self;                     /* first argument of the callbacks, each of which may be null */
    void (*request)(void *self, const struct rec_request *r); /* each one, behind the sink's; from client_close, too */
    void (*connected)(void *self); /* connections that could not be opened have failed by then, with their reason */
    void (*last)(void *self, int64_t t_ns);    /* paced: nothing more is sent, from this run time on */
    void (*ended)(void *self, int64_t end_ns); /* run time of the latest end */
    void (*closed)(void *self);                /* everything has been delivered to the sink */
};

/* METHOD's values; address, path, origin, sink and callbacks are left for the caller. */
void client_defaults(struct client_options *o);

/* The requests are copied (not their bodies). ERR_SYSTEM where the limit of open files or local ports is too small (the
 * text holds the command that raises it); the soft limit of open files is raised to the hard one by itself. */
bool client_open(struct loop *l, const struct client_options *o, const struct client_request *requests, size_t count,
                 struct client **ret_client, struct err *e);

/* Starts opening all connections. Only with CONNECT_AHEAD, once. */
void client_connect(struct client *c);

/* Starts the sweep: one write a connection, in slices of 0.5 ms between which the loop reads what has come, so that
 * stamps stay exact. Returns the run time of the first submission (ABSENT_I64 where no request is left to send). */
int64_t client_submit(struct client *c);

/* ---- paced ----
 *
 *     client_open_paced  limits of files and ports checked and raised; nothing is drawn yet
 *     client_begin       the load's start is set; connections are opened, requests are sent
 *     ...                `last`, `ended` and `closed` as they come, in this order; client_read, client_close as above
 *
 * An open loop sends each request at its intended time, whatever has become of those before; what is late is sent at
 * once, none is left out, and `submit_ns - intended_ns` says how late. A connection that is not open by then is waited
 * for: the request is submitted, and stamped, when its first byte can be given. A closed loop keeps `in_flight`
 * requests in flight (submitted and not ended), never more: the next one is drawn and sent in the very event that ends
 * one, on a connection that is open already.
 *
 * Connections are opened at most `ahead_ns` before their request's intended time (a closed loop: a few in advance), at
 * most `wave` of them each 10 ms. Where one address has no local port left and the server is on loopback, connections
 * come from further loopback addresses; elsewhere such a request fails, with the command that allows more ports.
 *
 * Memory and files: as much as is in flight at most, and opened ahead; not by the load's length. A request that was
 * drawn, and whose time had not come when the load was cancelled, was never sent and leaves no record. */
struct client_pace {
    int64_t in_flight; /* closed loop; 0: an open loop */
    int64_t for_ns;    /* nothing is sent that long after the start; INT64_MAX: until no request is left */
    int64_t ahead_ns;  /* 1 s */
    void *self;
    /* The next request; its body may be written into `body`, which is empty and stays until the request is over.
     * Open loop: *ret_intended_ns is ns from the load's start, never before the one before. False: none is left. */
    bool (*next)(void *self, struct client_request *ret_request, int64_t *ret_intended_ns, struct buf *body);
};

/* As client_open; `pace` is copied. `connect` of the options is not looked at. */
bool client_open_paced(struct loop *l, const struct client_options *o, const struct client_pace *pace,
                       struct client **ret_client, struct err *e);

/* How long before its start client_begin must be called, so that connections are open by then. */
int64_t client_lead_ns(const struct client_pace *pace);

/* The load starts at `start_ns` (run time): the origin of intended times; a closed loop's first requests are sent. */
void client_begin(struct client *c, int64_t start_ns);

/* Paced, behind client_begin: nothing more is sent from now on, as if the load's time were over, and what is in
 * flight runs to its end. `last`, `ended` and `closed` follow as ever. */
void client_finish(struct client *c);

/* Ends everything still open as `cancelled`. `ended` and `closed` follow. */
void client_cancel(struct client *c);

/* Counts so far. O(1). */
struct client_progress {
    size_t total;                      /* paced: drawn so far */
    size_t sent;                       /* submitted, ever */
    size_t running, succeeded, failed; /* running: submitted and not ended */
    int64_t token_chunks;
    int64_t tokens; /* completion tokens of the requests that succeeded so far */
};
struct client_progress client_progress_read(const struct client *c);

/* The system_fingerprint that a stream carried, the first that came, at most 127 bytes, what is not printable ASCII as
 * '?'; null: none so far. Valid until client_close. */
const char *client_fingerprint(const struct client *c);

/* The client's own condition, from client_submit to the last end (or now). O(1). */
struct rec_client client_read(const struct client *c);

/* Closes what is open (as client_cancel, but no callback follows; requests not yet delivered to the sink are delivered
 * now) and frees. Null is accepted. */
void client_close(struct client *c);

#endif
