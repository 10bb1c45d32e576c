/*
 * Skep::OS::SignalHandoff over pthread_sigmask(3): keeps signals pending until another program is
 * executed. Blocked and pending signals survive execve(2); signal_preload/signal_preload.c continues
 * there.
 *
 * Ruby has threads that block no signals. So these handlers replace Ruby's until the exec: a thread
 * that receives a signal blocks them all and sends it to the process again. SIGURG makes each thread
 * do so before the exec: a thread that execve ends might otherwise have received one already.
 */
#include "skep.h"

#include <dirent.h>
#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define SKEP_MOST_HELD 16
#define SKEP_ANSWER 1 /* second, for the threads to block them */

static struct {
    int numbers[SKEP_MOST_HELD];
    struct sigaction before[SKEP_MOST_HELD], urgent;
    int count;
    sem_t answers;
} skep_handoff;

/* Calls only what signal-safety(7) allows. */
static void
skep_handoff_give_back(int number, siginfo_t *info, void *context)
{
    ucontext_t *thread = context;
    int saved = errno, i;

    for (i = 0; i < skep_handoff.count; i++) sigaddset(&thread->uc_sigmask, skep_handoff.numbers[i]);
    if (number == SIGURG) sem_post(&skep_handoff.answers);
    else kill(getpid(), number);
    errno = saved;
}

static void
skep_handoff_set(sigset_t *set)
{
    int i;

    sigemptyset(set);
    for (i = 0; i < skep_handoff.count; i++) sigaddset(set, skep_handoff.numbers[i]);
}

static void
skep_handoff_read(VALUE numbers)
{
    long count = RARRAY_LEN(numbers), i;

    if (count > SKEP_MOST_HELD) rb_raise(rb_eArgError, "%d signals at most", SKEP_MOST_HELD);
    for (i = 0; i < count; i++) skep_handoff.numbers[i] = NUM2INT(rb_ary_entry(numbers, i));
    skep_handoff.count = (int)count;
}

/* Sends SIGURG to each other thread; returns their number. */
static int
skep_handoff_ask(void)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *task;
    int asked = 0;

    if (!tasks) return 0;
    while ((task = readdir(tasks))) {
        int thread = atoi(task->d_name);

        if (thread <= 0 || thread == syscall(SYS_gettid)) continue;
        if (syscall(SYS_tgkill, getpid(), thread, SIGURG) == 0) asked++;
    }
    closedir(tasks);
    return asked;
}

static void
skep_handoff_agree(void)
{
    struct timespec until;
    int left;

    clock_gettime(CLOCK_REALTIME, &until); /* the only clock of sem_timedwait(3) */
    until.tv_sec += SKEP_ANSWER;
    for (left = skep_handoff_ask(); left > 0; left--) {
        while (sem_timedwait(&skep_handoff.answers, &until) < 0)
            if (errno != EINTR) return; /* a thread has ended meanwhile */
    }
}

static VALUE
skep_handoff_take_back(VALUE self)
{
    sigset_t set;
    int i;

    skep_handoff_set(&set);
    for (i = 0; i < skep_handoff.count; i++) sigaction(skep_handoff.numbers[i], &skep_handoff.before[i], NULL);
    sigaction(SIGURG, &skep_handoff.urgent, NULL);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    rb_thread_check_ints();
    return Qtrue;
}

static VALUE
skep_handoff_check_ints(VALUE self)
{
    rb_thread_check_ints();
    return Qtrue;
}

/* If it raises, as by one of Ruby's handlers, no signal stays blocked. */
static VALUE
skep_handoff_hold(VALUE self, VALUE numbers)
{
    struct sigaction ours = { .sa_sigaction = skep_handoff_give_back,
                              .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK };
    sigset_t set;
    int i, raised;

    skep_handoff_read(numbers);
    skep_handoff_set(&set);
    ours.sa_mask = set;
    if (sem_init(&skep_handoff.answers, 0, 0) < 0) rb_sys_fail("sem_init(3)");
    sigaction(SIGURG, &ours, &skep_handoff.urgent);
    for (i = 0; i < skep_handoff.count; i++) sigaction(skep_handoff.numbers[i], &ours, &skep_handoff.before[i]);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    skep_handoff_agree();
    rb_protect(skep_handoff_check_ints, self, &raised); /* runs Ruby's handlers of earlier signals */
    if (!raised) return Qtrue;
    rb_protect(skep_handoff_take_back, self, &i); /* the first error is raised */
    rb_jump_tag(raised);
}

void
skep_init_signal_handoff(VALUE os)
{
    VALUE module = rb_define_module_under(os, "SignalHandoff");
    VALUE singleton = rb_singleton_class(module);

    rb_define_singleton_method(module, "take_back", skep_handoff_take_back, 0);
    rb_define_private_method(singleton, "block", skep_handoff_hold, 1);
}
