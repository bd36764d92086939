/* A recording: one process's worth of phases and counters, going into one worker file.
 *
 * A process may have several at once; one of them may be *installed*, which is where the C API and the ambient Python
 * functions record.  In the child of a fork a live recording continues with an empty tree and a file of its own,
 * which is made at its first record.  Open, close, install: any thread.  See thread.h for what is per thread.
 */
// SPDX-License-Identifier: MIT
#ifndef LP_COLLECT_RECORDING_H
#define LP_COLLECT_RECORDING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "collect/name.h"
#include "collect/scope.h"
#include "collect/thread.h"
#include "collect/tree.h"
#include "store/writer.h"

struct lp_recording_options {
    const char *run_dir; /* made absolute against the working directory now */
    const char *role;    /* any bytes; NULL: "main" */
    size_t role_len;
    const char *attempt; /* NULL: LINEPROFILER_RUN_ID, else the launcher's identity, else the family's, else fresh */
    pid_t family;        /* a process whose children belong to one run: a pool's parent; 0 none */
    const char *python;  /* version of the host interpreter; NULL for C programs */
    enum lp_store_choice store;
    bool no_cpu;                     /* measure_cpu=False */
    bool thread_names;               /* nest each thread's phases below its name */
    lp_name_id (*thread_name)(void); /* the host's name of the calling thread, 0: none; NULL or 0: the native name */
    bool share_group;
    bool strict_names;
    uint32_t max_paths;        /* 0: 16,384 */
    uint32_t copy_interval_ms; /* 0: 1000, or 10,000 on a network file system */
    uint64_t host_entry_ps;    /* what the host's own code adds to an entry, measured by it; 0 for C */
    const char *const *facts;  /* further key, value, key, value, …, NULL; strings */
};

/* Opens and starts.  Fails only for wrong use and lack of memory: a directory that cannot be written leads to a store
 * in memory and a counted failure.  No file is made before the first record.  The caller holds one reference. */
LP_WARN_UNUSED int lp__recording_open(const struct lp_recording_options *options, struct lp_recording **out,
                                      struct lp_error *err);
/* Final and idempotent: marks the file finished; later begins, ends and counts do nothing. */
void lp__recording_close(struct lp_recording *recording);
void lp__recording_retain(struct lp_recording *recording);
void lp__recording_release(
    struct lp_recording *recording); /* the last one closes and frees, not before readers are out */

/* The installed recording; NULL: none.  Hot: a plain load. */
extern _Atomic(struct lp_recording *) lp__installed;
void lp__install(struct lp_recording *recording); /* NULL uninstalls; takes and drops references */

/* Where it records. */
const char *lp__recording_run_dir(const struct lp_recording *recording); /* absolute */
const char *lp__recording_attempt(const struct lp_recording *recording);
const char *lp__recording_path(const struct lp_recording *recording); /* of the file, "" before the first record */
bool lp__recording_is_open(const struct lp_recording *recording);
bool lp__recording_no_cpu(const struct lp_recording *recording);
bool lp__recording_is_strict(const struct lp_recording *recording); /* strict_names */
bool lp__recording_is_full(struct lp_recording *recording);         /* the ceiling on paths is reached */
const char *lp__recording_role(const struct lp_recording *recording, size_t *len);
uint64_t lp__recording_write_failures(const struct lp_recording *recording);
/* Copies the store's bytes as they are (of a live or a closed recording): what lp__run_load_image reads.  0 bytes
 * before the first record.  The caller frees with lp__free. */
LP_WARN_UNUSED int lp__recording_copy(struct lp_recording *recording, void **bytes, uint64_t *len,
                                      struct lp_error *err);
/* Copies now where the store is not the run directory. */
void lp__recording_snapshot(struct lp_recording *recording);
/* Adds or replaces a fact; any time before or after the first record. */
void lp__recording_fact(struct lp_recording *recording, const char *key, const char *value, size_t len);

/* strict_names and the warning at 128: call before lp__begin for a name that may be new.  Returns how many distinct
 * names of this name's shape the recording has, this one included, and 0 when the name is already known to it. */
uint32_t lp__recording_note_shape(struct lp_recording *recording, lp_name_id name);

uint32_t lp__recording_open_scopes(struct lp_recording *recording,
                                   struct lp_thread *thread); /* tests: on this thread + suspended */

/* Changes in the child of a fork. */
uint32_t lp__process_generation(void);

#endif
