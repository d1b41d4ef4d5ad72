/* Inside of child.h: what the guardian is sent to start the engine, and why a start fails. */
#ifndef JTOK_PROC_START_H
#define JTOK_PROC_START_H

#include "proc/child.h"
#include "proc/guardian.h"

/* A memory file with the folder, the arguments, the variables and the removal, each ended by NUL, and the order that
 * counts them. Returns its descriptor, or -1 (errno is set). */
int start_strings(const struct child_spec *s, struct guardian_order_message *ret_order);

/* Sends the order with its descriptors: the strings, stdout, stderr. */
bool start_send(int socket, const struct guardian_order_message *order, const int fds[START_FDS]);

/* The error for a step that failed with errno `number`: which command, in what way, and what to check. Returns false.
 */
bool start_explain(const struct child_spec *s, enum guardian_step step, int number, struct err *e);

/* "The engine", or "The command": how a sentence begins. */
const char *start_noun(const struct child_spec *s);

/* As child_exec_fault says. */
int start_fault(const struct child_spec *s);

/* As child_can_start says. */
bool start_is_possible(const struct child_spec *s, struct err *e);

#endif
