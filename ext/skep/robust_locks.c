/*
 * Skep::OS::RobustLocks over robust_lock.c, in the cells of @page. The wait is without the GVL; whatever is more
 * urgent ends it by a word of its own, which no wake-up can miss.
 */
#include "shared_page.h"

#include "robust_lock.h"

#include <errno.h>
#include <ruby/thread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SKEP_WOKEN = 1, SKEP_INTERRUPTED = 2 };

struct skep_robust_locks {
    uint32_t woken; /* not 0 from then on until a wait has ended by it */
};

struct skep_wait {
    struct skep_waiter waiters[SKEP_LOCKS_MOST + 1];
    unsigned count;
    int64_t deadline;
    int error;
};

static const rb_data_type_t skep_robust_locks_type = {
    .wrap_struct_name = "Skep::OS::RobustLocks",
    .function = { .dfree = RUBY_TYPED_DEFAULT_FREE },
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static VALUE
skep_robust_locks_allocate(VALUE class)
{
    struct skep_robust_locks *locks;

    return TypedData_Make_Struct(class, struct skep_robust_locks, &skep_robust_locks_type, locks);
}

static struct skep_cell *
skep_robust_locks_cell(VALUE self, VALUE index)
{
    struct skep_cell *cell = skep_shared_page_cell(rb_iv_get(self, "@page"), NUM2LONG(index));

    if (!skep_robust_lock_prepared(cell))
        rb_raise(rb_eArgError, "no lock was prepared in cell %ld", NUM2LONG(index));
    return cell;
}

static VALUE
skep_robust_locks_supported(VALUE self)
{
    return Qtrue;
}

static VALUE
skep_robust_locks_prepare(VALUE self, VALUE index)
{
    int error = skep_robust_lock_prepare(skep_shared_page_cell(rb_iv_get(self, "@page"), NUM2LONG(index)));

    if (error) rb_syserr_fail(error, "pthread_mutex_init(3)");
    return Qnil;
}

/* Only the first thread's end is sure to be the process'. */
static VALUE
skep_robust_locks_hold(VALUE self, VALUE index)
{
    struct skep_cell *cell = skep_robust_locks_cell(self, index);
    int error;

    if (syscall(SYS_gettid) != getpid())
        rb_raise(rb_eThreadError, "a lock is held by a process' first thread alone");
    if (skep_robust_lock_holder(cell) == getpid()) return Qtrue;
    error = skep_robust_lock_hold(cell);
    if (error == EBUSY) return Qfalse;
    if (error) rb_syserr_fail(error, "pthread_mutex_trylock(3)");
    skep_shared_page_pin(rb_iv_get(self, "@page"));
    return Qtrue;
}

static VALUE
skep_robust_locks_let_go(VALUE self, VALUE index)
{
    int error = skep_robust_lock_let_go(skep_robust_locks_cell(self, index));

    if (error == EPERM) return Qfalse;
    if (error) rb_syserr_fail(error, "pthread_mutex_unlock(3)");
    return Qtrue;
}

static VALUE
skep_robust_locks_holder(VALUE self, VALUE index)
{
    pid_t pid = skep_robust_lock_holder(skep_robust_locks_cell(self, index));

    return pid ? PIDT2NUM(pid) : Qnil;
}

static VALUE
skep_robust_locks_dead(VALUE self, VALUE index)
{
    return skep_robust_lock_dead(skep_robust_locks_cell(self, index)) ? Qtrue : Qfalse;
}

static VALUE
skep_robust_locks_open(VALUE self, VALUE index)
{
    skep_robust_lock_open(skep_robust_locks_cell(self, index));
    return Qnil;
}

static VALUE
skep_slot(long slot)
{
    return slot < 0 ? Qnil : LONG2NUM(slot);
}

static VALUE
skep_robust_locks_close(VALUE self, VALUE index)
{
    return skep_slot(skep_robust_lock_close(skep_robust_locks_cell(self, index)));
}

static VALUE
skep_robust_locks_claimer(VALUE self, VALUE index)
{
    return skep_slot(skep_robust_lock_claimer(skep_robust_locks_cell(self, index)));
}

static VALUE
skep_robust_locks_claim(VALUE self, VALUE index, VALUE slot)
{
    long number = NUM2LONG(slot);

    if (number < 0 || number >= SKEP_SLOTS_MOST) rb_raise(rb_eArgError, "no slot has number %ld", number);
    return skep_robust_lock_claim(skep_robust_locks_cell(self, index), (uint32_t)number) ? Qtrue : Qfalse;
}

static VALUE
skep_robust_locks_wake(VALUE self)
{
    struct skep_robust_locks *locks = rb_check_typeddata(self, &skep_robust_locks_type);

    skep_robust_lock_wake_private(&locks->woken, SKEP_WOKEN);
    return Qnil;
}

static void
skep_robust_locks_interrupt(void *woken)
{
    skep_robust_lock_wake_private(woken, SKEP_INTERRUPTED);
}

static void *
skep_robust_locks_sleep(void *data)
{
    struct skep_wait *wait = data;

    wait->error = skep_robust_lock_wait(wait->waiters, wait->count, wait->deadline) < 0 ? errno : 0;
    return NULL;
}

/* The first of the cells that can be claimed, or nil. Others wait for the kernel's word on the rest:
 * of that it may have told us alone. */
static VALUE
skep_robust_locks_find(VALUE self, VALUE cells)
{
    VALUE found = Qnil;
    long i;

    for (i = 0; i < RARRAY_LEN(cells); i++) {
        VALUE index = RARRAY_AREF(cells, i);
        struct skep_cell *cell = skep_robust_locks_cell(self, index);

        if (!skep_robust_lock_claimable(cell)) continue;
        if (NIL_P(found)) found = index;
        else skep_robust_lock_wake(cell);
    }
    return found;
}

static void
skep_robust_locks_gather(VALUE self, VALUE cells, struct skep_wait *wait, uint32_t *woken)
{
    long i;

    wait->count = 0;
    wait->waiters[wait->count++] = skep_robust_lock_private_waiter(woken);
    for (i = 0; i < RARRAY_LEN(cells); i++)
        wait->waiters[wait->count++] = skep_robust_lock_waiter(skep_robust_locks_cell(self, RARRAY_AREF(cells, i)));
}

static int64_t
skep_robust_locks_deadline(VALUE seconds)
{
    struct timespec now;
    double from_now;

    if (NIL_P(seconds)) return -1;
    clock_gettime(CLOCK_MONOTONIC, &now);
    from_now = NUM2DBL(seconds);
    if (!(from_now < 1e9)) return -1;
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec + (int64_t)(from_now > 0 ? from_now * 1e9 : 0);
}

/* Each turn reads the locks first and looks at the claims then: what changes later changes what was
 * read, and the kernel won't sleep on it. Interrupts are Ruby's: it has seen to them when the call
 * without the GVL returns. */
static VALUE
skep_robust_locks_await(VALUE self, VALUE cells, VALUE seconds)
{
    struct skep_robust_locks *locks = rb_check_typeddata(self, &skep_robust_locks_type);
    struct skep_wait wait = { .deadline = skep_robust_locks_deadline(seconds) };
    VALUE found;

    cells = rb_ary_dup(rb_convert_type(cells, T_ARRAY, "Array", "to_ary"));
    if (RARRAY_LEN(cells) > SKEP_LOCKS_MOST)
        rb_raise(rb_eArgError, "%d cells at most, not %ld", SKEP_LOCKS_MOST, RARRAY_LEN(cells));
    for (;;) {
        skep_robust_locks_gather(self, cells, &wait, &locks->woken);
        found = skep_robust_locks_find(self, cells);
        if (!NIL_P(found)) return found;
        if (__atomic_exchange_n(&locks->woken, 0, __ATOMIC_SEQ_CST) & SKEP_WOKEN) return Qnil;
        rb_thread_call_without_gvl(skep_robust_locks_sleep, &wait, skep_robust_locks_interrupt, &locks->woken);
        if (wait.error == ETIMEDOUT) return skep_robust_locks_find(self, cells);
        if (wait.error && wait.error != EAGAIN && wait.error != EINTR)
            rb_syserr_fail(wait.error, "futex_waitv(2)");
    }
}

void
skep_init_robust_locks(VALUE os)
{
    VALUE locks = rb_define_class_under(os, "RobustLocks", rb_cObject);

    if (!skep_robust_lock_learn()) return;
    rb_define_alloc_func(locks, skep_robust_locks_allocate);
    rb_define_singleton_method(locks, "supported?", skep_robust_locks_supported, 0);
    rb_define_method(locks, "prepare", skep_robust_locks_prepare, 1);
    rb_define_method(locks, "hold", skep_robust_locks_hold, 1);
    rb_define_method(locks, "let_go", skep_robust_locks_let_go, 1);
    rb_define_method(locks, "holder", skep_robust_locks_holder, 1);
    rb_define_method(locks, "dead?", skep_robust_locks_dead, 1);
    rb_define_method(locks, "open", skep_robust_locks_open, 1);
    rb_define_method(locks, "close", skep_robust_locks_close, 1);
    rb_define_method(locks, "claim", skep_robust_locks_claim, 2);
    rb_define_method(locks, "claimer", skep_robust_locks_claimer, 1);
    rb_define_method(locks, "await_death", skep_robust_locks_await, 2);
    rb_define_method(locks, "wake", skep_robust_locks_wake, 0);
}
