#include "sim/seed.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

static const double share = 0.01;

/* splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* About normal, variance 1, within 2 sqrt 3: four uniforms. */
static double deviate(uint64_t bits)
{
    double sum = 0;
    for (int i = 0; i < 4; i++)
        sum += (double)(bits >> 16 * i & 0xffff) / 65535 - 0.5;
    return sum * 1.7320508;
}

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
    *ret_factor = 1 + share * deviate(mix(mix(seed) + (uint64_t)of));
    return true;
}
