/* Reads a clock: tools/check_pure must find it. */
#include <time.h>

long impure_now(void);

long impure_now(void)
{
    return (long)time(NULL);
}
