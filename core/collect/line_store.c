/* What line tables put into the store: code objects and regions when they are first referred to, tables and edges of
 * one thread.  Raw copies are kept, so that the child of a fork can write its own. */
// SPDX-License-Identifier: MIT
#include <string.h>

#include "collect/lines_internal.h"

#define FIRST_PAYLOAD (16384u - 64)
#define LAST_PAYLOAD  (1u << 20)

/* -- the process's records --------------------------------------------------------------------------------------- */

static uint64_t padded(uint64_t bytes)
{
    return (bytes + 7) & ~(uint64_t)7;
}

/* Zeroed room for one record of the CODE segment; the caller fills it and commits. */
static void *code_room(struct lp_line_session *session, uint64_t bytes)
{
    void *record = lp__segment_next(session->segment, bytes);
    struct lp_segment_header *segment;
    if (record) return record;
    segment = lp__store_segment(&session->recording->store, LP_SEGMENT_CODE, 0, 0,
                                bytes > FIRST_PAYLOAD ? bytes : FIRST_PAYLOAD);
    if (segment == NULL) return NULL;
    session->segment = segment;
    return lp__segment_next(segment, bytes);
}

static lp_ref commit_code(struct lp_line_session *session, const void *record, uint64_t bytes)
{
    lp__segment_commit(session->segment, bytes);
    return lp__store_ref(&session->recording->store, record);
}

static lp_ref file_ref(struct lp_line_session *session, uint64_t number)
{
    struct lp_line_file *file = &session->files[number - 1];
    uint64_t bytes = padded(sizeof(struct lp_file_record) + file->text_bytes);
    struct lp_file_record *record;
    if (file->generation == session->generation) return file->ref;
    record = code_room(session, bytes);
    if (record == NULL) return 0;
    record->bytes = (uint32_t)bytes;
    record->kind = LP_CODE_FILE;
    record->path = lp__recording_name_ref(session->recording, file->path);
    record->flags = file->flags;
    record->source_hash = file->source_hash;
    record->source_bytes = file->source_bytes;
    record->text_bytes = (uint32_t)file->text_bytes;
    if (file->text_bytes) memcpy(record + 1, file->text, file->text_bytes);
    file->ref = commit_code(session, record, bytes);
    file->generation = session->generation;
    return file->ref;
}

lp_ref lp__line_code_ref(struct lp_line_session *session, struct lp_line_code *code)
{
    struct lp_code_record *record;
    lp_ref file;
    if (code->generation == session->generation) return code->ref;
    file = file_ref(session, code->file);
    record = file ? code_room(session, code->image->bytes) : NULL;
    if (record == NULL) return 0;
    memcpy(record, code->image, code->image->bytes);
    record->file = file;
    record->name = lp__recording_name_ref(session->recording, code->name);
    code->ref = commit_code(session, record, code->image->bytes);
    code->generation = session->generation;
    code->has_sums = false;
    return code->ref;
}

lp_ref lp__line_region_ref(struct lp_line_session *session, uint32_t number)
{
    struct lp_line_region *region = &session->regions[number];
    struct lp_region_record *record;
    lp_ref parent;
    if (number == 0) return 0;
    if (region->generation == session->generation) return region->ref;
    parent = lp__line_region_ref(session, region->parent); /* as deep as `with` statements nest */
    record = code_room(session, sizeof *record);
    if (record == NULL) return 0;
    record->bytes = sizeof *record;
    record->kind = LP_CODE_REGION;
    record->parent = parent;
    record->name = lp__recording_name_ref(session->recording, region->name);
    region->ref = commit_code(session, record, sizeof *record);
    region->generation = session->generation;
    return region->ref;
}

bool lp__line_append_sums(struct lp_line_session *session, const struct lp_line_code *code, const void *image,
                          size_t bytes)
{
    struct lp_sums_record *record;
    uint64_t whole = padded(bytes);
    if (bytes < sizeof *record || whole > UINT32_MAX) return false;
    record = code_room(session, whole);
    if (record == NULL) return false;
    memcpy(record, image, bytes);
    record->bytes = (uint32_t)whole;
    record->kind = LP_CODE_SUMS;
    record->code_hash = code->image->hash;
    record->source_hash = session->files[code->file - 1].source_hash;
    (void)commit_code(session, record, whole);
    return true;
}

/* -- a thread's records ------------------------------------------------------------------------------------------ */

static struct lp_segment_header *add_segment(struct lp_line_thread *thread, enum lp_segment_type type, uint32_t record,
                                             uint64_t payload)
{
    return lp__store_segment(&thread->owner->home->store, type, thread->owner->record->index + 1, record, payload);
}

/* `record`: what the segment's header says of its records, 0 where they vary. */
static void *room(struct lp_line_thread *thread, struct lp_segment_cursor *cursor, enum lp_segment_type type,
                  uint32_t record, uint64_t bytes)
{
    void *at = lp__segment_next(cursor->segment, bytes);
    struct lp_segment_header *segment;
    uint64_t payload = cursor->next_bytes ? cursor->next_bytes : FIRST_PAYLOAD;
    if (at) return at;
    segment = add_segment(thread, type, record, payload > bytes ? payload : bytes);
    if (segment == NULL) segment = add_segment(thread, type, record, bytes); /* what is left of a full store */
    if (segment == NULL) return NULL;
    cursor->segment = segment;
    cursor->next_bytes = payload * 2 < LAST_PAYLOAD ? payload * 2 : LAST_PAYLOAD;
    return lp__segment_next(segment, bytes);
}

struct lp_line_table_record *lp__line_table_new(struct lp_line_thread *thread, struct lp_line_code *code,
                                                uint32_t region)
{
    uint64_t bytes = sizeof(struct lp_line_table_record) +
                     ((uint64_t)code->slots.slot_count + 1) * sizeof(struct lp_line_slot) +
                     (uint64_t)code->slots.branch_count * 2 * sizeof(uint64_t);
    lp_ref code_ref = lp__line_code_ref(thread->session, code);
    lp_ref region_ref = lp__line_region_ref(thread->session, region);
    struct lp_line_table_record *record;
    if (code_ref == 0 || (region && region_ref == 0) || bytes > UINT32_MAX) return NULL;
    record = room(thread, &thread->tables, LP_SEGMENT_LINES, 0, bytes);
    if (record == NULL) return NULL;
    record->bytes = (uint32_t)bytes;
    record->slot_count = code->slots.slot_count;
    record->branch_count = code->slots.branch_count;
    record->code = code_ref;
    record->region = region_ref;
    lp__segment_commit(thread->tables.segment, bytes);
    return record;
}

struct lp_edge_record *lp__line_edge_new(struct lp_line_thread *thread, struct lp_line_slot *caller, lp_ref callee)
{
    struct lp_edge_record *edge = room(thread, &thread->edges, LP_SEGMENT_EDGES, sizeof *edge, sizeof *edge);
    if (edge == NULL) return NULL;
    edge->code = callee;
    edge->next = caller->edges;
    lp__segment_commit(thread->edges.segment, sizeof *edge);
    __atomic_store_n(&caller->edges, lp__store_ref(&thread->session->recording->store, edge), __ATOMIC_RELEASE);
    return edge;
}

struct lp_region_entry_record *lp__line_entry_new(struct lp_line_thread *thread, uint32_t region)
{
    lp_ref ref = lp__line_region_ref(thread->session, region);
    struct lp_region_entry_record *record =
        ref ? room(thread, &thread->entries, LP_SEGMENT_REGIONS, sizeof *record, sizeof *record) : NULL;
    if (record == NULL) return NULL;
    record->region = ref;
    lp__segment_commit(thread->entries.segment, sizeof *record);
    return record;
}
