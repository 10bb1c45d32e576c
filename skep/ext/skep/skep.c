/*
 * The C of skep/lib/skep/os: system calls and what must be fast, no policy. Linux only.
 * Loaded last by skep/lib/skep/os.rb, when each class exists with its Ruby fallback.
 */
#include "skep.h"

void
Init_skep_ext(void)
{
    VALUE skep = rb_define_module("Skep");
    VALUE os = rb_define_module_under(skep, "OS");
    VALUE loop = rb_const_get(os, rb_intern("EventLoop"));
    VALUE memory = rb_const_get(os, rb_intern("Memory"));
    VALUE tree = rb_const_get(os, rb_intern("ProcessTree"));

    skep_init_pidfd(os);
    skep_init_poller(loop);
    skep_init_shared_page(os);
    skep_init_process_tree(tree);
    skep_init_parent_watch(tree);
    skep_init_memory(memory);
    skep_init_holes(memory);
    skep_init_huge_pages(memory);
    skep_init_generation(os);
    skep_init_stack_sampler(os);
}
