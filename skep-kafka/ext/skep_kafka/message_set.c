/*
 * Skep::Kafka::Librdkafka::MessageSet::Packed: the messages of one read, which message_set_copy.c has
 * copied from librdkafka into one allocation. Each large payload is copied into a string instead,
 * whose bytes Message#payload shares: a second copy would take longer than the rest of the work, and
 * collections would be due twice as often.
 */
#include "message_set.h"

#include <stdlib.h>
#include <time.h>

static VALUE skep_message_set_class;

static void
skep_message_set_mark(void *data)
{
    struct skep_message_set *message_set = data;

    rb_gc_mark_movable(message_set->topic);
    rb_gc_mark_movable(message_set->large);
}

static void
skep_message_set_compact(void *data)
{
    struct skep_message_set *message_set = data;

    message_set->topic = rb_gc_location(message_set->topic);
    message_set->large = rb_gc_location(message_set->large);
}

static void
skep_message_set_free(void *data)
{
    struct skep_message_set *message_set = data;

    free(message_set->records);
    free(message_set->text);
    rb_gc_adjust_memory_usage(-(ssize_t)message_set->bytes);
    ruby_xfree(message_set);
}

static size_t
skep_message_set_size(const void *data)
{
    return sizeof(struct skep_message_set) + ((const struct skep_message_set *)data)->bytes;
}

static const rb_data_type_t skep_message_set_type = {
    .wrap_struct_name = "Skep::Kafka::Librdkafka::MessageSet",
    .function = { .dmark = skep_message_set_mark, .dfree = skep_message_set_free,
                  .dsize = skep_message_set_size, .dcompact = skep_message_set_compact },
    .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

VALUE
skep_message_set_new(VALUE topic, int32_t partition, struct skep_message_set **message_set)
{
    VALUE self = TypedData_Make_Struct(skep_message_set_class, struct skep_message_set,
                                       &skep_message_set_type, *message_set);

    (*message_set)->partition = partition;
    (*message_set)->last_yielded_offset = -1;
    RB_OBJ_WRITE(self, &(*message_set)->topic, topic);
    return self;
}

struct skep_message_set *
skep_message_set_get(VALUE self)
{
    return rb_check_typeddata(self, &skep_message_set_type);
}

/* Their bytes stay where they are, as nothing changes a frozen string. */
void
skep_message_set_prepare_large(VALUE self)
{
    struct skep_message_set *message_set = skep_message_set_get(self);
    size_t i;

    if (!message_set->large_bytes) return;
    RB_OBJ_WRITE(self, &message_set->large, rb_ary_new());
    for (i = 0; i < message_set->count; i++) {
        struct skep_record *record = &message_set->records[i];

        if (record->large < 0) continue;
        rb_ary_push(message_set->large, rb_obj_freeze(rb_str_new(NULL, (long)record->payload_size)));
        record->payload = RSTRING_PTR(rb_ary_entry(message_set->large, record->large));
    }
}

static VALUE
skep_message_set_count(VALUE self)
{
    return SIZET2NUM(skep_message_set_get(self)->count);
}

static VALUE
skep_message_set_enum_size(VALUE self, VALUE arguments, VALUE enumerator)
{
    return skep_message_set_count(self);
}

/* Yields new Message objects each time. */
static VALUE
skep_message_set_each(VALUE self)
{
    const struct skep_message_set *message_set = skep_message_set_get(self);
    struct skep_message_slab *slab;
    VALUE held;
    size_t i;

    RETURN_SIZED_ENUMERATOR(self, 0, NULL, skep_message_set_enum_size);
    held = skep_message_slab_new(message_set->count, &slab);
    for (i = 0; i < message_set->count; i++)
        rb_yield(skep_message_new(self, &message_set->records[i], slab));
    RB_GC_GUARD(held);
    return self;
}

/*
 * The words of the scoreboard in which this thread records the message it processes:
 * Swarm::IPC::Scoreboard::Heartbeat#spot.
 */
struct skep_progress_slot {
    struct skep_cell *cell; /* NULL: call Node#current_item instead */
    long at;  /* index of the word for the offset */
    long ill; /* index of the word that is set while the node reports itself unhealthy */
};

static struct skep_progress_slot
skep_progress_slot_get(VALUE node)
{
    struct skep_progress_slot slot = { .cell = NULL };
    VALUE words = rb_check_funcall(node, rb_intern("__spot"), 0, NULL);

    if (words == Qundef || NIL_P(words)) return slot;
    Check_Type(words, T_ARRAY);
    slot.cell = (struct skep_cell *)(uintptr_t)NUM2ULL(rb_ary_entry(words, 0));
    slot.at = NUM2LONG(rb_ary_entry(words, 1));
    slot.ill = NUM2LONG(rb_ary_entry(words, 2));
    return slot;
}

/*
 * Does what Node#current_item does, ten times faster. An unhealthy node needs Node#current_item, and so
 * does the first message: Heartbeat#begin_in_flight.
 */
static void
skep_progress_slot_mark(const struct skep_progress_slot *slot, VALUE node, int64_t offset, int first)
{
    if (!slot->cell || first || __atomic_load_n(&slot->cell->words[slot->ill], __ATOMIC_RELAXED)) {
        rb_funcall(node, rb_intern("current_item"), 1, LL2NUM(offset));
        return;
    }
    __atomic_store_n(&slot->cell->words[slot->at], (uint64_t)offset + 1, __ATOMIC_RELEASE);
    skep_cell_beat_roughly(slot->cell);
}

/* Does what Node#beat does. */
static void
skep_progress_slot_beat(const struct skep_progress_slot *slot, VALUE node)
{
    if (!slot->cell || __atomic_load_n(&slot->cell->words[slot->ill], __ATOMIC_RELAXED))
        rb_funcall(node, rb_intern("beat"), 0);
    else
        skep_cell_beat_roughly(slot->cell);
}

/*
 * Whether the partition is still ours, which Skep::Kafka::Processing::PartitionOwnership knows. A loop
 * that took longer than `limit` for one message has to ask.
 */
struct skep_ownership_check {
    VALUE ownership; /* Qnil: never check */
    int64_t limit;   /* nanoseconds */
    int64_t at;      /* when it was checked last */
};

/* The clock goes on while the host is suspended, as the group's session does. */
static int64_t
skep_ownership_now(void)
{
    struct timespec now;

#ifdef CLOCK_BOOTTIME
    clock_gettime(CLOCK_BOOTTIME, &now);
#else
    clock_gettime(CLOCK_MONOTONIC, &now);
#endif
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static struct skep_ownership_check
skep_ownership_check_new(VALUE ownership)
{
    struct skep_ownership_check check = { .ownership = ownership };

    if (NIL_P(ownership)) return check;
    check.limit = NUM2LL(rb_funcall(ownership, rb_intern("limit"), 0));
    check.at = skep_ownership_now();
    return check;
}

/*
 * Returns true if the loop has to end: the partition is revoked, or the process was stopped for so
 * long that it may be. Unless the partition is lost, the first message is yielded anyway: handlers
 * rely on it.
 */
static int
skep_ownership_ended(struct skep_ownership_check *check, const struct skep_message_set *message_set,
                     int first)
{
    int64_t before = check->at;

    if (NIL_P(check->ownership)) return 0;
    check->at = skep_ownership_now();
    if (check->at - before > check->limit &&
        !RTEST(rb_funcall(check->ownership, rb_intern("confirmed?"), 0)))
        return 1;
    return first ? message_set->ended == SKEP_ENDED_AT_ONCE : message_set->ended;
}

/*
 * Records each message's offset before it is yielded. A loop that isn't tracked, or isn't any more
 * because another loop has begun, only beats.
 */
static VALUE
skep_message_set_each_tracked(int count, VALUE *arguments, VALUE self)
{
    struct skep_message_set *message_set = skep_message_set_get(self);
    struct skep_progress_slot slot;
    struct skep_ownership_check check;
    struct skep_message_slab *slab;
    VALUE node, number, ownership, held;
    int64_t last = -1;
    long loop;
    size_t i;

    rb_scan_args(count, arguments, "21", &node, &number, &ownership);
    loop = NUM2LONG(number);
    slot = skep_progress_slot_get(node);
    check = skep_ownership_check_new(ownership);
    held = skep_message_slab_new(message_set->count, &slab);
    for (i = 0; i < message_set->count; i++) {
        if (skep_ownership_ended(&check, message_set, i == 0)) return LL2NUM(last);
        last = message_set->records[i].offset;
        if (message_set->tracked == loop)
            skep_progress_slot_mark(&slot, node, message_set->last_yielded_offset = last, i == 0);
        else
            skep_progress_slot_beat(&slot, node);
        rb_yield(skep_message_new(self, &message_set->records[i], slab));
    }
    RB_GC_GUARD(held);
    return Qnil;
}

static VALUE
skep_message_set_end_early(int count, VALUE *arguments, VALUE self)
{
    VALUE at_once;

    rb_scan_args(count, arguments, "01", &at_once);
    skep_message_set_get(self)->ended = RTEST(at_once) ? SKEP_ENDED_AT_ONCE : SKEP_ENDED;
    return Qtrue;
}

static VALUE
skep_message_set_last_yielded_offset(VALUE self)
{
    const struct skep_message_set *message_set = skep_message_set_get(self);

    return message_set->last_yielded_offset < 0 ? Qnil : LL2NUM(message_set->last_yielded_offset);
}

static VALUE
skep_message_set_tracked(VALUE self)
{
    const struct skep_message_set *message_set = skep_message_set_get(self);

    return message_set->tracked ? LONG2NUM(message_set->tracked) : Qnil;
}

static VALUE
skep_message_set_track(VALUE self, VALUE number)
{
    skep_message_set_get(self)->tracked = NIL_P(number) ? 0 : NUM2LONG(number);
    return number;
}

static VALUE
skep_message_set_payloads(VALUE self)
{
    const struct skep_message_set *message_set = skep_message_set_get(self);
    VALUE payloads = rb_ary_new_capa((long)message_set->count);
    size_t i;

    for (i = 0; i < message_set->count; i++)
        rb_ary_push(payloads, skep_message_payload_of(self, &message_set->records[i]));
    return payloads;
}

static VALUE
skep_message_set_bytes(VALUE self)
{
    const struct skep_message_set *message_set = skep_message_set_get(self);

    return SIZET2NUM(message_set->bytes + message_set->large_bytes);
}

static VALUE
skep_message_set_first_offset(VALUE self)
{
    const struct skep_message_set *message_set = skep_message_set_get(self);

    return message_set->count ? LL2NUM(message_set->records[0].offset) : Qnil;
}

static VALUE
skep_message_set_last_offset(VALUE self)
{
    const struct skep_message_set *message_set = skep_message_set_get(self);

    return message_set->count ? LL2NUM(message_set->records[message_set->count - 1].offset) : Qnil;
}

void
skep_init_message_set(VALUE kafka)
{
    VALUE librdkafka = rb_const_get(kafka, rb_intern("Librdkafka"));
    VALUE parent = rb_const_get(librdkafka, rb_intern("MessageSet"));

    skep_message_set_class = rb_define_class_under(parent, "Packed", parent);
    rb_gc_register_mark_object(skep_message_set_class);
    rb_undef_alloc_func(skep_message_set_class);
    rb_define_method(skep_message_set_class, "size", skep_message_set_count, 0);
    rb_define_method(skep_message_set_class, "each", skep_message_set_each, 0);
    rb_define_method(skep_message_set_class, "each_tracked", skep_message_set_each_tracked, -1);
    rb_define_method(skep_message_set_class, "end_early", skep_message_set_end_early, -1);
    rb_define_method(skep_message_set_class, "tracked", skep_message_set_tracked, 0);
    rb_define_method(skep_message_set_class, "tracked=", skep_message_set_track, 1);
    rb_define_method(skep_message_set_class, "last_yielded_offset",
                     skep_message_set_last_yielded_offset, 0);
    rb_define_method(skep_message_set_class, "payloads", skep_message_set_payloads, 0);
    rb_define_method(skep_message_set_class, "bytes", skep_message_set_bytes, 0);
    rb_define_method(skep_message_set_class, "first_offset", skep_message_set_first_offset, 0);
    rb_define_method(skep_message_set_class, "last_offset", skep_message_set_last_offset, 0);
}
