/* rseq_cs tells the kernel which critical section a thread is in.  At each context switch the kernel looks at it and,
 * when the thread is outside the section it names, sets it to NULL.  So a section of length zero, which no thread is
 * ever inside, makes a flag that only switches (and signals) lower.
 *
 * The kernel kills a thread whose descriptor is malformed, hence the care here: version and flags 0, addresses in
 * user space, the abort address outside the section and preceded by the registered signature.  The descriptor lies in
 * a page of its own that is never unmapped, since a thread may still be armed when this library is unloaded. */
// SPDX-License-Identifier: MIT
#include "os/rseq.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#if defined(__x86_64__)
#define SIGNATURE 0x53053053u
#elif defined(__aarch64__)
#define SIGNATURE 0xD428BC00u
#endif

#if defined(__linux__) && defined(__GLIBC__) && defined(SIGNATURE)

/* From glibc 2.35; weak, so that the same binary loads with 2.28. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

/* The kernel's struct rseq_cs. */
struct section {
    uint32_t version;
    uint32_t flags;
    uint64_t start_ip;
    uint64_t post_commit_offset;
    uint64_t abort_ip;
};

struct page {
    _Alignas(32) struct section section;
    uint32_t signature;
    uint32_t abort_target; /* nothing ever jumps here */
};

enum { FIELD_OFFSET = 8, FIELD_END = 16 };

static char *thread_pointer(void)
{
#if defined(__x86_64__)
    char *self;
    __asm__("mov %%fs:0, %0" : "=r"(self));
    return self;
#else
    return __builtin_thread_pointer();
#endif
}

void **lp__rseq_field(void)
{
    if (!&__rseq_offset || !&__rseq_size || __rseq_size < FIELD_END) return NULL;
    return (void **)(void *)(thread_pointer() + __rseq_offset + FIELD_OFFSET);
}

void *lp__rseq_descriptor(void)
{
    static void *made;
    if (made) return made;
    struct page *page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return NULL;
    page->signature = SIGNATURE;
    page->section.abort_ip = (uint64_t)(uintptr_t)&page->abort_target;
    page->section.start_ip = page->section.abort_ip;
    if (mprotect(page, sizeof *page, PROT_READ)) {
        munmap(page, sizeof *page);
        return NULL;
    }
    return made = page;
}

static bool sleep_lowers(void *volatile *field, void *mark)
{
    /* With a timer slack of 1 ns a shorter sleep ends before the thread is switched out. */
    struct timespec pause = {.tv_nsec = 50000};
    for (int tries = 0; tries < 8; tries++) {
        *field = mark;
        if (!nanosleep(&pause, NULL)) return *field != mark;
        /* A signal lowers the flag whatever switches do: not a proof, try again. */
    }
    return false;
}

bool lp__rseq_prove(char *why, size_t cap)
{
    int saved = errno;
    void **field = lp__rseq_field();
    void *mark = field ? lp__rseq_descriptor() : NULL;
    bool proved = mark && sleep_lowers(field, mark) && sleep_lowers(field, mark);
    if (mark) *(void *volatile *)field = NULL;
    errno = saved;
    if (!field)
        snprintf(why, cap, "the C library registered no rseq area");
    else if (!mark)
        snprintf(why, cap, "no memory for the rseq descriptor");
    else if (!proved)
        snprintf(why, cap, "a sleep did not clear rseq_cs on this kernel");
    return proved;
}

#else /* another C library, processor or system */

void **lp__rseq_field(void)
{
    return NULL;
}

void *lp__rseq_descriptor(void)
{
    return NULL;
}

bool lp__rseq_prove(char *why, size_t cap)
{
    snprintf(why, cap, "rseq is not available on this platform");
    return false;
}

#endif
