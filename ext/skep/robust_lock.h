/*
 * A lock in words 8 to 13 of a cell, which the kernel takes from a holder that dies, and a claim in
 * word 15: who may follow the dead. No Ruby in here.
 */
#ifndef SKEP_LOCK_H
#define SKEP_LOCK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cell.h"

/* The kernel's limit (FUTEX_WAITV_MAX), less one for who wants to be heard meanwhile. */
#define SKEP_LOCKS_MOST 127
#define SKEP_SLOTS_MOST (1L << 30)

/* What a wait is made of: for the kernel, since Linux 5.16. */
struct skep_waiter {
    uint64_t value;
    uint64_t address;
    uint32_t flags;
    uint32_t reserved;
};

/* Finds out how the C library's locks look to the kernel; false where there is no using them. */
int skep_robust_lock_learn(void);

/* Makes the lock anew, free, and closes its claim: whoever held it. An error's number, or 0. */
int skep_robust_lock_prepare(struct skep_cell *cell);
int skep_robust_lock_prepared(const struct skep_cell *cell);

/* By the process's first thread, till its end. 0, EBUSY, or another error's number. */
int skep_robust_lock_hold(struct skep_cell *cell);
int skep_robust_lock_let_go(struct skep_cell *cell);

/* Who holds it, 0 for nobody. */
pid_t skep_robust_lock_holder(const struct skep_cell *cell);
int skep_robust_lock_dead(const struct skep_cell *cell);

/* The claim. Close tells the slot that had claimed it, or -1. */
void skep_robust_lock_open(struct skep_cell *cell);
long skep_robust_lock_close(struct skep_cell *cell);
int skep_robust_lock_claim(struct skep_cell *cell, uint32_t slot);
long skep_robust_lock_claimer(const struct skep_cell *cell);

/* Held by nobody, and open to be claimed? */
int skep_robust_lock_claimable(const struct skep_cell *cell);

/* A waiter that is woken when the lock is no more as it is now. */
struct skep_waiter skep_robust_lock_waiter(const struct skep_cell *cell);
/* A waiter on a word of this process alone, as long as it is 0; and the end of its wait, by bits. */
struct skep_waiter skep_robust_lock_private_waiter(const uint32_t *word);
void skep_robust_lock_wake_private(uint32_t *word, uint32_t bits);
/* Wakes all that wait for the lock, to look again. */
void skep_robust_lock_wake(const struct skep_cell *cell);

/* Waits on all of them; 0 when one was woken, else -1 and errno. No deadline: negative. */
int skep_robust_lock_wait(struct skep_waiter *waiters, unsigned count, int64_t deadline);

#endif
