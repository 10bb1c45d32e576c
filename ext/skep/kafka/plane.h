/* What the files of skep_kafka.so share: the data plane of lib/skep/kafka. */
#ifndef SKEP_KAFKA_PLANE_H
#define SKEP_KAFKA_PLANE_H

/* Ruby calls its methods with parameters that not each of them needs; its own headers have some too. */
#pragma GCC diagnostic ignored "-Wunused-parameter"
/* First, as it defines _GNU_SOURCE for RTLD_NODELETE. */
#include <ruby.h>

#include "cell.h"
#include "rdkafka.h"

#pragma GCC visibility push(hidden)

/* A message, whose bytes lie behind the records in the haul's memory. */
struct skep_record {
    int64_t offset;
    int64_t milliseconds;
    const char *payload; /* NULL: none */
    const char *key;
    const char *headers; /* see skep_headers_read */
    size_t payload_size;
    size_t key_size;
    size_t header_count;
};

enum skep_ended {
    SKEP_ENDED = 1,    /* after the current message, or the first one */
    SKEP_ENDED_AT_ONCE /* even before the first */
};

/* Messages of one partition. All that it points to malloc gave. */
struct skep_haul {
    VALUE topic;
    int32_t partition;
    size_t count;
    size_t bytes; /* of both */
    int64_t given; /* the offset of the message that the tracked loop yielded last, -1: none */
    long tracked;  /* the number of that loop, 0: none */
    int ended; /* 0 or one of skep_ended: when give_out with an ownership ends */
    struct skep_record *records;
    char *text;
};

/* A new and empty Haul::Packed. */
VALUE skep_haul_new(VALUE topic, int32_t partition, struct skep_haul **haul);
struct skep_haul *skep_haul_of(VALUE self);

/* Makes room for the messages among these; -1 where there is no memory. */
int skep_haul_prepare(struct skep_haul *haul, struct skep_rd_message **slots, size_t count);

/* Then copies them, which needs no GVL. */
void skep_haul_copy(struct skep_haul *haul, struct skep_rd_message **slots, size_t count);

/* Where some Message::Packed will lie; an object whose owner must hold it while it makes them. */
struct skep_room;
VALUE skep_room_new(size_t count, struct skep_room **room);

/* The next of them, of what this record holds. */
VALUE skep_message_new(VALUE haul, const struct skep_record *record, struct skep_room *room);
VALUE skep_message_payload_of(const struct skep_record *record);

/* The room that a message's headers take, and their number. */
size_t skep_headers_size(const struct skep_rd_message *message, size_t *count);
/* Writes them; gives the end of what was written. */
char *skep_headers_write(const struct skep_rd_message *message, size_t count, char *to);
/* As a frozen Hash. */
VALUE skep_headers_read(const char *from, size_t count);

void skep_init_rdkafka(VALUE kafka);
void skep_init_haul(VALUE kafka);
void skep_init_message(VALUE kafka);
void skep_init_headers(VALUE kafka);
void skep_init_reader(VALUE kafka);

#pragma GCC visibility pop

#endif
