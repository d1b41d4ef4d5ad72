/* bench_launch FILE COMMAND...: runs the command and writes one JSON object of what its processes used into the file.
 *
 * A process's peak of memory begins with that of the one that started it; started from here it begins with next to
 * nothing, from Python with Python's. Ends with the command's status. */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "bench.h"

int main(int argc, char **argv)
{
    int status;
    struct rusage u;
    if (argc < 3) {
        fprintf(stderr, "usage: bench_launch FILE COMMAND...\n");
        return 2;
    }
    pid_t child = fork();
    if (child == 0) {
        execvp(argv[2], argv + 2);
        perror(argv[2]);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &u) != child) {
        perror("bench_launch");
        return 1;
    }
    FILE *f = fopen(argv[1], "w");
    if (!f) {
        perror(argv[1]);
        return 1;
    }
    fprintf(f, "{\"user_s\":%.6f,\"system_s\":%.6f,\"rss_kb\":%ld}\n", (double)timeval_us(u.ru_utime) * 1e-6,
            (double)timeval_us(u.ru_stime) * 1e-6, u.ru_maxrss);
    fclose(f);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
