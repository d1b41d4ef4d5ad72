/* The machine with made lists: which stages are gone through, what ends a wait, and what is written down of it. */
#include "made.h"

/* ---- a list of made stages ---- */

struct story {
    struct made d;
    char went[200];             /* the letters of the stages, in order */
    bool leaving_at[26];        /* was the machine on its way out when the stage began? */
    char fails, is_interrupted; /* the letter of the stage that fails, or in which a signal comes */
    bool started;               /* something is there to be left */
    char starts;                /* the letter of the stage that makes it so */
};

static bool go(struct story *s, char letter, enum run_stage stage)
{
    stage_enter(&s->d.machine, stage);
    size_t n = strlen(s->went);
    s->went[n] = letter;
    s->leaving_at[letter - 'a'] = s->d.machine.leaving;
    if (letter == s->starts)
        s->started = true;
    if (letter == s->fails)
        return stage_fail(&s->d.machine, ERR_ENGINE, "Stage %c has failed.", letter);
    if (letter == s->is_interrupted)
        stage_interrupt(&s->d.machine);
    return stage_pause(&s->d.machine, MS);
}

#define MADE_STAGE(letter, stage)                                                                                      \
    static bool go_##letter(void *self)                                                                                \
    {                                                                                                                  \
        return go(self, *#letter, stage);                                                                              \
    }

MADE_STAGE(a, RUN_BASELINE)
MADE_STAGE(b, RUN_START)
MADE_STAGE(c, RUN_FORMAL)
MADE_STAGE(x, RUN_STOP)
MADE_STAGE(y, RUN_RELEASE)

static bool is_started(void *self)
{
    const struct story *s = self;
    return s->started;
}

static const struct stage life[] = {{go_a, NULL}, {go_b, NULL}, {go_c, NULL}, {go_x, is_started}, {go_y, is_started}};

static void begin(struct story *s)
{
    made_open(&s->d);
    made_begin(&s->d);
}

static void a_whole_list_is_gone_through(void **state)
{
    (void)state;
    struct story s = {.starts = 'b'};
    bool through = false;
    begin(&s);
    assert_true(stage_run(&s.d.machine, life, 5, &s, &through));
    assert_true(through);
    assert_string_equal(s.went, "abcxy");
    assert_false(s.leaving_at['c' - 'a']);
    assert_true(s.leaving_at['x' - 'a']);
    assert_int_equal(s.d.machine.stage, RUN_RELEASE);
    assert_int_equal(s.d.boundary_count, 0);
    made_close(&s.d);
}

static void a_failure_leads_to_the_way_out(void **state)
{
    (void)state;
    struct story s = {.starts = 'b', .fails = 'b'};
    bool through = true;
    begin(&s);
    assert_false(stage_run(&s.d.machine, life, 5, &s, &through));
    assert_false(through);
    assert_string_equal(s.went, "abxy");
    assert_string_equal(s.d.machine.failure.text, "Stage b has failed.");
    made_boundary_ns(&s.d, BOUNDARY_FAILED);
    assert_string_equal(s.d.boundaries[0].note, "Stage b has failed.");
    made_close(&s.d);
}

static void nothing_started_is_nothing_to_leave(void **state)
{
    (void)state;
    struct story s = {.starts = 'b', .fails = 'a'};
    bool through = true;
    begin(&s);
    assert_false(stage_run(&s.d.machine, life, 5, &s, &through));
    assert_string_equal(s.went, "a");
    made_close(&s.d);
}

/* One that fails on the way out does not keep the next from being gone through, and does not undo what came through. */
static void a_failure_on_the_way_out(void **state)
{
    (void)state;
    struct story s = {.starts = 'b', .fails = 'x'};
    bool through = false;
    begin(&s);
    assert_false(stage_run(&s.d.machine, life, 5, &s, &through));
    assert_true(through);
    assert_string_equal(s.went, "abcxy");
    made_close(&s.d);
}

/* An engine that runs already: nothing is started, so nothing is stopped; and a list of a single stage. */
static void other_lists_are_other_runs(void **state)
{
    (void)state;
    static const struct stage attach[] = {{go_a, NULL}, {go_c, NULL}, {go_x, is_started}};
    static const struct stage once[] = {{go_c, NULL}};
    static const struct stage twice[] = {{go_a, NULL}, {go_c, NULL}, {go_a, NULL}, {go_c, NULL}};
    struct story s = {.starts = 'b'};
    bool through = false;
    begin(&s);
    assert_true(stage_run(&s.d.machine, attach, 3, &s, &through));
    assert_string_equal(s.went, "ac");
    assert_false(s.d.machine.leaving);
    assert_true(stage_run(&s.d.machine, once, 1, &s, &through));
    assert_true(stage_run(&s.d.machine, twice, 4, &s, &through));
    assert_true(through);
    assert_string_equal(s.went, "accacac");
    assert_true(stage_run(&s.d.machine, NULL, 0, &s, &through));
    assert_true(through);
    made_close(&s.d);
}

static void an_interrupt_leads_to_the_way_out(void **state)
{
    (void)state;
    struct story s = {.starts = 'b', .is_interrupted = 'c'};
    bool through = true;
    begin(&s);
    assert_true(!stage_run(&s.d.machine, life, 5, &s, &through));
    assert_false(through);
    assert_string_equal(s.went, "abcxy"); /* the pauses of the way out are not cut short by it */
    assert_int_equal(s.d.machine.failure.kind, ERR_NONE);
    made_boundary_ns(&s.d, BOUNDARY_INTERRUPTED);
    assert_string_equal(s.d.boundaries[0].note, "formal");
    made_close(&s.d);
}

/* ---- failures ---- */

static void the_first_failure_counts(void **state)
{
    (void)state;
    struct made d;
    made_open(&d);
    assert_false(stage_fail(&d.machine, ERR_DEVICE, "Too early to be written down: %d.", 1));
    made_begin(&d);
    assert_false(stage_fail(&d.machine, ERR_ENGINE, "The second one."));
    assert_int_equal(d.machine.failure.kind, ERR_DEVICE);
    assert_string_equal(d.machine.failure.text, "Too early to be written down: 1.");
    assert_int_equal(d.boundary_count, 0);
    made_close(&d);
}

static void nothing_is_recorded_behind_the_end(void **state)
{
    (void)state;
    struct made d;
    made_open(&d);
    made_begin(&d);
    stage_fact(&d.machine, "a.fact", CHECK_PASSED, NULL, "seen");
    stage_finish(&d.machine);
    stage_fact(&d.machine, "a.fact", CHECK_PASSED, NULL, "seen");
    stage_boundary(&d.machine, BOUNDARY_STOP, 1, NULL);
    stage_interrupt(&d.machine);
    assert_int_equal(d.fact_count, 1);
    assert_int_equal(d.boundary_count, 0);
    made_close(&d);
}

/* ---- waiting ---- */

struct later {
    struct made d;
    struct timer timer;
    bool come;
    int interrupts; /* that the timer brings */
};

static void on_later(struct timer *t)
{
    struct later *l = t->owner;
    l->come = true;
    for (int i = 0; i < l->interrupts; i++)
        stage_interrupt(&l->d.machine);
    stage_wake(&l->d.machine);
}

static void set_later(struct later *l, int64_t ns)
{
    l->come = false;
    l->timer = (struct timer){.fire = on_later, .owner = l};
    loop_timer_set(l->d.loop, &l->timer, clock_now_ns() + ns);
}

static bool has_come(void *self)
{
    const struct later *l = self;
    return l->come;
}

static void a_wait_ends_when_it_is_done_or_over(void **state)
{
    (void)state;
    struct later l = {0};
    made_open(&l.d);
    made_begin(&l.d);
    set_later(&l, 5 * MS);
    assert_true(stage_wait(&l.d.machine, has_come, &l, INT64_MAX));
    set_later(&l, 500 * MS);
    int64_t from = stage_now_ns(&l.d.machine);
    assert_false(stage_wait(&l.d.machine, has_come, &l, from + 5 * MS));
    assert_true(stage_now_ns(&l.d.machine) >= from + 5 * MS);
    assert_false(l.come);
    loop_timer_stop(l.d.loop, &l.timer);
    from = stage_now_ns(&l.d.machine);
    assert_true(stage_pause(&l.d.machine, 3 * MS));
    assert_true(stage_now_ns(&l.d.machine) >= from + 3 * MS);
    assert_true(stage_pause(&l.d.machine, -MS)); /* over before it began */
    made_close(&l.d);
}

static void interrupts_end_waits(void **state)
{
    (void)state;
    struct later l = {.interrupts = 1};
    made_open(&l.d);
    made_begin(&l.d);
    set_later(&l, MS);
    assert_false(stage_wait(&l.d.machine, made_never, NULL, INT64_MAX));
    assert_false(stage_wait(&l.d.machine, made_never, NULL, INT64_MAX)); /* and every one from then on */
    assert_false(stage_pause(&l.d.machine, 1000 * SECOND_NS));
    stage_leave(&l.d.machine); /* until the way out begins */
    assert_true(stage_pause(&l.d.machine, MS));
    set_later(&l, MS); /* where the second one does */
    assert_false(stage_wait(&l.d.machine, made_never, NULL, INT64_MAX));
    assert_false(stage_pause(&l.d.machine, 1000 * SECOND_NS));
    set_later(&l, 2 * MS);
    assert_true(stage_wait_deaf(&l.d.machine, has_come, &l, INT64_MAX - 1)); /* unless it is deaf */
    assert_int_equal(l.d.machine.interrupts, 3);
    made_boundary_ns(&l.d, BOUNDARY_INTERRUPTED); /* one, however many there were */
    made_close(&l.d);
}

static void failures_end_waits_on_the_way_there_only(void **state)
{
    (void)state;
    struct made d;
    made_open(&d);
    made_begin(&d);
    stage_fail(&d.machine, ERR_ENGINE, "Something failed.");
    assert_false(stage_pause(&d.machine, 1000 * SECOND_NS));
    stage_leave(&d.machine);
    assert_true(stage_pause(&d.machine, MS));
    made_close(&d);
}

/* ---- what is shown ---- */

struct shown {
    struct stage_machine *machine;
    enum run_stage stages[8];
    int count;
};

static void on_changed(void *self)
{
    struct shown *s = self;
    s->stages[s->count++] = s->machine->stage;
}

static void a_change_is_shown(void **state)
{
    (void)state;
    struct made d;
    made_open(&d);
    struct shown s = {.machine = &d.machine};
    d.machine.self = &s;
    d.machine.changed = on_changed;
    made_begin(&d);
    stage_enter(&d.machine, RUN_START);
    assert_true(d.machine.stage_start_ns >= 0);
    stage_interrupt(&d.machine);
    stage_interrupt(&d.machine); /* the second one changes nothing that is shown */
    stage_enter(&d.machine, RUN_STOP);
    assert_int_equal(s.count, 3);
    assert_int_equal(s.stages[0], RUN_START);
    assert_int_equal(s.stages[1], RUN_START);
    assert_int_equal(s.stages[2], RUN_STOP);
    made_close(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_list_is_gone_through),
        cmocka_unit_test(a_failure_leads_to_the_way_out),
        cmocka_unit_test(nothing_started_is_nothing_to_leave),
        cmocka_unit_test(a_failure_on_the_way_out),
        cmocka_unit_test(other_lists_are_other_runs),
        cmocka_unit_test(an_interrupt_leads_to_the_way_out),
        cmocka_unit_test(the_first_failure_counts),
        cmocka_unit_test(nothing_is_recorded_behind_the_end),
        cmocka_unit_test(a_wait_ends_when_it_is_done_or_over),
        cmocka_unit_test(interrupts_end_waits),
        cmocka_unit_test(failures_end_waits_on_the_way_there_only),
        cmocka_unit_test(a_change_is_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
