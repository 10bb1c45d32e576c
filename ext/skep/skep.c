/*
 * The C of skep's os room: system calls and what must be fast, no policy. Linux only.
 * Loaded last by lib/skep/os/native.rb: the classes are there, each with its Ruby twin.
 */
#include "skep.h"

#include <errno.h>

VALUE
skep_own_fd(int fd, int flags)
{
    rb_update_max_fd(fd);
    return rb_io_fdopen(fd, flags, NULL);
}

int
skep_freed_fds(int error)
{
    if (error != EMFILE && error != ENFILE) return 0;
    rb_gc();
    return 1;
}

void
Init_skep_ext(void)
{
    VALUE skep = rb_define_module("Skep");
    VALUE os = rb_define_module_under(skep, "OS");

    skep_init_pidfd(os);
    skep_init_poller(os);
    skep_init_page(os);
    skep_init_prctl(os);
    skep_init_memory(os);
    skep_init_generation(os);
    skep_init_pid_cache(os);
    skep_init_huge_pages(os);
    skep_init_slab(os);
    skep_init_reshare(os);
}
