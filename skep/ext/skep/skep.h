/* Shared by the files of this extension. Each skep_init_x overrides a Ruby fallback in skep/lib/skep/os. */
#ifndef SKEP_H
#define SKEP_H

/* Ruby's methods and headers have parameters that not each function uses. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* First, as it defines _GNU_SOURCE for memfd_create, F_ADD_SEALS, madvise and mincore. */
#include <ruby.h>
#include <ruby/io.h>

void skep_init_pidfd(VALUE os);
void skep_init_poller(VALUE loop);
void skep_init_shared_page(VALUE os);
void skep_init_memory(VALUE memory);
void skep_init_holes(VALUE memory);
void skep_init_generation(VALUE os);
void skep_init_huge_pages(VALUE memory);
void skep_init_process_tree(VALUE tree);
void skep_init_parent_watch(VALUE tree);
void skep_init_stack_sampler(VALUE os);

#endif
