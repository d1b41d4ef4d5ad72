#include "lamp.h"

#include "schema/set.h"

/* ---- slots ---- */

/* Whole numbers of each width between two bytes that must stay. */
struct __attribute__((packed)) widths {
    uint8_t before;
    int64_t i64;
    int32_t i32;
    int8_t i8;
    uint32_t u32;
    uint16_t u16;
    uint8_t behind;
};
static const struct field widths_fields[] = {
    I64(widths, i64, "."), I32(widths, i32, "."), I8(widths, i8, "."), U32(widths, u32, "."), U16(widths, u16, "."),
};

static void whole_numbers_keep_to_their_bytes(void **state)
{
    (void)state;
    static const struct {
        int64_t least, most;
    } ends[] = {
        {-INT64_MAX, INT64_MAX}, {INT32_MIN, INT32_MAX}, {INT8_MIN, INT8_MAX}, {0, UINT32_MAX}, {0, UINT16_MAX}};
    for (size_t i = 0; i < SCHEMA_COUNT(widths_fields); i++) {
        const int64_t values[] = {ends[i].least, 0, 1, ends[i].most};
        for (size_t k = 0; k < 4; k++) {
            struct widths w, untouched;
            memset(&w, 0xa5, sizeof w);
            untouched = w;
            const struct slot slot = slot_of(&widths_fields[i], &w);
            slot_set_i64(&slot, values[k]);
            assert_true(slot_i64(&slot) == values[k]);
            memcpy(slot.at, (char *)&untouched + widths_fields[i].offset, widths_fields[i].width);
            assert_memory_equal(&w, &untouched, sizeof w);
        }
    }
}

static void absent_is_a_value_of_its_own(void **state)
{
    (void)state;
    struct widths w;
    for (size_t i = 0; i < SCHEMA_COUNT(widths_fields); i++) {
        const struct slot slot = slot_of(&widths_fields[i], &w);
        slot_set_absent(&slot);
        assert_int_equal(slot_is_absent(&slot), !widths_fields[i].is_unsigned);
        assert_true(slot_i64(&slot) == (widths_fields[i].is_unsigned ? 0 : ABSENT_I64));
    }
    struct lamp l;
    memset(&l, 0x55, sizeof l);
    schema_absent(&lamp_schema, &l);
    assert_null(l.name);
    assert_string_equal(l.note, "");
    assert_true(l.serial == ABSENT_I64 && isnan(l.bulb.power_w) && ENUM_ABSENT(l.socket));
    assert_int_equal(l.used.state, Q_NOT_RECORDED);
    assert_int_equal(l.wire_count + l.room_count + l.level_count + l.tag_count, 0);
    struct wire wire;
    schema_absent(&wire_schema, &wire);
    assert_true(ENUM_ABSENT(wire.shade));
}

static void defaults_stand_in_the_rows(void **state)
{
    (void)state;
    struct lamp l;
    schema_defaults(&lamp_schema, &l);
    assert_string_equal(l.name, "lamp");
    assert_true(l.lit && l.socket == SOCKET_E27 && l.bulb.power_w == 60 && l.bulb.hours == 0);
    assert_int_equal(l.room_count, 1);
    assert_string_equal(l.rooms[0], "hall");
    assert_true(l.serial == ABSENT_I64 && l.level_count == 0);
}

static void a_path_leads_to_its_slot(void **state)
{
    (void)state;
    struct lamp l = {.bulb.hours = 7};
    struct slot slot;
    assert_true(slot_at(&lamp_schema, &l, "bulb.hours", &slot));
    assert_true(slot_i64(&slot) == 7);
    static const char *const nowhere[] = {"", "bulbs", "bulb.", "bulb.power", "name.x", "wires.0", "bulb.hours.x"};
    for (size_t i = 0; i < sizeof nowhere / sizeof *nowhere; i++)
        assert_false(slot_at(&lamp_schema, &l, nowhere[i], &slot));
}

static void items_can_be_made_an_objects_own(void **state)
{
    (void)state;
    struct arena a = {0};
    struct lamp l;
    struct slot rooms, room;
    schema_defaults(&lamp_schema, &l);
    assert_true(slot_at(&lamp_schema, &l, "rooms", &rooms));
    slot_own_items(&rooms, &a);
    room = slot_item(&rooms, 0);
    slot_set_text(&room, "cellar");
    assert_string_equal(l.rooms[0], "cellar");
    schema_defaults(&lamp_schema, &l); /* is what it was */
    assert_string_equal(l.rooms[0], "hall");
    arena_done(&a);
}

/* ---- the visitor ---- */

static struct lamp lamp_of(struct arena *a)
{
    static const char *rooms[] = {"hall", NULL};
    static double levels[] = {0.5, 1};
    static struct field_pair tags[] = {{"owner", "us"}};
    struct wire *wires = arena_array(a, 2, sizeof *wires);
    wires[0] = (struct wire){SHADE_GREEN, "m", 2};
    wires[1] = (struct wire){SHADE_RED, NULL, NAN};
    return (struct lamp){.name = "desk",
                         .note = "",
                         .serial = ABSENT_I64,
                         .socket = SOCKET_NONE,
                         .bulb = {40, 3},
                         .wires = wires,
                         .wire_count = 2,
                         .rooms = rooms,
                         .room_count = 2,
                         .levels = levels,
                         .level_count = 2,
                         .tags = tags,
                         .tag_count = 1,
                         .used = quantity_of(5)};
}

struct seen {
    struct buf text;
    bool flat;
};

static bool enter(void *self, const struct visit *v)
{
    struct seen *s = self;
    buf_fmt(&s->text, "%zu(%s ", v->depth, v->path);
    return !s->flat;
}

static void value(void *self, const struct visit *v)
{
    struct seen *s = self;
    buf_fmt(&s->text, "%s%s%s=", v->path, v->unit ? "/" : "", v->unit ? v->unit : "");
    slot_put(&v->slot, &s->text);
    buf_str(&s->text, v->last ? ";" : " ");
}

static void leave(void *self, const struct visit *v)
{
    struct seen *s = self;
    buf_fmt(&s->text, ")%s ", v->path);
}

static void a_visitor_sees_all_in_order(void **state)
{
    (void)state;
    struct arena a = {0};
    struct lamp l = lamp_of(&a);
    struct seen s = {0};
    const struct visitor all = {.self = &s, .enter = enter, .value = value, .leave = leave, .named_items = true};
    schema_visit(&lamp_schema, &l, "", &all);
    assert_string_equal(buf_text(&s.text),
                        "name=desk note= lit=false serial= socket=none "
                        "0(bulb bulb.power_w/W=40 bulb.hours/h=3;)bulb "
                        "0(wires 1(wires.green wires.green.shade=green wires.green.unit=m wires.green.length/m=2;)"
                        "wires.green 1(wires.red wires.red.shade=red wires.red.unit= wires.red.length=;)wires.red "
                        ")wires "
                        "0(rooms rooms.0=hall rooms.1=;)rooms 0(levels levels.0=0.5 levels.1=1;)levels "
                        "0(tags tags.owner=us;)tags used/J=;");
    buf_done(&s.text);
    arena_done(&a);
}

static void what_is_not_entered_is_passed_over(void **state)
{
    (void)state;
    struct arena a = {0};
    struct lamp l = lamp_of(&a);
    struct seen s = {.flat = true};
    schema_visit(&bulb_schema, &l.bulb, "x.y", &(struct visitor){.self = &s, .value = value});
    buf_byte(&s.text, '\n');
    schema_visit(&lamp_schema, &l, "", &(struct visitor){.self = &s, .enter = enter, .leave = leave});
    assert_string_equal(buf_text(&s.text), "x.y.power_w/W=40 x.y.hours/h=3;\n"
                                           "0(bulb 0(wires 0(rooms 0(levels 0(tags ");
    buf_done(&s.text);
    arena_done(&a);
}

/* ---- set ---- */

static bool set(struct lamp *l, const char *assignment, struct arena *a, struct err *e)
{
    return schema_set_or_err(&lamp_schema, l, assignment, a, e);
}

static void a_value_is_set_by_its_path(void **state)
{
    (void)state;
    struct arena a = {0};
    struct lamp l;
    struct err e;
    schema_defaults(&lamp_schema, &l);
    assert_ok(set(&l, "bulb.power_w=25.5", &a, &e), e);
    assert_ok(set(&l, "socket=e14", &a, &e), e);
    assert_ok(set(&l, "serial=null", &a, &e), e);
    assert_ok(set(&l, "rooms='living room' hall", &a, &e), e);
    assert_ok(set(&l, "tags.owner=a=b", &a, &e), e);
    assert_ok(set(&l, "tags.owner=c", &a, &e), e);
    assert_ok(set(&l, "tags.colour=red", &a, &e), e);
    assert_true(l.bulb.power_w == 25.5 && l.socket == SOCKET_E14 && l.serial == ABSENT_I64);
    assert_int_equal(l.room_count, 2);
    assert_string_equal(l.rooms[0], "living room");
    assert_int_equal(l.tag_count, 2);
    assert_string_equal(l.tags[0].value, "c");
    arena_done(&a);
}

static void a_wrong_value_changes_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *assignment, *message;
    } cases[] = {
        {"bulb.hours=null", "'null' is not allowed here. Allowed: a whole number from 0 to 100000 (h)."},
        {"bulb.hours=100001", "'100001' is not allowed here."},
        {"bulb.power_w=1000.1", "'1000.1' is not allowed here. Allowed: a number from 0 to 1000 (W)."},
        {"bulb.pwoer_w=1", "There is no such key. Did you mean bulb.power_w? Allowed here: power_w, hours."},
        {"power_w=1", "There is no such key. Did you mean bulb.power_w?"},
        {"socket=e15", "Allowed: one of e14, e27, none."},
        {"socket=null", "'null' is not allowed here."},
        {"lit=yes", "Allowed: true or false."},
        {"serial=1.0", "Allowed: a whole number."},
        {"serial=-9223372036854775808", "is not allowed here."}, /* the absent one */
        {"levels=1 2", "is not allowed here. Allowed: a list."},
        {"bulb=60", "Allowed: a section with power_w, hours."},
        {"name.x=1", "This key has no keys below it. Set it as a whole."},
        {"name", "Write it as KEY=VALUE."},
    };
    struct arena a = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct lamp l, before;
        struct err e = {0};
        memset(&l, 0, sizeof l);
        schema_defaults(&lamp_schema, &l);
        memcpy(&before, &l, sizeof l);
        assert_false(set(&l, cases[i].assignment, &a, &e));
        if (!strstr(e.text, cases[i].message))
            fail_msg("%s: %s", cases[i].assignment, e.text);
        assert_int_equal(e.kind, ERR_USAGE);
        assert_memory_equal(&l, &before, sizeof l);
    }
    arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_numbers_keep_to_their_bytes),  cmocka_unit_test(absent_is_a_value_of_its_own),
        cmocka_unit_test(defaults_stand_in_the_rows),         cmocka_unit_test(a_path_leads_to_its_slot),
        cmocka_unit_test(items_can_be_made_an_objects_own),   cmocka_unit_test(a_visitor_sees_all_in_order),
        cmocka_unit_test(what_is_not_entered_is_passed_over), cmocka_unit_test(a_value_is_set_by_its_path),
        cmocka_unit_test(a_wrong_value_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
