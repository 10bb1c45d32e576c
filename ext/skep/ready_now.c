/* Skep::OS::EventLoop::ReadyNow over poll(2). */
#include "skep.h"

#include <errno.h>
#include <poll.h>

/* True for a file and after a hangup, too: a write doesn't wait then. */
static VALUE
skep_ready_now_writable(VALUE self, VALUE io)
{
    struct pollfd look = { .fd = rb_io_descriptor(io), .events = POLLOUT };
    int ready;

    do ready = poll(&look, 1, 0);
    while (ready < 0 && errno == EINTR);
    if (ready < 0) rb_sys_fail("poll(2)");
    return ready ? Qtrue : Qfalse;
}

void
skep_init_ready_now(VALUE loop)
{
    VALUE look = rb_define_module_under(loop, "ReadyNow");

    rb_define_singleton_method(look, "writable?", skep_ready_now_writable, 1);
}
