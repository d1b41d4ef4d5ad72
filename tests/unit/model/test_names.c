/* Each enum that goes to disk has a name for each of its values, and no two are the same. */
#include "check.h"

#include "model/method.h"
#include "model/record.h"
#include "model/result.h"
#include "schema/visit.h"

static void check_names(const char *what, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!names[i] || !names[i][0])
            fail_msg("%s: value %zu has no name", what, i);
        assert_int_equal(name_index(names, span_of(names[i])), i);
    }
    assert_null(names[count]);
}

#define CHECK(names, count)                                                                                            \
    do {                                                                                                               \
        check_names(#names, names, count);                                                                             \
        assert_int_equal(sizeof(names) / sizeof *(names), (count) + 1);                                                \
    } while (0)

static void every_value_has_its_name(void **state)
{
    (void)state;
    CHECK(boundary_names, BOUNDARY_COUNT);
    CHECK(check_outcome_names, CHECK_OUTCOME_COUNT);
    CHECK(milestone_names, MILESTONE_COUNT);
    CHECK(verdict_names, VERDICT_COUNT);
    CHECK(request_stage_names, REQUEST_FORMAL + 1);
    CHECK(chunk_kind_names, CHUNK_OTHER + 1);
    CHECK(chunk_stamp_names, STAMP_READ + 1);
    CHECK(instant_tag_names, INSTANT_BOUNDARY_AFTER + 1);
    CHECK(counter_why_names, COUNTER_BOUNDARY + 1);
    CHECK(engine_kind_names, ENGINE_KIND_COUNT);
    CHECK(api_kind_names, API_COMPLETIONS + 1);
    CHECK(length_kind_names, LENGTH_NORMAL + 1);
    CHECK(input_kind_names, INPUT_LOGNORMAL + 1);
    CHECK(connect_kind_names, CONNECT_WITH_REQUEST + 1);
    CHECK(headline_names, HEADLINE_COUNT);
    CHECK(rule_names, RULE_COUNT);
    CHECK(steady_k_names, K_COUNT);
    CHECK(check_code_names, CODE_COUNT);
    CHECK(flag_code_names, FLAG_COUNT);
    CHECK(q_state_names, Q_STATE_COUNT);
}

/* ---- tables ---- */

/* A table's rows are of its struct and apart from each other, each says in a sentence what it is, and a default obeys
 * its own range. */
static void check_table(const struct schema *s)
{
    assert_true(s->count > 0 && s->name && s->doc);
    for (size_t i = 0; i < s->count; i++) {
        const struct field *f = &s->fields[i];
        if (!f->doc || !f->doc[0] || !strchr(".?", f->doc[strlen(f->doc) - 1]))
            fail_msg("%s.%s has no sentence", s->name, f->key);
        assert_true(f->offset < s->size);
        assert_true(!(f->min < f->max) || !f->has_preset || (f->preset >= f->min && f->preset <= f->max));
        if (f->type == FIELD_ENUM)
            assert_true(f->names && (f->width == 1 || f->width == sizeof(int)));
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(s->fields[k].key, f->key);
            assert_true(((s->fields[k].flags | f->flags) & FIELD_ASIDE) || s->fields[k].offset != f->offset);
        }
        if (f->sub)
            check_table(f->sub);
    }
}

static void every_table_fits_its_struct(void **state)
{
    (void)state;
    static const struct schema *const all[] = {
        &plan_schema,           &method_schema,        &method_decision_schema, &result_schema,
        &result_request_schema, &result_window_schema, &rec_run_schema,         &rec_client_schema,
        &rec_gpu_schema,        &rec_boundary_schema,  &rec_clock_schema,       &rec_fact_schema,
        &rec_instant_schema,    &rec_counter_schema,   &rec_buffer_schema,      &rec_gpu_state_schema,
        &rec_process_schema,    &rec_request_schema,   &rec_chunk_schema,       &rec_metrics_schema,
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        check_table(all[i]);
}

/* A record with nothing in it reads back as it is: what a table calls absent is what the recorder starts from. */
static void a_request_starts_absent(void **state)
{
    (void)state;
    const struct rec_request r = rec_request_absent();
    assert_int_equal(r.status, -1);
    assert_true(r.connect_ns == ABSENT_I64 && r.closed_ns == ABSENT_I64 && r.max_tokens == ABSENT_I64);
    assert_true(r.prompt_tokens == ABSENT_I64 && r.cached_tokens == ABSENT_I64);
    assert_int_equal(r.body_bytes + r.text_bytes + r.received_bytes + r.events + r.token_chunks + r.comments, 0);
    assert_string_equal(r.finish_reason, "");
    assert_null(r.detail);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_has_its_name),
        cmocka_unit_test(every_table_fits_its_struct),
        cmocka_unit_test(a_request_starts_absent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
