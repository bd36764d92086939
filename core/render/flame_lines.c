/* Time by call path for other programs' flame graphs: collapsed stacks and a speedscope file.
 *
 * Stacks come parents first and each one's descendants in a row, so walking them once opens and closes every frame in
 * its place.  A frame whose time is one caller's share of it says so in its name.
 */
// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "render/escape.h"
#include "render/json.h"
#include "render/lines.h"
#include "render/text.h"

enum { NAME_COLUMNS = 200, PATH_COLUMNS = 80 };

static const char shared_mark[] = " (share)";
static const char how[] =
    "time by call path; where a function has several callers it is divided among them in proportion: (share)";

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return path[0] == '/' && slash[1] ? slash + 1 : path;
}

/* "outer (shop.py:7)" */
static void frame_name(const struct lp_line_report *report, const struct lp_line_stack *stack, struct lp_buf *out)
{
    const struct lp_line_function *function = &report->functions[stack->function];
    const char *file = base_name(report->files[function->file].path);
    struct lp_text name = lp__shown_name(function->name);
    (void)lp__escape_label(out, name.bytes, name.len, NAME_COLUMNS, true);
    lp__buf_adds(out, " (");
    (void)lp__escape_label(out, file, strlen(file), PATH_COLUMNS, true);
    lp__buf_addf(out, ":%" PRIu32 ")%s", function->first_line, stack->shared ? shared_mark : "");
}

/* -- collapsed --------------------------------------------------------------------------------------------------- */

/* The path to a stack, extended by one name from the path to its parent.  The sign between names is no part of one. */
static void extend(struct lp_buf *path, const struct lp_line_report *report, const struct lp_line_stack *stack)
{
    size_t from = path->len;
    if (from) lp__buf_addc(path, ';');
    size_t name = path->len;
    frame_name(report, stack, path);
    for (size_t i = name; i < path->len; i++)
        if (path->data[i] == ';') path->data[i] = ',';
}

static void shorten(struct lp_buf *path, size_t len)
{
    if (path->failed || !path->data) return;
    path->len = len;
    path->data[len] = '\0';
}

/* Where the walk is: frames that are open, and how long the path was before each. */
struct open_frames {
    uint32_t *stack;
    size_t *before;
    size_t depth;
};

static bool frames_init(struct open_frames *frames, size_t most)
{
    *frames = (struct open_frames){.stack = lp__calloc(most + 1, sizeof *frames->stack),
                                   .before = lp__calloc(most + 1, sizeof *frames->before)};
    return frames->stack && frames->before;
}

static void frames_release(struct open_frames *frames)
{
    lp__free(frames->stack);
    lp__free(frames->before);
}

static bool is_parent(const struct open_frames *frames, uint32_t parent)
{
    return frames->depth && frames->stack[frames->depth - 1] == parent;
}

void lp__render_lines_collapsed(const struct lp_line_report *report, const struct lp_line_stacks *stacks,
                                struct lp_buf *out)
{
    struct open_frames frames;
    struct lp_buf path;
    lp__buf_init(&path, (size_t)16 << 20);
    if (!frames_init(&frames, stacks->count)) out->failed = LP_ERR_NO_MEMORY;
    for (uint32_t i = 0; i < stacks->count && !out->failed; i++) {
        const struct lp_line_stack *stack = &stacks->at[i];
        while (frames.depth && !is_parent(&frames, stack->parent))
            shorten(&path, frames.before[--frames.depth]);
        frames.stack[frames.depth] = i;
        frames.before[frames.depth++] = path.len;
        extend(&path, report, stack);
        if (!stack->self_ns) continue;
        lp__buf_add(out, path.data, path.len);
        lp__buf_addf(out, " %" PRIu64 "\n", stack->self_ns);
    }
    if (path.failed) out->failed = path.failed;
    frames_release(&frames);
    lp__buf_release(&path);
}

/* -- speedscope -------------------------------------------------------------------------------------------------- */

/* A frame for each function, twice: as a whole and as a share. */
static uint32_t frame_of(const struct lp_line_stack *stack)
{
    return stack->function * 2 + stack->shared;
}

static void put_frames(struct lp_json *json, const struct lp_line_report *report)
{
    struct lp_buf name;
    lp__buf_init(&name, (size_t)1 << 16);
    lp__put_open(json, "shared", '{');
    lp__put_open(json, "frames", '[');
    for (uint32_t i = 0; i < report->function_count * 2; i++) {
        const struct lp_line_stack stack = {.function = i / 2, .shared = i % 2};
        const struct lp_line_function *function = &report->functions[stack.function];
        lp__buf_clear(&name);
        frame_name(report, &stack, &name);
        lp__json_open(json, '{');
        lp__json_key(json, "name");
        lp__json_str(json, name.len ? name.data : "", name.len);
        lp__put_text(json, "file", report->files[function->file].path);
        lp__put_u64(json, "line", function->first_line);
        lp__json_close(json, '}');
    }
    lp__json_close(json, ']');
    lp__json_close(json, '}');
    if (name.failed) json->out->failed = name.failed;
    lp__buf_release(&name);
}

static void put_event(struct lp_json *json, const char *type, uint32_t frame, uint64_t at)
{
    lp__json_open(json, '{');
    lp__put_text(json, "type", type);
    lp__put_u64(json, "frame", frame);
    lp__put_u64(json, "at", at);
    lp__json_close(json, '}');
}

static void put_events(struct lp_json *json, const struct lp_line_stacks *stacks)
{
    struct open_frames frames;
    uint64_t now = 0;
    lp__put_open(json, "events", '[');
    if (!frames_init(&frames, stacks->count)) json->out->failed = LP_ERR_NO_MEMORY;
    for (uint32_t i = 0; i < stacks->count && !json->out->failed; i++) {
        while (frames.depth && !is_parent(&frames, stacks->at[i].parent))
            put_event(json, "C", frame_of(&stacks->at[frames.stack[--frames.depth]]), now);
        put_event(json, "O", frame_of(&stacks->at[i]), now);
        frames.stack[frames.depth++] = i;
        now += stacks->at[i].self_ns;
    }
    while (frames.depth)
        put_event(json, "C", frame_of(&stacks->at[frames.stack[--frames.depth]]), now);
    lp__json_close(json, ']');
    frames_release(&frames);
}

void lp__render_lines_speedscope(const struct lp_line_report *report, const struct lp_line_stacks *stacks,
                                 struct lp_buf *out)
{
    struct lp_json json;
    lp__json_init(&json, out, 0);
    lp__json_open(&json, '{');
    lp__put_text(&json, "$schema", "https://www.speedscope.app/file-format-schema.json");
    lp__put_text(&json, "exporter", "lineprofiler");
    lp__put_text(&json, "name", "lines");
    lp__put_u64(&json, "activeProfileIndex", 0);
    put_frames(&json, report);
    lp__put_open(&json, "profiles", '[');
    lp__json_open(&json, '{');
    lp__put_text(&json, "type", "evented");
    lp__put_text(&json, "name", how);
    lp__put_text(&json, "unit", "nanoseconds");
    lp__put_u64(&json, "startValue", 0);
    lp__put_u64(&json, "endValue", stacks->total_ns);
    put_events(&json, stacks);
    lp__json_close(&json, '}');
    lp__json_close(&json, ']');
    lp__json_close(&json, '}');
    lp__buf_addc(out, '\n');
}
