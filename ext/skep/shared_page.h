/* Shared by the files of Skep::OS::SharedPage. */
#ifndef SKEP_PAGE_H
#define SKEP_PAGE_H

#include "skep.h"

#include "cell.h"

/* Returns the mapped cells and their number; NULL once the page is closed. */
struct skep_cell *skep_shared_page_cells(VALUE self, size_t *count);

/* Returns one cell; raises IndexError, or Closed. */
struct skep_cell *skep_shared_page_cell(VALUE self, long index);

/* Keeps the cells mapped until this process exits: it has an address in them. */
void skep_shared_page_pin(VALUE self);

void skep_init_shared_page_cells(VALUE page);

#endif
