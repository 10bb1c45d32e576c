/* What several files of this extension do with file descriptors. */
#ifndef SKEP_DESCRIPTORS_H
#define SKEP_DESCRIPTORS_H

#include "skep.h"

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

#endif
