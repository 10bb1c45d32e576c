/*
 * Skep::Reshare::HeapPageSlab: Ruby has a record for each heap page (struct heap_page: mark bits
 * and so on, which each collection writes) in malloc's heap, scattered among the application's
 * buffers. The slab allocates them next to each other.
 *
 * The call that allocates such a record is found by trial: while the heap grows, one call site of
 * calloc in Ruby must run once for each new page, and a new page's first word must then point to
 * that call's result. From then on the slab serves this call site alone. All of it happens with the
 * GVL held and, in the collector, with the VM's lock held.
 */
#include "skep_reshare.h"
#include "got_patch.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define SKEP_SLAB_ROOM ((size_t)256 << 20) /* reserved addresses */
#define SKEP_SLAB_STEP ((size_t)1 << 20)
#define SKEP_LEARN_CALLS 64    /* call sites and sizes that are counted */
#define SKEP_LEARN_PAGES 6     /* new heap pages of the trial */
#define SKEP_LEARN_OBJECTS 200000 /* the most objects to make for them */
#define SKEP_SMALLEST_RECORD 128

struct skep_call {
    void *site;
    size_t bytes;
    unsigned long times;
};

static struct skep_slab slab;
static struct skep_call wanted; /* the call that allocates records */
static struct skep_call seen[SKEP_LEARN_CALLS];
static int learning;
static void *spare; /* free list: each slot begins with the next one's address */
static const char *refusal; /* why it isn't supported in this process */
static void *(*libc_calloc)(size_t, size_t);
static void (*libc_free)(void *);

const struct skep_slab *
skep_slab(void)
{
    return &slab;
}

static void
skep_slab_note(void *site, size_t bytes)
{
    int i;

    for (i = 0; i < SKEP_LEARN_CALLS; i++) {
        if (seen[i].times && (seen[i].site != site || seen[i].bytes != bytes)) continue;
        seen[i].site = site;
        seen[i].bytes = bytes;
        seen[i].times++;
        return;
    }
}

static void *
skep_slab_fresh(void)
{
    char *at = slab.next;

    if (at + slab.slot > slab.ready) {
        if (slab.ready + SKEP_SLAB_STEP > slab.end) return NULL;
        if (mprotect(slab.ready, SKEP_SLAB_STEP, PROT_READ | PROT_WRITE) < 0) return NULL;
        slab.ready += SKEP_SLAB_STEP;
    }
    slab.next = at + slab.slot;
    return at;
}

static void *
skep_slab_take(void)
{
    void *at = spare;

    if (at) {
        spare = *(void **)at;
        memset(at, 0, slab.slot);
    }
    else {
        at = skep_slab_fresh();
    }
    if (at) slab.slots++;
    return at;
}

static void *
skep_slab_calloc(size_t count, size_t bytes)
{
    void *site = __builtin_return_address(0);
    void *at;

    if (RB_UNLIKELY(site == wanted.site && count == 1 && bytes == wanted.bytes)) {
        at = skep_slab_take();
        if (at) return at;
    }
    if (RB_UNLIKELY(learning) && count == 1) skep_slab_note(site, bytes);
    return libc_calloc(count, bytes);
}

static void
skep_slab_free(void *at)
{
    if (RB_LIKELY((char *)at < slab.from || (char *)at >= slab.end)) {
        libc_free(at);
        return;
    }
    *(void **)at = spare;
    spare = at;
    slab.slots--;
}

static unsigned long
skep_slab_heap(const char *fact)
{
    return (unsigned long)rb_gc_stat(ID2SYM(rb_intern(fact)));
}

static unsigned long
skep_slab_heap_pages(void)
{
    return skep_slab_heap("heap_allocated_pages");
}

/* Makes objects until the heap has so many more pages; returns the last object, or nil. */
static VALUE
skep_slab_grow(unsigned long pages)
{
    unsigned long enough = skep_slab_heap_pages() + pages;
    long left = SKEP_LEARN_OBJECTS;
    VALUE made = Qnil;

    while (left-- > 0 && skep_slab_heap_pages() < enough) made = rb_obj_alloc(rb_cObject);
    return left > 0 ? made : Qnil;
}

/* Finds the one call that ran once for each new page. */
static int
skep_slab_learn(struct skep_call *call)
{
    unsigned long before = skep_slab_heap_pages(), pages;
    int i, found = 0;

    memset(seen, 0, sizeof(seen));
    learning = 1;
    skep_slab_grow(SKEP_LEARN_PAGES);
    learning = 0;
    pages = skep_slab_heap_pages() - before;
    for (i = 0; pages >= SKEP_LEARN_PAGES && i < SKEP_LEARN_CALLS; i++) {
        if (seen[i].times != pages || seen[i].bytes < SKEP_SMALLEST_RECORD) continue;
        *call = seen[i];
        found++;
    }
    return found == 1;
}

static int
skep_slab_has_slot(const char *at)
{
    return at >= slab.from && at < slab.next && (size_t)(at - slab.from) % slab.slot == 0;
}

/*
 * Returns true if the heap page of this object begins with the address of a slot: not always of the
 * newest, because Ruby 3.4 may allocate several pages before it makes the object.
 */
static int
skep_slab_proven(VALUE made)
{
    uintptr_t align;

    if (NIL_P(made)) return 0;
    for (align = (uintptr_t)1 << 14; align <= (uintptr_t)1 << 16; align <<= 1)
        if (skep_slab_has_slot(*(char **)((uintptr_t)made & ~(align - 1)))) return 1;
    return 0;
}

static int
skep_slab_make_room(void)
{
    void *room = mmap(NULL, SKEP_SLAB_ROOM, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (room == MAP_FAILED) return -1;
    slab.from = slab.ready = slab.next = room;
    slab.end = slab.from + SKEP_SLAB_ROOM;
    return 0;
}

/* Verifies the call that was found; discards it if the verification fails. */
static const char *
skep_slab_try(struct skep_call call)
{
    if (skep_slab_make_room() < 0) return "there are no addresses for it";
    slab.slot = (call.bytes + 15) & ~(size_t)15;
    wanted = call;
    if (skep_slab_proven(skep_slab_grow(1))) return NULL;
    wanted.site = NULL;
    return "this Ruby keeps its heap pages in a way unknown to skep";
}

static const char *
skep_slab_replace(void)
{
    struct skep_got_patch imports[] = {
        { "calloc", (void *)skep_slab_calloc, NULL }, { "free", (void *)skep_slab_free, NULL },
    };
    struct skep_call call;

    libc_calloc = calloc;
    libc_free = free;
    if (skep_replace_imports(imports, 2) < 0) return "this Ruby calls malloc in a way unknown to skep";
    libc_calloc = (void *(*)(size_t, size_t))imports[0].previous;
    libc_free = (void (*)(void *))imports[1].previous;
    if (!skep_slab_learn(&call)) return "this Ruby asks for its heap pages in a way unknown to skep";
    return skep_slab_try(call);
}

/* A failure is final for this process. */
static const char *
skep_slab_set_up(void)
{
    if (wanted.site) return NULL;
    if (refusal) return refusal;
    if (skep_slab_heap("heap_free_slots") > SKEP_LEARN_OBJECTS)
        return "Ruby's heap was given its pages beforehand (RUBY_GC_HEAP_INIT_SLOTS)";
    return refusal = skep_slab_replace();
}

/* Returns nil, or the reason why not. May be called again. */
static VALUE
skep_slab_install(VALUE self)
{
    VALUE disabled = rb_gc_disable();
    const char *why = skep_slab_set_up();

    if (!RTEST(disabled)) rb_gc_enable();
    return why ? rb_str_new_cstr(why) : Qnil;
}

static VALUE
skep_slab_installed(VALUE self)
{
    return wanted.site ? Qtrue : Qfalse;
}

static VALUE
skep_slab_records(VALUE self)
{
    return SIZET2NUM(slab.slots);
}

static VALUE
skep_slab_bytes(VALUE self)
{
    return SIZET2NUM((size_t)(slab.next - slab.from));
}

void
Init_skep_reshare(void)
{
    VALUE module = rb_path2class("Skep::Reshare::HeapPageSlab");

    rb_define_private_method(rb_singleton_class(module), "set_up", skep_slab_install, 0);
    rb_define_singleton_method(module, "installed?", skep_slab_installed, 0);
    rb_define_singleton_method(module, "records", skep_slab_records, 0);
    rb_define_singleton_method(module, "bytes", skep_slab_bytes, 0);
    skep_init_cow_restore(module);
}
