/* What a list says of runs in every state, and which runs a comparison reads. */
#include "folders.h"
#include <math.h>
#include "app/listing.h"
#include "app/run_list.h"

static const struct listed_run *of(const struct listed_run *runs, size_t n, const char *folder, struct arena *a)
{
    const char *id = archive_id(folder, a);
    for (size_t i = 0; i < n; i++)
        if (strcmp(runs[i].id, id) == 0)
            return &runs[i];
    fail_msg("%s is not listed", id);
    return NULL;
}

static void each_state_has_its_verdict(void **state)
{
    (void)state;
    struct folders f;
    folders_open(&f);
    struct records r = life_records(&f.a, 1);
    const char *formal = whole_run(&f, &r, "formal"), *open = open_run(&f, &r, "open"),
               *bare = sealed_run(&f, &r, "bare"), *damaged = whole_run(&f, &r, "damaged"),
               *unsealed = whole_run(&f, &r, "unsealed"), *unreadable = whole_run(&f, &r, "unreadable");
    change_line(&f, damaged, "result.json", 3);
    unlink(arena_format(&f.a, "%s/SHA256SUMS", unsealed));
    unlink(arena_format(&f.a, "%s/run.json", unreadable));
    r.plan.method.baseline_s = 1; /* shortened */
    const char *excluded = whole_run(&f, &r, "excluded");

    struct listed_run *runs;
    size_t n;
    struct err e = {0};
    assert_ok(listing_read(f.runs, &f.a, &runs, &n, &e), e);
    assert_int_equal(n, 7);
    const struct {
        const char *folder, *verdict;
    } cases[] = {{formal, "formal"},
                 {open, "running or broken off"},
                 {bare, "no result"},
                 {damaged, "damaged"},
                 {unsealed, "not sealed"},
                 {unreadable, "unreadable: "},
                 {excluded, "excluded: method_shortened"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct listed_run *l = of(runs, n, cases[i].folder, &f.a);
        assert_int_equal(strncmp(l->verdict, cases[i].verdict, strlen(cases[i].verdict)), 0);
        bool has = i == 0 || i == 6;
        assert_int_equal(l->output_tokens != ABSENT_I64, has);
        assert_int_equal(!isnan(l->formal_j_per_token), has);
    }
    for (size_t i = 1; i < n; i++) /* oldest first */
        assert_true(strcmp(runs[i - 1].id, runs[i].id) < 0);
    /* Its numbers are the stored result's own. */
    struct result *stored = arena_alloc(&f.a, sizeof *stored);
    assert_ok(evaluate_stored(formal, &f.a, stored, &e), e);
    const struct listed_run *l = of(runs, n, formal, &f.a);
    assert_close(l->formal_j_per_token, stored->metrics.formal_j_per_token.value, 0);
    assert_close(l->lifecycle_j_per_token, stored->metrics.lifecycle_j_per_token.value, 0);
    assert_int_equal(l->output_tokens, stored->load.output_tokens);
    /* A run folder itself is a list of one. */
    assert_ok(listing_read(formal, &f.a, &runs, &n, &e), e);
    assert_int_equal(n, 1);
    assert_false(listing_read(arena_format(&f.a, "%s/none", f.root), &f.a, &runs, &n, &e));
    folders_close(&f);
}

/* From the least to the most over the loads that have a value. */
static void loads_have_a_range(void **state)
{
    (void)state;
    struct folders f;
    folders_open(&f);
    struct records r = life_records(&f.a, 1);
    const char *folder = sealed_run(&f, &r, "loads");
    struct method m = method_default();
    struct evaluation *v = arena_alloc(&f.a, sizeof *v);
    struct err e = {0};
    assert_ok(evaluate_run(folder, &m, &f.a, v, &e), e);
    struct result_loads *x = &v->result.loads;
    enum { LOADS = 4 };
    static const double j[LOADS] = {2.5, 0, 0.5, 0.25}, w[LOADS] = {300, 350, 400, 650};
    *x = (struct result_loads){.object = OBJECT_ATTACH, .standing = STANDING_VALID, .point_count = LOADS};
    x->slo = (struct plan_slo){NAN, NAN, NAN};
    x->points = arena_array(&f.a, LOADS, sizeof *x->points);
    for (size_t i = 0; i < LOADS; i++) {
        result_point_absent(&x->points[i], "not reached");
        x->points[i].number = (int64_t)i;
        x->points[i].kind = LOAD_CONCURRENCY;
        x->points[i].setting = "concurrency 8";
        x->points[i].window.average_w = quantity_of(w[i]);
        if (i != 1)
            x->points[i].j_per_token = quantity_of(j[i]);
    }
    x->points[2].j_per_token = quantity_marked(quantity_of(0.01), Q_EXCLUDED, "overloaded");
    v->result.formal = false;
    assert_ok(evaluate_store(folder, &v->result, &e), e);
    struct listed_run *runs;
    size_t n;
    assert_ok(listing_read(f.runs, &f.a, &runs, &n, &e), e);
    assert_int_equal(n, 1);
    assert_string_equal(runs[0].verdict, "valid");
    assert_int_equal(runs[0].object, OBJECT_ATTACH);
    assert_int_equal(runs[0].loads, LOADS);
    assert_null(runs[0].load);
    assert_false(runs[0].shortened);
    assert_close(runs[0].low_j_per_token, 0.25, 0);
    assert_close(runs[0].high_j_per_token, 2.5, 0);
    assert_close(runs[0].low_w, 300, 0);
    assert_close(runs[0].high_w, 650, 0);
    folders_close(&f);
}

static void a_side_is_folders_with_commas_between(void **state)
{
    (void)state;
    struct folders f;
    folders_open(&f);
    struct records r = life_records(&f.a, 1);
    const char *one = whole_run(&f, &r, "one"), *two = whole_run(&f, &r, "two");
    struct run_list list;
    struct err e = {0};
    assert_ok(run_list_read_side(arena_format(&f.a, ",%s,,%s,", one, two), &f.a, &list, &e), e);
    assert_int_equal(list.count, 2);
    assert_string_equal(compare_id(list.runs[0].result), archive_id(one, &f.a));
    assert_string_equal(compare_id(list.runs[1].result), archive_id(two, &f.a));
    assert_non_null(list.runs[0].plan);
    assert_non_null(list.runs[0].run);
    static const char *const none[] = {"", ",", ",,,"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        assert_false(run_list_read_side(none[i], &f.a, &list, &e));
        assert_int_equal(e.kind, ERR_USAGE);
    }
    /* A result alone may be compared; a plan that is not the sealed one may not. */
    unlink(arena_format(&f.a, "%s/run.json", one));
    assert_ok(run_list_read(&one, 1, &f.a, &list, &e), e);
    assert_null(list.runs[0].run);
    change_line(&f, two, "plan.json", 1);
    assert_false(run_list_read(&two, 1, &f.a, &list, &e));
    assert_int_equal(e.kind, ERR_RECORDS);
    folders_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_state_has_its_verdict),
                                       cmocka_unit_test(loads_have_a_range),
                                       cmocka_unit_test(a_side_is_folders_with_commas_between)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
