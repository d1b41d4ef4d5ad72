/* The engine as a child process: start, output, process tree, stop, and the proof that nothing is left.
 *
 * Between jtok and the engine stands a guardian, a process forked from jtok before any thread exists. The guardian is
 * the engine's parent and a child subreaper: whatever the engine starts, however often it forks and whatever session it
 * opens, stays below the guardian, since orphans come back to it. So "a process of the engine's tree" is "a process
 * below the guardian", and when the guardian has no child left, no process of the tree is left: it waits for exactly
 * that (ECHILD), so exit times are those of the reaping, and no zombie remains. The engine runs in its own session and
 * process group.
 *
 * When jtok dies, even by SIGKILL, the guardian sees its socket close (and gets a signal), kills the whole tree and
 * ends. When the guardian dies, the engine's first process gets SIGKILL and the rest of the tree comes back to jtok,
 * which is a subreaper too and kills it.
 *
 * The guardian, which reaps, reports exits; a pidfd in jtok could not give the status of a process that is not its
 * child.
 *
 * child_attach puts it on the event loop, from which all callbacks come. All functions but child_owns_pid and
 * child_list belong to that loop's thread. */
#ifndef JTOK_PROC_CHILD_H
#define JTOK_PROC_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/err.h"
#include "base/span.h"
#include "loop/lines.h"
#include "loop/loop.h"

struct child;

/* One process of the tree as /proc shows it. */
struct child_process {
    int64_t pid, ppid, session, group;
    uint64_t start_ticks; /* since boot: with the pid it names a process for good */
    char state;           /* R, S, D, Z, ... */
    const char *name;     /* comm */
    const char
        *command; /* arguments joined by spaces, at most 4096 bytes, control bytes replaced; engines rewrite it */
};

/* What the owner is notified of, from the loop. Any may be null. All times are CLOCK_MONOTONIC. */
struct child_events {
    void *self;
    /* A line of output without its end (LF, CR or CRLF). `output`: 'o' or 'e'. t_ns: when it was read. Lines over
     * LINES_MAX come in pieces: `cut` says that the line goes on in the next call. A last line without an end is
     * delivered when the pipe closes. */
    void (*line)(void *self, int64_t t_ns, char output, struct span line, bool cut);
    /* The engine's first process has ended. status: exit code, or 128 + signal. Every line that was written before has
     * been delivered. Others of the tree may still live. */
    void (*exited)(void *self, int64_t t_ns, int status);
    /* The first process has ended, and no process of its group is left; what has left the group may live on. Once,
     * after `exited`. */
    void (*group_gone)(void *self, int64_t t_ns);
    /* No process of the tree is left (METHOD: t9). Comes once, after `exited`. */
    void (*gone)(void *self, int64_t t_ns);
    /* The stop sequence has run through and processes are still there (state D: uninterruptible). Killing goes on, and
     * `gone` may still come. The list is valid during the call. */
    void (*stuck)(void *self, const struct child_process *left, size_t n);
    /* The guardian has died; jtok has taken the tree over and kills it. */
    void (*orphaned)(void *self, const char *why);
};

struct child_spec {
    const char *const *argv; /* null-terminated; argv[0] is looked up in the PATH of `env` */
    const char *const *env;  /* null-terminated "NAME=value": all of the environment; null: jtok's own */
    const char *folder;      /* working directory; null: jtok's own */
    /* Any command, not an engine: it keeps jtok's standard input, output and error, so that no line is delivered, and
     * errors speak of a command. */
    bool any_command;
    /* What removes a thing that outlives the command's own processes, a container that a daemon has started for it:
     * null-terminated words, run by the guardian with `env` where it kills the tree, whoever has died, and once more
     * behind the tree's end. Both must live as long as the child. Null: nothing. */
    const char *const *remove;
};

/* The stop sequence's pauses. */
struct child_stop_times {
    int64_t main_ns;  /* SIGTERM to the first process, then this long for the tree to go (plan: limits.stop_s) */
    int64_t group_ns; /* then SIGTERM to its process group, and this long */
    int64_t kill_ns; /* then SIGKILL to the group and every process of the tree, again and again; after this: `stuck` */
};

/* Forks the guardian. Call early, before any thread is started; costs one idle process. Makes the calling process a
 * child subreaper; it must start no other processes while the child is open, as after the guardian's death all that is
 * below it counts as the tree. */
bool child_open(struct child **ret_child, const struct child_events *events, struct err *e);

/* Kills what is left of the tree, waits for it (at most 5 s), ends the guardian. */
void child_close(struct child *c);

/* Puts it on a loop, before or after the start. child_close takes it off. */
bool child_attach(struct child *c, struct loop *l, struct err *e);

/* Would child_start find a program to execute? Starts nothing; false with the error that child_start would give. An
 * engine's command that is a relative path is not looked at. */
bool child_can_start(const struct child_spec *spec, struct err *e);

/* What exec would say of it, as far as that is known before: ENOENT, EACCES ...; 0: nothing. */
int child_exec_fault(const struct child_spec *spec);

/* Starts the engine; once. Returns when exec has succeeded or failed: an error says which command failed in what way
 * and what to check. METHOD's t2 is stamped by the caller just before this call. *ret_pid may be null. */
bool child_start(struct child *c, const struct child_spec *spec, int64_t *ret_pid, struct err *e);

/* Begins the stop sequence; further calls do nothing but shorten what is left to `t`. Where the first process has ended
 * already it begins with the group. Nothing happens when the tree is gone. */
void child_stop(struct child *c, const struct child_stop_times *t);

/* A signal to the first process's group; nothing where it is gone. */
void child_signal(struct child *c, int number);

/* What is left of the tree once the first process has ended runs on when the child is closed; else it is killed. */
void child_leave(struct child *c);

/* SIGKILL to everything at once. */
void child_kill(struct child *c);

bool child_is_started(const struct child *c);
bool child_is_gone(const struct child *c);        /* no process of the tree is left; also true before the start */
int64_t child_exit_status(const struct child *c); /* ABSENT_I64: not ended */

/* Is this pid of the engine's tree? 1: yes, also of a process of the tree that has just ended. 0: no, it is another's.
 * -1: unknown: there is no such process here, as when a GPU's driver names pids of another pid namespace. Any
 * thread. Walks up /proc, some 10 us. */
int child_owns_pid(struct child *c, int64_t pid);

/* Processes that are not below the guardian, since a daemon started them for the engine's command, but count as its
 * tree from now on: all of a container, by its id (proc/cgroup.h), or a process with all below it. They are stopped and
 * killed with the tree, as far as this user may, and `gone` waits for their end, which is looked for every 20 ms. A
 * process that is older than the engine's first one was not started for it: false, and nothing is taken. */
void child_own_container(struct child *c, const char *id);
bool child_own_outside(struct child *c, int64_t pid);

/* The processes of the tree now, in order of pid; remembered for child_owns_pid. Any thread. O(processes of the
 * machine). */
bool child_list(struct child *c, struct arena *a, struct child_process **ret_list, size_t *ret_n, struct err *e);

#endif
