/* The GPUs' driver against what the engine was built with. */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/buf.h"
#include "base/file.h"
#include "base/must.h"
#include "base/variable.h"
#include "run/preflight.h"
#include "text/file_read.h"

/* The first of the folders, joined by colons, that holds a readable `name`; null: none. */
static const char *among(struct arena *a, const char *folders, const char *name)
{
    for (const char *at = folders; at; at = strchr(at, ':')) {
        at += *at == ':';
        size_t n = strcspn(at, ":");
        const char *path = arena_format(a, "%.*s/%s", (int)n, at, name);
        if (n && access(path, R_OK) == 0)
            return path;
    }
    return NULL;
}

static const char *program(struct arena *a, const char *word, const char *const *env)
{
    if (strchr(word, '/'))
        return access(word, R_OK) == 0 ? word : NULL;
    return *word ? among(a, variable_in(env, "PATH"), word) : NULL;
}

static bool is_python(const char *path)
{
    return strncmp(path_name(path), "python", 6) == 0;
}

/* The Python that a script's first line names, by its path or through env; null: it names none. */
static const char *script_python(struct arena *a, const char *path, const char *const *env)
{
    char line[512] = "";
    FILE *f = fopen(path, "re");
    bool script = f && fgets(line, sizeof line, f) && strncmp(line, "#!", 2) == 0;
    if (f)
        fclose(f);
    if (!script)
        return NULL;
    char *rest, *word = strtok_r(line + 2, " \t\r\n", &rest);
    if (word && strcmp(path_name(word), "env") == 0)
        word = strtok_r(NULL, " \t\r\n", &rest);
    return word && is_python(word) ? program(a, arena_text(a, word), env) : NULL;
}

static const char *engine_python(struct arena *a, const char *const *argv, const char *const *env)
{
    for (; *argv; argv++) {
        const char *path = strchr(*argv, '=') ? NULL : program(a, *argv, env);
        const char *python = path && is_python(path) ? path : path ? script_python(a, path, env) : NULL;
        if (python)
            return python;
    }
    return NULL;
}

/* Of the Python in PREFIX/bin: the links are not followed, since a virtual environment's lead out of it. */
static const char *beside_python(struct arena *a, const char *python)
{
    static const char *const places[] = {"lib/python3*/site-packages", "lib/python3*/dist-packages",
                                         "local/lib/python3*/dist-packages"};
    const char *bin = path_name(python);
    size_t n = bin - python > 4 && strncmp(bin - 5, "/bin/", 5) == 0 ? (size_t)(bin - python) - 5 : 0;
    const char *found = NULL;
    for (size_t i = 0; n && !found && i < sizeof places / sizeof *places; i++) {
        glob_t g;
        if (glob(arena_format(a, "%.*s/%s/torch/version.py", (int)n, python, places[i]), 0, NULL, &g) == 0)
            found = arena_text(a, g.gl_pathv[0]);
        globfree(&g);
    }
    return found;
}

static const char *torch_file(struct arena *a, const char *const *argv, const char *const *env)
{
    static const char name[] = "torch/version.py";
    const char *said = variable_in(argv, "PYTHONPATH");
    const char *path = among(a, said ? said : variable_in(env, "PYTHONPATH"), name);
    const char *python = path ? NULL : engine_python(a, argv, env);
    return path || !python ? path : beside_python(a, python);
}

/* "13.0" of the line "cuda: Optional[str] = '13.0'"; null: it is built for no such GPU. */
static const char *built_with(struct arena *a, const char *path)
{
    struct buf text = {0};
    struct err e;
    const char *version = NULL;
    if (file_read(path, 1 << 16, &text, &e)) {
        char *all = arena_copy(a, text.p, text.n), *rest;
        for (char *line = strtok_r(all, "\n", &rest); line && !version; line = strtok_r(NULL, "\n", &rest)) {
            const char *quote = strncmp(line, "cuda", 4) == 0 && strchr(": =", line[4]) ? strchr(line, '\'') : NULL;
            if (quote)
                version = arena_copy(a, quote + 1, strcspn(quote + 1, "'"));
        }
    }
    buf_done(&text);
    return version;
}

void preflight_driver(struct preflight *p, const struct device *d, const char *const *argv, const char *const *env)
{
    must(p && argv && env);
    const char *path = d && d->toolkit ? torch_file(p->arena, argv, env) : NULL;
    const char *version = path ? built_with(p->arena, path) : NULL;
    int major = version ? atoi(version) : 0;
    if (major <= 0)
        return;
    const char *driver = d->driver_version ? d->driver_version : "of unknown version";
    const char *expected = arena_format(p->arena, "%s %d or newer", d->toolkit, major);
    const char *seen = arena_format(p->arena, "driver %s, %s %d", driver, d->toolkit, d->toolkit_major);
    if (major <= d->toolkit_major) {
        preflight_fact(p, "preflight.driver", CHECK_PASSED, expected, seen);
        return;
    }
    preflight_warn(p, "preflight.driver", expected, seen,
                   arena_format(p->arena,
                                "The engine's PyTorch was built with %s %s (%s), but driver %s serves %s %d and "
                                "older, so the engine may fail as it starts. Update the driver, or install an engine "
                                "built with %s %d.",
                                d->toolkit, version, path, driver, d->toolkit, d->toolkit_major, d->toolkit,
                                d->toolkit_major));
}
