/* Is what an engine has counted what its clients were told, or that and requests of its own? (METHOD section 8,
 * usage_disagrees) The run ends its wait by this rule, the analysis judges by it.
 *
 * Some engines generate for themselves: SGLang warms up each tokenizer worker by a request of its own, the last of them
 * after it is ready. Such a surplus is explained where its tokens, and the requests that ended well beside ours, are
 * both those of w such requests, and w is no more than can still come. */
#ifndef JTOK_RULES_USAGE_H
#define JTOK_RULES_USAGE_H

#include <stdbool.h>
#include <stdint.h>

/* Since the engine began. Whole numbers; NaN: not known. */
struct usage_count {
    double tokens;   /* generated */
    double requests; /* ended well */
};

/* What is known of the engine's own requests; ABSENT_I64, or what can't be a number of any: nothing. */
struct usage_own {
    int64_t tokens; /* of one request */
    int64_t max;    /* requests that can come in the engine's whole life */
};

enum usage_reason {
    USAGE_EQUAL,
    USAGE_EXPLAINED,
    USAGE_FEWER,          /* it counted less than the clients were told */
    USAGE_OWN_UNKNOWN,    /* what this engine generates for itself is not known */
    USAGE_NO_REQUESTS,    /* its count of requests that ended well is not known */
    USAGE_BEFORE_UNKNOWN, /* what it counted before the formal stage is not told by requests of its own */
    USAGE_NOT_A_MULTIPLE, /* the surplus is not the tokens of a whole number of them */
    USAGE_OTHER_REQUESTS, /* another number of requests ended than would explain it */
    USAGE_TOO_MANY,       /* more than can still come */
};

struct usage_verdict {
    enum usage_reason reason;
    double surplus;          /* tokens counted over the formal stage beyond what the clients were told */
    double surplus_requests; /* likewise; NaN: not known */
    int64_t own;             /* requests that explain the surplus: w; 0 unless USAGE_EXPLAINED */
    int64_t seen;            /* requests of its own before the formal stage; ABSENT_I64: can't be told */
};

/* `before` and `after` are what the engine had counted at the formal start and has counted after its end, `told_before`
 * and `told` what its clients were told up to the start and over the formal stage. O(1). */
struct usage_verdict usage_judge(struct usage_count before, struct usage_count after, struct usage_count told_before,
                                 struct usage_count told, struct usage_own own);

/* Equal, or explained. */
bool usage_agrees(const struct usage_verdict *v);

#endif
