/*
 * `require "skep/pid_cache"` on a Ruby without a pid cache (3.1, 3.2): Process.pid and $$ read the
 * page of generation.c, and so do aliases of $$ ($PROCESS_ID). $$ stays read-only.
 */
#include "generation.h"

static VALUE
skep_pid_cache_method(VALUE self)
{
    return skep_generation_pid();
}

static VALUE
skep_pid_cache_variable(ID name, VALUE *data)
{
    return skep_generation_pid();
}

/* Redefines the method instead of prepending a module, so that others can redefine it after us. */
static VALUE
skep_pid_cache_install(VALUE self)
{
    VALUE verbose = ruby_verbose;

    if (OBJ_FROZEN(rb_mProcess)) rb_error_frozen_object(rb_mProcess);
    ruby_verbose = Qnil; /* or Ruby warns of the redefined method */
    rb_ext_ractor_safe(true);
    rb_define_module_function(rb_mProcess, "pid", skep_pid_cache_method, 0);
    rb_ext_ractor_safe(false);
    ruby_verbose = verbose;
    rb_define_virtual_variable("$$", skep_pid_cache_variable, NULL);
    return Qtrue;
}

void
skep_init_pid_cache(VALUE os)
{
    VALUE module = rb_define_module_under(os, "Generation");

    if (!skep_generation_page) return;
    rb_define_singleton_method(module, "__install_in_ruby", skep_pid_cache_install, 0);
}
