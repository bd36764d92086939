/* The shadow stack: entering and leaving functions, suspended activations, and what to do when the host skipped an
 * event. */
// SPDX-License-Identifier: MIT
#include <string.h>

#include "collect/lines_internal.h"

#define MOST_FRAMES   (1u << 20)
#define CALLERS_TRIED 64
#define NO_REGION     UINT32_MAX

/* -- views and tables -------------------------------------------------------------------------------------------- */

struct lp_line_view *lp__line_view(struct lp_line_thread *thread, uint32_t region)
{
    struct lp_line_view *view, **end = &thread->views;
    for (view = thread->views; view; view = view->next)
        if (view->region == region) return view;
    view = lp__calloc(1, sizeof *view);
    if (view == NULL) return NULL;
    view->region = region;
    view->next = *end;
    *end = view;
    return view;
}

static bool make_room(struct lp_line_view *view, uint32_t index)
{
    uint32_t wanted = view->count ? view->count : 64;
    struct lp_line_table_record **tables;
    if (index < view->count) return true;
    while (wanted <= index)
        wanted *= 2;
    tables = lp__realloc(view->tables, wanted * sizeof(struct lp_line_table_record *));
    if (tables == NULL) return false;
    memset(tables + view->count, 0, (wanted - view->count) * sizeof(struct lp_line_table_record *));
    view->tables = tables;
    view->count = wanted;
    return true;
}

struct lp_line_table_record *lp__line_table(struct lp_line_thread *thread, struct lp_line_view *view,
                                            struct lp_line_code *code)
{
    if (!make_room(view, code->index)) return NULL;
    if (view->tables[code->index] == NULL) view->tables[code->index] = lp__line_table_new(thread, code, view->region);
    return view->tables[code->index];
}

/* -- charging ---------------------------------------------------------------------------------------------------- */

static inline void reopen(struct lp_line_frame *frame, uint64_t now)
{
    frame->entered->active++;
    frame->caller->open++;
    frame->start = now;
}

void lp__line_settle(struct lp_line_thread *thread, uint64_t now)
{
    struct lp_line_frame *frame;
    if (thread->tenant == NULL || thread->top == NULL) return;
    lp__line_charge(thread, now);
    for (frame = thread->top; frame > thread->frames; frame--)
        lp__line_bill(frame, now);
    for (frame = thread->frames + 1; frame <= thread->top; frame++)
        reopen(frame, now);
    thread->settled = now;
}

void lp__line_unwind(struct lp_line_thread *thread, uint64_t now)
{
    lp__line_charge(thread, now);
    for (; thread->top > thread->frames; thread->top--)
        lp__line_bill(thread->top, now);
}

static void zero_table(struct lp_line_thread *thread, struct lp_line_table_record *table)
{
    struct lp_line_slot *slots = lp__line_slots(table);
    struct lp_edge_record *edge;
    uint32_t i;
    table->calls = table->wall = 0;
    memset(lp__line_branches(table), 0, (size_t)table->branch_count * 2 * sizeof(uint64_t));
    for (i = 0; i <= table->slot_count; i++) {
        slots[i].events = slots[i].own[0] = slots[i].own[1] = slots[i].below = slots[i].suspended = 0;
        for (edge = slots[i].edges ? lp__line_at(thread, slots[i].edges) : NULL; edge;
             edge = edge->next ? lp__line_at(thread, edge->next) : NULL)
            edge->calls = edge->wall = 0;
    }
}

void lp__line_zero(struct lp_line_thread *thread, uint64_t now)
{
    struct lp_line_view *view;
    uint32_t i;
    lp__line_settle(thread, now);
    for (view = thread->views; view; view = view->next) {
        for (i = 0; i < view->count; i++)
            if (view->tables[i]) zero_table(thread, view->tables[i]);
        if (view->entry == NULL) continue;
        view->entry->entries = view->entry->wall = 0;
        view->entry->start_sum = view->entry->open * now;
    }
}

void lp__line_move(struct lp_line_thread *thread, struct lp_line_frame *frame, struct lp_line_view *view)
{
    struct lp_line_table_record *table;
    ptrdiff_t place = frame->current - frame->slots;
    frame->view = view;
    if (frame == thread->frames) return;
    table = lp__line_table(thread, view, frame->code);
    if (table == NULL) return; /* goes on in the table it has */
    frame->slots = lp__line_slots(table);
    frame->current = frame->slots + place;
}

/* -- suspended activations --------------------------------------------------------------------------------------- */

static bool more_pauses(struct lp_line_session *session)
{
    uint32_t wanted = session->pause_cap ? session->pause_cap * 2 : 64, i;
    struct lp_line_pause *pauses;
    if (wanted > LP_LINE_PAUSES) return false;
    pauses = lp__realloc(session->pauses, wanted * sizeof *pauses);
    if (pauses == NULL) return false;
    for (i = session->pause_cap; i < wanted; i++)
        pauses[i].next_free = i + 1 < wanted ? i + 2 : session->free_pause;
    session->free_pause = session->pause_cap + 1;
    session->pauses = pauses;
    session->pause_cap = wanted;
    return true;
}

/* Without room the activation goes on at its entry and its rest is not measured: nothing else is wrong then. */
static void pause_top(struct lp_line_thread *thread, uint64_t now)
{
    struct lp_line_session *session = thread->session;
    struct lp_line_frame *top = thread->top;
    struct lp_line_pause *pause;
    uint64_t known;
    uint32_t number;
    if (lp__map_get(&session->suspended, (uintptr_t)top->frame, &known)) {
        number = (uint32_t)known; /* of an activation that died where it stood */
    } else {
        if (session->free_pause == 0 && !more_pauses(session)) return;
        number = session->free_pause;
        if (lp__map_put(&session->suspended, (uintptr_t)top->frame, number)) return;
        session->free_pause = session->pauses[number - 1].next_free;
    }
    pause = &session->pauses[number - 1];
    pause->code_object = top->code_object;
    pause->code = top->code;
    pause->since = now;
    pause->slot = (uint32_t)(top->current - top->slots);
    pause->region = top->view == top[-1].view ? NO_REGION : top->view->region;
}

static bool take_pause(struct lp_line_session *session, const void *frame, struct lp_line_pause *out)
{
    uint64_t number;
    if (!lp__map_get(&session->suspended, (uintptr_t)frame, &number)) return false;
    (void)lp__map_remove(&session->suspended, (uintptr_t)frame);
    *out = session->pauses[number - 1];
    session->pauses[number - 1].next_free = session->free_pause;
    session->free_pause = (uint32_t)number;
    return true;
}

/* The frame has just been put on top. */
static void go_on(struct lp_line_thread *thread, uint64_t now)
{
    struct lp_line_frame *top = thread->top;
    struct lp_line_pause pause;
    struct lp_line_view *view;
    if (!take_pause(thread->session, top->frame, &pause)) return;
    if (pause.code_object != top->code_object || pause.code != top->code) return;
    if (pause.region != NO_REGION && (view = lp__line_view(thread, pause.region)) != NULL)
        lp__line_move(thread, top, view);
    top->current = top->slots + pause.slot;
    top->current->suspended += now - pause.since;
}

/* -- entering ---------------------------------------------------------------------------------------------------- */

static bool more_frames(struct lp_line_thread *thread)
{
    size_t count = (size_t)(thread->limit - thread->frames), depth = (size_t)(thread->top - thread->frames);
    struct lp_line_frame *frames;
    if (count >= MOST_FRAMES) return false;
    frames = lp__realloc(thread->frames, count * 2 * sizeof *frames);
    if (frames == NULL) return false;
    thread->frames = frames;
    thread->limit = frames + count * 2;
    thread->top = frames + depth;
    return true;
}

static struct lp_edge_record *find_edge(struct lp_line_thread *thread, struct lp_line_slot *caller, lp_ref callee)
{
    lp_ref ref;
    struct lp_edge_record *edge;
    for (ref = caller->edges; ref; ref = edge->next) {
        edge = lp__line_at(thread, ref);
        if (edge->code == callee) return edge;
    }
    return lp__line_edge_new(thread, caller, callee);
}

static inline struct lp_edge_record *edge_to(struct lp_line_thread *thread, struct lp_line_slot *caller, lp_ref callee)
{
    struct lp_edge_record *edge;
    if (caller == &thread->outside) return NULL;
    if (__builtin_expect(caller->edges != 0, 1)) {
        edge = lp__line_at(thread, caller->edges);
        if (__builtin_expect(edge->code == callee, 1)) return edge;
    }
    return find_edge(thread, caller, callee);
}

static inline struct lp_line_table_record *table_in(struct lp_line_thread *thread, struct lp_line_view *view,
                                                    struct lp_line_code *code)
{
    if (__builtin_expect(code->index < view->count && view->tables[code->index] != NULL, 1))
        return view->tables[code->index];
    return lp__line_table(thread, view, code);
}

void lp__line_enter(struct lp_line_thread *thread, const void *frame, const void *code_object,
                    struct lp_line_code *code, uint64_t now, enum lp_line_entry how)
{
    struct lp_line_frame *top = thread->top;
    struct lp_line_view *view = top->view;
    struct lp_line_slot *caller = top->current;
    struct lp_line_table_record *table = table_in(thread, view, code);
    if (__builtin_expect(table == NULL, 0)) {
        lp__drop(thread->owner, LP_DROP_LINES_NO_SPACE);
        return;
    }
    if (__builtin_expect(top + 1 == thread->limit, 0) && !more_frames(thread)) return;
    lp__line_charge(thread, now);
    lp__line_push(thread, frame, code_object, code, table, edge_to(thread, caller, code->ref), now);
    top = thread->top;
    thread->fresh = NULL;
    if (how == LP_LINE_STARTS) {
        thread->fresh = top;
        table->calls++;
        if (top->edge) top->edge->calls++;
    }
    if (__builtin_expect(code->is_generator, 0) && how == LP_LINE_GOES_ON) go_on(thread, now);
}

/* -- leaving ----------------------------------------------------------------------------------------------------- */

static inline void leave_top(struct lp_line_thread *thread, uint64_t now)
{
    lp__line_bill(thread->top, now);
    thread->top--;
}

/* The frame's place in the stack, NULL: it has none. */
static struct lp_line_frame *find_frame(struct lp_line_thread *thread, const void *frame)
{
    struct lp_line_frame *at;
    for (at = thread->top; at > thread->frames; at--)
        if (at->frame == frame) return at;
    return NULL;
}

static void leave_above(struct lp_line_thread *thread, const struct lp_line_frame *frame, uint64_t now)
{
    while (thread->top > frame)
        leave_top(thread, now);
}

void lp__line_leave(struct lp_line_thread *thread, const void *frame, uint64_t now, bool suspends)
{
    if (__builtin_expect(thread->top->frame != frame, 0)) {
        struct lp_line_frame *at = find_frame(thread, frame);
        if (at == NULL) return;
        lp__line_charge(thread, now);
        leave_above(thread, at, now);
    }
    lp__line_charge(thread, now);
    if (suspends) pause_top(thread, now);
    leave_top(thread, now);
    if (now - thread->settled > thread->settle_every) lp__line_settle(thread, now);
}

/* -- what was skipped -------------------------------------------------------------------------------------------- */

/* Frames above the nearest one that still runs have ended without a word. */
static void drop_ended(struct lp_line_thread *thread, const void *frame, uint64_t now)
{
    const struct lp_line_host *host = thread->session->host;
    struct lp_line_frame *at;
    int tried;
    for (tried = 0; frame && tried < CALLERS_TRIED && thread->top > thread->frames; tried++) {
        frame = host->caller(frame);
        at = frame ? find_frame(thread, frame) : NULL;
        if (at) {
            leave_above(thread, at, now);
            return;
        }
    }
}

void lp__line_find(struct lp_line_thread *thread, const void *frame, const void *code_object, struct lp_line_code *code,
                   uint64_t now)
{
    struct lp_line_frame *at = find_frame(thread, frame);
    lp__line_charge(thread, now);
    if (at && at->code_object == code_object) {
        leave_above(thread, at, now);
        return;
    }
    if (at) leave_above(thread, at - 1, now); /* another activation at the address of one that has ended */
    drop_ended(thread, frame, now);
    lp__line_enter(thread, frame, code_object, code, now, LP_LINE_IS_MET);
}

void lp__line_branch(struct lp_line_thread *thread, const void *frame, uint32_t unit, uint32_t destination)
{
    struct lp_line_frame *top = thread->top;
    const struct lp_code_slots *slots;
    struct lp_line_table_record *table;
    uint16_t branch;
    if (top->frame != frame) return;
    slots = &top->code->slots;
    if (slots->branch_count == 0 || unit >= slots->unit_count) return;
    branch = slots->branch_of[unit];
    if (branch == LP_NO_SLOT) return;
    table = (struct lp_line_table_record *)(void *)top->slots - 1;
    lp__line_branches(table)[branch * 2u + lp__branch_side(&slots->branches[branch], destination)]++;
}
