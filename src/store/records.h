/* The records of a run: read from its folder, put in order, and checked against each other. */
#ifndef JTOK_STORE_RECORDS_H
#define JTOK_STORE_RECORDS_H

#include "store/archive.h"

/* Reads a run folder, sealed or not, whole or broken off. A half-written last line of a folder that isn't sealed is
 * left out and is no damage; anything else that doesn't fit is told in records.damage, and the rest is read. Series are
 * put in order of time, chunks in order of (t, request, place in the file), requests in order of id. False when it is
 * no run folder, or its plan.json can't be read. O(bytes + n log n). */
bool records_load(const char *folder, struct arena *a, struct records *ret_records, struct err *e);

/* The files of a run, wherever they are. `read` appends the text of one, packed or not, to `b`; false with *ret_there
 * false where there is none, and with a reason in `e` where it can't be read. */
struct record_files {
    void *self;
    bool (*read)(void *self, const char *name, struct buf *b, bool *ret_there, struct err *e);
};

/* As records_load, of the files that `seal` was compared with. `folder` is the run's name in messages. */
bool records_read(const struct record_files *files, const char *folder, const struct archive_check *seal,
                  struct arena *a, struct records *ret_records, struct err *e);

#endif
