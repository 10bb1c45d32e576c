/*
 * Skep::OS::Generation: the pid and the count of forks on a page that the kernel wipes in each forked
 * child (MADV_WIPEONFORK, Linux 4.14). A zero there means a fork, however it was made. The statics
 * are process-wide. Safe in any Ractor: several that refill the page write the same numbers.
 */
#include "skep.h"

#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

/* Fixnums; 0 until this process has filled them. */
struct skep_generation_page {
    VALUE pid;     /* this process */
    VALUE count;   /* of forks */
    VALUE noticed; /* the count that the listener knows */
};

static volatile struct skep_generation_page *skep_generation_page;
static VALUE skep_generation_last = INT2FIX(0); /* the count, not wiped */
static VALUE skep_generation_module;
static ID skep_generation_notice;

static VALUE
skep_generation_read_pid(VALUE self)
{
    VALUE pid = skep_generation_page->pid;

    return RB_LIKELY(pid) ? pid : (skep_generation_page->pid = PIDT2NUM(getpid()));
}

/* The first thread that writes its number to the page counts the fork. */
static VALUE
skep_generation_recount(void)
{
    VALUE next = LONG2FIX(FIX2LONG(skep_generation_last) + 1);
    VALUE none = 0;

    if (!__atomic_compare_exchange_n(&skep_generation_page->count, &none, next, 0,
                                     __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return none;
    return skep_generation_last = next;
}

static VALUE
skep_generation_count(VALUE self)
{
    VALUE count = skep_generation_page->count;

    return RB_LIKELY(count) ? count : skep_generation_recount();
}

static VALUE
skep_generation_read_noticed(VALUE self)
{
    VALUE noticed = skep_generation_page->noticed;

    return RB_LIKELY(noticed) ? noticed : rb_funcall(skep_generation_module, skep_generation_notice, 0);
}

/* Only one of several threads gets true: no other can run in here. */
static VALUE
skep_generation_note(VALUE self)
{
    if (skep_generation_page->noticed) return Qfalse;
    skep_generation_page->noticed = skep_generation_count(self);
    return Qtrue;
}

static VALUE
skep_pid_cache_variable(ID name, VALUE *data)
{
    return skep_generation_read_pid(Qnil);
}

/*
 * For `require "skep/pid_cache"` on a Ruby without a pid cache (3.1, 3.2): Process.pid, $$ and its
 * aliases ($PROCESS_ID) read the page. $$ stays read-only. Redefines the method instead of prepending
 * a module, so that others can redefine it after us.
 */
static VALUE
skep_pid_cache_install(VALUE self)
{
    VALUE verbose = ruby_verbose;

    if (OBJ_FROZEN(rb_mProcess)) rb_error_frozen_object(rb_mProcess);
    ruby_verbose = Qnil; /* or Ruby warns of the redefined method */
    rb_ext_ractor_safe(true);
    rb_define_module_function(rb_mProcess, "pid", skep_generation_read_pid, 0);
    rb_ext_ractor_safe(false);
    ruby_verbose = verbose;
    rb_define_virtual_variable("$$", skep_pid_cache_variable, NULL);
    return Qtrue;
}

static void *
skep_generation_map(void)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (page == MAP_FAILED) return NULL;
    if (madvise(page, size, MADV_WIPEONFORK) == 0) return page;
    munmap(page, size);
    return NULL;
}

static void
skep_generation_define(VALUE module)
{
    VALUE facade = rb_define_module_under(module, "PidMethods");

    rb_ext_ractor_safe(true);
    rb_define_singleton_method(module, "pid", skep_generation_read_pid, 0);
    rb_define_singleton_method(module, "count", skep_generation_count, 0);
    rb_define_singleton_method(module, "__note", skep_generation_note, 0);
    rb_define_method(facade, "pid", skep_generation_read_pid, 0);
    rb_define_method(facade, "generation", skep_generation_read_noticed, 0);
    rb_ext_ractor_safe(false);
    rb_define_singleton_method(module, "__install_in_ruby", skep_pid_cache_install, 0);
}

void
skep_init_generation(VALUE os)
{
    VALUE module = rb_define_module_under(os, "Generation");

    skep_generation_page = skep_generation_map();
    if (!skep_generation_page) return;
    skep_generation_page->count = skep_generation_page->noticed = INT2FIX(0);
    skep_generation_notice = rb_intern("__notice");
    rb_gc_register_mark_object(skep_generation_module = module);
    skep_generation_define(module);
}
