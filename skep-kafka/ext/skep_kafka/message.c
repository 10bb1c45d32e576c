/*
 * Skep::Kafka::Message::Packed: a message of a message set, which it keeps alive. Strings are made on
 * first use, and kept.
 *
 * The messages of one loop share one allocation, the slab, which is freed with the last message: a
 * malloc and a free for each message would take a third of the time.
 */
#include "message_set.h"

#include <stdlib.h>

struct skep_message {
    struct skep_message_slab *slab;
    VALUE message_set;
    const struct skep_record *record;
    VALUE payload; /* these are 0 until they are first used */
    VALUE key;
    VALUE headers;
};

struct skep_message_slab {
    size_t references; /* from its messages, and from the object that holds it for the loop */
    size_t bytes;
    size_t used; /* messages */
    size_t capacity;
    struct skep_message messages[];
};

static VALUE skep_message_class;

static void
skep_message_slab_release(struct skep_message_slab *slab)
{
    if (--slab->references) return;
    rb_gc_adjust_memory_usage(-(ssize_t)slab->bytes);
    free(slab);
}

static void
skep_message_slab_free(void *data)
{
    skep_message_slab_release(data);
}

static size_t
skep_message_slab_size(const void *data)
{
    return ((const struct skep_message_slab *)data)->bytes;
}

static const rb_data_type_t skep_message_slab_type = {
    .wrap_struct_name = "Skep::Kafka::Message slab",
    .function = { .dfree = skep_message_slab_free, .dsize = skep_message_slab_size },
    .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

/* Makes the object first: if there is no memory for it, nothing has to be freed. */
VALUE
skep_message_slab_new(size_t count, struct skep_message_slab **slab)
{
    VALUE self = TypedData_Wrap_Struct(0, &skep_message_slab_type, NULL);
    size_t bytes = sizeof(**slab) + count * sizeof(struct skep_message);

    *slab = malloc(bytes);
    if (!*slab) rb_memerror();
    (*slab)->references = 1;
    (*slab)->bytes = bytes;
    (*slab)->used = 0;
    (*slab)->capacity = count;
    RTYPEDDATA_DATA(self) = *slab;
    rb_gc_adjust_memory_usage((ssize_t)bytes);
    return self;
}

static void
skep_message_mark(void *data)
{
    struct skep_message *message = data;

    rb_gc_mark_movable(message->message_set);
    rb_gc_mark_movable(message->payload);
    rb_gc_mark_movable(message->key);
    rb_gc_mark_movable(message->headers);
}

static void
skep_message_compact(void *data)
{
    struct skep_message *message = data;

    message->message_set = rb_gc_location(message->message_set);
    message->payload = rb_gc_location(message->payload);
    message->key = rb_gc_location(message->key);
    message->headers = rb_gc_location(message->headers);
}

static void
skep_message_free(void *data)
{
    skep_message_slab_release(((struct skep_message *)data)->slab);
}

static size_t
skep_message_size(const void *data)
{
    return 0; /* the slab reports it */
}

static const rb_data_type_t skep_message_type = {
    .wrap_struct_name = "Skep::Kafka::Message",
    .function = { .dmark = skep_message_mark, .dfree = skep_message_free,
                  .dsize = skep_message_size, .dcompact = skep_message_compact },
    .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

/* The slab is full: a continuation has entered the loop again. */
static VALUE
skep_message_again(VALUE message_set, const struct skep_record *record)
{
    struct skep_message_slab *slab;
    VALUE held = skep_message_slab_new(1, &slab);
    VALUE self = skep_message_new(message_set, record, slab);

    RB_GC_GUARD(held);
    return self;
}

VALUE
skep_message_new(VALUE message_set, const struct skep_record *record, struct skep_message_slab *slab)
{
    struct skep_message *message;
    VALUE self;

    if (slab->used == slab->capacity) return skep_message_again(message_set, record);
    message = &slab->messages[slab->used++];
    *message = (struct skep_message){ .slab = slab, .record = record };
    self = TypedData_Wrap_Struct(skep_message_class, &skep_message_type, message);
    slab->references++;
    RB_OBJ_WRITE(self, &message->message_set, message_set);
    return self;
}

static struct skep_message *
skep_message_get(VALUE self)
{
    return rb_check_typeddata(self, &skep_message_type);
}

static VALUE
skep_message_topic(VALUE self)
{
    return skep_message_set_get(skep_message_get(self)->message_set)->topic;
}

static VALUE
skep_message_partition(VALUE self)
{
    return INT2NUM(skep_message_set_get(skep_message_get(self)->message_set)->partition);
}

static VALUE
skep_message_offset(VALUE self)
{
    return LL2NUM(skep_message_get(self)->record->offset);
}

static VALUE
skep_message_milliseconds(VALUE self)
{
    return LL2NUM(skep_message_get(self)->record->milliseconds);
}

static VALUE
skep_message_bytes(const char *bytes, size_t size)
{
    return bytes ? rb_str_new(bytes, size) : Qnil;
}

/* The duplicate of a large payload shares its bytes, until it is changed. */
VALUE
skep_message_payload_of(VALUE message_set, const struct skep_record *record)
{
    if (record->large < 0) return skep_message_bytes(record->payload, record->payload_size);
    return rb_str_dup(rb_ary_entry(skep_message_set_get(message_set)->large, record->large));
}

static VALUE
skep_message_payload(VALUE self)
{
    struct skep_message *message = skep_message_get(self);

    if (!message->payload)
        RB_OBJ_WRITE(self, &message->payload,
                     skep_message_payload_of(message->message_set, message->record));
    return message->payload;
}

static VALUE
skep_message_key(VALUE self)
{
    struct skep_message *message = skep_message_get(self);
    const struct skep_record *record = message->record;

    if (!message->key)
        RB_OBJ_WRITE(self, &message->key, skep_message_bytes(record->key, record->key_size));
    return message->key;
}

static VALUE
skep_message_headers(VALUE self)
{
    struct skep_message *message = skep_message_get(self);
    const struct skep_record *record = message->record;

    if (!message->headers)
        RB_OBJ_WRITE(self, &message->headers,
                     skep_headers_read(record->headers, record->header_count));
    return message->headers;
}

/* Forgets the strings that were made: a handler may have changed them in place. */
static VALUE
skep_message_reset_strings(VALUE self)
{
    struct skep_message *message = skep_message_get(self);

    message->payload = message->key = message->headers = 0;
    return Qnil;
}

void
skep_init_message(VALUE kafka)
{
    VALUE parent = rb_const_get(kafka, rb_intern("Message"));

    skep_message_class = rb_define_class_under(parent, "Packed", parent);
    rb_gc_register_mark_object(skep_message_class);
    rb_undef_alloc_func(skep_message_class);
    rb_define_method(skep_message_class, "topic", skep_message_topic, 0);
    rb_define_method(skep_message_class, "partition", skep_message_partition, 0);
    rb_define_method(skep_message_class, "offset", skep_message_offset, 0);
    rb_define_method(skep_message_class, "milliseconds", skep_message_milliseconds, 0);
    rb_define_method(skep_message_class, "payload", skep_message_payload, 0);
    rb_define_method(skep_message_class, "key", skep_message_key, 0);
    rb_define_method(skep_message_class, "headers", skep_message_headers, 0);
    rb_define_method(skep_message_class, "__reset_strings", skep_message_reset_strings, 0);
}
