#include "model/record.h"

#include <string.h>

const char *const mark_names[] = {"baseline_start", "baseline_end",    "service_start",
                                  "ready",          "warmup_start",    "warmup_end",
                                  "formal_start",   "formal_end",      "stop",
                                  "exit",           "memory_released", "power_recovered",
                                  "release_end",    "hold_end",        "release_timeout",
                                  "failed",         "interrupted",     NULL};
const char *const check_outcome_names[] = {"not_checked", "passed",     "failed", "not_recorded",
                                           "not_stated",  "not_judged", NULL};
const char *const milestone_names[] = {"milestone.weights_loaded", "milestone.compiled", "milestone.graphs_captured",
                                       "milestone.serving", NULL};
const char *const verdict_names[] = {"ok",
                                     "not_recorded",
                                     "connect_failed",
                                     "connect_timeout",
                                     "write_timeout",
                                     "head_timeout",
                                     "first_token_timeout",
                                     "idle_timeout",
                                     "total_timeout",
                                     "http_status",
                                     "http_malformed",
                                     "too_large",
                                     "truncated",
                                     "reset",
                                     "not_streamed",
                                     "bad_event",
                                     "error_in_stream",
                                     "bad_usage",
                                     "no_usage",
                                     "no_tokens",
                                     "no_output",
                                     "no_finish",
                                     "cancelled",
                                     NULL};
const char *const request_stage_names[] = {"ready", "warmup", "formal", NULL};
const char *const chunk_kind_names[] = {"role", "text", "reasoning", "held", "finish", "usage", "other", NULL};
const char *const chunk_stamp_names[] = {"kernel", "shared", "read", NULL};

/* NVML's PowerUsage, from Ampere on; other libraries' names say it. */
bool power_source_is_averaged(const char *source)
{
    return source && (strcmp(source, "power_usage") == 0 || strncmp(source, "averaged", 8) == 0);
}

int64_t records_mark(const struct records *r, int id)
{
    for (size_t i = r->mark_count; i-- > 0;)
        if (r->marks[i].id == id)
            return r->marks[i].t_ns;
    return ABSENT_I64;
}

struct rec_request rec_request_absent(void)
{
    const int64_t none = ABSENT_I64;
    return (struct rec_request){.status = -1,
                                .connect_ns = none,
                                .connected_ns = none,
                                .submit_ns = none,
                                .sent_ns = none,
                                .head_ns = none,
                                .role_ns = none,
                                .first_ns = none,
                                .first_visible_ns = none,
                                .last_ns = none,
                                .finish_ns = none,
                                .usage_ns = none,
                                .end_ns = none,
                                .closed_ns = none,
                                .prompt_tokens = none,
                                .completion_tokens = none,
                                .reasoning_tokens = none,
                                .cached_tokens = none,
                                .max_tokens = none,
                                .finish_reason = ""};
}
