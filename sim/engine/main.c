#include <stdio.h>
#include "options.h"
#include "server.h"

int main(int argc, char **argv)
{
    struct options o;
    struct err e = {0};
    if (!options_read(&o, argc - 1, argv + 1, &e)) {
        fprintf(stderr, "jtok-sim-engine: %s\n", e.text);
        return 2;
    }
    return server_run(&o, argc, argv);
}
