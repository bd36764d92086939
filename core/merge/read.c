/* Reading a file's used part into one buffer that is used again for each: never mapped, since a file that shrinks under
 * a mapping kills its reader, and since mapping ten thousand small files takes twice as long as reading them. */
// SPDX-License-Identifier: MIT
#include <string.h>

#include "merge/load.h"
#include "os/dir.h"
#include "os/file.h"

/* One call reads most files: as much as the file before it held, between these bounds. */
enum { FIRST_READ = 65536, FIRST_READ_MAX = 1 << 20, KEEP_BYTES = 16 << 20 };

static int reserve_bytes(struct lp_load *load, size_t len, struct lp_error *err)
{
    if (load->bytes_cap >= len && (load->bytes_cap <= KEEP_BYTES || len > KEEP_BYTES)) return LP_OK;
    size_t cap = len < FIRST_READ ? FIRST_READ : len;
    uint8_t *bytes = lp__alloc(cap);
    if (!bytes) return lp__fail(err, LP_ERR_NO_MEMORY, 0, "no memory for a file of %zu bytes", len);
    if (load->bytes_cap) memcpy(bytes, load->bytes, load->bytes_cap < cap ? load->bytes_cap : cap);
    lp__free(load->bytes);
    load->bytes = bytes;
    load->bytes_cap = cap;
    return LP_OK;
}

static int64_t read_part(struct lp_load *load, int fd, size_t from, size_t to, struct lp_error *err)
{
    int rc = reserve_bytes(load, to, err);
    if (rc) return rc;
    if (to == from) return (int64_t)from; /* an empty file needs no memory either */
    int64_t got = lp__pread_full(fd, load->bytes + from, to - from, from);
    if (got < 0) return lp__fail(err, LP_ERR_IO, 0, "cannot read");
    return (int64_t)from + got;
}

/* How far the segments reach, judged by the first bytes; all of the file where they cannot tell. */
static size_t used_part(const uint8_t *bytes, size_t have, size_t size)
{
    struct lp_file_header header;
    uint32_t magic = 0;
    if (have < sizeof header + sizeof magic) return have;
    memcpy(&header, bytes, sizeof header);
    memcpy(&magic, bytes + sizeof header, sizeof magic);
    bool ours = !memcmp(header.magic, LP_FILE_MAGIC, sizeof header.magic) || magic == LP_SEGMENT_MAGIC;
    if (!ours) return have; /* not worth a gigabyte of reading */
    bool possible = header.tiled_bytes >= sizeof header && header.tiled_bytes <= size &&
                    (header.tiled_bytes - sizeof header) % LP_SEGMENT_ALIGN == 0;
    return possible ? (size_t)header.tiled_bytes : size;
}

/* The word that ends the used part has no check of its own: a segment behind it says that it was damaged.  `have`:
 * bytes that were read. */
static bool goes_on(const struct lp_load *load, int fd, size_t at, size_t have, size_t size)
{
    struct lp_segment_header header;
    if (size - at < sizeof header) return false;
    if (have - at >= sizeof header)
        memcpy(&header, load->bytes + at, sizeof header);
    else if (lp__pread_full(fd, &header, sizeof header, at) != (int64_t)sizeof header)
        return false;
    return header.magic == LP_SEGMENT_MAGIC;
}

static size_t first_read(const struct lp_load *load, size_t size)
{
    size_t first = load->last_used + sizeof(struct lp_segment_header);
    if (first < FIRST_READ) first = FIRST_READ;
    if (first > FIRST_READ_MAX) first = FIRST_READ_MAX;
    return first < size ? first : size;
}

static int64_t read_open(struct lp_load *load, int fd, size_t size, size_t limit, struct lp_error *err)
{
    size_t first = first_read(load, size);
    if (limit && first > limit) first = limit;
    int64_t have = read_part(load, fd, 0, first, err);
    if (have < 0 || (size_t)have < first || limit) return have;
    size_t used = used_part(load->bytes, first, size);
    load->last_used = used;
    if (used > first) have = read_part(load, fd, first, used, err);
    if (have < (int64_t)used || have == (int64_t)size || !goes_on(load, fd, used, (size_t)have, size)) return have;
    return read_part(load, fd, (size_t)have, size, err);
}

int64_t lp__load_read(struct lp_load *load, const struct lp_rundir_file *file, size_t limit, struct lp_error *err)
{
    uint64_t size;
    uid_t owner;
    int fd = lp__open_regular_at(load->dir_fd, file->path, &size, &owner, err);
    if (fd < 0) return fd;
    int64_t rc;
    if (owner != file->owner)
        rc = lp__fail(err, LP_ERR_DENIED, 0, "it changed its owner while it was being read");
    else if (size > LP_MAX_FILE_BYTES)
        rc = lp__fail(err, LP_ERR_LIMIT, 0, "larger than %llu bytes", (unsigned long long)LP_MAX_FILE_BYTES);
    else
        rc = read_open(load, fd, (size_t)size, limit, err);
    lp__close_fd(fd);
    return rc;
}
