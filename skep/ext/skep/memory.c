/* Skep::OS::Memory.trim over malloc_trim(3), a GNU extension. */
#include "skep.h"

#include <ruby/thread.h>

#ifdef HAVE_MALLOC_TRIM
#include <malloc.h>

static void *
skep_memory_trim_unlocked(void *given)
{
    *(int *)given = malloc_trim(0);
    return NULL;
}

/* A large heap takes a while: other threads run meanwhile. */
static VALUE
skep_memory_trim(VALUE self)
{
    int given = 0;

    rb_thread_call_without_gvl(skep_memory_trim_unlocked, &given, NULL, NULL);
    return given ? Qtrue : Qfalse;
}
#endif

void
skep_init_memory(VALUE memory)
{
#ifdef HAVE_MALLOC_TRIM
    rb_define_singleton_method(memory, "trim", skep_memory_trim, 0);
#endif
}
