/*
 * The sequence lock of a cell. The writer never waits, and may be killed between any two
 * instructions: it never writes to the buffer in use.
 */
#define _GNU_SOURCE /* clock_gettime in C99 */
#include "cell.h"

#include <string.h>

#define SKEP_NONE 0xffff

_Static_assert(sizeof(struct skep_cell) == SKEP_CELL, "a cell is 1,024 bytes");

/* The fence orders this blob's bytes after the last blob's sequence. */
void
skep_cell_write(struct skep_cell *cell, const char *bytes, uint16_t length)
{
    uint64_t sequence = __atomic_load_n(&cell->words[0], __ATOMIC_RELAXED) + 1;
    struct skep_blob *blob = &cell->blobs[sequence % 2];

    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    blob->length = length;
    if (length <= SKEP_BLOB) memcpy(blob->bytes, bytes, length);
    __atomic_store_n(&cell->words[0], sequence, __ATOMIC_RELEASE);
}

#define SKEP_TRIES 100 /* a writer that a reader meets so often writes all the time */

/*
 * The copy is valid only if the sequence has not changed meanwhile. Returns 0 without a blob, and if
 * none could be read: a node can write anything to its cells, also without end, and the supervisor
 * must not wait for that.
 */
int
skep_cell_read(const struct skep_cell *cell, struct skep_blob *copy)
{
    uint64_t before, after;
    int tries;

    for (tries = 0; tries < SKEP_TRIES; tries++) {
        before = __atomic_load_n(&cell->words[0], __ATOMIC_ACQUIRE);
        if (before == 0) return 0;
        memcpy(copy, &cell->blobs[before % 2], sizeof(*copy));
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        after = __atomic_load_n(&cell->words[0], __ATOMIC_RELAXED);
        if (before == after) return copy->length <= SKEP_BLOB;
    }
    return 0;
}

void
skep_cell_clear(struct skep_cell *cell)
{
    int word;

    skep_cell_write(cell, NULL, SKEP_NONE);
    for (word = SKEP_BEAT; word < SKEP_WORDS; word++)
        __atomic_store_n(&cell->words[word], 0, __ATOMIC_RELEASE);
}
