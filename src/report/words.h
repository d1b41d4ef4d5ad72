/* What checks and flags say to a reader who has not read METHOD: a phrase each, without a number.
 *
 * A new check or flag needs a row here; without one this does not compile. */
#ifndef JTOK_REPORT_WORDS_H
#define JTOK_REPORT_WORDS_H

#include <stdbool.h>
#include "model/result.h"

struct check_words {
    enum check_code code;
    bool tells;          /* its own sentence is plain enough for one screen, and says more than the phrase */
    const char *failed;  /* a sentence without its full stop: what is wrong */
    const char *unknown; /* the same where it could not be told */
};

struct flag_words {
    enum flag_code code;
    const char *phrase; /* of a run that carries it */
};

/* CODE_COUNT rows, the likelier cause first: what broke the run, then what makes its numbers another thing than they
 * say. */
extern const struct check_words words_checks[];

/* FLAG_COUNT rows: what changes the numbers most first. */
extern const struct flag_words words_flags[];

/* A stage in one or two plain words: "start", "serve", "stop". */
const char *words_stage(enum stage_id stage);

/* A load without what ends it: "rate 4/s, poisson" of "rate 4/s, poisson, 100 requests, for 10 s". */
const char *words_load(const char *setting, struct arena *a);

#endif
