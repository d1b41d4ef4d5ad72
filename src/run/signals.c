#include "run/signals.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include "base/must.h"

sigset_t signals_prepare(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    struct sigaction hangup;
    if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
        sigaddset(&set, SIGHUP); /* a lost terminal, but for nohup */
    signal(SIGPIPE, SIG_IGN);
    return set;
}

bool signals_open(struct signals *s, const sigset_t *set, struct err *e)
{
    sigprocmask(SIG_BLOCK, set, NULL);
    int fd = signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0)
        return err_set_errno(e, ERR_SYSTEM, errno, "Signals can't be read");
    *s = (struct signals){.watch = {.fd = fd}};
    return true;
}

void signals_close(struct signals *s, struct loop *l)
{
    signals_unwatch(s, l);
    if (s->watch.fd > 0)
        close(s->watch.fd);
    *s = (struct signals){0};
}

/* Its number; 0: none has come. */
static int take_signal(int fd)
{
    struct signalfd_siginfo info;
    return read(fd, &info, sizeof info) == sizeof info ? (int)info.ssi_signo : 0;
}

bool signals_none(struct signals *s, struct err *e)
{
    return !take_signal(s->watch.fd) ||
           err_set(e, ERR_INTERRUPTED, "Interrupted before anything was started; nothing was written.");
}

static void on_signal(struct watch *w, uint32_t events)
{
    (void)events;
    struct signals *s = (struct signals *)w; /* its first member */
    int number = take_signal(w->fd);
    if (number == 0)
        return;
    /* Its moment first: what is told of it may have gone before the next line here. */
    stage_interrupt(w->owner);
    if (s->heard)
        s->heard(s->self, number);
}

bool signals_watch(struct signals *s, struct stage_machine *m, struct err *e)
{
    must(!s->watched);
    s->watch.ready = on_signal;
    s->watch.owner = m;
    s->watched = loop_add(m->loop, &s->watch, EPOLLIN, e);
    return s->watched;
}

void signals_unwatch(struct signals *s, struct loop *l)
{
    if (s->watched)
        loop_remove(l, &s->watch);
    s->watched = false;
}
