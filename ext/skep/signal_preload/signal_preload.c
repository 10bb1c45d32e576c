/*
 * Keeps signals while a Ruby program starts: skep_signal_preload.so, which SignalHandoff preloads
 * (ld.so(8)) into the new program. It doesn't use Ruby, so that it works with any version.
 *
 * Ruby unblocks all signals when it starts, long before the program installs its handlers, and a
 * pending signal would end it. But Ruby keeps handlers that are installed already. So before Ruby
 * starts, each signal gets a handler that writes its number to a pipe. The program reads the pipe
 * once it has its own handlers.
 *
 * SKEP_SIGNAL_PRELOAD is "descriptor number number …"; SKEP_PRELOADED the previous LD_PRELOAD. Both
 * are removed, so that programs that this one executes don't inherit them.
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

    (void)written; /* a full pipe holds enough signals */
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
