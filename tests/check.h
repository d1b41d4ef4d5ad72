/* Assertions that cmocka 1.1.5 lacks. Include this instead of cmocka.h. */
#ifndef JTOK_TESTS_CHECK_H
#define JTOK_TESTS_CHECK_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

/* |a - b| <= tolerance, in double: cmocka's assert_float_equal compares as float. */
#define assert_close(a, b, tolerance)                                                                                  \
    do {                                                                                                               \
        double check_a_ = (a), check_b_ = (b), check_t_ = (tolerance);                                                 \
        if (!(fabs(check_a_ - check_b_) <= check_t_)) {                                                                \
            print_error("%s = %.17g, expected %.17g +- %g\n", #a, check_a_, check_b_, check_t_);                       \
            fail();                                                                                                    \
        }                                                                                                              \
    } while (0)

/* Relative closeness. */
#define assert_close_rel(a, b, relative) assert_close(a, b, fabs((double)(b)) * (relative))

/* A call that takes an error: prints the error's text when it fails. */
#define assert_ok(call, e)                                                                                             \
    do {                                                                                                               \
        if (!(call)) {                                                                                                 \
            print_error("%s: %s\n", #call, (e).text);                                                                  \
            fail();                                                                                                    \
        }                                                                                                              \
    } while (0)

#endif
