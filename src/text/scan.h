/* Scanning, private to the parsers of this folder: hexadecimal digits; eight bytes at a time, which byte of a word is
 * the first of interest. */
#ifndef JTOK_TEXT_SCAN_H
#define JTOK_TEXT_SCAN_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

#define SCAN_EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* The byte at p comes out lowest, on any machine. */
static inline uint64_t scan_load(const char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return le64toh(word);
}

/* Bit 7 of each byte of the result tells whether that byte of `word` is below `limit` (at most 128). A borrow can set
 * wrong bits, but only above the lowest right one: scan_first is exact. */
static inline uint64_t scan_below(uint64_t word, unsigned limit)
{
    return (word - SCAN_EACH(limit)) & ~word & SCAN_EACH(0x80);
}

static inline uint64_t scan_equal(uint64_t word, unsigned char byte)
{
    return scan_below(word ^ SCAN_EACH(byte), 1);
}

/* Index of the lowest byte that is set; hits must not be 0. */
static inline unsigned scan_first(uint64_t hits)
{
    return (unsigned)__builtin_ctzll(hits) / 8;
}

/* Value of a hexadecimal digit, or -1. */
static inline int scan_hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

#endif
