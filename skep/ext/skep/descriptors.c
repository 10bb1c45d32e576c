/* Makes IOs of descriptors, and memory files. */
#include "descriptors.h"

#include <errno.h>
#include <sys/mman.h>

#define SKEP_MFD_NOEXEC_SEAL 8U

VALUE
skep_own_fd(int fd, int flags)
{
    rb_update_max_fd(fd);
    return rb_io_fdopen(fd, flags, NULL);
}

/* Linux 6.3 warns without MFD_NOEXEC_SEAL, older kernels refuse it. */
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
