/*
 * The functions of librdkafka that the C extension of Skep::Kafka::Librdkafka::PartitionQueue calls. A test pushes the
 * messages, among them some that no broker sends. `live` is the number of messages that are not destroyed.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#define MOST 1000

struct message {
    int err;
    void *topic;
    int32_t partition;
    void *payload;
    size_t payload_size;
    void *key;
    size_t key_size;
    int64_t offset;
    void *internal;
};

static struct message *waiting[MOST];
static int first, last;
int live;

/* A size below 0 stands for no payload, or no key. */
struct message *
push(int err, long payload_size, long key_size)
{
    struct message *message = calloc(1, sizeof(*message));

    message->err = err;
    message->offset = last;
    message->payload_size = payload_size < 0 ? 0 : payload_size;
    if (payload_size >= 0) message->payload = memset(malloc(payload_size + 1), 'p', payload_size);
    message->key_size = key_size < 0 ? 0 : key_size;
    if (key_size >= 0) message->key = memset(malloc(key_size + 1), 'k', key_size);
    live++;
    return waiting[last++] = message;
}

void
resize(struct message *message, long payload_size, long key_size)
{
    message->payload_size = payload_size;
    message->key_size = key_size;
}

ssize_t
rd_kafka_consume_batch_queue(void *queue, int ms, struct message **slots, size_t count)
{
    size_t i;

    if (ms != 0) abort();
    for (i = 0; i < count && first < last; i++) slots[i] = waiting[first++];
    return i ? (ssize_t)i : -1;
}

void
rd_kafka_message_destroy(struct message *message)
{
    free(message->payload);
    free(message->key);
    free(message);
    live--;
}

int64_t
rd_kafka_message_timestamp(const struct message *message, int *type)
{
    return message->offset == 1 ? -1 : 1234567890123;
}

/* The headers of the message at offset 2 can't be read. */
int
rd_kafka_message_headers(const struct message *message, void **headers)
{
    return message->offset == 2 ? -199 : -156;
}

int
rd_kafka_header_get_all(const void *headers, size_t index, const char **name, const void **value,
                        size_t *size)
{
    return -156;
}

const char *
rd_kafka_err2str(int err)
{
    return "Local: something";
}

void *
rd_kafka_queue_get_partition(void *handle, const char *topic, int32_t partition)
{
    return &live;
}

void
rd_kafka_queue_forward(void *queue, void *to)
{
}

void
rd_kafka_queue_io_event_enable(void *queue, int fd, const void *payload, size_t size)
{
}

void
rd_kafka_queue_destroy(void *queue)
{
}

void *
rd_kafka_topic_partition_list_new(int size)
{
    return calloc(1, 64);
}

void *
rd_kafka_topic_partition_list_add(void *list, const char *topic, int32_t partition)
{
    return list;
}

void
rd_kafka_topic_partition_list_destroy(void *list)
{
    free(list);
}
