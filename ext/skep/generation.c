/*
 * Skep::OS::Generation: the pid on a page which the kernel wipes in every forked child
 * (MADV_WIPEONFORK, Linux 4.14), so that a zero there tells of a fork, however it was made.
 * Process-wide by nature, hence the statics; touched with the GVL held.
 */
#include "skep.h"

#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

static volatile pid_t *skep_generation_page;
static unsigned long skep_generation_forks;

static pid_t
skep_generation_now(void)
{
    pid_t pid = *skep_generation_page;

    if (RB_LIKELY(pid)) return pid;
    skep_generation_forks++;
    return *skep_generation_page = getpid();
}

static VALUE
skep_generation_pid(VALUE self)
{
    return PIDT2NUM(skep_generation_now());
}

static VALUE
skep_generation_count(VALUE self)
{
    skep_generation_now();
    return ULONG2NUM(skep_generation_forks);
}

void
skep_init_generation(VALUE os)
{
    VALUE module = rb_define_module_under(os, "Generation");
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (page == MAP_FAILED) return;
    if (madvise(page, size, MADV_WIPEONFORK) < 0) {
        munmap(page, size);
        return;
    }
    skep_generation_page = page;
    *skep_generation_page = getpid();
    rb_define_singleton_method(module, "pid", skep_generation_pid, 0);
    rb_define_singleton_method(module, "count", skep_generation_count, 0);
}
