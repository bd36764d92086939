/* Registers the functions of sums.c. */
// SPDX-License-Identifier: MIT
#ifndef LPX_SUMS_H
#define LPX_SUMS_H

#include "compat.h"

int lpx_sums_init(PyObject *module);

#endif
