/* Valid runs side by side: which loads are the same, what stands against a comparison, and the numbers by hand. */
#include "compared.h"
#include "analysis/compare_load.h"
#include "analysis/gate.h"
#include "schema/visit.h"

enum { LOADS = 2 };

static struct plan_load concurrency_of(int64_t n)
{
    struct plan_load l = plan_load_default();
    l.kind = LOAD_CONCURRENCY;
    l.concurrency = n;
    l.for_s = 60;
    return l;
}

static struct plan_load rate_of(double rate)
{
    struct plan_load l = plan_load_default();
    l.kind = LOAD_RATE;
    l.rate = rate;
    l.for_s = 60;
    return l;
}

static void set_point(struct made *m, size_t i, double j_per_token)
{
    struct result_point *p = &m->result.loads.points[i];
    result_point_absent(p, "not in this test");
    p->number = (int64_t)i;
    p->kind = m->plan.loads[i].kind;
    p->setting = i ? "rate 4/s, poisson, for 60 s" : "concurrency 8, for 60 s";
    p->reached = true;
    p->why = NULL;
    p->j_per_token = q(j_per_token, 0.003, 0.06 * j_per_token);
    p->window.average_w = q(400, 1, 24);
    p->window.duration_s = 60;
    p->rates.output_tok_s = quantity_of(8000);
    p->times.ttft_s.p50 = quantity_of(0.2);
    p->requests.all = 100;
    p->requests.all_failed = 0;
    p->tokens.before = 1000;
    p->tokens.output = 8000;
    p->tokens.after = 1000;
}

/* A valid run with loads: concurrency 8 and rate 4. */
static struct made *made_loads(struct arena *a, const char *id, int place, double j_per_token)
{
    const double none = __builtin_nan("");
    struct made *m = made_run(a, id, place, 1);
    struct result *r = &m->result;
    r->formal = false;
    r->load.output_tokens = ABSENT_I64;
    m->plan.loads = arena_array(a, LOADS, sizeof *m->plan.loads);
    m->plan.loads[0] = concurrency_of(8);
    m->plan.loads[1] = rate_of(4);
    m->plan.load_count = LOADS;
    r->loads = (struct result_loads){.object = OBJECT_LIFE,
                                     .standing = STANDING_VALID,
                                     .slo = {none, none, none},
                                     .points = arena_array(a, LOADS, sizeof *r->loads.points),
                                     .point_count = LOADS};
    for (size_t i = 0; i < LOADS; i++)
        set_point(m, i, j_per_token);
    return m;
}

static void keep_first(struct made *m)
{
    m->plan.load_count = m->result.loads.point_count = 1;
}

struct two {
    struct arena a;
    struct made *x, *y;
    struct comparison c;
};

static void open_two(struct two *t)
{
    *t = (struct two){0};
    t->x = made_loads(&t->a, "one", 0, 0.05);
    t->y = made_loads(&t->a, "two", 1, 0.06);
}

static void compare(struct two *t)
{
    compare_sides(&t->x->as, 1, &t->y->as, 1, &t->a, &t->c);
}

static const struct comparison_row *row_of(const struct compared_load *l, const char *key)
{
    for (size_t i = 0; i < l->row_count; i++)
        if (strcmp(l->rows[i].key, key) == 0)
            return &l->rows[i];
    return NULL;
}

/* ---- the identity of a load ---- */

/* Which kinds a key counts for: concurrency, rate, trace, as letters; "*" all. */
static const struct {
    const char *key, *kinds;
} used[] = {{"kind", "*"}, {"concurrency", "c"}, {"rate", "r"},  {"arrivals", "r"}, {"burstiness", "r"}, {"seed", "r"},
            {"file", "t"}, {"sha256", ""},       {"scale", "t"}, {"count", "*"},    {"for_s", "*"}};

static void change(const struct field *f, struct plan_load *l)
{
    struct slot s = slot_of(f, l);
    if (f->type == FIELD_I64)
        slot_set_i64(&s, 77);
    else if (f->type == FIELD_F64)
        slot_set_f64(&s, 77);
    else if (f->type == FIELD_TEXT)
        slot_set_text(&s, "other");
    else if (strcmp(f->key, "kind") == 0)
        l->kind = l->kind == LOAD_BURST ? LOAD_CONCURRENCY : LOAD_BURST;
    else
        l->arrivals = ARRIVAL_GAMMA;
}

/* Every key of the schema, for every kind; one that is added later fails here until it is placed. */
static void each_key_counts_for_the_kinds_that_use_it(void **state)
{
    (void)state;
    static const struct {
        enum load_kind kind;
        char letter;
    } kinds[] = {{LOAD_BURST, 'b'}, {LOAD_CONCURRENCY, 'c'}, {LOAD_RATE, 'r'}, {LOAD_TRACE, 't'}};
    struct arena a = {0};
    assert_int_equal(plan_load_schema.count, sizeof used / sizeof *used);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (size_t i = 0; i < plan_load_schema.count; i++) {
            const struct field *f = &plan_load_schema.fields[i];
            struct plan_load x = plan_load_default();
            x.kind = kinds[k].kind;
            struct plan_load y = x;
            assert_null(compare_load_difference(&x, &y, &a));
            change(f, &y);
            assert_string_equal(f->key, used[i].key);
            bool counts = used[i].kinds[0] == '*' || strchr(used[i].kinds, kinds[k].letter);
            const char *said = compare_load_difference(&x, &y, &a), *back = compare_load_difference(&y, &x, &a);
            if (counts != (said != NULL) || counts != (back != NULL))
                fail_msg("%s of %s: %s", f->key, load_kind_names[kinds[k].kind], said ? said : "no difference");
            if (counts)
                assert_int_equal(strncmp(said, f->key, strlen(f->key)), 0);
        }
    arena_done(&a);
}

static void a_trace_is_its_digest(void **state)
{
    (void)state;
    struct arena a = {0};
    struct plan_load x = plan_load_default();
    x.kind = LOAD_TRACE;
    x.file = "a.csv";
    struct plan_load y = x;
    y.file = "b.csv";
    assert_string_equal(compare_load_difference(&x, &y, &a), "file is a.csv and b.csv");
    x.sha256 = y.sha256 = "aa";
    assert_null(compare_load_difference(&x, &y, &a));
    y.sha256 = "bb";
    assert_string_equal(compare_load_difference(&x, &y, &a), "sha256 is aa and bb");
    arena_done(&a);
}

/* ---- what stands against ---- */

static void other_concurrency(struct made *y)
{
    y->plan.loads[0].concurrency = 9;
}
static void other_time(struct made *y)
{
    y->plan.loads[0].for_s = 30;
}
static void other_count(struct made *y)
{
    y->plan.loads[0].count = 500;
}
static void other_kind(struct made *y)
{
    y->plan.loads[0] = rate_of(8);
    y->result.loads.points[0].kind = LOAD_RATE;
    y->result.loads.points[0].setting = "rate 8/s";
}
static void other_limit(struct made *y)
{
    y->result.loads.slo.ttft_s = 2;
}
static void other_object(struct made *y)
{
    y->result.loads.object = OBJECT_ATTACH;
}
static void formal(struct made *y)
{
    y->result.loads = (struct result_loads){.object = (enum run_object) - 1, .standing = (enum run_standing) - 1};
    y->result.formal = true;
    y->result.load.output_tokens = 1000;
}
static void excluded(struct made *y)
{
    y->result.loads.standing = STANDING_EXCLUDED;
    y->result.checks[CODE_FOREIGN_PROCESS].outcome = CHECK_FAILED;
}
static void shortened(struct made *y)
{
    y->result.loads.shortened = "Too short.";
}
static void ended_early(struct made *y)
{
    y->result.loads.ended_early = "by its user";
}
static void simulated(struct made *y)
{
    y->result.about.simulated = true;
}
static void other_work(struct made *y)
{
    y->result.about.work_sha256 = "vv";
    y->plan.requests.seed = 4;
}
static void other_board(struct made *y)
{
    y->result.gpus[0].power_limit_w = 600;
}
static void other_model(struct made *y)
{
    y->result.about.model = "example/Other";
}
static void no_plan(struct made *y)
{
    y->as.plan = NULL;
}
static void other_plan(struct made *y)
{
    y->plan.load_count = 0;
}

static void each_reason_against_is_named(void **state)
{
    (void)state;
    static const struct {
        void (*spoil)(struct made *y);
        const char *reason;
    } cases[] = {
        {other_concurrency, "(concurrency is 8 and 9)"},
        {other_time, "(for_s is 60 and 30)"},
        {other_count, "(count is not stated and 500)"},
        {other_kind, "Only run one has the load \"concurrency 8, for 60 s\"; run two does not."},
        {other_limit, "The limit of TTFT that a good request keeps differs: not stated and 2 s."},
        {other_object,
         "Run one is a life with other loads, and run two is a running service under loads of jtok's: these are never "
         "compared."},
        {formal,
         "Run one is a life with other loads, and run two is a life under one burst: these are never compared."},
        {excluded, "Run two is not valid: foreign_process (failed)."},
        {shortened, "Run two is shortened. Too short."},
        {ended_early, "Run two was ended early (by its user), so its loads are not those of its plan."},
        {simulated, "Run two is simulated and the other is real."},
        {other_work, "What was asked differs: requests.seed is not stated and 4."},
        {other_board, "The GPUs differ: "},
        {other_model, "The model differs: "},
        {no_plan, "Run two has no plan.json that names the loads of its result"},
        {other_plan, "Run two has no plan.json that names the loads of its result"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct two t;
        open_two(&t);
        keep_first(t.x);
        keep_first(t.y);
        compare(&t);
        assert_int_equal(t.c.reasons.count, 0);
        assert_int_equal(t.c.load_count, 1);
        cases[i].spoil(t.y);
        compare(&t);
        assert_told(&t.c.reasons, cases[i].reason);
        assert_int_equal(t.c.row_count + t.c.load_count, 0);
        /* Either way round, and shown anyway: values, and nothing between them. */
        compare_sides(&t.y->as, 1, &t.x->as, 1, &t.a, &t.c);
        assert_true(t.c.reasons.count > 0);
        compare_anyway(&t.x->as, 1, &t.y->as, 1, &t.a, &t.c);
        assert_told(&t.c.reasons, cases[i].reason);
        assert_true(t.c.anyway && t.c.load_count > 0);
        assert_int_equal(t.c.compared, 0);
        bool seen = false;
        for (size_t k = 0; k < t.c.load_count; k++)
            for (size_t j = 0; j < t.c.loads[k].row_count; j++) {
                const struct comparison_row *r = &t.c.loads[k].rows[j];
                assert_int_equal(r->verdict, COMPARED_NONE);
                assert_false(quantity_has_value(&r->difference) || quantity_has_value(&r->ratio));
                assert_true(isnan(r->between.low) && r->why);
                seen |= strcmp(r->key, "j_per_token") == 0 && r->a.value == 0.05;
            }
        assert_true(seen);
        arena_done(&t.a);
    }
}

/* ---- numbers ---- */

static void doubts_by_hand_load_by_load(void **state)
{
    (void)state;
    struct two t;
    open_two(&t);
    t.x->result.loads.points[0].j_per_token = q(0.05, 0.003, 0.003);
    t.y->result.loads.points[0].j_per_token = q(0.06, 0.004, 0.0036);
    t.y->result.loads.points[1].j_per_token = q(0.025, 0, 0);
    compare(&t);
    assert_int_equal(t.c.reasons.count, 0);
    assert_int_equal(t.c.row_count, 0);
    assert_int_equal(t.c.load_count, 2);
    const struct comparison_row *r = row_of(&t.c.loads[0], "j_per_token");
    assert_close(r->difference.value, 0.01, 1e-15);
    assert_close(r->difference.instrument, 0.005, 1e-15); /* sqrt(3^2 + 4^2) */
    assert_close(r->ratio.value, 1.2, 1e-15);
    assert_close(r->ratio.instrument, 1.2 * sqrt(0.0036 + 1.0 / 225), 1e-15);
    assert_close(r->ratio.calibration, 0, 0); /* the same boards */
    assert_close(row_of(&t.c.loads[1], "j_per_token")->ratio.value, 0.5, 1e-15);
    assert_close(row_of(&t.c.loads[0], "average_w")->ratio.value, 1, 0);
    assert_null(row_of(&t.c.loads[0], "goodput_share")); /* no limit is stated */
    assert_null(row_of(&t.c.loads[0], "energy_j"));      /* of a command */
    assert_int_equal(r->verdict, COMPARED_NONE);
    arena_done(&t.a);
}

/* In whatever order the loads came; what only one has is named. */
static void loads_that_both_have_are_compared_and_the_rest_is_named(void **state)
{
    (void)state;
    struct two t;
    open_two(&t);
    t.y->plan.loads[0] = rate_of(4);
    t.y->plan.loads[1] = concurrency_of(16);
    set_point(t.y, 0, 0.06);
    set_point(t.y, 1, 0.03);
    t.y->result.loads.points[1].setting = "concurrency 16, for 60 s";
    compare(&t);
    assert_int_equal(t.c.reasons.count, 0);
    assert_int_equal(t.c.load_count, 1);
    const struct comparison_row *r = row_of(&t.c.loads[0], "j_per_token");
    assert_close(r->a.value, 0.05, 0);
    assert_close(r->b.value, 0.06, 0);
    assert_told(&t.c.notes, "(concurrency is 8 and 16)");
    arena_done(&t.a);
}

static void a_load_without_its_window_or_with_other_answers_is_left_out(void **state)
{
    (void)state;
    struct two t;
    open_two(&t);
    t.y->result.loads.points[0].reached = false;
    t.y->result.loads.points[0].why = "load not reached";
    t.y->result.loads.points[1].tokens.output = 6000; /* 80 tokens an answer against 100: 20 % of the larger */
    compare(&t);
    assert_string_equal(t.c.loads[0].why, "run two: load not reached");
    assert_int_equal(t.c.loads[0].row_count, 0);
    assert_close(t.c.loads[1].answer_difference.value, 0.2, 1e-15);
    assert_null(t.c.loads[1].why);
    t.y->result.loads.points[1].tokens.output = 5990;
    compare(&t);
    assert_non_null(strstr(t.c.loads[1].why, "differ by 20.1 %"));
    /* Twice as many answers in the same time are no other work. */
    t.y->result.loads.points[1].tokens.output = 18000;
    t.y->result.loads.points[1].requests.all = 200;
    compare(&t);
    assert_null(t.c.loads[1].why);
    arena_done(&t.a);
}

/* The same numbers decide alike, whether they are of formal runs or of a load. */
static void three_a_side_decide_as_formal_runs_do(void **state)
{
    (void)state;
    static const double values[6] = {0.0501, 0.0505, 0.0498, 0.0551, 0.0560, 0.0549};
    static const char *const ids[6] = {"a", "b", "c", "d", "e", "f"};
    struct arena a = {0};
    struct compare_run loads[6], bursts[6];
    for (int i = 0; i < 6; i++) {
        struct made *m = made_loads(&a, ids[i], i, values[i]);
        loads[i] = m->as;
        bursts[i] = made_run(&a, ids[i], i, values[i])->as;
    }
    struct comparison c, f;
    compare_sides(loads, 3, loads + 3, 3, &a, &c);
    compare_sides(bursts, 3, bursts + 3, 3, &a, &f);
    assert_int_equal(c.reasons.count + f.reasons.count, 0);
    const struct comparison_row *r = row_of(&c.loads[1], "j_per_token"), *s = NULL;
    for (size_t i = 0; i < f.row_count; i++)
        s = strcmp(f.rows[i].key, "formal_j_per_token") == 0 ? &f.rows[i] : s;
    assert_int_equal(r->verdict, COMPARED_HIGHER);
    assert_close(r->ratio.value, s->ratio.value, 0);
    assert_close(r->between.low, s->between.low, 0);
    assert_close(r->between.high, s->between.high, 0);
    assert_true(c.compared >= 2);
    arena_done(&a);
}

static void runs_of_a_side_have_the_same_loads(void **state)
{
    (void)state;
    struct two t;
    open_two(&t);
    struct made *z = made_loads(&t.a, "three", 2, 0.05);
    struct compare_run x[2] = {t.x->as, z->as};
    compare_sides(x, 2, &t.y->as, 1, &t.a, &t.c);
    assert_int_equal(t.c.reasons.count, 0);
    z->result.loads.point_count = 1; /* a result that lacks what its plan names */
    compare_sides(x, 2, &t.y->as, 1, &t.a, &t.c);
    assert_string_equal(t.c.loads[1].why, "run three has no such load");
    z->plan.loads[1].seed = 5;
    compare_sides(x, 2, &t.y->as, 1, &t.a, &t.c);
    assert_told(&t.c.reasons, "Run three is not a repetition of one: loads.1.seed is \"0\" and \"5\".");
    arena_done(&t.a);
}

/* ---- other objects ---- */

static void become(struct made *m, enum run_object object, const char *setting)
{
    keep_first(m);
    m->plan.load_count = 0;
    m->result.loads.object = object;
    m->result.about.model = m->result.about.work_sha256 = m->result.about.scenario = NULL;
    m->result.loads.points[0].kind = (enum load_kind) - 1;
    m->result.loads.points[0].setting = setting;
}

static void commands_by_hand(void **state)
{
    (void)state;
    struct two t;
    open_two(&t);
    become(t.x, OBJECT_STAT, "make -j");
    become(t.y, OBJECT_STAT, "make -j");
    t.x->as.exit_status = t.y->as.exit_status = 0;
    t.x->result.loads.points[0].window.energy.headline = q(100, 3, 6);
    t.y->result.loads.points[0].window.energy.headline = q(120, 4, 7);
    t.y->result.loads.points[0].window.duration_s = 90;
    compare(&t);
    assert_int_equal(t.c.reasons.count, 0);
    const struct compared_load *l = &t.c.loads[0];
    assert_close(row_of(l, "energy_j")->difference.value, 20, 1e-12);
    assert_close(row_of(l, "energy_j")->difference.instrument, 5, 1e-12);
    assert_close(row_of(l, "duration_s")->ratio.value, 1.5, 1e-15);
    assert_null(row_of(l, "j_per_token"));
    t.y->as.exit_status = 1;
    compare(&t);
    assert_told(&t.c.reasons, "The exit status of the command differs: 0 and 1.");
    t.y->as.exit_status = 0;
    t.y->result.loads.points[0].setting = "make";
    compare(&t);
    assert_told(&t.c.reasons, "The command differs: make -j and make.");
    arena_done(&t.a);
}

/* Nobody knows whether users asked the same; the load that was seen stands beside. */
static void watches_by_what_they_saw(void **state)
{
    (void)state;
    struct two t;
    open_two(&t);
    become(t.x, OBJECT_WATCH, NULL);
    become(t.y, OBJECT_WATCH, NULL);
    compare(&t);
    assert_int_equal(t.c.reasons.count, 0);
    assert_close(row_of(&t.c.loads[0], "j_per_token")->ratio.value, 1.2, 1e-12);
    assert_non_null(row_of(&t.c.loads[0], "in_flight"));
    assert_null(row_of(&t.c.loads[0], "ttft_p50_s"));
    assert_told(&t.c.notes, "users");
    arena_done(&t.a);
}

/* ---- a gate ---- */

static void judge(struct two *t, struct gate *g, const char *metric, const char *load)
{
    *g = (struct gate){.metric = metric, .load = load, .limit = 0.3, .spread = 0.01};
    compare(t);
    g->comparison = t->c;
    gate_judge(g, &t->a);
}

static void a_gate_names_one_load(void **state)
{
    (void)state;
    struct two t;
    struct gate g;
    open_two(&t);
    t.y->result.loads.points[1].j_per_token = q(0.1, 0.001, 0.001);
    static const struct {
        const char *load;
        enum gate_outcome outcome;
        double value;
    } cases[] = {{"concurrency=8", GATE_PASSED, 0.2},
                 {"concurrency 8", GATE_PASSED, 0.2},
                 {"0", GATE_PASSED, 0.2},
                 {"rate=4", GATE_FAILED, 1},
                 {"1", GATE_FAILED, 1},
                 {NULL, GATE_REFUSED, 0},
                 {"concurrency=80", GATE_REFUSED, 0},
                 {"concurrency", GATE_REFUSED, 0},
                 {"2", GATE_REFUSED, 0},
                 {"rate", GATE_REFUSED, 0},
                 {"", GATE_REFUSED, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        judge(&t, &g, "j_per_token", cases[i].load);
        if (g.outcome != cases[i].outcome)
            fail_msg("--load %s: %s", cases[i].load ? cases[i].load : "(none)", gate_outcome_names[g.outcome]);
        if (g.outcome != GATE_REFUSED)
            assert_close(g.value, cases[i].value, 1e-12);
        assert_non_null(g.why);
    }
    judge(&t, &g, "formal_j_per_token", "0");
    assert_int_equal(g.outcome, GATE_REFUSED);
    keep_first(t.x);
    keep_first(t.y);
    judge(&t, &g, "j_per_token", NULL); /* there is one alone */
    assert_int_equal(g.outcome, GATE_PASSED);
    arena_done(&t.a);
}

/* The keys of both tables mean one thing each. */
static void a_key_is_found_in_either_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < COMPARE_METRICS; i++)
        assert_string_equal(gate_metric(compare_metrics[i].key)->key, compare_metrics[i].key);
    for (size_t i = 0; i < COMPARE_LOAD_METRICS; i++) {
        const struct compare_metric *m = gate_metric(compare_load_metrics[i].key);
        assert_string_equal(m->key, compare_load_metrics[i].key);
        assert_string_equal(m->unit, compare_load_metrics[i].unit);
    }
    assert_null(gate_metric("j"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_key_counts_for_the_kinds_that_use_it),
        cmocka_unit_test(a_trace_is_its_digest),
        cmocka_unit_test(each_reason_against_is_named),
        cmocka_unit_test(doubts_by_hand_load_by_load),
        cmocka_unit_test(loads_that_both_have_are_compared_and_the_rest_is_named),
        cmocka_unit_test(a_load_without_its_window_or_with_other_answers_is_left_out),
        cmocka_unit_test(three_a_side_decide_as_formal_runs_do),
        cmocka_unit_test(runs_of_a_side_have_the_same_loads),
        cmocka_unit_test(commands_by_hand),
        cmocka_unit_test(watches_by_what_they_saw),
        cmocka_unit_test(a_gate_names_one_load),
        cmocka_unit_test(a_key_is_found_in_either_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
