#include "run/identify.h"

#include "base/must.h"

static const int64_t limit_ns = 10 * SECOND_NS;

/* One question, by its older name where the newer is not there. */
static enum identified ask_one(struct ask *ask, const struct plan *p, struct engine_identity *id, size_t i,
                               struct answer *answer, struct err *e)
{
    const char *older, *path = engine_question(p, id, i, &older);
    if (!ask_wait(ask, path, limit_ns, answer))
        return IDENTIFY_BROKEN;
    if (answer_status(answer) == 404 && older) {
        path = older;
        if (!ask_wait(ask, path, limit_ns, answer))
            return IDENTIFY_BROKEN;
    }
    bool right = engine_read_answer(p, id, i, path, answer_status(answer), buf_span(&answer->body), e);
    return right ? IDENTIFIED : IDENTIFY_WRONG;
}

enum identified identify_ask(struct ask *ask, const struct plan *p, struct engine_identity *id, struct answer *answer,
                             struct err *e)
{
    must(id->arena && answer);
    const char *older;
    enum identified came = IDENTIFIED;
    for (size_t i = 0; came == IDENTIFIED && engine_question(p, id, i, &older); i++)
        came = ask_one(ask, p, id, i, answer, e);
    return came;
}

bool identify_ask_labels(struct ask *ask, const struct plan *p, struct engine_identity *id, struct answer *answer)
{
    const char *metrics = engine_metrics_path(p);
    if (!metrics || !engine_has_labels(p, id))
        return true;
    if (!ask_wait(ask, metrics, limit_ns, answer))
        return false;
    if (answer_status(answer) == 200)
        engine_read_labels(p, id, buf_span(&answer->body));
    return true;
}
