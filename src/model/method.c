#include "model/method.h"

#include <string.h>
#include "base/buf.h"
#include "base/must.h"
#include "model/limits.h"
#include "schema/table.h"
#include "schema/visit.h"

const char *const headline_names[HEADLINE_COUNT + 1] = {
    [HEADLINE_BENCHMARK] = "benchmark-1.5", [HEADLINE_PRECISE] = "precise"};
const char *const rule_names[RULE_COUNT + 1] = {
    [RULE_GAP] = "gap", [RULE_INTERVAL] = "interval", [RULE_REQUEST] = "request", [RULE_WORDS] = "words"};
const char *const steady_k_names[K_COUNT + 1] = {[K_ALL] = "all", [K_1] = "1", [K_2] = "2", [K_3] = "3"};

static const struct field method_fields[] = {
    ENUM_AS("basis", method, headline, headline,
            "Instrument of each stage: the source's (1 s grid for startup and release, counter else), or the 20 ms "
            "buffer scaled by one factor per GPU.",
            DEFAULT(HEADLINE_BENCHMARK)),
    ENUM(method, attribution, rule,
         "Where the tokens of a chunk were generated: in the gap before it, evenly over the request's generation "
         "interval, over the whole request, or at its arrival.",
         DEFAULT(RULE_GAP)),
    ENUM(method, k, steady_k, "Consecutive non-overlapping windows that make a steady state.", DEFAULT(K_2)),
    I64(method, window, "Requests in a window.", RANGE(2, 1000000), DEFAULT(METHOD_WINDOW), FLAGS(FIELD_NEEDED)),
    F64(method, cv_limit, "A window qualifies when its CV is below this.", RANGE(0, 100), DEFAULT(METHOD_CV_LIMIT),
        FLAGS(FIELD_NEEDED)),
    F64(method, saturated_share, "Share of the peak concurrency at which a service counts as saturated.",
        RANGE(0.01, 1), DEFAULT(METHOD_SATURATED_SHARE), FLAGS(FIELD_NEEDED)),
    F64(method, lag_share, "Share of the formal stage idle while owed above which a run is marked delivery_lag.",
        RANGE(0, 1), DEFAULT(METHOD_LAG_SHARE), FLAGS(FIELD_NEEDED)),
    I64(method, merged_tokens, "A later chunk with more tokens than this counts as merged.", RANGE(1, 1000000),
        DEFAULT(METHOD_MERGED_TOKENS), FLAGS(FIELD_NEEDED)),
};
const struct schema method_schema = SCHEMA(method, "Parameters of the analysis; the defaults are the method.");

struct method method_default(void)
{
    struct method m;
    schema_defaults(&method_schema, &m);
    return m;
}

const char *method_differences(const struct method *m, struct arena *a)
{
    must(m && a);
    const struct method standard = method_default();
    struct buf all = {0}, own = {0}, theirs = {0};
    for (const struct field *f = method_fields; f < method_fields + SCHEMA_COUNT(method_fields); f++) {
        const struct slot mine = slot_of(f, m), other = slot_of(f, &standard);
        buf_clear(&own);
        buf_clear(&theirs);
        slot_put(&mine, &own);
        slot_put(&other, &theirs);
        if (strcmp(buf_text(&own), buf_text(&theirs)) != 0)
            buf_fmt(&all, "%s%s=%s", all.n ? ", " : "", f->key, buf_text(&own));
    }
    const char *text = all.n ? arena_copy(a, all.p, all.n) : NULL;
    buf_done(&all);
    buf_done(&own);
    buf_done(&theirs);
    return text;
}

/* ---- decisions ---- */

const struct method_decision method_decisions[] = {
    {"clock.step", "1",
     "A change of over 1 ms in the offset between REALTIME and MONOTONIC from one pair to the next is a clock step: "
     "stamps between those pairs are flagged, and a timing that uses one is null."},
    {"energy.averaged_power", "2",
     "Where NVML's field 186 is not supported, PowerUsage, a one-second average, stands in: the field and scope that "
     "answered are recorded, and the run carries the flag averaged_power and is compared only with runs that do."},
    {"energy.counter_interpolation", "2",
     "The counter is interpolated linearly between its change points: samples that differ from the one before, each "
     "at the middle of its call."},
    {"energy.counter_lock", "2",
     "Counter reads are locked to the counter's own step: its moment of change is found once by reads 5 ms apart, "
     "then each read comes 5 ms after the expected change and is repeated 10 ms later if nothing changed, so that a "
     "change point is right to about 10 ms, not 100 ms."},
    {"energy.counter_void", "2",
     "A counter that goes backward, or is read and stands still for over 0.5 s (to the last equal sample) while a "
     "power series reads above 1 W, is void for that GPU in that stage; it is never clamped. A hole in its reads "
     "loses no energy: it is stored as a gap and voids nothing."},
    {"energy.precise", "2",
     "Basis `precise`: the 20 ms buffer's integral times one factor per GPU and run, the counter over the buffer from "
     "service_start to release_end with the counter evaluated at t + L; never a factor per stage."},
    {"energy.lag", "2",
     "L, the counter's delay, is sought from -20 to 150 ms in steps of 5 ms: the least squared residual between "
     "counter steps and the unscaled buffer's integral over them, over the same steps for every L (ties: the lower "
     "L), refined by a parabola through the least and its two neighbours. At an end of that range it was not found: 0 "
     "is used, and the counter's doubt takes 50 ms."},
    {"energy.marks", "2",
     "Boundary samples, taken at each boundary of a stage and 0.2 s after it, give `benchmark-1.5+marks`, which is "
     "shown beside the headline; headline and rules use the 1 s grid only, and a boundary sample without its partner "
     "is dropped."},
    {"energy.instrument", "2",
     "The instrument doubt says how far a value may be from what the board's own sensor saw, in this run, and means "
     "to hold in at least 95 % of cases. It is made of limits and known differences, not of multiples of a standard "
     "deviation; a known difference is added in full, never in a root."},
    {"energy.instrument_counter", "2",
     "Counter: at each end 10 ms (100 ms where a change point around it was not sampled as locked, repeat or "
     "boundary) times the mean power within 0.2 s of it, and |L| plus a quarter of the distance of those change "
     "points, times the step of the power there; the root of the sum of squares."},
    {"energy.instrument_precise", "2",
     "Precise: the largest less the least, from 5 s before the stage to 5 s after it, of the counter at t + L minus "
     "the scaled integral of the buffer, once at each change point between service_start and release_end. Buffer: |1 "
     "- factor| times its energy, plus the doubt of precise."},
    {"energy.instrument_grid", "2",
     "Grid, with boundary samples likewise: its difference to precise plus the doubt of precise, for each GPU whose "
     "buffer covers the stage (both ends, no gap over 60 ms); else its difference to the counter plus the counter's "
     "doubt; with neither the root of 2 sum (T dP)^2 over the sampling intervals that touch it, for startup, formal "
     "stage and lifecycle from ten samples inside on; else none, with the reason."},
    {"energy.sums", "2",
     "In a sum over GPUs or stages, known differences are added with their signs first and count once; what is left "
     "over adds by the root of the sum of squares, for a lifecycle one term a GPU and not one a stage. Successive "
     "differences take an interval that two stages touch once, and add linearly over GPUs, which are sampled in one "
     "phase."},
    {"energy.tokens_edge", "2",
     "J/token of a window that cuts streams adds the tokens' edge linearly: each end that cuts streams is moved on "
     "its own from -50 to +50 ms in steps of 1 ms, and half of the largest less the least J/token is taken."},
    {"energy.calibration", "2",
     "The calibration doubt is an assumed limit of the board's sensor: the larger of 6 % and 5 W times the duration, "
     "for each GPU, once for the interval asked; a calibration in the plan replaces it. It is fully correlated over "
     "boards of one type: it adds linearly and cancels in a ratio on the same boards."},
    {"energy.between_runs", "2",
     "How far runs of one plan differ is known from repetitions only; a single run has no such figure and says so "
     "wherever its number stands."},
    {"stage.release_end", "3",
     "release_end is the latest of exit, memory released and power recovered; the 30 s of proof are the hold, stored "
     "and not counted."},
    {"stage.baseline", "3",
     "A baseline is idle when a GPU has no compute process, its utilisation is 0, the population standard deviation "
     "of its power is within the larger of 2 % and 1 W, and the time-weighted means of its two halves are within the "
     "larger of 2 % and 1 W of each other."},
    {"stage.baseline_window", "3",
     "A baseline window starts at the latest sample of a tick, so that every GPU is covered, and the last one starts "
     "at most 120 s after the first; 2 % is of the window's mean. Utilisation or processes that can't be read at any "
     "of its samples make it not recorded, at some of them a failure."},
    {"stage.ticks", "3",
     "GPUs are sampled at phases of their own; samples belong to one tick when they are nearest to it, up to half a "
     "period late. The latest stamp of a tick counts, and the hold is proven by a sample at or after its end."},
    {"stage.hold", "3",
     "A missing sample (null, or a hole of over 2.5 periods) or an excursion out of the band starts the hold again. "
     "An excursion later than exit and memory release is counted, printed and flagged hold_restarted, with the energy "
     "up to the first sample in band beside."},
    {"stage.recovery_resolution", "3",
     "Power recovery has the grid's resolution: one period times the baseline's power is printed beside the release "
     "energy, apart from its doubt."},
    {"stage.not_closed", "3",
     "Where a release did not close, its energy so far ends at the last grid sample; L, factor and the drift between "
     "counter and buffer end at the lesser of the last change point less 150 ms and the last buffer sample."},
    {"stage.phases", "3",
     "An engine's log cuts the startup into phases at the first occurrence of each milestone, in order; each has "
     "seconds, joules and watts by precise, what has no milestone is the rest, and they add up to the stage. No check "
     "uses them."},
    {"stage.waits", "3",
     "After the last request the engine's token count is scraped at once; where it equals what is known to have been "
     "generated, with or without explained requests, or where a request failed, the stop follows at once; else it is "
     "scraped again, for at most 1 s. Waits between formal_end and stop, and between warm-up and formal_start, are "
     "stored and printed in seconds and joules and never subtracted."},
    {"stage.observer_wait", "3",
     "A stage is flagged observer_wait when jtok's own waits in it took over 2 % of its energy, by precise: after "
     "formal_end all of them, before formal_start what exceeds the 0.3 s of silence."},
    {"stage.warmup", "3",
     "Warm-up: 8 requests at once from a built-in set that shares no prompt with the formal one, 64 output tokens "
     "each."},
    {"stage.memory_by_process", "3",
     "GPU memory is attributed by process, not by the sum: what another user's process holds on a GPU outside the "
     "plan is named and judged by nobody."},
    {"stage.page_cache", "3",
     "The page cache is left as it is, and how much of the snapshot was in it is recorded before anything of it is "
     "read. Reading weights for a digest leaves that as it was; where it can't, the run is flagged page_cache_warmed."},
    {"request.connect_ahead", "4",
     "Connections are opened after the warm-up, in waves, with at least 0.3 s of silence; then all requests are "
     "written in one sweep. A plan may ask for connecting with the request."},
    {"request.tpot", "4",
     "TPOT divides by n - n1, n1 being the tokens of all chunks that share the first stamp; it is undefined, not "
     "zero, for n < 2, for n - n1 of 0 or less, and where the last stamp is the first. Where running counts don't "
     "give n1, it comes from the tokens allotted to chunks and is counted as allotted."},
    {"request.arrivals_merged", "4",
     "A run is flagged arrivals_merged, and its latencies are shown but not compared, where over half of the output "
     "tokens that came after their request's first stamp, or in its only one, came in stamps of over max(8, 2 x the "
     "stated stream interval) tokens of one request."},
    {"request.itl", "4",
     "Where running counts are known, each of a chunk's k tokens has an ITL of one k-th of the chunk's gap; else the "
     "chunk gap itself is shown under its own name. Gaps with a shared stamp at either end are left out and counted."},
    {"request.chunk_tokens", "4",
     "Without running counts a request's usage is allotted to its token chunks in proportion to their bytes: floors, "
     "largest remainders (ties: the earlier), then one token for each chunk left empty, from the chunk with the most."},
    {"request.repeated_prompts", "4",
     "A run with repeated prompts and the prefix cache on is compared only with its like."},
    {"request.verdicts", "4",
     "One reason per failed request: the first fault in time. Other requests go on; no request is sent twice, but a "
     "connection opened ahead that the server closes before it is used is opened again."},
    {"request.usage", "4",
     "Usage is the last non-null one: an integer from 1 to 2^31 - 1, at most the request's max_tokens where that is "
     "set, not below an earlier running count. Without a token chunk a request fails, as no_output where usage counts "
     "a token, else as no_tokens."},
    {"request.whole_answer", "4",
     "An answer whose usage came with or after its finish reason is a success, noted, however its connection then "
     "ends; what follows [DONE] is counted and never judged. An event that can't be read is a failure even if the "
     "rest is complete."},
    {"attribution.curve", "5",
     "E(t) is the buffer, scaled once so that the formal stage equals its counter energy; else the counter's change "
     "points; else the trapezoid over the grid. Which one it was is recorded."},
    {"attribution.readings", "5",
     "Four rules for where a chunk's tokens were generated are computed and listed: gap (the method's own), interval, "
     "request and words."},
    {"steady.cv", "6", "CV is the population standard deviation over the mean."},
    {"steady.k", "6",
     "K = 2 consecutive windows, the fewest that the source allows; 1, 2, 3 and all are listed beside."},
    {"steady.start", "6",
     "The steady window starts at the completion of the first request of the first qualifying window."},
    {"steady.saturated", "6",
     "Saturated: from the first to the last moment at or above 85 % of the peak number of requests within their "
     "generation interval; shown beside, never instead. It means something only where requests waited: the peak is "
     "below the number of successful requests that have a generation interval, or the engine counted waiting requests "
     "in over half of its scrapes in that window; else the result says so."},
    {"steady.delivery_lag", "6",
     "Delivery lag: over 1 % of the formal stage, counted from 1 s after its start, in which a request is outstanding "
     "while every GPU with a ready level above 0 is below 1.15 times that level. Stretches are joined over up to 0.1 "
     "s of mean power below it; a buffer sample stands for the time until the next, and a hole of over 60 ms counts "
     "as nothing. A request is outstanding until formal_end."},
    {"metrics.e_ss", "7",
     "The estimate's energy per request is steady-state J/token times the mean output tokens of all successful formal "
     "requests; without a steady value, or with one that is excluded, E(formal)/requests is used and named."},
    {"metrics.beside", "7",
     "Formal-stage J/token, J/request, tokens per kWh, J per input and output token, energy per visible token where "
     "known, and the N at which overhead falls under 1, 5 and 10 % are shown beside the source's metrics."},
    {"check.not_stated", "8",
     "What a plan does not state is not stated: nothing was compared, so nothing passed. What a rule leaves out, or a "
     "flag names as a gap, is not judged. Neither excludes a run."},
    {"check.identity_sources", "8",
     "A formal run names model id, precision and engine version (or image digest). Where the plan is silent they come "
     "from the snapshot or the engine, with the source of each; where neither has one, the run is excluded as "
     "identity_unknown. Total parameters come from the plan, the snapshot's tensor headers, or `analyze`; unknown, "
     "they keep a run out of ranks only."},
    {"check.gpu_memory", "8",
     "The engine holds a GPU when its own processes hold memory there; where process ids can't be told apart, when "
     "memory grew by over 64 MiB, the limit of the release."},
    {"check.counter_disagrees", "8",
     "For each GPU, unscaled buffer and counter at t + L over 1 % apart on startup or formal stage exclude a run; "
     "stages under 10 s are reported, not judged. Errors of opposite sign never cancel."},
    {"check.grid_disagrees", "8",
     "For each GPU, grid and unshifted counter apart on the formal stage by over the larger of 10 % and twice the "
     "grid's successive differences exclude a run; a stage under 10 s is reported, not judged."},
    {"check.no_buffer", "8",
     "A board without the 20 ms buffer is judged by grid against counter alone, and the run is flagged no_buffer."},
    {"check.power_range", "8",
     "Power is below idle when it is below the GPU's baseline by more than the larger of 2 % and 1 W, and too high "
     "above 1.1 times the enforced limit."},
    {"check.sensor_follows", "8",
     "While tokens were generated the GPUs together must be above their ready level, and each that the engine holds "
     "memory on above its baseline, by more than the larger of 2 % and 1 W: else a sensor does not follow the load. A "
     "ready level that is unknown is not judged."},
    {"check.usage", "8",
     "Server-side generated tokens equal client usage where no request failed, and are within 2 % of it else."},
    {"check.usage_before", "8",
     "The engine's count before the formal stage is its last answer after the warm-up; without one, the usage of "
     "readiness and warm-up, as a cold engine counts from zero."},
    {"check.own_requests", "8",
     "Tokens that an engine generates for itself are explained, and the run is flagged engine_own_requests, where the "
     "engine kind states their number t for its version, the surplus is w times t, w is at most the workers less "
     "those seen before the formal stage, the engine's count of requests that ended well exceeds ours by the same w, "
     "and no request failed."},
    {"check.failed", "8", "More failed requests than the plan's limit (1 % by default) exclude a run."},
    {"check.not_verifiable", "8",
     "A property that the engine gives no way to check is named by a flag and not judged; what could be checked "
     "decides. So is the engine's token count, where it keeps none."},
    {"check.records", "8",
     "Every row is checked when it is read, and the tables against each other: requests with their chunks, boundaries "
     "with their requests, each file with the rows that were counted while it was written. What is contradicted is "
     "left out and named, the run is not formal, and no value of it is called measured."},
    {"check.client_limited", "8",
     "The client was the bottleneck when its loop used over 90 % of a core, handled arrivals over 20 ms late at P99, "
     "or needed over 1 s from first to last submission."},
    {"compare.same_work", "9",
     "The same work is what was asked, request by request and in order (messages or prompt, length, temperature, "
     "top-p, seed, API, extra body, thinking setting), not the file it came from."},
    {"compare.same_machine", "9",
     "The same machine is GPU model and count, enforced power limit (also on the same UUIDs), MIG, and the source of "
     "the instant power; host, driver and CPU are shown where they differ."},
    {"compare.boards", "9",
     "On the same boards the calibration doubt cancels in a ratio and scales a difference; on others both add."},
    {"compare.repetitions", "9",
     "Repetitions are runs whose frozen plans are the same but for what names a run or a place, and whose inherited "
     "variables that can change an engine's work have the same values; anything else is refused as a repetition, with "
     "the difference."},
    {"compare.interval", "9",
     "With n >= 2 repetitions: mean, sample standard deviation and Student's t for a 95 % interval of the mean, on "
     "logarithms for ratios."},
    {"compare.pair", "9",
     "For a pair of set-ups Welch's 95 % interval of the ratio decides, from three runs a side, with its degrees of "
     "freedom rounded down. A permutation p is shown with its smallest possible value and decides nothing; runs that "
     "were not taken in turn (A B B A) are said to be so."},
    {"compare.one_run", "9", "One run a side: the difference is printed with the instrument doubt, never a verdict."},
    {"compare.same_load", "9",
     "Valid runs are compared with valid ones of the same object, load by load where both have the same: kind, its "
     "setting, arrivals and seed, count, time, limits of a good request. The output tokens that must agree are those "
     "per "
     "request that ended well. Commands are the same by their words and exit status. A life with loads whose baseline "
     "or "
     "warm-up is shortened is valid, says so, and is compared with nothing."},
    {"compare.gate", "9",
     "A gate names its one metric beforehand: passed where the upper end of the interval is under the limit, failed "
     "where the lower end is over it, else undecided. Under three runs a side it is undecided, unless a spread s (k = "
     "1) is stated: then the interval is +- 2 s sqrt(1/n1 + 1/n2)."},
};
const size_t method_decision_count = SCHEMA_COUNT(method_decisions);

static const struct field method_decision_fields[] = {
    TEXT(method_decision, id, "Name of the decision."),
    TEXT(method_decision, section, "Section of the method."),
    TEXT(method_decision, text, "What was decided."),
};
const struct schema method_decision_schema = SCHEMA(method_decision, "One decision of jtok's own, marked [D].");
