/* The numbers of one image: sums per path, then figures in nanoseconds, then the trees.
 *
 * Numbers are believed within reason: an entry cannot have taken longer than its process lived, so a node whose words
 * were damaged is left out and counted instead of turning a report into centuries.  One entry more than `calls` is
 * allowed for, since a kill may strike while a thread is booking one.
 */
// SPDX-License-Identifier: MIT
#include "merge/join.h"

#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/fmt.h"
#include "base/step.h"
#include "merge/trend.h"

/* More entries of one path cannot be open at once: their scopes alone would fill the memory. */
static const uint64_t most_open = (uint64_t)1 << 32;
static const double clock_slack_ns = 1e9;
enum { MAX_KILLED_IN = 4096 };

/* -- nodes into sums --------------------------------------------------------------------------------------------- */

static bool is_plausible(const struct lp_join *join, const struct lp_node_record *node)
{
    double life = join->lifetime_ticks;
    bool more_ended = node->begun < node->calls; /* on this thread than began here */
    uint64_t apart = more_ended ? node->calls - node->begun : node->begun - node->calls;
    double room = ((double)(more_ended ? node->calls : node->begun) + 1) * life;
    return apart <= most_open && (double)node->wall <= ((double)node->calls + 1) * life &&
           (double)node->inner <= room && (double)node->suspended <= room &&
           (!node->calls || (double)node->wall_max <= life);
}

static void add_node(struct lp_path_sum *sum, const struct lp_node_record *node)
{
    sum->flags |= node->flags & ~(uint32_t)(LP_NODE_ROOT | LP_NODE_THREAD | LP_NODE_FOLDED) & ~LP_RUN_DAMAGED;
    sum->begun += node->begun;
    sum->start_sum += node->start_sum;
    sum->wall += node->wall;
    sum->suspended += node->suspended;
    sum->inner += node->inner;
    sum->skipped += node->skipped;
    sum->unmeasured += node->unmeasured;
    sum->async_entries += node->async_entries;
    sum->cpu_ns += (double)node->cpu_ns;
    sum->cpu_ticks += (double)node->cpu_ticks;
    if (!node->calls) return;
    sum->min = sum->calls && sum->min < node->wall_min ? sum->min : node->wall_min;
    sum->max = sum->calls && sum->max > node->wall_max ? sum->max : node->wall_max;
    sum->calls += node->calls;
}

static void add_trend(struct lp_path_sum *sum, const struct lp_image *image, const struct lp_node_record *node)
{
    struct lp_tenths tenths;
    if (!node->trend || !lp__trend_tenths(image, node, &tenths)) return;
    sum->trend_calls += node->calls;
    sum->first_tenth += tenths.first;
    sum->last_tenth += tenths.last;
}

static int add_to_trees(struct lp_join *join, uint32_t phase, const struct lp_counter_record *record, uint32_t name)
{
    int rc = lp__builder_counter(join->role, phase, join->image, record, name);
    if (rc || !join->own) return rc;
    return lp__builder_counter(join->own, join->scratch->sums[phase].own, join->image, record, name);
}

/* A counter belongs to one node: it is added where it is met first, so no list can be endless or count twice. */
static int add_counters(struct lp_join *join, uint32_t phase, lp_ref ref)
{
    uint64_t *used = join->scratch->used_counters;
    size_t number;
    while (ref) {
        struct lp_counter_record record;
        uint32_t name;
        if (!lp__join_number(join, ref, LP_SEGMENT_COUNTERS, sizeof record, &number) ||
            used[number / 64] >> (number % 64) & 1) {
            join->process->damaged_nodes++;
            return LP_OK;
        }
        used[number / 64] |= (uint64_t)1 << (number % 64);
        memcpy(&record, join->image->bytes + (uint64_t)ref * 8, sizeof record);
        int rc = lp__join_name(join, record.name, &name);
        if (!rc && name == UINT32_MAX) {
            join->process->damaged_nodes++;
            name = join->scratch->damaged_name;
        }
        if (!rc) rc = add_to_trees(join, phase, &record, name);
        if (rc == LP_ERR_LIMIT)
            join->process->damaged_nodes++;
        else if (rc)
            return rc;
        ref = record.next;
    }
    return LP_OK;
}

static int add_hists(struct lp_join *join, uint32_t phase, const struct lp_hist_record *hist)
{
    int rc = lp__builder_hist(join->role, phase, join->image, hist, join->rate);
    if (rc || !join->own) return rc;
    return lp__builder_hist(join->own, join->scratch->sums[phase].own, join->image, hist, join->rate);
}

static int visit_node(struct lp_join *join, lp_ref ref, size_t number)
{
    struct lp_node_record node; /* one reading of words that may be changing */
    uint32_t phase = join->scratch->node_phase[number];
    if (phase == LP_NO_PHASE) return LP_OK;
    memcpy(&node, join->image->bytes + (uint64_t)ref * 8, sizeof node);
    int rc = add_counters(join, phase, node.counters);
    if (rc) return rc;
    if (!is_plausible(join, &node)) {
        join->process->damaged_nodes++;
        return LP_OK;
    }
    add_node(&join->scratch->sums[phase], &node);
    add_trend(&join->scratch->sums[phase], join->image, &node);
    return node.calls ? add_hists(join, phase, &node.hist) : LP_OK;
}

/* -- the process's own tree -------------------------------------------------------------------------------------- */

static int own_phase(struct lp_join *join, uint32_t phase)
{
    struct lp_path_sum *sums = join->scratch->sums;
    const struct lp_run_phase *shape = &join->role->tree.phases[phase];
    uint32_t folded = join->scratch->folded_name;
    enum lp_child_kind kind = shape->flags & LP_NODE_FOLDED   ? LP_CHILD_FOLDED
                              : shape->flags & LP_NODE_THREAD ? LP_CHILD_THREAD
                              : shape->flags & LP_RUN_DAMAGED ? LP_CHILD_DAMAGED
                                                              : LP_CHILD_PHASE;
    sums[phase].own = 0;
    if (!phase) return LP_OK;
    return lp__builder_child(join->own, sums[shape->parent].own, kind, shape->name, folded, &sums[phase].own);
}

/* Parents are touched before their children, so the order of touching will do for making them. */
static int make_own_tree(struct lp_join *join)
{
    int rc = LP_OK;
    for (size_t i = 0; join->own && !rc && i < join->scratch->touched_count; i++)
        rc = own_phase(join, join->scratch->touched[i]);
    return rc;
}

/* -- sums into figures ------------------------------------------------------------------------------------------- */

/* Time so far of the open entries; 0 where the words cannot be right, as in a node that was being booked. */
static double open_ns(const struct lp_join *join, const struct lp_path_sum *sum, uint64_t open)
{
    uint64_t ticks = open * join->end_ticks - sum->start_sum;
    if ((double)ticks > (double)open * join->lifetime_ticks) return 0;
    return (double)ticks * join->line->ns_per_tick;
}

static struct lp_run_phase figures_of(const struct lp_join *join, const struct lp_path_sum *sum)
{
    double rate = join->line->ns_per_tick;
    uint64_t open = sum->begun > sum->calls ? sum->begun - sum->calls : 0;
    return (struct lp_run_phase){
        .flags = sum->flags,
        .calls = sum->calls,
        .open = open,
        .skipped = sum->skipped,
        .unmeasured = sum->unmeasured,
        .async_entries = sum->async_entries,
        .wall_ns = (double)sum->wall * rate,
        .open_wall_ns = open ? open_ns(join, sum, open) : 0,
        .suspended_ns = (double)sum->suspended * rate,
        .inner_ns = (double)sum->inner * rate,
        .cpu_ns = sum->cpu_ns + sum->cpu_ticks * rate,
        .min_ns = sum->calls ? (double)sum->min * rate : LP_NAN,
        .max_ns = sum->calls ? (double)sum->max * rate : LP_NAN,
        .trend_calls = sum->trend_calls,
        .first_tenth_ns = sum->first_tenth * rate,
        .last_tenth_ns = sum->last_tenth * rate,
    };
}

struct deepest {
    uint32_t phase; /* LP_NO_PHASE: nothing open */
    uint32_t depth;
    uint64_t start;
};

/* Of two open paths of one depth the one that was begun last: it is what the process was at. */
static void consider(struct deepest *deepest, const struct lp_join *join, uint32_t phase, uint64_t open)
{
    const struct lp_path_sum *sum = &join->scratch->sums[phase];
    uint32_t depth = join->role->tree.phases[phase].depth;
    uint64_t start = join->end_ticks - (open * join->end_ticks - sum->start_sum) / open;
    if (deepest->phase != LP_NO_PHASE && depth < deepest->depth) return;
    if (deepest->phase != LP_NO_PHASE && depth == deepest->depth && (int64_t)(start - deepest->start) <= 0) return;
    *deepest = (struct deepest){phase, depth, start};
}

static void add_figures(struct lp_join *join, uint32_t phase, const struct lp_run_phase *figures)
{
    struct lp_run_process *process = join->process;
    lp__builder_add(join->role, phase, figures);
    if (join->own) lp__builder_add(join->own, join->scratch->sums[phase].own, figures);
    if (join->role->extra[phase].outermost)
        process->top_wall_ns += figures->wall_ns + figures->open_wall_ns - figures->suspended_ns;
    process->entries += figures->calls;
    process->open += figures->open;
}

/* Time of the thread roots: all there was, and what of it ran in scopes. */
static void add_root(struct lp_join *join, double charged_ns, double open_top_ns)
{
    struct lp_run_process *process = join->process;
    double inside = charged_ns + open_top_ns;
    if (inside > process->elapsed_ns) inside = process->elapsed_ns;
    process->outside_ns = process->elapsed_ns - inside;
    struct lp_run_phase figures = {
        .wall_ns = process->elapsed_ns, .inner_ns = inside, .min_ns = LP_NAN, .max_ns = LP_NAN};
    lp__builder_add(join->role, 0, &figures);
    if (join->own) lp__builder_add(join->own, 0, &figures);
}

static void add_paths(struct lp_join *join, struct deepest *deepest)
{
    const struct lp_join_scratch *scratch = join->scratch;
    double charged_ns = 0, open_top_ns = 0;
    for (size_t i = 0; i < scratch->touched_count; i++) {
        uint32_t phase = scratch->touched[i];
        struct lp_run_phase figures = figures_of(join, &scratch->sums[phase]);
        bool stands_for_thread = !phase || join->role->tree.phases[phase].flags & LP_NODE_THREAD;
        if (stands_for_thread) charged_ns += figures.inner_ns;
        if (!phase) continue;
        if (stands_for_thread) figures.inner_ns = 0; /* summed from its children in the end */
        if (join->role->extra[phase].outermost) open_top_ns += figures.open_wall_ns;
        if (figures.open) consider(deepest, join, phase, figures.open);
        add_figures(join, phase, &figures);
    }
    add_root(join, charged_ns, open_top_ns);
}

/* -- threads ----------------------------------------------------------------------------------------------------- */

static void add_thread(struct lp_join *join, const struct lp_thread_record *thread)
{
    struct lp_run_process *process = join->process;
    double elapsed = (double)thread->elapsed, running = 0;
    for (size_t i = 0; i < LP_DROP_COUNT; i++)
        process->drops[i] += thread->drops[i];
    if (!thread->tenants) return; /* the process's own losses, or never used */
    if (thread->attached_ticks) running = (double)(int64_t)(join->end_ticks - thread->attached_ticks);
    if (elapsed > join->lifetime_ticks) elapsed = 0;
    if (running < 0 || running > join->lifetime_ticks) running = 0;
    process->elapsed_ns += (elapsed + running) * join->line->ns_per_tick;
    process->threads += (uint32_t)(thread->tenants < 1u << 30 ? thread->tenants : 1);
    if (thread->sequence & 1 && join->life != LP_LIFE_ALIVE && join->life != LP_LIFE_FRESH) process->torn_threads++;
}

static void add_threads(struct lp_join *join)
{
    const struct lp_image *image = join->image;
    struct lp_thread_record thread;
    for (size_t i = 0; i < image->segment_count; i++) {
        const struct lp_image_segment *segment = &image->segments[i];
        if (segment->type != LP_SEGMENT_THREADS) continue;
        for (uint64_t at = 0; at < segment->payload_bytes; at += sizeof thread) {
            memcpy(&thread, image->bytes + segment->payload + at, sizeof thread);
            add_thread(join, &thread);
        }
    }
}

/* -- the process ------------------------------------------------------------------------------------------------- */

/* A name as a step of a path.  NUL would end the text, so it becomes U+FFFD. */
static void add_step(struct lp_buf *buf, const struct lp_text *name)
{
    bool quoted = lp__step_is_quoted(name->bytes, name->len);
    if (quoted) lp__buf_addc(buf, '"');
    for (size_t i = 0; i < name->len; i++)
        if (name->bytes[i])
            lp__buf_addc(buf, name->bytes[i]);
        else
            lp__buf_adds(buf, "\xef\xbf\xbd");
    if (quoted) lp__buf_addc(buf, '"');
}

/* A path as one line of text. */
static void add_path(struct lp_buf *buf, const struct lp_join *join, uint32_t phase)
{
    const struct lp_run_phase *phases = join->role->tree.phases;
    uint32_t path[64];
    size_t length = 0;
    for (; phase && length < sizeof path / sizeof path[0]; phase = phases[phase].parent)
        path[length++] = phase;
    if (phase) lp__buf_adds(buf, "\xe2\x80\xa6/");
    while (length) {
        add_step(buf, &join->run->names.texts[phases[path[--length]].name]);
        if (length) lp__buf_addc(buf, '/');
    }
}

static int name_deepest(struct lp_join *join, const struct deepest *deepest)
{
    struct lp_buf buf;
    uint32_t id;
    int rc = LP_OK;
    if (deepest->phase == LP_NO_PHASE) return rc;
    lp__buf_init(&buf, MAX_KILLED_IN);
    add_path(&buf, join, deepest->phase);
    if (buf.failed == LP_ERR_NO_MEMORY)
        rc = buf.failed;
    else if (buf.data)
        rc = lp__intern_add(&join->run->names, buf.data, buf.len, &id);
    if (!rc && buf.data) join->process->killed_in = join->run->names.texts[id].bytes;
    lp__buf_release(&buf);
    return rc;
}

void lp__join_times(struct lp_join *join)
{
    struct lp_run_process *process = join->process;
    const struct lp_clock_line *line = join->line;
    process->verdict = lp__verdict_of(join->life, process->open > 0);
    process->ns_per_tick = line->ns_per_tick;
    process->clock_stepped = line->stepped;
    process->clock_guessed = line->guessed;
    if (!line->base_mono_ns) return;
    process->started_mono_ns = (int64_t)line->base_mono_ns;
    process->last_mono_ns = lp__ticks_to_mono_ns(line, join->end_ticks);
    process->started_real_ns = (double)line->base_real_ns;
    process->last_real_ns =
        process->started_real_ns + (double)(int64_t)(join->end_ticks - line->base_ticks) * line->ns_per_tick;
}

int lp__join_image(struct lp_join *join)
{
    struct deepest deepest = {.phase = LP_NO_PHASE};
    double life = (double)(int64_t)(join->end_ticks - join->line->base_ticks);
    bool known = join->line->base_ticks && life >= 0;
    join->lifetime_ticks = known ? life + clock_slack_ns / join->line->ns_per_tick : 0x1p63;
    join->rate = lp__rate_class(join->line->ns_per_tick);
    int rc = lp__join_paths(join);
    if (!rc) rc = make_own_tree(join);
    if (!rc) rc = lp__join_each_node(join, visit_node);
    if (rc) return rc;
    add_threads(join);
    add_paths(join, &deepest);
    lp__join_times(join);
    join->process->damaged |= join->process->damaged_nodes > 0;
    return name_deepest(join, &deepest);
}
