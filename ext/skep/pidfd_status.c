/* How a process ended: waitid(2) for our children, the kernel's own record for others. */
#include "pidfd.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

/* struct pidfd_info of <linux/pidfd.h>, its first version of 64 bytes (Linux 6.13, exit: 6.15). */
struct skep_pidfd_info {
    uint64_t mask;
    uint64_t cgroup;
    uint32_t pid, tgid, ppid;
    uint32_t ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
    int32_t exit_code;
};
#define SKEP_PIDFD_GET_INFO _IOWR(0xff, 11, struct skep_pidfd_info)
#define SKEP_PIDFD_INFO_EXIT (1U << 3)

static void
skep_pidfd_remember(VALUE self, int status)
{
    rb_last_status_set(status, NUM2PIDT(rb_iv_get(self, "@pid")));
    rb_iv_set(self, "@status", rb_last_status_get());
}

/* waitid(2) tells the parts of a status that wait(2) packs into one int. */
static int
skep_pidfd_pack(const siginfo_t *info)
{
    if (info->si_code == CLD_EXITED) return (info->si_status & 0xff) << 8;
    return (info->si_status & 0x7f) | (info->si_code == CLD_DUMPED ? 0x80 : 0);
}

/* True for a child of ours: reaped, or not to be reaped yet. */
static int
skep_pidfd_reap_child(VALUE self, int fd)
{
    siginfo_t info;

    memset(&info, 0, sizeof(info));
    if (waitid((idtype_t)SKEP_P_PIDFD, (id_t)fd, &info, WEXITED | WNOHANG) < 0) {
        if (errno == ECHILD) return 0;
        rb_sys_fail("waitid(2)");
    }
    if (info.si_pid) skep_pidfd_remember(self, skep_pidfd_pack(&info));
    return 1;
}

/* 1: told; 0: to be told once the process is reaped; -1: the kernel is too old to tell. */
static int
skep_pidfd_ask_kernel(VALUE self, int fd)
{
    struct skep_pidfd_info info;

    memset(&info, 0, sizeof(info));
    info.mask = SKEP_PIDFD_INFO_EXIT;
    /* ESRCH: reaped before this kernel (6.13, 6.14) could tell. */
    if (ioctl(fd, SKEP_PIDFD_GET_INFO, &info) < 0) return -1;
    if (!(info.mask & SKEP_PIDFD_INFO_EXIT)) return 0;
    skep_pidfd_remember(self, info.exit_code);
    return 1;
}

/*
 * Sets @status if it can be had. A stranger's may come once its parent has reaped it: then the
 * pidfd hangs up, which ends a wait for anything, here for urgent data that never come.
 */
VALUE
skep_pidfd_reap(VALUE self, VALUE settle)
{
    VALUE io = rb_iv_get(self, "@io");

    if (skep_pidfd_reap_child(self, rb_io_descriptor(io))) return Qnil;
    if (skep_pidfd_ask_kernel(self, rb_io_descriptor(io)) != 0) return Qnil;
    rb_io_wait(io, INT2FIX(RUBY_IO_PRIORITY), settle);
    skep_pidfd_ask_kernel(self, rb_io_descriptor(io));
    return Qnil;
}
