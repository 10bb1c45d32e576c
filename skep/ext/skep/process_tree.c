/*
 * Skep::OS::ProcessTree: Prctl over prctl(2), ForkProbe over clone(2), ProcessGroup over setpgid(2)
 * and kill(2). Names of signals become numbers in Ruby.
 */
#include "skep.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define SKEP_ZOMBIE_STACK 16384

static VALUE
skep_prctl_set_subreaper(VALUE self)
{
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0) rb_sys_fail("prctl(PR_SET_CHILD_SUBREAPER)");
    return Qtrue;
}

static VALUE
skep_prctl_send_at_parents_death(VALUE self, VALUE number)
{
    if (prctl(PR_SET_PDEATHSIG, NUM2INT(number), 0, 0, 0) < 0) rb_sys_fail("prctl(PR_SET_PDEATHSIG)");
    return Qtrue;
}

static int
skep_zombie_process(void *nothing)
{
    _exit(0);
}

/*
 * Makes a zombie. It shares our memory until it exits, so that nothing is copied, and sends no
 * SIGCHLD, so that no other code reaps it. Signals are blocked: a handler must not run in it.
 */
static pid_t
skep_zombie_make(void)
{
    char stack[SKEP_ZOMBIE_STACK] __attribute__((aligned(16)));
    sigset_t all, before;
    pid_t pid;
    int error;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid = clone(skep_zombie_process, stack + sizeof(stack), CLONE_VM | CLONE_VFORK, NULL);
    error = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return pid;
}

static void
skep_zombie_reap(pid_t zombie)
{
    while (waitpid(zombie, NULL, __WCLONE) < 0 && errno == EINTR) {}
}

/* An emulator (qemu-user) refuses any clone(2) without SIGCHLD. */
static int
skep_zombie_works(void)
{
    pid_t zombie = skep_zombie_make();

    if (zombie < 0) return errno != EINVAL;
    skep_zombie_reap(zombie);
    return 1;
}

/* A fork would succeed if a zombie can be made. */
static VALUE
skep_fork_probe_check(VALUE self)
{
    pid_t zombie = skep_zombie_make();

    if (zombie < 0) rb_sys_fail("fork(2)");
    skep_zombie_reap(zombie);
    return Qtrue;
}

/* Once we are in the zombie's group, only the others are in ours. Our pid keeps its number from
 * reuse. */
static int
skep_process_group_kill_rest(pid_t group, pid_t zombie)
{
    if (setpgid(zombie, zombie) < 0 || setpgid(0, zombie) < 0) return -1;
    return kill(-group, SIGKILL) == 0 || errno == ESRCH ? 0 : -1;
}

/* At the limit of processes no zombie can be made: the fallback kills one after the other. */
static VALUE
skep_process_group_kill_others(VALUE self)
{
    pid_t group = getpgrp(), zombie;
    int killed, error;

    if (group != getpid()) return Qfalse;
    zombie = skep_zombie_make();
    if (zombie < 0) return rb_call_super(0, NULL);
    killed = skep_process_group_kill_rest(group, zombie);
    error = errno;
    skep_zombie_reap(zombie);
    setpgid(0, 0);
    errno = error;
    if (killed < 0) rb_sys_fail("kill(2) of a process group");
    return Qtrue;
}

void
skep_init_process_tree(VALUE tree)
{
    VALUE prctl = rb_define_module_under(tree, "Prctl");
    VALUE probe = rb_define_module_under(tree, "ForkProbe");
    VALUE group = rb_define_module_under(tree, "ProcessGroup");

    rb_define_singleton_method(prctl, "subreaper!", skep_prctl_set_subreaper, 0);
    rb_define_private_method(rb_singleton_class(prctl), "send_at_parents_death",
                             skep_prctl_send_at_parents_death, 1);
    if (!skep_zombie_works()) return;
    rb_define_singleton_method(probe, "check", skep_fork_probe_check, 0);
    rb_define_singleton_method(group, "kill_others", skep_process_group_kill_others, 0);
}
