/* Skep::OS::FileLock over fcntl(2), F_SETLK: a process' lock, which forked children don't have. */
#include "skep.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static VALUE
skep_file_lock_take(VALUE self, VALUE file)
{
    struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

    if (fcntl(rb_io_descriptor(file), F_SETLK, &whole) == 0) return Qtrue;
    if (errno != EACCES && errno != EAGAIN) rb_sys_fail("fcntl(F_SETLK)");
    return Qfalse;
}

/* 0 is a holder in a PID namespace that isn't visible here. */
static VALUE
skep_file_lock_holder(VALUE self, VALUE file)
{
    struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

    if (fcntl(rb_io_descriptor(file), F_GETLK, &whole) < 0) rb_sys_fail("fcntl(F_GETLK)");
    return whole.l_type == F_UNLCK || whole.l_pid == 0 ? Qnil : PIDT2NUM(whole.l_pid);
}

void
skep_init_file_lock(VALUE os)
{
    VALUE module = rb_define_module_under(os, "FileLock");

    rb_define_singleton_method(module, "take", skep_file_lock_take, 1);
    rb_define_singleton_method(module, "holder", skep_file_lock_holder, 1);
}
