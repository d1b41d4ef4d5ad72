#include "cli/texts.h"

#include "base/must.h"
#include "report/report.h"
#include "report/table.h"
#include "text/wrap.h"

static const char *text_or(const char *text, const char *otherwise)
{
    return text ? text : otherwise;
}

static const char *watts(struct arena *a, int64_t mw)
{
    return mw == ABSENT_I64 ? "n/a" : arena_format(a, "%.4g W", (double)mw / 1e3);
}

static const char *milliseconds(struct arena *a, int64_t ns)
{
    if (ns == ABSENT_I64)
        return "n/a";
    return arena_format(a, ns < 1000000 ? "%.3f ms" : "%.4g ms", (double)ns / 1e6);
}

static const char *on_or_off(int64_t value)
{
    return value == 1 ? "on" : value == 0 ? "off" : "n/a";
}

static void put_instruments(const struct doctor_gpu *g, struct arena *a, struct buf *out)
{
    static const char *const head[] = {"series", "instrument", "update period", "read p50", "read max"};
    struct table t;
    table_init(&t, a, "lllll");
    for (size_t i = 0; i < SCHEMA_COUNT(head); i++)
        table_cell(&t, head[i]);
    for (size_t i = 0; i < g->instrument_count; i++) {
        const struct doctor_instrument *x = &g->instruments[i];
        table_cell(&t, x->series);
        table_cell(&t, text_or(x->source, "n/a"));
        if (x->probe.supported) {
            table_cell(&t, milliseconds(a, x->probe.period_ns));
            table_cell(&t, milliseconds(a, x->probe.call_p50_ns));
            table_cell(&t, milliseconds(a, x->probe.call_max_ns));
        } else {
            table_cell(&t, "not supported");
        }
        table_end_row(&t);
    }
    table_put(&t, out, 4);
    if (g->power_mw == ABSENT_I64)
        return;
    buf_fmt(out, "    power now %s", watts(a, g->power_mw));
    if (g->buffer_age_ns != ABSENT_I64)
        buf_fmt(out, "; the newest buffer sample is %s old", milliseconds(a, g->buffer_age_ns));
    buf_byte(out, '\n');
}

static void put_processes(const struct doctor_gpu *g, struct buf *out)
{
    buf_str(out, "    compute processes: ");
    if (!g->processes_known)
        buf_str(out, "n/a");
    else if (g->process_count == 0)
        buf_str(out, "none");
    for (size_t i = 0; i < g->process_count; i++) {
        buf_fmt(out, "%s%lld", i ? ", " : "", (long long)g->processes[i].pid);
        if (g->processes[i].memory_bytes != ABSENT_I64)
            buf_fmt(out, " (%lld MiB)", (long long)g->processes[i].memory_bytes >> 20);
    }
    if (g->memory_used_bytes != ABSENT_I64)
        buf_fmt(out, "; memory used %lld MiB", (long long)g->memory_used_bytes >> 20);
    buf_byte(out, '\n');
}

static void put_gpu(const struct doctor_gpu *g, const char *partition, struct arena *a, struct buf *out)
{
    const struct rec_gpu *info = &g->info;
    buf_fmt(out, "\nGPU %lld  %s  %s\n", (long long)info->index, text_or(info->name, "(no name)"),
            text_or(info->uuid, "(can't be read)"));
    if (g->fault)
        return;
    buf_fmt(out, "    %s; limit %s (default %s, range %s to %s); %s %s; persistence %s\n",
            text_or(info->pci, "PCI address n/a"), watts(a, info->power_limit_mw),
            watts(a, info->power_limit_default_mw), watts(a, info->power_limit_min_mw),
            watts(a, info->power_limit_max_mw), text_or(partition, "partition"), on_or_off(info->partitioned),
            on_or_off(info->persistence));
    if (g->instrument_count)
        put_instruments(g, a, out);
    if (g->usable)
        put_processes(g, out);
}

static const char *count_text(struct arena *a, int64_t value)
{
    return value == ABSENT_I64 ? "unlimited or unknown" : arena_format(a, "%lld", (long long)value);
}

static void put_system(const struct doctor_system *s, struct arena *a, struct buf *out)
{
    buf_fmt(out, "\nSystem\n    clock       %s; a read takes %lld ns; timers fire %s late, at most %s\n",
            text_or(s->clock_source, "unknown source"), (long long)s->clock_read_ns,
            milliseconds(a, s->wake_late_p50_ns), milliseconds(a, s->wake_late_max_ns));
    buf_fmt(out, "    open files  limit %s", count_text(a, s->files_soft));
    if (s->files_soft != s->files_hard)
        buf_fmt(out, ", which jtok raises itself up to %s", count_text(a, s->files_hard));
    buf_byte(out, '\n');
    buf_fmt(out, "    ports       %s for connections to one address; listen backlog %s\n", count_text(a, s->ports),
            count_text(a, s->backlog));
    buf_fmt(out, "    processors  %lld\n", (long long)s->cpus);
}

static void put_advice(const struct doctor *d, struct buf *out)
{
    static const char *const heads[] = {"Blocks", "Limits", "Note"};
    if (d->advice_count == 0) {
        buf_str(out, "\nNothing is missing.\n");
        return;
    }
    buf_str(out, "\nWhat is missing, and how to get it\n");
    for (int kind = 0; kind <= ADVICE_NOTE; kind++)
        for (size_t i = 0; i < d->advice_count; i++) {
            const struct advice *x = &d->advice[i];
            if ((int)x->kind != kind)
                continue;
            buf_fmt(out, "    %-8s", heads[kind]);
            text_wrap(out, x->text, 12, 12, REPORT_COLUMNS);
            if (x->command)
                buf_fmt(out, "%12s%s\n", "", x->command);
        }
}

void text_doctor(const struct doctor *d, struct arena *a, struct buf *out)
{
    must(d->library || d->gpu_count == 0);
    if (d->library)
        buf_fmt(out, "Driver %s, %s %s, from %s%s\n", text_or(d->driver_version, "n/a"), d->library_name,
                text_or(d->library_version, "n/a"), d->library, d->simulated ? "  [simulated]" : "");
    else
        buf_str(out, "No driver was found.\n");
    for (size_t i = 0; i < d->gpu_count; i++)
        put_gpu(&d->gpus[i], d->partition_name, a, out);
    put_system(&d->system, a, out);
    put_advice(d, out);
    if (d->usable_gpus > 0)
        buf_fmt(out, "\n%lld of %zu GPU%s can be measured.\n", (long long)d->usable_gpus, d->gpu_count,
                d->gpu_count == 1 ? "" : "s");
    else
        buf_str(out, "\nNothing can be measured here.\n");
}
