/* Which file systems really reserve blocks in posix_fallocate.  Where they do not, a store into a mapping may raise
 * SIGBUS in the recorded program, so an unknown one counts as not mappable. */
// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stddef.h>
#include <sys/vfs.h>

#include "os/file.h"

struct known {
    uint32_t magic; /* f_type, of which Linux uses 32 bits */
    enum lp_fs_kind kind;
    const char *name;
};

static const struct known table[] = {
    {0x0000EF53, LP_FS_MAPPABLE, "ext4"},
    {0x58465342, LP_FS_MAPPABLE, "xfs"},
    {0x01021994, LP_FS_MAPPABLE, "tmpfs"},
    {0x794C7630, LP_FS_MAPPABLE, "overlay"},
    {0x9123683E, LP_FS_COPY_ON_WRITE, "btrfs"},
    {0x2FC12FC1, LP_FS_COPY_ON_WRITE, "zfs"},
    {0xCA451A4E, LP_FS_COPY_ON_WRITE, "bcachefs"},
    {0xF2F52010, LP_FS_COPY_ON_WRITE, "f2fs"},
    {0x00006969, LP_FS_NETWORK, "nfs"},
    {0x0BD00BD0, LP_FS_NETWORK, "lustre"},
    {0x65735546, LP_FS_NETWORK, "fuse"},
    {0xFF534D42, LP_FS_NETWORK, "cifs"},
    {0xFE534D42, LP_FS_NETWORK, "smb2"},
    {0x00C36400, LP_FS_NETWORK, "ceph"},
    {0x47504653, LP_FS_NETWORK, "gpfs"},
    {0x01021997, LP_FS_NETWORK, "9p"},
    {0x19830326, LP_FS_NETWORK, "beegfs"},
    {0xAAD7AAEA, LP_FS_NETWORK, "panfs"},
    {0x5346414F, LP_FS_NETWORK, "afs"},
    {0x6B414653, LP_FS_NETWORK, "afs"},
    {0x01161970, LP_FS_NETWORK, "gfs2"},
    {0x7461636F, LP_FS_NETWORK, "ocfs2"},
    {0x20030528, LP_FS_NETWORK, "orangefs"},
    {0x786F4256, LP_FS_NETWORK, "vboxsf"},
};

enum lp_fs_kind lp__fs_kind(int fd, const char **name)
{
    int saved = errno;
    struct statfs fs;
    *name = "unknown";
    int rc;
    do
        rc = fstatfs(fd, &fs);
    while (rc && errno == EINTR);
    errno = saved;
    for (size_t i = 0; !rc && i < sizeof table / sizeof *table; i++) {
        if (table[i].magic != (uint32_t)fs.f_type) continue;
        *name = table[i].name;
        return table[i].kind;
    }
    return LP_FS_UNKNOWN;
}
