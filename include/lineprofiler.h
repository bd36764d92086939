/* lineprofiler for C and C++: named phases and counters, cheap enough to leave on.
 *
 *     #include <lineprofiler.h>
 *
 *     int main(void)
 *     {
 *         lp_start("profile", "simulator");
 *         for (int step = 0; step < 1000; step++) {
 *             LP_PHASE("step");                     // until the end of the block
 *             LP_COUNT("particles", advance());
 *         }
 *         lp_stop();
 *     }
 *
 *     cc program.c $(pkg-config --cflags --libs lineprofiler) && ./a.out && lineprofiler report profile
 *
 * Where it goes.  Each process writes one file below the run directory, mapped and preallocated; nothing needs to be
 * flushed, and a process that is killed leaves everything it had recorded.  A forked child records into a file of its
 * own from its first phase on.  In a process where the Python package lineprofiler records, everything here goes to
 * that recording, and phases nest below the Python phases of the same thread; this needs no link to Python.
 *
 * Nothing here ever raises, exits, prints or touches errno.  Until lp_start (or Python) starts a recording, every call
 * does nothing and costs a few nanoseconds.  Compiled with LP_DISABLED defined, the macros and inline functions vanish.
 *
 * Threads: everything may be called from any thread, nothing from a signal handler.  A phase belongs to the thread that
 * began it; when another one ends it, it ends then, and its CPU time is not known.
 */
// SPDX-License-Identifier: MIT
#ifndef LINEPROFILER_H
#define LINEPROFILER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define LP_API __attribute__((visibility("default")))
#else
#define LP_API
#endif

/* A registered name; 0 is none, and phases and counters of it are not recorded. */
typedef uint32_t lp_name;

/* One open phase.  Copyable; ended twice, the second time is counted and does nothing.  All zero: nothing was begun. */
typedef struct lp_token {
    void *scope;
    uint64_t serial;
    const void *recorder;
} lp_token;

#ifndef LP_DISABLED

/* The version of the library, "1.2.3"; static text. */
LP_API const char *lp_version(void);

/* Starts recording into `run_dir` (made when missing, 0700) in the given role; NULL takes LINEPROFILER_RUN_DIR and
 * LINEPROFILER_ROLE, else "profile" and "main".  Returns 0; also when this process records already.  Negative: no
 * memory, or an empty run_dir.  A directory that cannot be written is no error: recording goes on in memory and the
 * failure is counted.  Sets LINEPROFILER_RUN_DIR and LINEPROFILER_RUN_ID where they are not set, so that programs that
 * are started from here on join the run; like setenv, it is for a time when no other thread reads the environment. */
LP_API int lp_start(const char *run_dir, const char *role);

/* Ends the recording that lp_start began and marks its file as finished; one that Python began goes on.  exit() does
 * the same. */
LP_API void lp_stop(void);

/* Registers a name: any bytes, copied; UTF-8 prints well.  The same text gives the same number for the life of the
 * process.  Takes a lock: register once and keep the number (the macros do, one static for each place). */
LP_API lp_name lp_name_register(const char *text);
LP_API lp_name lp_name_register_n(const char *bytes, size_t len);

/* Begins and ends a phase.  About 15 ns and two clock reads together once a path has been seen.  Ends may come in any
 * order; one too many is counted and shown in the report. */
LP_API lp_token lp_phase_begin(lp_name name);
LP_API void lp_phase_end(lp_token token);

/* Adds `n` to a counter of the innermost open phase of this thread, or of the thread itself outside any phase. */
LP_API void lp_count(lp_name name, int64_t n);

/* Marks for a timeline, which this version does not record: they do nothing yet. */
LP_API void lp_signal(lp_name channel, const char *key);
LP_API void lp_wait_on(lp_name channel, const char *key);

#else /* LP_DISABLED: the same names, and no call is left */

static inline const char *lp_version(void)
{
    return "disabled";
}
static inline int lp_start(const char *run_dir, const char *role)
{
    (void)run_dir;
    (void)role;
    return 0;
}
static inline void lp_stop(void)
{
}
static inline lp_name lp_name_register(const char *text)
{
    (void)text;
    return 0;
}
static inline lp_name lp_name_register_n(const char *bytes, size_t len)
{
    (void)bytes;
    (void)len;
    return 0;
}
static inline lp_token lp_phase_begin(lp_name name)
{
    lp_token nothing = {NULL, 0, NULL};
    (void)name;
    return nothing;
}
static inline void lp_phase_end(lp_token token)
{
    (void)token;
}
static inline void lp_count(lp_name name, int64_t n)
{
    (void)name;
    (void)n;
}
static inline void lp_signal(lp_name channel, const char *key)
{
    (void)channel;
    (void)key;
}
static inline void lp_wait_on(lp_name channel, const char *key)
{
    (void)channel;
    (void)key;
}

#endif

#ifdef __cplusplus
} /* extern "C" */

namespace lp
{
/* A phase for the life of the object:  lp::phase guard("step");  */
class phase
{
  public:
    explicit phase(const char *name) : token(lp_phase_begin(lp_name_register(name)))
    {
    }
    explicit phase(lp_name name) : token(lp_phase_begin(name))
    {
    }
    ~phase()
    {
        lp_phase_end(token);
    }
    phase(const phase &) = delete;
    phase &operator=(const phase &) = delete;

  private:
    lp_token token;
};
} // namespace lp
#endif

#define LP_JOIN_(a, b) a##b
#define LP_JOIN(a, b)  LP_JOIN_(a, b)

#if defined(LP_DISABLED) || !defined(__GNUC__)
#define LP_PHASE(text)    ((void)0)
#define LP_COUNT(text, n) ((void)(n))
#else
static inline void lp_phase_leave_(lp_token *token)
{
    lp_phase_end(*token);
}
static inline lp_name lp_name_once_(lp_name *place, const char *text)
{
    lp_name name = __atomic_load_n(place, __ATOMIC_RELAXED);
    if (__builtin_expect(name == 0, 0)) {
        name = lp_name_register(text);
        __atomic_store_n(place, name, __ATOMIC_RELAXED);
    }
    return name;
}
/* A phase from here to the end of the enclosing block, however it is left (return, break, goto; not longjmp). */
#define LP_PHASE(text)                                                                                                 \
    static lp_name LP_JOIN(lp_name_of_line_, __LINE__);                                                                \
    lp_token LP_JOIN(lp_token_of_line_, __LINE__) __attribute__((cleanup(lp_phase_leave_))) =                          \
        lp_phase_begin(lp_name_once_(&LP_JOIN(lp_name_of_line_, __LINE__), (text)));                                   \
    (void)LP_JOIN(lp_token_of_line_, __LINE__)
/* Adds to a counter; the name must be the same at each pass. */
#define LP_COUNT(text, n)                                                                                              \
    do {                                                                                                               \
        static lp_name lp_name_here_;                                                                                  \
        lp_count(lp_name_once_(&lp_name_here_, (text)), (n));                                                          \
    } while (0)
#endif

#endif
