/* Limits of the machine that many connections run into. */
#ifndef JTOK_HTTP_LIMITS_H
#define JTOK_HTTP_LIMITS_H

#include <stddef.h>
#include <stdint.h>
#include "base/err.h"
#include "http/address.h"

enum { LIMITS_SPARE_FILES = 64 };

/* What raises the number of local ports. Not from 1024 on: a connection may take any port of the range, and below 10240
 * stand the ports on which servers want to listen (8000 of vLLM, for one). 55 296 are left, enough for three loads of
 * 15 000 connections. */
#define LIMITS_PORTS_COMMAND "sysctl -w net.ipv4.ip_local_port_range=\"10240 65535\""

/* Raises the soft limit of open files to the hard one where `count` connections and 64 other files need it; ERR_SYSTEM,
 * with the command, where the hard one is too low. */
bool limits_files(size_t count, int64_t *ret_limit, struct err *e);

/* Raises the soft limit of open files to the hard one. */
bool limits_files_most(int64_t *ret_limit, struct err *e);

/* ERR_SYSTEM, with the command, where the local ports are fewer than `count`. No check for Unix sockets. */
bool limits_ports(const struct address *to, size_t count, struct err *e);

#endif
