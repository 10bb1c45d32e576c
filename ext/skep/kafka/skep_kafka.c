/*
 * skep_kafka.so, the data plane of skep/kafka: messages out of librdkafka's queues into Ruby. Loaded
 * last by lib/skep/kafka.rb: the classes are there, each with its Ruby fallback.
 */
#include "plane.h"

void Init_skep_kafka(void) __attribute__((visibility("default")));

void
Init_skep_kafka(void)
{
    VALUE skep = rb_define_module("Skep");
    VALUE kafka = rb_define_module_under(skep, "Kafka");

    skep_init_rdkafka(kafka);
    skep_init_headers(kafka);
    skep_init_message(kafka);
    skep_init_haul(kafka);
    skep_init_reader(kafka);
}
