/*
 * A message's headers: copied into the message set's memory, and read from it as a Hash. Each is the
 * size of its name, the size of its value (SKEP_NO_VALUE: none), the name, the value, unaligned.
 */
#include "message_set.h"

#include <ruby/encoding.h>
#include <string.h>

#define SKEP_NO_VALUE SIZE_MAX

struct skep_header {
    const char *name;
    const void *value;
    size_t name_size;
    size_t value_size;
};

static VALUE skep_no_headers;

static int
skep_header_get(const void *headers, size_t index, struct skep_header *header)
{
    if (skep_librdkafka.header_get_all(headers, index, &header->name, &header->value,
                                    &header->value_size)) return 0;
    header->name_size = strlen(header->name);
    if (!header->value) header->value_size = SKEP_NO_VALUE;
    return 1;
}

size_t
skep_headers_size(const struct skep_rd_kafka_message *message, size_t *count)
{
    struct skep_header header;
    void *headers;
    size_t bytes = 0;

    *count = 0;
    if (skep_librdkafka.message_headers(message, &headers)) return 0;
    for (; skep_header_get(headers, *count, &header); ++*count)
        bytes += 2 * sizeof(size_t) + header.name_size + (header.value ? header.value_size : 0);
    return bytes;
}

static char *
skep_headers_put(char *to, const void *from, size_t size)
{
    memcpy(to, from, size);
    return to + size;
}

char *
skep_headers_write(const struct skep_rd_kafka_message *message, size_t count, char *to)
{
    struct skep_header header;
    void *headers;
    size_t i;

    if (!count || skep_librdkafka.message_headers(message, &headers)) return to;
    for (i = 0; i < count && skep_header_get(headers, i, &header); i++) {
        to = skep_headers_put(to, &header.name_size, sizeof(size_t));
        to = skep_headers_put(to, &header.value_size, sizeof(size_t));
        to = skep_headers_put(to, header.name, header.name_size);
        if (header.value) to = skep_headers_put(to, header.value, header.value_size);
    }
    return to;
}

/* The values of a repeated name are an Array, in their order. */
static void
skep_headers_add(VALUE hash, VALUE name, VALUE value)
{
    VALUE before = rb_hash_lookup2(hash, name, Qundef);

    if (before == Qundef)
        rb_hash_aset(hash, name, value);
    else if (RB_TYPE_P(before, T_ARRAY))
        rb_ary_push(before, value);
    else
        rb_hash_aset(hash, name, rb_assoc_new(before, value));
}

static const char *
skep_headers_take(VALUE hash, const char *from)
{
    size_t name_size, value_size;
    VALUE name, value = Qnil;

    memcpy(&name_size, from, sizeof(size_t));
    memcpy(&value_size, from + sizeof(size_t), sizeof(size_t));
    from += 2 * sizeof(size_t);
    name = rb_utf8_str_new(from, name_size);
    from += name_size;
    if (value_size != SKEP_NO_VALUE) {
        value = rb_str_new(from, value_size);
        from += value_size;
    }
    skep_headers_add(hash, name, value);
    return from;
}

VALUE
skep_headers_read(const char *from, size_t count)
{
    VALUE hash;

    if (!count) return skep_no_headers;
    for (hash = rb_hash_new(); count; count--) from = skep_headers_take(hash, from);
    return rb_hash_freeze(hash);
}

void
skep_init_headers(VALUE kafka)
{
    rb_gc_register_mark_object(skep_no_headers = rb_hash_freeze(rb_hash_new()));
}
