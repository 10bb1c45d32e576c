/* What the files of this extension share. Each skep_init_x overrides a Ruby fallback in lib/skep/os. */
#ifndef SKEP_H
#define SKEP_H

/* Ruby calls its methods with parameters that not each of them needs; its own headers have some too. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* First, as it defines _GNU_SOURCE for memfd_create, F_ADD_SEALS, madvise and mincore. */
#include <ruby.h>
#include <ruby/io.h>

/* The instance variable's io as a file descriptor. */
static inline int
skep_fd_of(VALUE self, const char *name)
{
    return rb_io_descriptor(rb_iv_get(self, name));
}

/* An IO that owns the close-on-exec fd. */
VALUE skep_own_fd(int fd, int flags);

/* Out of fds? Then the garbage collector may have closed some: worth a second try. */
int skep_freed_fds(int error);

/* A file in memory that can be sealed, close-on-exec; -1 and errno. */
int skep_memfd(const char *name);

void skep_init_pidfd(VALUE os);
void skep_init_poller(VALUE loop);
void skep_init_shared_page(VALUE os);
void skep_init_prctl(VALUE tree);
void skep_init_memory(VALUE memory);
void skep_init_holes(VALUE memory);
void skep_init_generation(VALUE os);
void skep_init_pid_cache(VALUE os);
void skep_init_huge_pages(VALUE memory);
void skep_init_heap_page_slab(VALUE memory);
void skep_init_cow_restore(VALUE memory);
void skep_init_fork_probe(VALUE tree);
void skep_init_ready_now(VALUE loop);
void skep_init_parent_watch(VALUE tree);
void skep_init_process_group(VALUE tree);
void skep_init_file_lock(VALUE os);
void skep_init_signal_handoff(VALUE os);

#endif
