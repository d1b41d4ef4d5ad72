/* A struct with a member of each type that a table can describe, for the tests of this folder. */
#include "check.h"

#include <math.h>
#include "base/quantity.h"
#include "schema/table.h"
#include "schema/visit.h"

enum socket_kind { SOCKET_E14, SOCKET_E27, SOCKET_NONE };
static const char *const socket_kind_names[] = {"e14", "e27", "none", NULL};
enum __attribute__((packed)) shade { SHADE_RED, SHADE_GREEN };
static const char *const shade_names[] = {"red", "green", NULL};

struct wire {
    enum shade shade;
    const char *unit;
    double length;
};

struct bulb {
    double power_w;
    int64_t hours;
};

struct lamp {
    const char *name, *note;
    bool lit;
    int64_t serial;
    enum socket_kind socket;
    struct bulb bulb;
    struct wire *wires;
    size_t wire_count;
    const char **rooms;
    size_t room_count;
    double *levels;
    size_t level_count;
    struct field_pair *tags;
    size_t tag_count;
    struct quantity used;
};

static const struct field wire_fields[] = {
    ENUM(wire, shade, shade, "Its colour.", FLAGS(FIELD_NAMES_ITEM)),
    TEXT(wire, unit, "What its length is in."),
    F64(wire, length, "How long it is.", FLAGS(FIELD_UNIT_OF_OBJECT)),
};
static const struct schema wire_schema = SCHEMA(wire, "A wire.");

static const struct field bulb_fields[] = {
    F64(bulb, power_w, "At full light.", UNIT("W"), RANGE(0, 1000), DEFAULT(60)),
    I64(bulb, hours, "It was lit for.", UNIT("h"), RANGE(0, 100000), FLAGS(FIELD_NEEDED), DEFAULT(0)),
};
static const struct schema bulb_schema = SCHEMA(bulb, "A bulb.");

static const struct field lamp_fields[] = {
    TEXT(lamp, name, "What people call it.", FLAGS(FIELD_REQUIRED), DEFAULT_TEXT("lamp")),
    TEXT(lamp, note, "What is to be said.", FLAGS(FIELD_EMPTY_TEXT)),
    BOOL(lamp, lit, "Is it?", DEFAULT(1)),
    I64(lamp, serial, "Its number."),
    ENUM(lamp, socket, socket_kind, "What it is screwed into.", DEFAULT(SOCKET_E27)),
    OBJECT(lamp, bulb, bulb, "Its bulb."),
    OBJECTS(lamp, wires, wire_count, wire, "Its wires."),
    TEXTS(lamp, rooms, room_count, "Where it stands.", DEFAULT_TEXT("hall")),
    F64S(lamp, levels, level_count, "How bright it can be."),
    MAP(lamp, tags, tag_count, "What else."),
    QUANTITY(lamp, used, "Energy so far.", UNIT("J")),
};
static const struct schema lamp_schema = SCHEMA(lamp, "A lamp.");
