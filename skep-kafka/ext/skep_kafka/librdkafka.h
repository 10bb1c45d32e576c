/*
 * The part of librdkafka's API that this extension uses. skep declares it itself: rdkafka.h isn't
 * installed where skep's gem is built, and there is no library to link with. The functions are looked
 * up at run time, in the library that Skep::Kafka::Librdkafka::Bindings has loaded. From rdkafka.h,
 * whose rd_kafka_message_t is part of its stable ABI.
 */
#ifndef SKEP_KAFKA_LIBRDKAFKA_H
#define SKEP_KAFKA_LIBRDKAFKA_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* rd_kafka_message_t */
struct skep_rd_kafka_message {
    int err; /* 0, or the error of the partition that this is instead of a message */
    void *topic;
    int32_t partition;
    void *payload; /* or the error's message */
    size_t payload_size;
    void *key;
    size_t key_size;
    int64_t offset;
    void *internal;
};

/* The functions, by their names without "rd_kafka_". */
struct skep_librdkafka {
    ssize_t (*consume_batch_queue)(void *queue, int ms, struct skep_rd_kafka_message **slots,
                                   size_t count);
    void (*message_destroy)(struct skep_rd_kafka_message *message);
    int64_t (*message_timestamp)(const struct skep_rd_kafka_message *message, int *type);
    int (*message_headers)(const struct skep_rd_kafka_message *message, void **headers);
    int (*header_get_all)(const void *headers, size_t index, const char **name, const void **value,
                          size_t *size);
    const char *(*err2str)(int err);
};

extern struct skep_librdkafka skep_librdkafka __attribute__((visibility("hidden")));

#endif
