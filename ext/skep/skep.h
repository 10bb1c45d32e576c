/* Shared by the files of this extension. Each skep_init_x overrides a Ruby fallback in lib/skep/os. */
#ifndef SKEP_H
#define SKEP_H

/* Ruby's methods and headers have parameters that not each function uses. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* First, as it defines _GNU_SOURCE for memfd_create, F_ADD_SEALS, madvise and mincore. */
#include <ruby.h>
#include <ruby/io.h>

/* Returns the file descriptor of the IO in an instance variable. */
static inline int
skep_fd_of(VALUE self, const char *name)
{
    return rb_io_descriptor(rb_iv_get(self, name));
}

/* Returns an IO that owns the close-on-exec fd. */
VALUE skep_own_fd(int fd, int flags);

/* Runs a collection and returns true if no descriptor was left: it may have closed some. */
int skep_freed_fds(int error);

/* Returns a close-on-exec memfd that can be sealed, or -1 and errno. */
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

#endif
