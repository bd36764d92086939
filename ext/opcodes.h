/* What the opcodes of this interpreter are, for the core's decoder of code objects. */
// SPDX-License-Identifier: MIT
#ifndef LPX_OPCODES_H
#define LPX_OPCODES_H

#include "compat.h"

#include "collect/code_shape.h"

/* Filled from lineprofiler._lines.shape, which knows instructions by name.  0, or -1 with an exception
 * (NotImplementedError: not known for this Python). */
int lpx_opcode_table(struct lp_code_opcodes *out);
/* The same from the bytes that Python made; ValueError if they are none. */
int lpx_opcode_table_from(PyObject *bytes, struct lp_code_opcodes *out);

#endif
