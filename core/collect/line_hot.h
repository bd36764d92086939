/* The usual way in and out of a watched function, inlined into the host's callbacks.
 *
 * What is not usual (a first call, another caller, a generator, a stack that is out of step) is left to line_stack.c:
 * these functions then answer false and have done nothing.
 */
// SPDX-License-Identifier: MIT
#ifndef LP_COLLECT_LINE_HOT_H
#define LP_COLLECT_LINE_HOT_H

#include "collect/lines.h"

/* The place where the thread is has run until now. */
static inline void lp__line_charge(struct lp_line_thread *thread, uint64_t now)
{
    struct lp_line_slot *at = thread->top->current;
    at->own[at->open != 0] += now - thread->last;
    thread->last = now;
}

/* What the frame took since `start`, to the place that called it and to its own function. */
static inline void lp__line_bill(const struct lp_line_frame *frame, uint64_t now)
{
    uint64_t elapsed = now - frame->start;
    if (--frame->entered->active == 0) frame->entered->wall += elapsed;
    if (--frame->caller->open == 0) {
        frame->caller->below += elapsed;
        if (frame->edge) frame->edge->wall += elapsed;
    }
}

static inline struct lp_line_slot *lp__line_slots(struct lp_line_table_record *table)
{
    return (struct lp_line_slot *)(void *)(table + 1);
}

static inline void *lp__line_at(const struct lp_line_thread *thread, lp_ref ref)
{
    return thread->base + (uint64_t)ref * 8;
}

static inline void lp__line_push(struct lp_line_thread *thread, const void *frame, const void *code_object,
                                 struct lp_line_code *code, struct lp_line_table_record *table,
                                 struct lp_edge_record *edge, uint64_t now)
{
    struct lp_line_frame *caller = thread->top, *top = caller + 1;
    top->frame = frame;
    top->code_object = code_object;
    top->code = code;
    top->map = code->slots.slot_of;
    top->slots = lp__line_slots(table);
    top->current = top->slots + LP_LINE_ENTRY(code->slots.slot_count);
    top->caller = caller->current;
    top->start = now;
    top->entered = table;
    top->view = caller->view;
    top->edge = edge;
    caller->current->open++;
    table->active++;
    thread->top = top;
}

/* A call of a function that this thread has called from this very place before, as the last one. */
static inline bool lp__line_call(struct lp_line_thread *thread, const void *frame, const void *code_object,
                                 struct lp_line_code *code, uint64_t now)
{
    struct lp_line_frame *caller = thread->top;
    const struct lp_line_view *view = caller->view;
    struct lp_line_table_record *table;
    struct lp_edge_record *edge;
    if (code->index >= view->count || caller + 1 == thread->limit || caller->current->edges == 0) return false;
    table = view->tables[code->index];
    edge = lp__line_at(thread, caller->current->edges);
    if (table == NULL || edge->code != code->ref) return false;
    lp__line_charge(thread, now);
    lp__line_push(thread, frame, code_object, code, table, edge, now);
    thread->fresh = thread->top;
    table->calls++;
    edge->calls++;
    return true;
}

/* The activation on top ends. */
static inline bool lp__line_return(struct lp_line_thread *thread, const void *frame, uint64_t now)
{
    if (__builtin_expect(thread->top->frame != frame || now - thread->settled > thread->settle_every, 0)) return false;
    lp__line_charge(thread, now);
    lp__line_bill(thread->top, now);
    thread->top--;
    return true;
}

#endif
