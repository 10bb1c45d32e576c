/*
 * The C of skep's os room: system calls and what must be fast, no policy. Linux only.
 * Loaded last by lib/skep/os/native.rb: the classes are there, each with its Ruby fallback.
 */
#include "skep.h"

#include <errno.h>
#include <sys/mman.h>

#define SKEP_MFD_NOEXEC_SEAL 8U

VALUE
skep_own_fd(int fd, int flags)
{
    rb_update_max_fd(fd);
    return rb_io_fdopen(fd, flags, NULL);
}

/* Linux 6.3 wants to be told that it needn't be executable, older kernels refuse to hear it. */
int
skep_memfd(const char *name)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | SKEP_MFD_NOEXEC_SEAL);

    if (fd >= 0 || errno != EINVAL) return fd;
    return memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
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
    skep_init_shared_page(os);
    skep_init_prctl(os);
    skep_init_memory(os);
    skep_init_holes(os);
    skep_init_generation(os);
    skep_init_pid_cache(os);
    skep_init_huge_pages(os);
    skep_init_heap_page_slab(os);
    skep_init_cow_restore(os);
    skep_init_fork_probe(os);
    skep_init_ready_now(os);
    skep_init_parent_watch(os);
    skep_init_process_group(os);
    skep_init_file_lock(os);
    skep_init_signal_handoff(os);
}
