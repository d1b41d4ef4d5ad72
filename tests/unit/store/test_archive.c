#include "check.h"
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/buf.h"
#include "store/records.h"
#include "store/csv_records.h"
#include "text/file_read.h"

/* A folder of its own for each test. */
struct fixture {
    struct arena arena;
    char runs[64];
    const char *folder;
    struct err e;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    strcpy(f->runs, "/tmp/jtok_runs_XXXXXX");
    assert_non_null(mkdtemp(f->runs));
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    char command[100];

    snprintf(command, sizeof command, "rm -rf %s", f->runs);
    assert_int_equal(system(command), 0);
    arena_done(&f->arena);
    free(f);
    return 0;
}

static const char *path_of(struct fixture *f, const char *name)
{
    return arena_format(&f->arena, "%s/%s", f->folder, name);
}

static void spill(struct fixture *f, const char *name, const char *text)
{
    FILE *file = fopen(path_of(f, name), "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int shell(struct fixture *f, const char *command)
{
    return system(arena_format(&f->arena, "cd %s && { %s; } >/dev/null 2>&1", f->folder, command));
}

static void append_request(struct buf *b, uint32_t id, int64_t events, int64_t token_chunks, int64_t t_ns,
                           int64_t bytes)
{
    struct rec_request q = rec_request_absent();

    q.stage = REQUEST_FORMAL;
    q.id = id;
    q.events = events;
    q.token_chunks = token_chunks;
    q.shared_stamps = id == 0;
    q.text_bytes = bytes;
    q.submit_ns = 1;
    q.first_ns = q.last_ns = token_chunks ? t_ns : ABSENT_I64;
    q.end_ns = 9;
    csv_records_put(b, CSV_REQUESTS, 0, &q);
}

/* Of the chunks below. */
static void spill_requests(struct fixture *f)
{
    struct buf b = {0};

    csv_records_header(CSV_REQUESTS, &b);
    append_request(&b, 2, 1, 0, 8, 0);
    append_request(&b, 0, 1, 1, 9, 0);
    append_request(&b, 1, 2, 1, 9, 4);
    spill(f, "requests.csv", buf_text(&b));
    buf_done(&b);
}

/* A small whole run. */
static void make_run(struct fixture *f)
{
    struct rec_run run = {.id = "x", .began_realtime_ns = 5, .engine_exit_status = ABSENT_I64, .snapshot_bytes = 7};
    struct rec_gpu gpus[] = {{.uuid = "GPU-0", .name = "H200, big", .index = 0, .partitioned = ABSENT_I64},
                             {.uuid = "GPU-1", .name = "H200", .index = 1, .partitioned = 0}};
    struct rec_client client = {.wall_ns = 9, .reads = 4};
    struct plan plan;
    char sha[65];

    plan_defaults(&plan);
    plan.model.id = "m";
    assert_ok(archive_create(f->runs, "My Run: 8B!", 1795999993000000000, &f->arena, &f->folder, &f->e), f->e);
    assert_ok(archive_write_plan(f->folder, &plan, sha, &f->e), f->e);
    run.plan_sha256 = sha;
    assert_ok(archive_write_run(f->folder, &run, &f->e), f->e);
    run.driver_version = "580";
    assert_ok(archive_write_run(f->folder, &run, &f->e), f->e);
    assert_ok(archive_write_gpus(f->folder, gpus, 2, &f->e), f->e);
    assert_ok(archive_write_client(f->folder, &client, &f->e), f->e);
    spill(f, "marks.csv", "t_ns,mark,note\n1,baseline_start,\n5,failed,\"a, \"\"b\"\"\nc\"\n");
    spill(f, "clock.csv", "t_ns,offset_ns,width_ns\n2,100,7\n1,101,8\n");
    spill(f, "facts.csv", "t_ns,name,outcome,expected,seen\n4,identity.model,failed,a,\n");
    spill(f, "instant.csv", "t_ns,gpu,mw,width_ns,late_ns,tag\n3,1,700,2,0,grid\n2,0,,2,,mark\n1,0,5,2,1,mark_after\n");
    spill(f, "counter.csv", "t_ns,gpu,mj,width_ns,why\n1,0,,3,locked\n2,1,10,3,boundary\n");
    spill(f, "buffer.csv", "realtime_us,gpu,mw\n20,0,5\n10,0,6\n");
    spill(f, "gpu_state.csv", "t_ns,gpu,memory_used_bytes,utilisation,sm_mhz,temperature_c,reasons,processes\n");
    spill(f, "processes.csv", "t_ns,gpu,pid,memory_bytes,own\n");
    spill(f, "metrics.csv",
          "t_ns,took_ns,running,waiting,kv_cache_used,preemptions,prompt_tokens,generation_tokens,"
          "prefix_queries,prefix_hits\n");
    spill_requests(f);
    spill(f, "engine.log", "1,o,hello\n");
    spill(f, "chunks.csv",
          "t_ns,request,kind,bytes,running,stamp\n9,1,text,4,,kernel\n8,2,usage,0,12,read\n9,0,held,0,3,shared\n"
          "9,1,finish,0,,kernel\n");
}

static void ids_never_clash(void **state)
{
    struct fixture *f = *state;
    const char *second, *third;

    make_run(f);
    assert_string_equal(archive_id(f->folder, &f->arena), "20261130T005313Z-my-run-8b");
    assert_string_equal(archive_id("a/b//", &f->arena), "b");
    assert_ok(archive_create(f->runs, "my run 8b", 1795999993999999999, &f->arena, &second, &f->e), f->e);
    assert_string_equal(archive_id(second, &f->arena), "20261130T005313Z-my-run-8b-2");
    assert_ok(archive_create(f->runs, "---", 1795999993999999999, &f->arena, &third, &f->e), f->e);
    assert_string_equal(archive_id(third, &f->arena), "20261130T005313Z-run");
    assert_ok(archive_create(path_of(f, "new/deep"), NULL, 0, &f->arena, &third, &f->e), f->e);
    assert_string_equal(archive_id(third, &f->arena), "19700101T000000Z-run");
    assert_false(archive_create("/proc/nowhere", "x", 0, &f->arena, &third, &f->e));
    assert_non_null(strstr(f->e.text, "/proc/nowhere"));
}

static void check_records(const struct records *r)
{
    assert_string_equal(r->run.driver_version, "580");
    assert_true(r->run.engine_exit_status == ABSENT_I64);
    assert_string_equal(r->plan.model.id, "m");
    assert_int_equal(r->client.reads, 4);
    assert_int_equal(r->boundary_count, 2);
    assert_int_equal(r->boundaries[1].id, BOUNDARY_FAILED);
    assert_string_equal(r->boundaries[1].note, "a, \"b\"\nc");
    assert_null(r->boundaries[0].note);
    assert_int_equal(r->clocks[0].t_ns, 1);
    assert_int_equal(r->facts[0].outcome, CHECK_FAILED);
    assert_null(r->facts[0].seen);
    assert_int_equal(r->gpu_count, 2);
    assert_string_equal(r->gpus[0].name, "H200, big");
    assert_int_equal(r->gpus[0].instant_count, 2);
    assert_int_equal(r->gpus[0].instant[0].t_ns, 1);
    assert_int_equal(r->gpus[0].instant[0].tag, INSTANT_BOUNDARY_AFTER);
    assert_int_equal(r->gpus[0].instant[1].mw, -1);
    assert_true(r->gpus[0].instant[1].late_ns == ABSENT_I64);
    assert_int_equal(r->gpus[1].instant[0].mw, 700);
    assert_int_equal(r->gpus[0].counter[0].mj, ABSENT_I64);
    assert_int_equal(r->gpus[1].counter[0].why, COUNTER_BOUNDARY);
    assert_int_equal(r->gpus[0].buffer[0].realtime_us, 10);
    assert_int_equal(r->chunk_count, 4);
    assert_int_equal(r->chunks[0].running, 12);
    assert_int_equal(r->chunks[1].request, 0);
    assert_int_equal(r->chunks[2].kind, CHUNK_TEXT); /* of equal time and request, as written */
    assert_int_equal(r->chunks[3].kind, CHUNK_FINISH);
    assert_int_equal(r->chunks[3].running, -1);
}

static void seal_then_verify(void **state)
{
    struct fixture *f = *state;
    struct archive_check check;
    struct records r;

    make_run(f);
    assert_ok(records_load(f->folder, &f->arena, &r, &f->e), f->e);
    assert_false(r.sealed);
    assert_null(r.damage);
    check_records(&r);
    assert_ok(archive_seal(f->folder, &f->e), f->e);
    assert_int_equal(access(path_of(f, "chunks.csv"), F_OK), -1);
    assert_int_equal(access(path_of(f, "chunks.csv.zst"), F_OK), 0);
    assert_ok(records_load(f->folder, &f->arena, &r, &f->e), f->e);
    assert_true(r.sealed);
    assert_null(r.damage);
    check_records(&r);
    /* Other tools read the same: sha256sum checks it, zstd unpacks it, tar carries it. */
    assert_int_equal(shell(f, "sha256sum -c --strict SHA256SUMS"), 0);
    if (shell(f, "command -v zstd") == 0)
        assert_int_equal(shell(f, "zstd -dc engine.log.zst | grep -x '1,o,hello'"), 0);
    assert_int_equal(shell(f, "mkdir ../away && tar c . | tar x -C ../away"), 0);
    assert_ok(records_load(arena_format(&f->arena, "%s/away", f->runs), &f->arena, &r, &f->e), f->e);
    assert_true(r.sealed);
    assert_ok(archive_verify(f->folder, &f->arena, &check, &f->e), f->e);
    assert_int_equal(check.bad, 0);
    assert_int_equal(check.files, 16);
    assert_false(archive_seal(f->folder, &f->e));
    assert_false(archive_write_run(f->folder, &r.run, &f->e));
    assert_false(archive_write_file(f->folder, "new.txt", span_of("x"), &f->e));
}

static void damage_names_the_file(void **state)
{
    struct fixture *f = *state;
    struct archive_check check;
    struct records r;

    make_run(f);
    assert_ok(archive_seal(f->folder, &f->e), f->e);
    assert_int_equal(shell(f, "echo >> marks.csv; rm facts.csv; echo x > stranger; mkdir cache; echo y > cache/z"), 0);
    assert_ok(archive_verify(f->folder, &f->arena, &check, &f->e), f->e);
    assert_string_equal(check.text, "facts.csv is missing\nmarks.csv differs from its hash in SHA256SUMS\n"
                                    "stranger is not in SHA256SUMS: it came after the seal\n");
    assert_int_equal(check.bad, 3);
    assert_ok(records_load(f->folder, &f->arena, &r, &f->e), f->e);
    assert_false(r.sealed);
    assert_non_null(strstr(r.damage, "marks.csv differs"));
    assert_non_null(strstr(r.damage, "marks.csv: line 4: too few fields"));
    assert_int_equal(r.boundary_count, 2); /* the rest is read */
    /* A cut packed file. */
    assert_int_equal(shell(f, "head -c 30 chunks.csv.zst > c && cat c > chunks.csv.zst"), 0);
    assert_ok(records_load(f->folder, &f->arena, &r, &f->e), f->e);
    assert_non_null(strstr(r.damage, "chunks.csv.zst"));
    assert_int_equal(r.chunk_count, 0);
}

static void derived_files_come_after_the_seal(void **state)
{
    struct fixture *f = *state;
    struct archive_check check;
    struct records r;

    make_run(f);
    assert_false(archive_add(f->folder, "result.json", span_of("{}\n"), &f->e)); /* not sealed */
    assert_ok(archive_seal(f->folder, &f->e), f->e);
    assert_ok(archive_add(f->folder, "result.json", span_of("{}\n"), &f->e), f->e);
    assert_ok(archive_add(f->folder, "result.json", span_of("{}\n"), &f->e), f->e); /* the same once more */
    assert_int_equal(shell(f, "grep -c result.json SHA256SUMS | grep -x 1"), 0);
    assert_false(archive_add(f->folder, "result.json", span_of("{1}\n"), &f->e));
    assert_non_null(strstr(f->e.text, "Nothing was overwritten"));
    assert_int_equal(shell(f, "sha256sum -c --strict SHA256SUMS"), 0);
    assert_ok(archive_verify(f->folder, &f->arena, &check, &f->e), f->e);
    assert_int_equal(check.bad, 0);
    /* A changed result is found, and says nothing against the records. */
    spill(f, "result.json", "{2}\n");
    assert_ok(archive_verify(f->folder, &f->arena, &check, &f->e), f->e);
    assert_int_equal(check.bad, 1);
    assert_int_equal(check.bad_records, 0);
    assert_ok(records_load(f->folder, &f->arena, &r, &f->e), f->e);
    assert_true(r.sealed);
    assert_null(r.damage);
}

/* A run killed at any byte of its files loses the line it was writing and nothing else. */
static void cut_anywhere(void **state)
{
    static const char chunks[] = "t_ns,request,kind,bytes,running,stamp\n10,0,text,4,,kernel\n20,0,text,4,,kernel\n";
    struct fixture *f = *state;
    struct records r;

    make_run(f);
    for (size_t n = 0; n < sizeof chunks; n++) {
        spill(f, "chunks.csv", arena_copy(&f->arena, chunks, n));
        spill(f, "requests.csv", arena_copy(&f->arena, "stage,id", n < 8 ? n : 8));
        assert_ok(records_load(f->folder, &f->arena, &r, &f->e), f->e);
        assert_null(r.damage);
        size_t lines = 0;
        for (size_t i = 0; i < n; i++)
            lines += chunks[i] == '\n';
        assert_int_equal(r.chunk_count, lines ? lines - 1 : 0);
    }
}

static void broken_off_seal_is_repeated(void **state)
{
    struct fixture *f = *state;
    struct records r;

    make_run(f);
    spill(f, "chunks.csv.zst", "half"); /* cut while packing */
    spill(f, "SHA256SUMS.new", "abc");
    assert_ok(file_compress(path_of(f, "buffer.csv"), path_of(f, "buffer.csv.zst"), &f->e),
              f->e); /* cut before unlink */
    assert_ok(archive_seal(f->folder, &f->e), f->e);
    assert_ok(records_load(f->folder, &f->arena, &r, &f->e), f->e);
    assert_true(r.sealed);
    check_records(&r);
    assert_int_equal(access(path_of(f, "buffer.csv"), F_OK), -1);
    assert_int_equal(access(path_of(f, "SHA256SUMS.new"), F_OK), -1);
}

static void other_columns_are_readable(void **state)
{
    struct fixture *f = *state;
    struct records r;

    make_run(f);
    spill(f, "instant.csv",
          "gpu,new,t_ns,mw,tag,late_ns,width_ns\n0,\"x,y\",5,100,grid,,\n1,,6,200,grid,,\n9,,7,1,grid,,\n");
    spill(f, "marks.csv", "note,mark,t_ns\nx,ready,1\n");
    assert_ok(records_load(f->folder, &f->arena, &r, &f->e), f->e);
    assert_string_equal(r.damage, "instant.csv: line 4: gpu: gpus.csv has no line for GPU 9");
    assert_int_equal(r.gpus[0].instant[0].mw, 100);
    assert_true(r.gpus[0].instant[0].late_ns == ABSENT_I64);
    assert_int_equal(r.boundaries[0].id, BOUNDARY_READY);
    spill(f, "instant.csv", "t_ns,mw\n5,100\n");
    assert_ok(records_load(f->folder, &f->arena, &r, &f->e), f->e);
    assert_string_equal(r.damage, "instant.csv: line 1: the header lacks the column gpu");
}

static void bad_rows_are_told(void **state)
{
    static const struct {
        const char *row, *what;
    } cases[] = {
        {"x,0,text,1,,kernel", "t_ns: 'x' is not a whole number"},
        {"1,-1,text,1,,kernel", "request: '-1' is out of range"},
        {"1,4294967296,text,1,,kernel", "request: '4294967296' is out of range"},
        {"1,0,txt,1,,kernel", "kind: 'txt' is not a known name"},
        {"1,0,text,1,99999999999,kernel", "running: '99999999999' is out of range"},
        {"1,0,text,,,kernel", "bytes: '' is not a whole number"},
        {"99999999999999999999,0,text,1,,kernel", "t_ns: '99999999999999999999' is not a whole number"},
        {"-3600000000001,0,text,1,,kernel", "t_ns: '-3600000000001' is out of range"},
        {"315360000000000001,0,text,1,,kernel", "t_ns: '315360000000000001' is out of range"},
        {"1,0,text,2147483648,,kernel", "bytes: '2147483648' is out of range"},
        {"1,0,text,1,-7,kernel", "running: '-7' is out of range"},
        {",0,text,1,,kernel", "t_ns: '' is not a whole number"},
        {"1,0,,1,,kernel", "kind: '' is not a known name"},
        {"1,0,text,1,,kernel,9", "too many fields"},
        {"", "too few fields"},
    };
    struct arena a = {0};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = arena_format(&a,
                                        "t_ns,request,kind,bytes,running,stamp\n1,0,text,1,,kernel\n%s\n"
                                        "2,0,text,1,,kernel\n",
                                        cases[i].row);
        struct csv_records rows = csv_records_read(CSV_CHUNKS, span_of(text), 0, &a);

        assert_int_equal(rows.count, 2);
        assert_int_equal(rows.bad_count, 1);
        assert_true(strncmp(rows.bad, "line 3: ", 8) == 0);
        assert_string_equal(rows.bad + 8, cases[i].what);
    }
    arena_done(&a);
}

static void lists_runs(void **state)
{
    struct fixture *f = *state;
    struct archive_entry *entries;
    const char *empty, *older;
    size_t count;

    make_run(f);
    assert_ok(archive_create(f->runs, "older", 0, &f->arena, &older, &f->e), f->e);
    assert_ok(archive_create(f->runs, "not a run", 1, &f->arena, &empty, &f->e), f->e);
    assert_int_equal(system(arena_format(&f->arena, "echo '{' > %s/plan.json", older)), 0);
    assert_ok(archive_list(f->runs, &f->arena, &entries, &count, &f->e), f->e);
    assert_int_equal(count, 2);
    assert_string_equal(entries[0].id, "19700101T000000Z-older");
    assert_non_null(entries[0].fault);
    assert_string_equal(entries[1].plan.model.id, "m");
    assert_null(entries[1].fault);
    assert_false(entries[1].sealed);
    assert_ok(archive_list(f->folder, &f->arena, &entries, &count, &f->e), f->e);
    assert_int_equal(count, 1);
    assert_false(archive_list("/nowhere", &f->arena, &entries, &count, &f->e));
}

static void no_run_folder(void **state)
{
    struct fixture *f = *state;
    struct records r;

    assert_false(records_load("/nowhere", &f->arena, &r, &f->e));
    assert_int_equal(f->e.kind, ERR_RECORDS);
    assert_false(records_load(f->runs, &f->arena, &r, &f->e));
    assert_non_null(strstr(f->e.text, "no plan.json"));
}

/* Stable, right on any order: against insertion one by one. */
static bool before(const void *a, const void *b)
{
    return *(const int *)a / 8 < *(const int *)b / 8;
}

#include "base/sort.h"

static void sorts_stably(void **state)
{
    uint32_t seed = 1;

    (void)state;
    for (int round = 0; round < 400; round++) {
        int n = round, items[400], right[400];

        for (int i = 0; i < n; i++) {
            seed = seed * 1664525 + 1013904223;
            /* Nearly in order, or not at all; equal keys (by eights) tell their place in the low bits. */
            items[i] = round % 2 ? (i / 3 + (int)(seed >> 29)) * 8 + i % 8 : (int)(seed >> 27) * 8 + i % 8;
        }
        for (int i = 0; i < n; i++) {
            int k = i;

            for (; k > 0 && items[i] / 8 < right[k - 1] / 8; k--)
                right[k] = right[k - 1];
            right[k] = items[i];
        }
        sort_stable(items, (size_t)n, sizeof *items, before);
        assert_memory_equal(items, right, (size_t)n * sizeof *items);
    }
}

/* The quick reader of usual lines and the general one (taken where there is a further column) read the same. */
static void quick_reader_agrees(void **state)
{
    static const char *const odd[] = {"-5,1,text,1,,kernel",
                                      "1,2,text,1,3,kernel,",
                                      "\"7\",1,held,2,,read",
                                      "8,1,tex,1,,kernel",
                                      "",
                                      "9,4294967295,other,4294967295,-7,shared",
                                      "999999999999999999,999999999,usage,999999999,999999999,shared",
                                      "9999999999999999999,1,text,1,,kernel",
                                      "1,1,textx,1,,kernel",
                                      "1,,text,1,,kernel"};
    struct buf usual = {0}, wide = {0};
    struct arena a = {0};
    uint32_t seed = 5;

    (void)state;
    buf_str(&usual, "t_ns,request,kind,bytes,running,stamp\n");
    buf_str(&wide, "t_ns,request,kind,bytes,running,stamp,more\n");
    for (int i = 0; i < 3000; i++) {
        char line[100];

        seed = seed * 1664525 + 1013904223;
        if (seed >> 28 == 0)
            strcpy(line, odd[(seed >> 8) % (sizeof odd / sizeof *odd)]);
        else
            snprintf(line, sizeof line, "%u,%d,%s,%u,%s,%s", seed, i, chunk_kind_names[seed >> 8 & 3 ? 1 : i % 7],
                     seed >> 20, seed >> 9 & 1 ? "12" : "", chunk_stamp_names[(seed >> 12) % 3]);
        buf_fmt(&usual, "%s\n", line);
        buf_fmt(&wide, "%s,\n", line);
    }
    struct csv_records quick = csv_records_read(CSV_CHUNKS, buf_span(&usual), 0, &a);
    struct csv_records general = csv_records_read(CSV_CHUNKS, buf_span(&wide), 0, &a);
    assert_true(quick.count > 2500);
    assert_true(quick.bad_count > 0);
    assert_int_equal(quick.count, general.count);
    assert_int_equal(quick.bad_count, general.bad_count);
    assert_string_equal(quick.bad, general.bad);
    assert_memory_equal(quick.records, general.records, quick.count * sizeof(struct rec_chunk));
    arena_done(&a);
    buf_done(&usual);
    buf_done(&wide);
}

/* docs/FORMAT.md names every file and column that is written. */
static void format_is_documented(void **state)
{
    struct buf text = {0}, quoted = {0};
    struct err e;

    (void)state;
    assert_ok(file_read(JTOK_SOURCE "/docs/FORMAT.md", 0, &text, &e), e);
    for (int t = 0; t < CSV_COUNT; t++) {
        const char *section;

        buf_clear(&quoted);
        buf_fmt(&quoted, "### %s\n", csv_records_file((enum csv_file)t));
        section = strstr(buf_text(&text), buf_text(&quoted));
        if (!section)
            fail_msg("docs/FORMAT.md lacks a section for %s", csv_records_file((enum csv_file)t));
        const char *end = strstr(section + 4, "\n### ");
        const struct schema *s = csv_records_schema((enum csv_file)t);
        for (size_t i = 0; i < s->count; i++) {
            buf_clear(&quoted);
            buf_fmt(&quoted, "`%s`", s->fields[i].key);
            const char *found = strstr(section, buf_text(&quoted));
            if (!found || (end && found > end))
                fail_msg("docs/FORMAT.md lacks column %s of %s", quoted.p, csv_records_file((enum csv_file)t));
        }
    }
    const struct schema *documents[] = {&rec_run_schema, &rec_client_schema};
    for (int d = 0; d < 2; d++)
        for (size_t i = 0; i < documents[d]->count; i++) {
            buf_clear(&quoted);
            buf_fmt(&quoted, "`%s`", documents[d]->fields[i].key);
            if (!strstr(text.p, buf_text(&quoted)))
                fail_msg("docs/FORMAT.md lacks %s", quoted.p);
        }
    buf_done(&text);
    buf_done(&quoted);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(ids_never_clash),
        TEST(seal_then_verify),
        TEST(damage_names_the_file),
        TEST(derived_files_come_after_the_seal),
        TEST(cut_anywhere),
        TEST(broken_off_seal_is_repeated),
        TEST(other_columns_are_readable),
        TEST(bad_rows_are_told),
        TEST(lists_runs),
        TEST(no_run_folder),
        TEST(sorts_stably),
        TEST(quick_reader_agrees),
        TEST(format_is_documented),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
