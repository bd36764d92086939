/* What a worker file says about its process: header fields and facts, turned into a lp_run_process.
 *
 * Facts are text that anybody may have written.  Numbers that do not parse are unknown, strings are kept as they are
 * and escaped by whoever prints them.
 */
// SPDX-License-Identifier: MIT
#include "merge/process.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fmt.h"

/* Longer values are cut, and facts beyond this number are passed over: no file of ours comes near. */
enum { MAX_FACT_BYTES = 65536, MAX_FACTS = 4096 };

enum fact_kind { FACT_TEXT, FACT_I64, FACT_U32, FACT_DOUBLE };

static const struct {
    const char *key;
    enum fact_kind kind;
    size_t offset;
} known_facts[] = {
#define TEXT(key, field)                                                                                               \
    {                                                                                                                  \
        key, FACT_TEXT, offsetof(struct lp_run_process, field)                                                         \
    }
#define NUMBER(key, field)                                                                                             \
    {                                                                                                                  \
        key, FACT_I64, offsetof(struct lp_run_process, field)                                                          \
    }
#define REAL(key, field)                                                                                               \
    {                                                                                                                  \
        key, FACT_DOUBLE, offsetof(struct lp_run_process, field)                                                       \
    }
    TEXT("role", role),
    TEXT("attempt", attempt),
    TEXT("attempt.source", attempt_source),
    TEXT("host", host),
    {"pid", FACT_U32, offsetof(struct lp_run_process, pid)},
    {"ppid", FACT_U32, offsetof(struct lp_run_process, parent_pid)},
    NUMBER("rank", rank),
    NUMBER("world_size", world_size),
    NUMBER("local_rank", local_rank),
    TEXT("launcher", launcher),
    TEXT("job", job),
    TEXT("conflicts", conflicts),
    TEXT("python", python),
    TEXT("exe", exe),
    TEXT("cwd", cwd),
    TEXT("version", version),
    TEXT("source.revision", revision),
    TEXT("source.branch", branch),
    TEXT("cpu_model", cpu_model),
    TEXT("kernel", kernel),
    NUMBER("cores", cores),
    NUMBER("threads", hardware_threads),
    NUMBER("affinity", affinity),
    NUMBER("ram_bytes", ram_bytes),
    NUMBER("memory_limit_bytes", memory_limit_bytes),
    REAL("quota_cores", quota_cores),
    TEXT("cpu_clock.refused", cpu_refused),
    TEXT("wall_clock.refused", wall_refused),
    TEXT("store.why_not_run_dir", why_not_run_dir),
    TEXT("suspensions", suspensions),
    REAL("cost.wall_ns", wall_cost_ns),
    REAL("cost.cpu_ns", cpu_cost_ns),
    REAL("cost.entry_ns", entry_cost_ns),
#undef TEXT
#undef NUMBER
#undef REAL
};
enum { KNOWN_FACTS = sizeof known_facts / sizeof known_facts[0] };

static int keep_text(struct lp_run *run, const char *bytes, size_t len, const char **out)
{
    uint32_t id;
    int rc = lp__intern_add(&run->names, bytes, len, &id);
    if (!rc) *out = run->names.texts[id].bytes;
    return rc;
}

/* A number of at most 39 characters, the whole of `value`. */
static bool number_text(const struct lp_text *value, char out[40])
{
    if (!value->len || value->len >= 40) return false;
    memcpy(out, value->bytes, value->len);
    out[value->len] = '\0';
    return strlen(out) == value->len;
}

static bool parse_i64(const struct lp_text *value, int64_t *out)
{
    char text[40], *end;
    if (!number_text(value, text)) return false;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (*end || errno || number < 0) return false;
    *out = number;
    return true;
}

/* Not strtod, which knows only the reader's locale; the writer's may have been another one. */
static bool parse_double(const struct lp_text *value, double *out)
{
    double number = 0, unit = 0;
    for (size_t i = 0; i < value->len && i < 40; i++) {
        char c = value->bytes[i];
        if ((c == '.' || c == ',') && unit == 0) {
            unit = 1;
        } else if (c >= '0' && c <= '9') {
            number = number * 10 + (c - '0');
            unit *= 10;
        } else {
            return false;
        }
    }
    if (!value->len || value->len > 40) return false;
    *out = unit > 0 ? number / unit : number;
    return true;
}

static int set_fact(struct lp_run_process *process, struct lp_run *run, size_t which, const struct lp_text *value)
{
    char *field = (char *)process + known_facts[which].offset;
    int64_t number;
    double real;
    switch (known_facts[which].kind) {
    case FACT_TEXT: {
        const char *text = "";
        size_t len = value->len < MAX_FACT_BYTES ? value->len : MAX_FACT_BYTES;
        int rc = keep_text(run, value->bytes, len, &text);
        memcpy(field, &text, sizeof text);
        return rc;
    }
    case FACT_I64:
        if (parse_i64(value, &number)) memcpy(field, &number, sizeof number);
        break;
    case FACT_U32:
        if (parse_i64(value, &number) && number <= UINT32_MAX) *(uint32_t *)(void *)field = (uint32_t)number;
        break;
    case FACT_DOUBLE:
        if (parse_double(value, &real)) memcpy(field, &real, sizeof real);
        break;
    }
    return LP_OK;
}

/* Where a key stands in the table.  Writers keep the order, so the search starts after the last find. */
static size_t find_fact(const struct lp_text *key, size_t start)
{
    for (size_t i = 0; i < KNOWN_FACTS; i++) {
        size_t which = (start + i) % KNOWN_FACTS;
        const char *known = known_facts[which].key;
        if (strlen(known) == key->len && !memcmp(known, key->bytes, key->len)) return which;
    }
    return KNOWN_FACTS;
}

/* -- argv -------------------------------------------------------------------------------------------------------- */

static bool needs_quotes(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c & 0x80) ||
                     (c && strchr("_@%+=:,./-*", c));
        if (!plain) return true;
    }
    return len == 0;
}

static void add_argument(struct lp_buf *buf, const char *text, size_t len)
{
    if (buf->len) lp__buf_addc(buf, ' ');
    if (!needs_quotes(text, len)) {
        lp__buf_add(buf, text, len);
        return;
    }
    lp__buf_addc(buf, '\'');
    for (size_t i = 0; i < len; i++)
        if (text[i] == '\'')
            lp__buf_adds(buf, "'\\''");
        else
            lp__buf_addc(buf, text[i]);
    lp__buf_addc(buf, '\'');
}

/* Arguments joined by NUL become one line a shell would read the same way. */
static int set_argv(struct lp_run_process *process, struct lp_run *run, const struct lp_text *value)
{
    struct lp_buf buf;
    lp__buf_init(&buf, MAX_FACT_BYTES);
    size_t len = value->len < MAX_FACT_BYTES / 8 ? value->len : MAX_FACT_BYTES / 8;
    while (len && value->bytes[len - 1] == '\0')
        len--;
    for (size_t at = 0; at < len;) {
        const char *end = memchr(value->bytes + at, '\0', len - at);
        size_t stop = end ? (size_t)(end - value->bytes) : len;
        add_argument(&buf, value->bytes + at, stop - at);
        at = stop + 1;
    }
    int rc = buf.failed ? (int)buf.failed : keep_text(run, buf.data ? buf.data : "", buf.len, &process->argv);
    lp__buf_release(&buf);
    return rc;
}

/* -- all of it --------------------------------------------------------------------------------------------------- */

static void set_defaults(struct lp_run_process *process, const struct lp_rundir_file *file)
{
    *process = (struct lp_run_process){
        .path = file ? file->path : "",
        .host = file ? file->host : "",
        .argv = "",
        .killed_in = "",
        .rank = -1,
        .world_size = -1,
        .local_rank = -1,
        .cores = -1,
        .hardware_threads = -1,
        .affinity = -1,
        .ram_bytes = -1,
        .memory_limit_bytes = -1,
        .quota_cores = LP_NAN,
        .wall_cost_ns = LP_NAN,
        .cpu_cost_ns = LP_NAN,
        .entry_cost_ns = LP_NAN,
        .started_real_ns = LP_NAN,
        .last_real_ns = LP_NAN,
    };
    for (size_t i = 0; i < KNOWN_FACTS; i++) {
        const char *empty = "";
        char *field = (char *)process + known_facts[i].offset;
        if (known_facts[i].kind == FACT_TEXT && known_facts[i].offset != offsetof(struct lp_run_process, host))
            memcpy(field, &empty, sizeof empty);
    }
}

/* The pid as the file's name has it, for a file that says nothing itself: <attempt>.<pid>.<8 hex>.lpw */
static uint32_t pid_of_path(const char *path)
{
    size_t len = strlen(path), tail = strlen(LP_FILE_SUFFIX) + 9;
    if (len <= tail) return 0;
    size_t at = len - tail;
    while (at && path[at - 1] >= '0' && path[at - 1] <= '9')
        at--;
    unsigned long pid = strtoul(path + at, NULL, 10);
    return pid <= UINT32_MAX ? (uint32_t)pid : 0;
}

static void take_header(struct lp_run_process *process, const struct lp_image *image)
{
    const struct lp_file_header *header = &image->header;
    if (header->pid) process->pid = header->pid;
    memcpy(process->boot_id, header->boot_id, sizeof process->boot_id);
    process->wall_clock = header->wall_clock;
    process->cpu_clock = header->cpu_clock;
    process->place = header->place;
    process->copy_interval_ms = header->copy_interval_ms;
    process->write_failures = header->write_failures;
    process->grow_errno = header->grow_errno <= INT32_MAX ? (int32_t)header->grow_errno : 0;
    process->own_cpu_ns = header->own_cpu_ns;
    process->truncated = image->truncated;
    process->damaged_segments = image->damaged_segments;
    process->newer_segments = image->newer_segments;
    process->damaged = image->header_damaged || image->damaged_segments;
}

int lp__process_describe(struct lp_run_process *process, struct lp_run *run, const struct lp_image *image,
                         const struct lp_rundir_file *file)
{
    struct lp_image_fact_cursor cursor = {0};
    struct lp_text key, value;
    size_t last = 0, count = 0;
    int rc = LP_OK;
    set_defaults(process, file);
    if (file) process->pid = pid_of_path(file->path);
    while (!rc && count++ < MAX_FACTS && lp__image_fact_next(image, &cursor, &key, &value)) {
        if (key.len == 4 && !memcmp(key.bytes, "argv", 4)) {
            rc = set_argv(process, run, &value);
            continue;
        }
        size_t which = find_fact(&key, last);
        if (which == KNOWN_FACTS) continue;
        rc = set_fact(process, run, which, &value);
        last = which + 1;
    }
    take_header(process, image);
    return rc;
}
