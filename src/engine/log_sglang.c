#include "engine/internal.h"

#include <string.h>
#include "base/num.h"

/* The value of one setting of `ServerArgs(name=value, ...)`; nothing (p null) where it isn't there. */
static struct span setting(struct span arguments, const char *name)
{
    struct span at = span_behind(arguments, name);
    /* A name that ends another one's: detokenizer_worker_num holds tokenizer_worker_num. */
    while (at.p && at.p - strlen(name) > arguments.p && at.p[-(ptrdiff_t)strlen(name) - 1] != ' ' &&
           at.p[-(ptrdiff_t)strlen(name) - 1] != '(')
        at = span_behind(at, name);
    if (!at.p)
        return at;
    const char *end = memchr(at.p, ',', at.n);
    return (struct span){at.p, end ? (size_t)(end - at.p) : at.n};
}

static int64_t count(struct span arguments, const char *name)
{
    int64_t value;
    struct span s = setting(arguments, name);
    return s.p && num_i64(s, &value) && value > 0 ? value : ABSENT_I64;
}

/* Each tokenizer worker makes one request, of as many prompts as there are data-parallel ranks, each of which is a
 * request to the engine's counts. */
static int64_t warmup_requests(struct span arguments)
{
    int64_t workers = count(arguments, "tokenizer_worker_num="), ranks = count(arguments, "dp_size=");
    struct span skipped = setting(arguments, "skip_server_warmup=");
    if (span_is(skipped, "True"))
        return 0;
    return span_is(skipped, "False") && workers < 10000 && workers > 0 && ranks < 10000 && ranks > 0 ? workers * ranks
                                                                                                     : ABSENT_I64;
}

void sglang_read_log(struct engine_identity *id, struct span line)
{
    static const char mark[] = "server_args=ServerArgs(";
    struct span arguments = span_behind(line, mark);
    if (!arguments.p || id->name)
        return;
    arguments.p--; /* with the parenthesis before the first name */
    arguments.n++;
    id->name = "sglang";
    id->own_requests_max = warmup_requests(arguments);
}
