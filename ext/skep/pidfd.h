/* What the parts of Skep::OS::Pidfd share. */
#ifndef SKEP_PIDFD_H
#define SKEP_PIDFD_H

#include "skep.h"

/* For headers older than the kernel (5.4). */
#define SKEP_P_PIDFD 3

/* Sets @status if it can be had, within so many seconds of settling. */
VALUE skep_pidfd_reap(VALUE self, VALUE settle);

void skep_init_pidfd_many(VALUE pidfd);

#endif
