/* A run's files changed a little, one change a time, and evaluated.
 *
 * A change of the structure (rows, cells, columns, files, what can't be read), sealed anew, leaves every number as it
 * was, or the run is excluded with a reason that names the file. One plausible value in place of another, sealed anew,
 * can't be found in general: nothing breaks, and no metric moves by more than that value's own share. A change that is
 * not sealed anew is always damage. `mutation.records COUNT GPUS` makes so many changes, in the same order each
 * time; what became of them is printed by file and column. */
#include "check.h"
/* A small run: with fewer requests in a window it is in steady state too. */
#define LIFE_REQUESTS 100
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "analysis/analyze.h"
#include "base/num.h"
#include "cli/run_folder.h"
#include "mutation/mutate.h"
#include "store/records.h"
#include "text/file_read.h"
#include "schema/visit.h"

enum { CHANGES_IN_CI = 2000, WINDOW = 25, SHOWN_MAX = 20, NUMBERS_MAX = 4096 };

static size_t changes_wanted = CHANGES_IN_CI, gpus_wanted = 1;
static uint64_t seed_wanted = 20260730;

/* ---- the run ---- */

struct bench {
    struct arena a;
    char runs[64];
    const char *folder;
    struct files files;
};

static bool read_file(void *self, const char *name, struct buf *b, bool *ret_there, struct err *e)
{
    struct file *f = files_find(self, name);

    *ret_there = f && f->there;
    if (!*ret_there)
        return err_set(e, ERR_RECORDS, "%s is missing", name);
    buf_add(b, f->text.p, f->text.n);
    return true;
}

static void take_file(struct bench *b, const char *name)
{
    struct buf text = {0};
    struct err e = {0};

    assert_ok(file_read(arena_format(&b->a, "%s/%s", b->folder, name), 0, &text, &e), e);
    b->files.items[b->files.count++] = (struct file){name, {arena_copy(&b->a, text.p, text.n), text.n}, true};
    buf_done(&text);
}

static int setup(void **state)
{
    struct bench *b = calloc(1, sizeof *b);

    /* Nothing here needs to last. */
    strcpy(b->runs, access("/dev/shm", W_OK) == 0 ? "/dev/shm/jtok_mutation_XXXXXX" : "/tmp/jtok_mutation_XXXXXX");
    assert_non_null(mkdtemp(b->runs));
    struct records r = life_records(&b->a, gpus_wanted);
    life_warmups(&r, &b->a);
    for (size_t g = 0; g < r.gpu_count; g++) { /* 40 ms will do */
        struct rec_gpu *x = &r.gpus[g];

        x->buffer_count /= 2;
        for (size_t i = 0; i < x->buffer_count; i++)
            x->buffer[i] = x->buffer[2 * i];
    }
    b->folder = write_folder(&r, b->runs, "whole", LIFE_OFFSET_NS, &b->a);
    take_file(b, "plan.json");
    take_file(b, "run.json");
    take_file(b, "client.json");
    for (enum csv_file t = 0; t < CSV_COUNT; t++)
        take_file(b, csv_records_file(t));
    *state = b;
    return 0;
}

static int teardown(void **state)
{
    struct bench *b = *state;
    char command[100];

    snprintf(command, sizeof command, "rm -rf %s", b->runs);
    assert_int_equal(system(command), 0);
    arena_done(&b->a);
    free(b);
    return 0;
}

/* ---- what came out ---- */

/* Every quantity of a result, in the order of its tables. */
struct numbers {
    double values[NUMBERS_MAX];
    bool measured[NUMBERS_MAX];
    size_t count;
};

static void collect(void *self, const struct visit *v)
{
    struct numbers *n = self;
    if (v->slot.type != FIELD_QUANTITY || n->count == NUMBERS_MAX)
        return;
    const struct quantity *q = slot_quantity(&v->slot);
    n->measured[n->count] = q->state == Q_MEASURED;
    n->values[n->count++] = quantity_has_value(q) ? q->value : (double)NAN;
}

struct evaluated {
    bool refused;   /* no result at all: `why` says it */
    char why[1000]; /* or the damage */
    bool formal;
    struct numbers all;
    struct result_metrics metrics;
};

/* What is made of records that were read, or of the reason why they were not. */
static void take(bool read, const struct records *r, const struct err *unread, struct arena *a, struct evaluated *ret)
{
    struct result result;
    struct err e = *unread;
    struct method m = method_default();

    m.window = WINDOW;
    ret->why[0] = 0;
    ret->all.count = 0;
    ret->refused = !read || !analyze(r, &m, a, &result, &e);
    ret->formal = !ret->refused && result.formal;
    snprintf(ret->why, sizeof ret->why, "%s", ret->refused ? e.text : r->damage ? r->damage : "");
    if (ret->refused)
        return;
    schema_visit(&result_schema, &result, "", &(struct visitor){.self = &ret->all, .value = collect});
    ret->metrics = result.metrics;
}

static void evaluate(struct files *files, struct evaluated *ret)
{
    static const struct archive_check sealed = {.sealed = true, .text = "", .records_text = ""};
    struct arena a = {0};
    struct records r;
    struct err e = {0};
    const struct record_files source = {files, read_file};
    bool read = records_read(&source, "run", &sealed, &a, &r, &e);

    take(read, &r, &e, &a, ret);
    arena_done(&a);
}

static void evaluate_folder(const char *folder, struct evaluated *ret)
{
    struct arena a = {0};
    struct records r;
    struct err e = {0};
    bool read = records_load(folder, &a, &r, &e);

    take(read, &r, &e, &a, ret);
    arena_done(&a);
}

static bool same_numbers(const struct evaluated *x, const struct evaluated *y)
{
    return x->all.count == y->all.count && x->formal == y->formal &&
           memcmp(x->all.values, y->all.values, x->all.count * sizeof *x->all.values) == 0;
}

static bool any_measured(const struct evaluated *x)
{
    for (size_t i = 0; i < x->all.count; i++)
        if (x->all.measured[i])
            return true;
    return false;
}

/* ---- how far a value may move a metric ---- */

static double as_number(const char *text)
{
    double value = 0;

    return text && num_f64(span_of(text), &value) ? value : (double)NAN;
}

/* The greatest relative change of a metric of energy or tokens that one value can cause by itself: what it stands for,
 * over the least that the metrics are made of (the release's 122 J; 2000 tokens of a window). A code counts as the
 * whole row. */
static double own_share(const struct change *c)
{
    static const double LEAST_J = 122, POWER_W = 500, TOKENS = 2000, REQUEST_TOKENS = 40, GRID_S = 2, BUFFER_S = 0.08;
    double change = fabs(as_number(c->after) - as_number(c->before));
    const char *name = c->column_name ? c->column_name : "";
    size_t n = strlen(name);
    bool number = !isnan(change), time = n > 3 && strcmp(name + n - 3, "_ns") == 0;

    if (strcmp(name, "mw") == 0)
        return change / 1000 * (strcmp(c->file, "buffer.csv") == 0 ? BUFFER_S : GRID_S) / LEAST_J;
    if (strcmp(name, "mj") == 0)
        return change / 1000 / LEAST_J;
    if (strcmp(name, "realtime_us") == 0)
        return change * 1e-6 * POWER_W / LEAST_J;
    if (time && number)
        return change * 1e-9 * POWER_W / LEAST_J + REQUEST_TOKENS / TOKENS;
    if (strcmp(name, "completion_tokens") == 0 || strcmp(name, "prompt_tokens") == 0)
        return change / TOKENS;
    if (strcmp(c->file, "requests.csv") == 0 || strcmp(c->file, "chunks.csv") == 0)
        return REQUEST_TOKENS / TOKENS;
    if (!number || strcmp(name, "gpu") == 0)
        return GRID_S * POWER_W / LEAST_J;
    return 0;
}

/* The largest relative change of a metric over its run's own share; metrics that lost their value count as none. */
static double moved(const struct evaluated *x, const struct evaluated *right)
{
    const size_t at[] = {offsetof(struct result_metrics, startup_j),
                         offsetof(struct result_metrics, release_j),
                         offsetof(struct result_metrics, lifecycle_j_per_token),
                         offsetof(struct result_metrics, formal_j_per_token),
                         offsetof(struct result_metrics, steady_j_per_token),
                         offsetof(struct result_metrics, saturated_j_per_token),
                         offsetof(struct result_metrics, throughput_tok_s)};
    double most = 0;

    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        const struct quantity *q = (const void *)((const char *)&x->metrics + at[i]);
        const struct quantity *r = (const void *)((const char *)&right->metrics + at[i]);

        if (quantity_has_value(q) && quantity_has_value(r))
            most = fmax(most, fabs(q->value - r->value) / fabs(r->value));
    }
    return most;
}

/* ---- the table ---- */

struct kind_of_change {
    const char *file;
    enum mutation kind;
    size_t column;
    const char *column_name;
    unsigned same, excluded, changed;
    double most; /* largest relative change */
};

static size_t make_table(struct files *files, struct kind_of_change *table)
{
    size_t n = 0;

    for (size_t i = 0; i < files->count; i++) {
        bool json = strstr(files->items[i].name, ".json") != NULL;
        struct grid g = grid_of(files->items[i].text, json);

        for (enum mutation k = 0; k < MUTATION_COUNT; k++) {
            bool by_column = k == CELL_EMPTIED || k == CELL_ABSURD || k == CELL_VALUE ||
                             (!json && (k == COLUMN_MISSING || k == COLUMN_DOUBLED));

            if (json && (k == COLUMN_MISSING || k == COLUMN_DOUBLED))
                continue;
            for (size_t c = 0; c < (by_column ? g.columns : 1); c++)
                table[n++] = (struct kind_of_change){.file = files->items[i].name, .kind = k, .column = c};
        }
    }
    return n;
}

static void print_table(const struct kind_of_change *table, size_t n)
{
    printf("%-14s %-15s %-20s %6s %9s %8s %s\n", "file", "change", "column", "same", "excluded", "changed",
           "by at most");
    for (size_t i = 0; i < n; i++) {
        const struct kind_of_change *k = &table[i];

        if (!k->same && !k->excluded && !k->changed)
            continue;
        printf("%-14s %-15s %-20s %6u %9u %8u", k->file, mutation_names[k->kind], k->column_name ? k->column_name : "",
               k->same, k->excluded, k->changed);
        printf(k->changed ? " %.2g\n" : "\n", k->most);
    }
}

/* ---- the tests ---- */

struct outcome {
    const struct change *change;
    const struct evaluated *got, *right;
    struct kind_of_change *row;
};

/* What is wrong with an outcome, or null. */
static const char *judge(const struct outcome *o)
{
    const struct evaluated *x = o->got;

    if (!x->refused && x->why[0] && any_measured(x))
        return "the records are damaged, and a value is called measured";
    if (x->refused || !x->formal) {
        o->row->excluded++;
        return (x->refused || x->why[0]) && !strstr(x->why, o->change->file) ? "the reason does not name the file"
                                                                             : NULL;
    }
    if (same_numbers(x, o->right)) {
        o->row->same++;
        return NULL;
    }
    o->row->changed++;
    double by = moved(x, o->right);
    o->row->most = fmax(o->row->most, by);
    if (o->change->kind != CELL_VALUE)
        return "another number in a formal run";
    return by > own_share(o->change) * 1.01 + 1e-12 ? "a metric moved by more than the value's own share" : NULL;
}

static void tell(const struct change *c, const struct evaluated *x, const char *fault, size_t number)
{
    print_error("change %zu: %s of %s, row %zu, %s, \"%s\" to \"%s\": %s (%s)\n", number, mutation_names[c->kind],
                c->file, c->row, c->column_name ? c->column_name : "whole row", c->before ? c->before : "",
                c->after ? c->after : "", fault, x->why);
}

static void each_change_is_found_or_harmless(void **state)
{
    struct bench *b = *state;
    struct random random = {seed_wanted};
    struct kind_of_change table[2000];
    size_t kinds = make_table(&b->files, table), made = 0, wrong = 0;
    struct evaluated *right = calloc(1, sizeof *right), *got = calloc(1, sizeof *got);

    evaluate(&b->files, right);
    assert_false(right->refused);
    assert_string_equal(right->why, "");
    assert_true(right->formal);
    assert_true(right->all.count < NUMBERS_MAX);
    for (size_t turn = 0; made < changes_wanted; turn++) {
        struct kind_of_change *k = &table[turn % kinds];
        struct arena a = {0};
        struct files files = b->files;
        struct change change;

        if (mutate(files_find(&files, k->file), k->kind, k->column, &random, &a, &change)) {
            k->column_name =
                change.column_name && (k->kind == CELL_EMPTIED || k->kind == CELL_ABSURD || k->kind == CELL_VALUE)
                    ? arena_text(&b->a, strstr(k->file, ".json") ? "" : change.column_name)
                    : NULL;
            evaluate(&files, got);
            const char *fault = judge(&(struct outcome){&change, got, right, k});
            if (fault && wrong++ < SHOWN_MAX)
                tell(&change, got, fault, made);
            made++;
        }
        arena_done(&a);
    }
    print_table(table, kinds);
    printf("%zu changes, %zu of them wrong\n", made, wrong);
    free(right);
    free(got);
    assert_int_equal(wrong, 0);
}

/* ---- on the disk ---- */

static void put_file(struct bench *b, const char *name, struct span text)
{
    FILE *f = fopen(arena_format(&b->a, "%s/%s", b->folder, name), "w");

    assert_non_null(f);
    assert_int_equal(fwrite(text.p, 1, text.n, f), text.n);
    fclose(f);
}

static int shell(struct bench *b, const char *command)
{
    return system(arena_format(&b->a, "cd %s && { %s; } >/dev/null 2>&1", b->folder, command));
}

/* A folder that is changed and sealed anew says what the same texts say in memory. */
static void a_folder_says_what_its_texts_say(void **state)
{
    enum { CHANGES = 40 };
    struct bench *b = *state;
    struct random random = {7};
    struct kind_of_change table[2000];
    size_t kinds = make_table(&b->files, table);
    struct evaluated *memory = calloc(1, sizeof *memory), *disk = calloc(1, sizeof *disk);
    struct err e = {0};

    for (int made = 0; made < CHANGES;) {
        struct kind_of_change *k = &table[random_below(&random, kinds)];
        struct files files = b->files;
        struct file *f = files_find(&files, k->file);
        struct change change;

        if (!mutate(f, k->kind, k->column, &random, &b->a, &change))
            continue;
        if (f->there)
            put_file(b, f->name, f->text);
        else
            assert_int_equal(shell(b, arena_format(&b->a, "rm %s", f->name)), 0);
        assert_ok(archive_seal(b->folder, &e), e);
        evaluate(&files, memory);
        evaluate_folder(b->folder, disk);
        assert_int_equal(disk->refused, memory->refused);
        assert_true(same_numbers(disk, memory));
        if (!disk->refused)
            assert_string_equal(disk->why, memory->why);
        shell(b, "rm -f SHA256SUMS *.zst");
        for (size_t i = 0; i < b->files.count; i++)
            put_file(b, b->files.items[i].name, b->files.items[i].text);
        made++;
    }
    free(memory);
    free(disk);
}

/* Whatever is done to a file of a sealed folder: the run is damaged, and the file is named. */
static void what_is_not_sealed_anew_is_damage(void **state)
{
    struct bench *b = *state;
    struct random random = {11};
    struct evaluated *x = calloc(1, sizeof *x);
    struct err e = {0};

    assert_ok(archive_seal(b->folder, &e), e);
    evaluate_folder(b->folder, x);
    assert_true(x->formal);
    for (size_t i = 0; i < b->files.count; i++) {
        const char *name = b->files.items[i].name;
        const char *packed = arena_format(&b->a, "%s.zst", name);
        bool is_packed = access(arena_format(&b->a, "%s/%s", b->folder, packed), F_OK) == 0;
        const char *stored = is_packed ? packed : name;
        struct buf whole = {0};
        FILE *f = fopen(arena_format(&b->a, "%s/%s", b->folder, stored), "r");
        char block[4096];

        assert_non_null(f);
        for (size_t n; (n = fread(block, 1, sizeof block, f)) > 0;)
            buf_add(&whole, block, n);
        fclose(f);
        for (int turn = 0; turn < 8; turn++) {
            char *copy = arena_copy(&b->a, whole.p, whole.n);
            size_t at = random_below(&random, whole.n), n = whole.n;

            if (turn % 4 == 0)
                copy[at] ^= (char)(1 << random_below(&random, 8)); /* one bit */
            else if (turn % 4 == 1)
                n = at; /* cut */
            else if (turn % 4 == 2)
                memmove(copy + at, copy + at + 1, --n - at); /* a byte less */
            if (turn % 4 == 3)
                assert_int_equal(shell(b, arena_format(&b->a, "rm %s", stored)), 0);
            else
                put_file(b, stored, (struct span){copy, n});
            evaluate_folder(b->folder, x);
            assert_false(x->formal);
            assert_false(any_measured(x));
            if (!strstr(x->why, name))
                fail_msg("%s was changed, but only this was said: %s", stored, x->why);
            put_file(b, stored, buf_span(&whole));
        }
        buf_done(&whole);
    }
    evaluate_folder(b->folder, x);
    assert_true(x->formal);
    free(x);
}

int main(int argc, char **argv)
{
    int64_t count;

    if (argc > 1 && num_i64(span_of(argv[1]), &count) && count > 0)
        changes_wanted = (size_t)count;
    if (argc > 2 && num_i64(span_of(argv[2]), &count) && count > 0 && count <= LIFE_GPUS_MAX)
        gpus_wanted = (size_t)count;
    if (argc > 3 && num_i64(span_of(argv[3]), &count) && count > 0)
        seed_wanted = (uint64_t)count;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_change_is_found_or_harmless, setup, teardown),
        cmocka_unit_test_setup_teardown(a_folder_says_what_its_texts_say, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_not_sealed_anew_is_damage, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
