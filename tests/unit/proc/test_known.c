#include "check.h"

#include <stdlib.h>
#include "proc/known.h"

static void a_pid_means_one_process(void **state)
{
    (void)state;
    struct known k;
    known_init(&k);
    struct proc first = {.pid = 100, .start_ticks = 7}, reused = {.pid = 100, .start_ticks = 9}, other = {.pid = 101};
    assert_false(known_has(&k, 100, NULL));
    known_add(&k, &first);
    known_add(&k, &first);
    assert_int_equal(k.n, 1);
    assert_true(known_has(&k, 100, NULL)); /* it has ended: its pid still stands for it */
    assert_true(known_has(&k, 100, &first));
    assert_false(known_has(&k, 100, &reused)); /* somebody else's by now */
    assert_false(known_has(&k, 101, &other));
    known_add(&k, &reused); /* of the tree, too */
    assert_true(known_has(&k, 100, &reused));
    for (int64_t pid = 1000; pid < 1200; pid++)
        known_add(&k, &(struct proc){.pid = pid, .start_ticks = (uint64_t)pid});
    assert_int_equal(k.n, 202);
    for (int64_t pid = 1000; pid < 1200; pid++)
        assert_true(known_has(&k, pid, &(struct proc){.pid = pid, .start_ticks = (uint64_t)pid}));
    known_done(&k);
}

/* Two children, one with a child of its own: all are killed, those of this process are reaped, and none is left. */
static void kill_and_reap(void **state)
{
    (void)state;
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t first = fork();
    if (first == 0) {
        pid_t second = fork();
        if (write(ready[1], &second, sizeof second) < 0)
            _exit(1);
        for (;;)
            pause();
    }
    pid_t third = fork(), pid;
    if (third == 0)
        _exit(5);
    for (int i = 0; i < 2; i++) /* of the second and of its parent: each a write of its own */
        assert_int_equal(read(ready[0], &pid, sizeof pid), sizeof pid);
    bool ended = false;
    int status = -1;
    while (!ended)
        assert_true(proc_reap(third, &ended, &status)); /* the first is still there */
    assert_int_equal(status, 5);
    proc_kill_below(getpid());
    ended = false;
    for (bool left = true; left;)
        left = proc_reap(first, &ended, &status);
    assert_true(ended);
    assert_int_equal(status, 128 + SIGKILL);
    close(ready[0]);
    close(ready[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pid_means_one_process),
        cmocka_unit_test(kill_and_reap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
