/*
 * Starts a process that ends at once and waits for it, repeatedly for some milliseconds, at least ten times. Prints the
 * median in microseconds and the number of mappings of the process, as JSON.
 *
 *   tax HOW MILLISECONDS [MAPPINGS [MEGABYTES [HUGE]]]
 *
 * HOW is fork, vfork, or the path of a program, which posix_spawn(3) starts. It creates MAPPINGS more mappings and
 * writes to one page of each. It writes to MEGABYTES, in huge pages if HUGE is 1. Without arguments it ends at once, so
 * that it can be the started program.
 *
 * Builds with glibc, musl and dietlibc.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifndef __dietlibc__
#include <spawn.h>
#endif

#ifndef MADV_HUGEPAGE
#define MADV_HUGEPAGE 14
#define MADV_NOHUGEPAGE 15
#endif
#ifndef PR_SET_THP_DISABLE
#define PR_SET_THP_DISABLE 41
#endif
#define MEGABYTE 1048576UL
#define HUGE_PAGE (2 * MEGABYTE)
#define LEAST_TURNS 10
#define MOST_TURNS 100000
#define WARM_TURNS 3

extern char **environ;

static void
die(const char *what)
{
    perror(what);
    exit(1);
}

static double
now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e6 + time.tv_nsec / 1e3;
}

static char *
map(void *where, size_t size, int flags)
{
    char *place = mmap(where, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

    if (place == MAP_FAILED) die("mmap");
    return place;
}

/* Returns the number in the first line with this name of a file in /proc/self; without a name, the number of lines. */
static long
look(const char *path, const char *name)
{
    FILE *file = fopen(path, "r");
    char line[512];
    long count = 0;

    if (!file) die(path);
    while (fgets(line, sizeof line, file)) {
        if (!name) count++;
        else if (!strncmp(line, name, strlen(name))) count = atol(line + strlen(name));
    }
    fclose(file);
    return count;
}

/* Maps every second page of a hole, so that the kernel can't merge them. */
static void
add_mappings(size_t count)
{
    size_t page = sysconf(_SC_PAGESIZE);
    char *hole;

    if (!count) return;
    hole = map(NULL, 2 * count * page, MAP_NORESERVE);
    if (munmap(hole, 2 * count * page) < 0) die("munmap");
    for (size_t index = 0; index < count; index++) *map(hole + 2 * index * page, page, MAP_FIXED) = 1;
}

static void
add_memory(size_t size, int huge)
{
    char *place;

    if (!size) return;
    place = map(NULL, size + HUGE_PAGE, MAP_NORESERVE);
    place = (char *)(((unsigned long)place + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1));
    if (madvise(place, size, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) < 0 && huge) die("madvise(MADV_HUGEPAGE)");
    memset(place, 1, size);
    if (huge && look("/proc/self/smaps_rollup", "AnonHugePages:") * 1024UL < size / 2) {
        fprintf(stderr, "the kernel gave no huge pages\n");
        exit(1);
    }
}

static pid_t
start(const char *how)
{
    pid_t pid;

    if (!strcmp(how, "fork")) {
        if (!(pid = fork())) _exit(0);
    } else if (!strcmp(how, "vfork")) {
        if (!(pid = vfork())) _exit(0);
    } else {
#ifdef __dietlibc__
        pid = -1;
#else
        char *argv[] = {(char *)how, NULL};

        if (posix_spawn(&pid, how, NULL, NULL, argv, environ)) pid = -1;
#endif
    }
    if (pid < 0) die(how);
    return pid;
}

static double
turn(const char *how)
{
    double began = now();
    int status;

    if (waitpid(start(how), &status, 0) < 0) die("waitpid");
    if (status) die("the child");
    return now() - began;
}

static int
compare(const void *left, const void *right)
{
    double difference = *(const double *)left - *(const double *)right;

    return (difference > 0) - (difference < 0);
}

int
main(int argc, char **argv)
{
    static double figures[MOST_TURNS];
    double end;
    long turns = 0;

    if (argc < 3) return 0;
    /* A Ruby that started this program has disabled huge pages for it, too. */
    if (argc > 5 && atoi(argv[5])) prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
    add_mappings(argc > 3 ? strtoul(argv[3], NULL, 10) : 0);
    add_memory(argc > 4 ? strtoul(argv[4], NULL, 10) * MEGABYTE : 0, argc > 5 && atoi(argv[5]));
    for (long warm = 0; warm < WARM_TURNS; warm++) turn(argv[1]);
    end = now() + atol(argv[2]) * 1e3;
    while (turns < LEAST_TURNS || (turns < MOST_TURNS && now() < end)) figures[turns++] = turn(argv[1]);
    qsort(figures, turns, sizeof figures[0], compare);
    printf("{\"us\": %.3f, \"mappings\": %ld}\n", figures[turns / 2], look("/proc/self/maps", NULL));
    return 0;
}
