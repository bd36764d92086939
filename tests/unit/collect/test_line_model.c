/* Line tables against a naive twin: random calls, lines, suspensions and unnoticed endings, with a clock of the test's
 * own; what the store holds must be what the twin counted one event at a time. */
// SPDX-License-Identifier: MIT
#include "stage.h"

#include "collect/lines_internal.h"
#include "support/code_builder.h"

enum { CODES = 5, UNITS = 6, DEPTH = 40, GENERATORS = 4, ROUNDS = 60000, PLACES = UNITS + 1 };

struct twin_frame {
    const void *frame;
    int code, place;
    int caller_code, caller_place; /* -1: nobody */
    uint64_t start;
};

struct twin_place {
    uint64_t events, own, below, suspended;
    int open;
};

struct model {
    struct stage stage;
    struct lp_line_session *session;
    struct lp_line_code *codes[CODES];
    struct lp_line_thread *thread;
    uint64_t now, last, random;
    struct twin_frame stack[DEPTH];
    int depth;
    struct twin_place places[CODES][PLACES];
    uint64_t calls[CODES], wall[CODES];
    int active[CODES];
    struct {
        bool waits;
        int code, place;
        uint64_t since;
    } generators[GENERATORS];
    char frames[DEPTH + GENERATORS]; /* their addresses are the activations' identities */
};

static const void *no_caller(const void *frame)
{
    (void)frame;
    return NULL;
}
static const struct lp_line_host host = {no_caller};

/* One unit a line: every unit is a place. */
static struct lp_line_code *make_code(struct lp_line_session *session, int number)
{
    uint8_t code[UNITS * 2], lines[UNITS * 2];
    struct lp_code_opcodes opcodes;
    struct lp_code_raw raw = {.code = code,
                              .lines = lines,
                              .code_bytes = sizeof code,
                              .lines_bytes = sizeof lines,
                              .first_line = (uint32_t)(1 + number * 100),
                              .flags = number < 2 ? 0x20 : 0};
    char name[] = "function 0";
    uint64_t file;
    code_opcodes_old(&opcodes);
    raw.python = opcodes.python;
    for (int i = 0; i < UNITS; i++) {
        code[i * 2] = OP_NOP;
        code[i * 2 + 1] = 0;
        lines[i * 2] = 2;
        lines[i * 2 + 1] = 1;
    }
    name[sizeof name - 2] = (char)('0' + number);
    file = lp__line_file(session, (struct lp_text){"/a.py", 5}, NULL, false);
    return lp__line_code(session, file, (struct lp_text){name, sizeof name - 1}, &raw, &opcodes);
}

static void model_open(struct model *model)
{
    memset(model, 0, sizeof *model);
    stage_open(&model->stage);
    model->session = lp__line_session_new(model->stage.recording, &host, NULL);
    assert_non_null(model->session);
    for (int i = 0; i < CODES; i++) {
        model->codes[i] = make_code(model->session, i);
        assert_non_null(model->codes[i]);
        assert_int_equal(model->codes[i]->slots.slot_count, UNITS);
    }
    lp__line_session_start(model->session);
    model->thread = lp__lines_here();
    assert_non_null(model->thread);
    model->now = model->last = model->thread->last;
    model->random = 88172645463325252u;
}

static void model_close(struct model *model)
{
    lp__line_session_free(model->session);
    stage_close(&model->stage);
}

static uint32_t draw(struct model *model, uint32_t below)
{
    model->random ^= model->random << 13;
    model->random ^= model->random >> 7;
    model->random ^= model->random << 17;
    return (uint32_t)(model->random >> 33) % below;
}

/* -- the twin ----------------------------------------------------------------------------------------------------- */

static struct twin_frame *top_of(struct model *model)
{
    return model->depth ? &model->stack[model->depth - 1] : NULL;
}

static void twin_charge(struct model *model)
{
    struct twin_frame *top = top_of(model);
    if (top) model->places[top->code][top->place].own += model->now - model->last;
    model->last = model->now;
}

static void twin_enter(struct model *model, const void *frame, int code, bool starts)
{
    struct twin_frame *caller = top_of(model), *top;
    twin_charge(model);
    top = &model->stack[model->depth++];
    *top = (struct twin_frame){frame, code, UNITS, caller ? caller->code : -1, caller ? caller->place : -1, model->now};
    if (caller) model->places[caller->code][caller->place].open++;
    model->active[code]++;
    model->calls[code] += starts;
}

static void twin_leave(struct model *model)
{
    struct twin_frame *top = top_of(model);
    uint64_t elapsed = model->now - top->start;
    twin_charge(model);
    if (--model->active[top->code] == 0) model->wall[top->code] += elapsed;
    if (top->caller_code >= 0) {
        struct twin_place *caller = &model->places[top->caller_code][top->caller_place];
        if (--caller->open == 0) caller->below += elapsed;
    }
    model->depth--;
}

/* -- what happens, to both ----------------------------------------------------------------------------------------- */

static void enter(struct model *model)
{
    int code = 2 + (int)draw(model, CODES - 2);
    const void *frame = &model->frames[model->depth];
    if (model->depth >= DEPTH - 1) return;
    lp__line_enter(model->thread, frame, model->codes[code], model->codes[code], model->now, LP_LINE_STARTS);
    twin_enter(model, frame, code, true);
}

static void line(struct model *model)
{
    struct twin_frame *top = top_of(model);
    uint32_t unit = draw(model, UNITS);
    if (top == NULL) return;
    twin_charge(model);
    top->place = (int)unit;
    model->places[top->code][unit].events++;
    assert_ptr_equal(model->thread->top->frame, top->frame);
    lp__line_event(model->thread, model->thread->top, unit, model->now);
}

static bool is_generator(const struct model *model, const void *frame)
{
    return (const char *)frame >= &model->frames[DEPTH];
}

static void leave(struct model *model)
{
    struct twin_frame *top = top_of(model);
    if (top == NULL || is_generator(model, top->frame)) return;
    lp__line_leave(model->thread, top->frame, model->now, false);
    twin_leave(model);
}

/* Frames above one that ends have ended without a word: all of them at that moment. */
static void leave_from_below(struct model *model)
{
    int at;
    if (model->depth < 3) return;
    at = (int)draw(model, (uint32_t)model->depth);
    for (int i = at; i < model->depth; i++)
        if (is_generator(model, model->stack[i].frame)) return;
    lp__line_leave(model->thread, model->stack[at].frame, model->now, false);
    while (model->depth > at)
        twin_leave(model);
}

/* The next line event tells that frames above have ended. */
static void line_from_below(struct model *model)
{
    struct twin_frame *frame;
    int at;
    if (model->depth < 3) return;
    at = (int)draw(model, (uint32_t)model->depth);
    for (int i = at; i < model->depth; i++)
        if (is_generator(model, model->stack[i].frame)) return;
    frame = &model->stack[at];
    lp__line_find(model->thread, frame->frame, model->codes[frame->code], model->codes[frame->code], model->now);
    while (model->depth > at + 1)
        twin_leave(model);
    line(model);
}

static void advance_generator(struct model *model)
{
    int number = (int)draw(model, GENERATORS), code = number % 2;
    const void *frame = &model->frames[DEPTH + number];
    bool waits = model->generators[number].waits;
    if (model->depth >= DEPTH - 1 || model->active[code]) return;
    lp__line_enter(model->thread, frame, model->codes[code], model->codes[code], model->now,
                   waits ? LP_LINE_GOES_ON : LP_LINE_STARTS);
    twin_enter(model, frame, code, !waits);
    if (waits) {
        top_of(model)->place = model->generators[number].place;
        model->places[code][top_of(model)->place].suspended += model->now - model->generators[number].since;
    }
    model->generators[number].waits = false;
}

static void suspend_generator(struct model *model)
{
    struct twin_frame *top = top_of(model);
    long number;
    if (top == NULL || !is_generator(model, top->frame)) return;
    number = (const char *)top->frame - &model->frames[DEPTH];
    model->generators[number].waits = true;
    model->generators[number].code = top->code;
    model->generators[number].place = top->place;
    model->generators[number].since = model->now;
    lp__line_leave(model->thread, top->frame, model->now, true);
    twin_leave(model);
}

static void act(struct model *model)
{
    static void (*const acts[])(struct model *) = {enter,
                                                   enter,
                                                   line,
                                                   line,
                                                   line,
                                                   line,
                                                   line,
                                                   leave,
                                                   leave,
                                                   leave_from_below,
                                                   line_from_below,
                                                   advance_generator,
                                                   suspend_generator,
                                                   suspend_generator};
    model->now += draw(model, 1000);
    acts[draw(model, sizeof acts / sizeof *acts)](model);
}

/* -- comparing ----------------------------------------------------------------------------------------------------- */

static void same(struct model *model)
{
    for (int c = 0; c < CODES; c++) {
        struct lp_line_table_record *table = lp__line_table(model->thread, model->thread->views, model->codes[c]);
        struct lp_line_slot *slots = lp__line_slots(table);
        assert_int_equal(table->calls, model->calls[c]);
        assert_int_equal(table->wall, model->wall[c]);
        for (int p = 0; p < PLACES; p++) {
            assert_int_equal(slots[p].events, model->places[c][p].events);
            assert_int_equal(slots[p].own[0] + slots[p].own[1], model->places[c][p].own);
            assert_int_equal(slots[p].below, model->places[c][p].below);
            assert_int_equal(slots[p].suspended, model->places[c][p].suspended);
            assert_int_equal(slots[p].open, 0);
        }
    }
}

static void unwind_both(struct model *model)
{
    lp__line_unwind(model->thread, model->now);
    while (model->depth)
        twin_leave(model);
}

static void test_random_programs_equal_the_twin(void **state)
{
    struct model *model = malloc(sizeof *model);
    (void)state;
    assert_non_null(model);
    model_open(model);
    for (int round = 0; round < ROUNDS; round++) {
        act(model);
        if (round % 5000 == 4999) {
            unwind_both(model);
            same(model);
        }
    }
    model_close(model);
    free(model);
}

/* Settling in the middle changes no total but that of calls that are not the outermost ones, and those not at all. */
static void test_settling_changes_nothing(void **state)
{
    struct model *model = malloc(sizeof *model);
    (void)state;
    assert_non_null(model);
    model_open(model);
    for (int round = 0; round < 5000; round++) {
        act(model);
        if (round % 7 == 0) {
            lp__line_settle(model->thread, model->now);
            twin_charge(model);
        }
    }
    unwind_both(model);
    same(model);
    model_close(model);
    free(model);
}

static void test_edges_know_who_called_whom(void **state)
{
    struct model *model = malloc(sizeof *model);
    struct lp_line_slot *slots;
    const struct lp_edge_record *edge;
    (void)state;
    assert_non_null(model);
    model_open(model);
    lp__line_enter(model->thread, &model->frames[0], model->codes[2], model->codes[2], model->now, LP_LINE_STARTS);
    for (int i = 0; i < 6; i++) {
        int callee = 3 + i % 2;
        lp__line_event(model->thread, model->thread->top, 1, model->now);
        lp__line_enter(model->thread, &model->frames[1], model->codes[callee], model->codes[callee], model->now,
                       LP_LINE_STARTS);
        model->now += 100;
        lp__line_leave(model->thread, &model->frames[1], model->now, false);
    }
    lp__line_unwind(model->thread, model->now);
    slots = lp__line_slots(lp__line_table(model->thread, model->thread->views, model->codes[2]));
    assert_int_equal(slots[1].below, 600);
    edge = lp__store_at(&model->stage.recording->store, slots[1].edges);
    assert_int_equal(edge->calls, 3);
    assert_int_equal(edge->wall, 300);
    assert_int_equal(edge->code, model->codes[4]->ref);
    model_close(model);
    free(model);
}

static void test_a_deep_stack_grows(void **state)
{
    struct model *model = malloc(sizeof *model);
    static char frames[5000];
    (void)state;
    assert_non_null(model);
    model_open(model);
    for (int i = 0; i < 5000; i++) {
        model->now++;
        lp__line_enter(model->thread, &frames[i], model->codes[2], model->codes[2], model->now, LP_LINE_STARTS);
        lp__line_event(model->thread, model->thread->top, 3, model->now);
    }
    for (int i = 4999; i >= 0; i--)
        lp__line_leave(model->thread, &frames[i], ++model->now, false);
    assert_int_equal(model->thread->top - model->thread->frames, 0);
    assert_int_equal(lp__line_table(model->thread, model->thread->views, model->codes[2])->calls, 5000);
    assert_int_equal(lp__line_table(model->thread, model->thread->views, model->codes[2])->wall, 9999);
    model_close(model);
    free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_programs_equal_the_twin),
        cmocka_unit_test(test_settling_changes_nothing),
        cmocka_unit_test(test_edges_know_who_called_whom),
        cmocka_unit_test(test_a_deep_stack_grows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
