/* From a run folder to its result and back: what run, analyze, verify and estimate share.
 *
 * The derived documents of a run are result.json, result_requests.csv (one formal request a line) and windows.csv (one
 * window of W requests a line): pure functions of records and method, so they can be recomputed to the byte. */
#ifndef JTOK_CLI_EVALUATE_H
#define JTOK_CLI_EVALUATE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "model/method.h"
#include "model/record.h"
#include "model/result.h"

struct evaluation {
    struct records records;
    struct result result;
};

/* Loads the records and evaluates them under `m`. Writes nothing. Everything lives in the arena. */
bool evaluate_run(const char *folder, const struct method *m, struct arena *a, struct evaluation *ret_evaluation,
                  struct err *e);

enum { EVALUATE_DOCUMENTS = 3 };

struct document {
    const char *name;
    struct buf bytes; /* the caller's: documents_done */
};

void evaluate_documents(const struct result *r, struct document ret_documents[EVALUATE_DOCUMENTS]);
void documents_done(struct document documents[EVALUATE_DOCUMENTS]);

/* Adds the derived documents to a sealed folder (archive_add). */
bool evaluate_store(const char *folder, const struct result *r, struct err *e);

/* Reads result.json of a folder. ERR_RECORDS where there is none, saying how to get it. */
bool evaluate_stored(const char *folder, struct arena *a, struct result *ret_result, struct err *e);

#endif
