/* Skep::OS::Memory::HugePages over madvise(MADV_COLLAPSE), Linux 6.1. Ruby chooses the areas. */
#include "skep.h"

#include <errno.h>
#include <ruby/thread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

#define SKEP_HUGE ((uintptr_t)2 << 20)
#define SKEP_SMALLEST_PAGE 4096

struct skep_area {
    uintptr_t from, to;
    size_t enough; /* resident small pages in a huge page's range from which on it is collapsed */
    volatile int interrupted;
};

static size_t
skep_huge_resident(uintptr_t from, size_t page)
{
    unsigned char pages[SKEP_HUGE / SKEP_SMALLEST_PAGE];
    size_t i, resident = 0;

    if (mincore((void *)from, SKEP_HUGE, pages) < 0) return 0;
    for (i = 0; i < SKEP_HUGE / page; i++) resident += pages[i] & 1;
    return resident;
}

/* A refusal (no huge page free, unmapped meanwhile) skips one huge page. */
static void *
skep_huge_collapse_unlocked(void *data)
{
    struct skep_area *area = data;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uintptr_t at = (area->from + SKEP_HUGE - 1) & ~(SKEP_HUGE - 1);

    for (; at + SKEP_HUGE <= area->to && !area->interrupted; at += SKEP_HUGE)
        if (skep_huge_resident(at, page) >= area->enough)
            madvise((void *)at, SKEP_HUGE, MADV_COLLAPSE);
    return NULL;
}

static void
skep_huge_interrupt(void *data)
{
    ((struct skep_area *)data)->interrupted = 1;
}

static VALUE
skep_huge_collapse(VALUE self, VALUE from, VALUE bytes, VALUE share)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct skep_area area = { .from = (uintptr_t)NUM2ULL(from) };

    area.to = area.from + (uintptr_t)NUM2ULL(bytes);
    area.enough = (size_t)(NUM2DBL(share) * (double)(SKEP_HUGE / page));
    rb_thread_call_without_gvl(skep_huge_collapse_unlocked, &area, skep_huge_interrupt, &area);
    return Qnil;
}

/* 0: enabled; 1: disabled; 3: disabled unless advised (a flag of Linux 6.18, to be restored). */
static VALUE
skep_huge_set_disabled(VALUE disabled)
{
    unsigned long value = NUM2ULONG(disabled);

    prctl(PR_SET_THP_DISABLE, value & 1, value & 2, 0, 0);
    return Qnil;
}

/* Ruby disables huge pages for its process: enables them during the block. */
static VALUE
skep_huge_allowed(VALUE self)
{
    int disabled = prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0);

    if (disabled <= 0) return rb_yield(Qnil);
    skep_huge_set_disabled(INT2FIX(0));
    return rb_ensure(rb_yield, Qnil, skep_huge_set_disabled, INT2FIX(disabled));
}

/* Returns nil, or the reason why not. Tries an empty range: EINVAL means an old kernel. */
static VALUE
skep_huge_unsupported(VALUE self)
{
    size_t bytes = 2 * SKEP_HUGE;
    char *room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uintptr_t at = ((uintptr_t)room + SKEP_HUGE - 1) & ~(SKEP_HUGE - 1);
    int error = 0;

    if (room == MAP_FAILED) return rb_str_new_cstr("there is no memory for a probe");
    *(volatile char *)at = 1;
    if (madvise((void *)at, SKEP_HUGE, MADV_COLLAPSE) < 0) error = errno;
    munmap(room, bytes);
    return error == EINVAL ? rb_str_new_cstr("huge pages need Linux 6.1, and not switched off") : Qnil;
}

void
skep_init_huge_pages(VALUE memory)
{
    VALUE module = rb_define_module_under(memory, "HugePages");

    rb_define_private_method(rb_singleton_class(module), "unsupported", skep_huge_unsupported, 0);
    rb_define_private_method(rb_singleton_class(module), "allowed", skep_huge_allowed, 0);
    rb_define_private_method(rb_singleton_class(module), "collapse_area", skep_huge_collapse, 3);
}
