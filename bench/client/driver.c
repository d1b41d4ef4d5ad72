/* jtok's client against the mock, or soaking any server.
 *
 *     bench_jtok ADDRESS PORT MAP STREAMS CHUNKS [--pause US] [--stall] [--with-request] [--soak SECONDS]
 *                [--rate R [--poisson] | --concurrency C] [--vary]
 *
 * Prints one JSON object. --stall lets the loop stand still for 20 ms each 60 ms. --soak repeats the load for that long
 * in one process, prints a line a round and holds the last tenth of the rounds against the first; with "-" for MAP the
 * server is another one (the simulated engine), which notes no send times. --rate and --concurrency send the STREAMS
 * requests at so many a second, evenly or with --poisson at random, or with so many in flight, instead of all at once:
 * `wait` is then how late a request was sent after its intended time, or after the end that made room for it; `most`
 * how many the server ever answered at once. Of a server that stood still, `hit` are the requests whose first chunk was
 * held up by it, and `shown` those of them whose TTFT, from the intended time, holds the whole of it. --vary: answers
 * have between half of CHUNKS and CHUNKS chunks. */
#include <dirent.h>
#include <math.h>
#include <stdbool.h>
#include "base/arena.h"
#include "base/clock.h"
#include "bench.h"
#include "http/client.h"

struct arrival {
    int64_t t_ns;
    uint32_t request, stamp;
};

/* What the client said of a request; all in nanoseconds of the run, whose begin is the clock's. */
struct seen {
    int64_t begin_ns, submit_ns, first_ns; /* begin: the intended time where there is one */
};

struct driver {
    struct loop *loop;
    struct client *client;
    struct bench_map *map;
    struct client_options o;
    struct record_sink sink;
    struct client_request *requests;
    char (*bodies)[256];
    int64_t streams, chunks, stall_ns;
    int *seen;
    int64_t *last;            /* arrival of each stream's last token chunk, where there is no map */
    struct arrival *arrivals; /* in their order; judged when all is over: the server may write its side down later */
    int64_t arrivals_n;
    int64_t *errors, errors_n, *ttft, ttft_n; /* without a map: gaps between token chunks, and TTFT itself */
    int64_t wrong_unmarked, wrong_marked, exact, exact_marked, no_stamp, held_back;
    int64_t failed, ended_ns, user_us, system_us;
    char first_failure[300];
    struct seen *requests_seen; /* by id */
    double rate, next_s;        /* of an open loop: the intended time of the next one */
    bool poisson, vary;
    uint64_t seed;
    int64_t concurrency, drawn, ended_n, waits_n;
    int64_t *waits, *ends, *submits, *ttft_off, ttft_off_n; /* of each request; the first three: paced */
    struct timer timer;
    struct rec_client condition;
};

static void note_gaps(struct driver *d, const struct rec_chunk *c, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!chunk_has_tokens(&c[i]))
            continue;
        int64_t *last = &d->last[c[i].request];
        if (*last && d->errors_n < d->streams * d->chunks)
            d->errors[d->errors_n++] = c[i].t_ns - *last;
        *last = c[i].t_ns;
    }
}

static void on_chunks(void *self, const struct rec_chunk *c, size_t n)
{
    struct driver *d = self;
    if (!d->map) {
        note_gaps(d, c, n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        if (chunk_has_tokens(&c[i]) && d->arrivals_n < d->streams * d->chunks)
            d->arrivals[d->arrivals_n++] = (struct arrival){c[i].t_ns, c[i].request, c[i].stamp};
}

/* Wrong: later than the end of the call that sent the chunk (loopback stamps within it), with 30 us for the clock pair.
 */
static void judge(struct driver *d, const struct arrival *a, const int64_t sent[2], bool first)
{
    int64_t t = a->t_ns, late = t - sent[0];
    uint32_t stamp = a->stamp;
    if (sent[1] < 0) {
        d->held_back++;
        return;
    }
    bool wrong = t > sent[1] + 30000;
    d->no_stamp += stamp == STAMP_READ;
    d->wrong_marked += wrong && stamp == STAMP_SHARED;
    d->wrong_unmarked += wrong && stamp == STAMP_KERNEL;
    d->exact += !wrong;
    d->exact_marked += !wrong && stamp == STAMP_SHARED;
    if (stamp != STAMP_SHARED)
        d->errors[d->errors_n++] = late;
    if (first)
        d->ttft[d->ttft_n++] = late;
}

static void judge_all(struct driver *d)
{
    for (int64_t i = 0; i < d->arrivals_n; i++) {
        const struct arrival *a = &d->arrivals[i];
        int *seen = &d->seen[a->request];
        if (*seen < d->chunks)
            judge(d, a, bench_times(d->map, a->request) + 1 + 2 * *seen, *seen == 0);
        ++*seen;
    }
}

static void on_request(void *self, const struct rec_request *r)
{
    struct driver *d = self;
    if (d->waits) {
        d->waits[d->ended_n] = r->submit_ns - r->intended_ns;
        d->submits[d->ended_n] = r->submit_ns;
        d->ends[d->ended_n++] = r->end_ns;
    }
    int64_t begin_ns = r->intended_ns == ABSENT_I64 ? r->submit_ns : r->intended_ns;
    d->requests_seen[r->id] = (struct seen){begin_ns, r->submit_ns, r->first_ns};
    if (!d->map && r->verdict == VERDICT_OK)
        d->ttft[d->ttft_n++] = r->first_ns - r->submit_ns;
    if (r->verdict != VERDICT_OK && !d->failed++)
        snprintf(d->first_failure, sizeof d->first_failure, "%s", r->detail);
}

static int64_t usage(int64_t *ret_system)
{
    struct rusage u;
    getrusage(RUSAGE_THREAD, &u);
    *ret_system = timeval_us(u.ru_stime);
    return timeval_us(u.ru_utime);
}

static void on_connected(void *self)
{
    struct driver *d = self;
    int64_t s, u = usage(&s);
    d->user_us = -u;
    d->system_us = -s;
    client_submit(d->client);
}

static void on_ended(void *self, int64_t end_ns)
{
    struct driver *d = self;
    int64_t s, u = usage(&s);
    d->user_us += u;
    d->system_us += s;
    d->ended_ns = end_ns;
    d->condition = client_read(d->client);
}

static void on_closed(void *self)
{
    struct driver *d = self;
    loop_stop(d->loop);
}

static void on_stall(struct timer *t)
{
    struct driver *d = t->owner;
    clock_sleep_until_ns(clock_now_ns() + d->stall_ns);
    loop_timer_set(d->loop, t, clock_now_ns() + 60000000);
}

static void fatal(const struct err *e)
{
    fprintf(stderr, "bench_jtok: %s\n", e->text);
    exit(1);
}

/* Over 0, up to 1. */
static double uniform(struct driver *d)
{
    d->seed = d->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return ((double)(d->seed >> 11) + 1) / 9007199254740992.0;
}

static bool draw(void *self, struct client_request *ret_request, int64_t *ret_intended_ns, struct buf *body)
{
    (void)body;
    struct driver *d = self;
    if (d->drawn == d->streams)
        return false;
    *ret_request = d->requests[d->drawn];
    *ret_intended_ns = (int64_t)(d->next_s * 1e9);
    if (d->rate > 0)
        d->next_s += (d->poisson ? -log(uniform(d)) : 1) / d->rate;
    d->drawn++;
    return true;
}

/* Of a closed loop: from the k-th end to the submission that took its place. */
static void find_waits(struct driver *d)
{
    int64_t n = d->ended_n;
    if (d->concurrency) {
        qsort(d->ends, (size_t)n, sizeof *d->ends, compare_i64);
        qsort(d->submits, (size_t)n, sizeof *d->submits, compare_i64);
        for (int64_t i = d->concurrency; i < n; i++)
            d->waits[i - d->concurrency] = d->submits[i] - d->ends[i - d->concurrency];
        n -= d->concurrency;
    }
    d->waits_n = n > 0 ? n : 0;
    qsort(d->waits, (size_t)d->waits_n, sizeof *d->waits, compare_i64);
}

/* The client's TTFT less the server's, which begins as the request is there and ends as the first chunk is sent. */
static void find_ttft_off(struct driver *d)
{
    d->ttft_off_n = 0;
    for (int64_t i = 0; d->map && i < d->streams; i++) {
        const struct seen *r = &d->requests_seen[i];
        const int64_t *t = bench_times(d->map, i);
        if (t[0] && t[1] && r->first_ns > 0)
            d->ttft_off[d->ttft_off_n++] = (r->first_ns - r->submit_ns) - (t[1] - t[0]);
    }
    qsort(d->ttft_off, (size_t)d->ttft_off_n, sizeof *d->ttft_off, compare_i64);
}

/* A request that began before the stall's end and had no first chunk as it began was held up by what was left of it. */
static void print_stall(const struct driver *d)
{
    int64_t hit = 0, shown = 0, from = d->map->stall[0], to = d->map->stall[1];
    for (int64_t i = 0; i < d->streams; i++) {
        const struct seen *r = &d->requests_seen[i];
        if (r->begin_ns >= to || r->begin_ns == 0 || (r->first_ns > 0 && r->first_ns <= from))
            continue;
        hit++;
        shown += r->first_ns >= to;
    }
    printf(",\"hit\":%lld,\"shown\":%lld", (long long)hit, (long long)shown);
}

static void print_paced(struct driver *d)
{
    printf(",\"wait_n\":%lld,\"wait_p50_us\":%.1f,\"wait_p99_us\":%.1f,\"wait_max_us\":%.1f,\"most\":%lld",
           (long long)d->waits_n, quantile_us(d->waits, d->waits_n, 0.5), quantile_us(d->waits, d->waits_n, 0.99),
           quantile_us(d->waits, d->waits_n, 1), (long long)d->map->most);
    if (d->map->stall[1])
        print_stall(d);
}

static void run_paced(struct driver *d)
{
    struct err e;
    size_t n = (size_t)d->streams;
    struct client_pace pace = {
        .in_flight = d->concurrency, .for_ns = INT64_MAX, .ahead_ns = SECOND_NS, .self = d, .next = draw};
    d->waits = mem_zero(n, sizeof *d->waits);
    d->ends = mem_zero(n, sizeof *d->ends);
    d->submits = mem_zero(n, sizeof *d->submits);
    if (!client_open_paced(d->loop, &d->o, &pace, &d->client, &e))
        fatal(&e);
    int64_t s, u = usage(&s);
    d->user_us = -u;
    d->system_us = -s;
    client_begin(d->client, clock_now_ns() + client_lead_ns(&pace));
    loop_run(d->loop, INT64_MAX);
    client_close(d->client);
    judge_all(d);
    qsort(d->errors, (size_t)d->errors_n, sizeof *d->errors, compare_i64);
    qsort(d->ttft, (size_t)d->ttft_n, sizeof *d->ttft, compare_i64);
    find_waits(d);
}

static void run_load(struct driver *d)
{
    struct err e;
    d->errors_n = d->ttft_n = d->failed = d->exact = d->exact_marked = d->wrong_marked = d->wrong_unmarked =
        d->no_stamp = d->held_back = d->arrivals_n = 0;
    memset(d->seen, 0, sizeof *d->seen * (size_t)d->streams);
    memset(d->last, 0, sizeof *d->last * (size_t)d->streams);
    if (!client_open(d->loop, &d->o, d->requests, (size_t)d->streams, &d->client, &e))
        fatal(&e);
    if (d->o.connect == CONNECT_AHEAD)
        client_connect(d->client);
    else
        on_connected(d);
    if (d->stall_ns) {
        d->timer = (struct timer){.fire = on_stall, .owner = d};
        loop_timer_set(d->loop, &d->timer, clock_now_ns() + 60000000);
    }
    loop_run(d->loop, INT64_MAX);
    loop_timer_stop(d->loop, &d->timer);
    client_close(d->client);
    judge_all(d);
    qsort(d->errors, (size_t)d->errors_n, sizeof *d->errors, compare_i64);
    qsort(d->ttft, (size_t)d->ttft_n, sizeof *d->ttft, compare_i64);
}

static int open_files(void)
{
    int n = -3; /* ".", ".." and the folder itself */
    DIR *folder = opendir("/proc/self/fd");
    while (folder && readdir(folder))
        n++;
    if (folder)
        closedir(folder);
    return n;
}

static long resident_kb(void)
{
    long pages = 0, ignored;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%ld %ld", &ignored, &pages) != 2)
        pages = 0;
    if (f)
        fclose(f);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static int64_t first_begin(const struct driver *d)
{
    int64_t first = INT64_MAX;
    for (int64_t i = 0; i < d->streams; i++) {
        int64_t t = d->requests_seen[i].begin_ns;
        first = t > 0 && t < first ? t : first;
    }
    return first;
}

static void print_result(struct driver *d)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    find_ttft_off(d);
    double n = (double)(d->map && d->arrivals_n ? d->arrivals_n : d->streams * d->chunks);
    const struct rec_client *c = &d->condition;
    printf(
        "{\"chunks\":%.0f,\"failed\":%lld,\"user_us\":%.3f,\"total_us\":%.3f,\"error_p50_us\":%.1f,\"error_p99_us\":%."
        "1f,"
        "\"error_max_us\":%.1f,\"ttft_error_p50_us\":%.1f,\"ttft_error_p99_us\":%.1f,\"rss_kb\":%ld,\"reads_a_chunk\":%"
        ".3f,"
        "\"wakeups_a_chunk\":%.3f,\"exact\":%lld,\"exact_marked\":%lld,\"wrong_marked\":%lld,\"wrong_unmarked\":%lld,"
        "\"no_stamp\":%lld,\"held_back\":%lld,\"spread_ms\":%.1f,\"lag_p99_us\":%.1f,\"handle_p99_us\":%.1f,"
        "\"ttft_off_p50_us\":%.1f,\"ttft_off_p99_us\":%.1f,\"span_s\":%.3f",
        n, (long long)d->failed, (double)d->user_us / n, (double)(d->user_us + d->system_us) / n,
        quantile_us(d->errors, d->errors_n, 0.5), quantile_us(d->errors, d->errors_n, 0.99),
        quantile_us(d->errors, d->errors_n, 1), quantile_us(d->ttft, d->ttft_n, 0.5),
        quantile_us(d->ttft, d->ttft_n, 0.99), u.ru_maxrss, (double)c->reads / n, (double)c->wakeups / n,
        (long long)d->exact, (long long)d->exact_marked, (long long)d->wrong_marked, (long long)d->wrong_unmarked,
        (long long)d->no_stamp, (long long)d->held_back, (double)c->submit_window_ns * 1e-6,
        (double)c->lag_p99_ns * 1e-3, (double)c->handle_p99_ns * 1e-3, quantile_us(d->ttft_off, d->ttft_off_n, 0.5),
        quantile_us(d->ttft_off, d->ttft_off_n, 0.99), (double)(d->ended_ns - first_begin(d)) * 1e-9);
    if (d->waits && d->map)
        print_paced(d);
    puts("}");
    if (d->failed)
        fprintf(stderr, "bench_jtok: %lld failed, the first: %s\n", (long long)d->failed, d->first_failure);
}

enum { SOAK_GAP, SOAK_TTFT, SOAK_HANDLE, SOAK_USER, SOAK_TOTAL, SOAK_FIGURES };
struct round {
    double figure[SOAK_FIGURES]; /* us */
};

static struct round round_of(struct driver *d)
{
    double n = (double)(d->streams * d->chunks);
    return (struct round){{quantile_us(d->errors, d->errors_n, 0.5), quantile_us(d->ttft, d->ttft_n, 0.5),
                           (double)d->condition.handle_p99_ns * 1e-3, (double)d->user_us / n,
                           (double)(d->user_us + d->system_us) / n}};
}

static int compare_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(const struct round *r, int n, int figure)
{
    double *all = mem_alloc(sizeof *all * (size_t)n);
    for (int i = 0; i < n; i++)
        all[i] = r[i].figure[figure];
    qsort(all, (size_t)n, sizeof *all, compare_double);
    double median = (all[(n - 1) / 2] + all[n / 2]) / 2;
    free(all);
    return median;
}

/* Medians of the first and of the last tenth of the rounds behind the first. */
static void print_course(const struct driver *d, const struct round *r, int n)
{
    const char *const names[] = {d->map ? "arrival error p50" : "gap between chunks p50",
                                 d->map ? "TTFT late p50" : "TTFT p50", "stamp to processed p99", "user CPU a chunk",
                                 "total CPU a chunk"};
    int tenth = n < 20 ? 1 : n / 10;
    for (int f = 0; f < SOAK_FIGURES; f++) {
        double first = median_of(r + 1, tenth, f), last = median_of(r + n - tenth, tenth, f);
        printf("%s: first tenth %.2f us, last tenth %.2f us (%+.1f %%)\n", names[f], first, last,
               (last / first - 1) * 100);
    }
}

/* The first round warms up; memory and descriptors of every later one are held against the second. */
static int soak(struct driver *d, double seconds)
{
    int64_t start = clock_now_ns(), end = start + (int64_t)(seconds * 1e9);
    long kb_second = 0, kb_most = 0;
    int files_second = 0, files_most = 0, n = 0;
    int64_t failed = 0;
    struct round *rounds = NULL;
    while (n < 3 || clock_now_ns() < end) {
        run_load(d);
        long kb = resident_kb();
        int files = open_files();
        rounds = mem_grow(rounds, (size_t)n + 1, sizeof *rounds);
        rounds[n] = round_of(d);
        failed += d->failed;
        if (++n == 2) {
            kb_second = kb;
            files_second = files;
        }
        if (n >= 2) {
            kb_most = kb > kb_most ? kb : kb_most;
            files_most = files > files_most ? files : files_most;
        }
        const double *f = rounds[n - 1].figure;
        printf("round %d at %.0f s: resident %ld kB, %d files, %lld failed, %s p50 %.1f us, p99 %.1f us, TTFT p50 %.1f "
               "us, "
               "stamp to processed p99 %.1f us, user %.2f us, total %.2f us a chunk\n",
               n, (double)(clock_now_ns() - start) * 1e-9, kb, files, (long long)d->failed,
               d->map ? "arrival error" : "gap", f[SOAK_GAP], quantile_us(d->errors, d->errors_n, 0.99), f[SOAK_TTFT],
               f[SOAK_HANDLE], f[SOAK_USER], f[SOAK_TOTAL]);
        if (d->failed)
            printf("  the first failure: %s\n", d->first_failure);
        fflush(stdout);
    }
    print_course(d, rounds, n);
    free(rounds);
    bool flat = kb_most <= kb_second + kb_second / 20 && files_most == files_second;
    printf("%d rounds, %lld failed; at most %+ld kB (of %ld) and %+d descriptors since the second round: %s\n", n,
           (long long)failed, kb_most - kb_second, kb_second, files_most - files_second,
           flat && !failed ? "flat" : "NOT flat");
    return flat && !failed ? 0 : 1;
}

/* bench/client/run.py asks other clients for the same lengths. */
static int64_t varied(size_t i, int64_t chunks)
{
    return chunks - (int64_t)(i * 7919 % 1009) * (chunks / 2) / 1009;
}

int main(int argc, char **argv)
{
    if (argc < 6) {
        fprintf(stderr, "usage: bench_jtok ADDRESS PORT MAP STREAMS CHUNKS [--pause US] [--stall] [--with-request] "
                        "[--soak S] [--rate "
                        "R [--poisson] | --concurrency C]\n");
        return 2;
    }
    struct driver d = {.streams = atoll(argv[4]), .chunks = atoll(argv[5])};
    struct address list[ADDRESSES_MAX];
    struct err e;
    int n;
    double soak_s = 0;
    client_defaults(&d.o);
    for (int i = 6; i < argc; i++) {
        if (strcmp(argv[i], "--pause") == 0 && i + 1 < argc)
            d.o.pause_ns = atoll(argv[++i]) * 1000;
        else if (strcmp(argv[i], "--stall") == 0)
            d.stall_ns = 20000000;
        else if (strcmp(argv[i], "--with-request") == 0)
            d.o.connect = CONNECT_WITH_REQUEST;
        else if (strcmp(argv[i], "--rate") == 0 && i + 1 < argc)
            d.rate = atof(argv[++i]);
        else if (strcmp(argv[i], "--vary") == 0)
            d.vary = true;
        else if (strcmp(argv[i], "--poisson") == 0)
            d.poisson = true;
        else if (strcmp(argv[i], "--concurrency") == 0 && i + 1 < argc)
            d.concurrency = atoll(argv[++i]);
        else if (strcmp(argv[i], "--soak") == 0 && i + 1 < argc)
            soak_s = atof(argv[++i]);
    }
    if (!address_resolve(argv[1], atoi(argv[2]), list, &n, &e) || !loop_open(&d.loop, &e))
        fatal(&e);
    if (strcmp(argv[3], "-") != 0)
        d.map = bench_map_open(argv[3], d.streams, d.chunks);
    size_t streams = (size_t)d.streams, all = streams * (size_t)d.chunks;
    d.seen = mem_zero(streams, sizeof *d.seen);
    d.last = mem_zero(streams, sizeof *d.last);
    d.arrivals = mem_zero(all, sizeof *d.arrivals);
    d.errors = mem_zero(all, sizeof *d.errors);
    d.ttft = mem_zero(streams, sizeof *d.ttft);
    d.ttft_off = mem_zero(streams, sizeof *d.ttft_off);
    d.requests_seen = mem_zero(streams, sizeof *d.requests_seen);
    d.requests = mem_zero(streams, sizeof *d.requests);
    d.bodies = mem_zero(streams, sizeof *d.bodies);
    for (size_t i = 0; i < streams; i++) {
        int64_t chunks = d.vary ? varied(i, d.chunks) : d.chunks;
        int len = snprintf(
            d.bodies[i], sizeof d.bodies[i],
            "{\"model\":\"mock\",\"messages\":[{\"role\":\"user\",\"content\":\"Write.\"}],\"stream\":true,"
            "\"stream_options\":{\"include_usage\":true},\"max_tokens\":%lld,\"ignore_eos\":true,\"user\":\"%zu\"}",
            (long long)chunks, i);
        d.requests[i] =
            (struct client_request){.id = (uint32_t)i, .body = {d.bodies[i], (size_t)len}, .max_tokens = chunks};
    }
    d.sink = (struct record_sink){.self = &d, .request = on_request, .chunk = on_chunks};
    d.o.address = list[0];
    d.o.sink = &d.sink;
    d.o.chunks = true;
    d.o.self = &d;
    d.o.connected = on_connected;
    d.o.ended = on_ended;
    d.o.closed = on_closed;
    int status = 0;
    if (soak_s > 0) {
        status = soak(&d, soak_s);
    } else {
        if (d.rate > 0 || d.concurrency > 0)
            run_paced(&d);
        else
            run_load(&d);
        print_result(&d);
        status = d.failed != 0;
    }
    loop_close(d.loop);
    free(d.seen);
    free(d.last);
    free(d.errors);
    free(d.arrivals);
    free(d.ttft);
    free(d.requests);
    free(d.bodies);
    free(d.waits);
    free(d.ends);
    free(d.submits);
    free(d.ttft_off);
    free(d.requests_seen);
    return status;
}
