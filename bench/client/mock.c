/* Mock server of the benchmark: streams chat completions at a fixed rhythm, with the send time inside each chunk.
 *
 *     bench_mock ADDRESS PORT MAP STREAMS CHUNKS INTERVAL_US [--stall] [--fail N]
 *
 * One thread. Each request gets its first chunk 100 ms later plus its place in the interval, so that sends are spread
 * evenly. Prints "ready" when it listens. --stall: two seconds after the first request it stands still for two seconds.
 * --fail N: each N-th answer fails, in one of five ways in turn. An answer has CHUNKS chunks, or as many as its request
 * wants at most. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include "base/clock.h"
#include "bench.h"

/* How an answer fails. */
enum fault {
    FAULT_NONE,
    FAULT_STATUS, /* status 500 */
    FAULT_EMPTY,  /* an orderly answer without a chunk */
    FAULT_ERROR,  /* half of the chunks, an event with an error, and an orderly end */
    FAULT_SHORT,  /* half of the chunks and an orderly end of HTTP: no reason to finish, no usage, no [DONE] */
    FAULT_CUT,    /* half of the chunks, and the connection is closed in the middle of the body */
    FAULTS
};

struct peer {
    int fd;
    int64_t due_ns, stream;
    int next, chunks; /* of so many */
    enum fault fault;
    bool stays; /* the connection, when the answer is over */
    char request[2048];
    size_t have;
};

static struct {
    struct bench_map *map;
    int64_t streams, interval_ns;
    int chunks, epoll_fd, listen_fd;
    int64_t arrived, short_sends, fail_each, first_ns;
    bool stalls;
    struct peer **heap;
    size_t heap_n;
} mock;

static void heap_swap(size_t a, size_t b)
{
    struct peer *p = mock.heap[a];
    mock.heap[a] = mock.heap[b];
    mock.heap[b] = p;
}

static void heap_down(size_t at)
{
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= mock.heap_n)
            return;
        if (child + 1 < mock.heap_n && mock.heap[child + 1]->due_ns < mock.heap[child]->due_ns)
            child++;
        if (mock.heap[at]->due_ns <= mock.heap[child]->due_ns)
            return;
        heap_swap(at, child);
        at = child;
    }
}

static void heap_add(struct peer *p)
{
    size_t at = mock.heap_n++;
    mock.heap[at] = p;
    while (at && mock.heap[(at - 1) / 2]->due_ns > mock.heap[at]->due_ns) {
        heap_swap(at, (at - 1) / 2);
        at = (at - 1) / 2;
    }
}

static void send_text(int fd, const char *p, size_t n)
{
    if (send(fd, p, n, MSG_NOSIGNAL) != (ssize_t)n && mock.short_sends++ == 0)
        fprintf(stderr, "bench_mock: a client did not take all: %s\n", strerror(errno));
}

/* A client that does not read does not acknowledge either, for up to 40 ms; behind ten segments in flight the kernel
 * then holds on to what is sent, and it arrives later for a true reason. */
static bool held_back(int fd)
{
    int unsent = 0;
    return ioctl(fd, SIOCOUTQNSD, &unsent) == 0 && unsent > 0;
}

/* Framing and all, CHUNK_SIZE bytes. */
static void send_chunk(struct peer *p)
{
    static const char padding[] = "................................................................................";
    char text[CHUNK_SIZE * 2];
    int64_t now = clock_now_ns();
    int n = snprintf(
        text, sizeof text,
        "111\r\ndata: {\"id\":\"chatcmpl-%016llx\",\"object\":\"chat.completion.chunk\",\"created\":1795991756,"
        "\"model\":\"mock\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" %018lld\"},\"logprobs\":null,"
        "\"finish_reason\":%s,\"token_ids\":null}],\"system_fingerprint\":\"mock",
        (unsigned long long)p->stream, (long long)now, p->next + 1 == p->chunks ? "\"length\"" : "null");
    enum { BACK = 6 }; /* quote and brace, the event's two line ends, the chunk's own */
    n += snprintf(text + n, sizeof text - (size_t)n, "%.*s\"}\n\n\r\n", CHUNK_SIZE - n - BACK, padding);
    int64_t *times = p->stream < mock.streams ? bench_times(mock.map, p->stream) + 1 : NULL;
    if (times)
        times[2 * p->next] = now;
    send_text(p->fd, text, (size_t)n);
    if (times)
        times[2 * p->next + 1] = held_back(p->fd) ? -clock_now_ns() : clock_now_ns();
    p->next++;
}

static void drop(struct peer *p)
{
    close(p->fd);
    free(p);
}

/* The events behind the last chunk, and the end of the body. */
static void send_last_events(const struct peer *p)
{
    static const char error[] = "data: {\"error\":{\"message\":\"Engine is dead.\",\"type\":\"InternalServerError\","
                                "\"code\":500}}\n\ndata: [DONE]\n\n";
    static const char done[] = "data: [DONE]\n\n";
    char usage[300], text[600];
    snprintf(
        usage, sizeof usage,
        "data: "
        "{\"id\":\"chatcmpl-bde5a4f45da82c7e\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"mock\","
        "\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"total_tokens\":%d,\"completion_tokens\":%d}}\n\ndata: "
        "[DONE]\n\n",
        7 + p->chunks, p->chunks);
    const char *events[FAULTS] = {usage, "", done, error, "", ""};
    const char *last = events[p->fault];
    int n = *last ? snprintf(text, sizeof text, "%zx\r\n%s\r\n0\r\n\r\n", strlen(last), last)
                  : snprintf(text, sizeof text, "0\r\n\r\n");
    send_text(p->fd, text, (size_t)n);
}

/* The connection is closed, or waits for the next request. */
static void send_end(struct peer *p)
{
    if (p->fault != FAULT_CUT)
        send_last_events(p);
    if (!p->stays || p->fault != FAULT_NONE) {
        drop(p);
        return;
    }
    p->have = 0;
    p->next = 0;
    struct epoll_event ev = {.events = EPOLLIN, .data.ptr = p};
    epoll_ctl(mock.epoll_fd, EPOLL_CTL_ADD, p->fd, &ev);
}

static void run_due(int64_t now)
{
    while (mock.heap_n && mock.heap[0]->due_ns <= now) {
        struct peer *p = mock.heap[0];
        if (p->next < p->chunks) {
            send_chunk(p);
            p->due_ns += mock.interval_ns;
            heap_down(0);
        } else {
            mock.heap[0] = mock.heap[--mock.heap_n];
            heap_down(0);
            send_end(p);
        }
    }
}

/* Of the answer to the request that has just come. */
static enum fault fault_next(void)
{
    int64_t each = mock.fail_each, i = mock.arrived;
    return each && i % each == each - 1 ? (enum fault)(1 + i / each % (FAULTS - 1)) : FAULT_NONE;
}

static void send_refusal(struct peer *p)
{
    static const char refusal[] = "HTTP/1.1 500 Internal Server Error\r\ncontent-type: application/json\r\n"
                                  "content-length: 38\r\nconnection: close\r\n\r\n"
                                  "{\"error\":{\"message\":\"Out of memory\"}}";
    send_text(p->fd, refusal, sizeof refusal - 1);
    drop(p);
}

static void send_head(struct peer *p)
{
    static const char stays[] = "HTTP/1.1 200 OK\r\nserver: mock\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
                                "transfer-encoding: chunked\r\n\r\n";
    p->stays = strcasestr(p->request, "connection: close") == NULL;
    if (p->stays)
        send_text(p->fd, stays, sizeof stays - 1);
    else
        send_text(p->fd, bench_head, sizeof bench_head - 1);
}

/* "max_tokens" or "max_completion_tokens". */
static int wanted(const char *request)
{
    const char *key = strstr(request, "_tokens\":");
    int n = key ? atoi(key + 9) : 0;
    return n > 0 && n < mock.chunks ? n : mock.chunks;
}

static void begin(struct peer *p)
{
    const char *user = strstr(p->request, "\"user\":\"");
    p->stream = user ? atoll(user + 8) : mock.arrived;
    int64_t now = clock_now_ns();
    mock.first_ns = mock.first_ns ? mock.first_ns : now;
    if (p->stream < mock.streams)
        bench_times(mock.map, p->stream)[0] = now;
    epoll_ctl(mock.epoll_fd, EPOLL_CTL_DEL, p->fd, NULL);
    p->fault = fault_next();
    p->chunks = wanted(p->request);
    p->chunks = p->fault == FAULT_NONE ? p->chunks : p->fault == FAULT_EMPTY ? 0 : p->chunks / 2;
    p->due_ns = now + TTFT_MS * INT64_C(1000000) + mock.interval_ns * (mock.arrived % mock.streams) / mock.streams;
    mock.arrived++;
    if (p->fault == FAULT_STATUS) {
        send_refusal(p);
        return;
    }
    send_head(p);
    heap_add(p);
    if ((int64_t)mock.heap_n > mock.map->most)
        mock.map->most = (int64_t)mock.heap_n;
}

/* Anything but a POST: what tools ask before they start. */
static void answer_get(struct peer *p)
{
    static const char answer[] =
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 75\r\nconnection: close\r\n\r\n"
        "{\"object\":\"list\",\"data\":[{\"id\":\"mock\",\"object\":\"model\",\"owned_by\":\"mock\"}]}\n";
    send_text(p->fd, answer, sizeof answer - 1);
    drop(p);
}

static void on_peer(struct peer *p)
{
    ssize_t n = recv(p->fd, p->request + p->have, sizeof p->request - 1 - p->have, 0);
    if (n <= 0) {
        drop(p);
        return;
    }
    p->have += (size_t)n;
    p->request[p->have] = 0;
    const char *end = strstr(p->request, "\r\n\r\n"), *length = strcasestr(p->request, "content-length:");
    size_t body = length && length < end ? strtoul(length + 15, NULL, 10) : 0;
    if (!end || p->have < (size_t)(end + 4 - p->request) + body)
        return;
    if (strncmp(p->request, "POST ", 5) == 0)
        begin(p);
    else
        answer_get(p);
}

static void on_listen(void)
{
    int fd, on = 1;
    while ((fd = accept4(mock.listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        struct peer *p = calloc(1, sizeof *p);
        if (!p)
            exit(1);
        p->fd = fd;
        struct epoll_event ev = {.events = EPOLLIN, .data.ptr = p};
        epoll_ctl(mock.epoll_fd, EPOLL_CTL_ADD, fd, &ev);
    }
}

static void listen_at(const char *address, int port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int on = 1;
    mock.listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    setsockopt(mock.listen_fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (inet_pton(AF_INET, address, &a.sin_addr) != 1 || bind(mock.listen_fd, (struct sockaddr *)&a, sizeof a) ||
        listen(mock.listen_fd, 4096)) {
        perror("mock: listen");
        exit(1);
    }
    struct epoll_event ev = {.events = EPOLLIN};
    epoll_ctl(mock.epoll_fd, EPOLL_CTL_ADD, mock.listen_fd, &ev);
}

static void stall(void)
{
    static const int64_t stall_ns = 2 * INT64_C(1000000000);
    int64_t now = clock_now_ns();
    if (!mock.stalls || !mock.first_ns || now < mock.first_ns + stall_ns)
        return;
    mock.stalls = false;
    mock.map->stall[0] = now;
    clock_sleep_until_ns(now + stall_ns);
    mock.map->stall[1] = clock_now_ns();
}

int main(int argc, char **argv)
{
    if (argc < 7) {
        fprintf(stderr, "usage: bench_mock ADDRESS PORT MAP STREAMS CHUNKS INTERVAL_US [--stall] [--fail N]\n");
        return 2;
    }
    for (int i = 7; i < argc; i++) {
        if (strcmp(argv[i], "--stall") == 0)
            mock.stalls = true;
        else if (strcmp(argv[i], "--fail") == 0 && i + 1 < argc)
            mock.fail_each = atoll(argv[++i]);
    }
    prctl(PR_SET_PDEATHSIG, 15);
    prctl(PR_SET_TIMERSLACK, 1000UL);
    raise_files();
    mock.streams = atoll(argv[4]);
    mock.chunks = atoi(argv[5]);
    mock.interval_ns = atoll(argv[6]) * 1000;
    mock.map = bench_map_open(argv[3], mock.streams, mock.chunks);
    mock.heap = calloc(65536, sizeof *mock.heap);
    mock.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    listen_at(argv[1], atoi(argv[2]));
    printf("ready\n");
    fflush(stdout);
    for (;;) {
        struct epoll_event events[256];
        int64_t now = clock_now_ns(), left = mock.heap_n ? mock.heap[0]->due_ns - now : 1000000000;
        if (left < 0)
            left = 0;
        /* below a millisecond epoll's wait is too coarse */
        if (left > 0 && left < 1500000)
            clock_sleep_until_ns(now + left);
        int n = epoll_wait(mock.epoll_fd, events, 256, left >= 1500000 ? (int)(left / 1000000 - 1) : 0);
        for (int i = 0; i < n; i++) {
            if (events[i].data.ptr)
                on_peer(events[i].data.ptr);
            else
                on_listen();
        }
        run_due(clock_now_ns());
        stall();
    }
}
