/* Replaces what Ruby's own library (or program) calls of another one; see got_patch.c. */
#ifndef SKEP_IMPORTS_H
#define SKEP_IMPORTS_H

struct skep_got_patch {
    const char *name;
    void *ours;
    void *theirs; /* out: what was called so far */
};

/* 0: all are replaced; else none is, as this Ruby imports them in no way known here. */
int skep_replace_imports(struct skep_got_patch *imports, int count);

#endif
