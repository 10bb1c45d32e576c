/*
 * Skep::OS::ProcessTree::ForkProbe.check: asks the kernel whether a fork would succeed, by cloning a
 * process that shares our memory and exits at once. It sends no SIGCHLD, and the application's
 * wait(2) doesn't find it. Source: clone(2), CLONE_VFORK and __WCLONE.
 */
#include "skep.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#define SKEP_PROBE_STACK 16384

static int
skep_fork_probe_process(void *nothing)
{
    return 0;
}

/* Signals are blocked: a handler must not run in a process that shares our memory. */
static int
skep_fork_probe_clone(void)
{
    char stack[SKEP_PROBE_STACK] __attribute__((aligned(16)));
    sigset_t all, before;
    int pid, error;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid = clone(skep_fork_probe_process, stack + sizeof(stack), CLONE_VM | CLONE_VFORK, NULL);
    error = errno;
    while (pid > 0 && waitpid(pid, NULL, __WCLONE) < 0 && errno == EINTR) {}
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return pid;
}

static VALUE
skep_fork_probe_check(VALUE self)
{
    if (skep_fork_probe_clone() < 0) rb_sys_fail("fork(2)");
    return Qtrue;
}

void
skep_init_fork_probe(VALUE tree)
{
    VALUE module = rb_define_module_under(tree, "ForkProbe");

    rb_define_singleton_method(module, "check", skep_fork_probe_check, 0);
}
