/* The units of a source file, as Python packs them: what can be executed once more or once less.
 *
 *   {magic, units, scopes, rows}                                                   uint32 all, host order
 *   unit[units]    {line, column, end line, end column, parent, scope, kind}       in the order they start
 *   scope[scopes]  {kind, logical scope, first unit, last unit, line, column, end line, end column}
 *   column[rows]   {first column, first token} of each row; between the two stand only brackets and words like `if`
 *
 * Units nest: a unit's parent stands before it, and what lies inside a unit stands right behind it.  Rows are owned,
 * per scope, by the first unit that starts on them.  Bytes may be hostile; after lp__units_open all indexes are good.
 */
// SPDX-License-Identifier: MIT
#ifndef LP_ANALYSE_STATEMENT_UNITS_H
#define LP_ANALYSE_STATEMENT_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "collect/code_shape.h"

#define LP_UNITS_MAGIC 0x3154494Eu
#define LP_UNITS_MAX   (1u << 22) /* units, scopes, rows of one file */
#define LP_NO_UNIT     UINT32_MAX

enum lp_unit_kind {
    LP_UNIT_SIMPLE,
    LP_UNIT_COMPOUND, /* if, with, try, match */
    LP_UNIT_FOR,
    LP_UNIT_WHILE,
    LP_UNIT_ASYNC_FOR,
    LP_UNIT_HANDLER, /* except, its body included */
    LP_UNIT_CASE,    /* pattern to guard */
    LP_UNIT_LAMBDA,  /* its body */
    LP_UNIT_ELEMENT, /* parts of comprehensions from here on */
    LP_UNIT_COMP_FOR,
    LP_UNIT_COMP_ASYNC,
    LP_UNIT_COMP_IF,
    LP_UNIT_KIND_COUNT
};
enum lp_unit_flags {
    LP_UNIT_NO_CODE = 0x100,       /* pass, global, a bare constant */
    LP_UNIT_ONE_LINE = 0x200,      /* a loop whose body begins on the header's row */
    LP_UNIT_BRANCHING_TEST = 0x400 /* a while whose test may jump more than once */
};
#define LP_UNIT_KIND(unit) ((enum lp_unit_kind)((unit)->kind & 0xFF))

enum lp_scope_kind {
    LP_SCOPE_LOGICAL,
    LP_SCOPE_COMPREHENSION,
    LP_SCOPE_CLASS /* logical; adds nothing to the row of its own header */
};

struct lp_unit {
    uint32_t line, column, end_line, end_column;
    uint32_t parent; /* LP_NO_UNIT: none */
    uint32_t scope;
    uint32_t kind; /* enum lp_unit_kind | enum lp_unit_flags */
};

/* What a code object stands for. */
struct lp_unit_scope {
    uint32_t kind;    /* enum lp_scope_kind */
    uint32_t logical; /* the scope that its units are in */
    uint32_t first, last;
    uint32_t line, column, end_line, end_column;
};

struct lp_unit_row {
    uint32_t column, token;
};

struct lp_units {
    struct lp_unit *units;
    struct lp_unit_scope *scopes;
    struct lp_unit_row *rows; /* by line - 1 */
    uint32_t *ends;           /* by unit: behind what lies inside it */
    uint32_t unit_count, scope_count, row_count;
    void *memory;
};

/* LP_ERR_FORMAT, LP_ERR_LIMIT, LP_ERR_NO_MEMORY; `out` is empty then. */
LP_WARN_UNUSED int lp__units_open(const void *bytes, size_t size, struct lp_units *out, struct lp_error *err);
void lp__units_release(struct lp_units *units);

/* The units one code object may execute: those of a logical scope in a range. */
struct lp_unit_view {
    const struct lp_units *units;
    uint32_t scope; /* logical */
    uint32_t first, end;
    bool parts_only; /* of a comprehension: statements around it are none of its */
};

void lp__unit_view(const struct lp_units *units, uint32_t scope, struct lp_unit_view *out);
/* How many of the instructions lie within the scope: which of several scopes a code object is. */
uint32_t lp__scope_fit(const struct lp_units *units, uint32_t scope, const struct lp_code_shape *shape);
/* The innermost unit around a span; end_line 0: around a point. LP_NO_UNIT: none. */
uint32_t lp__unit_around(const struct lp_unit_view *view, uint32_t line, uint32_t column, uint32_t end_line,
                         uint32_t end_column);
/* The innermost unit whose rows hold all of [line, end_line]. */
uint32_t lp__unit_by_rows(const struct lp_unit_view *view, uint32_t line, uint32_t end_line);
/* The unit that starts on a row and owns it. LP_NO_UNIT: none starts there. */
uint32_t lp__unit_starting(const struct lp_unit_view *view, uint32_t line);

static inline bool lp__unit_is_part(const struct lp_unit *unit)
{
    return LP_UNIT_KIND(unit) >= LP_UNIT_ELEMENT;
}
/* Whether `inner` is `outer` or lies inside it. */
static inline bool lp__unit_within(const struct lp_units *units, uint32_t inner, uint32_t outer)
{
    return inner >= outer && inner < units->ends[outer];
}

#endif
