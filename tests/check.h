/* Assertions that cmocka 1.1.5 lacks. Include this instead of cmocka.h. */
#ifndef JTOK_TESTS_CHECK_H
#define JTOK_TESTS_CHECK_H

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
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

/* The call breaks a promise that must() or assert() watches: it ends its process by abort(). Made in a child. */
#define assert_aborts(call)                                                                                            \
    do {                                                                                                               \
        pid_t check_pid_ = fork();                                                                                     \
        if (check_pid_ == 0) {                                                                                         \
            setrlimit(RLIMIT_CORE, &(struct rlimit){0});                                                               \
            signal(SIGABRT, SIG_DFL);                                                                                  \
            close(STDERR_FILENO);                                                                                      \
            call;                                                                                                      \
            _exit(0);                                                                                                  \
        }                                                                                                              \
        int check_status_ = 0;                                                                                         \
        assert_int_equal(waitpid(check_pid_, &check_status_, 0), check_pid_);                                          \
        if (!WIFSIGNALED(check_status_) || WTERMSIG(check_status_) != SIGABRT) {                                       \
            print_error("%s goes on, though a promise is broken\n", #call);                                            \
            fail();                                                                                                    \
        }                                                                                                              \
    } while (0)

#endif
