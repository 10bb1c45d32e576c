/* The page that a fork wipes: reading the pid costs one load. */
#ifndef SKEP_GENERATION_H
#define SKEP_GENERATION_H

#include "skep.h"

/* Fixnums; 0 until this process has filled them. */
struct skep_generation_page {
    VALUE pid;     /* this process */
    VALUE count;   /* of forks */
    VALUE noticed; /* the count that the listener knows */
};

/* NULL if the kernel wipes no page. */
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
