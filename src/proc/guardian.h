/* Inside of child.h: the process between jtok and the engine, and the messages on the socket between the two.
 *
 * SOCK_SEQPACKET: one message, one packet. A start carries four descriptors: a memory file with the strings, and what
 * becomes stdin, stdout and stderr. */
#ifndef JTOK_PROC_GUARDIAN_H
#define JTOK_PROC_GUARDIAN_H

#include <stdint.h>

enum guardian_order {
    ORDER_START,        /* value: number of arguments; more: number of variables; remove */
    ORDER_SIGNAL_MAIN,  /* value: signal */
    ORDER_SIGNAL_GROUP, /* value: signal */
    ORDER_KILL,         /* everything, until nothing is left */
    ORDER_LEAVE,        /* the first process has ended: the guardian ends, and what is left of the tree runs on */
};

/* That come with a start: the strings, then what becomes stdin, stdout and stderr. */
enum { START_STRINGS, START_IN, START_OUT, START_ERR, START_FDS };

struct guardian_order_message {
    int32_t order, value, more, has_folder;
    int32_t remove; /* ORDER_START: number of words of the command that removes what the engine leaves behind */
};

enum guardian_report {
    REPORT_STARTED,    /* pid */
    REPORT_FAILED,     /* value: errno; more: enum guardian_step */
    REPORT_EXITED,     /* value: exit code or 128 + signal */
    REPORT_GROUP_GONE, /* the first process has ended, and no other of its process group is left */
    REPORT_GONE,
};

enum guardian_step { STEP_FORK, STEP_FOLDER, STEP_EXEC };

struct guardian_report_message {
    int32_t report, value, more, reserved;
    int64_t pid, t_ns;
};

/* The strings of a start: [folder] arguments variables words-of-the-removal, each ended by NUL. */

/* Runs the guardian on its end of the socket; jtok_pid: who forked it. Never returns. */
_Noreturn void guardian_run(int socket, int64_t jtok_pid);

#endif
