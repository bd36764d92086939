/* Measures the hot path on a made-up thread state: one path that has been seen, in private memory. */
// SPDX-License-Identifier: MIT
#include "collect/cost.h"

#include "base/mem.h"
#include "collect/phase.h"

#define ROUNDS  5
#define ENTRIES 40

struct bench {
    uint64_t nothing; /* so that no reference is 0 */
    struct lp_hist_block blocks[LP_HIST_RECORD_SLOTS];
    struct lp_node_record root_record, record;
    struct lp_thread_record thread_record;
    struct lp_tree_node root, node;
    struct lp_scope scope;
    struct lp_thread thread;
};

static void prepare(struct bench *bench)
{
    unsigned slot;
    for (slot = 0; slot < LP_HIST_RECORD_SLOTS; slot++)
        bench->record.hist.slot[slot] = (lp_ref)(((uint8_t *)&bench->blocks[slot] - (uint8_t *)bench) / 8);
    bench->record.wall_min = UINT64_MAX;
    bench->root.record = &bench->root_record;
    bench->node.record = &bench->record;
    bench->node.name = 1;
    bench->root.last_child = &bench->node;
    bench->thread.map.base = (uint8_t *)bench;
    bench->thread.record = &bench->thread_record;
    bench->thread.free_scopes = &bench->scope;
    bench->thread.root_scope.node = &bench->root;
    bench->thread.top = &bench->thread.root_scope;
}

static uint64_t round_ns(struct lp_thread *thread)
{
    uint64_t start = lp__mono_ns();
    int i;
    for (i = 0; i < ENTRIES; i++)
        lp__end(thread, lp__begin(thread, 1, NULL, 0));
    return lp__mono_ns() - start;
}

uint64_t lp__entry_cost_ps(void)
{
    struct bench *bench = lp__calloc(1, sizeof *bench);
    uint64_t best = UINT64_MAX, ns;
    int i;
    if (bench == NULL) return 0;
    prepare(bench);
    for (i = 0; i < ROUNDS; i++) {
        ns = round_ns(&bench->thread);
        if (ns < best) best = ns;
    }
    lp__free(bench);
    return best * 1000 / ENTRIES;
}
