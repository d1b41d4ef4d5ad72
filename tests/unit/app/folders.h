/* Run folders for the use cases: made in memory, written by the store, sealed, with their result. */
#ifndef JTOK_TESTS_UNIT_APP_FOLDERS_H
#define JTOK_TESTS_UNIT_APP_FOLDERS_H

#include "cli/run_folder.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "app/evaluate.h"
#include "text/file_read.h"

struct folders {
    char root[64];
    struct arena a;
    const char *runs;
    int64_t day; /* of the next run */
};

static inline void folders_open(struct folders *f)
{
    *f = (struct folders){.root = "/tmp/jtok-app-XXXXXX"};
    assert_non_null(mkdtemp(f->root));
    f->runs = arena_format(&f->a, "%s/runs", f->root);
}

static inline void folders_close(struct folders *f)
{
    char command[100];
    snprintf(command, sizeof command, "rm -r %s", f->root);
    assert_int_equal(system(command), 0);
    arena_done(&f->a);
}

/* A run without a seal. */
static inline const char *open_run(struct folders *f, struct records *r, const char *label)
{
    return write_folder(r, f->runs, label, LIFE_OFFSET_NS + f->day++ * 86400 * LIFE_S, &f->a);
}

static inline const char *sealed_run(struct folders *f, struct records *r, const char *label)
{
    struct err e = {0};
    const char *folder = open_run(f, r, label);
    assert_ok(archive_seal(folder, &e), e);
    return folder;
}

static inline const char *whole_run(struct folders *f, struct records *r, const char *label)
{
    struct err e = {0};
    struct method m = method_default();
    struct evaluation *v = arena_alloc(&f->a, sizeof *v);
    const char *folder = sealed_run(f, r, label);
    assert_ok(evaluate_run(folder, &m, &f->a, v, &e), e);
    assert_ok(evaluate_store(folder, &v->result, &e), e);
    return folder;
}

/* Adds a blank at the end of line `line`, from 1, of a file of the folder; 0: at its end. Gives the line. */
static inline size_t change_line(struct folders *f, const char *folder, const char *name, size_t line)
{
    struct buf text = {0}, changed = {0};
    struct err e = {0};
    const char *path = arena_format(&f->a, "%s/%s", folder, name);
    assert_ok(file_read(path, 0, &text, &e), e);
    size_t now = 1, at = 0;
    for (; at < text.n && !(now == line && text.p[at] == '\n'); at++)
        now += text.p[at] == '\n';
    buf_add(&changed, text.p, at);
    buf_byte(&changed, ' ');
    buf_add(&changed, text.p + at, text.n - at);
    unlink(path);
    assert_ok(file_write_new(path, buf_span(&changed), &e), e);
    buf_done(&text);
    buf_done(&changed);
    return now;
}

#endif
