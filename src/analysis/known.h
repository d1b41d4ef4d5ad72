/* What ran, as far as anybody says: the plan, else the engine, else the snapshot (METHOD section 8). */
#ifndef JTOK_ANALYSIS_KNOWN_H
#define JTOK_ANALYSIS_KNOWN_H

#include "model/record.h"
#include "model/result.h"

/* Fills model, precision, engine_version, revision and total_parameters of *ret, each with its source ("plan",
 * "engine", "snapshot", "analyze"); what nobody says stays null or NaN, its source too. Texts are the records'.
 * O(facts). */
void known_fill(const struct records *r, struct result_about *ret);

#endif
