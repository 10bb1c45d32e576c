/*
 * Skep::Kafka::Librdkafka::PartitionQueue#read, over rd_kafka_consume_batch_queue: dequeues messages,
 * copies them into a message set and destroys them, all in one call. It never waits, so it releases
 * the GVL only for large copies: to get the GVL back may take a tenth of a second. Called by
 * Processing::PartitionReader (skep-kafka/lib/skep/kafka/processing/partition_reader.rb).
 *
 * Messages that were dequeued but couldn't be returned (out of memory) stay here and are returned
 * first by the next read: a lost message would be skipped by the next commit.
 */
#include "message_set.h"

#include <ruby/thread.h>

#define SKEP_RELEASE_GVL_BYTES ((size_t)1 << 20)

struct skep_partition_queue {
    void *native; /* rd_kafka_queue_t, NULL once closed */
    VALUE topic;
    int32_t partition;
    size_t limit;
    size_t taken; /* messages in the slots that are not destroyed yet */
    int busy;
    struct skep_rd_kafka_message **slots;
};

/* The arguments of a copy without the GVL. */
struct skep_copying {
    struct skep_message_set *message_set;
    const struct skep_partition_queue *queue;
    int done;
};

static void
skep_partition_queue_mark(void *data)
{
    rb_gc_mark_movable(((struct skep_partition_queue *)data)->topic);
}

static void
skep_partition_queue_compact(void *data)
{
    struct skep_partition_queue *queue = data;

    queue->topic = rb_gc_location(queue->topic);
}

/* Doesn't call librdkafka: the client may be gone, or this may be a forked child. */
static void
skep_partition_queue_free(void *data)
{
    ruby_xfree(((struct skep_partition_queue *)data)->slots);
    ruby_xfree(data);
}

static size_t
skep_partition_queue_size(const void *data)
{
    const struct skep_partition_queue *queue = data;

    return sizeof(*queue) + queue->limit * sizeof(*queue->slots);
}

static const rb_data_type_t skep_partition_queue_type = {
    .wrap_struct_name = "Skep::Kafka::Librdkafka::PartitionQueue",
    .function = { .dmark = skep_partition_queue_mark, .dfree = skep_partition_queue_free,
                  .dsize = skep_partition_queue_size, .dcompact = skep_partition_queue_compact },
    .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

static VALUE
skep_partition_queue_allocate(VALUE class)
{
    struct skep_partition_queue *queue;

    return TypedData_Make_Struct(class, struct skep_partition_queue, &skep_partition_queue_type,
                                 queue);
}

static struct skep_partition_queue *
skep_partition_queue_get(VALUE self)
{
    return rb_check_typeddata(self, &skep_partition_queue_type);
}

/* Raises ThreadError if another thread is reading from the queue. */
static struct skep_partition_queue *
skep_partition_queue_get_idle(VALUE self)
{
    struct skep_partition_queue *queue = skep_partition_queue_get(self);

    if (queue->busy) rb_raise(rb_eThreadError, "another thread is reading from this partition queue");
    return queue;
}

static VALUE
skep_partition_queue_attach(VALUE self, VALUE address, VALUE topic, VALUE partition, VALUE limit)
{
    struct skep_partition_queue *queue = skep_partition_queue_get(self);

    queue->slots = ALLOC_N(struct skep_rd_kafka_message *, NUM2SIZET(limit));
    queue->limit = NUM2SIZET(limit);
    queue->partition = NUM2INT(partition);
    RB_OBJ_WRITE(self, &queue->topic, rb_str_new_frozen(topic));
    queue->native = (void *)(uintptr_t)NUM2ULL(address);
    return Qnil;
}

static void
skep_partition_queue_destroy_messages(struct skep_partition_queue *queue)
{
    size_t i;

    for (i = 0; i < queue->taken; i++) skep_librdkafka.message_destroy(queue->slots[i]);
    queue->taken = 0;
}

static void
skep_partition_queue_dequeue(struct skep_partition_queue *queue, size_t limit)
{
    ssize_t count = skep_librdkafka.consume_batch_queue(queue->native, 0, queue->slots, limit);

    queue->taken = count > 0 ? (size_t)count : 0;
}

static void *
skep_partition_queue_copy(void *data)
{
    struct skep_copying *copying = data;

    skep_message_set_copy(copying->message_set, copying->queue->slots, copying->queue->taken);
    copying->done = 1;
    return NULL;
}

/* Tries again after a garbage collection if there is no memory. */
static void
skep_partition_queue_prepare(struct skep_partition_queue *queue, VALUE self,
                             struct skep_message_set *message_set)
{
    if (skep_message_set_prepare(message_set, queue->slots, queue->taken) < 0) {
        rb_gc();
        if (skep_message_set_prepare(message_set, queue->slots, queue->taken) < 0) rb_memerror();
    }
    skep_message_set_prepare_large(self);
}

/* With an interrupt pending Ruby doesn't call the function: then it is called with the GVL. */
static void
skep_partition_queue_fill(struct skep_partition_queue *queue, VALUE self,
                          struct skep_message_set *message_set)
{
    struct skep_copying copying = { .message_set = message_set, .queue = queue };

    skep_partition_queue_prepare(queue, self, message_set);
    if (message_set->bytes + message_set->large_bytes >= SKEP_RELEASE_GVL_BYTES) {
        queue->busy = 1;
        rb_thread_call_without_gvl2(skep_partition_queue_copy, &copying, NULL, NULL);
        queue->busy = 0;
    }
    if (!copying.done) skep_partition_queue_copy(&copying);
}

static VALUE
skep_partition_queue_error(const struct skep_rd_kafka_message *message)
{
    VALUE text = message->payload
        ? rb_str_new(message->payload, (long)message->payload_size)
        : rb_utf8_str_new_cstr(skep_librdkafka.err2str(message->err));

    return rb_ary_new_from_args(3, INT2NUM(message->err), text, LL2NUM(message->offset));
}

static VALUE
skep_partition_queue_errors(const struct skep_partition_queue *queue)
{
    VALUE errors = rb_ary_new();
    size_t i;

    for (i = 0; i < queue->taken; i++)
        if (queue->slots[i]->err) rb_ary_push(errors, skep_partition_queue_error(queue->slots[i]));
    return errors;
}

/* Everything that may raise comes before the messages are destroyed. */
static VALUE
skep_partition_queue_read(VALUE self, VALUE most)
{
    struct skep_partition_queue *queue = skep_partition_queue_get_idle(self);
    struct skep_message_set *filled;
    size_t limit = NUM2SIZET(most);
    VALUE message_set, result;

    if (!queue->native) rb_raise(rb_eIOError, "closed partition queue");
    message_set = skep_message_set_new(queue->topic, queue->partition, &filled);
    if (limit > queue->limit) limit = queue->limit;
    if (!queue->taken) skep_partition_queue_dequeue(queue, limit);
    skep_partition_queue_fill(queue, message_set, filled);
    result = rb_ary_new_from_args(3, message_set, skep_partition_queue_errors(queue),
                                  SIZET2NUM(queue->taken));
    skep_partition_queue_destroy_messages(queue);
    return result;
}

/* Before the queue is destroyed. Destroys messages that weren't returned: they are fetched again. */
static VALUE
skep_partition_queue_detach(VALUE self)
{
    struct skep_partition_queue *queue = skep_partition_queue_get_idle(self);

    if (queue->native) skep_partition_queue_destroy_messages(queue);
    queue->native = NULL;
    return Qnil;
}

void
skep_init_partition_queue(VALUE kafka)
{
    VALUE parent = rb_const_get(kafka, rb_intern("Librdkafka"));
    VALUE class = rb_const_get(parent, rb_intern("PartitionQueue"));

    rb_define_alloc_func(class, skep_partition_queue_allocate);
    rb_define_private_method(class, "attach", skep_partition_queue_attach, 4);
    rb_define_method(class, "read", skep_partition_queue_read, 1);
    rb_define_private_method(class, "detach", skep_partition_queue_detach, 0);
}
