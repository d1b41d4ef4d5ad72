#include "store/request_set.h"

#include <math.h>
#include <stdlib.h>
#include "base/must.h"
#include "base/utf8.h"
#include "store/draw.h"
#include "store/length_law.h"
#include "store/random_prompts.h"
#include "store/request_form.h"
#include "text/file_read.h"
#include "text/json.h"

enum { PROBLEMS_MAX = 20, KEYS_TOLD = 8, TALLIES_MAX = 256 };

static const uint64_t file_max = 2ull << 30;

/* One member of a line's object; of equal names the last. */
struct line_member {
    struct span name; /* decoded, in the loader's `names` once all are read */
    size_t name_at;
    struct span value; /* as it stands */
};

/* Why members of that name are not sent. */
enum unsent { UNSENT_UNKNOWN, UNSENT_OWN, UNSENT_PLAN, UNSENT_LENGTH };

struct key_tally {
    const char *name;
    enum unsent why;
    size_t lines, first;
};

struct set_loader {
    struct request_set *set;
    size_t capacity;
    const struct plan *plan;
    struct problems *p;
    size_t faults;
    struct buf decoded;
    struct span line_text;
    size_t ill_formed; /* where the line's first ill-formed byte stands; line_text.n: none */
    struct line_member *members;
    size_t member_count, member_capacity;
    struct buf names;
    struct key_tally tallies[TALLIES_MAX];
    size_t tally_count, other_keys;
    bool form_told;
};

static const char *const what_a_line_is = "Each line must be an object with \"prompt\" (a text) or \"messages\" (a "
                                          "list of objects with \"role\" and \"content\").";

/* ---- which members a line may have ---- */

static const char *const length_names[] = {"max_tokens", "max_completion_tokens", "output_tokens", "output_length",
                                           NULL};

/* What jtok decides itself, for all requests alike: the stream and its usage are what is measured, the model is what
 * is served. */
static const char *const own_names[] = {"model", "stream", "stream_options", NULL};

/* One answer a request is what everything here counts. */
static const char *const single_names[] = {"n", "best_of", NULL};

/* Members of a request's body, of OpenAI's interface and of the engines' additions to it, with the types that they have
 * there (n number, b true or false, s text, a list, o object): sent as they stand. Of another type it is a column of
 * the set that happens to have that name. */
static const struct {
    const char *name, *kinds;
} body_members[] = {
    {"temperature", "n"},
    {"top_p", "n"},
    {"top_k", "n"},
    {"min_p", "n"},
    {"typical_p", "n"},
    {"seed", "n"},
    {"stop", "sa"},
    {"stop_token_ids", "a"},
    {"presence_penalty", "n"},
    {"frequency_penalty", "n"},
    {"repetition_penalty", "n"},
    {"length_penalty", "n"},
    {"logit_bias", "o"},
    {"logprobs", "bn"},
    {"top_logprobs", "n"},
    {"prompt_logprobs", "n"},
    {"tools", "a"},
    {"tool_choice", "so"},
    {"parallel_tool_calls", "b"},
    {"functions", "a"},
    {"function_call", "so"},
    {"response_format", "o"},
    {"structured_outputs", "o"},
    {"guided_json", "so"},
    {"guided_regex", "s"},
    {"guided_choice", "a"},
    {"guided_grammar", "s"},
    {"json_schema", "so"},
    {"regex", "s"},
    {"grammar", "s"},
    {"ebnf", "s"},
    {"reasoning_effort", "s"},
    {"reasoning", "o"},
    {"thinking", "o"},
    {"verbosity", "s"},
    {"chat_template", "s"},
    {"chat_template_kwargs", "o"},
    {"add_generation_prompt", "b"},
    {"continue_final_message", "b"},
    {"documents", "a"},
    {"skip_special_tokens", "b"},
    {"spaces_between_special_tokens", "b"},
    {"include_stop_str_in_output", "b"},
    {"no_stop_trim", "b"},
    {"ignore_eos", "b"},
    {"min_tokens", "n"},
    {"bad_words", "a"},
    {"allowed_token_ids", "a"},
    {"echo", "b"},
    {"priority", "n"},
    {"truncate_prompt_tokens", "n"},
    {"add_special_tokens", "b"},
    {"mm_processor_kwargs", "o"},
    {"modalities", "a"},
    {"prediction", "o"},
    {"cache_salt", "s"},
    {"separate_reasoning", "b"},
};

static char kind_letter(enum json_kind k)
{
    return k == JSON_NUMBER ? 'n' : k == JSON_STRING ? 's' : k == JSON_ARRAY ? 'a' : k == JSON_OBJECT ? 'o' : 'b';
}

/* The name of the body's member, or null. */
static const char *body_member(struct span name, enum json_kind k)
{
    for (size_t i = 0; i < sizeof body_members / sizeof *body_members; i++)
        if (span_is(name, body_members[i].name) && strchr(body_members[i].kinds, kind_letter(k)))
            return body_members[i].name;
    return NULL;
}

/* The name among them, or null. */
static const char *among(struct span name, const char *const *names)
{
    while (*names && !span_is(name, *names))
        names++;
    return *names;
}

/* Does the plan decide this member for all requests? */
static bool plan_sets(const struct plan_requests *r, struct span name)
{
    if ((span_is(name, "temperature") && !isnan(r->temperature)) || (span_is(name, "top_p") && !isnan(r->top_p)) ||
        (span_is(name, "seed") && r->seed != ABSENT_I64))
        return true;
    if ((span_is(name, "ignore_eos") || span_is(name, "min_tokens")) && r->lengths.ignore_eos)
        return true;
    return (r->extra_body && json_member(span_of(r->extra_body), name).n) ||
           (r->thinking_body && json_member(span_of(r->thinking_body), name).n);
}

/* ---- faults ---- */

/* Counted beyond the first ones; the caller tells their number. */
static bool fault(struct set_loader *l, size_t line, size_t column, const char *key, const char *text)
{
    if (l->faults++ < PROBLEMS_MAX)
        problems_add_at(l->p, l->plan->requests.file, line, column, key, "%s", text);
    return false;
}

static size_t column_of(const struct set_loader *l, const char *at)
{
    return (size_t)(at - l->line_text.p) + 1;
}

static const char *kind_words(enum json_kind k)
{
    switch (k) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "a list";
    case JSON_STRING:
        return "a text";
    case JSON_NUMBER:
        return "a number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "true or false";
    case JSON_ARRAY_END:
    case JSON_END:
    case JSON_ERROR:
    case JSON_KEY:
    case JSON_NULL:
    case JSON_OBJECT_END:
    default:
        return "null";
    }
}

static bool wrong_kind(struct set_loader *l, size_t line, const char *key, enum json_kind k, const char *expected)
{
    return fault(l, line, 0, key,
                 arena_format(l->p->arena, "Expected %s, but found %s. %s", expected, kind_words(k), what_a_line_is));
}

static bool ill_formed(struct set_loader *l, size_t line, const char *key)
{
    const char *at = l->line_text.p + l->ill_formed;
    return fault(
        l, line, column_of(l, at), key,
        arena_format(
            l->p->arena,
            "The byte 0x%02X is not UTF-8, and engines refuse such text. If the file is Latin-1, convert it with "
            "\"iconv -f LATIN1 -t UTF-8 FILE > new.jsonl\".",
            (unsigned char)*at));
}

static bool no_json(struct set_loader *l, size_t line, const struct json *j)
{
    if (l->ill_formed <= json_error_offset(j) && l->ill_formed < l->line_text.n)
        return ill_formed(l, line, NULL);
    return fault(l, line, json_error_offset(j) + 1, NULL,
                 arena_format(l->p->arena, "This is not JSON: %s. %s", j->fault, what_a_line_is));
}

/* ---- what can be sent ---- */

/* Every text inside a value that is sent, names too: text that is not UTF-8, or half of a surrogate pair, can't go out
 * as it is. */
static bool check_sendable(struct set_loader *l, size_t line, const char *key, struct span value)
{
    struct json j;
    if (l->ill_formed < l->line_text.n && l->line_text.p + l->ill_formed >= value.p &&
        l->line_text.p + l->ill_formed < value.p + value.n)
        return ill_formed(l, line, key);
    if (!memchr(value.p, '\\', value.n)) /* no escape, no surrogate */
        return true;
    json_init(&j, value);
    while (json_next(&j) > JSON_END) {
        size_t at = j.kind == JSON_STRING || j.kind == JSON_KEY ? json_lone_surrogate(&j) : j.raw.n;
        if (at < j.raw.n)
            return fault(
                l, line, column_of(l, j.raw.p + at), key,
                arena_format(l->p->arena,
                             "%.6s is half of a surrogate pair: it is not a character, and engines refuse such "
                             "text. Remove it, or write \\ufffd.",
                             j.raw.p + at));
    }
    return true;
}

/* Every message an object with a role (a text) and a content or tool calls; the engine judges the rest. */
static bool check_messages(struct set_loader *l, size_t line, struct span messages)
{
    struct json j;
    enum json_kind k;
    size_t count = 0;
    json_init(&j, messages);
    json_next(&j);
    while ((k = json_next(&j)) == JSON_OBJECT) {
        bool role = false, content = false;
        count++;
        while (json_next(&j) == JSON_KEY) {
            bool is_role = json_is(&j, "role");
            content = content || json_is(&j, "content") || json_is(&j, "tool_calls");
            k = json_next(&j);
            role = role || (is_role && k == JSON_STRING);
            if (k == JSON_OBJECT || k == JSON_ARRAY)
                json_skip(&j);
        }
        if (!role || !content)
            return fault(l, line, 0, "messages",
                         arena_format(l->p->arena, "Message %zu has no \"%s\". %s", count, role ? "content" : "role",
                                      what_a_line_is));
    }
    if (k != JSON_ARRAY_END)
        return wrong_kind(l, line, "messages", k, "objects in the list");
    if (count == 0)
        return fault(l, line, 0, "messages", "The list is empty, but a request needs at least one message.");
    return true;
}

/* ---- a line's members ---- */

static struct line_member *member_place(struct set_loader *l, struct span name)
{
    for (size_t i = 0; i < l->member_count; i++) {
        struct span other = {l->names.p + l->members[i].name_at, l->members[i].name.n};
        if (span_equal(other, name))
            return &l->members[i];
    }
    if (l->member_count == l->member_capacity) {
        l->member_capacity = l->member_capacity ? 2 * l->member_capacity : 16;
        l->members = mem_grow(l->members, l->member_capacity, sizeof *l->members);
    }
    struct line_member *m = &l->members[l->member_count++];
    *m = (struct line_member){.name_at = l->names.n, .name = {.n = name.n}};
    buf_add(&l->names, name.p, name.n);
    return m;
}

/* Reads all members of the object into the loader; false when the line is at fault. */
static bool read_request_members(struct set_loader *l, struct json *j, size_t line)
{
    l->member_count = 0;
    buf_clear(&l->names);
    while (json_next(j) == JSON_KEY) {
        buf_clear(&l->decoded);
        json_text(j, &l->decoded);
        const char *start = j->at;
        if (json_skip(j) == JSON_ERROR)
            break;
        while (strchr(" \t\r\n", *start) && *start)
            start++;
        member_place(l, buf_span(&l->decoded))->value = (struct span){start, (size_t)(j->at - start)};
    }
    if (j->kind == JSON_ERROR || json_next(j) != JSON_END)
        return no_json(l, line, j);
    for (size_t i = 0; i < l->member_count; i++)
        l->members[i].name.p = l->names.p + l->members[i].name_at;
    return true;
}

static const struct line_member *find_member(const struct set_loader *l, const char *name)
{
    for (size_t i = 0; i < l->member_count; i++)
        if (span_is(l->members[i].name, name))
            return &l->members[i];
    return NULL;
}

static enum json_kind value_kind(struct span value, struct json *j)
{
    json_init(j, value);
    return json_next(j);
}

static void count_unsent(struct set_loader *l, struct span name, enum unsent why, size_t line)
{
    for (size_t i = 0; i < l->tally_count; i++)
        if (span_is(name, l->tallies[i].name) && l->tallies[i].why == why) {
            l->tallies[i].lines++;
            return;
        }
    if (l->tally_count == TALLIES_MAX) {
        l->other_keys++;
        return;
    }
    l->tallies[l->tally_count++] =
        (struct key_tally){.name = arena_copy(l->p->arena, name.p, name.n), .why = why, .lines = 1, .first = line};
}

/* A line's own length. All of its names say the same thing. */
static bool read_length(struct set_loader *l, struct request_row *row, const struct line_member *m, const char *name)
{
    struct json j;
    int64_t tokens;
    if (l->plan->requests.lengths.kind != LENGTH_LINES) {
        count_unsent(l, m->name, UNSENT_LENGTH, row->line);
        return true;
    }
    value_kind(m->value, &j);
    if (!json_i64(&j, &tokens) || tokens < 1 || tokens > OUTPUT_TOKENS_MAX)
        return fault(l, row->line, column_of(l, m->value.p), name,
                     arena_format(l->p->arena, "Expected a whole number of tokens from 1 to %lld, but found %.*s.",
                                  (long long)OUTPUT_TOKENS_MAX, (int)(m->value.n < 40 ? m->value.n : 40), m->value.p));
    if (row->max_tokens != ABSENT_I64 && row->max_tokens != tokens)
        return fault(l, row->line, column_of(l, m->value.p), name,
                     arena_format(l->p->arena,
                                  "%lld here, but %lld under another name of the same setting. Keep one of them.",
                                  (long long)tokens, (long long)row->max_tokens));
    row->max_tokens = tokens;
    return true;
}

/* A member that jtok decides itself: told where the line wanted something else. */
static void read_own(struct set_loader *l, const struct request_row *row, const struct line_member *m)
{
    struct json j;
    enum json_kind k = value_kind(m->value, &j);
    const char *model = l->plan->engine.served_model;
    bool same = span_is(m->name, "stream")  ? k == JSON_TRUE
                : span_is(m->name, "model") ? model && k == JSON_STRING && json_is(&j, model)
                                            : false;
    if (!same)
        count_unsent(l, m->name, UNSENT_OWN, row->line);
}

static bool read_single(struct set_loader *l, const struct request_row *row, const struct line_member *m,
                        const char *name)
{
    struct json j;
    int64_t n;
    value_kind(m->value, &j);
    if (json_i64(&j, &n) && n == 1)
        return true;
    return fault(
        l, row->line, column_of(l, m->value.p), name,
        arena_format(l->p->arena,
                     "%.*s answers for one request can't be measured: tokens and times are those of one answer. "
                     "Remove it, and repeat the line instead.",
                     (int)(m->value.n < 20 ? m->value.n : 20), m->value.p));
}

/* Appends a member to the row's own part of the body. */
static void add_extra(const struct line_member *m, struct buf *extra)
{
    buf_str(extra, extra->n ? ", \"" : "{\"");
    buf_add(extra, m->name.p, m->name.n); /* a known name: nothing to escape */
    buf_str(extra, "\": ");
    buf_add(extra, m->value.p, m->value.n);
}

/* All members but prompt and messages. */
static bool read_rest(struct set_loader *l, struct request_row *row)
{
    struct buf extra = {0};
    bool good = true;
    for (size_t i = 0; i < l->member_count && good; i++) {
        const struct line_member *m = &l->members[i];
        struct json j;
        enum json_kind k = value_kind(m->value, &j);
        const char *name;
        if (span_is(m->name, "prompt") || span_is(m->name, "messages") || k == JSON_NULL)
            continue;
        if ((name = among(m->name, length_names)))
            good = read_length(l, row, m, name);
        else if (among(m->name, own_names))
            read_own(l, row, m);
        else if ((name = among(m->name, single_names)))
            good = read_single(l, row, m, name);
        else if (!(name = body_member(m->name, k)))
            count_unsent(l, m->name, UNSENT_UNKNOWN, row->line);
        else if (plan_sets(&l->plan->requests, m->name))
            count_unsent(l, m->name, UNSENT_PLAN, row->line);
        else if ((good = check_sendable(l, row->line, name, m->value)))
            add_extra(m, &extra);
    }
    if (good && extra.n) {
        buf_byte(&extra, '}');
        row->extra = (struct span){arena_copy(l->p->arena, extra.p, extra.n), extra.n};
    }
    buf_done(&extra);
    return good;
}

/* What the line asks: its prompt, or its messages. */
static bool read_asked(struct set_loader *l, struct request_row *row)
{
    const struct line_member *prompt = find_member(l, "prompt"), *messages = find_member(l, "messages");
    const struct line_member *asked = prompt ? prompt : messages;
    const char *name = prompt ? "prompt" : "messages";
    struct json j;
    if (!asked) {
        /* The form of a set is told once, with what to do; its other lines are like the first. */
        const char *advice = "";
        const char *text = l->form_told ? "There is neither \"prompt\" nor \"messages\" here"
                                        : request_line_form(l->line_text, l->plan->requests.file, l->p->arena, &advice);
        l->form_told = true;
        return fault(l, row->line, 0, NULL, arena_format(l->p->arena, "%s. %s%s", text, what_a_line_is, advice));
    }
    if (prompt && messages)
        return fault(l, row->line, 0, NULL, "There are both \"prompt\" and \"messages\" here. Keep one of them.");
    if (value_kind(asked->value, &j) != (prompt ? JSON_STRING : JSON_ARRAY))
        return wrong_kind(l, row->line, name, j.kind, prompt ? "a text" : "a list");
    if (messages && l->plan->requests.api == API_COMPLETIONS)
        return fault(l, row->line, 0, "messages",
                     "Messages can't be sent to the completions API. Set requests.api: chat, or give a prompt.");
    if (messages && !check_messages(l, row->line, messages->value))
        return false;
    if (prompt && prompt->value.n == 2)
        return fault(l, row->line, 0, "prompt", "The prompt is empty, and engines refuse that.");
    if (!check_sendable(l, row->line, name, asked->value))
        return false;
    if (prompt) {
        buf_clear(&l->decoded);
        json_text(&j, &l->decoded);
        row->prompt = prompt->value;
    } else {
        row->messages = messages->value;
    }
    row->digest = digest_u64(prompt ? buf_span(&l->decoded) : row->messages);
    row->digest += row->digest == 0;
    return true;
}

static void read_line(struct set_loader *l, struct span text, size_t line)
{
    struct request_set *s = l->set;
    struct request_row row = {.line = line, .max_tokens = ABSENT_I64};
    struct json j;
    l->line_text = text;
    l->ill_formed = utf8_valid(text);
    json_init(&j, text);
    enum json_kind k = json_next(&j);
    if (k == JSON_ERROR) {
        no_json(l, line, &j);
        return;
    }
    if (k != JSON_OBJECT) {
        wrong_kind(l, line, NULL, k, "an object");
        return;
    }
    if (!read_request_members(l, &j, line) || !read_asked(l, &row))
        return;
    if (l->ill_formed < text.n) { /* in a member that is not sent: the file is not what it seems all the same */
        ill_formed(l, line, NULL);
        return;
    }
    if (!read_rest(l, &row))
        return;
    if (s->row_count == l->capacity) {
        l->capacity = l->capacity ? l->capacity * 2 : 1024;
        s->rows = mem_grow(s->rows, l->capacity, sizeof *s->rows);
    }
    s->has_lengths = s->has_lengths || row.max_tokens != ABSENT_I64;
    s->rows[s->row_count++] = row;
}

static bool is_blank(struct span s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] != ' ' && s.p[i] != '\t' && s.p[i] != '\r')
            return false;
    return true;
}

static void read_lines(struct set_loader *l)
{
    struct span rest = utf8_without_mark(buf_span(&l->set->text));
    for (size_t line = 1; rest.n; line++) {
        const char *end = memchr(rest.p, '\n', rest.n);
        struct span text = {rest.p, end ? (size_t)(end - rest.p) : rest.n};
        rest.p += text.n + (end ? 1 : 0);
        rest.n -= text.n + (end ? 1 : 0);
        if (!is_blank(text))
            read_line(l, text, line);
    }
}

/* ---- what is not sent, in words ---- */

static void add_warning(struct set_loader *l, const char *text)
{
    struct request_set *s = l->set;
    s->warnings[s->warning_count++] = text;
}

/* "uid (750 lines, first in line 1), category (3 lines, first in line 7)" of the keys that are not sent for one reason;
 * null: none. */
static const char *tally_text(const struct set_loader *l, enum unsent why)
{
    struct buf b = {0};
    size_t n = 0;
    for (size_t i = 0; i < l->tally_count; i++) {
        const struct key_tally *t = &l->tallies[i];
        if (t->why != why)
            continue;
        if (n++ < KEYS_TOLD)
            buf_fmt(&b, "%s%s (%zu line%s, first in line %zu)", n > 1 ? ", " : "", t->name, t->lines,
                    t->lines == 1 ? "" : "s", t->first);
    }
    if (n > KEYS_TOLD)
        buf_fmt(&b, " and %zu more", n - KEYS_TOLD + (why == UNSENT_UNKNOWN ? l->other_keys : 0));
    const char *text = n ? arena_text(l->p->arena, buf_text(&b)) : NULL;
    buf_done(&b);
    return text;
}

static void make_warnings(struct set_loader *l)
{
    static const struct {
        enum unsent why;
        const char *text;
    } reasons[] = {
        {UNSENT_LENGTH, "Lengths in the lines are not sent, because the plan sets requests.lengths.kind"},
        {UNSENT_PLAN, "Keys in the lines are not sent, because the plan sets them for all requests"},
        {UNSENT_OWN,
         "Keys in the lines are not sent, because jtok decides them (each answer is streamed from the served model)"},
        {UNSENT_UNKNOWN, "Keys in the lines are not sent, because they do not belong to a request's body"},
    };

    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        const char *keys = tally_text(l, reasons[i].why);
        if (keys)
            add_warning(l, arena_format(l->p->arena, "%s: %s: %s.", l->plan->requests.file, reasons[i].text, keys));
    }
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* How many of them differ; sorts them. */
static size_t count_different(uint64_t *digests, size_t n)
{
    size_t different = 0;
    qsort(digests, n, sizeof *digests, compare_u64);
    for (size_t i = 0; i < n; i++)
        different += i == 0 || digests[i] != digests[i - 1];
    return different;
}

/* Requests whose prompt an earlier one had: all but the different ones among those sent. */
static size_t count_repeated(const struct request_set *s)
{
    size_t used = s->count < s->row_count ? s->count : s->row_count;
    uint64_t *digests = mem_zero(used + 1, sizeof *digests);
    for (size_t i = 0; i < used; i++)
        digests[i] = s->rows[i].digest;
    size_t different = count_different(digests, used);
    free(digests);
    return s->count - different;
}

static void set_lengths(struct request_set *s, const struct plan_lengths *l)
{
    s->max_tokens = mem_zero(s->count, sizeof *s->max_tokens);
    for (size_t i = 0; i < s->count; i++) {
        int64_t own = l->kind == LENGTH_LINES && s->rows ? request_set_row(s, i)->max_tokens : ABSENT_I64;
        s->max_tokens[i] = own != ABSENT_I64 ? own : request_length(l, i);
        if (s->max_tokens[i] == ABSENT_I64)
            s->total_max_tokens = ABSENT_I64;
        else if (s->total_max_tokens != ABSENT_I64)
            s->total_max_tokens += s->max_tokens[i];
    }
}

/* ---- what a request asks ---- */

int64_t request_length(const struct plan_lengths *l, size_t i)
{
    struct length_law law = length_law_of_output(l);
    return law.kind == LAW_NONE
               ? l->tokens
               : length_law_draw(&law, draw_start((uint64_t)l->seed, DRAW_OUTPUT_LENGTHS, i), OUTPUT_TOKENS_MAX);
}

static uint64_t ids_digest(struct span ids)
{
    uint64_t digest = digest_u64(ids);
    return digest + (digest == 0);
}

static struct request_ask ask_random(const struct request_set *s, size_t i, struct buf *text)
{
    random_prompt_put(&s->random, i, text);
    return (struct request_ask){.ids = buf_span(text),
                                .prompt_tokens = random_prompt_tokens(&s->random, i),
                                .max_tokens = i < s->count ? s->max_tokens[i] : request_length(&s->lengths, i),
                                .digest = ids_digest(buf_span(text))};
}

struct request_ask request_set_ask(const struct request_set *s, size_t i, struct buf *text)
{
    must(s->count > 0);
    buf_clear(text);
    if (!s->rows)
        return ask_random(s, i, text);
    const struct request_row *row = request_set_row(s, i % s->count);
    struct request_ask ask = {.messages = row->messages,
                              .extra = row->extra,
                              .prompt_tokens = ABSENT_I64,
                              .max_tokens = s->max_tokens[i % s->count],
                              .digest = row->digest};
    if (row->prompt.n) {
        struct json j;
        json_init(&j, row->prompt);
        json_next(&j);
        json_text(&j, text);
        ask.prompt = buf_span(text);
    }
    return ask;
}

/* ---- random prompts ---- */

/* The context must hold what is asked: an engine refuses the request else. */
static bool fits_plan(const struct request_set *s, const struct plan *plan, struct problems *p)
{
    int64_t context = plan->engine.context_length;
    for (size_t i = 0; context != ABSENT_I64 && i < s->count; i++) {
        int64_t input = random_prompt_tokens(&s->random, i), output = s->max_tokens[i];
        if (input + (output == ABSENT_I64 ? 1 : output) <= context)
            continue;
        problems_add(
            p, "requests.random.input",
            "Request %zu asks for %lld prompt tokens and %lld output tokens, but the engine's context length is "
            "%lld. Ask for fewer, or raise the context length.",
            i, (long long)input, (long long)(output == ABSENT_I64 ? 1 : output), (long long)context);
        return false;
    }
    return true;
}

static bool make_random(struct request_set *s, const struct plan *plan, struct problems *p)
{
    const struct plan_requests *q = &plan->requests;
    struct request_set made = {.random = q->random, .lengths = q->lengths};
    made.count = q->count == ABSENT_I64 ? RANDOM_COUNT : (size_t)q->count;
    set_lengths(&made, &q->lengths);
    if (!fits_plan(&made, plan, p)) {
        request_set_done(&made);
        return false;
    }
    uint64_t *digests = mem_zero(made.count, sizeof *digests);
    struct buf text = {0};
    for (size_t i = 0; i < made.count; i++) {
        buf_clear(&text);
        random_prompt_put(&made.random, i, &text);
        digests[i] = ids_digest(buf_span(&text));
    }
    made.repeated_prompts = made.count - count_different(digests, made.count);
    free(digests);
    buf_done(&text);
    *s = made;
    return true;
}

static void loader_done(struct set_loader *l)
{
    buf_done(&l->decoded);
    buf_done(&l->names);
    free(l->members);
}

bool request_set_load(struct request_set *s, const struct plan *plan, int stop_fd, struct problems *p)
{
    must(p && p->arena);
    if (plan_is_random(plan))
        return make_random(s, plan, p);
    must(plan->requests.file);
    struct request_set loaded = {0};
    struct set_loader l = {.set = &loaded, .plan = plan, .p = p};
    const char *file = plan->requests.file;
    struct err e;
    if (!file_read_input(file, file_max, stop_fd, &loaded.text, loaded.sha256, &e)) {
        problems_add(p, "requests.file", "%s", e.text);
        request_set_done(&loaded);
        return false;
    }
    const char *form = request_form(buf_span(&loaded.text), file, p->arena);
    if (form) {
        problems_add_at(p, file, 0, 0, NULL, "%s", form);
        request_set_done(&loaded);
        return false;
    }
    read_lines(&l);
    make_warnings(&l);
    loader_done(&l);
    if (l.faults > PROBLEMS_MAX)
        problems_add_at(p, file, 0, 0, NULL, "%zu more lines are wrong.", l.faults - PROBLEMS_MAX);
    if (l.faults == 0 && loaded.row_count == 0)
        problems_add_at(p, file, 0, 0, NULL, "The request set is empty. %s", what_a_line_is);
    if (l.faults || loaded.row_count == 0) {
        request_set_done(&loaded);
        return false;
    }
    loaded.count = plan->requests.count == ABSENT_I64 ? loaded.row_count : (size_t)plan->requests.count;
    loaded.lengths = plan->requests.lengths;
    loaded.repeated_prompts = count_repeated(&loaded);
    set_lengths(&loaded, &plan->requests.lengths);
    *s = loaded;
    return true;
}

void request_set_done(struct request_set *s)
{
    free(s->rows);
    free(s->max_tokens);
    buf_done(&s->text);
    *s = (struct request_set){0};
}
