#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cli/help.h"
#include "text/file_read.h"

/* Makes one file below `folder`, with the folders on its way; takes the place of an older one. */
static bool put_file(const char *folder, const char *path, const struct buf *text, struct arena *a, struct err *e)
{
    char *full = arena_format(a, "%s/%s", folder, path);
    for (char *slash = full + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        if (mkdir(full, 0777) != 0 && errno != EEXIST)
            return err_set_errno(e, ERR_SYSTEM, errno, "The folder %s can't be made", full);
        *slash = '/';
    }
    unlink(full);
    return file_write_new(full, buf_span(text), e);
}

static bool put_pages(const char *folder, struct arena *a, struct err *e)
{
    struct buf text = {0};
    man_program(&text);
    bool good = put_file(folder, "man/man1/jtok.1", &text, a, e);
    for (const struct command *const *c = commands; good && *c; c++) {
        buf_clear(&text);
        man_command(*c, &text);
        good = put_file(folder, arena_format(a, "man/man1/jtok-%s.1", (*c)->name), &text, a, e);
    }
    buf_done(&text);
    return good;
}

static bool put_completions(const char *folder, struct arena *a, struct err *e)
{
    static const struct {
        const char *path;
        void (*put)(struct buf *out);
    } shells[] = {{"bash-completion/completions/jtok", completion_bash},
                  {"zsh/site-functions/_jtok", completion_zsh},
                  {"fish/vendor_completions.d/jtok.fish", completion_fish}};
    struct buf text = {0};
    bool good = true;
    for (size_t i = 0; good && i < sizeof shells / sizeof *shells; i++) {
        buf_clear(&text);
        shells[i].put(&text);
        good = put_file(folder, shells[i].path, &text, a, e);
    }
    buf_done(&text);
    return good;
}

static bool run_docs(struct call *call, struct err *e)
{
    const char *folder = call->args->operands[0];
    return put_pages(folder, call->arena, e) && put_completions(folder, call->arena, e);
}

const struct command cmd_docs = {
    .name = "docs",
    .brief = "write man pages, and completions for bash, zsh and fish",
    .operands = "FOLDER",
    .operands_min = 1,
    .operands_max = 1,
    .summary =
        "Writes man pages, and completions for bash, zsh and fish, into a folder that has the layout of /usr/share, "
        "such as /usr/local/share, or ~/.local/share for one user.",
    .example = "jtok docs ~/.local/share",
    .run = run_docs,
};
