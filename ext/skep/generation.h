/* The page that a fork wipes, for those who read the pid at the price of a load. */
#ifndef SKEP_GENERATION_H
#define SKEP_GENERATION_H

#include "skep.h"

/* Finished Fixnums; 0 in a process that didn't ask yet. */
struct skep_generation_page {
    VALUE pid;     /* this process */
    VALUE count;   /* of forks, as a fact */
    VALUE noticed; /* the same, once the listener knows */
};

/* NULL where the kernel wipes no page. */
extern volatile struct skep_generation_page *skep_generation_page
    __attribute__((visibility("hidden")));

VALUE skep_generation_refill(void) __attribute__((visibility("hidden")));

static inline VALUE
skep_generation_pid(void)
{
    VALUE pid = skep_generation_page->pid;

    return RB_LIKELY(pid) ? pid : skep_generation_refill();
}

#endif
