/* The energy of a service that handles N requests, from a stored result. */
#ifndef JTOK_APP_ESTIMATES_H
#define JTOK_APP_ESTIMATES_H

#include "analysis/analyze.h"
#include "base/arena.h"
#include "base/err.h"
#include "model/result.h"

/* One estimate for each number of requests (from 1), in their order. ERR_REFUSED where the result has no energy of
 * startup and release, or none per request. Everything lives in the arena. */
bool estimates_make(const char *folder, const int64_t *requests, size_t count, struct arena *a,
                    const struct result **ret_result, struct estimate **ret_list, struct err *e);

#endif
