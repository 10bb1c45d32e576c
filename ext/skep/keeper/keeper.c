/*
 * Keeps signals while a Ruby starts: skep_keeper.so, preloaded (ld.so(8)) into the program that
 * HeldSignals hands them to. Knows no Ruby, so that any Ruby can have it.
 *
 * Whatever is blocked over execve(2) Ruby unblocks in its start, long before its program can have a
 * handler, and would end by it. It leaves alone handlers that it finds. So before its first
 * instruction each signal gets one that writes its number to a pipe, which the program reads once
 * it has handlers of its own.
 *
 * SKEP_KEEPER is "descriptor number number …"; SKEP_PRELOADED what else was to be preloaded. Neither
 * they nor we are seen by what the program executes.
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static int skep_keeper_pipe;

static void
skep_keeper_note(int number)
{
    unsigned char byte = (unsigned char)number;
    int saved = errno;
    ssize_t written = write(skep_keeper_pipe, &byte, 1);

    (void)written; /* full: as many are enough */
    errno = saved;
}

static void
skep_keeper_keep(char *numbers)
{
    struct sigaction note = { .sa_handler = skep_keeper_note, .sa_flags = SA_RESTART };
    sigset_t set;
    char *end;
    long number;

    sigemptyset(&set);
    for (; (number = strtol(numbers, &end, 10)) > 0; numbers = end) {
        sigaction((int)number, &note, NULL);
        sigaddset(&set, (int)number);
    }
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void
skep_keeper_hide(void)
{
    const char *others = getenv("SKEP_PRELOADED");

    if (others && *others) setenv("LD_PRELOAD", others, 1);
    else unsetenv("LD_PRELOAD");
    unsetenv("SKEP_PRELOADED");
    unsetenv("SKEP_KEEPER");
}

__attribute__((constructor)) static void
skep_keeper_begin(void)
{
    char *how = getenv("SKEP_KEEPER"), *numbers;

    if (!how) return;
    skep_keeper_pipe = (int)strtol(how, &numbers, 10);
    skep_keeper_keep(numbers);
    skep_keeper_hide();
}
