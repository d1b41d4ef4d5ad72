#include "check.h"
#include "base/buf.h"
#include "model/plan.h"
#include "schema/visit.h"
#include "model/record.h"

static void defaults_are_the_methods(void **state)
{
    struct plan p;

    (void)state;
    plan_defaults(&p);
    /* METHOD sections 3, 4, 8. */
    assert_close(p.method.baseline_s, 20, 0);
    assert_close(p.method.baseline_wait_s, 120, 0);
    assert_close(p.method.hold_s, 30, 0);
    assert_close(p.method.grid_s, 1, 0);
    assert_int_equal(p.method.warmup_requests, 8);
    assert_int_equal(p.method.warmup_tokens, 64);
    assert_close(p.method.failed_share, 0.01, 0);
    assert_close(p.limits.connect_s, 10, 0);
    assert_close(p.limits.write_s, 30, 0);
    assert_close(p.limits.head_s, 30, 0);
    assert_close(p.limits.first_token_s, 600, 0);
    assert_close(p.limits.idle_s, 120, 0);
    assert_close(p.limits.total_s, 3600, 0);
    assert_false(p.requests.continuous_usage);
    assert_false(plan_is_shortened(&p));
}

static void each_duration_shortens(void **state)
{
    struct plan p;
    size_t doubles[] = {offsetof(struct plan, method.baseline_s), offsetof(struct plan, method.baseline_wait_s),
                        offsetof(struct plan, method.hold_s), offsetof(struct plan, method.release_wait_s),
                        offsetof(struct plan, method.grid_s)};

    (void)state;
    for (size_t i = 0; i < sizeof doubles / sizeof *doubles; i++) {
        plan_defaults(&p);
        *(double *)((char *)&p + doubles[i]) *= 1.5;
        assert_false(plan_is_shortened(&p));
        *(double *)((char *)&p + doubles[i]) *= 0.5;
        assert_true(plan_is_shortened(&p));
    }
    plan_defaults(&p);
    p.method.warmup_requests = 7;
    assert_true(plan_is_shortened(&p));
    plan_defaults(&p);
    p.method.warmup_tokens = 63;
    assert_true(plan_is_shortened(&p));
}

/* A user may write any number of a plan, so each has its limits. */
static void check_limits(const struct schema *s)
{
    for (const struct field *f = s->fields; f < s->fields + s->count; f++) {
        if (f->type == FIELD_OBJECT)
            check_limits(f->sub);
        assert_true((f->type != FIELD_I64 && f->type != FIELD_F64) || f->min < f->max);
    }
}

static void every_number_has_limits(void **state)
{
    (void)state;
    check_limits(&plan_schema);
}

static void collect(void *self, const struct visit *v)
{
    buf_fmt(self, "%s=", v->path);
    slot_put(&v->slot, self);
    buf_byte(self, '\n');
}

static void a_visit_names_every_value(void **state)
{
    const char *command[] = {"vllm", "serve"};
    struct field_pair env[] = {{"A", "1"}};
    struct buf b = {0};
    struct plan p;

    (void)state;
    plan_defaults(&p);
    p.engine.kind = ENGINE_VLLM;
    p.engine.command = command;
    p.engine.command_count = 2;
    p.engine.env = env;
    p.engine.env_count = 1;
    p.model.total_parameters = 8.03e9;
    schema_visit(&plan_schema, &p, "", &(struct visitor){.self = &b, .value = collect});
    buf_text(&b);
    assert_non_null(strstr(b.p, "model.total_parameters=8030000000\n"));
    assert_non_null(strstr(b.p, "engine.kind=vllm\nengine.command.0=vllm\nengine.command.1=serve\nengine.env.A=1\n"));
    assert_non_null(strstr(b.p, "requests.lengths.median=\n")); /* absent, never zero */
    assert_non_null(strstr(b.p, "requests.count=\n"));
    buf_done(&b);
}

static void absent_is_never_zero(void **state)
{
    struct plan p;

    (void)state;
    memset(&p, 0x55, sizeof p);
    schema_absent(&plan_schema, &p);
    assert_null(p.name);
    assert_true(isnan(p.cost.pue));
    assert_true(p.requests.count == ABSENT_I64);
    assert_int_equal(p.engine.command_count, 0);
    assert_true(ENUM_ABSENT(p.engine.kind));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_the_methods), cmocka_unit_test(each_duration_shortens),
        cmocka_unit_test(every_number_has_limits),  cmocka_unit_test(a_visit_names_every_value),
        cmocka_unit_test(absent_is_never_zero),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
