#include "store/plan_yaml.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/must.h"
#include "base/utf8.h"
#include "schema/yaml.h"

bool plan_yaml_read(struct plan *plan, const char *source, struct span text, struct problems *p)
{
    return schema_yaml_read(&plan_schema, plan, source, text, p);
}

/* Not file_read: a plan is small and plain, and a pipe or a device is refused before it is read. */
static bool load_file(const char *path, struct arena *a, struct span *ret_text, struct err *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    size_t n = 0;
    if (fd < 0)
        return err_set_errno(e, ERR_PLAN, errno, "The plan can't be opened");
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > PLAN_FILE_MAX) {
        close(fd);
        return err_set(e, ERR_PLAN, "The plan must be a regular file of at most %d bytes.", PLAN_FILE_MAX);
    }
    char *text = arena_alloc(a, (size_t)st.st_size + 1);
    for (ssize_t got; n < (size_t)st.st_size; n += (size_t)got) {
        got = read(fd, text + n, (size_t)st.st_size - n);
        if (got < 0 && errno == EINTR)
            got = 0;
        else if (got <= 0)
            break;
    }
    close(fd);
    if (n != (size_t)st.st_size)
        return err_set(e, ERR_PLAN, "The plan could only be read up to byte %zu of %lld.", n, (long long)st.st_size);
    *ret_text = (struct span){text, n};
    return true;
}

bool plan_yaml_load(struct plan *plan, const char *path, struct span *ret_text, struct problems *p)
{
    must(path && p && p->arena);
    struct span text;
    struct err e;
    if (!load_file(path, p->arena, &text, &e)) {
        problems_add_at(p, path, 0, 0, NULL, "%s", e.text);
        return false;
    }
    const char *encoding = utf8_other_encoding(text);
    if (encoding) {
        problems_add_at(
            p, path, 0, 0, NULL,
            "The plan is %s, but plans are UTF-8. Convert it with \"iconv -f %s -t UTF-8 FILE > NEW.yaml\".", encoding,
            encoding);
        return false;
    }
    if (ret_text)
        *ret_text = text;
    return plan_yaml_read(plan, path, text, p);
}

void plan_yaml_write(const struct plan *plan, bool docs, struct buf *b)
{
    schema_yaml_write(&plan_schema, plan, docs, b);
}
