/* The walk over a file's segments and the checked way to each record.
 *
 * What this file refuses to know: what the records mean.  Its invariant: a pointer that leaves it lies, with the
 * number of bytes that were asked for, inside the used payload of a segment whose header had the right checksum, and
 * inside the buffer.  Live words (`used`) are read once and then only the copy is believed, because the writer may
 * be at work in the same memory.
 */
// SPDX-License-Identifier: MIT
#include "store/reader.h"

#include <string.h>

#include "base/crc.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the store is read and written in place, so the machine must be little-endian"
#endif

enum {
    SEGMENT_HEADER = sizeof(struct lp_segment_header),
    FILE_HEADER = sizeof(struct lp_file_header),
    FEW_SEGMENTS = 32 /* so many, and one walk does it: most files */
};

static const uint8_t no_magic[8];

/* -- the file header --------------------------------------------------------------------------------------------- */

static bool header_check_is_right(const struct lp_file_header *header)
{
    const uint8_t *bytes = (const uint8_t *)header;
    uint32_t crc = lp__crc32c(0, bytes + 8, 8);
    return header->check == lp__crc32c(crc, bytes + 20, LP_FILE_CHECKED_END - 20);
}

/* Copies the header.  Fields whose checksum is wrong become zeros, which everywhere mean "unknown"; the live words
 * stay, each to be judged where it is used. */
static void read_header(struct lp_image *image)
{
    struct lp_file_header *header = &image->header;
    memcpy(header, image->bytes, image->len < FILE_HEADER ? (size_t)image->len : FILE_HEADER);
    bool checked = image->len >= LP_FILE_CHECKED_END && header_check_is_right(header);
    bool unborn = checked && !memcmp(header->magic, no_magic, sizeof no_magic);
    bool magic = !memcmp(header->magic, LP_FILE_MAGIC, sizeof header->magic);
    image->header_damaged = !checked || (!magic && !unborn);
    if (unborn) header->state = LP_STATE_NOTHING;
    if (!checked) memset((uint8_t *)header + 8, 0, LP_FILE_CHECKED_END - 8);
}

/* End of the last segment as the writer saw it; 0 when the word cannot be right. */
static uint64_t tiled_end(const struct lp_image *image)
{
    uint64_t tiled = image->header.tiled_bytes;
    bool possible = tiled >= FILE_HEADER && tiled <= LP_MAX_FILE_BYTES && (tiled - FILE_HEADER) % LP_SEGMENT_ALIGN == 0;
    return possible ? tiled : 0;
}

static bool is_all_zero(const uint8_t *bytes, uint64_t len)
{
    return len == 0 || (bytes[0] == 0 && !memcmp(bytes, bytes + 1, (size_t)len - 1));
}

/* What to say about a file without a single segment. */
static int judge_empty(struct lp_image *image, struct lp_error *err)
{
    if (!image->header_damaged) return LP_OK;
    if (is_all_zero(image->bytes, image->len)) {
        image->header_damaged = false;
        return LP_OK;
    }
    size_t magic_bytes = image->len < 8 ? (size_t)image->len : 8;
    if (image->len < FILE_HEADER && !memcmp(image->bytes, LP_FILE_MAGIC, magic_bytes))
        return lp__fail(err, LP_ERR_TRUNCATED, 0, "the file ends inside its header, at byte %llu",
                        (unsigned long long)image->len);
    return lp__fail(err, LP_ERR_FORMAT, 0, "no header and no segment of a worker file");
}

/* -- segments ---------------------------------------------------------------------------------------------------- */

/* Size of the records of a type this version knows; 0 where they vary, -1 for a type it does not know. */
static int64_t record_size(uint16_t type)
{
    switch (type) {
    case LP_SEGMENT_FACTS:
    case LP_SEGMENT_NAMES:
    case LP_SEGMENT_HIST:
    case LP_SEGMENT_CODE:
    case LP_SEGMENT_LINES:
        return 0;
    case LP_SEGMENT_CLOCK:
        return sizeof(struct lp_clock_record);
    case LP_SEGMENT_THREADS:
        return sizeof(struct lp_thread_record);
    case LP_SEGMENT_NODES:
        return sizeof(struct lp_node_record);
    case LP_SEGMENT_COUNTERS:
        return sizeof(struct lp_counter_record);
    case LP_SEGMENT_EDGES:
        return sizeof(struct lp_edge_record);
    case LP_SEGMENT_REGIONS:
        return sizeof(struct lp_region_entry_record);
    default:
        return -1;
    }
}

static bool read_segment_header(const struct lp_image *image, uint64_t at, struct lp_segment_header *out)
{
    memcpy(out, image->bytes + at, sizeof *out);
    return out->magic == LP_SEGMENT_MAGIC && out->offset == at && out->capacity >= LP_SEGMENT_ALIGN &&
           out->capacity % LP_SEGMENT_ALIGN == 0 && out->capacity <= LP_MAX_FILE_BYTES &&
           out->check == lp__crc32c(0, out, offsetof(struct lp_segment_header, check));
}

/* Payload bytes that are in use, in the buffer, and whole records. */
static uint64_t usable_bytes(struct lp_image *image, const struct lp_segment_header *header, uint64_t payload,
                             uint32_t record_bytes)
{
    uint64_t used = header->used, room = header->capacity - SEGMENT_HEADER, have = image->len - payload;
    if (used > room) used = room; /* a damaged word: what it hides is zeros or records all the same */
    if (used > have) {
        used = have;
        image->truncated = true;
    }
    return record_bytes ? used - used % record_bytes : used & ~(uint64_t)7;
}

/* Describes a segment that this version can read; false for one to be skipped. */
static bool describe(struct lp_image *image, const struct lp_segment_header *header, struct lp_image_segment *out)
{
    int64_t size = record_size(header->type);
    if (size < 0) return false;
    if (header->version != 1) {
        image->newer_segments++;
        return false;
    }
    if (size && header->record_bytes && header->record_bytes != size) {
        image->damaged_segments++;
        return false;
    }
    uint64_t payload = header->offset + SEGMENT_HEADER;
    *out = (struct lp_image_segment){
        .offset = header->offset,
        .payload = payload,
        .payload_bytes = usable_bytes(image, header, payload, (uint32_t)size),
        .type = header->type,
        .version = header->version,
        .thread = header->thread,
        .record_bytes = (uint32_t)size,
    };
    return true;
}

/* Steps over the segments and returns how many are kept; stores the first `cap` of them.  A damaged header is left
 * in LP_SEGMENT_ALIGN steps, which is where the next one can stand; beyond the tiled part zeros are just free. */
static size_t walk(struct lp_image *image, struct lp_image_segment *into, size_t cap)
{
    uint64_t at = FILE_HEADER, tiled = tiled_end(image);
    bool lost = false;
    size_t count = 0;
    image->damaged_segments = image->newer_segments = 0;
    image->truncated = image->len < tiled || (image->len && image->len < FILE_HEADER);
    while (at + SEGMENT_HEADER <= image->len && count < LP_MAX_SEGMENTS) {
        struct lp_segment_header header;
        struct lp_image_segment segment;
        if (!read_segment_header(image, at, &header)) {
            if (!lost && at < tiled) image->damaged_segments++;
            lost = true;
            at += LP_SEGMENT_ALIGN;
            continue;
        }
        lost = false;
        if (header.capacity > image->len - at) image->truncated = true;
        if (describe(image, &header, &segment)) {
            if (count < cap) into[count] = segment;
            count++;
        }
        at += header.capacity;
    }
    return count;
}

int lp__image_index(struct lp_image *image, const void *bytes, uint64_t len, struct lp_arena *arena,
                    struct lp_error *err)
{
    *image = (struct lp_image){.bytes = bytes, .len = len};
    if (!len) return LP_OK;
    read_header(image);
    if (!image->header_damaged && image->header.version > LP_FILE_VERSION)
        return lp__fail(err, LP_ERR_VERSION, 0, "file version %u, this program reads up to %u", image->header.version,
                        LP_FILE_VERSION);
    struct lp_image_segment few[FEW_SEGMENTS];
    size_t cap = walk(image, few, FEW_SEGMENTS);
    if (!cap) return judge_empty(image, err);
    image->segments = lp__arena_alloc(arena, cap * sizeof *image->segments);
    if (!image->segments) return lp__fail(err, LP_ERR_NO_MEMORY, 0, "index of %zu segments", cap);
    image->segment_count = cap;
    if (cap <= FEW_SEGMENTS) {
        memcpy(image->segments, few, cap * sizeof *few);
        return LP_OK;
    }
    /* The writer may have added one meanwhile: the second walk never stores more than there is room for. */
    size_t count = walk(image, image->segments, cap);
    if (count < cap) image->segment_count = count;
    return LP_OK;
}

/* -- records ----------------------------------------------------------------------------------------------------- */

const struct lp_image_segment *lp__image_segment_at(const struct lp_image *image, uint64_t offset, uint64_t bytes,
                                                    uint16_t type)
{
    size_t low = 0, high = image->segment_count;
    while (low < high) { /* the last segment whose payload starts at or before `offset` */
        size_t middle = low + (high - low) / 2;
        if (image->segments[middle].payload <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low) return NULL;
    const struct lp_image_segment *segment = &image->segments[low - 1];
    uint64_t inside = offset - segment->payload;
    if (inside > segment->payload_bytes || bytes > segment->payload_bytes - inside) return NULL;
    return !type || type == segment->type ? segment : NULL;
}

const void *lp__image_record(const struct lp_image *image, lp_ref ref, uint16_t type, uint64_t record_bytes)
{
    uint64_t offset = (uint64_t)ref * 8;
    if (!ref || !record_bytes) return NULL;
    const struct lp_image_segment *segment = lp__image_segment_at(image, offset, record_bytes, type);
    if (!segment) return NULL;
    if (segment->record_bytes && (offset - segment->payload) % segment->record_bytes) return NULL;
    return image->bytes + offset;
}

bool lp__image_name(const struct lp_image *image, lp_ref ref, struct lp_text *out)
{
    const void *at = lp__image_record(image, ref, LP_SEGMENT_NAMES, sizeof(struct lp_name_record));
    if (!at) return false;
    struct lp_name_record record;
    memcpy(&record, at, sizeof record);
    if (record.bytes > LP_MAX_NAME_BYTES) return false;
    uint64_t text = (uint64_t)ref * 8 + sizeof record;
    if (!lp__image_segment_at(image, text, record.bytes, LP_SEGMENT_NAMES)) return false;
    *out = (struct lp_text){(const char *)image->bytes + text, record.bytes};
    return (uint32_t)lp__hash_bytes(out->bytes, out->len) == record.check;
}

/* -- facts ------------------------------------------------------------------------------------------------------- */

/* The fact at `at` bytes into a payload; returns its whole size, or 0 when what is there is no fact. */
static uint64_t fact_at(const struct lp_image *image, const struct lp_image_segment *segment, uint64_t at,
                        struct lp_text *key, struct lp_text *value)
{
    struct lp_fact fact;
    if (segment->payload_bytes - at < sizeof fact) return 0;
    const uint8_t *bytes = image->bytes + segment->payload + at;
    memcpy(&fact, bytes, sizeof fact);
    uint64_t size = (sizeof fact + fact.key_bytes + (uint64_t)fact.value_bytes + 7) & ~(uint64_t)7;
    if (!fact.key_bytes || size > segment->payload_bytes - at) return 0;
    *key = (struct lp_text){(const char *)bytes + sizeof fact, fact.key_bytes};
    *value = (struct lp_text){key->bytes + fact.key_bytes, fact.value_bytes};
    return size;
}

bool lp__image_fact_next(const struct lp_image *image, struct lp_image_fact_cursor *cursor, struct lp_text *key,
                         struct lp_text *value)
{
    for (; cursor->segment < image->segment_count; cursor->segment++, cursor->at = 0) {
        const struct lp_image_segment *segment = &image->segments[cursor->segment];
        uint64_t size = segment->type == LP_SEGMENT_FACTS ? fact_at(image, segment, cursor->at, key, value) : 0;
        cursor->at += size;
        if (size) return true;
    }
    return false;
}

bool lp__image_fact(const struct lp_image *image, const char *key, struct lp_text *out)
{
    struct lp_image_fact_cursor cursor = {0};
    struct lp_text found, value;
    size_t len = strlen(key);
    bool any = false;
    while (lp__image_fact_next(image, &cursor, &found, &value)) {
        if (found.len != len || memcmp(found.bytes, key, len)) continue;
        *out = value;
        any = true;
    }
    return any;
}
