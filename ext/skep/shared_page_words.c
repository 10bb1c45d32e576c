/*
 * The methods of Skep::OS::SharedPage that read and write its cells. Each converts its arguments
 * before it looks up the cell: a conversion may run Ruby code, which may close the page.
 */
#include "shared_page.h"

struct skep_cell *
skep_shared_page_cell(VALUE self, long index)
{
    size_t count;
    struct skep_cell *cells = skep_shared_page_cells(self, &count);

    if (!cells) rb_funcall(self, rb_intern("closed!"), 0);
    if (index < 0 || (size_t)index >= count)
        rb_raise(rb_eIndexError, "no cell %ld among %lu", index, (unsigned long)count);
    return &cells[index];
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

    skep_shared_page_pin(self);
    return ULL2NUM((uintptr_t)found);
}

void
skep_init_shared_page_cells(VALUE page)
{
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
