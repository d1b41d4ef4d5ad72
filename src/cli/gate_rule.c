#include "cli/gate_rule.h"

#include <math.h>
#include <string.h>
#include "base/must.h"
#include "base/num.h"
#include "cli/args.h"

/* Keys of both tables, each once; null-terminated. */
static const char **metric_keys(struct arena *a, const char **ret_list)
{
    const char **keys = arena_array(a, COMPARE_METRICS + COMPARE_LOAD_METRICS + 1, sizeof *keys), *list = "";
    size_t n = 0;
    for (size_t i = 0; i < COMPARE_METRICS; i++)
        keys[n++] = compare_metrics[i].key;
    for (size_t i = 0; i < COMPARE_LOAD_METRICS; i++) /* gate_metric finds those of formal runs first */
        if (gate_metric(compare_load_metrics[i].key) == &compare_load_metrics[i])
            keys[n++] = compare_load_metrics[i].key;
    keys[n] = NULL;
    for (size_t i = 0; i < n; i++)
        list = arena_format(a, "%s%s%s", list, i ? ", " : "", keys[i]);
    *ret_list = list;
    return keys;
}

static bool known_metric(const char *key, struct arena *a, struct err *e)
{
    if (gate_metric(key))
        return true;
    const char *list, *near = args_nearest(key, metric_keys(a, &list));
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
    struct gate g = {.metric = o->metric, .load = o->load, .change = o->fall ? GATE_FALL : GATE_RISE, .spread = NAN};
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
