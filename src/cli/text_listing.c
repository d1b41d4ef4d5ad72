#include "cli/texts.h"

#include <math.h>
#include <string.h>
#include "base/columns.h"
#include "base/must.h"
#include "base/utf8.h"
#include "report/number.h"
#include "report/table.h"
#include "report/words.h"

/* A terminal's; what a run's verdict is cut to when its other columns leave less is the least of it. */
enum { LIST_COLUMNS = 80, VERDICT_LEAST = 16, DIGITS = 4 };

static const char *name_or_none(const char *text)
{
    return text ? text : "not recorded";
}

/* What was served by what; a new line where it changes. */
static const char *subject_of(const struct listed_run *l, struct arena *a)
{
    const char *simulated = l->simulated ? "SIMULATED " : "";
    if (l->object == OBJECT_STAT)
        return arena_format(a, "%scommands", simulated);
    const char *thinking = l->thinking ? arena_format(a, ", thinking %s,", l->thinking) : "";
    return utf8_line(
        a, arena_format(a, "%s%s%s on %s", simulated, name_or_none(l->model), thinking, name_or_none(l->engine)));
}

static const char *cell_text(const struct quantity *q, struct arena *a)
{
    return quantity_has_value(q) ? number_text(a, q->value, DIGITS) : "-";
}

static const char *range_text(double low, double high, struct arena *a)
{
    return isnan(low)    ? "-"
           : low == high ? number_text(a, low, DIGITS)
                         : arena_format(a, "%s–%s", number_text(a, low, 3), number_text(a, high, 3));
}

static const char *energy_text(const struct listed_run *l, struct arena *a)
{
    if (!isnan(l->energy_j))
        return arena_format(a, "%s J", number_text(a, l->energy_j, DIGITS));
    return quantity_has_value(&l->formal) ? cell_text(&l->formal, a)
                                          : range_text(l->low_j_per_token, l->high_j_per_token, a);
}

/* "valid: attach, 4 loads", "valid: 118.5 W, sleep 10". */
static const char *verdict_words(const struct listed_run *l, struct arena *a)
{
    const char *text = l->verdict;
    if (l->loads == 0 && l->object != OBJECT_WATCH && l->object != OBJECT_STAT)
        return text;
    if (l->shortened)
        text = arena_format(a, "%s, shortened", text);
    if (l->object == OBJECT_ATTACH || l->object == OBJECT_WATCH)
        text = arena_format(a, "%s: %s", text, run_object_names[l->object]);
    const char *mark = strchr(text, ':') ? "," : ":";
    if (l->object == OBJECT_STAT && !isnan(l->low_w))
        return arena_format(a, "%s%s %s W, %s", text, mark, number_text(a, l->low_w, DIGITS), name_or_none(l->load));
    if (l->loads > 1)
        return arena_format(a, "%s%s %lld loads", text, mark, (long long)l->loads);
    return l->load ? arena_format(a, "%s%s %s", text, mark, words_load(l->load, a)) : text;
}

/* Columns of the longest cell of each kind, so that the verdict may have the rest. */
static size_t longest(size_t so_far, const char *text)
{
    size_t n = columns_text(text);
    return n > so_far ? n : so_far;
}

static size_t room_for_verdict(const struct listed_run *runs, size_t n, struct arena *a)
{
    size_t id = strlen("run"), steady = strlen("steady"), energy = strlen("J/token"), life = strlen("lifecycle");
    for (size_t i = 0; i < n; i++) {
        id = longest(id, utf8_line(a, runs[i].id));
        steady = longest(steady, cell_text(&runs[i].steady, a));
        energy = longest(energy, energy_text(&runs[i], a));
        life = longest(life, cell_text(&runs[i].lifecycle, a));
    }
    size_t taken = 2 + id + 2 + steady + 2 + energy + 2 + life + 2;
    return taken + VERDICT_LEAST > LIST_COLUMNS ? VERDICT_LEAST : LIST_COLUMNS - taken;
}

/* A verdict that is too long for its column: its first words stay, and the rest goes below. */
static const char *cell_of(const char *verdict, size_t room, struct arena *a, const char **ret_below)
{
    const char *mark = strstr(verdict, ": ");
    *ret_below = NULL;
    if (columns_text(verdict) <= room || !mark)
        return columns_cut(a, verdict, room);
    *ret_below = mark + 2;
    return columns_cut(a, arena_copy(a, verdict, (size_t)(mark - verdict)), room);
}

/* The lines of the table stand below the lines that name what they are of. below: what follows each run, or null. */
static void put_by_subject(const struct listed_run *runs, const char *const *below, struct span lines, struct arena *a,
                           struct buf *out)
{
    const char *last = "";
    for (size_t line = 0; lines.n; line++) {
        const char *end = memchr(lines.p, '\n', lines.n);
        size_t bytes = end ? (size_t)(end - lines.p) + 1 : lines.n;
        const char *subject = line ? subject_of(&runs[line - 1], a) : "";
        if (strcmp(subject, last) != 0)
            buf_fmt(out, "%s\n", columns_cut(a, subject, LIST_COLUMNS));
        last = subject;
        buf_add(out, lines.p, bytes);
        lines = (struct span){lines.p + bytes, lines.n - bytes};
        if (line && below[line - 1])
            buf_fmt(out, "      %s\n", columns_cut(a, below[line - 1], LIST_COLUMNS - 6));
    }
}

void text_listing(const struct listed_run *runs, size_t n, struct arena *a, struct buf *out)
{
    must(n > 0);
    const size_t room = room_for_verdict(runs, n, a);
    const char **below = arena_array(a, n, sizeof *below);
    struct table t;
    struct buf lines = {0};
    table_init(&t, a, "lrrrl");
    static const char *const head[] = {"run", "steady", "J/token", "lifecycle", "verdict"};
    for (size_t i = 0; i < 5; i++)
        table_cell(&t, head[i]);
    for (size_t i = 0; i < n; i++) {
        const struct listed_run *l = &runs[i];
        table_cell(&t, l->id);
        table_cell(&t, cell_text(&l->steady, a));
        table_cell(&t, energy_text(l, a));
        table_cell(&t, cell_text(&l->lifecycle, a));
        table_cell(&t, cell_of(utf8_line(a, verdict_words(l, a)), room, a, &below[i]));
    }
    table_put(&t, &lines, 2);
    put_by_subject(runs, below, buf_span(&lines), a, out);
    buf_done(&lines);
}
