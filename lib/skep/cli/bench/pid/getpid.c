/*
 * Nanoseconds that one getpid(2) takes from C, printed as JSON: the call itself, less the loop.
 *
 *   getpid TURNS
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static double
now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

int
main(int argc, char **argv)
{
    long turns = argc > 1 ? atol(argv[1]) : 1;
    volatile long sink = 0;
    double began = now(), middle;

    for (long turn = 0; turn < turns; turn++) sink = turn;
    middle = now();
    for (long turn = 0; turn < turns; turn++) sink = syscall(SYS_getpid);
    printf("%f\n", (now() - middle - (middle - began)) / turns);
    return 0;
}
