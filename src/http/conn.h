/* One connection and the exchange on it: it is opened, bytes are written, and what comes is read with its times.
 * Private to http: the load's exchanges (exchange.h) and the GETs (get.h) stand on it.
 *
 * It knows nothing of HTTP. The owner embeds it, is notified through `struct conn_events`, and closes it; all events
 * come from the loop or from within conn_open, conn_reopen and conn_send. During an event the owner may close it and
 * set it up anew, but must not free it.
 *
 *          conn_open             handshake done         conn_send             all written
 *     NEW ----------> CONNECTING --------------> OPEN ----------> SENDING ----------------> RECEIVING
 *      |                 |  ^                    |  |                |                          |
 *      |                 |  |    conn_reopen     |  |                |                          |
 *      |                 |  +--------------------+  |                |                          |
 *      |                 |                          |                |                          |
 *      +-----------------+-------- conn_close ------+----------------+--------------------------+----> GONE
 *
 * A gone connection stays gone; conn_init makes a new one in its place. */
#ifndef JTOK_HTTP_CONN_H
#define JTOK_HTTP_CONN_H

#include <stdbool.h>
#include <stdint.h>
#include "base/span.h"
#include "http/address.h"
#include "http/stamp.h"
#include "loop/loop.h"

enum conn_state {
    CONN_NEW,        /* no socket yet */
    CONN_CONNECTING, /* in the handshake */
    CONN_OPEN,       /* nothing sent */
    CONN_SENDING,
    CONN_RECEIVING, /* sent whole */
    CONN_GONE,
};
enum { CONN_STATES = CONN_GONE + 1, CONN_PARTS = 3 };

struct conn;

/* What one read has brought. */
struct conn_read {
    struct span bytes; /* valid during the call */
    int64_t t_ns;      /* when they came, on CLOCK_MONOTONIC; never before those of the read before */
    int64_t read_ns;   /* when the read was over */
    int64_t waited_ns; /* from the kernel's stamp to read_ns; 0 without a stamp */
    bool stamped;      /* t_ns is the kernel's; else it is read_ns */
    bool doubtful; /* the read has filled its buffer, or the peer's close was queued with it: the stamp may be a later
                      segment's */
};

/* What the owner is notified of. */
struct conn_events {
    void (*opened)(struct conn *k);
    void (*failed)(struct conn *k, int number); /* it can't be opened: errno */
    void (*spoilt)(struct conn *k);             /* while open: the peer has closed it, or has spoken unasked */
    void (*written)(struct conn *k);            /* all, at progress_ns */
    bool (*received)(struct conn *k, const struct conn_read *r); /* false: the owner has closed it */
    /* The peer has closed it in order (number 0) or it has broken (errno). */
    void (*ended)(struct conn *k, int number, int64_t now_ns);
};

/* What the connections of one owner have in common. */
struct conn_means {
    struct loop *loop;
    const struct conn_events *events;
    struct stamps *stamps; /* null: the time of reading will do */
    char *buffer;          /* for one read */
    size_t size;           /* of the buffer */
    int *source;           /* null: where a loopback address has no port left, the connection fails; else the number of
                              the loopback address that connections come from, from 0, which grows then */
};

struct conn {
    struct watch watch; /* first: the loop fetches what stands behind it */
    enum conn_state state;
    int write_error; /* errno: the peer takes no more; what it still says decides */
    const struct conn_means *means;
    const struct address *to;
    void *owner;
    int64_t progress_ns; /* of the last write that took something, or of conn_send */
    int64_t arrival_ns;  /* of the latest bytes */
    size_t written;
    struct span parts[CONN_PARTS]; /* of what is sent */
    struct timer retry;
};

/* `means` must outlive it. No socket yet. */
void conn_init(struct conn *k, const struct conn_means *means, void *owner);

/* NEW only. Starts the handshake; `to` is not copied. `opened` or `failed` may come from within. A Unix socket whose
 * backlog is full is tried again each 5 ms, until the owner closes the connection. */
void conn_open(struct conn *k, const struct address *to);

/* OPEN only: the same address anew. */
void conn_reopen(struct conn *k);

/* OPEN only: has the peer closed or broken it, or spoken unasked (408 before it closes)? One system call. */
bool conn_is_spoilt(const struct conn *k);

/* OPEN only. Writes the parts, now as far as the peer takes them; the bytes must stay until `written`, `ended` or
 * conn_close. `written`, `received` and `ended` may come from within. */
void conn_send(struct conn *k, const struct span *parts, size_t n, int64_t now_ns);

/* From any state; closed already: nothing happens. No event follows. */
void conn_close(struct conn *k);

/* Why a connection could not be opened, and what to do: a sentence with the address in it. */
void conn_explain(const struct address *to, int number, char *ret_text, size_t size);

/* The table of the moves above. Anything else is a fault of this program: conn_move ends it (must.h). */
bool conn_may_move(enum conn_state from, enum conn_state to);
void conn_move(struct conn *k, enum conn_state to);

#endif
