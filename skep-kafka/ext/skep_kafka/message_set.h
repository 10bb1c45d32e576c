/* The declarations that the files of skep_kafka.so share. */
#ifndef SKEP_KAFKA_MESSAGE_SET_H
#define SKEP_KAFKA_MESSAGE_SET_H

/* Methods have parameters that they don't use, and so have functions in Ruby's headers. */
#pragma GCC diagnostic ignored "-Wunused-parameter"
/* First, as it defines _GNU_SOURCE for RTLD_NODELETE. */
#include <ruby.h>

#include "cell.h"
#include "librdkafka.h"

#pragma GCC visibility push(hidden)

/* A message, which points into the message set's `text`, with a large payload into a string. */
struct skep_record {
    int64_t offset;
    int64_t milliseconds;
    long large;          /* the payload's index among the large ones, -1: it isn't one */
    const char *payload; /* NULL: none */
    const char *key;
    const char *headers; /* see skep_headers_read */
    size_t payload_size;
    size_t key_size;
    size_t header_count;
};

enum skep_ended {
    SKEP_ENDED = 1,    /* after the current message, or after the first one */
    SKEP_ENDED_AT_ONCE /* even before the first message */
};

/* Messages of one partition. `records` and `text` are from malloc(3). */
struct skep_message_set {
    VALUE topic;
    VALUE large; /* an Array of frozen strings; 0: no payload is large */
    int32_t partition;
    size_t count;
    size_t bytes;                /* of records and text */
    size_t large_bytes;          /* of large payloads */
    int64_t last_yielded_offset; /* by the tracked loop, -1: none */
    long tracked;                /* the number of that loop, 0: none */
    int ended;                   /* 0 or one of skep_ended: when each_tracked with an ownership ends */
    struct skep_record *records;
    char *text;
};

/* Returns a new and empty MessageSet::Packed. */
VALUE skep_message_set_new(VALUE topic, int32_t partition, struct skep_message_set **message_set);
struct skep_message_set *skep_message_set_get(VALUE self);

/* Allocates memory for the messages among these; -1 without memory. Errors are left out. */
int skep_message_set_prepare(struct skep_message_set *message_set,
                             struct skep_rd_kafka_message **slots, size_t count);

/* Makes strings for large payloads, after that. May raise NoMemoryError. */
void skep_message_set_prepare_large(VALUE self);

/* Copies them into that memory. Needs no GVL. */
void skep_message_set_copy(struct skep_message_set *message_set,
                           struct skep_rd_kafka_message **slots, size_t count);

/* Makes memory for `count` messages. The caller keeps the object alive while it makes them. */
struct skep_message_slab;
VALUE skep_message_slab_new(size_t count, struct skep_message_slab **slab);

/* Makes the slab's next message, a Message::Packed. */
VALUE skep_message_new(VALUE message_set, const struct skep_record *record,
                       struct skep_message_slab *slab);
VALUE skep_message_payload_of(VALUE message_set, const struct skep_record *record);

/* Returns the size of a message's headers, and their number. */
size_t skep_headers_size(const struct skep_rd_kafka_message *message, size_t *count);
/* Writes them; returns the end of what was written. */
char *skep_headers_write(const struct skep_rd_kafka_message *message, size_t count, char *to);
/* Returns them as a frozen Hash. */
VALUE skep_headers_read(const char *from, size_t count);

void skep_init_librdkafka(VALUE kafka);
void skep_init_message_set(VALUE kafka);
void skep_init_message(VALUE kafka);
void skep_init_headers(VALUE kafka);
void skep_init_partition_queue(VALUE kafka);

#pragma GCC visibility pop

#endif
