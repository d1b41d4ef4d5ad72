/* Numbers that look like chance and are the same each time: what the whole simulation draws its chance from. */
#ifndef JTOK_SIM_MIX_H
#define JTOK_SIM_MIX_H

#include <stdint.h>

/* The finaliser of splitmix64 (Steele, Lea, Flood 2014): each bit of x changes half of the result's. */
static inline uint64_t sim_finalise(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* One step of splitmix64 from the state x. */
static inline uint64_t sim_mix(uint64_t x)
{
    return sim_finalise(x + UINT64_C(0x9e3779b97f4a7c15));
}

/* About normal, variance 1, within 2 sqrt 3: the sum of four uniforms, drawn from 64 bits. */
static inline double sim_deviate(uint64_t bits)
{
    double sum = 0;
    for (int i = 0; i < 4; i++)
        sum += (double)(bits >> 16 * i & 0xffff) / 65535 - 0.5;
    return sum * 1.7320508;
}

#endif
