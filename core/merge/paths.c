/* From a node's parent reference to its path in the tree.
 *
 * A reference may point anywhere.  Each node is resolved once: the chain of parents is followed until a node whose
 * phase is known, a root, or a fault, and then walked back.  A chain that meets itself is cut where it does.  What has
 * lost its place hangs below "(damaged)", a child of the root; what has lost its name is "(damaged)" where it stood.
 */
// SPDX-License-Identifier: MIT
#include <string.h>

#include "merge/join.h"

#define IN_PROGRESS (UINT32_MAX - 1)
#define UNKNOWN     (UINT32_MAX - 2)

/* -- scratch ----------------------------------------------------------------------------------------------------- */

static int reserve(void **memory, size_t *cap, size_t needed, size_t size)
{
    if (needed <= *cap) return LP_OK;
    size_t fresh = *cap * 2 > needed ? *cap * 2 : needed;
    if (fresh > SIZE_MAX / size) return LP_ERR_NO_MEMORY;
    void *larger = lp__realloc(*memory, fresh * size);
    if (!larger) return LP_ERR_NO_MEMORY;
    memset((char *)larger + *cap * size, 0, (fresh - *cap) * size);
    *memory = larger;
    *cap = fresh;
    return LP_OK;
}

#define RESERVE(array, cap, needed) reserve((void **)&(array), &(cap), (needed), sizeof *(array))

int lp__join_scratch_init(struct lp_join_scratch *scratch, struct lp_run *run)
{
    *scratch = (struct lp_join_scratch){.stamp = 0};
    int rc = lp__intern_add(&run->names, "(folded)", 8, &scratch->folded_name);
    return rc ? rc : lp__intern_add(&run->names, "(damaged)", 9, &scratch->damaged_name);
}

void lp__join_scratch_release(struct lp_join_scratch *scratch)
{
    lp__free(scratch->sums);
    lp__free(scratch->touched);
    lp__free(scratch->node_phase);
    lp__free(scratch->used_counters);
    lp__free(scratch->segment_base);
    lp__free(scratch->names);
    *scratch = (struct lp_join_scratch){.stamp = 0};
}

int lp__join_touch(struct lp_join *join, uint32_t phase, struct lp_path_sum **out)
{
    struct lp_join_scratch *scratch = join->scratch;
    if (RESERVE(scratch->sums, scratch->sum_cap, (size_t)phase + 1)) return LP_ERR_NO_MEMORY;
    struct lp_path_sum *sum = &scratch->sums[phase];
    *out = sum;
    if (sum->stamp == scratch->stamp) return LP_OK;
    if (RESERVE(scratch->touched, scratch->touched_cap, scratch->touched_count + 1)) return LP_ERR_NO_MEMORY;
    scratch->touched[scratch->touched_count++] = phase;
    *sum = (struct lp_path_sum){.stamp = scratch->stamp};
    return LP_OK;
}

/* -- names ------------------------------------------------------------------------------------------------------- */

static struct lp_name_slot *name_slot(const struct lp_join_scratch *scratch, lp_ref ref)
{
    size_t mask = scratch->name_cap - 1;
    size_t i = (size_t)lp__hash_u64(ref) & mask;
    while (scratch->names[i].stamp == scratch->stamp && scratch->names[i].ref != ref)
        i = (i + 1) & mask;
    return &scratch->names[i];
}

static int grow_names(struct lp_join_scratch *scratch)
{
    struct lp_join_scratch larger = *scratch;
    larger.name_cap = scratch->name_cap ? scratch->name_cap * 2 : 1024;
    larger.names = lp__calloc(larger.name_cap, sizeof *larger.names);
    if (!larger.names) return LP_ERR_NO_MEMORY;
    for (size_t i = 0; i < scratch->name_cap; i++)
        if (scratch->names[i].stamp == scratch->stamp) *name_slot(&larger, scratch->names[i].ref) = scratch->names[i];
    lp__free(scratch->names);
    scratch->names = larger.names;
    scratch->name_cap = larger.name_cap;
    return LP_OK;
}

/* Names do not overlap in an honest file, so all of them together are no longer than their segments.  Without this
 * limit overlapping ones could make a small file cost hours. */
static bool read_name(struct lp_join *join, lp_ref ref, struct lp_text *out)
{
    const struct lp_name_record *record = lp__image_record(join->image, ref, LP_SEGMENT_NAMES, sizeof *record);
    if (!record || record->bytes > join->name_bytes_left || !lp__image_name(join->image, ref, out)) return false;
    if (out->len > join->name_bytes_left) return false;
    join->name_bytes_left -= out->len;
    return true;
}

int lp__join_name(struct lp_join *join, lp_ref ref, uint32_t *id)
{
    struct lp_join_scratch *scratch = join->scratch;
    if (2 * (scratch->name_count + 1) > scratch->name_cap && grow_names(scratch)) return LP_ERR_NO_MEMORY;
    struct lp_name_slot *slot = name_slot(scratch, ref);
    if (slot->stamp != scratch->stamp) {
        struct lp_text text;
        *slot = (struct lp_name_slot){.ref = ref, .stamp = scratch->stamp, .id = UINT32_MAX};
        scratch->name_count++;
        if (read_name(join, ref, &text)) {
            int rc = lp__intern_add(&join->run->names, text.bytes, text.len, &slot->id);
            if (rc) return rc;
            if (slot->id >= 1u << 30) return LP_ERR_NO_MEMORY; /* the upper bits of a child's key are taken */
        }
    }
    *id = slot->id;
    return LP_OK;
}

/* -- nodes ------------------------------------------------------------------------------------------------------- */

static int count_records(struct lp_join *join)
{
    struct lp_join_scratch *scratch = join->scratch;
    const struct lp_image *image = join->image;
    if (RESERVE(scratch->segment_base, scratch->segment_cap, image->segment_count)) return LP_ERR_NO_MEMORY;
    join->node_count = join->counter_count = 0;
    join->name_bytes_left = 0;
    for (size_t i = 0; i < image->segment_count; i++) {
        const struct lp_image_segment *segment = &image->segments[i];
        if (segment->type == LP_SEGMENT_NAMES) join->name_bytes_left += segment->payload_bytes;
        if (segment->type == LP_SEGMENT_NODES) {
            scratch->segment_base[i] = (uint32_t)join->node_count;
            join->node_count += segment->payload_bytes / sizeof(struct lp_node_record);
        } else if (segment->type == LP_SEGMENT_COUNTERS) {
            scratch->segment_base[i] = (uint32_t)join->counter_count;
            join->counter_count += segment->payload_bytes / sizeof(struct lp_counter_record);
        }
    }
    if (RESERVE(scratch->node_phase, scratch->node_cap, 2 * join->node_count)) return LP_ERR_NO_MEMORY;
    size_t words = join->counter_count / 64 + 1;
    if (RESERVE(scratch->used_counters, scratch->counter_cap, words)) return LP_ERR_NO_MEMORY;
    memset(scratch->used_counters, 0, words * sizeof *scratch->used_counters);
    return LP_OK;
}

bool lp__join_number(const struct lp_join *join, lp_ref ref, uint16_t type, uint64_t record_bytes, size_t *number)
{
    const struct lp_image *image = join->image;
    uint64_t offset = (uint64_t)ref * 8;
    const struct lp_image_segment *segment = ref ? lp__image_segment_at(image, offset, record_bytes, type) : NULL;
    if (!segment || (offset - segment->payload) % record_bytes) return false;
    size_t base = join->scratch->segment_base[segment - image->segments];
    *number = base + (size_t)((offset - segment->payload) / record_bytes);
    return true;
}

static bool node_number(const struct lp_join *join, lp_ref ref, size_t *number)
{
    return lp__join_number(join, ref, LP_SEGMENT_NODES, sizeof(struct lp_node_record), number);
}

/* The words that say where a node stands. */
struct place {
    lp_ref parent, name;
    uint32_t flags;
};

static struct place place_of(const struct lp_join *join, lp_ref checked)
{
    struct place place;
    memcpy(&place, join->image->bytes + (uint64_t)checked * 8, sizeof place);
    return place;
}

static enum lp_child_kind kind_of(uint32_t flags)
{
    if (flags & LP_NODE_FOLDED) return LP_CHILD_FOLDED;
    return flags & LP_NODE_THREAD ? LP_CHILD_THREAD : LP_CHILD_PHASE;
}

static int damaged_child(struct lp_join *join, uint32_t parent, uint32_t *phase)
{
    struct lp_join_scratch *scratch = join->scratch;
    return lp__builder_child(join->role, parent, LP_CHILD_DAMAGED, scratch->damaged_name, scratch->folded_name, phase);
}

/* The phase of a node whose parent's is known. */
static int place_below(struct lp_join *join, const struct place *place, uint32_t parent, uint32_t *phase)
{
    struct lp_path_sum *sum;
    uint32_t name;
    enum lp_child_kind kind = kind_of(place->flags);
    int rc = lp__join_name(join, place->name, &name);
    if (rc) return rc;
    if (kind == LP_CHILD_FOLDED) name = join->scratch->folded_name;
    if (name == UINT32_MAX) {
        join->process->damaged_nodes++;
        rc = damaged_child(join, parent, phase);
    } else {
        rc = lp__builder_child(join->role, parent, kind, name, join->scratch->folded_name, phase);
    }
    return rc ? rc : lp__join_touch(join, *phase, &sum);
}

static int lost_place(struct lp_join *join, uint32_t *phase)
{
    struct lp_path_sum *sum;
    join->process->damaged_nodes++;
    int rc = damaged_child(join, 0, phase);
    return rc ? rc : lp__join_touch(join, *phase, &sum);
}

static bool is_unused(const struct place *place)
{
    return !place->parent && !place->name && !place->flags;
}

/* Follows the parents of a node until one whose phase is known.  The way there is left in `chain`, and the phase below
 * which its last one stands in `phase`. */
static int climb(struct lp_join *join, lp_ref ref, size_t number, lp_ref *chain, size_t *length, uint32_t *phase)
{
    uint32_t *phases = join->scratch->node_phase;
    *length = 0;
    for (;;) {
        struct place place = place_of(join, ref);
        if (place.flags & LP_NODE_ROOT && !place.parent) {
            phases[number] = *phase = 0;
            return LP_OK;
        }
        phases[number] = IN_PROGRESS; /* so that each node is in the chain once at most */
        chain[(*length)++] = ref;
        ref = place.parent;
        if (!node_number(join, ref, &number) || phases[number] == IN_PROGRESS || phases[number] == LP_NO_PHASE)
            return lost_place(join, phase);
        if (phases[number] != UNKNOWN) {
            *phase = phases[number];
            return LP_OK;
        }
    }
}

static int resolve(struct lp_join *join, lp_ref ref, size_t number)
{
    uint32_t *phases = join->scratch->node_phase;
    lp_ref *chain = phases + join->node_count;
    size_t length;
    uint32_t phase = 0;
    int rc = climb(join, ref, number, chain, &length, &phase);
    while (!rc && length) {
        struct place place = place_of(join, chain[--length]);
        rc = place_below(join, &place, phase, &phase);
        if (node_number(join, chain[length], &number)) phases[number] = phase;
    }
    return rc;
}

int lp__join_each_node(struct lp_join *join, int (*visit)(struct lp_join *join, lp_ref ref, size_t number))
{
    const struct lp_image *image = join->image;
    size_t number = 0;
    int rc = LP_OK;
    for (size_t i = 0; i < image->segment_count && !rc; i++) {
        const struct lp_image_segment *segment = &image->segments[i];
        if (segment->type != LP_SEGMENT_NODES) continue;
        for (uint64_t at = 0; at < segment->payload_bytes && !rc; at += sizeof(struct lp_node_record))
            rc = visit(join, (lp_ref)((segment->payload + at) / 8), number++);
    }
    return rc;
}

static int mark_use(struct lp_join *join, lp_ref ref, size_t number)
{
    struct place place = place_of(join, ref);
    join->scratch->node_phase[number] = is_unused(&place) ? LP_NO_PHASE : UNKNOWN;
    return LP_OK;
}

static int resolve_unknown(struct lp_join *join, lp_ref ref, size_t number)
{
    return join->scratch->node_phase[number] == UNKNOWN ? resolve(join, ref, number) : LP_OK;
}

int lp__join_paths(struct lp_join *join)
{
    struct lp_join_scratch *scratch = join->scratch;
    struct lp_path_sum *root;
    scratch->stamp++;
    scratch->touched_count = scratch->name_count = 0;
    int rc = count_records(join);
    if (!rc) rc = lp__join_touch(join, 0, &root);
    if (!rc) rc = lp__join_each_node(join, mark_use);
    return rc ? rc : lp__join_each_node(join, resolve_unknown);
}
