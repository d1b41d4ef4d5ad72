#include "cli/commands.h"

#include <stdio.h>
#include <string.h>
#include "cli/args.h"
#include "app/doctor.h"
#include "cli/exit.h"
#include "cli/show.h"
#include "text/json.h"

enum { COLUMNS = 100 };

static const int64_t probe_full_ns = INT64_C(3000000000);

static const char *text_or(const char *text, const char *otherwise)
{
    return text ? text : otherwise;
}

/* ---- text ---- */

static void put_w(struct buf *b, int64_t mw)
{
    if (mw == ABSENT_I64)
        buf_str(b, "n/a");
    else
        buf_fmt(b, "%.4g W", (double)mw / 1e3);
}

static void put_ms(struct buf *b, int64_t ns)
{
    if (ns == ABSENT_I64)
        buf_str(b, "n/a");
    else if (ns < 1000000)
        buf_fmt(b, "%.3f ms", (double)ns / 1e6);
    else
        buf_fmt(b, "%.4g ms", (double)ns / 1e6);
}

static void put_padded(struct buf *out, struct buf *cell, int width)
{
    buf_fmt(out, "%-*s", width, buf_text(cell));
    buf_clear(cell);
}

/* "  counter   energy counter, mJ     100.1 ms     4.12 ms     18.2 ms" */
static void put_reading(struct buf *b, const char *series, const char *source, const struct probe_instrument *r)
{
    struct buf cell = {0};
    buf_fmt(b, "    %-9s%-30s", series, source);
    if (!r->supported) {
        buf_str(b, "not supported\n");
        return;
    }
    put_ms(&cell, r->period_ns);
    put_padded(b, &cell, 18);
    put_ms(&cell, r->call_p50_ns);
    put_padded(b, &cell, 14);
    put_ms(&cell, r->call_max_ns);
    put_padded(b, &cell, 0);
    buf_byte(b, '\n');
    buf_done(&cell);
}

static void put_probe(struct buf *b, const struct doctor_gpu *g)
{
    const struct probe *p = &g->probe;
    char buffer[64] = "20 ms sample buffer";
    if (p->buffer_depth != ABSENT_I64)
        snprintf(buffer, sizeof buffer, "sample buffer, %lld deep", (long long)p->buffer_depth);
    buf_fmt(b, "    %-9s%-30s%-18s%-14s%s\n", "series", "reading", "a new value each", "a call takes", "at most");
    put_reading(b, "instant", text_or(g->gpu->info.instant_source, "n/a"), &p->power);
    put_reading(b, "counter", "total energy, mJ", &p->counter);
    put_reading(b, "buffer", buffer, &p->buffer);
    if (p->power_mw >= 0) {
        buf_str(b, "    draws ");
        put_w(b, p->power_mw);
        buf_str(b, " now");
        if (p->buffer_age_ns != ABSENT_I64) {
            buf_str(b, "; the newest buffer sample is ");
            put_ms(b, p->buffer_age_ns);
            buf_str(b, " old");
        }
        buf_byte(b, '\n');
    }
}

static void put_processes(struct buf *b, const struct doctor_gpu *g)
{
    buf_str(b, "    compute processes: ");
    if (g->process_count == ABSENT_I64)
        buf_str(b, "n/a");
    else if (g->process_count == 0)
        buf_str(b, "none");
    for (int64_t i = 0; i < g->process_count; i++) {
        buf_fmt(b, "%s%lld", i ? ", " : "", (long long)g->processes[i].pid);
        if (g->processes[i].memory_bytes != ABSENT_I64)
            buf_fmt(b, " (%lld MiB)", (long long)g->processes[i].memory_bytes >> 20);
    }
    if (g->memory_used_bytes != ABSENT_I64)
        buf_fmt(b, "; memory used %lld MiB", (long long)g->memory_used_bytes >> 20);
    buf_byte(b, '\n');
}

static void put_gpu(struct buf *b, const struct doctor_gpu *g, const char *partition)
{
    const struct rec_gpu *info = &g->gpu->info;
    buf_fmt(b, "\nGPU %lld  %s  %s\n", (long long)info->index, text_or(info->name, "(no name)"),
            text_or(info->uuid, "(can't be read)"));
    if (g->gpu->fault)
        return;
    buf_fmt(b, "    %s; limit ", text_or(info->pci, "PCI address n/a"));
    put_w(b, info->power_limit_mw);
    buf_str(b, " (default ");
    put_w(b, info->power_limit_default_mw);
    buf_str(b, ", may be ");
    put_w(b, info->power_limit_min_mw);
    buf_str(b, " to ");
    put_w(b, info->power_limit_max_mw);
    buf_fmt(b, "); %s %s; persistence %s\n", partition ? partition : "partition",
            info->partitioned == 1   ? "on"
            : info->partitioned == 0 ? "off"
                                     : "n/a",
            info->persistence == 1   ? "on"
            : info->persistence == 0 ? "off"
                                     : "n/a");
    if (g->probed)
        put_probe(b, g);
    if (g->usable)
        put_processes(b, g);
}

static void put_count(struct buf *b, int64_t value, const char *unit)
{
    if (value == ABSENT_I64)
        buf_fmt(b, "unlimited or unknown%s", unit);
    else
        buf_fmt(b, "%lld%s", (long long)value, unit);
}

static void put_system(struct buf *b, const struct doctor_system *s)
{
    buf_fmt(b, "\nSystem\n    clock       %s, one reading %lld ns; deadlines met ",
            text_or(s->clock_source, "source unknown"), (long long)s->clock_read_ns);
    put_ms(b, s->wake_late_p50_ns);
    buf_str(b, " late, at most ");
    put_ms(b, s->wake_late_max_ns);
    buf_str(b, "\n    open files  ");
    put_count(b, s->files_soft, " now, ");
    put_count(b, s->files_hard, " at most (jtok raises it by itself)\n");
    buf_str(b, "    ports       ");
    put_count(b, s->ports, " to one address; listen backlog ");
    put_count(b, s->backlog, "\n");
    buf_fmt(b, "    processors  %lld\n", (long long)s->cpus);
}

/* Breaks between words, so that no line is over COLUMNS, and indents all but the first. */
static void put_wrapped(struct buf *b, const char *text, int indent)
{
    int column = indent;
    while (*text) {
        int n = (int)strcspn(text, " ");
        if (column > indent && column + 1 + n > COLUMNS) {
            buf_fmt(b, "\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            buf_byte(b, ' ');
            column++;
        }
        buf_add(b, text, (size_t)n);
        column += n;
        text += n;
        text += strspn(text, " ");
    }
    buf_byte(b, '\n');
}

static void put_advice(struct buf *b, const struct doctor *d)
{
    static const char *const heads[] = {"Blocks", "Limits", "Note"};
    if (d->advice_count == 0) {
        buf_str(b, "\nNothing is missing.\n");
        return;
    }
    buf_str(b, "\nWhat is missing, and how to get it\n");
    for (int kind = ADVICE_BLOCKS; kind <= ADVICE_NOTE; kind++)
        for (size_t i = 0; i < d->advice_count; i++)
            if ((int)d->advice[i].kind == kind) {
                buf_fmt(b, "    %-8s", heads[kind]);
                put_wrapped(b, d->advice[i].text, 12);
                if (d->advice[i].command)
                    buf_fmt(b, "%12s%s\n", "", d->advice[i].command);
            }
}

static void put_text(struct buf *b, const struct doctor *d)
{
    if (d->device) {
        buf_fmt(b, "Driver %s, %s %s, from %s%s\n", text_or(d->device->driver_version, "n/a"), d->device->kind->name,
                text_or(d->device->library_version, "n/a"), text_or(d->device->library, "n/a"),
                d->device->simulated ? "  [simulated]" : "");
        for (size_t i = 0; i < d->device->gpu_count; i++)
            put_gpu(b, &d->gpus[i], d->device->kind->partition);
    } else {
        buf_str(b, "Driver none\n");
    }
    put_system(b, &d->system);
    put_advice(b, d);
    size_t count = d->device ? d->device->gpu_count : 0;
    if (d->usable_count > 0)
        buf_fmt(b, "\n%zu of %zu GPU%s can be measured.\n", d->usable_count, count, count == 1 ? "" : "s");
    else
        buf_str(b, "\nNothing can be measured here.\n");
}

/* ---- JSON ---- */

static void json_i64_or_null(struct json_writer *w, const char *key, int64_t value)
{
    json_put_key(w, key);
    if (value == ABSENT_I64)
        json_put_null(w);
    else
        json_put_i64(w, value);
}

static void json_text_or_null(struct json_writer *w, const char *key, const char *value)
{
    json_put_key(w, key);
    json_put_text(w, value);
}

static void json_bool(struct json_writer *w, const char *key, bool value)
{
    json_put_key(w, key);
    json_put_bool(w, value);
}

static void json_reading(struct json_writer *w, const char *key, const struct probe_instrument *r)
{
    json_put_key(w, key);
    json_put_object(w);
    json_bool(w, "supported", r->supported);
    json_i64_or_null(w, "period_ns", r->period_ns);
    json_i64_or_null(w, "call_p50_ns", r->call_p50_ns);
    json_i64_or_null(w, "call_max_ns", r->call_max_ns);
    json_i64_or_null(w, "calls", r->calls);
    json_i64_or_null(w, "missed", r->missed);
    json_put_object_end(w);
}

static void json_gpu_now(struct json_writer *w, const struct doctor_gpu *g)
{
    json_i64_or_null(w, "memory_used_bytes", g->memory_used_bytes);
    json_put_key(w, "compute_processes");
    if (g->process_count == ABSENT_I64) {
        json_put_null(w);
    } else {
        json_put_array(w);
        for (int64_t i = 0; i < g->process_count; i++) {
            json_put_object(w);
            json_i64_or_null(w, "pid", g->processes[i].pid);
            json_i64_or_null(w, "memory_bytes", g->processes[i].memory_bytes);
            json_put_object_end(w);
        }
        json_put_array_end(w);
    }
    if (!g->probed)
        return;
    json_reading(w, "instant", &g->probe.power);
    json_reading(w, "counter", &g->probe.counter);
    json_reading(w, "buffer", &g->probe.buffer);
    json_i64_or_null(w, "buffer_depth", g->probe.buffer_depth);
    json_i64_or_null(w, "buffer_age_ns", g->probe.buffer_age_ns);
    json_i64_or_null(w, "power_mw", g->probe.power_mw >= 0 ? g->probe.power_mw : ABSENT_I64);
}

static void json_gpu(struct json_writer *w, const struct doctor_gpu *g)
{
    const struct rec_gpu *info = &g->gpu->info;
    json_put_object(w);
    json_i64_or_null(w, "index", info->index);
    json_text_or_null(w, "uuid", info->uuid);
    json_text_or_null(w, "name", info->name);
    json_text_or_null(w, "pci", info->pci);
    json_bool(w, "usable", g->usable);
    json_text_or_null(w, "fault", g->gpu->fault);
    json_i64_or_null(w, "power_limit_mw", info->power_limit_mw);
    json_i64_or_null(w, "power_limit_default_mw", info->power_limit_default_mw);
    json_i64_or_null(w, "power_limit_min_mw", info->power_limit_min_mw);
    json_i64_or_null(w, "power_limit_max_mw", info->power_limit_max_mw);
    json_i64_or_null(w, "memory_total_bytes", info->memory_total_bytes);
    json_i64_or_null(w, "mig", info->partitioned);
    json_i64_or_null(w, "persistence", info->persistence);
    json_i64_or_null(w, "architecture", info->architecture);
    json_text_or_null(w, "instant_source", info->instant_source);
    json_gpu_now(w, g);
    json_put_object_end(w);
}

static void json_system(struct json_writer *w, const struct doctor_system *s)
{
    json_put_key(w, "system");
    json_put_object(w);
    json_text_or_null(w, "clock_source", s->clock_source);
    json_i64_or_null(w, "clock_read_ns", s->clock_read_ns);
    json_i64_or_null(w, "wake_late_p50_ns", s->wake_late_p50_ns);
    json_i64_or_null(w, "wake_late_max_ns", s->wake_late_max_ns);
    json_i64_or_null(w, "open_files_soft", s->files_soft);
    json_i64_or_null(w, "open_files_hard", s->files_hard);
    json_i64_or_null(w, "ports", s->ports);
    json_i64_or_null(w, "listen_backlog", s->backlog);
    json_i64_or_null(w, "processors", s->cpus);
    json_bool(w, "own_pid_namespace", s->own_pid_namespace);
    json_put_object_end(w);
}

static void put_json(struct buf *b, const struct doctor *d)
{
    static const char *const kinds[] = {"blocks", "limits", "note"};
    struct json_writer w;
    json_writer_init(&w, b, 2);
    json_put_object(&w);
    json_text_or_null(&w, "driver_version", d->device ? d->device->driver_version : NULL);
    json_text_or_null(&w, "nvml_version", d->device ? d->device->library_version : NULL);
    json_text_or_null(&w, "library", d->device ? d->device->library : NULL);
    json_bool(&w, "simulated", d->device && d->device->simulated);
    json_i64_or_null(&w, "usable_gpus", (int64_t)d->usable_count);
    json_put_key(&w, "gpus");
    json_put_array(&w);
    for (size_t i = 0; d->device && i < d->device->gpu_count; i++)
        json_gpu(&w, &d->gpus[i]);
    json_put_array_end(&w);
    json_system(&w, &d->system);
    json_put_key(&w, "advice");
    json_put_array(&w);
    for (size_t i = 0; i < d->advice_count; i++) {
        json_put_object(&w);
        json_text_or_null(&w, "kind", kinds[d->advice[i].kind]);
        json_text_or_null(&w, "text", d->advice[i].text);
        json_text_or_null(&w, "command", d->advice[i].command);
        json_put_object_end(&w);
    }
    json_put_array_end(&w);
    json_put_object_end(&w);
    buf_byte(b, '\n');
}

/* ---- the command ---- */

static int print(const struct doctor *d, bool json)
{
    struct buf out = {0};
    struct err e = {0};
    if (json)
        put_json(&out, d);
    else
        put_text(&out, d);
    bool good = show_flush(&out, &e);
    buf_done(&out);
    if (!good)
        return exit_with(&e);
    return d->usable_count > 0 ? EXIT_OK : EXIT_DEVICE;
}

int cmd_doctor(int argc, char **argv)
{
    const char *format = "text", *library = NULL;
    bool quick = false;
    const struct arg options[] = {
        {"--format", ARG_TEXT, "NAME", "text (default) or json", &format, 0},
        {"--library", ARG_TEXT, "PATH", "the NVML library to load, as the plan's power.library", &library, 0},
        {"--quick", ARG_FLAG, NULL, "measure nothing: leaves out periods and costs, takes no time", &quick, 0}};
    const struct args_spec spec = {
        .command = "doctor",
        .summary =
            "Says what this machine can measure: the driver, each GPU with its limits and how often each reading of "
            "power has a new value and what it costs (measured for 3 s), what is missing and how to get it.",
        .more = "Changes nothing and makes no CUDA context. Exit code 0: at least one GPU can be measured; 4: none.",
        .example = "jtok doctor\njtok doctor --format json",
        .options = options,
        .option_count = sizeof options / sizeof *options};
    struct args args;
    struct doctor d;
    struct err e = {0};
    int code;
    if (!args_take(&spec, argc, argv, &args, &code))
        return code;
    bool json = strcmp(format, "json") == 0;
    if (!json && strcmp(format, "text") != 0) {
        err_set(&e, ERR_USAGE, "doctor: --format is \"%s\"; it can be text or json.", format);
        return exit_with(&e);
    }
    code = doctor_look(&d, library, quick ? 0 : probe_full_ns, &e) ? print(&d, json) : exit_with(&e);
    doctor_done(&d);
    return code;
}
