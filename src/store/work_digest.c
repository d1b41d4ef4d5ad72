#include "store/work_digest.h"

#include <math.h>
#include "base/must.h"
#include "store/random_prompts.h"
#include "text/canonical.h"
#include "text/json.h"

/* An object's members without its braces; true where there are some. */
static bool put_inside(struct buf *out, struct span object)
{
    struct json j;
    json_init(&j, object);
    json_next(&j);
    if (json_next(&j) != JSON_KEY)
        return false;
    const char *open = memchr(object.p, '{', object.n), *close = object.p + object.n;
    while (close[-1] != '}')
        close--;
    buf_add(out, open + 1, (size_t)(close - 1 - (open + 1)));
    return true;
}

/* The members one behind the other, of equal names the last one counting: the plan's sampling, the line's own (which
 * has none of the plan's), then extra_body, which wins over both. */
static void put_body(const struct plan_requests *r, struct span own, struct buf *out)
{
    struct buf members = {0};
    buf_byte(&members, '{');
    if (!isnan(r->temperature)) {
        buf_str(&members, "\"temperature\":");
        canonical_put_f64(&members, r->temperature);
        buf_byte(&members, ',');
    }
    if (!isnan(r->top_p)) {
        buf_str(&members, "\"top_p\":");
        canonical_put_f64(&members, r->top_p);
        buf_byte(&members, ',');
    }
    if (r->seed != ABSENT_I64)
        buf_fmt(&members, "\"seed\":%lld,", (long long)r->seed);
    if (own.n && put_inside(&members, own))
        buf_byte(&members, ',');
    if (r->extra_body && put_inside(&members, span_of(r->extra_body)))
        buf_byte(&members, ',');
    if (r->thinking_body && put_inside(&members, span_of(r->thinking_body)))
        buf_byte(&members, ',');
    if (members.p[members.n - 1] == ',')
        members.n--;
    buf_byte(&members, '}');
    canonical_put(out, buf_span(&members));
    buf_done(&members);
}

static void put_asked(const struct plan *plan, const struct request_set *set, size_t i, struct buf *out)
{
    if (!set->rows) {
        buf_str(out, "\"prompt\":");
        random_prompt_put(&set->random, i, out); /* its one spelling already */
        return;
    }
    const struct request_row *row = request_set_row(set, i);
    bool chat = plan->requests.api == API_CHAT;
    buf_str(out, chat ? "\"messages\":" : "\"prompt\":");
    if (row->messages.n) {
        canonical_put(out, row->messages);
        return;
    }
    if (chat)
        buf_str(out, "[{\"content\":");
    canonical_put(out, row->prompt);
    if (chat)
        buf_str(out, ",\"role\":\"user\"}]");
}

void work_line(const struct plan *plan, const struct request_set *set, size_t i, struct buf *out)
{
    must(i < set->count);
    struct span extra = set->rows ? request_set_row(set, i)->extra : (struct span){0};
    int64_t tokens = set->max_tokens[i];
    bool forced = plan->requests.lengths.ignore_eos && tokens != ABSENT_I64;
    buf_fmt(out, "{\"api\":\"%s\",\"body\":", plan->requests.api == API_CHAT ? "chat" : "completions");
    put_body(&plan->requests, extra, out);
    buf_fmt(out, ",\"forced\":%s,\"max_tokens\":", forced ? "true" : "false");
    if (tokens == ABSENT_I64)
        buf_str(out, "null");
    else
        buf_i64(out, tokens);
    buf_byte(out, ',');
    put_asked(plan, set, i, out);
    buf_str(out, "}\n");
}

void work_digest(const struct plan *plan, const struct request_set *set, char ret_hex[DIGEST_HEX])
{
    struct digest *d = digest_open();
    struct buf line = {0};
    for (size_t i = 0; i < set->count; i++) {
        buf_clear(&line);
        work_line(plan, set, i, &line);
        digest_add(d, buf_span(&line));
    }
    buf_done(&line);
    digest_close(d, ret_hex);
}
