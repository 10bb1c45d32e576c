/*
 * Prints the nanoseconds of one getpid(2) from C as JSON: the time of a loop of calls minus that of an empty loop, each
 * the minimum of several batches.
 *
 *   getpid TURNS
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BATCHES 15

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
    double calls = 1e12, empty = 1e12;

    for (int batch = 0; batch < BATCHES; batch++) {
        double began = now(), middle, end;

        for (long turn = 0; turn < turns; turn++) sink = turn;
        middle = now();
        for (long turn = 0; turn < turns; turn++) sink = syscall(SYS_getpid);
        end = now();
        if (middle - began < empty) empty = middle - began;
        if (end - middle < calls) calls = end - middle;
    }
    (void)sink;
    printf("%f\n", (calls - empty) / turns);
    return 0;
}
