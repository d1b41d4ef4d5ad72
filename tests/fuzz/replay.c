/* replay [-m COUNT] PATH...: runs a fuzz target over files, and over the files of folders, without libFuzzer: each file
 * whole, cut at each of its first 600 bytes, and COUNT times with a few bytes changed (the same ones at every run). */
#include <dirent.h>
#include <unistd.h>
#include "base/buf.h"
#include "fuzz.h"
#include "text/file_read.h"

static uint64_t random_bits(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

/* The target sees an exact block: a sanitizer notices one byte too far. */
static void run_copy(struct span text)
{
    uint8_t *copy = malloc(text.n ? text.n : 1);
    if (text.n)
        memcpy(copy, text.p, text.n);
    LLVMFuzzerTestOneInput(copy, text.n);
    free(copy);
}

static void run_changed(const struct buf *text, uint64_t *state)
{
    static const char favourites[] = "\r\n\r\n\"\\{}[]:,; \t0159aAfFeE.-+\x7f\x80\xbf\xc2\xe2\xed\xf0\xff";
    struct buf changed = {0};
    buf_add(&changed, text->p, text->n);
    for (uint64_t i = random_bits(state) % 4; i < 4 && changed.n; i++) {
        size_t at = random_bits(state) % changed.n;
        switch (random_bits(state) % 3) {
        case 0:
            changed.p[at] = favourites[random_bits(state) % (sizeof favourites)]; /* its NUL too */
            break;
        case 1:
            memmove(changed.p + at, changed.p + at + 1, changed.n - at - 1);
            changed.n--;
            break;
        default:
            buf_byte(&changed, 0);
            memmove(changed.p + at + 1, changed.p + at, changed.n - at - 1);
            changed.p[at] = favourites[random_bits(state) % (sizeof favourites)];
            break;
        }
    }
    run_copy(buf_span(&changed));
    buf_done(&changed);
}

static unsigned run_file(const char *path, long mutations)
{
    struct buf text = {0};
    struct err e = {0};
    if (!file_read(path, 0, &text, &e)) {
        fprintf(stderr, "%s\n", e.text);
        exit(1);
    }
    run_copy(buf_span(&text));
    for (size_t n = 0; n < text.n && n < 600; n++)
        run_copy((struct span){text.p, n});
    uint64_t state = text.n;
    for (long i = 0; i < mutations; i++)
        run_changed(&text, &state);
    buf_done(&text);
    return 1;
}

static unsigned run_path(const char *path, long mutations)
{
    DIR *folder = opendir(path);
    if (!folder)
        return run_file(path, mutations);
    unsigned files = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        char inside[4096];
        snprintf(inside, sizeof inside, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] != '.')
            files += run_file(inside, mutations);
    }
    closedir(folder);
    return files;
}

int main(int argc, char **argv)
{
    long mutations = 0;
    unsigned files = 0;
    for (int option; (option = getopt(argc, argv, "m:")) != -1;) {
        if (option != 'm')
            return 2;
        mutations = atol(optarg);
    }
    for (; optind < argc; optind++)
        files += run_path(argv[optind], mutations);
    printf("%u files\n", files);
    return files == 0;
}
