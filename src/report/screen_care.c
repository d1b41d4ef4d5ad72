/* The one-screen report: why a run is excluded, and what to read with care. */
#include <math.h>
#include <string.h>
#include "base/columns.h"
#include "base/must.h"
#include "model/limits.h"
#include "report/screen.h"
#include "text/wrap.h"

enum {
    CARE_LINES = 4, /* what the other sections leave of SCREEN_LINES */
    CARE_NAME = 26, /* the longest code, its indent and a space */
    CARE_ITEM_LINES = 2,
};

size_t screen_excluding(const struct screen *s, const struct check_words **ret_list)
{
    size_t n = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < CODE_COUNT; i++) {
            const struct result_check *c = &s->r->checks[words_checks[i].code];
            if (check_excludes(c->outcome) && (c->outcome == CHECK_FAILED) == (pass == 0))
                ret_list[n++] = &words_checks[i];
        }
    return n;
}

const char *screen_phrase(const struct screen *s, const struct check_words *w)
{
    return s->r->checks[w->code].outcome == CHECK_FAILED ? w->failed : w->unknown;
}

bool screen_no_window(const struct screen *s)
{
    for (size_t i = 0; i < s->r->loads.point_count; i++)
        if (s->r->loads.points[i].reached)
            return false;
    for (size_t i = 0; i < CODE_COUNT; i++)
        if (s->r->checks[i].outcome == CHECK_FAILED)
            return false;
    return s->r->loads.point_count > 0;
}

struct care {
    const char *name, *text;
    enum report_look look;
};

struct cares {
    struct care list[CODE_COUNT + FLAG_COUNT + 10];
    size_t n;
};

static void care_add(struct cares *c, enum report_look look, const char *name, const char *text)
{
    must(c->n < sizeof c->list / sizeof *c->list && name && text);
    c->list[c->n++] = (struct care){name, text, look};
}

static void care_checks(struct screen *s, struct cares *c)
{
    const struct check_words *list[CODE_COUNT];
    size_t n = result_standing(s->r) != STANDING_EXCLUDED
                   ? 0
                   : screen_excluding(s, list); /* a formal one of an older method lacks what came later */
    for (size_t i = 0; i < n; i++) {
        const struct result_check *x = &s->r->checks[list[i]->code];
        bool failed = x->outcome == CHECK_FAILED;
        const char *text = arena_format(&s->p.arena, "%s.", screen_phrase(s, list[i]));
        care_add(c, failed ? LOOK_BAD : LOOK_FAINT, check_code_names[x->code],
                 failed && list[i]->tells ? report_or(&s->p, x->why, text) : text);
    }
}

static void care_headline(struct screen *s, struct cares *c, const char *what, const struct quantity *q)
{
    must(what && q);
    if (!screen_has(q))
        care_add(c, LOOK_BAD, "missing",
                 arena_format(&s->p.arena, "%s: %s.", what, report_or(&s->p, q->why, screen_absence(q))));
}

static void care_method(struct screen *s, struct cares *c)
{
    const struct result *r = s->r;
    struct arena *a = &s->p.arena;
    if (r->about.differences)
        care_add(c, LOOK_MARK, "rules of your own", arena_format(a, "%s.", r->about.differences));
    if (result_is_older(r))
        care_add(c, LOOK_MARK, "older method",
                 arena_format(a, "It is %s's; \"jtok analyze RUN\" evaluates it anew.",
                              report_or(&s->p, r->about.method_id, "an unknown one")));
    else if (r->about.records_method_id && strcmp(r->about.records_method_id, METHOD_ID) != 0)
        care_add(c, LOOK_MARK, "older records",
                 arena_format(a, "Its records were made under %s.", report_or(&s->p, r->about.records_method_id, "")));
    const char *stages = NULL;
    for (size_t i = 0; i < r->stage_count; i++)
        if (r->stages[i].contradiction)
            stages = arena_join(a, stages, ", ", words_stage(r->stages[i].stage));
    if (stages)
        care_add(c, LOOK_MARK, "instruments differ", arena_format(a, "By more than their ± allow: %s.", stages));
}

/* A steady value above the whole's looks like a mistake. */
static void care_steady(struct screen *s, struct cares *c)
{
    const struct quantity *steady = &s->r->metrics.steady_j_per_token, *serving = &s->r->metrics.formal_j_per_token;
    if (screen_has(steady) && screen_has(serving) && steady->value > serving->value)
        care_add(c, LOOK_MARK, "in steady state", "It lasts to the last answer, so the draining is in it.");
}

static void care_flags(struct screen *s, struct cares *c)
{
    for (size_t i = 0; i < FLAG_COUNT; i++) {
        enum flag_code code = words_flags[i].code;
        if (code != FLAG_SIMULATED && s->r->flags[code].outcome == CHECK_FAILED)
            care_add(c, LOOK_MARK, flag_code_names[code], arena_format(&s->p.arena, "%s.", words_flags[i].phrase));
    }
}

/* How a watch counted, where that needs a longer window, and why it ended before its time. */
static void care_watch(struct cares *c, const struct result_point *p)
{
    static const char ended[] = ", ended early: ";
    const char *setting = p->setting ? p->setting : "", *early = strstr(setting, ended);
    if (strstr(setting, ", each request's when it ends"))
        care_add(
            c, LOOK_MARK, "tokens at the end",
            "The engine counts a request's tokens when it ends: let the window last over ten of the longest answers.");
    if (early)
        care_add(c, LOOK_MARK, "ended early", early + sizeof ended - 1);
}

/* Requests of others in the silence before a load. */
static void care_silence(struct screen *s, struct cares *c)
{
    const struct result_loads *l = &s->r->loads;
    for (size_t i = 0; i < l->silence_count; i++) {
        const struct result_silence *x = &l->silences[i];
        if (!quantity_has_value(&x->others) || !(x->others.value > 0))
            continue;
        care_add(c, LOOK_MARK, "others in the silence",
                 arena_format(&s->p.arena, "The engine had %.3g requests before load %lld: its W are theirs, too.",
                              x->others.value, (long long)x->before));
        return;
    }
}

static const char *others_text(struct screen *s, const struct result_point *p)
{
    const struct result_point_others *o = &p->others;
    return quantity_has_value(&o->token_share)
               ? arena_format(&s->p.arena, "%.3g %% of the engine's tokens in load %lld were not for jtok's requests.",
                              100 * o->token_share.value, (long long)p->number)
               : arena_format(&s->p.arena, "In load %lld the engine had %.3g requests more than jtok's, on average.",
                              (long long)p->number, o->requests.value);
}

/* Requests of others in a load on a service that runs already: the first one that has some, or nobody can tell. */
static void care_others(struct screen *s, struct cares *c)
{
    const struct result_loads *l = &s->r->loads;
    const struct result_point *first = NULL;
    const char *unknown = NULL;
    bool known = false;
    for (size_t i = 0; i < l->point_count; i++) {
        const struct result_point *p = &l->points[i];
        if (p->reached && !unknown)
            unknown = report_or(&s->p, p->others.token_share.why, "no reason is known");
        known |= quantity_has_value(&p->others.token_share) || quantity_has_value(&p->others.requests);
        first = !first && p->others.seen ? p : first;
    }
    if (first)
        care_add(c, LOOK_MARK, "others", others_text(s, first));
    else if (unknown && !known)
        care_add(c, LOOK_MARK, "others", arena_format(&s->p.arena, "Requests of others can't be seen: %s.", unknown));
    care_silence(s, c);
}

/* Without what the item's name says already. */
static const char *why_lost(struct screen *s, const struct result_point *p)
{
    static const char name[] = "load not reached: ";
    const char *why = report_or(&s->p, p->why, "no reason is known");
    return strncmp(why, name, sizeof name - 1) == 0 ? why + sizeof name - 1 : why;
}

/* What must not be read off the curve. */
static void care_loads(struct screen *s, struct cares *c)
{
    const struct result_loads *l = &s->r->loads;
    const char *lost = NULL, *overloaded = NULL;
    bool doubtful = false;
    for (size_t i = 0; i < l->point_count; i++) {
        const struct result_point *p = &l->points[i];
        const char *text = arena_format(&s->p.arena, "%lld", (long long)p->number);
        if (!p->reached && !lost)
            lost = arena_format(&s->p.arena, "Load %s: %s.", text, why_lost(s, p));
        if (ENUM_ABSENT(p->kind))
            care_watch(c, p);
        doubtful |= p->flight.overloaded && p->requests.sent < METHOD_OVERLOADED_SURE;
        if (p->flight.overloaded)
            overloaded = overloaded ? arena_format(&s->p.arena, "%s, %s", overloaded, text) : text;
    }
    if (l->object == OBJECT_ATTACH)
        care_others(s, c);
    if (l->ended_early)
        care_add(c, LOOK_MARK, "ended early", arena_format(&s->p.arena, "It was ended %s.", l->ended_early));
    if (lost)
        care_add(c, LOOK_MARK, "load not reached", lost);
    if (overloaded)
        care_add(c, LOOK_MARK, "overloaded",
                 arena_format(&s->p.arena,
                              doubtful
                                  ? "More and more in flight (load %s), so no J/token; below 3000 requests it can be "
                                    "chance."
                                  : "More and more requests in flight: its J/token is not a property of the rate (load "
                                    "%s).",
                              overloaded));
}

/* An item's lines, of which there are CARE_ITEM_LINES at most. Returns their number. */
static size_t care_lines(struct screen *s, const struct care *c, const char **ret_lines)
{
    struct arena *a = &s->p.arena;
    struct buf b = {0};
    size_t n = 0;
    must(columns_text(c->name) <= CARE_NAME - SCREEN_INDENT - 1);
    text_wrap(&b, c->text, CARE_NAME, CARE_NAME, SCREEN_COLUMNS);
    const char *name =
        arena_format(a, "  %s%*s", c->name, (int)(CARE_NAME - SCREEN_INDENT - columns_text(c->name)), "");
    for (const char *at = buf_text(&b); *at;) {
        size_t bytes = strcspn(at, "\n");
        const char *line = arena_format(a, "%s%.*s", n ? "" : name, (int)bytes, at);
        at += bytes + (at[bytes] == '\n');
        if (n + 1 == CARE_ITEM_LINES && *at)
            line = columns_cut(a, arena_format(a, "%s …", line), SCREEN_COLUMNS);
        if (n < CARE_ITEM_LINES)
            ret_lines[n++] = line;
    }
    buf_done(&b);
    must(n > 0); /* what is wrapped ends with a line feed */
    return n;
}

void screen_care(struct screen *s)
{
    static const char head[] = "Read with care";
    struct cares c = {.n = 0};
    const bool nothing = screen_no_window(s); /* then the checks have nothing to judge, and the loads say why */
    if (nothing)
        care_loads(s, &c);
    care_checks(s, &c);
    if (result_has_loads(s->r)) {
        if (!nothing)
            care_loads(s, &c);
    } else {
        care_headline(s, &c, "serving", &s->r->metrics.formal_j_per_token);
        care_headline(s, &c, "with start and stop", &s->r->metrics.lifecycle_j_per_token);
    }
    care_method(s, &c);
    care_flags(s, &c);
    care_steady(s, &c);
    screen_line(s, LOOK_HEADING, sizeof head - 1, c.n ? head : "Read with care  nothing in particular");
    for (size_t i = 0, room = CARE_LINES; i < c.n; i++) {
        const char *lines[CARE_ITEM_LINES];
        size_t n = care_lines(s, &c.list[i], lines), rest = c.n - i - 1;
        if (n + (rest > 0) > room) {
            screen_text(s, arena_format(&s->p.arena, "  and %zu more: jtok report RUN --full", rest + 1));
            break;
        }
        screen_line(s, c.list[i].look, SCREEN_INDENT + strlen(c.list[i].name), lines[0]);
        for (size_t k = 1; k < n; k++)
            screen_text(s, lines[k]);
        room -= n;
    }
}
