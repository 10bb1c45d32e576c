/* Skep::OS::Memory.fill_holes over malloc(3) and glibc's mallinfo2(3).
 *
 * A boot leaves holes of freed memory all over malloc's heap. A child puts its first new strings and
 * tables there, and each copies a whole page for a few bytes. So the holes are allocated before the
 * fork, and a child allocates above them. Holes of whole pages stay: malloc_trim has unmapped their
 * pages, and a child fills them one after the other. */
#include "skep.h"

#ifdef HAVE_MALLINFO2
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

enum { STEP = 2 * sizeof(size_t), LEAST = 2 * STEP, SMALL = 4096, MOST = 65536 };

/* A filled hole; a linked list. */
typedef struct hole {
    struct hole *before;
} hole_t;

/* The range of malloc's main heap, below its unused top. */
typedef struct {
    uintptr_t bottom;
    uintptr_t top;
} span_t;

static hole_t *skep_holes;

static span_t
skep_holes_span(void)
{
    struct mallinfo2 info = mallinfo2();
    uintptr_t top = (uintptr_t)sbrk(0) - info.keepcost;

    return (span_t){ top - info.arena, top };
}

/* Allocates holes of that size, until one is outside of the heap or the sum is `most` bytes. */
static size_t
skep_holes_take(hole_t **taken, size_t size, size_t most, span_t span)
{
    hole_t *hole;
    size_t bytes = 0;

    while (most - bytes >= size && (hole = malloc(size - sizeof(size_t)))) {
        if ((uintptr_t)hole < span.bottom || (uintptr_t)hole >= span.top) {
            free(hole);
            break;
        }
        hole->before = *taken;
        *taken = hole;
        bytes += size;
    }
    return bytes;
}

static void
skep_holes_free(hole_t **taken)
{
    hole_t *hole;

    while ((hole = *taken)) {
        *taken = hole->before;
        free(hole);
    }
}

/* Returns bytes. Allocates large holes first, so that small ones aren't cut from them, and frees
 * these at the end. */
static VALUE
skep_memory_fill_holes(VALUE self, VALUE at_most)
{
    span_t span = skep_holes_span();
    hole_t *large = NULL;
    size_t most = NUM2SIZET(at_most), bytes = 0, size;

    for (size = MOST; size >= SMALL; size -= STEP) skep_holes_take(&large, size, SIZE_MAX, span);
    for (; size >= LEAST; size -= STEP)
        bytes += skep_holes_take(&skep_holes, size, most - bytes, span);
    skep_holes_free(&large);
    return SIZET2NUM(bytes);
}

/* Frees the filled holes. */
static VALUE
skep_memory_open_holes(VALUE self)
{
    skep_holes_free(&skep_holes);
    return Qnil;
}
#endif

void
skep_init_holes(VALUE memory)
{
#ifdef HAVE_MALLINFO2
    rb_define_singleton_method(memory, "fill_holes", skep_memory_fill_holes, 1);
    rb_define_singleton_method(memory, "open_holes", skep_memory_open_holes, 0);
#endif
}
