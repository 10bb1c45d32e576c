/*
 * Skep::OS::ProcessTree::ParentDeathWatch over PR_SET_PDEATHSIG, prctl(2): ends an orphan, even if it
 * is stopped or holds the GVL.
 *
 * The kernel sends SIGCONT when our parent dies, which also resumes a stopped process. The handler
 * compares our parent with the two that count. If it is neither, the handler sets a timer, whose
 * signal is SIGCONT again; with its third signal the handler kills the process group. It calls only
 * what signal-safety(7) allows, and no Ruby.
 */
#include "skep.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_timer_settime /* 32 bits, with 64 bits of time */
#define SYS_timer_settime SYS_timer_settime64
#endif

#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif

#define SKEP_PIDFD_SIGNAL_PROCESS_GROUP (1U << 2)
#define SKEP_REPEAT 50000000 /* ns; a SIGSTOP discards a pending SIGCONT */
#define SKEP_TICKS 3 /* a process that got no processor meanwhile still has two repeats of time */

static struct {
    pid_t owner; /* a forked child inherits the handler, but isn't watched */
    pid_t parents[2];
    int mold_group; /* the pidfd of the mold, whose group is killed too, or -1 */
    struct timespec grace;
    int timed, timer; /* forked children don't inherit timers */
    int ticks;
    int orphan;
    struct sigaction before; /* the application's handler */
} skep_parent_watch;

/* Kills our group only if we lead it: before, it is the parent's. The group of the dead parent, which
 * may be reaped, is signalled by its pidfd (Linux 6.9). */
static void
skep_parent_watch_kill(void)
{
    if (skep_parent_watch.mold_group >= 0) {
        syscall(SYS_pidfd_send_signal, skep_parent_watch.mold_group, SIGKILL, NULL,
                SKEP_PIDFD_SIGNAL_PROCESS_GROUP);
    }
    if (getpgrp() == getpid()) kill(0, SIGKILL);
    kill(getpid(), SIGKILL);
}

/* timer_create(3) isn't async-signal-safe, the system call is. */
static int
skep_parent_watch_set_timer(void)
{
    struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGCONT };
    struct itimerspec at = { .it_value = skep_parent_watch.grace,
                             .it_interval = { .tv_nsec = SKEP_REPEAT } };

    event.sigev_value.sival_ptr = &skep_parent_watch;
    if (!skep_parent_watch.timed &&
        syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &skep_parent_watch.timer) < 0) return 0;
    skep_parent_watch.timed = 1;
    return syscall(SYS_timer_settime, skep_parent_watch.timer, 0, &at, NULL) == 0;
}

/* Our current parent is alive: one of the two, or else the subreaper that adopted us. */
static int
skep_parent_watch_holds(void)
{
    pid_t parent = getppid();

    return parent == skep_parent_watch.parents[0] || parent == skep_parent_watch.parents[1];
}

static void
skep_parent_watch_check(void)
{
    const struct timespec *grace = &skep_parent_watch.grace;

    if (skep_parent_watch_holds() || __atomic_exchange_n(&skep_parent_watch.orphan, 1, __ATOMIC_SEQ_CST))
        return;
    if ((grace->tv_sec == 0 && grace->tv_nsec == 0) || !skep_parent_watch_set_timer())
        skep_parent_watch_kill();
}

static void
skep_parent_watch_call_previous(int number, siginfo_t *info, void *context)
{
    const struct sigaction *before = &skep_parent_watch.before;

    if (before->sa_flags & SA_SIGINFO) before->sa_sigaction(number, info, context);
    else if (before->sa_handler != SIG_DFL && before->sa_handler != SIG_IGN) before->sa_handler(number);
}

static void
skep_parent_watch_handle(int number, siginfo_t *info, void *context)
{
    int saved = errno;

    if (getpid() == __atomic_load_n(&skep_parent_watch.owner, __ATOMIC_SEQ_CST)) {
        if (info->si_code == SI_TIMER && info->si_value.sival_ptr == &skep_parent_watch &&
            __atomic_add_fetch(&skep_parent_watch.ticks, 1, __ATOMIC_SEQ_CST) >= SKEP_TICKS)
            skep_parent_watch_kill();
        skep_parent_watch_check();
    }
    skep_parent_watch_call_previous(number, info, context);
    errno = saved;
}

/* Installs our handler, which calls the previous one. It runs on the thread's own stack, without
 * SA_ONSTACK: as Ruby ends, it frees the main thread's alternate stack, and the kernel would still
 * put the handler there. */
static void
skep_parent_watch_install(void)
{
    struct sigaction ours = { .sa_sigaction = skep_parent_watch_handle,
                              .sa_flags = SA_SIGINFO | SA_RESTART };
    struct sigaction now;

    if (sigaction(SIGCONT, NULL, &now) < 0) rb_sys_fail("sigaction(2)");
    if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == skep_parent_watch_handle) return;
    skep_parent_watch.before = now;
    sigemptyset(&ours.sa_mask);
    if (sigaction(SIGCONT, &ours, NULL) < 0) rb_sys_fail("sigaction(2)");
}

static VALUE
skep_parent_watch_renew(VALUE self)
{
    if (getpid() != skep_parent_watch.owner) return Qfalse;
    skep_parent_watch_install();
    if (prctl(PR_SET_PDEATHSIG, SIGCONT, 0, 0, 0) < 0) rb_sys_fail("prctl(PR_SET_PDEATHSIG)");
    skep_parent_watch_check(); /* the parent may have died before */
    return Qtrue;
}

static VALUE
skep_parent_watch_hold(VALUE self, VALUE parent, VALUE subreaper, VALUE nanoseconds, VALUE mold_group)
{
    long long grace = NUM2LL(nanoseconds);

    if (skep_parent_watch.owner != getpid()) skep_parent_watch.timed = 0;
    /* From here on the handler ignores the fields, until they are complete. */
    __atomic_store_n(&skep_parent_watch.owner, 0, __ATOMIC_SEQ_CST);
    skep_parent_watch.parents[0] = NUM2PIDT(parent);
    skep_parent_watch.parents[1] = NUM2PIDT(subreaper);
    skep_parent_watch.mold_group = NIL_P(mold_group) ? -1 : rb_io_descriptor(mold_group);
    skep_parent_watch.grace.tv_sec = (time_t)(grace / 1000000000);
    skep_parent_watch.grace.tv_nsec = (long)(grace % 1000000000);
    skep_parent_watch.orphan = skep_parent_watch.ticks = 0;
    __atomic_store_n(&skep_parent_watch.owner, getpid(), __ATOMIC_SEQ_CST);
    return skep_parent_watch_renew(self);
}

static VALUE
skep_parent_watch_watching(VALUE self)
{
    return getpid() == skep_parent_watch.owner ? Qtrue : Qfalse;
}

void
skep_init_parent_watch(VALUE tree)
{
    VALUE module = rb_define_module_under(tree, "ParentDeathWatch");

    rb_define_singleton_method(module, "watching?", skep_parent_watch_watching, 0);
    rb_define_singleton_method(module, "renew", skep_parent_watch_renew, 0);
    rb_define_private_method(rb_singleton_class(module), "hold", skep_parent_watch_hold, 4);
}
