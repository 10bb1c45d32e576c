/*
 * Skep::Kafka::Librdkafka::MessageSet::Packed: the messages of one read, as packing.c has copied them out of librdkafka
 * into one piece of memory.
 */
#include "plane.h"

#include <stdlib.h>
#include <time.h>

static VALUE skep_haul_class;

static void
skep_haul_mark(void *data)
{
    rb_gc_mark_movable(((struct skep_haul *)data)->topic);
}

static void
skep_haul_compact(void *data)
{
    struct skep_haul *haul = data;

    haul->topic = rb_gc_location(haul->topic);
}

static void
skep_haul_free(void *data)
{
    struct skep_haul *haul = data;

    free(haul->records);
    free(haul->text);
    rb_gc_adjust_memory_usage(-(ssize_t)haul->bytes);
    ruby_xfree(haul);
}

static size_t
skep_haul_size(const void *data)
{
    return sizeof(struct skep_haul) + ((const struct skep_haul *)data)->bytes;
}

static const rb_data_type_t skep_haul_type = {
    .wrap_struct_name = "Skep::Kafka::Librdkafka::MessageSet",
    .function = { .dmark = skep_haul_mark, .dfree = skep_haul_free,
                  .dsize = skep_haul_size, .dcompact = skep_haul_compact },
    .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

VALUE
skep_haul_new(VALUE topic, int32_t partition, struct skep_haul **haul)
{
    VALUE self = TypedData_Make_Struct(skep_haul_class, struct skep_haul, &skep_haul_type, *haul);

    (*haul)->partition = partition;
    (*haul)->given = -1;
    RB_OBJ_WRITE(self, &(*haul)->topic, topic);
    return self;
}

struct skep_haul *
skep_haul_of(VALUE self)
{
    return rb_check_typeddata(self, &skep_haul_type);
}

static VALUE
skep_haul_count(VALUE self)
{
    return SIZET2NUM(skep_haul_of(self)->count);
}

static VALUE
skep_haul_enum_size(VALUE self, VALUE arguments, VALUE enumerator)
{
    return skep_haul_count(self);
}

/* New Messages each time. */
static VALUE
skep_haul_each(VALUE self)
{
    const struct skep_haul *haul = skep_haul_of(self);
    struct skep_room *room;
    VALUE held;
    size_t i;

    RETURN_SIZED_ENUMERATOR(self, 0, NULL, skep_haul_enum_size);
    held = skep_room_new(haul->count, &room);
    for (i = 0; i < haul->count; i++)
        rb_yield(skep_message_new(self, &haul->records[i], room));
    RB_GC_GUARD(held);
    return self;
}

/* Where a node tells which message it works on: Pulse#spot. */
struct skep_spot {
    struct skep_cell *cell; /* NULL: only by Child#at */
    long at;
    long ill;
};

static struct skep_spot
skep_spot_of(VALUE child)
{
    struct skep_spot spot = { .cell = NULL };
    VALUE told = rb_check_funcall(child, rb_intern("__spot"), 0, NULL);

    if (told == Qundef || NIL_P(told)) return spot;
    Check_Type(told, T_ARRAY);
    spot.cell = (struct skep_cell *)(uintptr_t)NUM2ULL(rb_ary_entry(told, 0));
    spot.at = NUM2LONG(rb_ary_entry(told, 1));
    spot.ill = NUM2LONG(rb_ary_entry(told, 2));
    return spot;
}

/* What Child#at does, at a tenth of the price. Who said that it is ill is healed there. */
static void
skep_spot_mark(const struct skep_spot *spot, VALUE child, int64_t offset)
{
    if (!spot->cell || __atomic_load_n(&spot->cell->words[spot->ill], __ATOMIC_RELAXED)) {
        rb_funcall(child, rb_intern("at"), 1, LL2NUM(offset));
        return;
    }
    __atomic_store_n(&spot->cell->words[spot->at], (uint64_t)offset + 1, __ATOMIC_RELEASE);
    skep_cell_beat_roughly(spot->cell);
}

/* What Child#beat does. */
static void
skep_spot_beat(const struct skep_spot *spot, VALUE child)
{
    if (!spot->cell || __atomic_load_n(&spot->cell->words[spot->ill], __ATOMIC_RELAXED))
        rb_funcall(child, rb_intern("beat"), 0);
    else
        skep_cell_beat_roughly(spot->cell);
}

/* When a loop over a haul ends before its last message: Skep::Kafka::Processing::PartitionOwnership. */
struct skep_tenure {
    VALUE ownership; /* Qnil: never */
    int64_t limit;
    int64_t at;
};

static int64_t
skep_tenure_now(void)
{
    struct timespec now;

#ifdef CLOCK_MONOTONIC_COARSE
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
#else
    clock_gettime(CLOCK_MONOTONIC, &now);
#endif
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static struct skep_tenure
skep_tenure_of(VALUE ownership)
{
    struct skep_tenure tenure = { .ownership = ownership };

    if (NIL_P(ownership)) return tenure;
    tenure.limit = NUM2LL(rb_funcall(ownership, rb_intern("limit"), 0));
    tenure.at = skep_tenure_now();
    return tenure;
}

/*
 * The partition is revoked; or the process was stopped for so long that it may be. Unless it is lost
 * the first message is given out all the same: handlers rely on there being one.
 */
static int
skep_tenure_over(struct skep_tenure *tenure, const struct skep_haul *haul, int first)
{
    int64_t before = tenure->at;

    if (NIL_P(tenure->ownership)) return 0;
    tenure->at = skep_tenure_now();
    if (tenure->at - before > tenure->limit &&
        !RTEST(rb_funcall(tenure->ownership, rb_intern("confirmed?"), 0)))
        return 1;
    return first ? haul->ended == SKEP_ENDED_AT_ONCE : haul->ended;
}

/* A loop that isn't tracked (any more: another loop may have begun meanwhile) only beats. */
static VALUE
skep_haul_give_out(int count, VALUE *arguments, VALUE self)
{
    struct skep_haul *haul = skep_haul_of(self);
    struct skep_spot spot;
    struct skep_tenure tenure;
    struct skep_room *room;
    VALUE child, number, ownership, held;
    int64_t last = -1;
    long loop;
    size_t i;

    rb_scan_args(count, arguments, "21", &child, &number, &ownership);
    loop = NUM2LONG(number);
    spot = skep_spot_of(child);
    tenure = skep_tenure_of(ownership);
    held = skep_room_new(haul->count, &room);
    for (i = 0; i < haul->count; i++) {
        if (skep_tenure_over(&tenure, haul, i == 0)) return LL2NUM(last);
        last = haul->records[i].offset;
        if (haul->tracked == loop)
            skep_spot_mark(&spot, child, haul->given = haul->records[i].offset);
        else
            skep_spot_beat(&spot, child);
        rb_yield(skep_message_new(self, &haul->records[i], room));
    }
    RB_GC_GUARD(held);
    return Qnil;
}

static VALUE
skep_haul_end_early(int count, VALUE *arguments, VALUE self)
{
    VALUE at_once;

    rb_scan_args(count, arguments, "01", &at_once);
    skep_haul_of(self)->ended = RTEST(at_once) ? SKEP_ENDED_AT_ONCE : SKEP_ENDED;
    return Qtrue;
}

static VALUE
skep_haul_given(VALUE self)
{
    const struct skep_haul *haul = skep_haul_of(self);

    return haul->given < 0 ? Qnil : LL2NUM(haul->given);
}

static VALUE
skep_haul_tracked(VALUE self)
{
    const struct skep_haul *haul = skep_haul_of(self);

    return haul->tracked ? LONG2NUM(haul->tracked) : Qnil;
}

static VALUE
skep_haul_track(VALUE self, VALUE number)
{
    skep_haul_of(self)->tracked = NIL_P(number) ? 0 : NUM2LONG(number);
    return number;
}

static VALUE
skep_haul_payloads(VALUE self)
{
    const struct skep_haul *haul = skep_haul_of(self);
    VALUE payloads = rb_ary_new_capa((long)haul->count);
    size_t i;

    for (i = 0; i < haul->count; i++)
        rb_ary_push(payloads, skep_message_payload_of(&haul->records[i]));
    return payloads;
}

static VALUE
skep_haul_bytes(VALUE self)
{
    return SIZET2NUM(skep_haul_of(self)->bytes);
}

static VALUE
skep_haul_first_offset(VALUE self)
{
    const struct skep_haul *haul = skep_haul_of(self);

    return haul->count ? LL2NUM(haul->records[0].offset) : Qnil;
}

static VALUE
skep_haul_last_offset(VALUE self)
{
    const struct skep_haul *haul = skep_haul_of(self);

    return haul->count ? LL2NUM(haul->records[haul->count - 1].offset) : Qnil;
}

void
skep_init_haul(VALUE kafka)
{
    VALUE parent = rb_const_get(rb_const_get(kafka, rb_intern("Librdkafka")), rb_intern("MessageSet"));

    skep_haul_class = rb_define_class_under(parent, "Packed", parent);
    rb_gc_register_mark_object(skep_haul_class);
    rb_undef_alloc_func(skep_haul_class);
    rb_define_method(skep_haul_class, "size", skep_haul_count, 0);
    rb_define_method(skep_haul_class, "each", skep_haul_each, 0);
    rb_define_method(skep_haul_class, "give_out", skep_haul_give_out, -1);
    rb_define_method(skep_haul_class, "end_early", skep_haul_end_early, -1);
    rb_define_method(skep_haul_class, "tracked", skep_haul_tracked, 0);
    rb_define_method(skep_haul_class, "tracked=", skep_haul_track, 1);
    rb_define_method(skep_haul_class, "given", skep_haul_given, 0);
    rb_define_method(skep_haul_class, "payloads", skep_haul_payloads, 0);
    rb_define_method(skep_haul_class, "bytes", skep_haul_bytes, 0);
    rb_define_method(skep_haul_class, "first_offset", skep_haul_first_offset, 0);
    rb_define_method(skep_haul_class, "last_offset", skep_haul_last_offset, 0);
}
