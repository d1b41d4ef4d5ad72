/* Shared by the parts of the one-screen report; private to src/report. */
#ifndef JTOK_REPORT_SCREEN_H
#define JTOK_REPORT_SCREEN_H

#include "report/internal.h"
#include "report/words.h"

enum { SCREEN_INDENT = 2 };

struct screen {
    struct report p;
    const struct result *r;
    const struct report_options *options;
    size_t lines; /* written so far */
};

/* ---- lines ---- */

/* One line; its first `led` bytes in a look of their own. What does not fit is cut, and shows that. */
void screen_line(struct screen *s, enum report_look look, size_t led, const char *text);
void screen_text(struct screen *s, const char *text);
void screen_blank(struct screen *s);

/* A sentence with a number of the run; in brackets where it must not be used. */
void screen_sentence(struct screen *s, bool bracket, const char *text);

/* ---- tables whose rows may stand in brackets ---- */

enum { ROWS_MAX = 12 };

/* A row in brackets is measured, and must not be used. */
struct screen_table {
    struct table t;
    size_t n;
    bool bracket[ROWS_MAX];
};

/* `align` as table_init has it; `names`, ended by null, are the first row. */
void screen_table_init(struct screen *s, struct screen_table *table, const char *align, const char *const *names);
void screen_cell(struct screen_table *table, const char *text);
void screen_row_end(struct screen_table *table, bool bracket); /* after at most as many cells as there are columns */

/* The widest that it will be, brackets included. */
size_t screen_table_columns(const struct screen_table *table);

/* `heading`: what the first row begins with; it stands out. `strong`: each other row stands out up to this text, its
 * own included. Null: nothing does. */
void screen_table_put(struct screen *s, const struct screen_table *table, const char *heading, const char *strong);

/* ---- numbers that fit their columns ---- */

bool screen_has(const struct quantity *q); /* a finite value */

/* What stands in the place of a value that is not there. */
const char *screen_absence(const struct quantity *q);

/* `text`, which says `value`; where it would break its column, with an exponent. */
const char *screen_within(struct screen *s, const char *text, double value, size_t columns);

/* "± 0.0034", 11 columns at most; "" where the doubt is not known. */
const char *screen_doubt(struct screen *s, double doubt);

/* With so many significant digits ("not recorded" for NaN), or so many decimal places ("" for NaN). */
const char *screen_rounded(struct screen *s, double value, int digits, size_t columns);
const char *screen_fixed(struct screen *s, double value, int places, size_t columns);

/* Is the value of an excluded run, or excluded itself? */
bool screen_out_of_use(const struct screen *s, const struct quantity *q);

/* "J/token", and that it is no measurement where it is none. */
const char *screen_j_per_token(const struct screen *s);

/* ---- checks ---- */

/* The checks that exclude, CODE_COUNT at most: what failed before what could not be told, the likelier cause first.
 * Returns their number. */
size_t screen_excluding(const struct screen *s, const struct check_words **ret_list);

/* What one of them says. */
const char *screen_phrase(const struct screen *s, const struct check_words *w);

/* Has no load its window, while no check failed? Then nothing was measured, and that is the reason to tell. */
bool screen_no_window(const struct screen *s);

/* ---- sections in files of their own ---- */

void screen_loads(struct screen *s);
void screen_energy(struct screen *s);
void screen_care(struct screen *s);

#endif
