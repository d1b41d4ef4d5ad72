/* From a run folder to its result and back: what run, analyze, verify and estimate share.
 *
 * The derived documents of a run are result.json, result_requests.csv (one formal request a line) and windows.csv (one
 * window of W requests a line): pure functions of records and method, so they can be recomputed to the byte. */
#ifndef JTOK_APP_EVALUATE_H
#define JTOK_APP_EVALUATE_H

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

/* The same with the model's total parameters, 0 for none, which count where neither plan nor snapshot states them. */
bool evaluate_given(const char *folder, const struct method *m, double total_parameters, struct arena *a,
                    struct evaluation *ret_evaluation, struct err *e);

enum { EVALUATE_DOCUMENTS = 3 };

struct document {
    const char *name;
    struct buf bytes; /* the caller's: documents_done */
};

void evaluate_documents(const struct result *r, struct document ret_documents[EVALUATE_DOCUMENTS]);
void documents_done(struct document documents[EVALUATE_DOCUMENTS]);

/* "result-jtok-2.json" of "result.json": where an evaluation goes that is made under this program's method, beside the
 * one that was made with the run under an older. */
const char *evaluate_later_name(const char *name, struct arena *a);

/* Adds the derived documents to a sealed folder (archive_add), under their later names where the run's own result was
 * made under an older method. */
bool evaluate_store(const char *folder, const struct result *r, struct err *e);

/* Reads the stored result of a folder: under this program's method where there is one, else the one made with the run.
 * The seal must be there, and the document must be the one that it names; the records are not hashed (archive_verify
 * does). ERR_RECORDS where there is none or it is damaged, saying what to do. O(document). */
bool evaluate_stored(const char *folder, struct arena *a, struct result *ret_result, struct err *e);

/* The same of a folder that has no seal at all: nothing proves what it says, and the caller must say so. */
bool evaluate_unsealed(const char *folder, struct arena *a, struct result *ret_result, struct err *e);

/* The document itself, checked likewise, appended to `out`; its name in the folder where ret_name is not null. */
bool evaluate_document(const char *folder, bool unsealed, struct arena *a, struct buf *out, const char **ret_name,
                       struct err *e);

#endif
