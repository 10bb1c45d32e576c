/*
 * Skep::Reshare::HeapPageSlab.share: copies the slab to a memfd and maps that privately in its
 * place. A process forked later writes to the records in each collection, which copies pages. After
 * the collection nearly all of them have the file's content again: these copies are dropped.
 * Sources: memfd_create(2), mmap(2), madvise(2) MADV_DONTNEED, proc(5) /proc/pid/pagemap.
 */
#include "skep_reshare.h"

#include <errno.h>
#include <fcntl.h>
#include <ruby/debug.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define SKEP_PAGEMAP_PRESENT ((uint64_t)1 << 63)
#define SKEP_PAGEMAP_FILE ((uint64_t)1 << 61)
#define SKEP_MFD_NOEXEC_SEAL 8U
/* NORESERVE as for the slab: the kernel unmaps the old range before it would count a new one. */
#define SKEP_RESHARE_MAP (MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE)
#define SKEP_RESHARE_PAGES 512    /* checked at a time */
#define SKEP_RESHARE_PAUSE 100    /* at most a hundredth of the time is spent after minor collections */

/* Ruby 3.1: NULL after a second Ractor was started. Later versions don't export it. */
extern void *ruby_single_main_ractor __attribute__((weak));

static struct {
    char *from;           /* the part of the slab that is mapped from the file */
    const char *original; /* a second mapping of the file, read-only */
    size_t bytes;
    size_t page;
    uint64_t given_back;  /* pages, by this process and its ancestors */
    double ended, took;   /* the last run, in seconds */
    VALUE major_by;       /* a symbol, as no object may be made in a collection */
} shared;

/*
 * Returns false if another Ractor may write meanwhile. In Ruby 3.1 Ractors run while one sweeps, and
 * mark objects as unprotected without the lock; later versions take it.
 */
static int
skep_cow_restore_alone(void)
{
    return !&ruby_single_main_ractor || ruby_single_main_ractor;
}

static double
skep_cow_restore_clock(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int
skep_cow_restore_changed(uint64_t entry)
{
    return (entry & SKEP_PAGEMAP_PRESENT) && !(entry & SKEP_PAGEMAP_FILE);
}

static int
skep_cow_restore_same(size_t page)
{
    size_t at = page * shared.page;

    return memcmp(shared.from + at, shared.original + at, shared.page) == 0;
}

/* Drops runs of copied pages, of `count` from `first` on, that have the original's content again. */
static void
skep_cow_restore_some(const uint64_t *entries, size_t first, size_t count)
{
    size_t i = 0, run;

    while (i < count) {
        for (run = i; run < count && skep_cow_restore_changed(entries[run]); run++)
            if (!skep_cow_restore_same(first + run)) break;
        if (run > i) {
            char *from = shared.from + (first + i) * shared.page;

            if (madvise(from, (run - i) * shared.page, MADV_DONTNEED) == 0) shared.given_back += run - i;
        }
        i = run + 1;
    }
}

/* Reads which pages were written to; all, if the page map isn't readable (a change of user). */
static void
skep_cow_restore_look(int pagemap, uint64_t *entries, size_t first, size_t count)
{
    size_t bytes = count * sizeof(*entries), i;
    off_t from = (off_t)(((uintptr_t)shared.from / shared.page + first) * sizeof(*entries));

    if (pagemap >= 0 && pread(pagemap, entries, bytes, from) == (ssize_t)bytes) return;
    for (i = 0; i < count; i++) entries[i] = SKEP_PAGEMAP_PRESENT;
}

/* The page map is opened each time: it belongs to the process that opened it. */
static void
skep_cow_restore_all(void)
{
    uint64_t entries[SKEP_RESHARE_PAGES];
    size_t pages = shared.bytes / shared.page, first, count;
    int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

    for (first = 0; first < pages; first += count) {
        count = pages - first < SKEP_RESHARE_PAGES ? pages - first : SKEP_RESHARE_PAGES;
        skep_cow_restore_look(pagemap, entries, first, count);
        skep_cow_restore_some(entries, first, count);
    }
    if (pagemap >= 0) close(pagemap);
    madvise((void *)shared.original, shared.bytes, MADV_DONTNEED); /* frees its page table */
}

/* Runs in the collector: makes no object, and preserves errno. */
static void
skep_cow_restore_after_sweep(VALUE event, void *data)
{
    double now = skep_cow_restore_clock();
    int full = RTEST(rb_gc_latest_gc_info(shared.major_by)), error = errno;

    if (!skep_cow_restore_alone()) return;
    if (!full && now - shared.ended < shared.took * SKEP_RESHARE_PAUSE) return;
    skep_cow_restore_all();
    shared.ended = skep_cow_restore_clock();
    shared.took = shared.ended - now;
    errno = error;
}

/* Linux 6.3 warns without MFD_NOEXEC_SEAL, older kernels refuse it. */
static int
skep_cow_restore_memfd(void)
{
    unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    int fd = memfd_create("skep slab", flags | SKEP_MFD_NOEXEC_SEAL);

    return fd < 0 && errno == EINVAL ? memfd_create("skep slab", flags) : fd;
}

static int
skep_cow_restore_file(const char *from, size_t bytes)
{
    int fd = skep_cow_restore_memfd();
    size_t done = 0;

    if (fd < 0) return -1;
    while (done < bytes) {
        ssize_t put = pwrite(fd, from + done, bytes - done, (off_t)done);

        if (put > 0) done += (size_t)put;
        else if (put == 0 || errno != EINTR) break;
    }
    if (done == bytes && fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW) == 0) return fd;
    close(fd);
    return -1;
}

static void
skep_cow_restore_forget(void)
{
    if (shared.original) munmap((void *)shared.original, shared.bytes);
    shared.original = NULL;
    shared.bytes = 0;
}

static VALUE skep_cow_restore_tracepoint;

static void
skep_cow_restore_watch(void)
{
    if (!skep_cow_restore_tracepoint) {
        shared.major_by = ID2SYM(rb_intern("major_by"));
        rb_gc_latest_gc_info(shared.major_by); /* its first call makes symbols */
        skep_cow_restore_tracepoint = rb_tracepoint_new(Qnil, RUBY_INTERNAL_EVENT_GC_END_SWEEP,
                                                    skep_cow_restore_after_sweep, NULL);
        rb_gc_register_mark_object(skep_cow_restore_tracepoint);
    }
    rb_tracepoint_enable(skep_cow_restore_tracepoint);
}

/* Stops the runs after collections; shared pages stay shared until a write. */
static VALUE
skep_cow_restore_unwatch(VALUE self)
{
    if (skep_cow_restore_tracepoint) rb_tracepoint_disable(skep_cow_restore_tracepoint);
    return Qnil;
}

/* No write can occur between the copy and the mapping: the GVL is held, and no object is made. */
static const char *
skep_cow_restore_lay(void)
{
    const struct skep_slab *slab = skep_slab();
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t bytes = ((size_t)(slab->next - slab->from) + page - 1) & ~(page - 1);
    void *original;
    int fd;

    if (!skep_cow_restore_alone()) return "there have been Ractors, and Ruby 3.1 lets them write meanwhile";
    if (bytes == 0) return "there are no records yet";
    if ((fd = skep_cow_restore_file(slab->from, bytes)) < 0) return "there is no memory for it";
    original = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (original == MAP_FAILED ||
        mmap(slab->from, bytes, PROT_READ | PROT_WRITE, SKEP_RESHARE_MAP, fd, 0) == MAP_FAILED) {
        if (original != MAP_FAILED) munmap(original, bytes);
        close(fd);
        return "it can't be mapped";
    }
    close(fd);
    skep_cow_restore_forget();
    shared.from = slab->from;
    shared.original = original;
    shared.bytes = bytes;
    shared.page = page;
    return NULL;
}

/* Returns nil, or the reason why not. May be called again: earlier children keep the old file. */
static VALUE
skep_cow_restore_share(VALUE self)
{
    const char *why;

    skep_cow_restore_watch(); /* makes objects, so first */
    why = skep_cow_restore_lay();
    return why ? rb_str_new_cstr(why) : Qnil;
}

static VALUE
skep_cow_restore_bytes(VALUE self)
{
    return SIZET2NUM(shared.bytes);
}

static VALUE
skep_cow_restore_given_back(VALUE self)
{
    return ULL2NUM(shared.given_back);
}

void
skep_init_cow_restore(VALUE module)
{
    rb_define_private_method(rb_singleton_class(module), "lay_into_file", skep_cow_restore_share, 0);
    rb_define_private_method(rb_singleton_class(module), "unwatch", skep_cow_restore_unwatch, 0);
    rb_define_singleton_method(module, "shared_bytes", skep_cow_restore_bytes, 0);
    rb_define_singleton_method(module, "given_back", skep_cow_restore_given_back, 0);
}
