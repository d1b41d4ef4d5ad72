#include "engine/internal.h"

#include <string.h>

/* Of all engines, as for /metrics: their phrases don't meet. In one engine's own order, newer wordings first. */
static const struct {
    int milestone;
    const char *phrase;
} phrases[] = {
    /* vLLM */
    {MILESTONE_WEIGHTS, "Loading weights took "},
    {MILESTONE_WEIGHTS, "Model loading took "},
    {MILESTONE_COMPILED, "torch.compile took "},
    {MILESTONE_GRAPHS, "Graph capturing finished in "},
    {MILESTONE_SERVING, "Application startup complete"},
    /* SGLang, which serves by the same words, and then warms itself up. */
    {MILESTONE_WEIGHTS, "Load weight end"},
    {MILESTONE_GRAPHS, "Capture target decode CUDA graph end"},
    {MILESTONE_GRAPHS, "Capture cuda graph end"},
};

int engine_milestone(struct span line)
{
    enum { LONGEST = 600 }; /* bytes: lines with news are short */
    for (size_t i = 0; i < sizeof phrases / sizeof *phrases && line.n <= LONGEST; i++)
        if (span_behind(line, phrases[i].phrase).p)
            return phrases[i].milestone;
    return -1;
}
