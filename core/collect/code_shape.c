/* Decoding of a code object's raw tables into an array of instructions.
 *
 * Four passes over untrusted bytes, each bounded by their length: instructions, locations, jumps, handlers.  A cursor
 * over a table never passes its end; what would is a fault of format.  Nothing here follows a jump, so hostile loops
 * cost nothing; the one walk that does (handlers before 3.11) visits each instruction once. */
// SPDX-License-Identifier: MIT
#include "collect/code_shape.h"

#include <stdbool.h>
#include <string.h>

struct cursor {
    const uint8_t *at, *end;
    bool broken; /* ran past the end, or a number too big */
};

struct location {
    uint32_t line, end_line, column, end_column;
};

static unsigned take(struct cursor *cursor)
{
    if (cursor->at < cursor->end) return *cursor->at++;
    cursor->broken = true;
    return 0;
}

/* -- instructions ------------------------------------------------------------------------------------------------ */

static int check_raw(const struct lp_code_raw *raw, const struct lp_code_opcodes *opcodes, struct lp_error *err)
{
    if (raw->python >> 16 != opcodes->python >> 16)
        return lp__fail(err, LP_ERR_VERSION, 0, "bytecode of another Python (%u.%u)", raw->python >> 24,
                        raw->python >> 16 & 0xFF);
    if (raw->code_bytes % 2 || raw->code_bytes == 0)
        return lp__fail(err, LP_ERR_FORMAT, 0, "bytecode of %u bytes", raw->code_bytes);
    if (raw->code_bytes / 2 > LP_CODE_MAX_UNITS)
        return lp__fail(err, LP_ERR_LIMIT, 0, "bytecode of %u bytes", raw->code_bytes);
    return 0;
}

/* One instruction from unit `at` on; its argument goes to `argument`.  False where the bytes are no instruction. */
static bool read_instr(const struct lp_code_raw *raw, const struct lp_code_opcodes *opcodes, uint32_t at,
                       struct lp_code_instr *instr, uint32_t *argument)
{
    uint32_t units = raw->code_bytes / 2, own = at, value = 0;
    for (;; own++) {
        if (own >= units || own - at > 3) return false;
        value = value << 8 | raw->code[2 * own + 1];
        if (!(opcodes->classes[raw->code[2 * own]] & LP_OP_PREFIX)) break;
    }
    uint8_t opcode = raw->code[2 * own];
    if (opcodes->classes[opcode] & LP_OP_INVALID || units - own - 1 < opcodes->caches[opcode]) return false;
    *instr = (struct lp_code_instr){.offset = at,
                                    .own = own,
                                    .next = own + 1 + opcodes->caches[opcode],
                                    .column = LP_NO_COLUMN,
                                    .end_column = LP_NO_COLUMN,
                                    .target = LP_NO_INSTR,
                                    .handler = LP_NO_INSTR,
                                    .classes = opcodes->classes[opcode]};
    *argument = value;
    return true;
}

/* `target` keeps the argument until the jumps are worked out. */
static int read_instrs(const struct lp_code_raw *raw, const struct lp_code_opcodes *opcodes,
                       struct lp_code_shape *shape, struct lp_error *err)
{
    for (uint32_t at = 0; at < shape->unit_count;) {
        struct lp_code_instr *instr = &shape->instrs[shape->count];
        uint32_t argument;
        if (!read_instr(raw, opcodes, at, instr, &argument))
            return lp__fail(err, LP_ERR_FORMAT, 0, "no instruction at offset %u", 2 * at);
        instr->target = argument;
        for (; at < instr->next; at++)
            shape->at[at] = shape->count;
        shape->count++;
    }
    shape->at[shape->unit_count] = shape->count;
    return 0;
}

/* The instruction that begins at a unit, LP_NO_INSTR if none does. */
static uint32_t starting_at(const struct lp_code_shape *shape, uint64_t unit)
{
    if (unit >= shape->unit_count) return LP_NO_INSTR;
    uint32_t index = shape->at[unit];
    return shape->instrs[index].offset == unit ? index : LP_NO_INSTR;
}

static int find_targets(struct lp_code_shape *shape, struct lp_error *err)
{
    for (uint32_t i = 0; i < shape->count; i++) {
        struct lp_code_instr *instr = &shape->instrs[i];
        uint64_t argument = instr->target, unit = UINT64_MAX;
        instr->target = LP_NO_INSTR;
        if (instr->classes & LP_OP_JUMP_FORWARD) unit = instr->next + argument;
        if (instr->classes & LP_OP_JUMP_BACK && argument <= instr->next) unit = instr->next - argument;
        if (instr->classes & LP_OP_JUMP_TO) unit = argument;
        if (!(instr->classes & (LP_OP_JUMP_FORWARD | LP_OP_JUMP_BACK | LP_OP_JUMP_TO))) continue;
        instr->target = starting_at(shape, unit);
        if (instr->target == LP_NO_INSTR)
            return lp__fail(err, LP_ERR_FORMAT, 0, "a jump at offset %u leads nowhere", 2 * instr->own);
    }
    return 0;
}

/* -- locations --------------------------------------------------------------------------------------------------- */

/* Gives the location to the instructions that begin in [from, to), in code units. */
static void locate(struct lp_code_shape *shape, uint32_t *next, uint64_t to, const struct location *location)
{
    for (; *next < shape->count && shape->instrs[*next].offset < to; ++*next) {
        struct lp_code_instr *instr = &shape->instrs[*next];
        instr->line = location->line;
        instr->end_line = location->end_line;
        instr->column = location->column;
        instr->end_column = location->end_column;
    }
}

/* A line number that cannot be one, from a table that adds up to nonsense, is none. */
static uint32_t line_or_none(int64_t line)
{
    return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

/* 3.10: {bytes, signed line delta}; a delta of -128 says "no line" and changes none. */
static int read_pairs(const struct lp_code_raw *raw, struct lp_code_shape *shape, struct lp_error *err)
{
    int64_t line = raw->first_line;
    uint64_t end = 0;
    uint32_t next = 0;
    if (raw->lines_bytes % 2) return lp__fail(err, LP_ERR_FORMAT, 0, "a line table of %u bytes", raw->lines_bytes);
    for (uint32_t at = 0; at < raw->lines_bytes; at += 2) {
        int byte = raw->lines[at + 1], delta = byte < 128 ? byte : byte - 256;
        if (delta != -128) line += delta;
        end += raw->lines[at];
        struct location location = {
            .line = delta == -128 ? 0 : line_or_none(line), .column = LP_NO_COLUMN, .end_column = LP_NO_COLUMN};
        location.end_line = location.line;
        locate(shape, &next, end / 2, &location);
    }
    return 0;
}

/* Six bits a byte, least significant first; 0x40: more follow. */
static uint32_t take_number(struct cursor *cursor)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 36; shift += 6) {
        unsigned byte = take(cursor);
        value |= (uint64_t)(byte & 0x3F) << shift;
        if (!(byte & 0x40)) {
            if (value > INT32_MAX) break;
            return (uint32_t)value;
        }
    }
    cursor->broken = true;
    return 0;
}

/* The sign is the lowest bit. */
static int64_t take_signed(struct cursor *cursor)
{
    int64_t value = take_number(cursor);
    return value & 1 ? -(value >> 1) : value >> 1;
}

/* One greater in the table, so that 0 can say "not known". */
static uint32_t take_column(struct cursor *cursor)
{
    uint32_t value = take_number(cursor);
    return value ? value - 1 : LP_NO_COLUMN;
}

enum { FORM_ONE_LINE = 10, FORM_NO_COLUMNS = 13, FORM_LONG = 14, FORM_NONE = 15 };

/* One entry's location; `line` is carried from entry to entry. */
static struct location take_location(struct cursor *cursor, unsigned form, int64_t *line)
{
    struct location location = {.column = LP_NO_COLUMN, .end_column = LP_NO_COLUMN};
    if (form == FORM_NONE) return location;
    if (form >= FORM_NO_COLUMNS)
        *line += take_signed(cursor);
    else if (form >= FORM_ONE_LINE)
        *line += form - FORM_ONE_LINE;
    location.line = location.end_line = line_or_none(*line);
    if (form < FORM_ONE_LINE) {
        unsigned byte = take(cursor);
        location.column = form << 3 | byte >> 4;
        location.end_column = location.column + (byte & 15);
    } else if (form < FORM_NO_COLUMNS) {
        location.column = take(cursor);
        location.end_column = take(cursor);
    } else if (form == FORM_LONG) {
        location.end_line = line_or_none(*line + take_number(cursor));
        location.column = take_column(cursor);
        location.end_column = take_column(cursor);
    }
    return location;
}

/* 3.11 and later: {0x80 | form << 3 | units - 1}, then what the form says. */
static int read_locations(const struct lp_code_raw *raw, struct lp_code_shape *shape, struct lp_error *err)
{
    struct cursor cursor = {.at = raw->lines, .end = raw->lines + raw->lines_bytes};
    int64_t line = raw->first_line;
    uint64_t end = 0;
    uint32_t next = 0;
    while (cursor.at < cursor.end) {
        unsigned head = take(&cursor);
        struct location location = take_location(&cursor, head >> 3 & 15, &line);
        if (!(head & 0x80) || cursor.broken)
            return lp__fail(err, LP_ERR_FORMAT, 0, "a line table is broken at byte %zu",
                            (size_t)(cursor.at - raw->lines));
        end += (head & 7) + 1;
        locate(shape, &next, end, &location);
    }
    return 0;
}

/* -- handlers ---------------------------------------------------------------------------------------------------- */

/* Six bits a byte, most significant first; 0x40: more follow. */
static uint32_t take_big_number(struct cursor *cursor)
{
    uint32_t value = 0;
    for (int i = 0; i < 5; i++) {
        unsigned byte = take(cursor);
        value = value << 6 | (byte & 0x3F);
        if (!(byte & 0x40)) return value;
    }
    cursor->broken = true;
    return 0;
}

static int read_handlers(const struct lp_code_raw *raw, struct lp_code_shape *shape, struct lp_error *err)
{
    struct cursor cursor = {.at = raw->handlers, .end = raw->handlers + raw->handlers_bytes};
    while (cursor.at < cursor.end) {
        uint32_t start = take_big_number(&cursor), length = take_big_number(&cursor);
        uint32_t handler = starting_at(shape, take_big_number(&cursor));
        (void)take_big_number(&cursor); /* stack depth */
        if (cursor.broken || handler == LP_NO_INSTR || start > shape->unit_count || length > shape->unit_count - start)
            return lp__fail(err, LP_ERR_FORMAT, 0, "an exception table is broken");
        for (uint32_t i = shape->at[start]; i < shape->count && shape->instrs[i].offset < start + length; i++)
            shape->instrs[i].handler = handler;
    }
    return 0;
}

/* Before 3.11 handlers are set up as the code runs.  A state is the innermost block an instruction runs in: block
 * 2i + 1 is what the set-up instruction i protects, 2i + 2 its handler's own run, 0 none. */
struct block {
    uint32_t parent, handler; /* instruction index; of the innermost protecting block */
};

struct block_walk {
    struct lp_code_shape *shape;
    struct block *blocks;   /* [2 * count + 1] */
    uint32_t *state, *todo; /* [count]; state is UINT32_MAX until visited */
    uint32_t todo_count;
};

static void reach(struct block_walk *walk, uint32_t index, uint32_t state)
{
    if (index >= walk->shape->count || walk->state[index] != UINT32_MAX) return;
    walk->state[index] = state;
    walk->todo[walk->todo_count++] = index;
}

static void enter_block(struct block_walk *walk, uint32_t index, uint32_t state)
{
    uint32_t target = walk->shape->instrs[index].target;
    struct block *body = &walk->blocks[2 * index + 1], *handler = body + 1;
    body->parent = handler->parent = state;
    body->handler = target;
    handler->handler = walk->blocks[state].handler;
    reach(walk, index + 1, 2 * index + 1);
    reach(walk, target, 2 * index + 2);
}

static void step(struct block_walk *walk, uint32_t index)
{
    struct lp_code_instr *instr = &walk->shape->instrs[index];
    uint32_t state = walk->state[index];
    instr->handler = walk->blocks[state].handler;
    if (instr->classes & LP_OP_HANDLER) {
        enter_block(walk, index, state);
        return;
    }
    if (instr->classes & (LP_OP_BLOCK_END | LP_OP_CATCH_END)) state = walk->blocks[state].parent;
    if (instr->target != LP_NO_INSTR) reach(walk, instr->target, state);
    if (!(instr->classes & LP_OP_ENDS)) reach(walk, index + 1, state);
}

static int walk_blocks(struct lp_code_shape *shape, struct lp_error *err)
{
    size_t count = shape->count;
    struct block_walk walk = {.shape = shape};
    void *memory = lp__alloc((2 * count + 1) * sizeof *walk.blocks + 2 * count * sizeof *walk.state);
    if (!memory) return lp__fail(err, LP_ERR_NO_MEMORY, 0, "%zu instructions", count);
    walk.blocks = memory;
    walk.state = (uint32_t *)(walk.blocks + 2 * count + 1);
    walk.todo = walk.state + count;
    walk.blocks[0] = (struct block){.parent = 0, .handler = LP_NO_INSTR};
    memset(walk.state, 0xFF, count * sizeof *walk.state);
    reach(&walk, 0, 0);
    while (walk.todo_count)
        step(&walk, walk.todo[--walk.todo_count]);
    lp__free(memory);
    return 0;
}

/* -- all of it --------------------------------------------------------------------------------------------------- */

static bool has_setups(const struct lp_code_opcodes *opcodes)
{
    for (int i = 0; i < 256; i++)
        if (opcodes->classes[i] & LP_OP_HANDLER) return true;
    return false;
}

static int fill(const struct lp_code_raw *raw, const struct lp_code_opcodes *opcodes, struct lp_code_shape *shape,
                struct lp_error *err)
{
    bool old = has_setups(opcodes);
    int rc = read_instrs(raw, opcodes, shape, err);
    if (!rc) rc = find_targets(shape, err);
    if (!rc) rc = old ? read_pairs(raw, shape, err) : read_locations(raw, shape, err);
    if (!rc) rc = old ? walk_blocks(shape, err) : read_handlers(raw, shape, err);
    return rc;
}

int lp__code_shape(const struct lp_code_raw *raw, const struct lp_code_opcodes *opcodes, struct lp_code_shape *out,
                   struct lp_error *err)
{
    memset(out, 0, sizeof *out);
    int rc = check_raw(raw, opcodes, err);
    if (rc) return rc;
    size_t units = raw->code_bytes / 2;
    out->memory = lp__alloc(units * sizeof *out->instrs + (units + 1) * sizeof *out->at);
    if (!out->memory) return lp__fail(err, LP_ERR_NO_MEMORY, 0, "%zu code units", units);
    out->instrs = out->memory;
    out->at = (uint32_t *)(out->instrs + units);
    out->unit_count = (uint32_t)units;
    rc = fill(raw, opcodes, out, err);
    if (rc) lp__code_shape_release(out);
    return rc;
}

void lp__code_shape_release(struct lp_code_shape *shape)
{
    lp__free(shape->memory);
    memset(shape, 0, sizeof *shape);
}
