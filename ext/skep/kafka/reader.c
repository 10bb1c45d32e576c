/*
 * Skep::Kafka::Librdkafka::PartitionQueue over rd_kafka_consume_batch_queue: what lies in a partition's queue is taken
 * out, copied into a haul and given back to librdkafka, all in one go. None of it waits, so that the
 * GVL is let go only for much to copy: to get it back may take a tenth of a second.
 *
 * What was taken but couldn't be handed out (no memory) stays here and comes first the next time: a
 * message that vanished would be skipped by the next commit.
 */
#include "plane.h"

#include <ruby/thread.h>

#define SKEP_MUCH ((size_t)1 << 20)

struct skep_reader {
    void *queue; /* NULL once closed */
    VALUE topic;
    int32_t partition;
    size_t limit;
    size_t taken; /* in the slots, ours to destroy */
    int busy;
    struct skep_rd_message **slots;
};

/* A copy that is made without the GVL. */
struct skep_copying {
    struct skep_haul *haul;
    const struct skep_reader *reader;
    int done;
};

static void
skep_reader_mark(void *data)
{
    rb_gc_mark_movable(((struct skep_reader *)data)->topic);
}

static void
skep_reader_compact(void *data)
{
    struct skep_reader *reader = data;

    reader->topic = rb_gc_location(reader->topic);
}

/* Not a word to librdkafka: its client may be gone, or this be a forked child. */
static void
skep_reader_free(void *data)
{
    ruby_xfree(((struct skep_reader *)data)->slots);
    ruby_xfree(data);
}

static size_t
skep_reader_size(const void *data)
{
    const struct skep_reader *reader = data;

    return sizeof(*reader) + reader->limit * sizeof(*reader->slots);
}

static const rb_data_type_t skep_reader_type = {
    .wrap_struct_name = "Skep::Kafka::Librdkafka::PartitionQueue",
    .function = { .dmark = skep_reader_mark, .dfree = skep_reader_free,
                  .dsize = skep_reader_size, .dcompact = skep_reader_compact },
    .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

static VALUE
skep_reader_allocate(VALUE class)
{
    struct skep_reader *reader;

    return TypedData_Make_Struct(class, struct skep_reader, &skep_reader_type, reader);
}

static struct skep_reader *
skep_reader_of(VALUE self)
{
    return rb_check_typeddata(self, &skep_reader_type);
}

/* The reader, if nobody else is at it just now. */
static struct skep_reader *
skep_reader_alone(VALUE self)
{
    struct skep_reader *reader = skep_reader_of(self);

    if (reader->busy) rb_raise(rb_eThreadError, "the reader is at work on another thread");
    return reader;
}

static VALUE
skep_reader_attach(VALUE self, VALUE address, VALUE topic, VALUE partition, VALUE limit)
{
    struct skep_reader *reader = skep_reader_of(self);

    reader->slots = ALLOC_N(struct skep_rd_message *, NUM2SIZET(limit));
    reader->limit = NUM2SIZET(limit);
    reader->partition = NUM2INT(partition);
    RB_OBJ_WRITE(self, &reader->topic, rb_str_new_frozen(topic));
    reader->queue = (void *)(uintptr_t)NUM2ULL(address);
    return Qnil;
}

static void
skep_reader_give_back(struct skep_reader *reader)
{
    size_t i;

    for (i = 0; i < reader->taken; i++) skep_rdkafka.message_destroy(reader->slots[i]);
    reader->taken = 0;
}

static void
skep_reader_take(struct skep_reader *reader, size_t limit)
{
    ssize_t count = skep_rdkafka.consume_batch_queue(reader->queue, 0, reader->slots, limit);

    reader->taken = count > 0 ? (size_t)count : 0;
}

static void *
skep_reader_copy(void *data)
{
    struct skep_copying *copying = data;

    skep_haul_copy(copying->haul, copying->reader->slots, copying->reader->taken);
    copying->done = 1;
    return NULL;
}

/* Garbage may hold the memory that is wanted. */
static void
skep_reader_prepare(struct skep_reader *reader, struct skep_haul *haul)
{
    if (skep_haul_prepare(haul, reader->slots, reader->taken) == 0) return;
    rb_gc();
    if (skep_haul_prepare(haul, reader->slots, reader->taken) < 0) rb_memerror();
}

/* With a signal or a raise pending Ruby doesn't call without the GVL: then it is done with it. */
static void
skep_reader_fill(struct skep_reader *reader, struct skep_haul *haul)
{
    struct skep_copying copying = { .haul = haul, .reader = reader };

    skep_reader_prepare(reader, haul);
    if (haul->bytes >= SKEP_MUCH) {
        reader->busy = 1;
        rb_thread_call_without_gvl2(skep_reader_copy, &copying, NULL, NULL);
        reader->busy = 0;
    }
    if (!copying.done) skep_reader_copy(&copying);
}

static VALUE
skep_reader_error(const struct skep_rd_message *message)
{
    VALUE text = message->payload
        ? rb_str_new(message->payload, (long)message->payload_size)
        : rb_utf8_str_new_cstr(skep_rdkafka.err2str(message->err));

    return rb_ary_new_from_args(3, INT2NUM(message->err), text, LL2NUM(message->offset));
}

static VALUE
skep_reader_errors(const struct skep_reader *reader)
{
    VALUE errors = rb_ary_new();
    size_t i;

    for (i = 0; i < reader->taken; i++)
        if (reader->slots[i]->err) rb_ary_push(errors, skep_reader_error(reader->slots[i]));
    return errors;
}

/* What raises comes before what can't be taken back. */
static VALUE
skep_reader_read(VALUE self, VALUE most)
{
    struct skep_reader *reader = skep_reader_alone(self);
    struct skep_haul *filled;
    size_t limit = NUM2SIZET(most);
    VALUE haul, result;

    if (!reader->queue) rb_raise(rb_eIOError, "closed partition queue");
    haul = skep_haul_new(reader->topic, reader->partition, &filled);
    if (!reader->taken) skep_reader_take(reader, limit < reader->limit ? limit : reader->limit);
    skep_reader_fill(reader, filled);
    result = rb_ary_new_from_args(3, haul, skep_reader_errors(reader), SIZET2NUM(reader->taken));
    skep_reader_give_back(reader);
    return result;
}

/* Before the queue is destroyed. What wasn't handed out goes back, to come again from the broker. */
static VALUE
skep_reader_detach(VALUE self)
{
    struct skep_reader *reader = skep_reader_alone(self);

    if (reader->queue) skep_reader_give_back(reader);
    reader->queue = NULL;
    return Qnil;
}

void
skep_init_reader(VALUE kafka)
{
    VALUE reader = rb_const_get(rb_const_get(kafka, rb_intern("Librdkafka")), rb_intern("PartitionQueue"));

    rb_define_alloc_func(reader, skep_reader_allocate);
    rb_define_private_method(reader, "attach", skep_reader_attach, 4);
    rb_define_method(reader, "read", skep_reader_read, 1);
    rb_define_private_method(reader, "detach", skep_reader_detach, 0);
}
