/* The memory of the records of Ruby's heap pages; see heap_page_slab.c and cow_restore.c. */
#ifndef SKEP_SLAB_H
#define SKEP_SLAB_H

#include <stddef.h>

struct skep_slab {
    char *from;   /* NULL before it is installed */
    char *ready;  /* accessible up to here */
    char *end;
    char *next;   /* the first slot that was never used */
    size_t slot;  /* bytes of one */
    size_t slots; /* in use */
};

const struct skep_slab *skep_slab(void);

#endif
