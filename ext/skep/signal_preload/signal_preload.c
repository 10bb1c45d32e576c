/*
 * Keeps signals while a Ruby starts: skep_signal_preload.so, preloaded (ld.so(8)) into the program that
 * SignalHandoff hands them to. Knows no Ruby, so that any Ruby can have it.
 *
 * Whatever is blocked over execve(2) Ruby unblocks in its start, long before its program can have a
 * handler, and would end by it. It leaves alone handlers that it finds. So before its first
 * instruction each signal gets one that writes its number to a pipe, which the program reads once
 * it has handlers of its own.
 *
 * SKEP_SIGNAL_PRELOAD is "descriptor number number …"; SKEP_PRELOADED what else was to be preloaded. Neither
 * they nor we are seen by what the program executes.
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static int skep_preload_pipe;

static void
skep_preload_note(int number)
{
    unsigned char byte = (unsigned char)number;
    int saved = errno;
    ssize_t written = write(skep_preload_pipe, &byte, 1);

    (void)written; /* full: as many are enough */
    errno = saved;
}

static void
skep_preload_keep(char *numbers)
{
    struct sigaction note = { .sa_handler = skep_preload_note, .sa_flags = SA_RESTART };
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
skep_preload_hide(void)
{
    const char *others = getenv("SKEP_PRELOADED");

    if (others && *others) setenv("LD_PRELOAD", others, 1);
    else unsetenv("LD_PRELOAD");
    unsetenv("SKEP_PRELOADED");
    unsetenv("SKEP_SIGNAL_PRELOAD");
}

__attribute__((constructor)) static void
skep_preload_begin(void)
{
    char *how = getenv("SKEP_SIGNAL_PRELOAD"), *numbers;

    if (!how) return;
    skep_preload_pipe = (int)strtol(how, &numbers, 10);
    skep_preload_keep(numbers);
    skep_preload_hide();
}
