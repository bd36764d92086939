/* Names, registered once per process: a small number stands for the text everywhere in collect.  Thread-safe. */
// SPDX-License-Identifier: MIT
#ifndef LP_COLLECT_NAME_H
#define LP_COLLECT_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/tree.h"

/* The id of a text (WTF-8 bytes, copied), registering it when new; 0 without memory or past LP_MAX_NAME_BYTES. */
lp_name_id lp__name_register(const char *bytes, size_t len);
lp_name_id lp__name_find(const char *bytes, size_t len); /* 0: never registered */
/* The text; stays valid for the life of the process. */
const char *lp__name_text(lp_name_id name, size_t *len);
/* Hash of the text with each run of digits taken as one #: names of one shape share it. */
uint64_t lp__name_shape(lp_name_id name);

/* Held over a fork so that a child finds the table whole. */
void lp__name_lock(void);
void lp__name_unlock(void);
void lp__name_renew_lock(void); /* in the child of a clone that ran no handlers */

#endif
