/* Which run this is, and what ran in it as far as anybody says: the plan, else the engine, else the snapshot (METHOD
 * section 8). */
#ifndef JTOK_ANALYSIS_ABOUT_H
#define JTOK_ANALYSIS_ABOUT_H

#include "model/record.h"
#include "model/result.h"

/* What nobody says is null or NaN, its source too. Texts are the records', lists of the arena. O(facts). */
struct result_about about_of(const struct records *r, struct arena *a);

#endif
