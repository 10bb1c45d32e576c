/* Shared by the files of Skep::OS::Pidfd. */
#ifndef SKEP_PIDFD_H
#define SKEP_PIDFD_H

#include "skep.h"

/* For headers older than the kernel (5.4). */
#define SKEP_P_PIDFD 3

/* Sets @status if it is available, or becomes so within `settle` seconds. */
VALUE skep_pidfd_reap(VALUE self, VALUE settle);

void skep_init_pidfd_many(VALUE pidfd);

#endif
