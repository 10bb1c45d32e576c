/*
 * Copies messages from librdkafka into a message set: keys, payloads and headers into one allocation,
 * large payloads each into a string. The copy is independent of librdkafka, and so outlives the client
 * and a fork.
 */
#include "message_set.h"

#include <stdlib.h>
#include <string.h>

/* A string costs as much as copying some kilobytes. */
#define SKEP_LARGE_PAYLOAD ((size_t)1 << 16)

/* Reports the memory to Ruby's garbage collector. */
static void
skep_message_set_report_memory(struct skep_message_set *message_set, size_t bytes)
{
    message_set->bytes += bytes;
    rb_gc_adjust_memory_usage((ssize_t)bytes);
}

static void
skep_message_set_measure(struct skep_message_set *message_set, long *large,
                         const struct skep_rd_kafka_message *message, size_t *bytes)
{
    struct skep_record *record = &message_set->records[message_set->count++];

    record->offset = message->offset;
    record->milliseconds = skep_librdkafka.message_timestamp(message, NULL);
    record->payload_size = message->payload_size;
    record->key_size = message->key_size;
    record->large = record->payload_size < SKEP_LARGE_PAYLOAD ? -1 : (*large)++;
    if (record->large < 0) *bytes += record->payload_size;
    else message_set->large_bytes += record->payload_size;
    *bytes += record->key_size + skep_headers_size(message, &record->header_count);
}

/* Copies the bytes, if there are any, and returns the copy: not NULL for 0 bytes. */
static const char *
skep_message_set_put(char **to, const void *from, size_t size)
{
    char *at = *to;

    if (!from) return NULL;
    memcpy(at, from, size);
    *to += size;
    return at;
}

static char *
skep_message_set_copy_one(struct skep_record *record, const struct skep_rd_kafka_message *message,
                          char *to)
{
    if (record->large < 0)
        record->payload = skep_message_set_put(&to, message->payload, message->payload_size);
    else
        memcpy((char *)record->payload, message->payload, message->payload_size);
    record->key = skep_message_set_put(&to, message->key, message->key_size);
    record->headers = to;
    return record->header_count ? skep_headers_write(message, record->header_count, to) : to;
}

static int
skep_message_set_fail(struct skep_message_set *message_set)
{
    free(message_set->records);
    message_set->records = NULL;
    message_set->count = message_set->large_bytes = 0;
    return -1;
}

/* Allocates one byte more than needed: malloc(0) may return NULL. */
int
skep_message_set_prepare(struct skep_message_set *message_set,
                         struct skep_rd_kafka_message **slots, size_t count)
{
    size_t bytes = 1, i;
    long large = 0;

    if (!count) return 0;
    message_set->records = malloc(count * sizeof(*message_set->records));
    if (!message_set->records) return -1;
    for (i = 0; i < count; i++)
        if (!slots[i]->err) skep_message_set_measure(message_set, &large, slots[i], &bytes);
    message_set->text = malloc(bytes);
    if (!message_set->text) return skep_message_set_fail(message_set);
    skep_message_set_report_memory(message_set, count * sizeof(*message_set->records) + bytes);
    return 0;
}

void
skep_message_set_copy(struct skep_message_set *message_set, struct skep_rd_kafka_message **slots,
                      size_t count)
{
    struct skep_record *record = message_set->records;
    char *to = message_set->text;
    size_t i;

    for (i = 0; i < count; i++)
        if (!slots[i]->err) to = skep_message_set_copy_one(record++, slots[i], to);
}
