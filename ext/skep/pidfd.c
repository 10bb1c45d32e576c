/*
 * Skep::OS::Pidfd over pidfd_open(2). The fd belongs to @io, an IO with autoclose: it is closed
 * once, by Pidfd#close or by the garbage collector. The exit status: pidfd_status.c; Pidfd.abandon:
 * pidfd_many.c. No wait holds the GVL.
 */
#include "descriptors.h"
#include "pidfd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
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

#define SKEP_PIDFD_SIGNAL_PROCESS_GROUP (1U << 2)

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
    skep_init_pidfd_many(pidfd);
}
