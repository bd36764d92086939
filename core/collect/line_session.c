/* Sessions: their life, and the regions of the calling thread. */
// SPDX-License-Identifier: MIT
#include "collect/lines_internal.h"

struct lp_line_session *lp__line_session_new(struct lp_recording *recording, const struct lp_line_host *host,
                                             void *data)
{
    struct lp_line_session *session = lp__calloc(1, sizeof *session);
    if (session == NULL) return NULL;
    if (!lp__line_tables_init(session)) {
        lp__line_tables_release(session);
        lp__free(session);
        return NULL;
    }
    session->recording = recording;
    lp__recording_retain(recording);
    session->host = host;
    session->data = data;
    session->generation = lp__process_generation();
    return session;
}

void lp__line_session_free(struct lp_line_session *session)
{
    if (session == NULL) return;
    lp__line_session_stop(session);
    lp__line_threads_free(session);
    lp__line_tables_release(session);
    lp__recording_release(session->recording);
    lp__free(session);
}

void lp__line_session_start(struct lp_line_session *session)
{
    if (session->active) return;
    session->active = true;
    lp__lines_activate(session);
}

void lp__line_session_stop(struct lp_line_session *session)
{
    if (!session->active) return;
    session->active = false;
    lp__lines_deactivate(session);
}

bool lp__line_session_is_active(const struct lp_line_session *session)
{
    return session->active;
}

void lp__line_session_settle(struct lp_line_session *session)
{
    lp__line_threads_each(session, lp__line_settle);
}

void lp__line_session_clear(struct lp_line_session *session)
{
    lp__line_threads_each(session, lp__line_zero);
}

/* -- regions ----------------------------------------------------------------------------------------------------- */

static struct lp_line_thread *here(const struct lp_line_session *session)
{
    struct lp_line_thread *thread;
    if (!session->active) return NULL;
    for (thread = lp__lines_here(); thread; thread = thread->next_of_tenant)
        if (thread->session == session) return thread;
    return NULL;
}

/* Up to now belongs to the place where the thread is, and to the view it is in. */
static uint64_t charge_up_to_now(struct lp_line_thread *thread)
{
    uint64_t now = lp__ticks();
    lp__line_charge(thread, now);
    return now;
}

static struct lp_line_view *view_of(struct lp_line_thread *thread, lp_name_id name)
{
    uint32_t region = lp__line_region(thread->session, thread->top->view->region, name);
    struct lp_line_view *view = lp__line_view(thread, region);
    if (view && view->entry == NULL && region) view->entry = lp__line_entry_new(thread, region);
    return view;
}

bool lp__line_region_enter(struct lp_line_session *session, lp_name_id name, struct lp_line_region_entry *entry)
{
    struct lp_line_thread *thread = name ? here(session) : NULL;
    *entry = (struct lp_line_region_entry){0};
    if (thread == NULL) return false;
    entry->view = view_of(thread, name);
    if (entry->view == NULL) return false;
    entry->thread = thread;
    entry->generation = session->generation;
    entry->before = thread->top->view;
    entry->frame = thread->top->frame;
    entry->start = charge_up_to_now(thread);
    lp__line_move(thread, thread->top, entry->view);
    if (entry->view->entry) {
        entry->view->entry->open++;
        entry->view->entry->start_sum += entry->start;
    }
    return true;
}

/* The frame that began it, while it still runs in the region. */
static struct lp_line_frame *frame_of(struct lp_line_thread *thread, const struct lp_line_region_entry *entry)
{
    struct lp_line_frame *at;
    for (at = thread->top; at >= thread->frames; at--)
        if (at->frame == entry->frame && at->view == entry->view) return at;
    return NULL;
}

static void book_entry(const struct lp_line_region_entry *entry, uint64_t now)
{
    struct lp_region_entry_record *record = entry->view->entry;
    if (record == NULL) return;
    record->open--;
    record->start_sum -= entry->start;
    record->wall += now - entry->start;
    record->entries++;
}

void lp__line_region_end(struct lp_line_region_entry *entry)
{
    struct lp_line_thread *thread = entry->thread;
    struct lp_line_frame *frame;
    uint64_t now;
    entry->thread = NULL;
    if (thread == NULL || entry->generation != lp__process_generation()) return;
    if (thread->tenant == NULL || thread->tenant != lp__tls_lines) {
        book_entry(entry, lp__ticks()); /* the session has stopped, or another thread ends it */
        return;
    }
    now = charge_up_to_now(thread);
    frame = frame_of(thread, entry);
    if (frame) lp__line_move(thread, frame, entry->before);
    book_entry(entry, now);
}
