/*
 * skep_kafka.so: copies messages from librdkafka's queues into Ruby.
 * skep-kafka/lib/skep/kafka.rb loads it last, when the classes exist, each with its Ruby fallback.
 */
#include "message_set.h"

void Init_skep_kafka(void) __attribute__((visibility("default")));

void
Init_skep_kafka(void)
{
    VALUE skep = rb_define_module("Skep");
    VALUE kafka = rb_define_module_under(skep, "Kafka");

    skep_init_librdkafka(kafka);
    skep_init_headers(kafka);
    skep_init_message(kafka);
    skep_init_message_set(kafka);
    skep_init_partition_queue(kafka);
}
