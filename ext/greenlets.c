/* Greenlets.  Each has a stack of its own; the thread's stack of scopes is the running one's.
 *
 * At a switch the stack of the greenlet that stops is cut into owners, from the top: scopes of generator frames have
 * theirs, plain ones in between are given one made for this.  The owners are suspended one by one and noted in the
 * greenlet's pile; when it goes on they are resumed in the opposite order.  So a program without greenlets pays
 * nothing, and one with them pays at switches only.  Greenlets are known by address: a pile of one that died finds its
 * owners gone by their serial numbers. */
// SPDX-License-Identifier: MIT
#include "greenlets.h"

#include <stddef.h>
#include <string.h>

/* One owner of a stack that was put aside. */
struct piece {
    struct lp_recording *recording;
    uintptr_t key;
    uint64_t serial;
    struct piece *next; /* below it */
};

/* The stack of a greenlet that does not run. */
struct pile {
    struct piece *pieces; /* lowest first */
    struct pile *previous, *next;
};

struct listener {
    PyObject_HEAD vectorcallfunc call;
    struct lpx_hosts *hosts;     /* NULL once we stopped */
    PyObject *next;              /* owned: the program's own trace function, or NULL */
    struct listener *next_alive; /* of the same hosts */
};

/* -- exchanging stacks ------------------------------------------------------------------------------------------- */

/* Gives the plain scopes on top of the stack an owner, so that they can be suspended. */
static struct lp_owner *adopt_plain(struct lpx_hosts *hosts, struct lp_thread *thread)
{
    struct lp_scope *scope = thread->top;
    struct lp_owner *owner = NULL;
    uintptr_t key;
    while (scope->owner == NULL && scope != &thread->root_scope)
        scope = scope->below;
    if (scope->owner && scope->owner->kind == hosts) owner = scope->owner; /* more of the same greenlet */
    if (owner == NULL) {
        key = hosts->next_pile_key += 2; /* odd from the start: no frame has such an address */
        owner = lp__owner_make(thread->home, thread, key, hosts, 0, (struct lp_cpu_time){0, 0});
        if (owner == NULL) return NULL;
    }
    for (scope = thread->top; scope->owner == NULL && scope != &thread->root_scope; scope = scope->below) {
        scope->owner = owner;
        scope->start_suspended = owner->suspended_total;
        scope->start_gap = owner->gap_total;
        owner->scopes++;
    }
    return owner;
}

static struct piece *piece_of(struct lp_thread *thread, const struct lp_owner *owner)
{
    struct piece *piece = lp__alloc(sizeof *piece);
    if (piece == NULL) return NULL;
    piece->recording = thread->home;
    piece->key = owner->key;
    piece->serial = owner->serial;
    return piece;
}

/* Takes all scopes off the stack; the pile grows so that its first piece is the lowest. */
static void put_aside(struct lpx_hosts *hosts, struct lp_thread *thread, struct piece **pile)
{
    uint64_t now;
    struct lp_cpu_time cpu;
    lp__read_clocks(thread, &now, &cpu);
    while (thread->top != &thread->root_scope) {
        struct lp_owner *owner = thread->top->owner ? thread->top->owner : adopt_plain(hosts, thread);
        struct piece *piece = owner ? piece_of(thread, owner) : NULL;
        if (piece == NULL) { /* out of memory: they stay, and the other greenlet runs on top of them */
            lp__drop(thread, LP_DROP_HOOK);
            return;
        }
        piece->next = *pile;
        *pile = piece;
        lp__owner_suspend(owner, thread, now, cpu);
    }
}

static void put_back(struct piece *pile)
{
    while (pile) {
        struct piece *piece = pile;
        struct lp_thread *thread = lp__thread_find(piece->recording);
        struct lp_owner *owner = thread ? lp__owner_find(piece->recording, piece->key) : NULL;
        if (owner && owner->serial == piece->serial && owner->suspended) {
            uint64_t now;
            struct lp_cpu_time cpu;
            lp__read_clocks(thread, &now, &cpu);
            lp__owner_resume(owner, thread, now, cpu);
        }
        pile = piece->next;
        lp__free(piece);
    }
}

static void free_pieces(struct piece *piece)
{
    while (piece) {
        struct piece *next = piece->next;
        lp__free(piece);
        piece = next;
    }
}

static struct piece *take_pile(struct lpx_hosts *hosts, PyObject *greenlet)
{
    struct pile *pile;
    struct piece *pieces;
    uint64_t value;
    if (!lp__map_get(&hosts->greenlets, (uintptr_t)greenlet, &value)) return NULL;
    (void)lp__map_remove(&hosts->greenlets, (uintptr_t)greenlet);
    pile = (struct pile *)(uintptr_t)value;
    if (pile->next) pile->next->previous = pile->previous;
    if (pile->previous)
        pile->previous->next = pile->next;
    else
        hosts->piles = pile->next;
    pieces = pile->pieces;
    lp__free(pile);
    return pieces;
}

static bool keep_pile(struct lpx_hosts *hosts, PyObject *greenlet, struct piece *pieces)
{
    struct pile *pile = lp__calloc(1, sizeof *pile);
    if (pile == NULL) return false;
    if (lp__map_put(&hosts->greenlets, (uintptr_t)greenlet, (uintptr_t)pile)) {
        lp__free(pile);
        return false;
    }
    pile->pieces = pieces;
    pile->next = hosts->piles;
    if (pile->next) pile->next->previous = pile;
    hosts->piles = pile;
    return true;
}

static void exchange(struct lpx_hosts *hosts, PyObject *from, PyObject *to)
{
    struct piece *pieces = NULL;
    uint32_t i;
    if (from == to) return;
    free_pieces(take_pile(hosts, from)); /* of a dead one with this address */
    for (i = 0; i < hosts->recording_count; i++) {
        struct lp_thread *thread = lp__thread_find(hosts->recordings[i]);
        if (thread) put_aside(hosts, thread, &pieces);
    }
    if (pieces && !keep_pile(hosts, from, pieces)) put_back(pieces);
    put_back(take_pile(hosts, to));
}

/* -- greenlet's trace function ----------------------------------------------------------------------------------- */

/* listener(event, (from, to)) after a switch, in the greenlet that goes on. */
static PyObject *on_switch(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    struct listener *listener = (struct listener *)self;
    PyObject *pair = PyVectorcall_NARGS(count) == 2 ? args[1] : NULL;
    if (listener->hosts && pair && PyTuple_CheckExact(pair) && PyTuple_GET_SIZE(pair) == 2)
        exchange(listener->hosts, PyTuple_GET_ITEM(pair, 0), PyTuple_GET_ITEM(pair, 1));
    if (listener->next) return PyObject_Vectorcall(listener->next, args, count, names);
    Py_RETURN_NONE;
}

/* It only passes on from now on. */
static void forget(struct listener *listener)
{
    struct listener **link;
    if (listener->hosts == NULL) return;
    for (link = &listener->hosts->listeners; *link != listener;)
        link = &(*link)->next_alive;
    *link = listener->next_alive;
    listener->hosts = NULL;
}

static int listener_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((struct listener *)self)->next);
    return 0;
}

static int listener_clear(PyObject *self)
{
    Py_CLEAR(((struct listener *)self)->next);
    return 0;
}

static void listener_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    forget((struct listener *)self);
    (void)listener_clear(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMemberDef listener_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct listener, call), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot listener_slots[] = {
    {Py_tp_dealloc, listener_dealloc},   {Py_tp_call, PyVectorcall_Call}, {Py_tp_members, listener_members},
    {Py_tp_traverse, listener_traverse}, {Py_tp_clear, listener_clear},   {0, NULL},
};

static PyType_Spec listener_spec = {
    .name = "lineprofiler._core.GreenletListener",
    .basicsize = sizeof(struct listener),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = listener_slots,
};

int lpx_greenlets_init(struct lpx_hosts *hosts, PyObject *module)
{
    hosts->next_pile_key = 1;
    hosts->listener_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &listener_spec, NULL);
    return hosts->listener_type ? 0 : -1;
}

bool lpx_greenlets_look(struct lpx_hosts *hosts)
{
    struct lpx_error error;
    PyObject *name, *module = NULL;
    if (hosts->greenlet_settrace) return false;
    error = lpx_error_hide();
    name = PyUnicode_InternFromString("greenlet");
    if (name) module = PyImport_GetModule(name);
    if (module) hosts->greenlet_settrace = PyObject_GetAttrString(module, "settrace");
    Py_XDECREF(module);
    Py_XDECREF(name);
    lpx_error_restore(error);
    return hosts->greenlet_settrace != NULL;
}

static struct listener *new_listener(struct lpx_hosts *hosts)
{
    struct listener *listener = PyObject_GC_New(struct listener, hosts->listener_type);
    if (listener == NULL) return NULL;
    listener->call = on_switch;
    listener->hosts = hosts;
    listener->next = NULL;
    listener->next_alive = hosts->listeners;
    hosts->listeners = listener;
    PyObject_GC_Track(listener);
    return listener;
}

/* settrace answers the function that was there; ours goes on calling it. */
static void chain(struct lpx_hosts *hosts, struct listener *listener)
{
    PyObject *before = PyObject_CallOneArg(hosts->greenlet_settrace, (PyObject *)listener);
    if (before == NULL) return;
    if (Py_IS_TYPE(before, hosts->listener_type)) { /* ours already: of an earlier recording */
        struct listener *old = (struct listener *)before;
        listener->next = old->next;
        old->next = NULL;
        forget(old);
    } else if (before != Py_None) {
        listener->next = Py_NewRef(before);
    }
    Py_DECREF(before);
}

void lpx_greenlets_listen(struct lpx_hosts *hosts)
{
    struct lpx_error error;
    struct listener *listener;
    if (hosts->greenlet_settrace == NULL) return;
    error = lpx_error_hide();
    listener = new_listener(hosts);
    if (listener) chain(hosts, listener);
    Py_XDECREF(listener);
    lpx_error_restore(error);
}

/* Gives the trace function of this thread back, if it is ours.  Those of other threads only pass on. */
static void unchain(struct lpx_hosts *hosts)
{
    PyObject *before = PyObject_CallOneArg(hosts->greenlet_settrace, Py_None), *next;
    if (before == NULL || before == Py_None) {
        Py_XDECREF(before);
        return;
    }
    next = Py_IS_TYPE(before, hosts->listener_type) ? ((struct listener *)before)->next : before;
    if (next) Py_XDECREF(PyObject_CallOneArg(hosts->greenlet_settrace, next));
    Py_DECREF(before);
}

void lpx_greenlets_stop(struct lpx_hosts *hosts)
{
    struct lpx_error error;
    if (hosts->greenlet_settrace == NULL) return;
    error = lpx_error_hide();
    if (hosts->listeners) unchain(hosts);
    lpx_error_restore(error);
    while (hosts->listeners)
        forget(hosts->listeners);
    Py_CLEAR(hosts->greenlet_settrace);
    while (hosts->piles) {
        struct pile *pile = hosts->piles;
        hosts->piles = pile->next;
        free_pieces(pile->pieces);
        lp__free(pile);
    }
    lp__map_release(&hosts->greenlets);
}
