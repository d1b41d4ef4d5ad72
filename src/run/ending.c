#include "run/ending.h"

#include "base/must.h"
#include "store/archive.h"

/* The first fault counts. */
static void note_fault(bool written, const struct err *fault, bool *whole, struct err *first)
{
    if (!written && *whole)
        *first = *fault;
    *whole = *whole && written;
}

bool ending_write(struct recorder *recorder, const char *folder, const struct rec_client *client, struct rec_run *run,
                  struct err *e)
{
    must(folder && run && !run->series);
    struct recorder_counts counts = {0};
    struct err fault = {0}, first = {0};
    bool whole = true;
    note_fault(recorder_close(recorder, &counts, &fault), &fault, &whole, &first);
    run->secrets_replaced += (int64_t)counts.secrets_replaced;
    if (client)
        note_fault(archive_write_client(folder, client, &fault), &fault, &whole, &first);
    run->series = counts.series;
    run->series_count = counts.series_count;
    note_fault(archive_write_run(folder, run, &fault), &fault, &whole, &first);
    run->series = NULL; /* it stood here, and is in the file */
    run->series_count = 0;
    if (!whole && e)
        *e = first;
    return whole;
}
