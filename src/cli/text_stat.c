#include "cli/texts.h"

#include <math.h>
#include <string.h>
#include "base/must.h"
#include "cli/show.h"
#include "report/number.h"
#include "report/table.h"

enum { SHORT_S = 1 }; /* METHOD section 11: below, the doubt stands first */

static void put_stat_row(struct table *t, const char *name, const char *value, const char *more)
{
    table_cell(t, name);
    table_cell(t, value);
    table_cell(t, more);
}

static const char *with_unit(const struct quantity *q, const char *unit, struct arena *a)
{
    return quantity_has_value(q) ? arena_format(a, "%s %s", number_text_instrument(a, q), unit)
                                 : number_text_quantity(a, q);
}

static const char *seconds(double s, struct arena *a)
{
    return arena_format(a, "%s s", number_text(a, s, s < 1 ? 4 : 5));
}

/* The instruments beside the headline. Where that has no value, what the others say stands here. */
static const char *beside(const struct energy_set *e, struct arena *a)
{
    if (quantity_has_value(&e->precise))
        return arena_format(a, "by the counter; precise %s", with_unit(&e->precise, "J", a));
    if (quantity_has_value(&e->headline))
        return "by the counter";
    const struct quantity *other = quantity_has_value(&e->buffer) ? &e->buffer : &e->grid;
    return arena_format(a, "no counter; by the %s %s", other == &e->buffer ? "buffer" : "power grid",
                        with_unit(other, "J", a));
}

static const char *before(const struct quantity *idle, struct arena *a)
{
    return quantity_has_value(idle) ? arena_format(a, "before %s W, not subtracted", number_text_quantity(a, idle))
                                    : "";
}

static void put_gpu_rows(const struct stat_once *o, struct table *t, struct arena *a)
{
    for (size_t i = 0; i < o->gpu_count; i++) {
        const struct stat_gpu *g = &o->gpus[i];
        put_stat_row(t, arena_format(a, "GPU %lld", (long long)g->index), with_unit(&g->energy.headline, "J", a),
                     arena_format(a, "%s%s, %s", with_unit(&g->average_w, "W", a),
                                  quantity_has_value(&g->idle_w)
                                      ? arena_format(a, " (before %s W)", number_text_quantity(a, &g->idle_w))
                                      : "",
                                  g->name ? g->name : "no name"));
    }
}

static const char *power_back_text(const struct stat_once *o, struct arena *a)
{
    if (quantity_has_value(&o->power_back_s))
        return arena_format(a, "%.2f s", o->power_back_s.value);
    return o->power_back_s.state == Q_NOT_REACHED ? "not seen" : "not judged";
}

static const char *exit_text(int64_t status, struct arena *a)
{
    if (status == ABSENT_I64)
        return "not recorded";
    return status > 128 ? arena_format(a, "%lld (signal %lld)", (long long)status, (long long)status - 128)
                        : arena_format(a, "%lld", (long long)status);
}

static void put_once(const struct stat_result *x, struct arena *a, struct buf *out)
{
    const struct stat_once *o = &x->runs[0];
    const struct quantity *e = &o->energy.headline;
    struct table t;
    table_init(&t, a, "lll");
    if (o->duration_s < SHORT_S && quantity_has_value(e))
        put_stat_row(
            &t, "doubt", arena_format(a, "%s J", number_text_uncertainty(a, e->instrument)),
            arena_format(a, "%.0f %% of it: short beside the counter's 0.1 s steps", 100 * e->instrument / e->value));
    put_stat_row(&t, "energy", with_unit(e, "J", a), beside(&o->energy, a));
    put_stat_row(&t, "time", seconds(o->duration_s, a), "");
    put_stat_row(&t, "power", with_unit(&o->average_w, "W", a), before(&o->idle_w, a));
    put_gpu_rows(o, &t, a);
    put_stat_row(&t, "power back", power_back_text(o, a),
                 quantity_has_value(&o->power_back_s) ? "after the end, and stayed so for 5 s" : "");
    put_stat_row(&t, "exit", exit_text(o->exit_status, a), "");
    table_put(&t, out, 2);
}

static void put_sample(struct table *t, const char *name, const struct sample *s, const char *unit, struct arena *a)
{
    const char *spread = s->n < 2 ? "one run: nothing is known between runs"
                                  : arena_format(a, "SD %s; 95 %% of the mean: %s to %s", number_text(a, s->sd, 3),
                                                 number_text(a, s->low, 5), number_text(a, s->high, 5));
    put_stat_row(t, name, isnan(s->mean) ? "not recorded" : arena_format(a, "%s %s", number_text(a, s->mean, 5), unit),
                 spread);
}

static void put_runs(const struct stat_result *x, struct arena *a, struct buf *out)
{
    struct table t;
    table_init(&t, a, "lll");
    put_sample(&t, arena_format(a, "energy, mean of %lld", (long long)x->energy_j.n), &x->energy_j, "J", a);
    put_sample(&t, "time", &x->duration_s, "s", a);
    put_sample(&t, "power", &x->average_w, "W", a);
    table_put(&t, out, 2);
    buf_byte(out, '\n');
    static const char *const head[] = {"run", "energy, J", "precise, J", "time, s", "power, W", "before, W", "exit"};
    enum { COLUMNS = sizeof head / sizeof *head };
    table_init(&t, a, "rrrrrrl");
    for (size_t i = 0; i < COLUMNS; i++)
        table_cell(&t, head[i]);
    for (size_t i = 0; i < x->run_count; i++) {
        const struct stat_once *o = &x->runs[i];
        table_fmt(&t, "%zu", i + 1);
        table_cell(&t, number_text_instrument(a, &o->energy.headline));
        table_cell(&t, number_text_quantity(a, &o->energy.precise));
        table_cell(&t, number_text(a, o->duration_s, 5));
        table_cell(&t, number_text_quantity(a, &o->average_w));
        table_cell(&t, number_text_quantity(a, &o->idle_w));
        table_cell(&t, exit_text(o->exit_status, a));
    }
    table_put(&t, out, 2);
}

/* ---- what a reader must know ---- */

enum { NOTES_MAX = 64 }; /* beyond, the JSON has them */

/* A sentence, and the first, the last and the number of the runs that it is of. */
struct notes {
    struct note {
        const char *text;
        size_t first, last, runs;
    } list[NOTES_MAX];
    size_t n;
};

static void add_note(struct notes *s, size_t run, const char *text)
{
    size_t i = 0;
    while (i < s->n && strcmp(s->list[i].text, text) != 0)
        i++;
    if (i == NOTES_MAX)
        return;
    if (i == s->n)
        s->list[s->n++] = (struct note){text, run, run, 0};
    s->list[i].last = run;
    s->list[i].runs++;
}

static void add_notes_of(struct notes *s, const struct stat_once *o, size_t run, struct arena *a)
{
    if (o->idle == CHECK_FAILED)
        add_note(s, run,
                 arena_format(a, "The GPUs were not idle before, so the power before is not an idle level: %s.",
                              o->idle_why));
    if (o->left_running)
        add_note(s, run, arena_format(a, "The command left behind, still running: %s.", o->left_running));
    if (o->power_back_s.state == Q_NOT_REACHED)
        add_note(s, run, arena_format(a, "Power did not come back: %s.", o->power_back_s.why));
    for (size_t k = 0; k < o->check_count; k++)
        if (check_excludes(o->checks[k].outcome))
            add_note(s, run, arena_format(a, "%s: %s", check_code_names[o->checks[k].code], o->checks[k].why));
}

/* "Run 2: ", "Runs 1 to 3: ", "Run 1 and 2 more: ". */
static const char *runs_text(const struct note *n, struct arena *a)
{
    if (n->runs == 1)
        return arena_format(a, "Run %zu: ", n->first + 1);
    return n->last - n->first + 1 == n->runs ? arena_format(a, "Runs %zu to %zu: ", n->first + 1, n->last + 1)
                                             : arena_format(a, "Run %zu and %zu more: ", n->first + 1, n->runs - 1);
}

/* What an interval between runs does not tell: runs that failed are in it, and each reading's own doubt is not. */
static void put_sample_notes(const struct stat_result *x, struct arena *a, struct buf *out)
{
    size_t failed = 0;
    double doubt = 0;
    for (size_t i = 0; i < x->run_count; i++) {
        const struct stat_once *o = &x->runs[i];
        failed += o->exit_status != 0 && o->exit_status != ABSENT_I64;
        if (quantity_has_value(&o->energy.headline))
            doubt = fmax(doubt, o->energy.headline.instrument);
    }
    if (failed)
        show_item(arena_format(a, "%zu of %zu runs ended with another exit status than 0, and are in the mean.", failed,
                               x->run_count),
                  out);
    if (x->energy_j.n > 1 && doubt > (x->energy_j.high - x->energy_j.low) / 2)
        show_item(arena_format(a,
                               "A single run may be read wrong by %s J, more than the mean's interval says: that only "
                               "tells how the runs differ. Let the command run longer.",
                               number_text_uncertainty(a, doubt)),
                  out);
}

static void put_notes(const struct stat_result *x, struct arena *a, struct buf *out)
{
    struct notes s = {.n = 0};
    for (size_t i = 0; i < x->run_count; i++)
        add_notes_of(&s, &x->runs[i], i, a);
    for (size_t i = 0; i < s.n; i++)
        show_item(x->run_count > 1 ? arena_format(a, "%s%s", runs_text(&s.list[i], a), s.list[i].text) : s.list[i].text,
                  out);
    if (x->run_count > 1)
        put_sample_notes(x, a, out);
}

/* The assumed limit of the sensors: the same for all runs, so of the first. */
static void put_doubts(const struct stat_result *x, struct arena *a, struct buf *out)
{
    const struct quantity *e = &x->runs[0].energy.headline;
    const char *sensor = isnan(e->calibration) ? ""
                                               : arena_format(a, " The boards' sensors may be off by %s J (%s).",
                                                              number_text_uncertainty(a, e->calibration),
                                                              x->sensor_source ? x->sensor_source : "an assumed limit");
    show_item(arena_format(a, "± is the instrument's own doubt.%s%s", sensor,
                           x->run_count == 1 ? " One run says nothing of other runs: -r repeats it." : ""),
              out);
}

void text_stat(const struct stat_result *x, const char *kept, struct arena *a, struct buf *out)
{
    must(x->run_count > 0);
    buf_fmt(out, "\njtok stat%s: %s\n\n", x->simulated ? ", SIMULATED GPUs" : "", x->command);
    if (x->run_count == 1)
        put_once(x, a, out);
    else
        put_runs(x, a, out);
    buf_byte(out, '\n');
    put_notes(x, a, out);
    put_doubts(x, a, out);
    for (size_t i = 0; kept && i < x->run_count; i++)
        show_item(arena_format(a, "Records: %s/%s", kept, x->runs[i].run), out);
}
