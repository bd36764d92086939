/* What a worker file says about its process, written when the file is made. */
// SPDX-License-Identifier: MIT
#ifndef LP_COLLECT_FACTS_H
#define LP_COLLECT_FACTS_H

#include "collect/internal.h"
#include "os/host.h"

void lp__facts_write(struct lp_recording *recording, const struct lp_host_facts *host);

#endif
