#include "tree.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "flavour.h"

enum { ORPHAN_S = 120 };

/* Process title, as setproctitle does it: the memory of argv is what /proc/PID/cmdline shows. */
static void set_title(const char *title, int argc, char **argv)
{
    prctl(PR_SET_NAME, title);
    char *start = argv[0], *end = argv[argc - 1] + strlen(argv[argc - 1]);
    size_t room = (size_t)(end - start);
    memset(start, 0, room);
    snprintf(start, room, "%s", title);
}

static void idle_for_ever(pid_t parent, bool orphan)
{
    sigset_t none;
    sigemptyset(&none);
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, orphan ? SIG_IGN : SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (orphan)
        alarm(ORPHAN_S);
    else
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(0);
    for (;;)
        pause();
}

static bool spawn(const char *title, bool orphan, int argc, char **argv, pid_t *ret_pid, struct err *e)
{
    pid_t parent = getpid(), pid = fork();
    if (pid < 0)
        return err_set_errno(e, ERR_SYSTEM, errno, "%s could not be forked", title);
    if (pid == 0) {
        set_title(title, argc, argv);
        idle_for_ever(parent, orphan);
    }
    *ret_pid = pid;
    return true;
}

static void name(char *ret_title, size_t size, const char *stem, int i)
{
    snprintf(ret_title, size, "%s%d", stem, i);
}

bool tree_start(struct tree *t, const struct options *o, int argc, char **argv, struct err *e)
{
    *t = (struct tree){.options = o, .main = getpid()};
    bool orphan = options_strike(o, FAULT_ORPHAN, 0);
    char title[40];
    fflush(NULL);
    if (!spawn(o->flavour->core, orphan, argc, argv, &t->core, e))
        return false;
    t->core_alive = true;
    t->workers[0] = t->core;
    for (int i = 0; o->gpus > 1 && i < o->gpus; i++) {
        name(title, sizeof title, o->flavour->worker, i);
        if (!spawn(title, orphan, argc, argv, &t->workers[i], e))
            return false;
    }
    for (int i = 0; o->api_servers > 1 && i < o->api_servers; i++) {
        name(title, sizeof title, o->flavour->server, i);
        if (!spawn(title, false, argc, argv, &t->servers[i], e))
            return false;
    }
    return true;
}

static void end(pid_t *pid)
{
    if (*pid > 0) {
        kill(*pid, SIGKILL);
        waitpid(*pid, NULL, 0);
    }
    *pid = 0;
}

void tree_end(struct tree *t)
{
    for (int i = 0; i < t->options->api_servers; i++)
        end(&t->servers[i]);
    if (options_strike(t->options, FAULT_ORPHAN, 0))
        return;
    for (int i = 0; i < t->options->gpus; i++)
        if (t->workers[i] != t->core)
            end(&t->workers[i]);
    end(&t->core);
}

bool tree_reap(struct tree *t)
{
    bool core = false;
    for (pid_t pid; (pid = waitpid(-1, NULL, WNOHANG)) > 0;) {
        for (int i = 0; i < SIM_GPUS_MAX; i++)
            if (t->workers[i] == pid) {
                t->workers[i] = 0;
                core = true;
            }
        for (int i = 0; i < t->options->api_servers; i++)
            if (t->servers[i] == pid)
                t->servers[i] = 0;
        if (t->core == pid) {
            t->core = 0;
            core = true;
        }
    }
    t->core_alive &= !core;
    return core;
}

void tree_log(const struct tree *t, enum speaker s, const char *level, const char *source, const char *format, ...)
{
    t->options->flavour->put_head(t, s, level, source);
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stdout, format, arguments);
    va_end(arguments);
    putchar('\n');
}
