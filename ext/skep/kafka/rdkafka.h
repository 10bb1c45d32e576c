/*
 * What the data plane needs of librdkafka, declared by ourselves: there is no header at hand where
 * the gem is installed, and nothing to link with. Bound at run time, in the very library that
 * Skep::Kafka::Librdkafka::Bindings uses. Source: rdkafka.h, whose rd_kafka_message_t is part of its stable ABI.
 */
#ifndef SKEP_KAFKA_RDKAFKA_H
#define SKEP_KAFKA_RDKAFKA_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* rd_kafka_message_t */
struct skep_rd_message {
    int err; /* of the partition, if it is no message; 0 */
    void *topic;
    int32_t partition;
    void *payload; /* or the error's text */
    size_t payload_size;
    void *key;
    size_t key_size;
    int64_t offset;
    void *internal;
};

/* The functions, by their names without "rd_kafka_". */
struct skep_rdkafka {
    ssize_t (*consume_batch_queue)(void *queue, int ms, struct skep_rd_message **slots, size_t count);
    void (*message_destroy)(struct skep_rd_message *message);
    int64_t (*message_timestamp)(const struct skep_rd_message *message, int *type);
    int (*message_headers)(const struct skep_rd_message *message, void **headers);
    int (*header_get_all)(const void *headers, size_t index, const char **name, const void **value,
                          size_t *size);
    const char *(*err2str)(int err);
};

extern struct skep_rdkafka skep_rdkafka __attribute__((visibility("hidden")));

#endif
