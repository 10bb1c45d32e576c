/*
 * Skep::Kafka::Librdkafka::PartitionQueue.bind: looks up librdkafka's functions in the library that is
 * already loaded.
 */
#include "message_set.h"

#include <dlfcn.h>

struct skep_librdkafka skep_librdkafka;

static void *
skep_librdkafka_find(void *library, const char *name)
{
    void *found = dlsym(library, name);

    if (!found) rb_raise(rb_eLoadError, "librdkafka has no %s", name);
    return found;
}

/*
 * dlopen(3) of a loaded library returns the same handle. It is never closed: a client that an exit cut
 * short still runs in it.
 */
static VALUE
skep_librdkafka_bind(VALUE self, VALUE path)
{
    void *library = dlopen(StringValueCStr(path), RTLD_LAZY | RTLD_NODELETE);
    struct skep_librdkafka found;

    if (!library) rb_raise(rb_eLoadError, "%s", dlerror());
    *(void **)&found.consume_batch_queue = skep_librdkafka_find(library, "rd_kafka_consume_batch_queue");
    *(void **)&found.message_destroy = skep_librdkafka_find(library, "rd_kafka_message_destroy");
    *(void **)&found.message_timestamp = skep_librdkafka_find(library, "rd_kafka_message_timestamp");
    *(void **)&found.message_headers = skep_librdkafka_find(library, "rd_kafka_message_headers");
    *(void **)&found.header_get_all = skep_librdkafka_find(library, "rd_kafka_header_get_all");
    *(void **)&found.err2str = skep_librdkafka_find(library, "rd_kafka_err2str");
    skep_librdkafka = found;
    return Qnil;
}

void
skep_init_librdkafka(VALUE kafka)
{
    VALUE parent = rb_const_get(kafka, rb_intern("Librdkafka"));
    VALUE class = rb_const_get(parent, rb_intern("PartitionQueue"));

    rb_define_singleton_method(class, "bind", skep_librdkafka_bind, 1);
}
