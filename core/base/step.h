/* Names as steps of a path that is shown as one text, joined by '/'. */
// SPDX-License-Identifier: MIT
#ifndef LP_BASE_STEP_H
#define LP_BASE_STEP_H

#include <stdbool.h>
#include <stddef.h>

/* Is the name shown in quotes?  When it is empty, holds a '/' or begins with a quote: so the phase "a/b" cannot be
 * taken for b below a. */
bool lp__step_is_quoted(const char *name, size_t len);

/* Writes the step so that it ends before out[at]; returns where it starts.  What does not fit is cut off at its
 * beginning: a label keeps the end of a path. */
size_t lp__step_put_before(char *out, size_t at, const char *name, size_t len);

#endif
