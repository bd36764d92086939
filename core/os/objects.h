/* Looking for a symbol in the objects that are loaded already.  Never loads anything. */
// SPDX-License-Identifier: MIT
#ifndef LP_OS_OBJECTS_H
#define LP_OS_OBJECTS_H

/* The first definition of `symbol` in a loaded object at another address than `own`; NULL when there is none.  Slow
 * (tens of microseconds): not for hot paths. */
const void *lp__objects_find(const char *symbol, const void *own);

#endif
