#include "app/identify.h"

#include <string.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/must.h"
#include "engine/engine.h"
#include "loop/loop.h"
#include "run/running.h"
#include "schema/table.h"

/* ---- tables ---- */

const char *const identity_state_names[] = {"verified", "wrong", "not_stated", "not_verifiable", NULL};

static const struct field identified_property_fields[] = {
    TEXT(identified_property, name, "The property, as in the facts of a run (identity.NAME)."),
    TEXT(identified_property, label, "For people."),
    ENUM(identified_property, state, identity_state, "What the command line states against what was seen."),
    TEXT(identified_property, stated, "What the command line states."),
    TEXT(identified_property, seen, "What the server says."),
    TEXT(identified_property, source, "Where it says it, and what another place says otherwise."),
};
static const struct schema identified_property_schema = SCHEMA(identified_property, "A property of an engine.");

static const struct field identification_fields[] = {
    TEXT(identification, url, "What was asked."),
    TEXT(identification, engine, "Its kind, or the name that it gives itself."),
    TEXT(identification, process, "Who listens there, if it can be seen."),
    BOOL(identification, command_known, "There is a command line to hold it against."),
    OBJECTS(identification, properties, property_count, identified_property, "Its properties."),
};
const struct schema identification_schema = SCHEMA(identification, "What a running server is.");

/* ---- asking ---- */

/* The process's own words as a plan: what they state, and nothing that was asked of the server. */
static struct plan stated_plan(const struct plan *found, bool known, struct arena *a)
{
    struct plan p;
    struct err ignored; /* words that contradict each other state what could be read of them */
    plan_defaults(&p);
    p.engine.kind = found->engine.kind;
    if (known) {
        p.engine.command = found->engine.command;
        p.engine.command_count = found->engine.command_count;
        (void)engine_complete_plan(&p, a, &ignored);
    } else {
        p.engine.tensor_parallel = p.engine.pipeline_parallel = p.engine.data_parallel = ABSENT_I64;
    }
    return p;
}

static enum identity_state identity_state_of(enum check_outcome outcome)
{
    if (outcome == CHECK_PASSED)
        return IDENTITY_VERIFIED;
    if (outcome == CHECK_FAILED)
        return IDENTITY_WRONG;
    return outcome == CHECK_NOT_STATED ? IDENTITY_NOT_STATED : IDENTITY_NOT_VERIFIABLE;
}

static void take_facts(struct identification *d, const struct plan *p, const struct engine_identity *id,
                       struct arena *a)
{
    struct rec_fact *facts;
    engine_identity_facts(p, id, 0, &facts, &d->property_count);
    d->properties = arena_array(a, d->property_count, sizeof *d->properties);
    for (size_t i = 0; i < d->property_count; i++) {
        const struct rec_fact *f = &facts[i];
        must(strchr(f->name, '.'));
        d->properties[i] = (struct identified_property){.name = strchr(f->name, '.') + 1,
                                                        .label = engine_property_label(f->name),
                                                        .state = identity_state_of(f->outcome),
                                                        .stated = f->expected,
                                                        .seen = f->seen,
                                                        .source = f->source};
        d->counts[d->properties[i].state]++;
    }
}

static const char *process_of(const struct running *r, struct arena *a)
{
    struct buf who = {0};
    serving_describe(&r->serving, &who);
    const char *text = who.n ? arena_text(a, buf_text(&who)) : NULL;
    buf_done(&who);
    return text;
}

static struct identification identification_of(const struct running *r, const struct plan *found, struct arena *a)
{
    bool known = found->engine.command_count > 1; /* one word: a process that has changed its title */
    const char *name = r->identity.name;
    struct identification d = {.url = found->attach.url,
                               .engine = name ? name : engine_kind_names[engine_kind_of(found)],
                               .process = process_of(r, a),
                               .command_known = known};
    const struct plan stated = stated_plan(found, known, a);
    take_facts(&d, &stated, &r->identity, a);
    return d;
}

static bool ask_server(struct stage_machine *m, const char *url, const char *key, struct identification *ret,
                       struct err *e)
{
    struct plan p;
    struct running r = {.open = false};
    struct ask ask;
    plan_defaults(&p);
    p.gpu_count = 0;
    p.attach.url = url;
    if (!running_find(&r, &p, m->arena, e))
        return false;
    ask_open(&ask, m, &p.engine, key ? key : engine_api_key(&p, (const char *const *)environ, m->arena));
    bool asked = running_ask(&r, &p, &ask, e);
    ask_close(&ask);
    if (asked)
        *ret = identification_of(&r, &p, m->arena);
    running_done(&r);
    return asked;
}

bool identify_server(const char *url, const char *key, struct arena *a, struct identification *ret_identification,
                     struct err *e)
{
    must(url && a);
    struct loop *loop;
    struct stage_machine machine;
    if (!loop_open(&loop, e))
        return false;
    stage_init(&machine, loop, a);
    machine.origin_ns = clock_now_ns();
    bool asked = ask_server(&machine, url, key, ret_identification, e);
    loop_close(loop);
    return asked;
}
