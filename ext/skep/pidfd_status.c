/* Exit statuses: waitid(2) for our children, PIDFD_GET_INFO for others. */
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

/* Packs the parts of a status from waitid(2) into an int as wait(2) returns it. */
static int
skep_pidfd_pack(const siginfo_t *info)
{
    if (info->si_code == CLD_EXITED) return (info->si_status & 0xff) << 8;
    return (info->si_status & 0x7f) | (info->si_code == CLD_DUMPED ? 0x80 : 0);
}

/* Returns true for our child: reaped, or not yet reapable. */
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

/* Returns 1: status set; 0: available once its parent reaps it; -1: the kernel is too old. */
static int
skep_pidfd_ask_kernel(VALUE self, int fd)
{
    struct skep_pidfd_info info;

    memset(&info, 0, sizeof(info));
    info.mask = SKEP_PIDFD_INFO_EXIT;
    /* ESRCH: reaped, and this kernel (6.13, 6.14) keeps no status. */
    if (ioctl(fd, SKEP_PIDFD_GET_INFO, &info) < 0) return -1;
    if (!(info.mask & SKEP_PIDFD_INFO_EXIT)) return 0;
    skep_pidfd_remember(self, info.exit_code);
    return 1;
}

/*
 * Sets @status if it is available. For another's child it is once the parent has reaped it: then
 * the pidfd hangs up, which ends any wait, here for urgent data that never arrive.
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
