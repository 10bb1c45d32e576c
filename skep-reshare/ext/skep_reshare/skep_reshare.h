/* Shared by the files of this extension: see heap_page_slab.c and cow_restore.c. */
#ifndef SKEP_RESHARE_H
#define SKEP_RESHARE_H

/* Ruby's methods and headers have parameters that not each function uses. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* First, as it defines _GNU_SOURCE for memfd_create, F_ADD_SEALS, madvise and dl_iterate_phdr. */
#include <ruby.h>

/* The memory of the records of Ruby's heap pages. */
struct skep_slab {
    char *from;   /* NULL before it is installed */
    char *ready;  /* accessible up to here */
    char *end;
    char *next;   /* the first slot that was never used */
    size_t slot;  /* bytes of one */
    size_t slots; /* in use */
};

const struct skep_slab *skep_slab(void);

void skep_init_cow_restore(VALUE module);

#endif
