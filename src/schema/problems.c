#include "schema/problems.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/must.h"
#include "base/utf8.h"

void problems_init(struct problems *p, struct arena *arena, const char *source)
{
    must(arena);
    *p = (struct problems){.arena = arena, .source = source ? arena_text(arena, source) : NULL};
}

/* A grown list in an arena: the old items are left behind, at most as many again. */
static struct problem *push(struct arena *a, struct problem **items, size_t *count, size_t *capacity)
{
    must(a);
    if (*count == *capacity) {
        size_t more = *capacity ? *capacity * 2 : 16;
        struct problem *grown = arena_array(a, more, sizeof *grown);
        if (*count)
            memcpy(grown, *items, *count * sizeof *grown);
        *items = grown;
        *capacity = more;
    }
    return &(*items)[(*count)++];
}

void problems_place(struct problems *p, const char *source, size_t line, size_t column, const char *key)
{
    must(p->arena && source && key);
    struct problem *place = push(p->arena, &p->places, &p->place_count, &p->place_capacity);
    *place = (struct problem){
        .source = arena_text(p->arena, source), .line = line, .column = column, .key = arena_text(p->arena, key)};
}

static const struct problem *find_place(const struct problems *p, const char *key, size_t length)
{
    for (size_t i = p->place_count; i-- > 0;)
        if (strlen(p->places[i].key) == length && memcmp(p->places[i].key, key, length) == 0)
            return &p->places[i];
    return NULL;
}

/* The place of a key or of the nearest key above it. */
static const struct problem *nearest_place(const struct problems *p, const char *key)
{
    for (size_t length = key ? strlen(key) : 0; length > 0;) {
        const struct problem *place = find_place(p, key, length);
        if (place)
            return place;
        while (length > 0 && key[length - 1] != '.')
            length--;
        length -= length > 0;
    }
    return NULL;
}

__attribute__((format(printf, 3, 0))) static void add(struct problems *p, struct problem at, const char *format,
                                                      va_list args)
{
    struct problem *added = push(p->arena, &p->items, &p->count, &p->capacity);
    char text[1200];
    vsnprintf(text, sizeof text, format, args);
    at.text = arena_text(p->arena, text);
    at.source = at.source ? arena_text(p->arena, at.source) : NULL;
    at.key = at.key ? arena_text(p->arena, at.key) : NULL;
    *added = at;
}

void problems_add(struct problems *p, const char *key, const char *format, ...)
{
    const struct problem *place = nearest_place(p, key);
    struct problem at = place ? *place : (struct problem){.source = p->source};
    va_list args;
    at.key = key;
    va_start(args, format);
    add(p, at, format, args);
    va_end(args);
}

void problems_add_at(struct problems *p, const char *source, size_t line, size_t column, const char *key,
                     const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add(p, (struct problem){.source = source, .line = line, .column = column, .key = key}, format, args);
    va_end(args);
}

/* Sources, keys and values are a user's or a file's own: one line a problem, whatever they hold. */
static void print_one(const struct problem *at, struct buf *b)
{
    size_t from = b->n;
    if (at->source)
        buf_str(b, at->source);
    if (at->line)
        buf_fmt(b, ":%zu", at->line);
    if (at->column)
        buf_fmt(b, at->line ? ":%zu" : ", column %zu", at->column);
    if (at->source)
        buf_str(b, ": ");
    if (at->key) {
        buf_str(b, at->key);
        buf_str(b, ": ");
    }
    buf_str(b, at->text);
    utf8_show_from(b, from, false);
}

struct ordered {
    const struct problem *problem;
    size_t source_order, order;
};

static int compare_place(const void *a, const void *b)
{
    const struct ordered *x = a, *y = b;
#define BY(member)                                                                                                     \
    if (x->member != y->member)                                                                                        \
    return x->member < y->member ? -1 : 1
    BY(source_order);
    BY(problem->line);
    BY(problem->column);
    BY(order);
#undef BY
    return 0;
}

/* In order of source (as first seen), line, column, then as added. */
static struct ordered *in_order(const struct problems *p)
{
    struct ordered *list = mem_zero(p->count + 1, sizeof *list);
    for (size_t i = 0; i < p->count; i++) {
        list[i] = (struct ordered){&p->items[i], i, i};
        for (size_t j = 0; j < i; j++)
            if (p->items[j].source && p->items[i].source && strcmp(p->items[j].source, p->items[i].source) == 0) {
                list[i].source_order = list[j].source_order;
                break;
            }
    }
    if (p->count)
        qsort(list, p->count, sizeof *list, compare_place);
    return list;
}

void problems_print(const struct problems *p, struct buf *b)
{
    struct ordered *list = in_order(p);
    for (size_t i = 0; i < p->count; i++) {
        print_one(list[i].problem, b);
        buf_byte(b, '\n');
    }
    free(list);
}

bool problems_none(const struct problems *p, enum err_kind kind, struct err *e)
{
    must(e);
    struct buf text = {0}, line = {0};
    size_t shown = 0, room = sizeof e->text - 60;
    if (p->count == 0)
        return true;
    struct ordered *list = in_order(p);
    for (; shown < p->count; shown++) {
        buf_clear(&line);
        if (shown)
            buf_byte(&line, '\n');
        print_one(list[shown].problem, &line);
        if (shown && text.n + line.n > room)
            break;
        buf_add(&text, line.p, line.n);
    }
    if (shown < p->count)
        buf_fmt(&text, "\n... and %zu more", p->count - shown);
    err_set(e, kind, "%s", buf_text(&text));
    buf_done(&text);
    buf_done(&line);
    free(list);
    return false;
}
