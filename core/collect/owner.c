/* The table of owners of a recording: by the address of their frame.  See scope.h for who may touch it. */
// SPDX-License-Identifier: MIT
#include <string.h>

#include "base/map.h"
#include "collect/internal.h"
#include "collect/scope.h"
#include "collect/thread.h"

void (*lp__owner_freed)(struct lp_owner *owner);

struct lp_owner *lp__owner_find(struct lp_recording *recording, uintptr_t key)
{
    uint64_t value;
    struct lp_map *owners = lp__recording_owners(recording);
    if (owners->count == 0) return NULL;
    return lp__map_get(owners, key, &value) ? (struct lp_owner *)(uintptr_t)value : NULL;
}

static void link_owner(struct lp_owner **list, struct lp_owner *owner)
{
    owner->next = *list;
    if (owner->next) owner->next->previous = owner;
    *list = owner;
}

static void unlink_owner(struct lp_owner **list, struct lp_owner *owner)
{
    if (owner->next) owner->next->previous = owner->previous;
    if (owner->previous)
        owner->previous->next = owner->next;
    else
        *list = owner->next;
}

/* Owners come and go with every entry of a coroutine, so those that are done are kept for the next ones. */
static struct lp_owner *take_owner(struct lp_recording *recording)
{
    struct lp_owner *owner = recording->free_owners;
    if (owner == NULL) return lp__recording_block(recording, sizeof *owner);
    recording->free_owners = owner->next;
    memset(owner, 0, sizeof *owner);
    return owner;
}

static void give_owner(struct lp_recording *recording, struct lp_owner *owner)
{
    owner->next = recording->free_owners;
    recording->free_owners = owner;
}

struct lp_owner *lp__owner_add(struct lp_recording *recording, struct lp_thread *thread, uintptr_t key, void *kind)
{
    struct lp_owner *owner = take_owner(recording);
    if (owner == NULL) return NULL;
    owner->key = key;
    owner->kind = kind;
    owner->recording = recording;
    owner->thread = thread;
    owner->measured = true;
    owner->serial = lp__recording_next_owner_serial(recording);
    if (lp__map_put(lp__recording_owners(recording), key, (uint64_t)(uintptr_t)owner)) {
        give_owner(recording, owner);
        return NULL;
    }
    link_owner(lp__recording_owner_list(recording), owner);
    return owner;
}

struct lp_owner *lp__owner_make(struct lp_recording *recording, struct lp_thread *thread, uintptr_t key, void *kind,
                                uint64_t now, struct lp_cpu_time cpu)
{
    struct lp_owner *owner = lp__owner_find(recording, key);
    if (owner && owner->kind == kind) return owner;
    if (owner) lp__owner_detach(owner, thread, now, cpu);
    return lp__owner_add(recording, thread, key, kind);
}

void lp__owner_each(struct lp_recording *recording, void (*visit)(struct lp_owner *owner, void *arg), void *arg)
{
    struct lp_owner *owner;
    for (owner = *lp__recording_owner_list(recording); owner; owner = owner->next)
        visit(owner, arg);
}

void lp__owner_forget_key(struct lp_owner *owner)
{
    if (!owner->detached) (void)lp__map_remove(lp__recording_owners(owner->recording), owner->key);
    owner->detached = true;
}

void lp__owner_free(struct lp_owner *owner)
{
    if (lp__owner_freed) lp__owner_freed(owner);
    lp__owner_forget_key(owner);
    unlink_owner(lp__recording_owner_list(owner->recording), owner);
    give_owner(owner->recording, owner);
}

void lp__owner_discard_if_empty(struct lp_owner *owner)
{
    if (owner && owner->scopes == 0) lp__owner_free(owner);
}
