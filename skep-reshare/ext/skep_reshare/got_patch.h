/* Replaces functions that Ruby's library (or program) imports; see got_patch.c. */
#ifndef SKEP_IMPORTS_H
#define SKEP_IMPORTS_H

struct skep_got_patch {
    const char *name;
    void *replacement;
    void *previous; /* out */
};

/* Returns 0 if all are replaced; else none is, as this Ruby imports them in an unknown way. */
int skep_replace_imports(struct skep_got_patch *imports, int count);

#endif
