/* The one-screen report: where the energy went. */
#include <math.h>
#include "report/screen.h"

enum { BAR = 10 };

enum part_id { PART_START, PART_SERVE, PART_STEADY, PART_PEAK, PART_DRAIN, PART_STOP, PART_IDLE, PART_COUNT };

struct energy_part {
    const char *name;
    double s; /* NaN: not known */
    struct quantity energy;
    bool bracket;
    const char *remark; /* null: a bar */
};

struct unit {
    double joules;
    const char *name;
    int places;
};

/* One unit and one number of places for all: four digits of the largest. */
static struct unit unit_of(const struct energy_part *parts)
{
    static const struct unit units[] = {{1e9, "GJ", 0}, {1e6, "MJ", 0}, {1e3, "kJ", 0}, {1, "J", 0}};
    double largest = 0;
    for (size_t i = 0; i < PART_COUNT; i++)
        if (screen_has(&parts[i].energy) && parts[i].energy.value > largest)
            largest = parts[i].energy.value;
    size_t i = 0;
    while (i < 3 && largest < units[i].joules)
        i++;
    struct unit u = units[i];
    for (double x = largest / u.joules; x < 1000 && u.places < 3; x *= 10)
        u.places++;
    return u;
}

static struct energy_part part_of(const struct screen *s, enum stage_id stage, const char *name)
{
    const struct result_stage *x = result_stage_of(s->r, stage);
    const struct quantity *energy = &x->energy.headline;
    return (struct energy_part){
        .name = name, .s = x->duration_s, .energy = *energy, .bracket = screen_out_of_use(s, energy)};
}

/* What a token costs in a part of serving. */
static void part_per_token(struct screen *s, struct energy_part *part, const struct quantity *q)
{
    part->bracket = part->bracket || screen_out_of_use(s, q);
    part->remark = screen_has(q)
                       ? arena_format(&s->p.arena, "%s %s", screen_rounded(s, q->value, 4, 8), screen_j_per_token(s))
                       : "";
    if (!screen_has(&part->energy))
        part->energy.state = q->state; /* which says why better than the stage does */
}

/* What is left of serving after its peak. */
static struct energy_part part_drain(struct screen *s)
{
    const struct result_saturated *x = &s->r->saturated;
    const struct quantity *time = &x->tail_time_share, *share = &x->tail_energy_share, *tokens = &x->tail_token_share;
    struct energy_part part = part_of(s, STAGE_FORMAL, "  draining");
    part.s *= quantity_value(time);
    part.energy = quantity_from(quantity_value(&part.energy) * quantity_value(share),
                                (const struct quantity *const[]){&part.energy, share}, 2);
    part.remark = screen_has(tokens)
                      ? arena_format(&s->p.arena, "%s %% of the tokens", screen_fixed(s, 100 * tokens->value, 0, 8))
                      : "";
    return part;
}

static void parts_make(struct screen *s, struct energy_part *parts)
{
    const struct result *r = s->r;
    parts[PART_START] = part_of(s, STAGE_STARTUP, "start");
    parts[PART_SERVE] = part_of(s, STAGE_FORMAL, "serve");
    parts[PART_STEADY] = part_of(s, STAGE_STEADY, "  in steady state");
    part_per_token(s, &parts[PART_STEADY], &r->metrics.steady_j_per_token);
    bool queued = r->saturated.meaningful || !screen_has(&r->metrics.saturated_j_per_token);
    parts[PART_PEAK] = part_of(s, STAGE_SATURATED, queued ? "  at peak load" : "  peak, no queue");
    part_per_token(s, &parts[PART_PEAK], &r->metrics.saturated_j_per_token);
    parts[PART_DRAIN] = part_drain(s);
    parts[PART_STOP] = part_of(s, STAGE_RELEASE, "stop");
    parts[PART_IDLE] = part_of(s, STAGE_BASELINE, "idle before");
    parts[PART_IDLE].remark = "not counted";
}

/* "######## 31 %" of start, serve and stop together; nothing where they are not all known. */
static const char *bar_text(struct screen *s, double j, const struct energy_part *parts)
{
    const double all[] = {quantity_value(&parts[PART_START].energy), quantity_value(&parts[PART_SERVE].energy),
                          quantity_value(&parts[PART_STOP].energy)};
    double total = all[0] + all[1] + all[2], largest = fmax(fmax(all[0], all[1]), all[2]);
    if (!(total > 0) || !(j >= 0) || !isfinite(total))
        return "";
    int n = (int)(BAR * j / largest + 0.5);
    const char *share = j / total < 0.005 ? "under 1" : screen_fixed(s, 100 * j / total, 0, 8);
    return arena_format(&s->p.arena, "%.*s %s %%", n ? n : 1, "##########", share);
}

/* Behind the bar of the start: how long no GPU was used, which is what faster imports would save. */
static const char *unused_text(struct screen *s)
{
    const struct result *r = s->r;
    if (!r->startup_phase_count || r->startup_phases[0].phase != PHASE_PROCESS)
        return "";
    return arena_format(&s->p.arena, ", %s s without GPU", screen_fixed(s, r->startup_phases[0].duration_s, 0, 7));
}

static void part_row(struct screen *s, struct screen_table *table, const struct energy_part *part,
                     const struct energy_part *parts, struct unit u)
{
    bool is = screen_has(&part->energy);
    double j = quantity_value(&part->energy), w = part->s > 0 ? j / part->s : (double)NAN;
    screen_cell(table, part->name);
    screen_cell(table, screen_fixed(s, part->s, part->s < 10000 ? 1 : 0, 7));
    screen_cell(table, is ? screen_fixed(s, j / u.joules, u.places, 7) : "");
    screen_cell(table, screen_fixed(s, w, w < 100 ? 1 : 0, 7));
    bool fits = j / u.joules < 1e5; /* a row of exponents leaves no room behind the bar */
    const char *behind = part == &parts[PART_START] && fits ? unused_text(s) : "";
    screen_cell(table, !is            ? screen_absence(&part->energy)
                       : part->remark ? part->remark
                                      : arena_format(&s->p.arena, "%s%s", bar_text(s, j, parts), behind));
    screen_row_end(table, part->bracket && (is || !isnan(part->s)));
}

void screen_energy(struct screen *s)
{
    struct energy_part parts[PART_COUNT];
    struct screen_table table;
    parts_make(s, parts);
    struct unit u = unit_of(parts);
    screen_table_init(s, &table, "lrrrl", (const char *const[]){"Where energy went", "s", u.name, "W", "", NULL});
    for (size_t i = 0; i < PART_COUNT; i++)
        part_row(s, &table, &parts[i], parts, u);
    screen_table_put(s, &table, "Where energy went", NULL);
    const struct quantity *n = &s->r->estimate.n_overhead_10;
    if (screen_has(n))
        screen_sentence(s, screen_out_of_use(s, n),
                        arena_format(&s->p.arena,
                                     "From %s such requests on, start and stop are under 10 %% of the total.",
                                     screen_fixed(s, n->value, 0, 13)));
    else
        screen_sentence(s, false,
                        arena_format(&s->p.arena, "Requests until start and stop are under 10 %% of the total: %s",
                                     screen_absence(n)));
}
