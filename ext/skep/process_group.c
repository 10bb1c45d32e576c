/* Skep::OS::ProcessTree::ProcessGroup over setpgid(2) and kill(2). */
#include "skep.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define SKEP_ZOMBIE_STACK 16384

static int
skep_process_group_exit(void *nothing)
{
    _exit(0);
}

/*
 * Makes a zombie, whose empty process group we join. It sends no SIGCHLD, so that no other code reaps
 * it. It shares our memory until it exits, so that nothing is copied. Signals are blocked: a handler
 * must not run in it.
 */
static pid_t
skep_process_group_make_zombie(void)
{
    _Alignas(16) char stack[SKEP_ZOMBIE_STACK];
    sigset_t all, before;
    pid_t pid;
    int error;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid = clone(skep_process_group_exit, stack + sizeof(stack), CLONE_VM | CLONE_VFORK, NULL);
    error = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return pid;
}

/* We have left the group, but our pid is its number, so that it isn't reused. */
static int
skep_process_group_kill_rest(pid_t group, pid_t zombie)
{
    if (setpgid(zombie, zombie) < 0 || setpgid(0, zombie) < 0) return -1;
    return kill(-group, SIGKILL) == 0 || errno == ESRCH ? 0 : -1;
}

static VALUE
skep_process_group_kill_others(VALUE self)
{
    pid_t group = getpgrp(), zombie;
    int killed, error;

    if (group != getpid()) return Qfalse;
    zombie = skep_process_group_make_zombie();
    if (zombie < 0) rb_sys_fail("clone(2)");
    killed = skep_process_group_kill_rest(group, zombie);
    error = errno;
    while (waitpid(zombie, NULL, __WALL) < 0 && errno == EINTR) {}
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
