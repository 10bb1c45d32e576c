/*
 * Skep::Kafka::Message::Packed: a message as it lies in a haul, which it keeps alive. Strings are
 * made when they are asked for, and kept.
 *
 * Those that a loop gives out lie in one room, which goes with the last who needs it: a malloc and a
 * free for each would take a third of the time.
 */
#include "plane.h"

#include <stdlib.h>

struct skep_message {
    struct skep_room *room;
    VALUE haul;
    const struct skep_record *record;
    VALUE payload; /* 0: not asked for yet */
    VALUE key;
    VALUE headers;
};

struct skep_room {
    size_t lives; /* of those who need it: its messages, and the object that stands for it */
    size_t bytes;
    size_t made;
    size_t most;
    struct skep_message messages[];
};

static VALUE skep_message_class;

static void
skep_room_leave(struct skep_room *room)
{
    if (--room->lives) return;
    rb_gc_adjust_memory_usage(-(ssize_t)room->bytes);
    free(room);
}

static void
skep_room_free(void *data)
{
    skep_room_leave(data);
}

static size_t
skep_room_size(const void *data)
{
    return ((const struct skep_room *)data)->bytes;
}

static const rb_data_type_t skep_room_type = {
    .wrap_struct_name = "Skep::Kafka::Message room",
    .function = { .dfree = skep_room_free, .dsize = skep_room_size },
    .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

/* The object comes first: there may be no memory for it, and then nothing else is lost. */
VALUE
skep_room_new(size_t count, struct skep_room **room)
{
    VALUE self = TypedData_Wrap_Struct(0, &skep_room_type, NULL);
    size_t bytes = sizeof(**room) + count * sizeof(struct skep_message);

    *room = malloc(bytes);
    if (!*room) rb_memerror();
    (*room)->lives = 1;
    (*room)->bytes = bytes;
    (*room)->made = 0;
    (*room)->most = count;
    RTYPEDDATA_DATA(self) = *room;
    rb_gc_adjust_memory_usage((ssize_t)bytes);
    return self;
}

static void
skep_message_mark(void *data)
{
    struct skep_message *message = data;

    rb_gc_mark_movable(message->haul);
    rb_gc_mark_movable(message->payload);
    rb_gc_mark_movable(message->key);
    rb_gc_mark_movable(message->headers);
}

static void
skep_message_compact(void *data)
{
    struct skep_message *message = data;

    message->haul = rb_gc_location(message->haul);
    message->payload = rb_gc_location(message->payload);
    message->key = rb_gc_location(message->key);
    message->headers = rb_gc_location(message->headers);
}

static void
skep_message_free(void *data)
{
    skep_room_leave(((struct skep_message *)data)->room);
}

static size_t
skep_message_size(const void *data)
{
    return 0; /* the room's */
}

static const rb_data_type_t skep_message_type = {
    .wrap_struct_name = "Skep::Kafka::Message",
    .function = { .dmark = skep_message_mark, .dfree = skep_message_free,
                  .dsize = skep_message_size, .dcompact = skep_message_compact },
    .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

/* A continuation has entered its loop again, whose room is full. */
static VALUE
skep_message_again(VALUE haul, const struct skep_record *record)
{
    struct skep_room *room;
    VALUE held = skep_room_new(1, &room);
    VALUE self = skep_message_new(haul, record, room);

    RB_GC_GUARD(held);
    return self;
}

VALUE
skep_message_new(VALUE haul, const struct skep_record *record, struct skep_room *room)
{
    struct skep_message *message;
    VALUE self;

    if (room->made == room->most) return skep_message_again(haul, record);
    message = &room->messages[room->made++];
    *message = (struct skep_message){ .room = room, .record = record };
    self = TypedData_Wrap_Struct(skep_message_class, &skep_message_type, message);
    room->lives++;
    RB_OBJ_WRITE(self, &message->haul, haul);
    return self;
}

static struct skep_message *
skep_message_of(VALUE self)
{
    return rb_check_typeddata(self, &skep_message_type);
}

static VALUE
skep_message_topic(VALUE self)
{
    return skep_haul_of(skep_message_of(self)->haul)->topic;
}

static VALUE
skep_message_partition(VALUE self)
{
    return INT2NUM(skep_haul_of(skep_message_of(self)->haul)->partition);
}

static VALUE
skep_message_offset(VALUE self)
{
    return LL2NUM(skep_message_of(self)->record->offset);
}

static VALUE
skep_message_milliseconds(VALUE self)
{
    return LL2NUM(skep_message_of(self)->record->milliseconds);
}

static VALUE
skep_message_bytes(const char *bytes, size_t size)
{
    return bytes ? rb_str_new(bytes, size) : Qnil;
}

VALUE
skep_message_payload_of(const struct skep_record *record)
{
    return skep_message_bytes(record->payload, record->payload_size);
}

static VALUE
skep_message_payload(VALUE self)
{
    struct skep_message *message = skep_message_of(self);

    if (!message->payload)
        RB_OBJ_WRITE(self, &message->payload, skep_message_payload_of(message->record));
    return message->payload;
}

static VALUE
skep_message_key(VALUE self)
{
    struct skep_message *message = skep_message_of(self);
    const struct skep_record *record = message->record;

    if (!message->key)
        RB_OBJ_WRITE(self, &message->key, skep_message_bytes(record->key, record->key_size));
    return message->key;
}

static VALUE
skep_message_headers(VALUE self)
{
    struct skep_message *message = skep_message_of(self);
    const struct skep_record *record = message->record;

    if (!message->headers)
        RB_OBJ_WRITE(self, &message->headers, skep_headers_read(record->headers, record->header_count));
    return message->headers;
}

/* What was made of it before may have been changed in place. */
static VALUE
skep_message_anew(VALUE self)
{
    struct skep_message *message = skep_message_of(self);

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
    rb_define_method(skep_message_class, "__anew", skep_message_anew, 0);
}
