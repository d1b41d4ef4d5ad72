/* Does a run folder prove its result? The seal holds, the records are consistent, and they give the stored documents
 * anew, byte for byte. */
#ifndef JTOK_APP_PROVE_H
#define JTOK_APP_PROVE_H

#include "app/evaluate.h"
#include "store/archive.h"

enum proof_outcome { PROOF_EQUAL, PROOF_MISSING, PROOF_DIFFERENT };

/* A stored document beside what the records give now. */
struct proof_document {
    const char *name;
    enum proof_outcome outcome;
    size_t bytes, line; /* of what the records give; the first one that differs, from 1 */
};

enum { PROOF_DOCUMENTS_MAX = 2 * EVALUATE_DOCUMENTS };

struct proof {
    bool has_seal_check; /* `seal` is filled in */
    struct archive_check seal;
    const struct evaluation *evaluation; /* of the records, now; null: they can't be read */
    const struct result *older; /* what another version of jtok or of the method made of them: no damage. Null: none */
    struct proof_document documents[PROOF_DOCUMENTS_MAX];
    size_t document_count;
};

/* Looks at all of it. `p` is filled in as far as the folder could be read, so that a caller can say so much even where
 * it gives false. Everything lives in the arena. O(bytes of the folder). */
bool prove(const char *folder, struct arena *a, struct proof *p, struct err *e);

/* Nothing is missing, changed or at odds. */
bool proof_is_sound(const struct proof *p);

/* Do the seal and the records of an evaluation just made hold? ERR_RECORDS says what does not. */
bool prove_records(const char *folder, const struct evaluation *v, struct arena *a, struct err *e);

#endif
