/* Steps of paths, and when one has to be told from several. */
// SPDX-License-Identifier: MIT
#include "base/step.h"

#include <string.h>

bool lp__step_is_quoted(const char *name, size_t len)
{
    return len == 0 || name[0] == '"' || memchr(name, '/', len) != NULL;
}

static size_t put_before(char *out, size_t at, const char *bytes, size_t len)
{
    size_t take = len < at ? len : at;
    if (take) memcpy(out + at - take, bytes + len - take, take);
    return at - take;
}

size_t lp__step_put_before(char *out, size_t at, const char *name, size_t len)
{
    size_t quotes = lp__step_is_quoted(name, len) ? 1 : 0;
    at = put_before(out, at, "\"", quotes);
    at = put_before(out, at, name, len);
    return put_before(out, at, "\"", quotes);
}
