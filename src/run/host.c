#include "run/host.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include "base/must.h"
#include "base/span.h"

static const char *cpu_model(struct arena *a)
{
    FILE *f = fopen("/proc/cpuinfo", "re");
    char line[512];
    const char *model = NULL;
    while (f && !model && fgets(line, sizeof line, f))
        if (strncmp(line, "model name", 10) == 0 && strchr(line, ':')) {
            struct span s = span_of(strchr(line, ':') + 1);
            s.n -= s.n && s.p[s.n - 1] == '\n';
            s = span_trim(s);
            model = arena_copy(a, s.p, s.n);
        }
    if (f)
        fclose(f);
    return model;
}

struct host host_read(struct arena *a)
{
    must(a);
    struct utsname u = {0};
    uname(&u);
    return (struct host){.name = arena_text(a, u.nodename),
                         .kernel = arena_format(a, "%s %s", u.sysname, u.release),
                         .cpu = cpu_model(a)};
}
