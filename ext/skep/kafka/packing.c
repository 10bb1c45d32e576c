/*
 * Copies what librdkafka gave into a haul: keys, payloads and headers into one piece of memory. It
 * has nothing to do with librdkafka from then on, and so outlives the client and a fork.
 */
#include "plane.h"

#include <stdlib.h>
#include <string.h>

/* Ruby's collector is to know of it. */
static void
skep_haul_weigh(struct skep_haul *haul, size_t bytes)
{
    haul->bytes += bytes;
    rb_gc_adjust_memory_usage((ssize_t)bytes);
}

static void
skep_haul_measure(struct skep_record *record, const struct skep_rd_message *message, size_t *bytes)
{
    record->offset = message->offset;
    record->milliseconds = skep_rdkafka.message_timestamp(message, NULL);
    record->payload_size = message->payload_size;
    record->key_size = message->key_size;
    *bytes += record->payload_size + record->key_size;
    *bytes += skep_headers_size(message, &record->header_count);
}

/* Copies if there is something, be it of size 0, and gives where it lies. */
static const char *
skep_haul_put(char **to, const void *from, size_t size)
{
    char *at = *to;

    if (!from) return NULL;
    memcpy(at, from, size);
    *to += size;
    return at;
}

static char *
skep_haul_copy_one(struct skep_record *record, const struct skep_rd_message *message, char *to)
{
    record->payload = skep_haul_put(&to, message->payload, message->payload_size);
    record->key = skep_haul_put(&to, message->key, message->key_size);
    record->headers = to;
    return record->header_count ? skep_headers_write(message, record->header_count, to) : to;
}

static int
skep_haul_fail(struct skep_haul *haul)
{
    free(haul->records);
    haul->records = NULL;
    return -1;
}

/* A byte more than needed: malloc(3) of none may give NULL. */
int
skep_haul_prepare(struct skep_haul *haul, struct skep_rd_message **slots, size_t count)
{
    size_t bytes = 1, messages = 0, i;

    if (!count) return 0;
    haul->records = malloc(count * sizeof(*haul->records));
    if (!haul->records) return -1;
    for (i = 0; i < count; i++)
        if (!slots[i]->err) skep_haul_measure(&haul->records[messages++], slots[i], &bytes);
    haul->text = malloc(bytes);
    if (!haul->text) return skep_haul_fail(haul);
    skep_haul_weigh(haul, count * sizeof(*haul->records) + bytes);
    return 0;
}

void
skep_haul_copy(struct skep_haul *haul, struct skep_rd_message **slots, size_t count)
{
    struct skep_record *record = haul->records;
    char *to = haul->text;
    size_t i;

    for (i = 0; i < count; i++)
        if (!slots[i]->err) to = skep_haul_copy_one(record++, slots[i], to);
    haul->count = (size_t)(record - haul->records);
}
