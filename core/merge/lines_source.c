/* The texts of sources that did not come along: read where they were, believed if they are what ran. */
// SPDX-License-Identifier: MIT
#include "merge/lines_build.h"
#include "os/dir.h"
#include "os/file.h"

/* Reads a file of exactly this size into the run's memory; NULL where that is not to be had. */
static char *read_text(struct lp_arena *arena, int fd, uint64_t size, int *rc)
{
    char *text = lp__arena_alloc(arena, (size_t)size + 1);
    if (!text) {
        *rc = LP_ERR_NO_MEMORY;
        return NULL;
    }
    return lp__pread_full(fd, text, (size_t)size, 0) == (int64_t)size ? text : NULL;
}

/* The size is compared before a byte is read: a path that somebody made up opens nothing that answers. */
static int read_source(struct lp_lines_builder *builder, size_t index, uint64_t *left)
{
    struct lp_lines_file *file = &builder->lines.files[index];
    uint64_t size = 0, wanted = builder->source_bytes[index];
    int rc = LP_OK;
    file->source = LP_SOURCE_MISSING;
    if (file->path[0] != '/' || wanted > LP_LINES_SOURCE_MAX || wanted > *left) return LP_OK;
    int fd = lp__open_regular_at(LP_DIR_CWD, file->path, &size, NULL, NULL);
    if (fd < 0) return LP_OK;
    file->source = LP_SOURCE_CHANGED;
    char *text = size == wanted ? read_text(&builder->run->arena, fd, size, &rc) : NULL;
    lp__close_fd(fd);
    if (!text) return rc;
    *left -= size;
    if (lp__hash_bytes(text, (size_t)size) != file->source_hash) return LP_OK;
    file->source = LP_SOURCE_OK;
    file->text = text;
    file->text_len = (size_t)size;
    return LP_OK;
}

int lp__lines_sources(struct lp_lines_builder *builder)
{
    uint64_t left = LP_LINES_ALL_SOURCE_MAX;
    int rc = LP_OK;
    for (size_t i = 0; i < builder->lines.file_count && !rc; i++) {
        const struct lp_lines_file *file = &builder->lines.files[i];
        if (!file->text && file->source_hash) rc = read_source(builder, i, &left);
    }
    return rc;
}
