/* Looking for a symbol in the objects that are loaded already.  Never loads anything. */
// SPDX-License-Identifier: MIT
#ifndef LP_OS_OBJECTS_H
#define LP_OS_OBJECTS_H

#include <stdbool.h>

/* Calls `visit` with each definition of `symbol` in a loaded object at another address than `own`, the same one perhaps
 * more than once, until it returns true.  Slow (tens of microseconds): not for hot paths. */
typedef bool lp_object_visitor(const void *symbol, void *arg);
void lp__objects_each(const char *symbol, const void *own, lp_object_visitor *visit, void *arg);

#endif
