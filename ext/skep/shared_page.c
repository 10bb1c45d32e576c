/*
 * Skep::OS::SharedPage over a mapping of a memfd. The fd belongs to @io, the mapping to this typed
 * data. Access to the cells: shared_page_words.c.
 */
#include "descriptors.h"
#include "shared_page.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

struct skep_shared_page {
    struct skep_cell *cells;
    size_t count;
    pid_t pinned; /* the process that has an address in it */
};

static void
skep_shared_page_unmap(struct skep_shared_page *page)
{
    /* Kafka's reader beats at an address in the page. */
    if (page->cells && page->pinned != getpid()) munmap(page->cells, page->count * SKEP_CELL);
    page->cells = NULL;
}

static void
skep_shared_page_free(void *data)
{
    skep_shared_page_unmap(data);
    ruby_xfree(data);
}

static size_t
skep_shared_page_size(const void *data)
{
    const struct skep_shared_page *page = data;

    return sizeof(*page) + (page->cells ? page->count * SKEP_CELL : 0);
}

static const rb_data_type_t skep_shared_page_type = {
    .wrap_struct_name = "Skep::OS::SharedPage",
    .function = { .dfree = skep_shared_page_free, .dsize = skep_shared_page_size },
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static VALUE
skep_shared_page_allocate(VALUE class)
{
    struct skep_shared_page *page;

    return TypedData_Make_Struct(class, struct skep_shared_page, &skep_shared_page_type, page);
}

static struct skep_shared_page *
skep_shared_page_of(VALUE self)
{
    return rb_check_typeddata(self, &skep_shared_page_type);
}

struct skep_cell *
skep_shared_page_cells(VALUE self, size_t *count)
{
    struct skep_shared_page *page = skep_shared_page_of(self);

    *count = page->count;
    return page->cells;
}

void
skep_shared_page_pin(VALUE self)
{
    skep_shared_page_of(self)->pinned = getpid();
}

static VALUE
skep_shared_page_backing(VALUE self, VALUE bytes)
{
    off_t size = NUM2OFFT(bytes);
    int fd = skep_memfd("skep");

    if (fd < 0) rb_sys_fail("memfd_create(2)");
    /* Sealed: a truncated page would kill its readers with SIGBUS. */
    if (ftruncate(fd, size) < 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) < 0) {
        int error = errno;

        close(fd);
        rb_syserr_fail(error, "memfd_create(2)");
    }
    return skep_own_fd(fd, O_RDWR);
}

static VALUE
skep_shared_page_attach(VALUE self)
{
    struct skep_shared_page *page = skep_shared_page_of(self);
    size_t count = NUM2SIZET(rb_iv_get(self, "@cells"));
    void *cells = mmap(NULL, count * SKEP_CELL, PROT_READ | PROT_WRITE, MAP_SHARED,
                       skep_fd_of(self, "@io"), 0);

    if (cells == MAP_FAILED) rb_sys_fail("mmap(2)");
    skep_shared_page_unmap(page);
    page->cells = cells;
    page->count = count;
    return Qnil;
}

static VALUE
skep_shared_page_release(VALUE self)
{
    skep_shared_page_unmap(skep_shared_page_of(self));
    return Qnil;
}

void
skep_init_shared_page(VALUE os)
{
    VALUE page = rb_define_class_under(os, "SharedPage", rb_cObject);

    rb_define_alloc_func(page, skep_shared_page_allocate);
    rb_define_private_method(page, "backing", skep_shared_page_backing, 1);
    rb_define_private_method(page, "attach", skep_shared_page_attach, 0);
    rb_define_private_method(page, "release", skep_shared_page_release, 0);
    skep_init_shared_page_cells(page);
}
