/* Limits of the machine that many connections run into (private to http). */
#ifndef JTOK_HTTP_LIMITS_H
#define JTOK_HTTP_LIMITS_H

#include <stddef.h>
#include <stdint.h>
#include "base/err.h"
#include "http/address.h"

enum { LIMITS_SPARE_FILES = 64 };

/* Raises the soft limit of open files to the hard one where `count` connections and 64 other files need it; ERR_SYSTEM,
 * with the command, where the hard one is too low. */
bool limits_files(size_t count, int64_t *ret_limit, struct err *e);

/* ERR_SYSTEM, with the command, where the local ports are fewer than `count`. No check for Unix sockets. */
bool limits_ports(const struct address *to, size_t count, struct err *e);

#endif
