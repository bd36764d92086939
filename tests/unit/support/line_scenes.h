/* Line reports made by hand, for tests of what renders them.  Deterministic: same calls, same report.  A scene is the
 * report, the run it hangs on, and everything they point to; line_scene_release gives all of it back. */
// SPDX-License-Identifier: MIT
#ifndef TESTS_LINE_SCENES_H
#define TESTS_LINE_SCENES_H

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/lines.h"
#include "base/fmt.h"
#include "support/run_fixture.h"

struct line_scene {
    struct fixture run;
    struct lp_line_report report;
};

static inline void *line_scene_make(struct line_scene *s, size_t count, size_t bytes)
{
    void *made = lp__arena_alloc(&s->report.arena, count * bytes + 1);
    assert(made);
    return made;
}

static inline void line_scene_init(struct line_scene *s, const char *argv)
{
    memset(s, 0, sizeof *s);
    fixture_init(&s->run);
    uint32_t role = fixture_role(&s->run, "main");
    struct lp_run_process *process = fixture_process(&s->run, role, "vm", 4711);
    process->argv = argv;
    process->python = "3.12.1";
    process->cwd = "/home/someone/project";
    process->revision = "0123456789ab";
    process->started_real_ns = 1.7e18;
    process->last_real_ns = 1.7e18 + 412.5e6;
    lp__arena_init(&s->report.arena, (size_t)512 << 20);
    s->report.run = &s->run.run;
    s->report.threads = 2;
    s->report.processes = 1;
    s->report.event_cost_ns = 38.25;
    s->report.mechanism = "monitoring";
}

static inline void line_scene_release(struct line_scene *s)
{
    lp__arena_release(&s->report.arena);
    fixture_release(&s->run);
}

static inline struct lp_text line_scene_text(const char *text)
{
    return (struct lp_text){text, strlen(text)};
}

/* Room for so many of each; the counts start at 0. */
static inline void line_scene_room(struct line_scene *s, size_t files, size_t functions, size_t regions)
{
    s->report.files = line_scene_make(s, files, sizeof *s->report.files);
    s->report.functions = line_scene_make(s, functions, sizeof *s->report.functions);
    s->report.regions = line_scene_make(s, regions, sizeof *s->report.regions);
}

static inline uint32_t line_scene_file(struct line_scene *s, const char *path, const char *text, size_t len,
                                       enum lp_source_state state)
{
    struct lp_line_file *file = &s->report.files[s->report.file_count];
    *file = (struct lp_line_file){.path = path, .source = state};
    if (text) {
        uint32_t lines = 0;
        for (size_t i = 0; i < len; i++)
            lines += text[i] == '\n';
        uint32_t *starts = line_scene_make(s, (size_t)lines + 1, sizeof *starts);
        for (size_t i = 0, line = 1; i < len; i++)
            if (text[i] == '\n') starts[line++] = (uint32_t)i + 1;
        file->text = text;
        file->text_len = len;
        file->line_starts = starts;
        file->line_count = lines;
    }
    return (uint32_t)s->report.file_count++;
}

static inline uint32_t line_scene_function(struct line_scene *s, uint32_t file, const char *name, uint32_t first,
                                           uint32_t last, uint64_t calls, double total_ns)
{
    struct lp_line_function *function = &s->report.functions[s->report.function_count];
    *function = (struct lp_line_function){.file = file,
                                          .name = line_scene_text(name),
                                          .first_line = first,
                                          .last_line = last,
                                          .calls = calls,
                                          .total_ns = total_ns};
    return (uint32_t)s->report.function_count++;
}

/* Rows of the function, and lines that have code and did not run (ends with 0). */
static inline void line_scene_rows(struct line_scene *s, uint32_t index, const struct lp_line_row *rows, size_t count,
                                   const uint32_t *missed)
{
    struct lp_line_function *function = &s->report.functions[index];
    size_t extra = 0;
    while (missed && missed[extra])
        extra++;
    function->rows = line_scene_make(s, count, sizeof *rows);
    memcpy(function->rows, rows, count * sizeof *rows);
    function->row_count = count;
    function->code_lines = line_scene_make(s, count + extra, sizeof *function->code_lines);
    for (size_t row = 0, other = 0; row < count || other < extra;) {
        bool mine = other == extra || (row < count && rows[row].line < missed[other]);
        function->code_lines[function->code_line_count++] = mine ? rows[row++].line : missed[other++];
    }
}

static inline void line_scene_call(struct line_scene *s, uint32_t caller, uint32_t line, uint32_t callee,
                                   uint64_t calls, double inclusive_ns)
{
    struct lp_line_function *from = &s->report.functions[caller], *to = &s->report.functions[callee];
    enum { MOST = 8 };
    if (!from->callees) from->callees = line_scene_make(s, MOST, sizeof *from->callees);
    if (!to->callers) to->callers = line_scene_make(s, MOST, sizeof *to->callers);
    assert(from->callee_count < MOST && to->caller_count < MOST);
    from->callees[from->callee_count++] = (struct lp_line_call){callee, line, calls, inclusive_ns};
    to->callers[to->caller_count++] = (struct lp_line_call){caller, line, calls, inclusive_ns};
}

static inline uint32_t line_scene_region(struct line_scene *s, const char *name, uint32_t parent, uint64_t entries,
                                         double wall_ns, const struct lp_line_region_row *rows, size_t count)
{
    struct lp_line_region *region = &s->report.regions[s->report.region_count];
    *region = (struct lp_line_region){
        .name = line_scene_text(name), .parent = parent, .entries = entries, .wall_ns = wall_ns, .row_count = count};
    region->rows = line_scene_make(s, count, sizeof *rows);
    memcpy(region->rows, rows, count * sizeof *rows);
    for (size_t i = 0; i < count; i++) {
        struct lp_line_region_row *row = &region->rows[i];
        double cost = isnan(s->report.event_cost_ns) ? 0 : (double)row->events * s->report.event_cost_ns;
        row->corrected_self_ns = fmax(0, row->self_ns - cost);
        row->corrected_inclusive_ns = row->inclusive_ns - (row->self_ns - row->corrected_self_ns);
        region->self_ns += row->self_ns;
        region->corrected_self_ns += row->corrected_self_ns;
    }
    return (uint32_t)s->report.region_count++;
}

static struct lp_line_report *line_scene_ranked; /* qsort hands on no argument */

static inline double line_scene_self(const struct lp_line_hot *hot)
{
    return line_scene_ranked->functions[hot->function].rows[hot->row].self_ns;
}

static inline int lp__cmp_scene_hot(const void *a, const void *b)
{
    double left = line_scene_self(a), right = line_scene_self(b);
    return (left < right) - (left > right);
}

/* Takes the cost of the events off: a line loses its own events and, of what it called, the share that those calls
 * lost.  In scenes a function stands before those that it calls. */
static inline void line_scene_correct(struct line_scene *s, struct lp_line_function *function)
{
    double cost = isnan(s->report.event_cost_ns) ? 0 : s->report.event_cost_ns;
    function->corrected_total_ns = function->total_ns;
    for (size_t row = 0; row < function->row_count; row++) {
        struct lp_line_row *each = &function->rows[row];
        each->corrected_self_ns = fmax(0, each->self_ns - (double)each->events * cost);
        each->corrected_inclusive_ns = each->inclusive_ns - (each->self_ns - each->corrected_self_ns);
        for (size_t call = 0; call < function->callee_count; call++) {
            const struct lp_line_function *callee = &s->report.functions[function->callees[call].function];
            if (function->callees[call].line == each->line && callee->total_ns > 0)
                each->corrected_inclusive_ns -=
                    function->callees[call].inclusive_ns * (1 - callee->corrected_total_ns / callee->total_ns);
        }
        function->corrected_self_ns += each->corrected_self_ns;
        function->corrected_total_ns -= each->inclusive_ns - each->corrected_inclusive_ns;
    }
}

/* Sums and rankings over what was put in. */
static inline void line_scene_finish(struct line_scene *s)
{
    struct lp_line_report *report = &s->report;
    size_t rows = 0;
    for (size_t i = report->function_count; i-- > 0;)
        line_scene_correct(s, &report->functions[i]);
    for (size_t i = 0; i < report->function_count; i++) {
        struct lp_line_function *function = &report->functions[i];
        struct lp_line_file *file = &report->files[function->file];
        for (size_t row = 0; row < function->row_count; row++) {
            function->self_ns += function->rows[row].self_ns;
            function->suspended_ns += function->rows[row].suspended_ns;
            report->events += function->rows[row].events;
            if (function->rows[row].mark == LP_ROW_EXACT) file->hits += function->rows[row].hits;
        }
        report->corrected_ns += function->corrected_self_ns;
        rows += function->row_count;
        file->self_ns += function->self_ns;
        report->profiled_ns += function->self_ns;
        if (!file->functions) file->functions = line_scene_make(s, report->function_count, sizeof *file->functions);
        file->functions[file->function_count++] = (uint32_t)i;
    }
    for (size_t i = 0; i < report->region_count; i++)
        report->regions[i].share = report->profiled_ns > 0 ? report->regions[i].self_ns / report->profiled_ns : LP_NAN;
    report->hot = line_scene_make(s, rows, sizeof *report->hot);
    for (uint32_t i = 0; i < report->function_count; i++)
        for (uint32_t row = 0; row < report->functions[i].row_count; row++)
            report->hot[report->hot_count++] = (struct lp_line_hot){i, row};
    line_scene_ranked = report;
    qsort(report->hot, report->hot_count, sizeof *report->hot, lp__cmp_scene_hot);
}

#define LINE_SCENE_ROWS(s, function, missed, ...)                                                                      \
    line_scene_rows(s, function, (const struct lp_line_row[]){__VA_ARGS__},                                            \
                    sizeof((const struct lp_line_row[]){__VA_ARGS__}) / sizeof(struct lp_line_row), missed)
#define LINE_SCENE_REGION(s, name, parent, entries, wall_ns, ...)                                                      \
    line_scene_region(s, name, parent, entries, wall_ns, (const struct lp_line_region_row[]){__VA_ARGS__},             \
                      sizeof((const struct lp_line_region_row[]){__VA_ARGS__}) / sizeof(struct lp_line_region_row))

/* -- scenes ------------------------------------------------------------------------------------------------------ */

static const char line_scene_model_py[] = "\"\"\"A model that is slow in one place.\"\"\"\n"
                                          "import math\n"
                                          "\n"
                                          "\n"
                                          "class Model:\n"
                                          "    def __init__(self, n):\n"
                                          "        self.w = [math.sin(i) for i in range(n)]  # weights\n"
                                          "\n"
                                          "    def forward(self, x):\n"
                                          "        total = 0.0\n"
                                          "        for w in self.w:\n"
                                          "            total += w * x\n"
                                          "        if total != total:\n"
                                          "            raise ValueError(\"not a number\")\n"
                                          "        return total\n"
                                          "\n"
                                          "    async def send(self, out):\n"
                                          "        await out.put(self.w)\n";
static const char line_scene_main_py[] = "import asyncio\n"
                                         "\n"
                                         "from model import Model\n"
                                         "\n"
                                         "\n"
                                         "def train(steps):\n"
                                         "    m = Model(200)\n"
                                         "    out = []\n"
                                         "    for step in range(steps):\n"
                                         "        loss = m.forward(step / steps)\n"
                                         "        out.append(loss)\n"
                                         "    asyncio.run(m.send(Queue()))\n"
                                         "    return out\n";

/* Two files, a comprehension on a line of its own function, a coroutine, regions one in the other. */
static inline void line_scene_usual(struct line_scene *s)
{
    line_scene_init(s, "train.py --steps 200");
    line_scene_room(s, 3, 8, 4);
    uint32_t model = line_scene_file(s, "/home/someone/project/model.py", line_scene_model_py,
                                     sizeof line_scene_model_py - 1, LP_SOURCE_OK);
    uint32_t main_py = line_scene_file(s, "/home/someone/project/main.py", line_scene_main_py,
                                       sizeof line_scene_main_py - 1, LP_SOURCE_OK);
    uint32_t gone = line_scene_file(s, "/home/someone/project/tools/gone.py", NULL, 0, LP_SOURCE_CHANGED);
    uint32_t train = line_scene_function(s, main_py, "train", 6, 13, 1, 229.6e6);
    uint32_t forward = line_scene_function(s, model, "Model.forward", 9, 15, 200, 221.1e6);
    uint32_t setup = line_scene_function(s, model, "Model.__init__", 6, 7, 1, 1.36e6);
    uint32_t comprehension = line_scene_function(s, model, "Model.__init__.<locals>.<listcomp>", 7, 7, 1, 1.21e6);
    uint32_t send = line_scene_function(s, model, "Model.send", 17, 18, 1, 61.5e3);
    uint32_t helper = line_scene_function(s, gone, "helper", 3, 5, 2, 12.25e3);
    s->report.functions[send].flags = 0x80;
    LINE_SCENE_ROWS(s, train, ((const uint32_t[]){0}), {7, LP_ROW_EXACT, 1, 1, 48.0e3, 1.41e6, 0},
                    {8, LP_ROW_EXACT, 1, 1, 12.1e3, 12.1e3, 0}, {9, LP_ROW_EXACT, 201, 201, 690.0e3, 690.0e3, 0},
                    {10, LP_ROW_EXACT, 200, 200, 2.86e6, 223.9e6, 0}, {11, LP_ROW_EXACT, 200, 200, 825.8e3, 825.8e3, 0},
                    {12, LP_ROW_EXACT, 1, 2, 2.7e6, 2.76e6, 0}, {13, LP_ROW_EXACT, 1, 1, 19.5e3, 19.5e3, 0});
    LINE_SCENE_ROWS(s, forward, ((const uint32_t[]){14, 0}), {10, LP_ROW_EXACT, 200, 200, 463.3e3, 463.3e3, 0},
                    {11, LP_ROW_EXACT, 40200, 40200, 109.48e6, 109.48e6, 0},
                    {12, LP_ROW_EXACT, 40000, 40000, 110.46e6, 110.46e6, 0},
                    {13, LP_ROW_EXACT, 200, 200, 401.0e3, 401.0e3, 0},
                    {15, LP_ROW_EXACT, 200, 200, 295.7e3, 295.7e3, 0});
    LINE_SCENE_ROWS(s, setup, NULL, {7, LP_ROW_EXACT, 1, 1, 150.0e3, 1.36e6, 0});
    LINE_SCENE_ROWS(s, comprehension, NULL, {7, LP_ROW_EVENTS, 0, 201, 1.21e6, 1.21e6, 0});
    LINE_SCENE_ROWS(s, send, NULL, {18, LP_ROW_EXACT, 1, 2, 61.5e3, 61.5e3, 5.25e6});
    LINE_SCENE_ROWS(s, helper, ((const uint32_t[]){5, 0}), {4, LP_ROW_EXACT, 2, 2, 12.25e3, 12.25e3, 0});
    line_scene_call(s, train, 7, setup, 1, 1.36e6);
    line_scene_call(s, train, 10, forward, 200, 221.1e6);
    line_scene_call(s, train, 12, send, 1, 61.5e3);
    line_scene_call(s, setup, 7, comprehension, 1, 1.21e6);
    uint32_t outer = LINE_SCENE_REGION(s, "training", UINT32_MAX, 1, 229.9e6,
                                       {forward, 12, 40000, 40000, LP_ROW_EXACT, 110.46e6, 110.46e6},
                                       {forward, 11, 40200, 40200, LP_ROW_EXACT, 109.48e6, 109.48e6},
                                       {train, 10, 200, 200, LP_ROW_EXACT, 2.86e6, 223.9e6});
    LINE_SCENE_REGION(s, "warm-up", outer, 20, 22.5e6, {forward, 12, 4000, 4000, LP_ROW_EXACT, 11.05e6, 11.05e6},
                      {forward, 11, 4020, 4020, LP_ROW_EXACT, 10.95e6, 10.95e6});
    LINE_SCENE_REGION(s, "setup", UINT32_MAX, 1, 1.5e6, {setup, 7, 1, 1, LP_ROW_EXACT, 150.0e3, 1.36e6});
    static const char *const notes[] = {"One thread was made in C before profiling began; its lines are not here."};
    s->report.notes = notes;
    s->report.note_count = 1;
    s->report.unobserved_threads = 1;
    line_scene_finish(s);
}

/* Names and text that try to leave their place. */
#define LINE_SCENE_HOSTILE                                                                                             \
    "</script><script>alert(1)</script><!-- \"' & ]]> \xE2\x80\xAE"                                                    \
    "gnp.exe\xE2\x80\xA8\xFF\x01 <img src=x onerror=alert(2)>"

static inline void line_scene_hostile(struct line_scene *s)
{
    static const char text[] = "x = '" LINE_SCENE_HOSTILE "'\n"
                               "y = {{data}} + `${alert(3)}`\n"
                               "\tz = \"</style><style>body{display:none}\"\r\n";
    line_scene_init(s, "evil " LINE_SCENE_HOSTILE);
    s->report.event_cost_ns = LP_NAN;
    s->run.processes[0].python = "<b>3</b>";
    s->run.processes[0].cwd = LINE_SCENE_HOSTILE;
    line_scene_room(s, 1, 2, 1);
    uint32_t file = line_scene_file(s, "/tmp/" LINE_SCENE_HOSTILE ".py", text, sizeof text - 1, LP_SOURCE_OK);
    uint32_t function = line_scene_function(s, file, LINE_SCENE_HOSTILE, 1, 3, 1, 6e3);
    uint32_t odd = line_scene_function(s, file, "__proto__", 2, 2, 0, LP_NAN);
    LINE_SCENE_ROWS(s, function, NULL, {1, LP_ROW_EXACT, 1, 1, 1e3, 1e3, 0}, {2, LP_ROW_PART, 7, 7, 2e3, 2e3, 0},
                    {3, LP_ROW_EXACT, UINT64_MAX / 2, UINT64_MAX / 2, 3e3, 3e3, 0});
    line_scene_call(s, function, 2, odd, 1, LP_NAN);
    LINE_SCENE_REGION(s, LINE_SCENE_HOSTILE, UINT32_MAX, 1, LP_NAN, {function, 1, 1, 1, LP_ROW_EXACT, 1e3, 1e3});
    static const char *const notes[] = {LINE_SCENE_HOSTILE};
    s->report.notes = notes;
    s->report.note_count = 1;
    line_scene_finish(s);
}

static inline void line_scene_empty(struct line_scene *s)
{
    line_scene_init(s, "");
    s->run.run.process_count = 0;
    static const char *const notes[] = {"Nothing was recorded: the block never ran code of the project."};
    s->report.notes = notes;
    s->report.note_count = 1;
    s->report.mechanism = "";
    s->report.event_cost_ns = LP_NAN;
    line_scene_finish(s);
}

/* A file of so many lines in functions of 20: one line in five is blank or a comment, one in ten is never run. */
static inline void line_scene_large(struct line_scene *s, uint32_t lines)
{
    static const char *const shapes[] = {
        "def function_%u(values, scale=1.0):\n",
        "    \"\"\"Sum of %u scaled values.\"\"\"\n",
        "    total = 0.0  # start of %u\n",
        "    for index, value in enumerate(values):  # %u\n",
        "        if value > %u:\n",
        "            total += value * scale + math.sqrt(value) / (index + %u)\n",
        "        elif value < -%u:\n",
        "            raise ValueError(\"negative value in function %u\")\n",
        "        total = max(total, previous_totals.get(index, %u))\n",
        "\n",
    };
    enum { SHAPES = 10, BLOCK = 20 };
    line_scene_init(s, "large.py");
    line_scene_room(s, 1, lines / BLOCK + 1, 1);
    size_t cap = (size_t)lines * 80 + 1, len = 0;
    char *text = line_scene_make(s, cap, 1);
    for (uint32_t line = 0; line < lines; line++)
        len += (size_t)snprintf(text + len, cap - len, shapes[line % SHAPES], line / SHAPES);
    uint32_t file = line_scene_file(s, "/srv/project/large.py", text, len, LP_SOURCE_OK);
    uint32_t seed = 1;
    for (uint32_t first = 1; first + BLOCK - 1 <= lines; first += BLOCK) {
        char *name = line_scene_make(s, 32, 1);
        snprintf(name, 32, "function_%u", first / SHAPES);
        struct lp_line_row rows[BLOCK];
        uint32_t missed[3] = {first + 7, first + 17, 0};
        size_t count = 0;
        double total = 0;
        for (uint32_t at = 0; at < BLOCK; at++) {
            uint32_t shape = at % SHAPES;
            if (shape == 0 || shape == 1 || shape == 7 || shape == 9) continue;
            seed = seed * 1664525u + 1013904223u;
            uint64_t hits = 1 + (seed >> 8) % 50000;
            double self = (double)hits * (40 + (seed >> 4) % 400);
            rows[count++] = (struct lp_line_row){first + at, LP_ROW_EXACT, hits, hits, self, self, 0};
            total += self;
        }
        uint32_t function = line_scene_function(s, file, name, first, first + BLOCK - 1, 1 + seed % 100, total);
        line_scene_rows(s, function, rows, count, missed);
    }
    line_scene_finish(s);
}

#endif
