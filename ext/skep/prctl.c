/* Skep::OS::ProcessTree::Prctl over prctl(2). Names of signals become numbers in Ruby. */
#include "skep.h"

#include <sys/prctl.h>

static VALUE
skep_prctl_set_subreaper(VALUE self)
{
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0) rb_sys_fail("prctl(PR_SET_CHILD_SUBREAPER)");
    return Qtrue;
}

static VALUE
skep_prctl_send_at_parents_death(VALUE self, VALUE number)
{
    if (prctl(PR_SET_PDEATHSIG, NUM2INT(number), 0, 0, 0) < 0) rb_sys_fail("prctl(PR_SET_PDEATHSIG)");
    return Qtrue;
}

void
skep_init_prctl(VALUE tree)
{
    VALUE module = rb_define_module_under(tree, "Prctl");

    rb_define_singleton_method(module, "subreaper!", skep_prctl_set_subreaper, 0);
    rb_define_private_method(rb_singleton_class(module), "send_at_parents_death",
                             skep_prctl_send_at_parents_death, 1);
}
