#include "sim/seed.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include "sim/mix.h"

static const double share = 0.01;

bool sim_seed_factor(enum sim_seed_of of, double *ret_factor, struct err *e)
{
    const char *text = getenv("JTOK_SIM_SEED");
    if (!text) {
        *ret_factor = 1;
        return true;
    }
    char *end;
    errno = 0;
    unsigned long long seed = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno)
        return err_set(e, ERR_USAGE, "JTOK_SIM_SEED=%s is not a whole number from 0 on. Give one, or unset it.", text);
    *ret_factor = 1 + share * sim_deviate(sim_mix(sim_mix(seed) + (uint64_t)of));
    return true;
}
