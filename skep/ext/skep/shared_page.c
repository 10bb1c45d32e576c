/*
 * Skep::OS::SharedPage over a mapping of a memfd. The fd belongs to @io, the mapping to this typed
 * data. The methods convert their arguments before they look up the cell: a conversion may run Ruby
 * code, which may close the page.
 */
#include "descriptors.h"

#include "cell.h"

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
    /* The C of another gem beats at an address in the page. */
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

static struct skep_cell *
skep_shared_page_cell(VALUE self, long index)
{
    const struct skep_shared_page *page = skep_shared_page_of(self);

    if (!page->cells) rb_funcall(self, rb_intern("closed!"), 0);
    if (index < 0 || (size_t)index >= page->count)
        rb_raise(rb_eIndexError, "no cell %ld among %lu", index, (unsigned long)page->count);
    return &page->cells[index];
}

static uint64_t *
skep_shared_page_word(VALUE self, long cell, long word)
{
    if (word < 0 || word >= SKEP_WORDS)
        rb_raise(rb_eIndexError, "no word %ld among %d", word, SKEP_WORDS);
    return &skep_shared_page_cell(self, cell)->words[word];
}

static uint64_t *
skep_shared_page_writable(VALUE self, long cell, long word)
{
    if (word == 0)
        rb_raise(rb_eIndexError, "word 0 is the sequence, which only write and clear move");
    return skep_shared_page_word(self, cell, word);
}

static VALUE
skep_shared_page_beat(VALUE self, VALUE cell)
{
    skep_cell_beat(skep_shared_page_cell(self, NUM2LONG(cell)));
    return Qnil;
}

static VALUE
skep_shared_page_get(VALUE self, VALUE cell, VALUE word)
{
    long at = NUM2LONG(cell), which = NUM2LONG(word);

    return ULL2NUM(__atomic_load_n(skep_shared_page_word(self, at, which), __ATOMIC_ACQUIRE));
}

static VALUE
skep_shared_page_set(VALUE self, VALUE cell, VALUE word, VALUE integer)
{
    uint64_t value = NUM2ULL(integer);
    long at = NUM2LONG(cell), which = NUM2LONG(word);

    __atomic_store_n(skep_shared_page_writable(self, at, which), value, __ATOMIC_RELEASE);
    return Qnil;
}

static VALUE
skep_shared_page_mark(VALUE self, VALUE cell, VALUE word, VALUE integer)
{
    skep_shared_page_set(self, cell, word, integer);
    return skep_shared_page_beat(self, cell);
}

static VALUE
skep_shared_page_add(VALUE self, VALUE cell, VALUE word, VALUE integer)
{
    uint64_t value = NUM2ULL(integer);
    long at = NUM2LONG(cell), which = NUM2LONG(word);

    return ULL2NUM(__atomic_add_fetch(skep_shared_page_writable(self, at, which), value,
                                      __ATOMIC_ACQ_REL));
}

static VALUE
skep_shared_page_write(VALUE self, VALUE cell, VALUE string)
{
    long at = NUM2LONG(cell);

    StringValue(string);
    if (RSTRING_LEN(string) > SKEP_BLOB)
        rb_raise(rb_eArgError, "a blob has %d bytes at most, not %ld", SKEP_BLOB,
                 RSTRING_LEN(string));
    skep_cell_write(skep_shared_page_cell(self, at), RSTRING_PTR(string), (uint16_t)RSTRING_LEN(string));
    RB_GC_GUARD(string);
    return Qnil;
}

static VALUE
skep_shared_page_read(VALUE self, VALUE cell)
{
    struct skep_blob copy;

    if (!skep_cell_read(skep_shared_page_cell(self, NUM2LONG(cell)), &copy)) return Qnil;
    return rb_utf8_str_new(copy.bytes, copy.length);
}

static VALUE
skep_shared_page_clear(VALUE self, VALUE cell)
{
    skep_cell_clear(skep_shared_page_cell(self, NUM2LONG(cell)));
    return Qnil;
}

/* C code writes to this address later, so the page stays mapped even after its close. */
static VALUE
skep_shared_page_address(VALUE self, VALUE cell)
{
    struct skep_cell *found = skep_shared_page_cell(self, NUM2LONG(cell));

    skep_shared_page_of(self)->pinned = getpid();
    return ULL2NUM((uintptr_t)found);
}

void
skep_init_shared_page(VALUE os)
{
    VALUE page = rb_define_class_under(os, "SharedPage", rb_cObject);

    rb_define_alloc_func(page, skep_shared_page_allocate);
    rb_define_private_method(page, "backing", skep_shared_page_backing, 1);
    rb_define_private_method(page, "attach", skep_shared_page_attach, 0);
    rb_define_private_method(page, "release", skep_shared_page_release, 0);
    rb_define_method(page, "beat", skep_shared_page_beat, 1);
    rb_define_method(page, "get", skep_shared_page_get, 2);
    rb_define_method(page, "set", skep_shared_page_set, 3);
    rb_define_method(page, "mark", skep_shared_page_mark, 3);
    rb_define_method(page, "add", skep_shared_page_add, 3);
    rb_define_method(page, "write", skep_shared_page_write, 2);
    rb_define_method(page, "read", skep_shared_page_read, 1);
    rb_define_method(page, "clear", skep_shared_page_clear, 1);
    rb_define_method(page, "address", skep_shared_page_address, 1);
}
