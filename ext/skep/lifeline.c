/*
 * Skep::OS::Lifeline over PR_SET_PDEATHSIG, prctl(2): what keeps an orphan from staying for ever,
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
    int estate; /* the pidfd of a process that nobody may be left to clear up after, or -1 */
    struct timespec patience;
    int timed, timer; /* timers aren't inherited */
    int orphan;
    struct sigaction before; /* the application's */
} skep_lifeline;

/* Before we lead a group of our own it is our parent's. The dead parent's, which may be reaped, can
 * be reached by its pidfd only (Linux 6.9). */
static void
skep_lifeline_end(void)
{
    if (skep_lifeline.estate >= 0) {
        syscall(SYS_pidfd_send_signal, skep_lifeline.estate, SIGKILL, NULL,
                SKEP_PIDFD_SIGNAL_PROCESS_GROUP);
    }
    if (getpgrp() == getpid()) kill(0, SIGKILL);
    kill(getpid(), SIGKILL);
}

/* The C library's timer_create(3) isn't safe in a handler; the system call is. */
static int
skep_lifeline_set_timer(void)
{
    struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGCONT };
    struct itimerspec at = { .it_value = skep_lifeline.patience,
                             .it_interval = { .tv_nsec = SKEP_LIFELINE_AGAIN } };

    event.sigev_value.sival_ptr = &skep_lifeline;
    if (!skep_lifeline.timed &&
        syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &skep_lifeline.timer) < 0) return 0;
    skep_lifeline.timed = 1;
    return syscall(SYS_timer_settime, skep_lifeline.timer, 0, &at, NULL) == 0;
}

/* The parent we have is alive. It is family, or who adopts orphans: an ancestor of the family. */
static int
skep_lifeline_holds(void)
{
    pid_t parent = getppid();

    return parent == skep_lifeline.family[0] || parent == skep_lifeline.family[1];
}

static void
skep_lifeline_look(void)
{
    const struct timespec *patience = &skep_lifeline.patience;

    if (skep_lifeline_holds() || __atomic_exchange_n(&skep_lifeline.orphan, 1, __ATOMIC_SEQ_CST))
        return;
    if ((patience->tv_sec == 0 && patience->tv_nsec == 0) || !skep_lifeline_set_timer())
        skep_lifeline_end();
}

static void
skep_lifeline_pass_on(int number, siginfo_t *info, void *context)
{
    const struct sigaction *before = &skep_lifeline.before;

    if (before->sa_flags & SA_SIGINFO) before->sa_sigaction(number, info, context);
    else if (before->sa_handler != SIG_DFL && before->sa_handler != SIG_IGN) before->sa_handler(number);
}

static void
skep_lifeline_hear(int number, siginfo_t *info, void *context)
{
    int saved = errno;

    if (getpid() == __atomic_load_n(&skep_lifeline.owner, __ATOMIC_SEQ_CST)) {
        if (info->si_code == SI_TIMER && info->si_value.sival_ptr == &skep_lifeline) skep_lifeline_end();
        skep_lifeline_look();
    }
    skep_lifeline_pass_on(number, info, context);
    errno = saved;
}

/* In front of whatever handler there is, which it passes the signal on to. */
static void
skep_lifeline_listen(void)
{
    struct sigaction ours = { .sa_sigaction = skep_lifeline_hear,
                              .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK };
    struct sigaction now;

    if (sigaction(SIGCONT, NULL, &now) < 0) rb_sys_fail("sigaction(2)");
    if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == skep_lifeline_hear) return;
    skep_lifeline.before = now;
    sigemptyset(&ours.sa_mask);
    if (sigaction(SIGCONT, &ours, NULL) < 0) rb_sys_fail("sigaction(2)");
}

static VALUE
skep_lifeline_renew(VALUE self)
{
    if (getpid() != skep_lifeline.owner) return Qfalse;
    skep_lifeline_listen();
    if (prctl(PR_SET_PDEATHSIG, SIGCONT, 0, 0, 0) < 0) rb_sys_fail("prctl(PR_SET_PDEATHSIG)");
    skep_lifeline_look(); /* it may have died before */
    return Qtrue;
}

static VALUE
skep_lifeline_hold(VALUE self, VALUE parent, VALUE keeper, VALUE nanoseconds, VALUE estate)
{
    long long patience = NUM2LL(nanoseconds);

    if (skep_lifeline.owner != getpid()) skep_lifeline.timed = 0;
    /* From here on no handler looks at what is half written. */
    __atomic_store_n(&skep_lifeline.owner, 0, __ATOMIC_SEQ_CST);
    skep_lifeline.family[0] = NUM2PIDT(parent);
    skep_lifeline.family[1] = NUM2PIDT(keeper);
    skep_lifeline.estate = NIL_P(estate) ? -1 : rb_io_descriptor(estate);
    skep_lifeline.patience.tv_sec = (time_t)(patience / 1000000000);
    skep_lifeline.patience.tv_nsec = (long)(patience % 1000000000);
    skep_lifeline.orphan = 0;
    __atomic_store_n(&skep_lifeline.owner, getpid(), __ATOMIC_SEQ_CST);
    return skep_lifeline_renew(self);
}

static VALUE
skep_lifeline_tied(VALUE self)
{
    return getpid() == skep_lifeline.owner ? Qtrue : Qfalse;
}

void
skep_init_lifeline(VALUE os)
{
    VALUE module = rb_define_module_under(os, "Lifeline");

    rb_define_singleton_method(module, "tied?", skep_lifeline_tied, 0);
    rb_define_singleton_method(module, "renew", skep_lifeline_renew, 0);
    rb_define_private_method(rb_singleton_class(module), "hold", skep_lifeline_hold, 4);
}
