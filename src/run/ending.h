/* The end of a run's records: what is still in memory, and the documents that are known at the end only. */
#ifndef JTOK_RUN_ENDING_H
#define JTOK_RUN_ENDING_H

#include "model/record.h"
#include "run/recorder.h"

/* Closes the recorder and writes client.json (null: there was no formal stage) and the final run.json, into which what
 * the recorder counted goes. All of it is tried, whatever fails. False, with the first reason, when a record could not
 * be written, now or at any time of the run: such a folder is not whole and must not be sealed. A null recorder is
 * fine. O(what is left). */
bool ending_write(struct recorder *recorder, const char *folder, const struct rec_client *client, struct rec_run *run,
                  struct err *e);

#endif
