#include "cli/gate_rule.h"

#include <math.h>
#include <string.h>
#include "base/must.h"
#include "base/num.h"
#include "cli/args.h"

static bool known_metric(const char *key, struct arena *a, struct err *e)
{
    if (gate_metric(key))
        return true;
    const char *names[COMPARE_METRICS + 1] = {0}, *list = "";
    for (size_t i = 0; i < COMPARE_METRICS; i++) {
        names[i] = compare_metrics[i].key;
        list = arena_format(a, "%s%s%s", list, i ? ", " : "", names[i]);
    }
    const char *near = args_nearest(key, names);
    return err_set(e, ERR_USAGE, "There is no metric \"%s\"%s%s%s Give one of %s.", key, near ? "; did you mean " : "",
                   near ? near : "", near ? "?" : ".", list);
}

/* "5%" as 0.05. */
static bool read_percent(const char *option, const char *text, double *ret_share, struct err *e)
{
    size_t n = strlen(text);
    double percent;
    if (n < 2 || text[n - 1] != '%' || !num_f64((struct span){text, n - 1}, &percent))
        return err_set(e, ERR_USAGE, "%s takes a percentage such as 5%%, not \"%s\".", option, text);
    *ret_share = percent / 100;
    return true;
}

bool gate_rule_read(const struct gate_words *o, struct arena *a, struct gate *ret_gate, struct err *e)
{
    must(o && a);
    struct gate g = {.metric = o->metric, .change = o->fall ? GATE_FALL : GATE_RISE, .spread = NAN};
    if (!o->metric)
        return err_set(
            e, ERR_USAGE,
            "--metric is missing. A gate has one metric, named beforehand, such as --metric formal_j_per_token.");
    if (!known_metric(o->metric, a, e))
        return false;
    if (!o->rise == !o->fall)
        return err_set(e, ERR_USAGE, "Give one limit, either --max-rise or --max-fall, such as --max-rise 5%%.");
    if (!read_percent(o->rise ? "--max-rise" : "--max-fall", o->rise ? o->rise : o->fall, &g.limit, e))
        return false;
    if (o->spread && !read_percent("--spread", o->spread, &g.spread, e))
        return false;
    if (o->spread && !(g.spread > 0))
        return err_set(e, ERR_USAGE, "--spread takes a percentage above 0, not \"%s\": repeated runs always differ.",
                       o->spread);
    *ret_gate = g;
    return true;
}
