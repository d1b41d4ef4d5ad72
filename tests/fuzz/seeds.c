/* seeds OUT FOLDER...: takes recorded answers (*.http) apart into seeds for the fuzz targets: OUT/http1 and
 * OUT/response the answers, OUT/sse the bodies, OUT/json each event's data and each JSON body, OUT/event a stream's
 * events, one a line. Folders that are not there are passed over. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "text/file_read.h"
#include "http/http1.h"
#include "http/sse.h"

static void write_seed(const char *out, const char *kind, const char *name, unsigned number, struct span bytes)
{
    char path[4096];
    struct err e = {0};
    snprintf(path, sizeof path, "%s/%s/%s-%u", out, kind, name, number);
    unlink(path);
    if (!file_write_new(path, bytes, &e)) {
        fprintf(stderr, "%s\n", e.text);
        exit(1);
    }
}

static void take_apart(const char *out, const char *name, struct span answer)
{
    struct http1 h;
    struct sse s;
    struct buf body = {0}, events = {0};
    struct span rest = answer;
    http1_init(&h);
    for (enum http1_event event; (event = http1_feed(&h, &rest)) == HTTP1_HEAD || event == HTTP1_BODY;) {
        if (event == HTTP1_BODY)
            buf_add(&body, h.body.p, h.body.n);
    }
    write_seed(out, "http1", name, 0, answer);
    write_seed(out, "response", name, 0, answer);
    write_seed(out, h.event_stream ? "sse" : "json", name, 0, buf_span(&body));
    rest = buf_span(&body);
    sse_init(&s, 1 << 24);
    for (unsigned n = 1; h.event_stream && sse_feed(&s, &rest) == SSE_EVENT; n++) {
        write_seed(out, "json", name, n, s.data);
        buf_add(&events, s.data.p, s.data.n);
        buf_byte(&events, '\n');
    }
    if (events.n)
        write_seed(out, "event", name, 0, buf_span(&events));
    sse_done(&s);
    http1_done(&h);
    buf_done(&body);
    buf_done(&events);
}

int main(int argc, char **argv)
{
    static const char *const kinds[] = {"", "/http1", "/sse", "/json", "/csv", "/event", "/response", "/identity"};
    for (size_t i = 0; argc > 1 && i < sizeof kinds / sizeof *kinds; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s%s", argv[1], kinds[i]);
        if (mkdir(path, 0777) != 0 && errno != EEXIST) {
            perror(path);
            return 1;
        }
    }
    unsigned answers = 0;
    for (int i = 2; i < argc; i++) {
        DIR *folder = opendir(argv[i]);
        for (struct dirent *entry; folder && (entry = readdir(folder));) {
            size_t n = strlen(entry->d_name);
            if (n < 5 || strcmp(entry->d_name + n - 5, ".http") != 0)
                continue;
            char path[4096], name[512];
            struct buf text = {0};
            struct err e = {0};
            snprintf(path, sizeof path, "%s/%s", argv[i], entry->d_name);
            snprintf(name, sizeof name, "recorded%d-%.*s", i, (int)(n - 5), entry->d_name);
            if (!file_read(path, 0, &text, &e)) {
                fprintf(stderr, "%s\n", e.text);
                return 1;
            }
            take_apart(argv[1], name, buf_span(&text));
            buf_done(&text);
            answers++;
        }
        if (folder)
            closedir(folder);
    }
    printf("%u recorded answers\n", answers);
    return 0;
}
