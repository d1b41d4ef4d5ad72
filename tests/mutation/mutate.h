/* Files of a run as text in memory, and one small change of one of them. */
#ifndef JTOK_TESTS_MUTATE_H
#define JTOK_TESTS_MUTATE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/span.h"

enum { FILES_MAX = 20 };

struct file {
    const char *name;
    struct span text;
    bool there;
};

struct files {
    struct file items[FILES_MAX];
    size_t count;
};

struct file *files_find(struct files *f, const char *name);

/* What is done. Structure first; VALUE puts another plausible value. */
enum mutation {
    ROW_DROPPED,
    ROW_DOUBLED,
    ROW_MOVED,
    CELL_EMPTIED,
    CELL_ABSURD,
    COLUMN_MISSING,
    COLUMN_DOUBLED,
    FILE_MISSING,
    FILE_CUT,
    CELL_VALUE,
    MUTATION_COUNT
};
extern const char *const mutation_names[MUTATION_COUNT];

/* A CSV or JSON text cut into rows and cells: of JSON the rows are its lines and the one cell is a line's value. */
struct grid {
    bool json;
    size_t rows, columns; /* of CSV without its header */
};
struct grid grid_of(struct span text, bool json);

/* Where it was done. */
struct change {
    enum mutation kind;
    const char *file;
    size_t row, column;      /* from 0 */
    const char *column_name; /* of JSON the key */
    const char *before, *after;
};

struct random {
    uint64_t state;
};
uint64_t random_below(struct random *r, uint64_t n);

/* Makes one change of this kind in the file: in `column` where the kind is of cells and columns, at a random row. False
 * where there is nothing to change (no row, no number in the cell). The new text lives in `a`. */
bool mutate(struct file *f, enum mutation kind, size_t column, struct random *r, struct arena *a,
            struct change *ret_change);

#endif
