/* The one-screen report of a run with other loads: the curve of energy against load, a line a load. */
#include <math.h>
#include <string.h>
#include "base/columns.h"
#include "base/must.h"
#include "report/screen.h"

enum { LOADS_SHOWN = 8, MORE_SHOWN = 5, SETTING_COLUMNS = 22 };

/* Of a watch without how its tokens were counted. */
static const char *setting_cell(struct screen *s, const struct result_point *p)
{
    const char *text = report_or(&s->p, p->setting, "as it came");
    text = ENUM_ABSENT(p->kind) ? arena_copy(&s->p.arena, text, strcspn(text, ",")) : words_load(text, &s->p.arena);
    return columns_cut(&s->p.arena, text, SETTING_COLUMNS);
}

/* A number of so many digits; an absence as a dash, since the reason stands below. */
static void put_scaled(struct screen *s, struct screen_table *t, const struct quantity *q, double factor, int digits)
{
    screen_cell(t, screen_has(q) ? screen_rounded(s, factor * q->value, digits, 8) : "-");
}

static bool is_out_of_use(const struct screen *s, const struct result_point *p)
{
    return p->reached && screen_out_of_use(s, &p->j_per_token);
}

/* ---- energy ---- */

/* Load 0: power alone. */
static void idle_row(struct screen *s, struct screen_table *t)
{
    const struct result_loads *l = &s->r->loads;
    if (!l->silence_count)
        return;
    const struct quantity *w = &l->silences[0].average_w;
    screen_cell(t, "no request");
    screen_cell(t, "0");
    screen_cell(t, "0");
    put_scaled(s, t, w, 1, 4);
    screen_row_end(t, screen_has(w) && screen_out_of_use(s, w));
}

static void energy_row(struct screen *s, struct screen_table *t, const struct result_point *p)
{
    const struct quantity *j = &p->j_per_token;
    screen_cell(t, setting_cell(s, p));
    put_scaled(s, t, &p->flight.mean, 1, 3);
    put_scaled(s, t, &p->rates.output_tok_s, 1, 4);
    put_scaled(s, t, &p->window.average_w, 1, 4);
    screen_cell(t, screen_has(j) ? screen_within(s, report_cell(&s->p, j), j->value, 10)
                   : p->reached  ? screen_absence(j)
                                 : "not reached");
    screen_cell(t, screen_has(j) ? screen_doubt(s, j->instrument) : "");
    screen_row_end(t, is_out_of_use(s, p));
}

static void put_energy(struct screen *s, size_t n)
{
    struct screen_table t;
    screen_table_init(s, &t, "lrrrdl",
                      (const char *const[]){"Load", "in flight", "tok/s", "W", screen_j_per_token(s), "", NULL});
    idle_row(s, &t);
    for (size_t i = 0; i < n; i++)
        energy_row(s, &t, &s->r->loads.points[i]);
    screen_table_put(s, &t, "Load", NULL);
    screen_text(s, "  ±: error in reading the sensor. Its own error and the spread between runs");
    screen_text(s, "  are larger. [ ]: do not use.");
}

/* ---- what users see ---- */

static void users_row(struct screen *s, struct screen_table *t, const struct result_point *p, bool good)
{
    screen_cell(t, setting_cell(s, p));
    put_scaled(s, t, &p->rates.request_s, 1, 3);
    put_scaled(s, t, &p->times.ttft_s.p50, 1, 3);
    put_scaled(s, t, &p->times.ttft_s.p99, 1, 3);
    put_scaled(s, t, &p->times.tpot_s.p50, 1000, 3);
    put_scaled(s, t, &p->times.tpot_s.p99, 1000, 3);
    if (good) {
        put_scaled(s, t, &p->goodput_share, 100, 3);
        put_scaled(s, t, &p->j_per_good_token, 1, 4);
    } else {
        put_scaled(s, t, &p->rates.input_tok_s, 1, 4);
        put_scaled(s, t, &p->rates.user_tok_s, 1, 3);
    }
    screen_row_end(t, p->reached && (result_latency_fault(s->r) || result_standing(s->r) == STANDING_EXCLUDED));
}

static void put_users(struct screen *s, size_t n)
{
    bool good = plan_slo_is_set(&s->r->loads.slo);
    struct screen_table t;
    screen_table_init(s, &t, "lrrrrrrr",
                      (const char *const[]){"Load", "req/s", "TTFT s", "P99", "TPOT ms", "P99",
                                            good ? "good %" : "in tok/s", good ? "J/good" : "tok/s/user", NULL});
    for (size_t i = 0; i < n; i++)
        users_row(s, &t, &s->r->loads.points[i], good);
    screen_table_put(s, &t, "Load", NULL);
}

/* ---- what else there is room for ---- */

static void more_row(struct screen *s, struct screen_table *t, const struct result_point *p)
{
    screen_cell(t, columns_cut(&s->p.arena, setting_cell(s, p), SETTING_COLUMNS - 5));
    put_scaled(s, t, &p->j_per_request, 1, 4);
    put_scaled(s, t, &p->rates.total_tok_s, 1, 4);
    put_scaled(s, t, &p->times.ttft_s.mean, 1, 3);
    put_scaled(s, t, &p->times.tpot_s.mean, 1000, 3);
    put_scaled(s, t, &p->engine.times.queue_share, 100, 2);
    put_scaled(s, t, &p->engine.prefix_hit_share, 100, 2);
    screen_row_end(t, is_out_of_use(s, p));
}

/* With few loads alone. */
static void put_more(struct screen *s, size_t n)
{
    struct screen_table t;
    screen_table_init(
        s, &t, "lrrrrrr",
        (const char *const[]){"Load", "J/request", "all tok/s", "TTFT mean", "TPOT mean", "queue %", "prefix %", NULL});
    for (size_t i = 0; i < n; i++)
        more_row(s, &t, &s->r->loads.points[i]);
    screen_table_put(s, &t, "Load", NULL);
    screen_text(s, "  queue: of TTFT; prefix: prompt tokens in the cache; as the engine counts them.");
}

void screen_loads(struct screen *s)
{
    const size_t all = s->r->loads.point_count, n = all < LOADS_SHOWN ? all : LOADS_SHOWN;
    put_energy(s, n);
    if (n < all)
        screen_text(s, arena_format(&s->p.arena, "  and %zu more loads: jtok report RUN --full", all - n));
    screen_blank(s);
    put_users(s, n);
    if (all && all <= MORE_SHOWN)
        put_more(s, n);
}
