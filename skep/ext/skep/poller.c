/*
 * Skep::OS::EventLoop::Poller over epoll(7). The set belongs to @epoll, an IO. An epoll fd is
 * readable if one of its descriptors is ready: rb_io_wait waits for that, without the GVL and with
 * the Fiber scheduler, and epoll_wait only collects. It collects at the deadline, too: after a
 * signal rb_io_wait returns false without a look.
 */
#include "descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>

#define SKEP_EVENTS 64

static VALUE
skep_poller_open(VALUE self)
{
    int fd = epoll_create1(EPOLL_CLOEXEC);

    if (fd < 0 && skep_freed_fds(errno)) fd = epoll_create1(EPOLL_CLOEXEC);
    if (fd < 0) rb_sys_fail("epoll_create1(2)");
    return rb_iv_set(self, "@epoll", skep_own_fd(fd, O_RDONLY));
}

/* Adds an fd to the set, changes what it waits for if it is there (`armed`), or removes it. */
static VALUE
skep_poller_arm(VALUE self, VALUE armed, VALUE fd, VALUE serial, VALUE read, VALUE write)
{
    struct epoll_event event = { .events = 0 };
    int operation = RTEST(armed) ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

    event.data.u64 = NUM2ULL(serial);
    if (RTEST(read)) event.events |= EPOLLIN | EPOLLRDHUP;
    if (RTEST(write)) event.events |= EPOLLOUT;
    if (!event.events) operation = EPOLL_CTL_DEL;
    if (epoll_ctl(skep_fd_of(self, "@epoll"), operation, NUM2INT(fd), &event) < 0)
        rb_sys_fail("epoll_ctl(2)");
    return Qnil;
}

static VALUE
skep_poller_event(const struct epoll_event *event)
{
    const uint32_t broken = EPOLLHUP | EPOLLERR;

    return rb_ary_new_from_args(3, ULL2NUM(event->data.u64),
                                event->events & (EPOLLIN | EPOLLRDHUP | broken) ? Qtrue : Qfalse,
                                event->events & (EPOLLOUT | broken) ? Qtrue : Qfalse);
}

/* Returns [[serial, readable, writable], ...], at most SKEP_EVENTS; the others follow next time. */
static VALUE
skep_poller_collect(VALUE self, VALUE seconds)
{
    struct epoll_event events[SKEP_EVENTS];
    VALUE epoll = rb_iv_get(self, "@epoll");
    VALUE found = rb_ary_new();
    int count, i;

    rb_io_wait(epoll, INT2FIX(RUBY_IO_READABLE), seconds);
    do count = epoll_wait(rb_io_descriptor(epoll), events, SKEP_EVENTS, 0);
    while (count < 0 && errno == EINTR);
    if (count < 0) rb_sys_fail("epoll_wait(2)");
    for (i = 0; i < count; i++) rb_ary_push(found, skep_poller_event(&events[i]));
    return found;
}

void
skep_init_poller(VALUE loop)
{
    VALUE poller = rb_define_class_under(loop, "Poller", rb_cObject);
    VALUE epoll = rb_define_module_under(poller, "Epoll");

    rb_define_private_method(epoll, "epoll_open", skep_poller_open, 0);
    rb_define_private_method(epoll, "epoll_arm", skep_poller_arm, 5);
    rb_define_private_method(epoll, "epoll_collect", skep_poller_collect, 1);
    rb_include_module(poller, epoll);
}
