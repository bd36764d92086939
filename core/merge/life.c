/* How a process ended, and when.
 *
 * On the machine where it ran, the kernel knows: a pid with the recorded start time is that process.  Elsewhere
 * (another machine, another container) only the heartbeat speaks, so what it can say is "running" or "stale".  No
 * number of the file is believed without a check against another: a heartbeat whose two halves disagree was torn or
 * damaged.
 */
// SPDX-License-Identifier: MIT
#include <math.h>
#include <string.h>

#include "merge/process.h"
#include "os/clock.h"
#include "os/console.h"
#include "os/host.h"

/* A heartbeat comes each second; ten missed ones are an answer. */
static const double fresh_ns = 10e9;
static const double torn_ns = 2e9;

void lp__moment_now(struct lp_moment *now)
{
    *now = (struct lp_moment){
        .mono_ns = lp__mono_ns(),
        .real_ns = lp__real_ns(),
        .sees_processes = lp__process_start(lp__process_id()) != 0,
    };
    lp__host_identity(now->boot_id, &now->pid_namespace);
}

bool lp__same_boot(const uint8_t a[16], const uint8_t b[16])
{
    static const uint8_t unknown[16];
    return memcmp(a, unknown, sizeof unknown) != 0 && !memcmp(a, b, sizeof unknown);
}

enum lp_verdict lp__verdict_of(enum lp_life life, bool any_open)
{
    switch (life) {
    case LP_LIFE_NOTHING:
        return LP_VERDICT_NOTHING;
    case LP_LIFE_FINISHED:
        return LP_VERDICT_FINISHED;
    case LP_LIFE_ALIVE:
    case LP_LIFE_FRESH:
        return LP_VERDICT_RUNNING;
    case LP_LIFE_GONE:
        return any_open ? LP_VERDICT_KILLED : LP_VERDICT_ENDED;
    case LP_LIFE_REPLACED:
        return LP_VERDICT_ENDED;
    case LP_LIFE_STALE:
        break;
    }
    return LP_VERDICT_STALE;
}

/* A copy is as old as its interval before the heartbeat in it looks old. */
static double patience_ns(const struct lp_file_header *header)
{
    return fresh_ns + 2e6 * (double)(header->copy_interval_ms < 3600000 ? header->copy_interval_ms : 3600000);
}

static bool beats(uint64_t heartbeat_ns, uint64_t now_ns, const struct lp_file_header *header)
{
    double age = (double)now_ns - (double)heartbeat_ns;
    return heartbeat_ns && fabs(age) <= patience_ns(header);
}

/* A process that lives and does not map its file any more has called exec: another program has its pid now. */
static bool was_replaced(const struct lp_file_header *header, const struct lp_rundir_file *file)
{
    if (!file || header->place != LP_PLACE_RUN_DIR) return false;
    return lp__process_maps_file((pid_t)header->pid, (dev_t)file->device, (ino_t)file->inode) == 0;
}

enum lp_life lp__life_of(const struct lp_image *image, const struct lp_rundir_file *file, const struct lp_moment *now)
{
    const struct lp_file_header *header = &image->header;
    if (header->state == LP_STATE_FINISHED) return LP_LIFE_FINISHED;
    if (header->state == LP_STATE_NOTHING && !image->segment_count) return LP_LIFE_NOTHING;
    bool same_boot = lp__same_boot(header->boot_id, now->boot_id);
    bool here = same_boot && header->pid_namespace == now->pid_namespace;
    if (!here || !header->pid || !header->pid_start || !now->sees_processes) {
        bool fresh = same_boot ? beats(header->heartbeat_mono_ns, now->mono_ns, header)
                               : beats(header->heartbeat_real_ns, now->real_ns, header);
        return fresh ? LP_LIFE_FRESH : LP_LIFE_STALE;
    }
    if (lp__process_start((pid_t)header->pid) != header->pid_start) return LP_LIFE_GONE;
    return was_replaced(header, file) ? LP_LIFE_REPLACED : LP_LIFE_ALIVE;
}

/* -- when -------------------------------------------------------------------------------------------------------- */

static uint64_t ticks_of_mono(const struct lp_clock_line *line, uint64_t mono_ns)
{
    double ticks = (double)(int64_t)(mono_ns - line->base_mono_ns) / line->ns_per_tick;
    return fabs(ticks) < 0x1p62 ? line->base_ticks + (uint64_t)(int64_t)ticks : line->base_ticks;
}

static bool later(uint64_t a, uint64_t b)
{
    return (int64_t)(a - b) > 0;
}

/* The heartbeat's ticks if they fit its nanoseconds and do not lie in the future; else 0. */
static uint64_t heartbeat_ticks(const struct lp_image *image, const struct lp_clock_line *line, uint64_t limit)
{
    const struct lp_file_header *header = &image->header;
    if (!header->heartbeat_ticks || (limit && later(header->heartbeat_ticks, limit))) return 0;
    double off = (double)lp__ticks_to_mono_ns(line, header->heartbeat_ticks) - (double)header->heartbeat_mono_ns;
    if (line->base_mono_ns && !line->guessed && !line->stepped && fabs(off) > torn_ns) return 0;
    return header->heartbeat_ticks;
}

static uint64_t last_record_ticks(const struct lp_image *image, uint64_t from, uint64_t limit)
{
    uint64_t last = from;
    for (size_t i = 0; i < image->segment_count; i++) {
        const struct lp_image_segment *segment = &image->segments[i];
        if (segment->type != LP_SEGMENT_THREADS) continue;
        for (uint64_t at = 0; at < segment->payload_bytes; at += sizeof(struct lp_thread_record)) {
            struct lp_thread_record record;
            memcpy(&record, image->bytes + segment->payload + at, sizeof record);
            if (limit && later(record.last_ticks, limit)) continue;
            if (record.last_ticks && later(record.last_ticks, last)) last = record.last_ticks;
        }
    }
    return last;
}

/* The last heartbeat and the mark are written in one go, so they must agree. */
static bool closed_fits(const struct lp_file_header *header, const struct lp_clock_line *line, uint64_t beat)
{
    if (!header->closed_ticks || later(line->base_ticks, header->closed_ticks)) return false;
    if (!beat) return true;
    return fabs((double)(int64_t)(header->closed_ticks - beat)) * line->ns_per_tick < fresh_ns;
}

uint64_t lp__end_ticks(const struct lp_image *image, const struct lp_clock_line *line, enum lp_life life,
                       const struct lp_moment *now)
{
    const struct lp_file_header *header = &image->header;
    bool here = lp__same_boot(header->boot_id, now->boot_id) && line->base_mono_ns && !line->stepped;
    uint64_t now_ticks = here ? ticks_of_mono(line, now->mono_ns) : 0;
    uint64_t limit = here ? now_ticks + (uint64_t)(torn_ns / line->ns_per_tick) : 0;
    uint64_t end = last_record_ticks(image, line->base_ticks, limit);
    uint64_t beat = heartbeat_ticks(image, line, limit);
    if (beat && later(beat, end)) end = beat;
    if (life == LP_LIFE_FINISHED && closed_fits(header, line, beat)) return header->closed_ticks;
    if ((life == LP_LIFE_ALIVE || life == LP_LIFE_FRESH) && here && later(now_ticks, end)) end = now_ticks;
    return end;
}
