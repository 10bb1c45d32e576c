/* What the two halves of Skep::OS::SharedPage share. */
#ifndef SKEP_PAGE_H
#define SKEP_PAGE_H

#include "skep.h"

#include "cell.h"

/* The mapped cells and their number; NULL once the page is closed. */
struct skep_cell *skep_shared_page_cells(VALUE self, size_t *count);

/* One of them; raises IndexError, or Closed. */
struct skep_cell *skep_shared_page_cell(VALUE self, long index);

/* Keeps them mapped to the end of this process, which knows where they are. */
void skep_shared_page_pin(VALUE self);

void skep_init_shared_page_cells(VALUE page);

#endif
