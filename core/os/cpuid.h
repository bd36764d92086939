/* What the processor says about itself without the kernel's help.  Reading /proc/cpuinfo instead makes kernels 4.13 to
 * 5.17 measure the frequency of every processor first, which takes 10 ms and interrupts them all. */
// SPDX-License-Identifier: MIT
#ifndef LP_OS_CPUID_H
#define LP_OS_CPUID_H

#include <stdbool.h>
#include <stddef.h>

/* Does the TSC run at one rate in every power state?  The kernel takes its flags constant_tsc and nonstop_tsc from the
 * same bit.  False on other processors.  Up to 50 us in a virtual machine, where the instruction leaves the guest. */
bool lp__cpuid_invariant_tsc(void);

/* The brand string, as /proc/cpuinfo's "model name"; false when there is none. */
bool lp__cpuid_brand(char *out, size_t cap);

#endif
