/* Where the records of Ruby's heap pages lie; see heap_page_slab.c and cow_restore.c. */
#ifndef SKEP_SLAB_H
#define SKEP_SLAB_H

#include <stddef.h>

struct skep_slab {
    char *from;   /* the room; NULL before it is installed */
    char *ready;  /* up to here it may be touched */
    char *end;
    char *next;   /* the first slot never handed out */
    size_t slot;  /* bytes of one */
    size_t slots; /* handed out now */
};

const struct skep_slab *skep_slab(void);

#endif
