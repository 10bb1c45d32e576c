/* A page's cell: the layout explained in lib/skep/os/page.rb. No Ruby in here. */
#ifndef SKEP_CELL_H
#define SKEP_CELL_H

#include <stdint.h>

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

/* Marks progress, now. */
void skep_cell_beat(struct skep_cell *cell);

/* Publishes at most SKEP_BLOB bytes as the cell's next blob. */
void skep_cell_write(struct skep_cell *cell, const char *bytes, uint16_t length);

/* Copies the last whole blob; false when there is none. */
int skep_cell_read(const struct skep_cell *cell, struct skep_blob *copy);

/* No blob, no beat, words 2 to 7 zero. */
void skep_cell_clear(struct skep_cell *cell);

#endif
