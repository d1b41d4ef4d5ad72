/* The least a client can do: one epoll_wait a batch, one recvmsg a readable stream, stamps on, the same pause as jtok;
 * nothing is parsed. Chunks are counted by their bytes.
 *
 *     bench_floor ADDRESS PORT MAP STREAMS CHUNKS [--pause US | --rate R]
 *
 * With --rate nothing is sent at all: a sleep until each of STREAMS times, so many a second, and how late each ended.
 * It is what the machine itself makes of an intended time. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include "base/clock.h"
#include "bench.h"

enum { BUFFER = 256 << 10, BATCH = 1024 };

struct stream {
    int fd, id;
    int64_t bytes; /* of the body: negative while the head comes */
    int counted;
};

static struct {
    struct bench_map *map;
    int64_t streams, chunks, offset_ns, waits, reads, open, errors_n, no_stamp;
    int64_t *errors;
    char buffer[BUFFER];
} f;

static void connect_all(struct stream *list, const struct sockaddr_in *to, int epoll_fd)
{
    int on = 1;
    for (int64_t i = 0; i < f.streams; i++) {
        list[i] = (struct stream){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
                                  .id = (int)i,
                                  .bytes = 1 - (int64_t)sizeof bench_head};
        setsockopt(list[i].fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
        if (list[i].fd < 0 || connect(list[i].fd, (const struct sockaddr *)to, sizeof *to)) {
            perror("bench_floor: connect");
            exit(1);
        }
        struct epoll_event ev = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data.ptr = &list[i]};
        epoll_ctl(epoll_fd, EPOLL_CTL_ADD, list[i].fd, &ev);
        if (i % 64 == 63)
            clock_sleep_until_ns(clock_now_ns() + 10000000);
    }
    clock_sleep_until_ns(clock_now_ns() + 300000000);
}

static void submit_all(struct stream *list)
{
    char text[512], body[256];
    for (int64_t i = 0; i < f.streams; i++) {
        int n = snprintf(body, sizeof body, "{\"model\":\"mock\",\"stream\":true,\"user\":\"%lld\"}", (long long)i);
        n = snprintf(text, sizeof text,
                     "POST /v1/chat/completions HTTP/1.1\r\nHost: mock\r\nConnection: close\r\nContent-Length: "
                     "%d\r\n\r\n%s",
                     n, body);
        if (send(list[i].fd, text, (size_t)n, MSG_NOSIGNAL) != n)
            exit(1);
    }
}

/* One read: its stamp belongs to the last whole chunk in it. */
static bool read_one(struct stream *s)
{
    char control[64] __attribute__((aligned(16)));
    struct iovec part = {f.buffer, BUFFER};
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    ssize_t n = recvmsg(s->fd, &m, MSG_DONTWAIT);
    f.reads++;
    if (n < 0 && errno == EAGAIN)
        return true;
    if (n <= 0)
        return false;
    s->bytes += n;
    int whole = s->bytes > 0 ? (int)(s->bytes / CHUNK_SIZE) : 0;
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    if (whole > s->counted && whole <= f.chunks && c) {
        struct timespec t;
        memcpy(&t, CMSG_DATA(c), sizeof t);
        int64_t at = t.tv_sec * INT64_C(1000000000) + t.tv_nsec - f.offset_ns;
        f.errors[f.errors_n++] = at - bench_times(f.map, s->id)[1 + 2 * (whole - 1)];
    }
    f.no_stamp += c == NULL;
    s->counted = whole;
    return true;
}

static int sleep_at_rate(int64_t n, double rate)
{
    int64_t *late = calloc((size_t)n, sizeof *late), start_ns = clock_now_ns() + 100000000;
    struct rusage u;
    for (int64_t i = 0; i < n; i++) {
        int64_t t_ns = start_ns + (int64_t)((double)i * 1e9 / rate);
        if (t_ns > clock_now_ns())
            clock_sleep_until_ns(t_ns);
        late[i] = clock_now_ns() - t_ns;
    }
    getrusage(RUSAGE_SELF, &u);
    qsort(late, (size_t)n, sizeof *late, compare_i64);
    printf("{\"wait_p50_us\":%.1f,\"wait_p99_us\":%.1f,\"wait_max_us\":%.1f,\"rss_kb\":%ld}\n",
           quantile_us(late, n, 0.5), quantile_us(late, n, 0.99), quantile_us(late, n, 1), u.ru_maxrss);
    free(late);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 6) {
        fprintf(stderr, "usage: bench_floor ADDRESS PORT MAP STREAMS CHUNKS [--pause US | --rate R]\n");
        return 2;
    }
    prctl(PR_SET_TIMERSLACK, 1000UL);
    raise_files();
    if (argc > 7 && strcmp(argv[6], "--rate") == 0)
        return sleep_at_rate(atoll(argv[4]), atof(argv[7]));
    int64_t pause_ns = argc > 7 ? atoll(argv[7]) * 1000 : 800000;
    f.streams = atoll(argv[4]);
    f.chunks = atoll(argv[5]);
    f.map = bench_map_open(argv[3], f.streams, f.chunks);
    f.errors = calloc((size_t)(f.streams * f.chunks), sizeof *f.errors);
    struct stream *list = calloc((size_t)f.streams, sizeof *list);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[2]))};
    inet_pton(AF_INET, argv[1], &to.sin_addr);
    int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    f.offset_ns = clock_pair_read().offset_ns;
    connect_all(list, &to, epoll_fd);
    struct rusage before, after;
    getrusage(RUSAGE_THREAD, &before);
    submit_all(list);
    f.open = f.streams;
    static struct epoll_event events[BATCH];
    for (int64_t began = 0; f.open;) {
        if (began + pause_ns > clock_now_ns())
            clock_sleep_until_ns(began + pause_ns);
        int n = epoll_wait(epoll_fd, events, BATCH, -1);
        f.waits++;
        began = n < BATCH ? clock_now_ns() : 0;
        for (int i = 0; i < n; i++) {
            struct stream *s = events[i].data.ptr;
            bool alive = read_one(s);
            if (alive && events[i].events & EPOLLRDHUP)
                alive = read_one(s);
            if (!alive) {
                close(s->fd);
                f.open--;
            }
        }
    }
    getrusage(RUSAGE_THREAD, &after);
    qsort(f.errors, (size_t)f.errors_n, sizeof *f.errors, compare_i64);
    double n = (double)(f.streams * f.chunks);
    double user = (double)(timeval_us(after.ru_utime) - timeval_us(before.ru_utime)) / n;
    double system = (double)(timeval_us(after.ru_stime) - timeval_us(before.ru_stime)) / n;
    printf(
        "{\"chunks\":%.0f,\"failed\":0,\"user_us\":%.3f,\"total_us\":%.3f,\"error_p50_us\":%.1f,\"error_p99_us\":%.1f,"
        "\"error_max_us\":%.1f,\"rss_kb\":%ld,\"reads_a_chunk\":%.3f,\"wakeups_a_chunk\":%.3f,\"no_stamp\":%lld}\n",
        n, user, user + system, quantile_us(f.errors, f.errors_n, 0.5), quantile_us(f.errors, f.errors_n, 0.99),
        quantile_us(f.errors, f.errors_n, 1), after.ru_maxrss, (double)f.reads / n, (double)f.waits / n,
        (long long)f.no_stamp);
    return 0;
}
