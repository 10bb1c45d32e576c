/* Skep::OS::ProcessTree::ProcessGroup over setpgid(2) and kill(2). */
#include "skep.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define SKEP_REFUGE_STACK 16384

static int
skep_process_group_refuge(void *nothing)
{
    _exit(0);
}

/*
 * An empty group to go to: that of a zombie, which nobody else can reap, as its end is told by no
 * SIGCHLD. It shares our memory and we wait for its end, so that it costs no copy of anything. No
 * signal may find a handler in it.
 */
static pid_t
skep_process_group_make_refuge(void)
{
    _Alignas(16) char stack[SKEP_REFUGE_STACK];
    sigset_t all, before;
    pid_t pid;
    int error;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid = clone(skep_process_group_refuge, stack + sizeof(stack), CLONE_VM | CLONE_VFORK, NULL);
    error = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return pid;
}

/* We are out of the group, and alive: nobody else can have got its number. */
static int
skep_process_group_kill_rest(pid_t group, pid_t refuge)
{
    if (setpgid(refuge, refuge) < 0 || setpgid(0, refuge) < 0) return -1;
    return kill(-group, SIGKILL) == 0 || errno == ESRCH ? 0 : -1;
}

static VALUE
skep_process_group_kill_others(VALUE self)
{
    pid_t group = getpgrp(), refuge;
    int killed, error;

    if (group != getpid()) return Qfalse;
    refuge = skep_process_group_make_refuge();
    if (refuge < 0) rb_sys_fail("clone(2)");
    killed = skep_process_group_kill_rest(group, refuge);
    error = errno;
    while (waitpid(refuge, NULL, __WALL) < 0 && errno == EINTR) {}
    setpgid(0, 0);
    errno = error;
    if (killed < 0) rb_sys_fail("kill(2) of a process group");
    return Qtrue;
}

void
skep_init_process_group(VALUE tree)
{
    VALUE module = rb_define_module_under(tree, "ProcessGroup");

    rb_define_singleton_method(module, "kill_others", skep_process_group_kill_others, 0);
}
