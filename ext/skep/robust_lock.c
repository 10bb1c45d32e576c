/*
 * A robust lock of the C library, since that owns each thread's list of them (get_robust_list(2)):
 * at the end of its holder, before anything of that is torn down, the kernel marks the lock's futex
 * and wakes one of its waiters. The holder sets FUTEX_WAITERS itself, for without it nobody is woken.
 *
 * The claim is a word of its own: generation << 32 | slot << 2 | state. Its generation moves each
 * time it is opened, so that who saw the dead holder of one can't claim after another. Who finds a
 * lock held by nobody, and no claim to be had, waits on the claim's lower half instead.
 * https://docs.kernel.org/locking/robust-futexes.html, futex_waitv in futex2's documentation.
 */
#define _GNU_SOURCE /* pthread_mutexattr_setrobust, syscall in C99 */
#include "robust_lock.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* For headers older than the kernel. */
#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
#ifndef SYS_futex
#define SYS_futex SYS_futex_time64
#endif

#define SKEP_FUTEX_32 2U
#define SKEP_LOCK_FIRST 8
#define SKEP_LOCK_WORDS 6
#define SKEP_CLAIM 15
#define SKEP_CLAIM_STATE 3U

enum { SKEP_CLOSED, SKEP_OPEN, SKEP_CLAIMED };

/* Seconds have 64 bits here, whatever this machine's timespec has. */
struct skep_time {
    int64_t seconds;
    int64_t nanoseconds;
};

static ptrdiff_t skep_robust_lock_offset = -1; /* of the futex in a pthread_mutex_t */

static pthread_mutex_t *
skep_robust_lock_mutex(const struct skep_cell *cell)
{
    return (pthread_mutex_t *)&cell->words[SKEP_LOCK_FIRST];
}

static uint32_t *
skep_robust_lock_futex(const struct skep_cell *cell)
{
    return (uint32_t *)((char *)skep_robust_lock_mutex(cell) + skep_robust_lock_offset);
}

static uint32_t
skep_robust_lock_look(const struct skep_cell *cell)
{
    return __atomic_load_n(skep_robust_lock_futex(cell), __ATOMIC_SEQ_CST);
}

/* The half in which the state is. */
static uint32_t *
skep_claim_futex(const struct skep_cell *cell)
{
    return (uint32_t *)&cell->words[SKEP_CLAIM] + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

static uint64_t
skep_claim_look(const struct skep_cell *cell)
{
    return __atomic_load_n(&cell->words[SKEP_CLAIM], __ATOMIC_SEQ_CST);
}

static void
skep_futex_wake(const uint32_t *word, int flags)
{
    syscall(SYS_futex, word, FUTEX_WAKE | flags, INT_MAX, NULL, NULL, 0);
}

static uint32_t
skep_thread(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

static int
skep_robust_lock_init(pthread_mutex_t *mutex)
{
    pthread_mutexattr_t robust;
    int error = pthread_mutexattr_init(&robust);

    if (error) return error;
    if (!(error = pthread_mutexattr_setpshared(&robust, PTHREAD_PROCESS_SHARED)) &&
        !(error = pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST)))
        error = pthread_mutex_init(mutex, &robust);
    pthread_mutexattr_destroy(&robust);
    return error;
}

/* The lock taken last is the first of the thread's list; at its offset the kernel looks for us. */
static ptrdiff_t
skep_robust_lock_measure(pthread_mutex_t *held)
{
    struct robust_list_head *head = NULL;
    size_t size = 0;
    uintptr_t futex;
    ptrdiff_t offset;

    if (syscall(SYS_get_robust_list, 0, &head, &size) < 0 || !head || size != sizeof(*head)) return -1;
    futex = ((uintptr_t)head->list.next & ~(uintptr_t)1) + (uintptr_t)head->futex_offset;
    offset = (ptrdiff_t)(futex - (uintptr_t)held);
    if (offset < 0 || (size_t)offset > sizeof(*held) - sizeof(uint32_t) || offset % 4) return -1;
    return (*(uint32_t *)futex & FUTEX_TID_MASK) == skep_thread() ? offset : -1;
}

/* Asked to wait for nothing, a kernel that could says that this makes no sense. */
int
skep_robust_lock_learn(void)
{
    pthread_mutex_t probe;

    if (sizeof(probe) > SKEP_LOCK_WORDS * sizeof(uint64_t)) return 0;
    if (syscall(SYS_futex_waitv, NULL, 0, 0, NULL, 0) >= 0 || errno != EINVAL) return 0;
    if (skep_robust_lock_init(&probe) != 0) return 0;
    if (pthread_mutex_lock(&probe) == 0) {
        skep_robust_lock_offset = skep_robust_lock_measure(&probe);
        pthread_mutex_unlock(&probe);
    }
    pthread_mutex_destroy(&probe);
    return skep_robust_lock_offset >= 0;
}

int
skep_robust_lock_prepare(struct skep_cell *cell)
{
    uint64_t generation = skep_claim_look(cell) >> 32;
    int error;

    memset(skep_robust_lock_mutex(cell), 0, SKEP_LOCK_WORDS * sizeof(uint64_t));
    if ((error = skep_robust_lock_init(skep_robust_lock_mutex(cell)))) return error;
    __atomic_store_n(&cell->words[SKEP_CLAIM], (generation + 1) << 32 | SKEP_CLOSED, __ATOMIC_SEQ_CST);
    return 0;
}

int
skep_robust_lock_prepared(const struct skep_cell *cell)
{
    return skep_claim_look(cell) != 0;
}

int
skep_robust_lock_hold(struct skep_cell *cell)
{
    pthread_mutex_t *mutex = skep_robust_lock_mutex(cell);
    int error = pthread_mutex_trylock(mutex);

    if (error == EOWNERDEAD) error = pthread_mutex_consistent(mutex);
    if (!error) __atomic_or_fetch(skep_robust_lock_futex(cell), FUTEX_WAITERS, __ATOMIC_SEQ_CST);
    return error;
}

int
skep_robust_lock_let_go(struct skep_cell *cell)
{
    return pthread_mutex_unlock(skep_robust_lock_mutex(cell));
}

pid_t
skep_robust_lock_holder(const struct skep_cell *cell)
{
    return (pid_t)(skep_robust_lock_look(cell) & FUTEX_TID_MASK);
}

int
skep_robust_lock_dead(const struct skep_cell *cell)
{
    uint32_t futex = skep_robust_lock_look(cell);

    return (futex & FUTEX_OWNER_DIED) && !(futex & FUTEX_TID_MASK);
}

void
skep_robust_lock_open(struct skep_cell *cell)
{
    uint64_t claim = skep_claim_look(cell);

    while ((claim & SKEP_CLAIM_STATE) != SKEP_OPEN) {
        uint64_t open = ((claim >> 32) + 1) << 32 | SKEP_OPEN;

        if (__atomic_compare_exchange_n(&cell->words[SKEP_CLAIM], &claim, open, 0,
                                        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) break;
    }
    skep_futex_wake(skep_claim_futex(cell), 0);
}

static long
skep_claim_slot(uint64_t claim)
{
    return (claim & SKEP_CLAIM_STATE) == SKEP_CLAIMED ? (long)((uint32_t)claim >> 2) : -1;
}

long
skep_robust_lock_close(struct skep_cell *cell)
{
    uint64_t claim = skep_claim_look(cell);

    while (!__atomic_compare_exchange_n(&cell->words[SKEP_CLAIM], &claim,
                                        claim >> 32 << 32 | SKEP_CLOSED, 0,
                                        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    return skep_claim_slot(claim);
}

/* The claim is read before the lock: who is gone was of that generation, or the exchange fails. */
int
skep_robust_lock_claim(struct skep_cell *cell, uint32_t slot)
{
    uint64_t claim = skep_claim_look(cell);

    if ((claim & SKEP_CLAIM_STATE) != SKEP_OPEN || skep_robust_lock_holder(cell)) return 0;
    return __atomic_compare_exchange_n(&cell->words[SKEP_CLAIM], &claim,
                                       claim >> 32 << 32 | (uint64_t)slot << 2 | SKEP_CLAIMED, 0,
                                       __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

long
skep_robust_lock_claimer(const struct skep_cell *cell)
{
    return skep_claim_slot(skep_claim_look(cell));
}

int
skep_robust_lock_claimable(const struct skep_cell *cell)
{
    return (skep_claim_look(cell) & SKEP_CLAIM_STATE) == SKEP_OPEN && !skep_robust_lock_holder(cell);
}

static struct skep_waiter
skep_waiter(const uint32_t *word, uint32_t value, uint32_t flags)
{
    struct skep_waiter waiter = { .value = value, .address = (uintptr_t)word,
                                  .flags = SKEP_FUTEX_32 | flags };

    return waiter;
}

struct skep_waiter
skep_robust_lock_waiter(const struct skep_cell *cell)
{
    uint32_t *claim = skep_claim_futex(cell);

    if (!skep_robust_lock_holder(cell)) return skep_waiter(claim, __atomic_load_n(claim, __ATOMIC_SEQ_CST), 0);
    return skep_waiter(skep_robust_lock_futex(cell), skep_robust_lock_look(cell), 0);
}

struct skep_waiter
skep_robust_lock_private_waiter(const uint32_t *word)
{
    return skep_waiter(word, 0, FUTEX_PRIVATE_FLAG);
}

void
skep_robust_lock_wake_private(uint32_t *word, uint32_t bits)
{
    __atomic_or_fetch(word, bits, __ATOMIC_SEQ_CST);
    skep_futex_wake(word, FUTEX_PRIVATE_FLAG);
}

void
skep_robust_lock_wake(const struct skep_cell *cell)
{
    skep_futex_wake(skep_robust_lock_futex(cell), 0);
}

int
skep_robust_lock_wait(struct skep_waiter *waiters, unsigned count, int64_t deadline)
{
    struct skep_time until = { .seconds = deadline / 1000000000, .nanoseconds = deadline % 1000000000 };

    return (int)syscall(SYS_futex_waitv, waiters, count, 0, deadline < 0 ? NULL : &until,
                        CLOCK_MONOTONIC);
}
