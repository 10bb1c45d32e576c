/* A cell of a SharedPage; skep/lib/skep/os/shared_page.rb has the layout. Without Ruby. */
#ifndef SKEP_CELL_H
#define SKEP_CELL_H

#include <stdint.h>
#include <time.h>

#define SKEP_CELL 1024
#define SKEP_WORDS 16
#define SKEP_BLOB 438
#define SKEP_BEAT 1

struct skep_blob {
    uint16_t length;
    char bytes[SKEP_BLOB];
};

struct skep_cell {
    uint64_t words[SKEP_WORDS];
    struct skep_blob blobs[2];
    char spare[16];
};

static inline void
skep_cell_beat_by(struct skep_cell *cell, clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    __atomic_store_n(&cell->words[SKEP_BEAT],
                     (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec, __ATOMIC_RELAXED);
}

/* Records the time of a beat. */
static inline void
skep_cell_beat(struct skep_cell *cell)
{
    skep_cell_beat_by(cell, CLOCK_MONOTONIC);
}

/* The same with the time of the kernel's last tick, some milliseconds ago: six times as fast. */
static inline void
skep_cell_beat_roughly(struct skep_cell *cell)
{
#ifdef CLOCK_MONOTONIC_COARSE
    skep_cell_beat_by(cell, CLOCK_MONOTONIC_COARSE);
#else
    skep_cell_beat(cell);
#endif
}

/* Publishes at most SKEP_BLOB bytes as the cell's next blob. */
void skep_cell_write(struct skep_cell *cell, const char *bytes, uint16_t length);

/* Copies the last complete blob; returns false if there is none. */
int skep_cell_read(const struct skep_cell *cell, struct skep_blob *copy);

/* Removes the blob and the beat, and zeroes all words but the sequence. */
void skep_cell_clear(struct skep_cell *cell);

#endif
