/*
 * Skep::OS::Pidfd.abandon: a child closes the pidfds of its siblings, which may be a thousand. One
 * by one it takes a thousand system calls and writes to as many Ruby objects, whose pages are then
 * copied. Source: close_range(2), Linux 5.9.
 */
#include "pidfd.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* For headers older than the kernel. */
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

static int
skep_pidfd_compare(const void *one, const void *other)
{
    int a = *(const int *)one, b = *(const int *)other;

    return (a > b) - (a < b);
}

/* Falls back on close(2): some sandboxes refuse new calls. */
static void
skep_pidfd_close_run(int from, int to)
{
    int fd;

    if (syscall(SYS_close_range, from, to, 0) == 0) return;
    for (fd = from; fd <= to; fd++) close(fd);
}

static void
skep_pidfd_close_all(int *fds, long count)
{
    long first = 0, i;

    qsort(fds, count, sizeof(int), skep_pidfd_compare);
    for (i = 1; i <= count; i++) {
        if (i < count && fds[i] == fds[i - 1] + 1) continue;
        skep_pidfd_close_run(fds[first], fds[i - 1]);
        first = i;
    }
}

/* Writes nothing to held pidfds: each write of a child copies a page. */
static VALUE
skep_pidfd_abandon(VALUE self, VALUE pidfds)
{
    ID held = rb_intern("@held"), io = rb_intern("@io");
    VALUE holder, pidfd;
    long most, count = 0, i;
    int *fds;

    Check_Type(pidfds, T_ARRAY);
    most = RARRAY_LEN(pidfds);
    fds = ALLOCV_N(int, holder, most);
    for (i = 0; i < most; i++) {
        pidfd = RARRAY_AREF(pidfds, i);
        if (RTEST(rb_ivar_get(pidfd, held))) fds[count++] = rb_io_descriptor(rb_ivar_get(pidfd, io));
        else rb_funcall(pidfd, rb_intern("close"), 0);
    }
    skep_pidfd_close_all(fds, count);
    ALLOCV_END(holder);
    return Qnil;
}

void
skep_init_pidfd_many(VALUE pidfd)
{
    rb_define_singleton_method(pidfd, "abandon", skep_pidfd_abandon, 1);
}
