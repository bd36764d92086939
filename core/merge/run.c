/* The end of a run's life. */
// SPDX-License-Identifier: MIT
#include "merge/run.h"

#include "merge/load.h"

void lp__run_tree_release(struct lp_run_tree *tree)
{
    lp__map_release(&tree->children);
    lp__free(tree->phases);
}

void lp__run_free(struct lp_run *run)
{
    if (!run) return;
    for (size_t i = 0; i < run->role_count; i++)
        lp__run_tree_release(&run->roles[i].tree);
    for (size_t i = 0; i < run->process_count; i++)
        if (run->processes[i].tree) lp__run_tree_release(run->processes[i].tree);
    lp__intern_release(&run->names);
    lp__arena_release(&run->arena);
    lp__free(run);
}
