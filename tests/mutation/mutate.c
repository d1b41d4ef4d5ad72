#include "mutation/mutate.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/num.h"

const char *const mutation_names[] = {"row dropped",   "row doubled",    "row moved",    "cell emptied",
                                      "absurd value",  "column missing", "column twice", "file missing",
                                      "cut at a byte", "another value"};

struct file *files_find(struct files *f, const char *name)
{
    for (size_t i = 0; i < f->count; i++)
        if (strcmp(f->items[i].name, name) == 0)
            return &f->items[i];
    return NULL;
}

uint64_t random_below(struct random *r, uint64_t n)
{
    r->state = r->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return n ? (r->state >> 33) % n : 0;
}

/* ---- rows and cells ---- */

/* Line i, with its LF; the texts of the run that is changed hold no line breaks. */
static struct span line_of(struct span text, size_t i)
{
    const char *end;

    for (; text.n; i--) {
        end = memchr(text.p, '\n', text.n);
        size_t n = end ? (size_t)(end - text.p) + 1 : text.n;

        if (i == 0)
            return (struct span){text.p, n};
        text.p += n;
        text.n -= n;
    }
    return text;
}

static size_t count_lines(struct span text)
{
    size_t n = 0;

    for (size_t i = 0; i < text.n; i++)
        n += text.p[i] == '\n';
    return n;
}

/* Cell i of a line, without its comma; quoted commas belong to a cell. */
static struct span cell_of(struct span line, size_t column)
{
    size_t from = 0;
    bool quoted = false;

    for (size_t i = 0; i < line.n; i++) {
        quoted ^= line.p[i] == '"';
        if (quoted || (line.p[i] != ',' && line.p[i] != '\n'))
            continue;
        if (column-- == 0)
            return (struct span){line.p + from, i - from};
        from = i + 1;
    }
    return (struct span){line.p + line.n, 0};
}

/* The value of a JSON line: what stands behind ": ", without the comma at the end; empty: none of one line. */
static struct span json_value(struct span line)
{
    const char *at = memmem(line.p, line.n, "\": ", 3);
    struct span v = {line.p + line.n, 0};

    if (!at)
        return v;
    v.p = at + 3;
    v.n = (size_t)(line.p + line.n - v.p);
    while (v.n && (v.p[v.n - 1] == '\n' || v.p[v.n - 1] == ','))
        v.n--;
    if (v.n && (v.p[v.n - 1] == '{' || v.p[v.n - 1] == '['))
        v.n = 0;
    return v;
}

struct grid grid_of(struct span text, bool json)
{
    struct grid g = {.json = json, .rows = count_lines(text) - !json, .columns = 1};
    struct span header = line_of(text, 0);

    for (size_t i = 0; !json && i < header.n; i++)
        g.columns += header.p[i] == ',';
    return g;
}

static const char *copy(struct arena *a, struct span s)
{
    return arena_copy(a, s.p, s.n);
}

/* ---- other values ---- */

static const char *absurd(struct random *r)
{
    static const char *const values[] = {"-5",
                                         "x",
                                         "nan",
                                         "inf",
                                         "1e30",
                                         "0x10",
                                         "+1",
                                         " 1",
                                         "strange",
                                         "1099511627776",
                                         "1125899906842624000",
                                         "9223372036854775807",
                                         "-9223372036854775808",
                                         "-9223372036854775807",
                                         "99999999999999999999",
                                         "\"\"\"\"",
                                         "\xff\xfe"};

    return values[random_below(r, sizeof values / sizeof *values)];
}

/* A number a little off, or another cell of the column: a code, a text. Null: there is none. */
static const char *plausible(struct span cell, struct span other, struct random *r, struct arena *a)
{
    static const int64_t steps[] = {1, -1, 3, -7, 100, 1000, 1000000};
    int64_t whole;
    double real;

    if (num_i64(cell, &whole) && random_below(r, 4)) {
        int64_t part = whole / 50 * (random_below(r, 2) ? 1 : -1);
        int64_t step = random_below(r, 2) ? part : steps[random_below(r, sizeof steps / sizeof *steps)];

        return whole + step >= 0 && step ? arena_format(a, "%lld", (long long)(whole + step)) : NULL;
    }
    if (num_f64(cell, &real) && random_below(r, 4))
        return arena_format(a, "%.17g", real * (random_below(r, 2) ? 1.02 : 0.98) + 0.001);
    if (other.n == 0 || (other.n == cell.n && memcmp(other.p, cell.p, cell.n) == 0))
        return NULL;
    return copy(a, other);
}

/* ---- one change ---- */

static struct span joined(struct arena *a, struct span text, struct span cut, const char *in)
{
    size_t before = (size_t)(cut.p - text.p), n = strlen(in), behind = text.n - before - cut.n;
    char *p = arena_alloc(a, text.n - cut.n + n + 1);

    memcpy(p, text.p, before);
    memcpy(p + before, in, n);
    memcpy(p + before + n, cut.p + cut.n, behind);
    return (struct span){p, text.n - cut.n + n};
}

static bool change_cell(struct file *f, struct grid g, struct random *r, struct arena *a, struct change *c)
{
    struct span line = line_of(f->text, c->row + !g.json);
    struct span cell = g.json ? json_value(line) : cell_of(line, c->column);
    const char *after = c->kind == CELL_EMPTIED ? (g.json ? "null" : "") : NULL;

    /* Most lines of a document hold no number. */
    for (int64_t tries = 0, number; g.json && !num_i64(cell, &number) && tries < 10; tries++) {
        c->row = random_below(r, g.rows);
        line = line_of(f->text, c->row);
        cell = json_value(line);
    }

    if (cell.n == 0)
        return false;
    if (c->kind == CELL_ABSURD)
        after = absurd(r);
    if (c->kind == CELL_VALUE) {
        struct span there = line_of(f->text, random_below(r, g.rows) + !g.json);

        after = plausible(cell, g.json ? json_value(there) : cell_of(there, c->column), r, a);
    }
    if (!after)
        return false;
    if (g.json) { /* the key */
        struct span key = span_trim(line);

        key.p++;
        key.n = (size_t)((const char *)memchr(key.p, '"', key.n) - key.p);
        c->column_name = copy(a, key);
    }
    c->before = copy(a, cell);
    c->after = after;
    f->text = joined(a, f->text, cell, after);
    return true;
}

static void change_column(struct file *f, struct grid g, struct arena *a, struct change *c)
{
    struct buf b = {0};
    struct span rest = f->text;

    for (size_t i = 0; i <= g.rows; i++) {
        struct span line = line_of(rest, 0), cell = cell_of(line, c->column);
        const char *end = cell.p + cell.n;

        if (c->kind == COLUMN_DOUBLED) {
            buf_add(&b, line.p, line.n - 1);
            buf_byte(&b, ',');
            buf_add(&b, cell.p, cell.n);
            buf_byte(&b, '\n');
        } else if (*end == ',') {
            buf_add(&b, line.p, (size_t)(cell.p - line.p));
            buf_add(&b, end + 1, (size_t)(line.p + line.n - end - 1));
        } else { /* the last one goes with the comma before it */
            buf_add(&b, line.p, (size_t)(cell.p - line.p) - (cell.p > line.p));
            buf_byte(&b, '\n');
        }
        rest.p += line.n;
        rest.n -= line.n;
    }
    f->text = (struct span){arena_copy(a, b.p, b.n), b.n};
    buf_done(&b);
}

static void move_row(struct file *f, struct grid g, struct random *r, struct arena *a, struct change *c)
{
    size_t header = !g.json, to = random_below(r, g.rows);
    struct span line = line_of(f->text, c->row + header);
    const char *row = copy(a, line);

    f->text = joined(a, f->text, line, "");
    struct span behind = line_of(f->text, to + header);
    f->text = joined(a, f->text, (struct span){behind.p, 0}, row);
    c->after = arena_format(a, "row %zu", to);
}

bool mutate(struct file *f, enum mutation kind, size_t column, struct random *r, struct arena *a,
            struct change *ret_change)
{
    bool json = strstr(f->name, ".json") != NULL;
    struct grid g = grid_of(f->text, json);
    struct change c = {.kind = kind, .file = f->name, .row = random_below(r, g.rows), .column = column};
    struct span line = line_of(f->text, c.row + !json);
    bool changed = true;

    if (kind == FILE_MISSING) {
        f->there = false;
    } else if (kind == FILE_CUT) {
        f->text.n = random_below(r, f->text.n);
        c.after = arena_format(a, "%zu bytes", f->text.n);
    } else if (g.rows == 0) {
        changed = false;
    } else if (kind == ROW_DROPPED) {
        f->text = joined(a, f->text, line, "");
    } else if (kind == ROW_DOUBLED) {
        f->text = joined(a, f->text, (struct span){line.p, 0}, copy(a, line));
    } else if (kind == ROW_MOVED) {
        move_row(f, g, r, a, &c);
    } else if (kind == COLUMN_MISSING || kind == COLUMN_DOUBLED) {
        changed = !json;
        if (changed)
            change_column(f, g, a, &c);
    } else {
        changed = change_cell(f, g, r, a, &c);
    }
    if (!json && !c.column_name)
        c.column_name = copy(a, cell_of(line_of(f->text, 0), column));
    *ret_change = c;
    return changed;
}
