/*
 * Skep::OS::ProcessTree::ParentDeathWatch over PR_SET_PDEATHSIG, prctl(2): what keeps an orphan from staying for ever,
 * even one that is stopped or that holds the GVL.
 *
 * The kernel sends SIGCONT when our parent dies, which resumes us if we are stopped. The handler
 * asks who our parent is now, and unless that is family sets a timer, whose signal is SIGCONT again:
 * then the process group is killed. It calls what signal-safety(7) allows and Ruby not at all.
 */
#include "skep.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_timer_settime /* 32 bits and no time of that size */
#define SYS_timer_settime SYS_timer_settime64
#endif

#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif

#define SKEP_PIDFD_SIGNAL_PROCESS_GROUP (1U << 2)
#define SKEP_LIFELINE_AGAIN 100000000 /* ns; a SIGSTOP throws a SIGCONT away that is still pending */

static struct {
    pid_t owner; /* a forked process inherits the handler, and is none of ours */
    pid_t family[2];
    int mold_group; /* the pidfd of a process that nobody may be left to clear up after, or -1 */
    struct timespec patience;
    int timed, timer; /* timers aren't inherited */
    int orphan;
    struct sigaction before; /* the application's */
} skep_parent_watch;

/* Before we lead a group of our own it is our parent's. The dead parent's, which may be reaped, can
 * be reached by its pidfd only (Linux 6.9). */
static void
skep_parent_watch_end(void)
{
    if (skep_parent_watch.mold_group >= 0) {
        syscall(SYS_pidfd_send_signal, skep_parent_watch.mold_group, SIGKILL, NULL,
                SKEP_PIDFD_SIGNAL_PROCESS_GROUP);
    }
    if (getpgrp() == getpid()) kill(0, SIGKILL);
    kill(getpid(), SIGKILL);
}

/* The C library's timer_create(3) isn't safe in a handler; the system call is. */
static int
skep_parent_watch_set_timer(void)
{
    struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGCONT };
    struct itimerspec at = { .it_value = skep_parent_watch.patience,
                             .it_interval = { .tv_nsec = SKEP_LIFELINE_AGAIN } };

    event.sigev_value.sival_ptr = &skep_parent_watch;
    if (!skep_parent_watch.timed &&
        syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &skep_parent_watch.timer) < 0) return 0;
    skep_parent_watch.timed = 1;
    return syscall(SYS_timer_settime, skep_parent_watch.timer, 0, &at, NULL) == 0;
}

/* The parent we have is alive. It is family, or who adopts orphans: an ancestor of the family. */
static int
skep_parent_watch_holds(void)
{
    pid_t parent = getppid();

    return parent == skep_parent_watch.family[0] || parent == skep_parent_watch.family[1];
}

static void
skep_parent_watch_look(void)
{
    const struct timespec *patience = &skep_parent_watch.patience;

    if (skep_parent_watch_holds() || __atomic_exchange_n(&skep_parent_watch.orphan, 1, __ATOMIC_SEQ_CST))
        return;
    if ((patience->tv_sec == 0 && patience->tv_nsec == 0) || !skep_parent_watch_set_timer())
        skep_parent_watch_end();
}

static void
skep_parent_watch_pass_on(int number, siginfo_t *info, void *context)
{
    const struct sigaction *before = &skep_parent_watch.before;

    if (before->sa_flags & SA_SIGINFO) before->sa_sigaction(number, info, context);
    else if (before->sa_handler != SIG_DFL && before->sa_handler != SIG_IGN) before->sa_handler(number);
}

static void
skep_parent_watch_hear(int number, siginfo_t *info, void *context)
{
    int saved = errno;

    if (getpid() == __atomic_load_n(&skep_parent_watch.owner, __ATOMIC_SEQ_CST)) {
        if (info->si_code == SI_TIMER && info->si_value.sival_ptr == &skep_parent_watch) skep_parent_watch_end();
        skep_parent_watch_look();
    }
    skep_parent_watch_pass_on(number, info, context);
    errno = saved;
}

/* In front of whatever handler there is, which it passes the signal on to. */
static void
skep_parent_watch_listen(void)
{
    struct sigaction ours = { .sa_sigaction = skep_parent_watch_hear,
                              .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK };
    struct sigaction now;

    if (sigaction(SIGCONT, NULL, &now) < 0) rb_sys_fail("sigaction(2)");
    if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == skep_parent_watch_hear) return;
    skep_parent_watch.before = now;
    sigemptyset(&ours.sa_mask);
    if (sigaction(SIGCONT, &ours, NULL) < 0) rb_sys_fail("sigaction(2)");
}

static VALUE
skep_parent_watch_renew(VALUE self)
{
    if (getpid() != skep_parent_watch.owner) return Qfalse;
    skep_parent_watch_listen();
    if (prctl(PR_SET_PDEATHSIG, SIGCONT, 0, 0, 0) < 0) rb_sys_fail("prctl(PR_SET_PDEATHSIG)");
    skep_parent_watch_look(); /* it may have died before */
    return Qtrue;
}

static VALUE
skep_parent_watch_hold(VALUE self, VALUE parent, VALUE subreaper, VALUE nanoseconds, VALUE mold_group)
{
    long long patience = NUM2LL(nanoseconds);

    if (skep_parent_watch.owner != getpid()) skep_parent_watch.timed = 0;
    /* From here on no handler looks at what is half written. */
    __atomic_store_n(&skep_parent_watch.owner, 0, __ATOMIC_SEQ_CST);
    skep_parent_watch.family[0] = NUM2PIDT(parent);
    skep_parent_watch.family[1] = NUM2PIDT(subreaper);
    skep_parent_watch.mold_group = NIL_P(mold_group) ? -1 : rb_io_descriptor(mold_group);
    skep_parent_watch.patience.tv_sec = (time_t)(patience / 1000000000);
    skep_parent_watch.patience.tv_nsec = (long)(patience % 1000000000);
    skep_parent_watch.orphan = 0;
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
