/* Sentences in columns. */
// SPDX-License-Identifier: MIT
#ifndef LP_CLI_WRAP_H
#define LP_CLI_WRAP_H

#include <stddef.h>

#include "base/buf.h"

#define LP_WRAP_COLUMNS 80u

/* Appends `text` in lines of at most LP_WRAP_COLUMNS, broken at spaces.  The first line goes on at column `at`, further
 * ones start with `indent` spaces.  Ends with a newline. */
void lp__wrap(struct lp_buf *out, const char *text, size_t at, size_t indent);

#endif
