/*
 * Runs a program in which one system call fails, as under a seccomp filter or on an old kernel.
 *
 *   refuse CALL ERRNO program [arguments]      # exits with 77 if it can't install the filter
 *
 * Source: seccomp(2), SECCOMP_MODE_FILTER.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct { const char *name; int number; } calls[] = {
    { "memfd_create", SYS_memfd_create }, { "epoll_create1", SYS_epoll_create1 },
    { "prctl", SYS_prctl }, { "setpgid", SYS_setpgid }, { "socketpair", SYS_socketpair },
    { "ppoll", SYS_ppoll },
};

static int
number_of(const char *name)
{
    size_t i;

    for (i = 0; i < sizeof(calls) / sizeof(*calls); i++)
        if (strcmp(calls[i].name, name) == 0) return calls[i].number;
    exit(64);
}

int
main(int argc, char **argv)
{
    if (argc < 4) return 64;

    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number_of(argv[1]), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)atoi(argv[2])),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { .len = sizeof(code) / sizeof(*code), .filter = code };

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) return 77;
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0) return 77;
    execvp(argv[3], argv + 3);
    perror(argv[3]);
    return 127;
}
