/*
 * Skep::OS::StackSampler over ITIMER_PROF, setitimer(2): the kernel sends SIGPROF to the thread that
 * uses the CPU, and the handler copies that thread's stack into a ring. Nothing waits for the GVL, so
 * a sample shows where the CPU was used and not where the GVL was released, and a process that is
 * idle isn't interrupted. Ruby takes the samples out of the ring some times per second.
 */
#include "skep.h"

#include <errno.h>
#include <pthread.h>
#include <fcntl.h>
#include <inttypes.h>
#include <ruby/debug.h>
#include <ruby/st.h>
#include <ruby/thread.h>
#include <ruby/version.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

/* In Ruby 3.2 the stack of a thread that begins or ends can't be read. */
#define SKEP_CAN_SAMPLE (RUBY_API_VERSION_MAJOR != 3 || RUBY_API_VERSION_MINOR != 2)
#define SKEP_RING 1024
#define SKEP_DEPTH 200 /* frames, the innermost */
#define SKEP_NEAR 16 /* of those, among which the innermost line of Ruby code is looked for */
#define SKEP_MOST_FRAMES 10000
#define SKEP_HEAD 5 /* numbers before those of the frames */

/* What a sample is of. */
enum { SKEP_RUBY, SKEP_GC, SKEP_NATIVE };

struct skep_stack {
    int done; /* by the handler: it may be read */
    uint32_t tid, label, kind;
    uint32_t line, line_of; /* that of a frame */
    int depth;
    VALUE frames[SKEP_DEPTH];
};

/* Untouched pages of it cost nothing until the first profile. */
static struct skep_stack skep_ring[SKEP_RING];
static uint64_t skep_ring_head, skep_ring_tail;
static uint64_t skep_ring_lost;
static volatile sig_atomic_t skep_sampling;
static pid_t skep_guarded, skep_ended; /* processes: skep_sampler_end will be called, and was */
/*
 * A thread's label. Not __thread: a thread's first use of that, in the handler, may allocate memory,
 * and musl can't load a library that avoids it by the model initial-exec. pthread_getspecific(3) only
 * reads.
 */
static pthread_key_t skep_label;

/* The distinct frames of this profile. A frame's number is its index + 1; 0 are all beyond the most. */
static VALUE skep_frames[SKEP_MOST_FRAMES];
static uint32_t skep_frame_count;
static st_table *skep_frame_numbers;

/* Returns NULL if the ring is full. Several threads may be in here at once. */
static struct skep_stack *
skep_ring_reserve(void)
{
    uint64_t head = __atomic_load_n(&skep_ring_head, __ATOMIC_RELAXED);

    do {
        if (head - __atomic_load_n(&skep_ring_tail, __ATOMIC_ACQUIRE) >= SKEP_RING) return NULL;
    } while (!__atomic_compare_exchange_n(&skep_ring_head, &head, head + 1, 0, __ATOMIC_ACQ_REL,
                                          __ATOMIC_RELAXED));
    return &skep_ring[head % SKEP_RING];
}

/* Exported by Ruby, and in no header of 3.1. */
int ruby_thread_has_gvl_p(void);

/*
 * During a GC no object may be looked at, as it may just be moved. Threads without the GVL run C code
 * beside it.
 */
static uint32_t
skep_stack_kind(void)
{
    if (!ruby_native_thread_p()) return SKEP_NATIVE;
    if (!rb_during_gc()) return SKEP_RUBY;
    return ruby_thread_has_gvl_p() ? SKEP_GC : SKEP_NATIVE;
}

static void
skep_stack_copy(struct skep_stack *stack)
{
    VALUE near[SKEP_NEAR];
    int lines[SKEP_NEAR], count, i;

    stack->depth = 0;
    stack->line = stack->line_of = 0;
    stack->kind = skep_stack_kind();
    if (stack->kind != SKEP_RUBY) return;
    stack->depth = rb_profile_frames(0, SKEP_DEPTH, stack->frames, NULL);
    count = rb_profile_frames(0, SKEP_NEAR, near, lines);
    for (i = 0; i < count && !stack->line; i++) {
        stack->line = lines[i] > 0 ? (uint32_t)lines[i] : 0;
        stack->line_of = (uint32_t)i;
    }
}

/* Only what is safe in a signal handler: no allocation, no lock. */
static void
skep_sampler_signal(int signal)
{
    int error = errno;
    struct skep_stack *stack;

    if (!skep_sampling) return;
    stack = skep_ring_reserve();
    if (stack) {
        stack->tid = (uint32_t)syscall(SYS_gettid);
        stack->label = (uint32_t)(uintptr_t)pthread_getspecific(skep_label);
        skep_stack_copy(stack);
        __atomic_store_n(&stack->done, 1, __ATOMIC_RELEASE);
    } else {
        __atomic_fetch_add(&skep_ring_lost, 1, __ATOMIC_RELAXED);
    }
    errno = error;
}

static void
skep_sampler_mark(void *data)
{
    uint64_t at, head = __atomic_load_n(&skep_ring_head, __ATOMIC_ACQUIRE);
    uint32_t frame;
    int i;

    for (at = skep_ring_tail; at < head; at++) {
        struct skep_stack *stack = &skep_ring[at % SKEP_RING];

        if (!__atomic_load_n(&stack->done, __ATOMIC_ACQUIRE)) continue;
        for (i = 0; i < stack->depth; i++) rb_gc_mark(stack->frames[i]);
    }
    for (frame = 0; frame < skep_frame_count; frame++) rb_gc_mark(skep_frames[frame]);
}

static const rb_data_type_t skep_sampler_type = {
    .wrap_struct_name = "Skep::OS::StackSampler",
    .function = { .dmark = skep_sampler_mark },
};

static void
skep_sampler_timer(long microseconds)
{
    struct itimerval interval = { { 0, microseconds }, { 0, microseconds } };

    setitimer(ITIMER_PROF, &interval, NULL);
}

/* Returns true if SIGPROF and its timer are nobody else's: another profiler or a trap of the application. */
static int
skep_sampler_free(void)
{
    struct sigaction action;
    struct itimerval interval;

    if (sigaction(SIGPROF, NULL, &action) < 0 || getitimer(ITIMER_PROF, &interval) < 0) return 0;
    if (interval.it_value.tv_sec || interval.it_value.tv_usec) return 0;
    return action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN ||
           action.sa_handler == skep_sampler_signal;
}

/* The frames, and samples that an earlier profile has left. */
static void
skep_sampler_forget(void)
{
    for (; skep_ring_tail < skep_ring_head; skep_ring_tail++) skep_ring[skep_ring_tail % SKEP_RING].done = 0;
    skep_frame_count = 0;
    st_clear(skep_frame_numbers);
}

static void
skep_sampler_halt(void)
{
    if (skep_sampling) skep_sampler_timer(0);
    skep_sampling = 0;
}

/* Ruby takes its threads and its heap apart next: no stack may be read from here on. */
static void
skep_sampler_end(VALUE unused)
{
    skep_ended = getpid();
    skep_sampler_halt();
}

/*
 * The handler stays after a stop, as a signal may still be pending: it does nothing then. A fork's
 * child has no such timer.
 */
static VALUE
skep_sampler_start(VALUE self, VALUE microseconds)
{
    struct sigaction action = { .sa_handler = skep_sampler_signal, .sa_flags = SA_RESTART };
    long interval = NUM2LONG(microseconds);

    if (!SKEP_CAN_SAMPLE || skep_ended == getpid() || !skep_sampler_free()) return Qfalse;
    if (skep_guarded != getpid()) rb_set_end_proc(skep_sampler_end, Qnil);
    skep_guarded = getpid();
    if (!skep_frame_numbers) skep_frame_numbers = st_init_numtable();
    skep_sampler_forget();
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGPROF, &action, NULL) < 0) rb_sys_fail("sigaction(2)");
    skep_sampling = 1;
    skep_sampler_timer(interval);
    return Qtrue;
}

static uint32_t
skep_frame_number(VALUE frame)
{
    st_data_t number;

    if (st_lookup(skep_frame_numbers, (st_data_t)frame, &number)) return (uint32_t)number;
    if (skep_frame_count >= SKEP_MOST_FRAMES) return 0;
    skep_frames[skep_frame_count++] = frame;
    st_insert(skep_frame_numbers, (st_data_t)frame, (st_data_t)skep_frame_count);
    return skep_frame_count;
}

static VALUE
skep_stack_pack(const struct skep_stack *stack)
{
    uint32_t words[SKEP_HEAD + SKEP_DEPTH];
    int i;

    words[0] = stack->tid;
    words[1] = stack->label;
    words[2] = stack->kind;
    words[3] = stack->line;
    words[4] = stack->line_of;
    for (i = 0; i < stack->depth; i++) words[SKEP_HEAD + i] = skep_frame_number(stack->frames[i]);
    return rb_str_new((const char *)words, (long)(sizeof(uint32_t) * (size_t)(SKEP_HEAD + stack->depth)));
}

/* The frames are marked until the tail has passed them, and numbered by then. */
static VALUE
skep_sampler_take(VALUE self)
{
    VALUE stacks = rb_ary_new();
    struct skep_stack *stack;

    while (skep_ring_tail < __atomic_load_n(&skep_ring_head, __ATOMIC_ACQUIRE)) {
        stack = &skep_ring[skep_ring_tail % SKEP_RING];
        if (!__atomic_load_n(&stack->done, __ATOMIC_ACQUIRE)) break;
        rb_ary_push(stacks, skep_stack_pack(stack));
        stack->done = 0;
        __atomic_store_n(&skep_ring_tail, skep_ring_tail + 1, __ATOMIC_RELEASE);
    }
    return stacks;
}

static VALUE
skep_sampler_stop(VALUE self)
{
    skep_sampler_halt();
    return Qnil;
}

static VALUE
skep_sampler_lost(VALUE self)
{
    return ULL2NUM(__atomic_exchange_n(&skep_ring_lost, 0, __ATOMIC_RELAXED));
}

static VALUE
skep_sampler_frame(VALUE self, VALUE number)
{
    uint32_t index = NUM2UINT(number);
    VALUE frame;

    if (index == 0 || index > skep_frame_count) return Qnil;
    frame = skep_frames[index - 1];
    return rb_ary_new_from_args(3, rb_profile_frame_full_label(frame), rb_profile_frame_path(frame),
                                rb_profile_frame_first_lineno(frame));
}

static VALUE
skep_sampler_set_label(VALUE self, VALUE label)
{
    int error = pthread_setspecific(skep_label, (void *)(uintptr_t)NUM2UINT(label));

    if (error) rb_syserr_fail(error, "pthread_setspecific(3)");
    return label;
}

/*
 * With the GVL: Ruby's own File.read gives it up several times, and a thread that computes has it for
 * 100 ms each time.
 */
static VALUE
skep_sampler_times(VALUE self, VALUE tid)
{
    char path[64], text[96];
    uint64_t used, queued;
    ssize_t length;
    int file;

    snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", NUM2INT(tid));
    file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return Qnil;
    length = read(file, text, sizeof(text) - 1);
    close(file);
    if (length <= 0) return Qnil;
    text[length] = '\0';
    if (sscanf(text, "%" SCNu64 " %" SCNu64, &used, &queued) != 2) return Qnil;
    return rb_assoc_new(DBL2NUM((double)used / 1e9), DBL2NUM((double)queued / 1e9));
}

void
skep_init_stack_sampler(VALUE os)
{
    VALUE module = rb_define_module_under(os, "StackSampler");
    int error = pthread_key_create(&skep_label, NULL);

    if (error) rb_syserr_fail(error, "pthread_key_create(3)");
    rb_gc_register_mark_object(TypedData_Wrap_Struct(rb_cObject, &skep_sampler_type, skep_ring));
    rb_define_singleton_method(module, "start", skep_sampler_start, 1);
    rb_define_singleton_method(module, "take", skep_sampler_take, 0);
    rb_define_singleton_method(module, "stop", skep_sampler_stop, 0);
    rb_define_singleton_method(module, "lost", skep_sampler_lost, 0);
    rb_define_singleton_method(module, "frame", skep_sampler_frame, 1);
    rb_define_singleton_method(module, "times", skep_sampler_times, 1);
    rb_define_singleton_method(module, "label=", skep_sampler_set_label, 1);
}
