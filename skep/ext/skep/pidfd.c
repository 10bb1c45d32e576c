/*
 * Skep::OS::Pidfd over pidfd_open(2). The fd belongs to @io, an IO with autoclose: it is closed
 * once, by Pidfd#close or by the garbage collector. Exit statuses: waitid(2) for our children,
 * PIDFD_GET_INFO for others. No wait holds the GVL.
 */
#include "descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* For headers older than the kernel. */
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

#define SKEP_P_PIDFD 3
#define SKEP_PIDFD_SIGNAL_PROCESS_GROUP (1U << 2)

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

static int
skep_pidfd_open(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

static int
skep_pidfd_send(int fd, int number, unsigned int flags)
{
    return (int)syscall(SYS_pidfd_send_signal, fd, number, NULL, flags);
}

static VALUE
skep_pidfd_attach(VALUE self)
{
    pid_t pid = NUM2PIDT(rb_iv_get(self, "@pid"));
    int fd;

    if (!NIL_P(rb_iv_get(self, "@io"))) return Qnil; /* adopted */
    fd = skep_pidfd_open(pid);
    if (fd < 0 && skep_freed_fds(errno)) fd = skep_pidfd_open(pid);
    if (fd < 0) rb_sys_fail("pidfd_open(2)");
    rb_iv_set(self, "@io", skep_own_fd(fd, O_RDONLY));
    return Qnil;
}

static VALUE
skep_pidfd_running(VALUE self)
{
    struct pollfd look = { .fd = skep_fd_of(self, "@io"), .events = POLLIN };
    int ready;

    do ready = poll(&look, 1, 0);
    while (ready < 0 && errno == EINTR);
    if (ready < 0) rb_sys_fail("poll(2)");
    return ready ? Qfalse : Qtrue;
}

/*
 * rb_io_wait releases the GVL, continues after EINTR, and calls a Fiber scheduler first. After a
 * signal at the deadline it returns false without a look (rb_thread_wait_for_single_fd), hence poll.
 */
static VALUE
skep_pidfd_gone(VALUE self, VALUE timeout)
{
    VALUE ready = rb_io_wait(rb_iv_get(self, "@io"), INT2FIX(RUBY_IO_READABLE), timeout);

    return RTEST(ready) || !RTEST(skep_pidfd_running(self)) ? Qtrue : Qfalse;
}

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
static VALUE
skep_pidfd_reap(VALUE self, VALUE settle)
{
    VALUE io = rb_iv_get(self, "@io");

    if (skep_pidfd_reap_child(self, rb_io_descriptor(io))) return Qnil;
    if (skep_pidfd_ask_kernel(self, rb_io_descriptor(io)) != 0) return Qnil;
    rb_io_wait(io, INT2FIX(RUBY_IO_PRIORITY), settle);
    skep_pidfd_ask_kernel(self, rb_io_descriptor(io));
    return Qnil;
}

/* Before Linux 6.9 a group is signalled by number, which its unreaped leader keeps from reuse. */
static int
skep_pidfd_send_group(int fd, int number, pid_t pid)
{
    if (skep_pidfd_send(fd, number, SKEP_PIDFD_SIGNAL_PROCESS_GROUP) == 0) return 0;
    if (errno != EINVAL || skep_pidfd_send(fd, 0, 0) < 0) return -1;
    return kill(-pid, number);
}

static VALUE
skep_pidfd_deliver(VALUE self, VALUE number, VALUE group)
{
    int fd = skep_fd_of(self, "@io");
    pid_t pid = NUM2PIDT(rb_iv_get(self, "@pid"));
    int sent = RTEST(group) ? skep_pidfd_send_group(fd, NUM2INT(number), pid)
                            : skep_pidfd_send(fd, NUM2INT(number), 0);

    if (sent < 0) rb_sys_fail("pidfd_send_signal(2)");
    return Qnil;
}

static VALUE
skep_pidfd_witness(VALUE self)
{
    return rb_iv_get(self, "@io");
}

static VALUE
skep_pidfd_release(VALUE self)
{
    VALUE io = rb_iv_get(self, "@io");

    return NIL_P(io) ? Qnil : rb_io_close(io);
}

/* Linux 5.4 has the calls, but some sandboxes refuse them. */
static int
skep_pidfd_works(void)
{
    siginfo_t info;
    int fd = skep_pidfd_open(getpid());
    int works;

    if (fd < 0) return 0;
    works = skep_pidfd_send(fd, 0, 0) == 0 &&
            waitid((idtype_t)SKEP_P_PIDFD, (id_t)fd, &info, WEXITED | WNOHANG) < 0 && errno == ECHILD;
    close(fd);
    return works;
}

void
skep_init_pidfd(VALUE os)
{
    VALUE pidfd = rb_define_class_under(os, "Pidfd", rb_cObject);

    if (!skep_pidfd_works()) return;
    rb_define_private_method(pidfd, "attach", skep_pidfd_attach, 0);
    rb_define_private_method(pidfd, "running?", skep_pidfd_running, 0);
    rb_define_private_method(pidfd, "gone?", skep_pidfd_gone, 1);
    rb_define_private_method(pidfd, "reap", skep_pidfd_reap, 1);
    rb_define_private_method(pidfd, "deliver", skep_pidfd_deliver, 2);
    rb_define_private_method(pidfd, "witness", skep_pidfd_witness, 0);
    rb_define_private_method(pidfd, "release", skep_pidfd_release, 0);
}
