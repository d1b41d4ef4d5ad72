/* One configuration in the words of each engine: from engine.settings to its command, and back. */
#include <string.h>
#include "base/must.h"
#include "base/num.h"
#include "engine/table.h"

/* ---- from a command ---- */

/* What a command says of a setting, as engine.settings would; null: nothing. */
struct setting_said {
    const char *value, *option;
};

/* "8k" as a number; others as they stand. "-1" is no size. */
static const char *plain_value(const char *text, struct arena *a)
{
    size_t n = strlen(text);
    if (text[0] == '-')
        return NULL;
    if (n < 2 || !strchr("kKmMgG", text[n - 1]) || argument_count(text) == ABSENT_I64)
        return text;
    return arena_format(a, "%lld", (long long)argument_count(text));
}

/* One name for each format, where people and engines have several. On NVIDIA's GPUs fp8 alone is e4m3. */
static const char *plain_format(enum plan_setting setting, const char *text)
{
    static const char *const names[][2] = {{"bf16", "bfloat16"}, {"fp16", "float16"},  {"half", "float16"},
                                           {"fp32", "float32"},  {"float", "float32"}, {"fp8", "fp8_e4m3"}};
    bool cache = setting == SETTING_KV_DTYPE;
    for (size_t i = 0; (cache || setting == SETTING_DTYPE) && i < sizeof names / sizeof *names; i++)
        if (strcmp(text, names[i][0]) == 0 && (cache || i < 5))
            return names[i][1];
    return text;
}

/* From ours to the engine's own (from 0), or back (from 1). */
static const char *translated(const struct engine_setting *s, const char *text, size_t from)
{
    for (size_t i = 0; s->words && s->words[i][0]; i++)
        if (strcmp(text, s->words[i][from]) == 0)
            return s->words[i][1 - from];
    return text;
}

static struct setting_said switch_said(const struct plan *p, const struct engine_setting *s, struct arena *a)
{
    size_t on_at = 0, off_at = 0;
    const char *equals = s->off ? strchr(s->off, '=') : NULL;
    const char *off_name = equals ? arena_copy(a, s->off, (size_t)(equals - s->off)) : s->off;
    const char *on = s->option ? command_option(p, s->option, false, a, &on_at) : NULL;
    const char *off = off_name ? command_option(p, off_name, equals != NULL, a, &off_at) : NULL;
    if (equals && off && strcmp(off, equals + 1) != 0)
        return (struct setting_said){"on", off_name};
    if (off && (!on || off_at > on_at))
        return (struct setting_said){"off", off_name};
    return on ? (struct setting_said){"on", s->option} : (struct setting_said){0};
}

/* How many GPUs one copy's experts lie on where they lie on all. */
static int64_t experts_of(int64_t tensor, int64_t data)
{
    bool small = tensor <= 1024 && data <= 1024;
    return small ? (tensor > 0 ? tensor : 1) * (data > 0 ? data : 1) : ABSENT_I64;
}

static struct setting_said slots_said(const struct plan *p, const struct engine_setting *s, const char *value,
                                      struct arena *a)
{
    size_t at;
    int64_t whole = argument_count(value), slots = ABSENT_I64;
    for (const struct engine_setting *o = engine_of(p)->settings; o->setting != SETTING_COUNT; o++) {
        const char *text = o->setting == SETTING_MAX_RUNNING ? command_option(p, o->option, true, a, &at) : NULL;
        slots = text ? argument_count(text) : slots;
    }
    if (whole == ABSENT_I64 || slots == ABSENT_I64 || slots < 1)
        return (struct setting_said){arena_format(a, "%s for all requests together", value), s->option};
    return (struct setting_said){arena_format(a, "%lld", (long long)(whole / slots)), s->option};
}

static struct setting_said row_said(const struct plan *p, const struct engine_setting *s, struct arena *a)
{
    size_t at;
    if (s->form == FORM_SWITCH)
        return switch_said(p, s, a);
    const char *value = command_option(p, s->option, s->form != FORM_EXPERTS, a, &at);
    if (!value)
        return (struct setting_said){0};
    if (s->form == FORM_EXPERTS) {
        struct engine_command c = command_read(p, a);
        int64_t experts = experts_of(c.tensor_parallel, c.data_parallel);
        return (struct setting_said){arena_format(a, "%lld", (long long)experts), s->option};
    }
    if (s->form == FORM_SLOTS)
        return slots_said(p, s, value, a);
    if (strcmp(value, "auto") == 0)
        return (struct setting_said){0};
    value = plain_value(plain_format(s->setting, translated(s, value, 1)), a);
    const char *second = s->form == FORM_BOTH && value ? command_option(p, s->off, true, a, &at) : NULL;
    if (s->form == FORM_BOTH && value &&
        !(second && strcmp(plain_format(s->setting, translated(s, second, 1)), value) == 0))
        value = arena_format(a, "%s, but %s is %s", value, s->off, second ? second : "not set");
    return value ? (struct setting_said){value, s->option} : (struct setting_said){0};
}

/* The first row of a setting, by which it is launched; null: the engine has none. */
static const struct engine_setting *setting_row(const struct engine *g, enum plan_setting setting)
{
    for (const struct engine_setting *s = g->settings; s && s->setting != SETTING_COUNT; s++)
        if (s->setting == setting)
            return s;
    return NULL;
}

static struct setting_said command_says(const struct plan *p, enum plan_setting setting, struct arena *a)
{
    struct setting_said said = {0};
    for (const struct engine_setting *s = engine_of(p)->settings; s && s->setting != SETTING_COUNT; s++)
        if (s->setting == setting && !said.value)
            said = row_said(p, s, a);
    return said;
}

/* ---- to a command ---- */

enum { WORDS_ADDED = 48 };

struct making {
    struct plan *plan;
    const struct engine *engine;
    struct arena *arena;
    const char **words; /* room for WORDS_ADDED more than the plan's */
    size_t n;
    const char *wanted[SETTING_COUNT];
    const char *notes[SETTING_COUNT + 1];
    size_t note_count;
    bool in_shell;
};

static void add_command_word(struct making *m, const char *word)
{
    must(word && m->n < m->plan->engine.command_count + WORDS_ADDED);
    m->words[m->n++] = word;
}

static void add_remark(struct making *m, const char *text)
{
    must(m->note_count < SETTING_COUNT);
    m->notes[m->note_count++] = text;
}

/* The same, or the same number, or the same number format. */
static bool same_value(const char *x, const char *y)
{
    double a, b;
    if (num_f64(span_of(x), &a) && num_f64(span_of(y), &b))
        return a == b;
    return strcasecmp(precision_name(x), precision_name(y)) == 0;
}

/* What engine.settings wants, with what the plan says of sizes under engine; absent and 1 are its defaults. */
static bool find_wanted(struct making *m, struct err *e)
{
    const struct plan_engine *g = &m->plan->engine;
    const int64_t sizes[] = {[SETTING_CONTEXT] = g->context_length,
                             [SETTING_TENSOR] = g->tensor_parallel,
                             [SETTING_PIPELINE] = g->pipeline_parallel,
                             [SETTING_DATA] = g->data_parallel};
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const char *text = plan_setting_text(m->plan, (enum plan_setting)i, m->arena);
        m->wanted[i] = text ? plain_format((enum plan_setting)i, text) : NULL;
        bool sized = i < sizeof sizes / sizeof *sizes && sizes[i] != ABSENT_I64 && sizes[i] > 1;
        const char *size = sized ? arena_format(m->arena, "%lld", (long long)sizes[i]) : NULL;
        if (size && m->wanted[i] && strcmp(size, m->wanted[i]) != 0)
            return err_set(
                e, ERR_PLAN,
                "The plan's engine.settings.%s is %s, but engine.%s is %s. Make them agree, or leave the second out.",
                plan_setting_names[i], m->wanted[i], plan_setting_names[i], size);
        m->wanted[i] = m->wanted[i] ? m->wanted[i] : size;
    }
    return true;
}

static int64_t wanted_number(const struct making *m, enum plan_setting setting, int64_t otherwise)
{
    int64_t value;
    return m->wanted[setting] && num_i64(span_of(m->wanted[setting]), &value) ? value : otherwise;
}

/* The value that this engine's option gets for a wanted one; null: it can't have it. */
static const char *wanted_option(const struct making *m, const struct engine_setting *s, const char *wanted)
{
    int64_t value = wanted_number(m, s->setting, 0);
    if (s->form == FORM_EXPERTS)
        return value == experts_of(wanted_number(m, SETTING_TENSOR, 1), wanted_number(m, SETTING_DATA, 1)) || value == 1
                   ? wanted
                   : NULL;
    if (s->form != FORM_SLOTS)
        return translated(s, wanted, 0);
    int64_t slots = wanted_number(m, SETTING_MAX_RUNNING, 0), all;
    if (slots <= 0 || __builtin_mul_overflow(value, slots, &all))
        return NULL;
    return arena_format(m->arena, "%lld", (long long)all);
}

static void add_setting(struct making *m, const struct engine_setting *s, const char *value)
{
    const char *word = s->option;
    if (s->form == FORM_SWITCH)
        word = strcmp(value, "on") == 0 ? s->option : s->off;
    if (s->form == FORM_EXPERTS && strcmp(value, "1") == 0)
        word = NULL;
    if (word)
        add_command_word(m, word);
    if (word && s->form != FORM_SWITCH && s->form != FORM_EXPERTS)
        add_command_word(m, value);
    if (s->form == FORM_BOTH) {
        add_command_word(m, s->off);
        add_command_word(m, value);
    }
}

static const char *why_unmapped(const struct making *m, enum plan_setting setting)
{
    const struct engine_setting *s = setting_row(m->engine, setting);
    if (s && s->form == FORM_EXPERTS)
        return "its experts lie on all GPUs of tensor and data parallel, or on one";
    if (s && s->form == FORM_SLOTS)
        return "its option is for all requests that run at once together, so max_running must be set beside it";
    return "it has no option for that";
}

/* One wanted setting: said already, added, or not to be had. */
static bool take_setting(struct making *m, enum plan_setting setting, struct err *e)
{
    const char *wanted = m->wanted[setting], *name = plan_setting_names[setting];
    struct setting_said said = command_says(m->plan, setting, m->arena);
    if (said.value && !same_value(said.value, wanted))
        add_remark(m, arena_format(
                          m->arena,
                          "The plan's engine.settings.%s is %s, but the engine's command says %s (%s), and the command "
                          "counts.",
                          name, wanted, said.value, said.option));
    if (said.value)
        return true;
    const struct engine_setting *s = setting_row(m->engine, setting);
    const char *value = s ? wanted_option(m, s, wanted) : NULL;
    if (!value)
        add_remark(m, arena_format(m->arena, "The plan's engine.settings.%s (%s) can't be had from %s: %s.", name,
                                   wanted, m->engine->name, why_unmapped(m, setting)));
    else if (m->in_shell)
        return err_set(e, ERR_PLAN,
                       "The plan's engine.settings.%s can't be added to a command that a shell reads as one text. "
                       "Write %s %s into that text, or give the command as a list.",
                       name, s->option ? s->option : s->off, value);
    else
        add_setting(m, s, value);
    return true;
}

/* Options are known for one version. */
static bool version_known(const struct making *m, struct err *e)
{
    const char *stated = m->plan->engine.version, *known = m->engine->settings_version;
    if (!m->engine->settings)
        return err_set(
            e, ERR_PLAN,
            "The plan's engine.settings can't be turned into options: jtok knows none of the kind %s. Write them into "
            "engine.command, or set engine.kind.",
            m->engine->name);
    if (!stated || !known || version_same(known, stated))
        return true;
    return err_set(
        e, ERR_PLAN,
        "The plan's engine.settings can't be turned into options of %s %s: jtok knows those of %s. Write them into "
        "engine.command, or leave engine.version out.",
        m->engine->name, stated, known);
}

/* Where the model belongs in a command that jtok makes, or whose last word asks for it. */
static void add_model(struct making *m)
{
    const struct plan_model *model = &m->plan->model;
    const char *name = model->snapshot ? model->snapshot : model->id;
    bool behind_word = m->engine->model_word && m->n && strcmp(m->words[m->n - 1], m->engine->model_word) == 0;
    bool repository = !model->snapshot && engine_option_name(m->engine, ARGUMENT_REPOSITORY);
    if (!behind_word)
        add_command_word(m, engine_option_name(m->engine, repository ? ARGUMENT_REPOSITORY : ARGUMENT_MODEL));
    add_command_word(m, name);
    if (!model->snapshot && model->revision && engine_option_name(m->engine, ARGUMENT_REVISION)) {
        add_command_word(m, engine_option_name(m->engine, ARGUMENT_REVISION));
        add_command_word(m, model->revision);
    }
}

static bool has_model_word(const struct making *m)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->engine->model_word && strcmp(m->words[i], m->engine->model_word) == 0)
            return true;
    return false;
}

/* A command without a model that ends where it belongs, or of a program that takes it as an option. */
static bool lacks_model(const struct making *m)
{
    size_t first;
    struct engine_command c = command_read(m->plan, m->arena);
    struct command_words w = command_words(m->plan, m->arena);
    bool started = command_engine(&w, &first) == m->engine;
    bool ends_open = m->engine->model_word && strcmp(m->words[m->n - 1], m->engine->model_word) == 0;
    return !c.model && !c.repository && !c.in_shell && (ends_open || (started && !has_model_word(m)));
}

static bool begin_command(struct making *m, struct err *e)
{
    const struct plan *p = m->plan;
    const char *const *word = m->engine->launch;
    if (!word || !(p->model.snapshot || p->model.id))
        return err_set(e, ERR_PLAN,
                       "The plan has no command that starts the engine. Write it after --, as in `jtok run -- vllm "
                       "serve MODEL`, or set engine.command. jtok makes one where it knows the engine (--engine or "
                       "engine.kind: vllm, sglang or llamacpp) and the model (model.id or model.snapshot).");
    for (; *word && !p->engine.container.own_entrypoint; word++)
        add_command_word(m, *word);
    add_model(m);
    if (m->engine->metrics_option)
        add_command_word(m, m->engine->metrics_option);
    return true;
}

bool engine_make_command(struct plan *p, struct arena *a, const char *const **ret_notes, struct err *e)
{
    must(p && a && ret_notes && e);
    struct plan_engine *g = &p->engine;
    struct making *m = arena_alloc(a, sizeof *m);
    *m = (struct making){.plan = p, .arena = a, .n = g->command_count};
    *ret_notes = m->notes;
    bool made = g->command_count == 0;
    if (!made && !plan_has_settings(p))
        return true;
    m->engine = engine_of(p);
    m->words = arena_array(a, m->n + WORDS_ADDED + 1, sizeof *m->words);
    if (!made)
        memcpy(m->words, g->command, m->n * sizeof *m->words);
    if ((made && !begin_command(m, e)) || (plan_has_settings(p) && !version_known(m, e)) || !find_wanted(m, e))
        return false;
    m->in_shell = command_read(p, a).in_shell;
    if (!made && (p->model.snapshot || p->model.id) && lacks_model(m))
        add_model(m);
    for (size_t i = 0; i < SETTING_COUNT; i++)
        if (m->wanted[i] && !take_setting(m, (enum plan_setting)i, e))
            return false;
    g->command = m->words;
    g->command_count = m->n;
    return true;
}

/* ---- what holds ---- */

#define BY_COMMAND " (command)"
#define BY_DEFAULT " (default)"
#define NOT_KNOWN  "not known"
#define NO_OPTION  " (asked for, and not to be had)"

static const char *with_sense(const char *value, const struct engine_setting *s, struct arena *a)
{
    return s && s->sense ? arena_format(a, "%s, %s", value, s->sense) : value;
}

static const char *text_in_force(const struct plan *p, enum plan_setting setting, struct arena *a)
{
    const struct engine *g = engine_of(p);
    const struct engine_setting *s = setting_row(g, setting);
    struct setting_said said = command_says(p, setting, a);
    const char *wanted = plan_setting_text(p, setting, a), *version = p->engine.version;
    bool other = version && g->settings_version && !version_same(g->settings_version, version);
    if (said.value)
        return arena_format(a, "%s" BY_COMMAND, with_sense(said.value, s, a));
    if (wanted && !(s && s->preset && same_value(wanted, s->preset)))
        return arena_format(a, "%s" NO_OPTION, plain_format(setting, wanted));
    if (!s)
        return NULL;
    if (!s->preset || other)
        return NOT_KNOWN;
    int64_t copies = s->form == FORM_COPIES ? command_read(p, a).data_parallel : 1;
    const char *preset = copies > 1 ? arena_format(a, "%lld", (long long)copies) : s->preset;
    return arena_format(a, "%s" BY_DEFAULT, with_sense(preset, s, a));
}

void engine_state_settings(struct plan *p, struct arena *a)
{
    must(a);
    const struct engine *g = engine_of(p);
    p->engine.in_force_count = 0;
    if (!g->settings)
        return;
    struct field_pair *list = arena_array(a, SETTING_COUNT + 1, sizeof *list);
    size_t n = 0;
    if (g->settings_version)
        list[n++] = (struct field_pair){"defaults_of", arena_format(a, "%s %s", g->name, g->settings_version)};
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const char *text = text_in_force(p, (enum plan_setting)i, a);
        if (text)
            list[n++] = (struct field_pair){plan_setting_names[i], text};
    }
    p->engine.in_force = list;
    p->engine.in_force_count = n;
}

struct span engine_setting_value(const char *text)
{
    static const char *const ends[] = {BY_COMMAND, BY_DEFAULT};
    size_t n = strlen(text);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t k = strlen(ends[i]);
        if (n > k && strcmp(text + n - k, ends[i]) == 0)
            return (struct span){text, n - k};
    }
    return (struct span){text, n};
}
