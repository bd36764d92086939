/* Walks the loaded objects.  Modules of an interpreter are loaded with RTLD_LOCAL, so a global look-up does not see
 * them: each is asked for by its name with RTLD_NOLOAD, which finds but never loads.
 *
 * The names are collected first: while the loader lists its objects it holds a lock that another thread's dlopen waits
 * for with the lock in hand that ours would need. */
// SPDX-License-Identifier: MIT
#include "os/objects.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

#include "base/buf.h"

static int collect_name(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct lp_buf *names = arg;
    (void)size;
    if (info->dlpi_name && info->dlpi_name[0]) lp__buf_add(names, info->dlpi_name, strlen(info->dlpi_name) + 1);
    return 0;
}

static const void *find_in(const char *object, const char *symbol)
{
    void *handle = dlopen(object, RTLD_NOLOAD | RTLD_LAZY | RTLD_LOCAL);
    const void *address = handle ? dlsym(handle, symbol) : NULL;
    if (handle) dlclose(handle);
    return address;
}

void lp__objects_each(const char *symbol, const void *own, lp_object_visitor *visit, void *arg)
{
    struct lp_buf names;
    int saved = errno;
    lp__buf_init(&names, (size_t)1 << 20);
    (void)dl_iterate_phdr(collect_name, &names);
    for (size_t at = 0; at < names.len; at += strlen(names.data + at) + 1) {
        const void *address = find_in(names.data + at, symbol);
        if (address && address != own && visit(address, arg)) break;
    }
    (void)dlerror();
    lp__buf_release(&names);
    errno = saved;
}
