/* Private to store: what the files that make, seal, check and list a run folder share. */
#ifndef JTOK_STORE_ARCHIVE_PRIVATE_H
#define JTOK_STORE_ARCHIVE_PRIVATE_H

#include "store/archive.h"

#define SUMS_NAME "SHA256SUMS"
#define SUMS_NEW  "SHA256SUMS.new" /* until it is whole */
#define RUN_NEW   "run.json.new"   /* likewise */

struct file_names {
    const char **items;
    size_t count;
};

/* What lies right in the folder but for folders and the sums, in order of their names. */
bool archive_files(const char *folder, struct arena *a, struct file_names *ret_names, struct err *e);

/* Of one name in SHA256SUMS. */
struct sealed_name {
    bool listed;
    bool equal; /* with this hash, and no other: a second line was added to the seal */
};
bool archive_sealed_name(const char *folder, const char *name, const char *hex, struct sealed_name *ret_sealed,
                         struct err *e);

#endif
