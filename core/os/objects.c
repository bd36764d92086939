/* Walks the loaded objects.  Modules of an interpreter are loaded with RTLD_LOCAL, so a global look-up does not see
 * them: each is asked for by its name with RTLD_NOLOAD, which finds but never loads. */
// SPDX-License-Identifier: MIT
#include "os/objects.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stddef.h>

struct search {
    const char *symbol;
    const void *own;
    const void *found;
};

static int visit(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct search *search = arg;
    const void *address;
    void *handle;
    (void)size;
    if (info->dlpi_name == NULL || info->dlpi_name[0] == '\0') return 0;
    handle = dlopen(info->dlpi_name, RTLD_NOLOAD | RTLD_LAZY | RTLD_LOCAL);
    if (handle == NULL) return 0;
    address = dlsym(handle, search->symbol);
    dlclose(handle);
    if (address == NULL || address == search->own) return 0;
    search->found = address;
    return 1;
}

const void *lp__objects_find(const char *symbol, const void *own)
{
    struct search search = {symbol, own, NULL};
    int saved = errno;
    (void)dl_iterate_phdr(visit, &search);
    (void)dlerror();
    errno = saved;
    return search.found;
}
