/*
 * Replaces functions that Ruby imports. An ELF object calls another one through a table with one
 * address for each function. Only the table of the object with rb_gc_start is changed: calls by
 * other libraries are not affected.
 * Source: elf(5), dl_iterate_phdr(3).
 */
#include "skep_reshare.h"
#include "got_patch.h"

#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__) && defined(__LP64__)
# define SKEP_JUMP_SLOT R_X86_64_JUMP_SLOT
# define SKEP_GLOB_DAT R_X86_64_GLOB_DAT
#elif defined(__aarch64__) && defined(__LP64__)
# define SKEP_JUMP_SLOT R_AARCH64_JUMP_SLOT
# define SKEP_GLOB_DAT R_AARCH64_GLOB_DAT
#endif

#ifdef SKEP_JUMP_SLOT

struct skep_object {
    ElfW(Addr) base;
    const ElfW(Dyn) *dynamic;
    const ElfW(Sym) *symbols;
    const char *names;
    uintptr_t relro, relro_end; /* read-only after loading */
};

typedef int skep_visit(struct skep_object *object, const ElfW(Rela) *entry, void *data);

static int
skep_object_has(const struct dl_phdr_info *info, uintptr_t address)
{
    int i;

    for (i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t from = info->dlpi_addr + part->p_vaddr;

        if (part->p_type == PT_LOAD && address >= from && address < from + part->p_memsz) return 1;
    }
    return 0;
}

/* Only whole pages are read-only: other data may share the last one. */
static void
skep_object_locked(struct skep_object *object, uintptr_t from, size_t bytes)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

    object->relro = from & ~(page - 1);
    object->relro_end = (from + bytes) & ~(page - 1);
}

static int
skep_object_found(struct dl_phdr_info *info, size_t size, void *data)
{
    struct skep_object *object = data;
    int i;

    if (!skep_object_has(info, (uintptr_t)rb_gc_start)) return 0;
    object->base = info->dlpi_addr;
    for (i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t from = info->dlpi_addr + part->p_vaddr;

        if (part->p_type == PT_DYNAMIC) object->dynamic = (const ElfW(Dyn) *)from;
        if (part->p_type == PT_GNU_RELRO) skep_object_locked(object, from, part->p_memsz);
    }
    return 1;
}

/* glibc relocates these offsets to addresses when it loads the object, other libraries don't. */
static void *
skep_object_at(const struct skep_object *object, ElfW(Addr) address)
{
    return (void *)(address < object->base ? object->base + address : address);
}

static const ElfW(Dyn) *
skep_object_entry(const struct skep_object *object, ElfW(Sxword) tag)
{
    const ElfW(Dyn) *entry = object->dynamic;

    for (; entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == tag) return entry;
    return NULL;
}

static int
skep_object_open(struct skep_object *object)
{
    const ElfW(Dyn) *symbols, *names;

    memset(object, 0, sizeof(*object));
    dl_iterate_phdr(skep_object_found, object);
    if (!object->dynamic) return -1;
    symbols = skep_object_entry(object, DT_SYMTAB);
    names = skep_object_entry(object, DT_STRTAB);
    if (!symbols || !names) return -1;
    object->symbols = skep_object_at(object, symbols->d_un.d_ptr);
    object->names = skep_object_at(object, names->d_un.d_ptr);
    return 0;
}

static int
skep_object_table(struct skep_object *object, ElfW(Sxword) place, ElfW(Sxword) bytes,
                  skep_visit *visit, void *data)
{
    const ElfW(Dyn) *table = skep_object_entry(object, place);
    const ElfW(Dyn) *size = skep_object_entry(object, bytes);
    const ElfW(Rela) *entry;
    size_t count;

    if (!table || !size) return 0;
    entry = skep_object_at(object, table->d_un.d_ptr);
    for (count = size->d_un.d_val / sizeof(*entry); count > 0; count--, entry++)
        if (visit(object, entry, data) < 0) return -1;
    return 0;
}

static int
skep_object_each(struct skep_object *object, skep_visit *visit, struct skep_got_patch *import)
{
    if (skep_object_table(object, DT_JMPREL, DT_PLTRELSZ, visit, import) < 0) return -1;
    return skep_object_table(object, DT_RELA, DT_RELASZ, visit, import);
}

static void **
skep_got_patch_word(struct skep_object *object, const ElfW(Rela) *entry, const char *name)
{
    unsigned long type = ELF64_R_TYPE(entry->r_info);
    const ElfW(Sym) *symbol = &object->symbols[ELF64_R_SYM(entry->r_info)];

    if (type != SKEP_JUMP_SLOT && type != SKEP_GLOB_DAT) return NULL;
    if (strcmp(object->names + symbol->st_name, name)) return NULL;
    return (void **)(object->base + entry->r_offset);
}

static int
skep_got_patch_find(struct skep_object *object, const ElfW(Rela) *entry, void *data)
{
    struct skep_got_patch *import = data;
    void **word = skep_got_patch_word(object, entry, import->name);

    if (word) import->previous = *word;
    return 0;
}

static int
skep_got_patch_write(struct skep_object *object, const ElfW(Rela) *entry, void *data)
{
    struct skep_got_patch *import = data;
    void **word = skep_got_patch_word(object, entry, import->name);
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t at = (uintptr_t)word;
    void *from = (void *)(at & ~(page - 1));
    int locked = at >= object->relro && at < object->relro_end;

    if (!word) return 0;
    if (locked && mprotect(from, page, PROT_READ | PROT_WRITE) < 0) return -1;
    __atomic_store_n(word, import->replacement, __ATOMIC_RELEASE);
    return locked ? mprotect(from, page, PROT_READ) : 0;
}

int
skep_replace_imports(struct skep_got_patch *imports, int count)
{
    struct skep_object object;
    int i;

    if (skep_object_open(&object) < 0) return -1;
    for (i = 0; i < count; i++) {
        skep_object_each(&object, skep_got_patch_find, &imports[i]);
        if (!imports[i].previous) return -1;
    }
    for (i = 0; i < count; i++)
        if (skep_object_each(&object, skep_got_patch_write, &imports[i]) < 0) return -1;
    return 0;
}

#else

int
skep_replace_imports(struct skep_got_patch *imports, int count)
{
    return -1; /* an architecture that was not tested */
}

#endif
