/* What a session knows of the program: its files, code objects and regions, each met once. */
// SPDX-License-Identifier: MIT
#include <string.h>

#include "collect/lines_internal.h"

static bool grow(void **memory, size_t *cap, size_t count, size_t size)
{
    size_t wanted = *cap ? *cap * 2 : 16;
    void *bigger;
    if (count < *cap) return true;
    bigger = lp__realloc(*memory, wanted * size);
    if (bigger == NULL) return false;
    *memory = bigger;
    *cap = wanted;
    return true;
}

/* -- files ------------------------------------------------------------------------------------------------------- */

uint64_t lp__line_file_find(struct lp_line_session *session, struct lp_text path)
{
    lp_name_id name = lp__name_find(path.bytes, path.len);
    uint64_t number = 0;
    if (name) (void)lp__map_get(&session->file_of_path, name, &number);
    return number;
}

static bool fill_file(struct lp_line_file *file, const struct lp_text *text, bool keep)
{
    file->flags = text ? 0 : LP_FILE_NO_SOURCE;
    if (text == NULL) return true;
    file->source_hash = lp__hash_bytes(text->bytes, text->len);
    file->source_bytes = text->len;
    if (!keep || text->len > UINT32_MAX / 2) return true;
    file->text = lp__copy_bytes(text->bytes, text->len);
    if (file->text) file->text_bytes = text->len;
    return file->text != NULL;
}

uint64_t lp__line_file(struct lp_line_session *session, struct lp_text path, const struct lp_text *text, bool keep)
{
    struct lp_line_file file = {.path = lp__name_register(path.bytes, path.len)};
    uint64_t number = lp__line_file_find(session, path);
    if (number) return number;
    if (file.path == 0 || !fill_file(&file, text, keep)) return 0;
    number = session->file_count + 1;
    if (!grow((void **)&session->files, &session->file_cap, session->file_count, sizeof file) ||
        lp__map_put(&session->file_of_path, file.path, number)) {
        lp__free(file.text);
        return 0;
    }
    session->files[session->file_count++] = file;
    return number;
}

/* -- code objects ------------------------------------------------------------------------------------------------ */

static void free_code(struct lp_line_code *code)
{
    if (code == NULL) return;
    lp__code_slots_release(&code->slots);
    lp__free(code->image);
    lp__free(code);
}

static uint8_t *put(uint8_t *at, const void *bytes, size_t len)
{
    if (len) memcpy(at, bytes, len);
    return at + len;
}

/* The record as it will stand in the store, but for the references. */
static struct lp_code_record *make_image(const struct lp_code_raw *raw, const struct lp_code_slots *slots)
{
    size_t bytes = sizeof(struct lp_code_record) +
                   ((size_t)slots->slot_count + slots->branch_count) * sizeof(struct lp_place) + raw->code_bytes +
                   raw->lines_bytes + raw->handlers_bytes;
    struct lp_code_record *image = lp__calloc(1, (bytes + 7) & ~(size_t)7);
    uint8_t *at;
    if (image == NULL) return NULL;
    image->bytes = (uint32_t)((bytes + 7) & ~(size_t)7);
    image->kind = LP_CODE_FUNCTION;
    image->first_line = raw->first_line;
    image->flags = raw->flags;
    image->python = raw->python;
    image->slot_count = slots->slot_count;
    image->branch_count = slots->branch_count;
    image->code_bytes = (uint32_t)raw->code_bytes;
    image->lines_bytes = (uint32_t)raw->lines_bytes;
    image->handlers_bytes = (uint32_t)raw->handlers_bytes;
    at = put((uint8_t *)(image + 1), slots->slots, slots->slot_count * sizeof *slots->slots);
    at = put(at, slots->branch_places, slots->branch_count * sizeof *slots->branch_places);
    at = put(at, raw->code, raw->code_bytes);
    at = put(at, raw->lines, raw->lines_bytes);
    (void)put(at, raw->handlers, raw->handlers_bytes);
    image->hash = lp__hash_bytes(image, image->bytes);
    return image;
}

/* A unit that is no place counts on the entry slot: one look-up without a test in the hot path. */
static void send_strays_to_entry(struct lp_code_slots *slots)
{
    uint32_t unit;
    for (unit = 0; unit < slots->unit_count; unit++)
        if (slots->slot_of[unit] == LP_NO_SLOT) slots->slot_of[unit] = (uint16_t)LP_LINE_ENTRY(slots->slot_count);
}

static struct lp_line_code *make_code(uint64_t file, struct lp_text name, const struct lp_code_raw *raw,
                                      const struct lp_code_opcodes *opcodes)
{
    struct lp_line_code *code = lp__calloc(1, sizeof *code);
    struct lp_error err;
    if (code == NULL) return NULL;
    code->file = file;
    code->name = lp__name_register(name.bytes, name.len);
    code->is_generator = (raw->flags & (0x20 | 0x80 | 0x200)) != 0; /* CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR */
    if (code->name == 0 || lp__code_slots(raw, opcodes, &code->slots, &err)) goto failed;
    code->image = make_image(raw, &code->slots);
    if (code->image == NULL) goto failed;
    send_strays_to_entry(&code->slots);
    return code;
failed:
    free_code(code);
    return NULL;
}

static uint64_t identity_of(const struct lp_line_code *code)
{
    return code->image->hash ^ lp__hash_u64(code->file * 0x10001 + code->name);
}

static struct lp_line_code *known(struct lp_line_session *session, const struct lp_line_code *code)
{
    uint64_t index;
    struct lp_line_code *other;
    if (!lp__map_get(&session->code_of_identity, identity_of(code), &index)) return NULL;
    for (other = session->codes[index]; other; other = other->same)
        if (other->file == code->file && other->name == code->name && other->image->hash == code->image->hash)
            return other;
    return NULL;
}

static bool add_code(struct lp_line_session *session, struct lp_line_code *code)
{
    uint64_t first;
    if (!grow((void **)&session->codes, &session->code_cap, session->code_count, sizeof(struct lp_line_code *)))
        return false;
    code->index = (uint32_t)session->code_count;
    if (lp__map_get(&session->code_of_identity, identity_of(code), &first)) code->same = session->codes[first];
    if (lp__map_put(&session->code_of_identity, identity_of(code), code->index)) return false;
    session->codes[session->code_count++] = code;
    return true;
}

struct lp_line_code *lp__line_code(struct lp_line_session *session, uint64_t file, struct lp_text name,
                                   const struct lp_code_raw *raw, const struct lp_code_opcodes *opcodes)
{
    struct lp_line_code *code = make_code(file, name, raw, opcodes);
    struct lp_line_code *other = code ? known(session, code) : NULL;
    if (other || (code && !add_code(session, code))) {
        free_code(code);
        code = other;
    }
    return code;
}

void lp__line_sums(struct lp_line_session *session, struct lp_line_code *code, const void *record, size_t bytes)
{
    if (code->has_sums || lp__thread_of(session->recording) == NULL) return; /* which makes the store */
    if (lp__line_code_ref(session, code) == 0) return;
    code->has_sums = lp__line_append_sums(session, code, record, bytes);
}

/* -- regions ----------------------------------------------------------------------------------------------------- */

uint32_t lp__line_region(struct lp_line_session *session, uint32_t parent, lp_name_id name)
{
    uint64_t key = (uint64_t)parent << 32 | name, number;
    struct lp_line_region region = {.parent = parent, .name = name};
    if (lp__map_get(&session->region_of_path, key, &number)) return (uint32_t)number;
    number = session->region_count;
    if (number >= LP_LINE_REGIONS ||
        !grow((void **)&session->regions, &session->region_cap, session->region_count, sizeof region) ||
        lp__map_put(&session->region_of_path, key, number))
        return parent;
    session->regions[session->region_count++] = region;
    return (uint32_t)number;
}

/* -- the session's memory ---------------------------------------------------------------------------------------- */

bool lp__line_tables_init(struct lp_line_session *session)
{
    lp__map_init(&session->file_of_path);
    lp__map_init(&session->code_of_identity);
    lp__map_init(&session->region_of_path);
    lp__map_init(&session->suspended);
    if (!grow((void **)&session->regions, &session->region_cap, 0, sizeof *session->regions)) return false;
    memset(session->regions, 0, sizeof *session->regions);
    session->region_count = 1;
    return true;
}

void lp__line_tables_release(struct lp_line_session *session)
{
    size_t i;
    for (i = 0; i < session->code_count; i++)
        free_code(session->codes[i]);
    for (i = 0; i < session->file_count; i++)
        lp__free(session->files[i].text);
    lp__free(session->codes);
    lp__free(session->files);
    lp__free(session->regions);
    lp__free(session->pauses);
    lp__map_release(&session->file_of_path);
    lp__map_release(&session->code_of_identity);
    lp__map_release(&session->region_of_path);
    lp__map_release(&session->suspended);
}
