/* A recording in a folder of its own, and the calls that tests make most. */
// SPDX-License-Identifier: MIT
#ifndef LP_TEST_STAGE_H
#define LP_TEST_STAGE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first. */
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "collect/internal.h"
#include "collect/phase.h"
#include "collect/record.h"
#include "readback.h"

struct stage {
    struct temp_dir dir;
    char run[80];
    struct lp_recording *recording;
};

static inline void stage_open_with(struct stage *stage, struct lp_recording_options *options)
{
    assert_int_equal(temp_dir_make(&stage->dir), 0);
    snprintf(stage->run, sizeof stage->run, "%.63s/run", stage->dir.path);
    options->run_dir = stage->run;
    if (options->attempt == NULL) options->attempt = "test";
    assert_int_equal(lp__recording_open(options, &stage->recording, NULL), 0);
}

static inline void stage_open(struct stage *stage)
{
    struct lp_recording_options options = {.role = NULL};
    stage_open_with(stage, &options);
}

static inline void stage_close(struct stage *stage)
{
    lp__recording_close(stage->recording);
    lp__recording_release(stage->recording);
    assert_int_equal(temp_dir_remove(&stage->dir), 0);
}

static inline void stage_read(struct stage *stage, struct readback *rb)
{
    assert_int_equal(readback_recording(rb, stage->recording), 0);
}

static inline lp_name_id named(const char *text)
{
    lp_name_id name = lp__name_register(text, strlen(text));
    assert_true(name != 0);
    return name;
}

struct entry {
    struct lp_recording *recording;
    struct lp_scope *scope;
    uint64_t serial;
};

static inline struct entry begin_in(struct lp_recording *recording, const char *name)
{
    struct lp_thread *thread = lp__thread_of(recording);
    struct entry entry = {.recording = recording};
    if (thread) entry.scope = lp__begin(thread, named(name), NULL, 0);
    if (entry.scope) entry.serial = entry.scope->serial;
    return entry;
}
static inline bool end_of(struct entry entry)
{
    return entry.scope && lp__end_handle(entry.recording, entry.scope, entry.serial);
}
static inline void count_in(struct lp_recording *recording, const char *name, int64_t n)
{
    struct lp_thread *thread = lp__thread_of(recording);
    if (thread) lp__count(thread, named(name), n);
}
static inline void entry_in(struct lp_recording *recording, const char *name)
{
    end_of(begin_in(recording, name));
}

/* Runs in the child of a fork, under a watch-dog; the exit status, or 128 + signal. */
static inline int in_child(int (*body)(void *arg), void *arg)
{
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        alarm(60);
        setenv("CMOCKA_TEST_ABORT", "1", 1); /* a failed assertion ends the child, not just this test in it */
        _exit(body(arg));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

#endif
