#include "http/limits.h"

#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include "base/must.h"

bool limits_files(size_t count, int64_t *ret_limit, struct err *e)
{
    must(count > 0 && ret_limit);
    struct rlimit r;
    rlim_t need = (rlim_t)count + LIMITS_SPARE_FILES;
    if (getrlimit(RLIMIT_NOFILE, &r))
        return err_set_errno(e, ERR_SYSTEM, errno, "The limit of open files could not be read");
    if (r.rlim_cur < need && r.rlim_max >= need) {
        r.rlim_cur = r.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &r))
            return err_set_errno(e, ERR_SYSTEM, errno,
                                 "The limit of open files could not be raised to the hard limit of %llu",
                                 (unsigned long long)r.rlim_max);
    }
    if (r.rlim_cur < need)
        return err_set(e, ERR_SYSTEM,
                       "The load's %zu connections need %llu open files, but the hard limit is %llu. Raise it in this "
                       "shell, as root: "
                       "`ulimit -Hn %llu; ulimit -Sn %llu` (for a service: LimitNOFILE=%llu), or send fewer requests.",
                       count, (unsigned long long)need, (unsigned long long)r.rlim_max, (unsigned long long)need,
                       (unsigned long long)need, (unsigned long long)need);
    *ret_limit = r.rlim_cur == RLIM_INFINITY ? INT64_MAX : (int64_t)r.rlim_cur;
    return true;
}

bool limits_files_most(int64_t *ret_limit, struct err *e)
{
    must(ret_limit);
    struct rlimit r;
    if (getrlimit(RLIMIT_NOFILE, &r))
        return err_set_errno(e, ERR_SYSTEM, errno, "The limit of open files could not be read");
    struct rlimit most = {r.rlim_max, r.rlim_max};
    if (r.rlim_cur < r.rlim_max && setrlimit(RLIMIT_NOFILE, &most) == 0)
        r = most;
    *ret_limit = r.rlim_cur == RLIM_INFINITY ? INT64_MAX : (int64_t)r.rlim_cur;
    return true;
}

bool limits_ports(const struct address *to, size_t count, struct err *e)
{
    must(to->length > 0);
    if (address_is_unix(to))
        return true;
    unsigned low, high;
    FILE *f = fopen("/proc/sys/net/ipv4/ip_local_port_range", "re");
    int read = f ? fscanf(f, "%u %u", &low, &high) : 0;
    if (f)
        fclose(f);
    if (read != 2 || high < low || count <= high - low + 1)
        return true;
    return err_set(e, ERR_SYSTEM,
                   "The load's %zu connections to %s need as many local ports, but there are only %u "
                   "(net.ipv4.ip_local_port_range is %u %u). Allow more of them, as root: `" LIMITS_PORTS_COMMAND
                   "`, or send fewer requests.",
                   count, to->text, high - low + 1, low, high);
}
