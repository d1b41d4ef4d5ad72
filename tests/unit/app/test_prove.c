/* A folder proves its result only while every byte of it is as it was. */
#include "folders.h"
#include "app/prove.h"

static struct proof proof_of(struct folders *f, const char *folder)
{
    struct proof p;
    struct err e = {0};
    assert_ok(prove(folder, &f->a, &p, &e), e);
    return p;
}

static void a_whole_run_is_proven(void **state)
{
    (void)state;
    struct folders f;
    folders_open(&f);
    struct records r = life_records(&f.a, 1);
    const char *folder = whole_run(&f, &r, "whole");
    struct proof p = proof_of(&f, folder);
    assert_true(proof_is_sound(&p));
    assert_null(p.older);
    assert_int_equal(p.document_count, EVALUATE_DOCUMENTS);
    for (size_t i = 0; i < p.document_count; i++) {
        struct buf stored = {0};
        struct err e = {0};
        assert_ok(file_read(arena_format(&f.a, "%s/%s", folder, p.documents[i].name), 0, &stored, &e), e);
        assert_int_equal(p.documents[i].outcome, PROOF_EQUAL);
        assert_int_equal(p.documents[i].bytes, stored.n);
        buf_done(&stored);
    }
    struct err e = {0};
    assert_ok(prove_records(folder, p.evaluation, &f.a, &e), e);
    folders_close(&f);
}

/* Wherever the result is changed, the line is named. */
static void the_first_changed_line_is_named(void **state)
{
    (void)state;
    static const size_t lines[] = {1, 2, 17, 400, 0};
    struct folders f;
    folders_open(&f);
    struct records r = life_records(&f.a, 1);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const char *folder = whole_run(&f, &r, "changed");
        size_t line = change_line(&f, folder, "result.json", lines[i]);
        struct proof p = proof_of(&f, folder);
        assert_false(proof_is_sound(&p));
        assert_string_equal(p.documents[0].name, "result.json");
        assert_int_equal(p.documents[0].outcome, PROOF_DIFFERENT);
        assert_int_equal(p.documents[0].line, line);
        assert_int_equal(p.documents[1].outcome, PROOF_EQUAL);
        assert_int_equal(p.seal.bad, 1);
    }
    folders_close(&f);
}

static void what_is_missing_is_named(void **state)
{
    (void)state;
    struct folders f;
    folders_open(&f);
    struct records r = life_records(&f.a, 1);
    const char *folder = whole_run(&f, &r, "missing");
    unlink(arena_format(&f.a, "%s/windows.csv", folder));
    struct proof p = proof_of(&f, folder);
    assert_false(proof_is_sound(&p));
    assert_int_equal(p.documents[2].outcome, PROOF_MISSING);
    folder = open_run(&f, &r, "unsealed");
    p = proof_of(&f, folder);
    assert_false(p.seal.sealed);
    assert_false(proof_is_sound(&p));
    for (size_t i = 0; i < p.document_count; i++)
        assert_int_equal(p.documents[i].outcome, PROOF_MISSING);
    struct err e = {0};
    folder = whole_run(&f, &r, "records");
    p = proof_of(&f, folder);
    change_line(&f, folder, "facts.csv", 1);
    assert_false(prove_records(folder, p.evaluation, &f.a, &e));
    assert_int_equal(e.kind, ERR_RECORDS);
    folders_close(&f);
}

/* As much as was found out stays with the caller. */
static void what_can_not_be_read_is_no_proof(void **state)
{
    (void)state;
    struct folders f;
    folders_open(&f);
    struct proof p;
    struct err e = {0};
    assert_false(prove(f.root, &f.a, &p, &e));
    assert_int_equal(e.kind, ERR_RECORDS);
    assert_true(p.has_seal_check);
    assert_null(p.evaluation);
    assert_false(proof_is_sound(&p));
    folders_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_run_is_proven),
        cmocka_unit_test(the_first_changed_line_is_named),
        cmocka_unit_test(what_is_missing_is_named),
        cmocka_unit_test(what_can_not_be_read_is_no_proof),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
