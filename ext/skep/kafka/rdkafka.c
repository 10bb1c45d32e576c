/* Skep::Kafka::Librdkafka::PartitionQueue.bind: finds librdkafka's functions in the library that is loaded already. */
#include "plane.h"

#include <dlfcn.h>

struct skep_rdkafka skep_rdkafka;

static void *
skep_rdkafka_find(void *library, const char *name)
{
    void *found = dlsym(library, name);

    if (!found) rb_raise(rb_eLoadError, "librdkafka has no %s", name);
    return found;
}

/* dlopen(3) of what is open gives the same once more. It is never closed: what a client that an exit
 * cut short still runs in. */
static VALUE
skep_rdkafka_bind(VALUE self, VALUE path)
{
    void *library = dlopen(StringValueCStr(path), RTLD_LAZY | RTLD_NODELETE);
    struct skep_rdkafka found;

    if (!library) rb_raise(rb_eLoadError, "%s", dlerror());
    *(void **)&found.consume_batch_queue = skep_rdkafka_find(library, "rd_kafka_consume_batch_queue");
    *(void **)&found.message_destroy = skep_rdkafka_find(library, "rd_kafka_message_destroy");
    *(void **)&found.message_timestamp = skep_rdkafka_find(library, "rd_kafka_message_timestamp");
    *(void **)&found.message_headers = skep_rdkafka_find(library, "rd_kafka_message_headers");
    *(void **)&found.header_get_all = skep_rdkafka_find(library, "rd_kafka_header_get_all");
    *(void **)&found.err2str = skep_rdkafka_find(library, "rd_kafka_err2str");
    skep_rdkafka = found;
    return Qnil;
}

void
skep_init_rdkafka(VALUE kafka)
{
    VALUE reader = rb_const_get(rb_const_get(kafka, rb_intern("Librdkafka")), rb_intern("PartitionQueue"));

    rb_define_singleton_method(reader, "bind", skep_rdkafka_bind, 1);
}
