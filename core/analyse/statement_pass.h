/* What the files of the static pass share: one code object under work. */
// SPDX-License-Identifier: MIT
#ifndef LP_ANALYSE_STATEMENT_PASS_H
#define LP_ANALYSE_STATEMENT_PASS_H

#include "analyse/statement_count.h"
#include "analyse/statement_flow.h"
#include "analyse/statement_units.h"
#include "analyse/statements.h"

struct lp_statement_pass {
    struct lp_units units;
    struct lp_code_shape shape;
    struct lp_flow flow;
    struct lp_counts counts;
    struct lp_unit_view view;   /* what the code object executes */
    struct lp_unit_view owners; /* who owns rows in its scope */
    bool has_columns;
    uint32_t header_line; /* of a class: its row is not the body's; 0 none */
    uint32_t *unit_of;    /* by instruction; LP_NO_UNIT: the code's own business, or no line */
    uint32_t *home_of;    /* the statement around it: the unit, or what a part of a comprehension lies directly in */
    uint32_t *by_unit;    /* instructions sorted by unit_of, those of LP_NO_UNIT last */
    uint32_t *by_home;    /* likewise by home_of */
    uint32_t *seen;       /* by instruction: the last search that came by */
    uint32_t search;
};

/* A run of instructions in by_unit or by_home. */
struct lp_members {
    const uint32_t *instrs;
    uint32_t count;
};

/* The instructions that count as the unit's: for a statement with the parts of comprehensions directly in it. */
struct lp_members lp__pass_members(const struct lp_statement_pass *pass, uint32_t unit);
/* Belongs to no unit whatever its line; where control comes from is looked up through it. */
bool lp__pass_is_nobodys(const struct lp_statement_pass *pass, uint32_t instr);
bool lp__pass_is_member(const struct lp_statement_pass *pass, uint32_t instr, uint32_t unit);

/* statement_place.c: units of instructions.  Fills unit_of … by_home. */
LP_WARN_UNUSED int lp__pass_place(struct lp_statement_pass *pass, struct lp_error *err);

/* statement_entry.c: how often a unit was executed. */
struct lp_count lp__pass_executions(struct lp_statement_pass *pass, uint32_t unit);

/* statement_visit.c: how often control came to rows inside a unit that began on an earlier one.  `sums[i]` is that of
 * `rows[i]`. */
LP_WARN_UNUSED int lp__pass_visits(struct lp_statement_pass *pass, uint32_t unit, const uint32_t *rows,
                                   struct lp_count *sums, uint32_t count, struct lp_error *err);

#endif
