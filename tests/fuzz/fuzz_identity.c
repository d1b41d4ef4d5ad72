/* Whatever a server says of itself, its identity stays a table of facts. The first byte chooses the kind of the plan,
 * the second which answer the rest is: a line of output, /metrics, /v1/models, or one of the engine's questions.
 *
 *   every property has one fact; an outcome of a comparison needs both sides, and a value its source
 *   what fails is told in one sentence, and nothing else is
 *   the same bytes twice say the same; no value is empty, or holds what a terminal would act on */
#include <string.h>
#include "engine/engine.h"
#include "fuzz.h"

static void hear(const struct plan *p, struct engine_identity *id, unsigned what, struct span said)
{
    struct err e = {0};
    const char *older;
    if (what == 0)
        engine_read_log(p, id, said);
    else if (what == 1)
        engine_read_labels(p, id, said);
    else if (what == 2)
        engine_read_models(p, id, 200, said, &e);
    else if (engine_question(p, id, what - 3, &older))
        engine_read_answer(p, id, what - 3, "/asked", 200, said, &e);
}

static void look(const struct rec_fact *facts, size_t n)
{
    struct err e = {0};
    bool wrong = false;
    FUZZ_CHECK(n == PROPERTY_COUNT);
    for (size_t i = 0; i < n; i++) {
        const struct rec_fact *f = &facts[i];
        bool compared = f->outcome == CHECK_PASSED || f->outcome == CHECK_FAILED;
        FUZZ_CHECK(!compared || (f->expected && f->seen));
        FUZZ_CHECK((f->outcome == CHECK_NOT_STATED) == !f->expected);
        for (const char *c = f->seen; c && *c; c++)
            FUZZ_CHECK((unsigned char)*c >= ' ' && *c != 0x7f); /* nothing that a terminal would act on */
        FUZZ_CHECK(!f->seen || (*f->seen && f->source && *f->source));
        wrong = wrong || f->outcome == CHECK_FAILED;
    }
    FUZZ_CHECK(engine_identity_judge(facts, n, &e) == !wrong);
    FUZZ_CHECK(!wrong || e.text[strlen(e.text) - 1] == '.');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    static const char *words[] = {"server", "serve", "/srv/m", "--dtype", "half", "--max-model-len", "8192"};
    struct span said = {(const char *)data + 2, size - 2};
    struct arena a = {0};
    struct plan p;
    struct engine_identity id[2];
    struct rec_fact *facts[2];
    size_t n[2];
    plan_defaults(&p);
    p.engine.kind = (enum engine_kind)(data[0] % ENGINE_KIND_COUNT);
    p.engine.command = words;
    p.engine.command_count = sizeof words / sizeof *words;
    p.engine.tensor_parallel = 2;
    for (int i = 0; i < 2; i++) {
        engine_identity_init(&id[i], &a);
        hear(&p, &id[i], data[1] % 7, said);
        engine_identity_facts(&p, &id[i], 0, &facts[i], &n[i]);
        look(facts[i], n[i]);
    }
    for (size_t i = 0; i < n[0]; i++) {
        const char *x = facts[0][i].seen, *y = facts[1][i].seen;
        FUZZ_CHECK(!x == !y && (!x || strcmp(x, y) == 0));
    }
    arena_done(&a);
    return 0;
}
