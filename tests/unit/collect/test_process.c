/* A process and its children: who gets which file, the background thread that nobody notices, the end. */
// SPDX-License-Identifier: MIT
#include "stage.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>

#include "store/rundir.h"

#ifdef __SANITIZE_THREAD__
/* It knows nothing of clones by system call, and gives up on threads of forked children unless told. */
#define SANITIZED_THREADS 1
__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "die_after_fork=0";
}
#else
#define SANITIZED_THREADS 0
#endif

/* -- what is in the run directory -------------------------------------------------------------------------------- */

struct files {
    struct lp_arena arena;
    struct lp_rundir_list list;
};

static size_t list_files(const struct stage *stage, struct files *files)
{
    lp__arena_init(&files->arena, (size_t)16 << 20);
    if (lp__rundir_list(stage->run, false, &files->arena, &files->list, NULL, NULL)) files->list.count = 0;
    return files->list.count;
}

static void release_files(struct files *files)
{
    lp__arena_release(&files->arena);
}

static void read_listed(const struct stage *stage, const struct files *files, size_t i, struct readback *rb)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", stage->run, files->list.files[i].path);
    assert_int_equal(readback_file(rb, path), 0);
}

/* Adds up the calls of a phase over all files, and checks that each can be read. */
static uint64_t calls_in_all(const struct stage *stage, const char *path)
{
    struct files files;
    uint64_t calls = 0;
    size_t i, count = list_files(stage, &files);
    for (i = 0; i < count; i++) {
        struct readback rb;
        read_listed(stage, &files, i, &rb);
        calls += phase_at(&rb, path).calls;
        readback_release(&rb);
    }
    release_files(&files);
    return calls;
}

static size_t count_files(const struct stage *stage)
{
    struct files files;
    size_t count = list_files(stage, &files);
    release_files(&files);
    return count;
}

/* The one file that has the phase. */
static void read_file_with(const struct stage *stage, const char *path, struct readback *rb)
{
    struct files files;
    size_t i, count = list_files(stage, &files), found = 0;
    struct readback one;
    for (i = 0; i < count; i++) {
        read_listed(stage, &files, i, &one);
        if (phase_at(&one, path).nodes && !found++)
            *rb = one;
        else
            readback_release(&one);
    }
    release_files(&files);
    assert_int_equal(found, 1);
}

/* -- threads of this process ------------------------------------------------------------------------------------- */

/* How many there are; `ours` is the background thread's number, 0 when there is none. */
static int tasks(pid_t *ours)
{
    DIR *dir = opendir("/proc/self/task");
    const struct dirent *entry;
    int count = 0;
    *ours = 0;
    while (dir && (entry = readdir(dir))) {
        char path[300], name[32] = "";
        FILE *file;
        if (entry->d_name[0] == '.') continue;
        count++;
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
        file = fopen(path, "r");
        if (file && fgets(name, sizeof name, file) && !strcmp(name, "lineprofiler\n")) *ours = atoi(entry->d_name);
        if (file) fclose(file);
    }
    if (dir) closedir(dir);
    return count;
}

/* The thread names itself, a moment after it was started. */
static pid_t wait_for_ours(void)
{
    pid_t ours = 0;
    int tries;
    for (tries = 0; tries < 100000 && !ours; tries++) {
        tasks(&ours);
        sched_yield();
    }
    return ours;
}

static uint64_t blocked_signals(pid_t tid)
{
    char path[64], line[256];
    uint64_t mask = 0;
    FILE *file;
    snprintf(path, sizeof path, "/proc/self/task/%d/status", tid);
    file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, "SigBlk:", 7)) mask = strtoull(line + 7, NULL, 16);
    if (file) fclose(file);
    return mask;
}

static pid_t ours_before_fork;
static int tasks_before_fork;
static void look_before_fork(void)
{
    tasks_before_fork = tasks(&ours_before_fork);
}

static int look_in_child(void *arg)
{
    pid_t ours;
    int all = tasks(&ours);
    return ours == 0 && (SANITIZED_THREADS || all == *(int *)arg) ? 0 : 1;
}

static void test_the_background_thread_is_not_noticed(void **state)
{
    struct stage stage;
    sigset_t before, after;
    pid_t ours;
    int others;
    (void)state;
    others = tasks(&ours); /* a sanitizer may have threads of its own */
    assert_int_equal(ours, 0);
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    stage_open(&stage);
    assert_int_equal(tasks(&ours), others); /* not before the first record */
    entry_in(stage.recording, "p");
    ours = wait_for_ours();
    assert_true(ours != 0);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    assert_memory_equal(&before, &after, sizeof(uint64_t)); /* the kernel has 64 signals */
    /* the classic ones but SIGKILL and SIGSTOP; of the others a C library or valgrind keeps some for itself */
    assert_int_equal((blocked_signals(ours) | 1u << 8 | 1u << 18) & 0x7FFFFFFF, 0x7FFFFFFF);

    assert_int_equal(in_child(look_in_child, &others), 0);
    assert_int_equal(ours_before_fork, 0); /* gone already when the kernel copies the process */
    assert_true(SANITIZED_THREADS || tasks_before_fork == others);
    (void)tasks(&ours);
    assert_int_equal(ours, 0);
    entry_in(stage.recording, "p"); /* the next record starts it again */
    assert_true(wait_for_ours() != 0);
    lp__recording_close(stage.recording);
    (void)tasks(&ours);
    assert_int_equal(ours, 0);
    stage_close(&stage);
}

static void test_it_beats(void **state)
{
    struct stage stage;
    struct lp_file_header *header;
    uint64_t before;
    (void)state;
    stage_open(&stage);
    entry_in(stage.recording, "p");
    header = lp__store_header(&stage.recording->store);
    before = header->heartbeat_mono_ns;
    lp__recording_beat(stage.recording, 12345);
    assert_true(header->heartbeat_mono_ns > before);
    assert_true(header->heartbeat_ticks > header->created_ticks);
    lp__recording_close(stage.recording);
    before = header->heartbeat_mono_ns;
    lp__recording_beat(stage.recording, 12345);
    assert_int_equal(header->heartbeat_mono_ns, before); /* a finished file does not change */
    stage_close(&stage);
}

/* -- fork -------------------------------------------------------------------------------------------------------- */

static int record_in_child(void *arg)
{
    struct stage *stage = arg;
    alarm(20);
    entry_in(stage->recording, "child");
    count_in(stage->recording, "n", 7);
    return 0;
}

static void test_a_child_has_a_file_of_its_own(void **state)
{
    struct stage stage;
    struct readback rb;
    struct lp_text text;
    struct entry open;
    (void)state;
    stage_open(&stage);
    lp__recording_fact(stage.recording, "kept", "v", 1);
    entry_in(stage.recording, "before");
    count_in(stage.recording, "n", 1);
    open = begin_in(stage.recording, "parent");
    assert_int_equal(in_child(record_in_child, &stage), 0);
    entry_in(stage.recording, "after");
    end_of(open);
    assert_int_equal(count_files(&stage), 2);
    read_file_with(&stage, "child", &rb);
    assert_int_equal(node_count(&rb), 2); /* its root and its phase: nothing of the parent's */
    assert_int_equal(phase_at(&rb, "child").calls, 1);
    assert_int_equal(counter_at(&rb, "", "n").counters.total_low, 7);
    assert_int_equal(threads_of(&rb).tenants, 1);
    assert_int_equal(rb.image.header.state, LP_STATE_RUNNING); /* _exit leaves no mark */
    assert_true(rb.image.header.pid != (uint32_t)getpid());
    assert_true(lp__image_fact(&rb.image, "attempt", &text));
    assert_memory_equal(text.bytes, "test", 4);
    assert_true(lp__image_fact(&rb.image, "kept", &text));
    readback_release(&rb);
    read_file_with(&stage, "parent", &rb);
    assert_int_equal(phase_at(&rb, "before").calls, 1);
    assert_int_equal(phase_at(&rb, "parent/after").calls, 1);
    assert_int_equal(phase_at(&rb, "child").nodes, 0);
    assert_int_equal(counter_at(&rb, "", "n").counters.total_low, 1);
    readback_release(&rb);
    stage_close(&stage);
}

static int end_inherited(void *arg)
{
    struct entry *entries = arg;
    if (end_of(entries[0])) return 1;
    entry_in(entries[0].recording, "child");
    if (end_of(entries[1])) return 2;
    return 0;
}

static void test_ends_of_inherited_phases_are_ignored_and_counted(void **state)
{
    struct stage stage;
    struct readback rb;
    struct entry entries[2];
    (void)state;
    stage_open(&stage);
    entries[0] = begin_in(stage.recording, "a");
    entries[1] = begin_in(stage.recording, "b");
    assert_int_equal(in_child(end_inherited, entries), 0);
    assert_true(end_of(entries[1]));
    assert_true(end_of(entries[0]));
    read_file_with(&stage, "child", &rb);
    /* the one before its first record waits for a beat */
    assert_true(drops_of(&rb, LP_DROP_END_INHERITED) >= 1);
    readback_release(&rb);
    read_file_with(&stage, "a", &rb);
    assert_int_equal(phase_at(&rb, "a").calls, 1);
    assert_int_equal(drops_of(&rb, LP_DROP_END_INHERITED), 0);
    readback_release(&rb);
    stage_close(&stage);
}

static int end_inherited_and_close(void *arg)
{
    struct entry *entries = arg;
    int rc = end_inherited(arg);
    lp__recording_close(entries[0].recording);
    return rc;
}

static void test_what_was_counted_before_the_file_is_in_it_in_the_end(void **state)
{
    struct stage stage;
    struct readback rb;
    struct entry entries[2];
    (void)state;
    stage_open(&stage);
    entries[0] = begin_in(stage.recording, "a");
    entries[1] = begin_in(stage.recording, "b");
    lp__recording_lost(stage.recording, LP_DROP_HOOK); /* the parent has a place for such things already */
    lp__recording_beat(stage.recording, 0);
    assert_int_equal(in_child(end_inherited_and_close, entries), 0);
    read_file_with(&stage, "child", &rb);
    assert_int_equal(drops_of(&rb, LP_DROP_END_INHERITED), 2);
    assert_int_equal(drops_of(&rb, LP_DROP_HOOK), 0);
    assert_int_equal(rb.image.header.state, LP_STATE_FINISHED);
    readback_release(&rb);
    stage_close(&stage);
}

static int leave_alone(void *arg)
{
    struct entry *entry = arg;
    lp__recording_snapshot(entry->recording);
    lp__recording_fact(entry->recording, "child's", "fact", 4);
    (void)end_of(*entry);
    (void)lp__recording_is_full(entry->recording);
    if (lp__recording_write_failures(entry->recording)) return 1;
    exit(0); /* exit functions and all */
}

static void test_a_child_that_records_nothing_leaves_nothing(void **state)
{
    struct stage stage;
    struct readback rb;
    struct entry entry;
    struct lp_text text;
    (void)state;
    stage_open(&stage);
    entry = begin_in(stage.recording, "a");
    assert_int_equal(in_child(leave_alone, &entry), 0);
    assert_int_equal(count_files(&stage), 1);
    stage_read(&stage, &rb);
    assert_int_equal(rb.image.header.state, LP_STATE_RUNNING);
    assert_false(lp__image_fact(&rb.image, "child's", &text));
    assert_int_equal(phase_at(&rb, "a").calls, 0);
    readback_release(&rb);
    assert_true(end_of(entry));
    stage_close(&stage);
}

static int three_generations(void *arg)
{
    struct stage *stage = arg;
    static int depth;
    char name[16];
    snprintf(name, sizeof name, "depth %d", depth);
    entry_in(stage->recording, name);
    if (++depth == 3) return 0;
    return in_child(three_generations, stage);
}

static void test_grandchildren(void **state)
{
    struct stage stage;
    (void)state;
    stage_open(&stage);
    assert_int_equal(three_generations(&stage), 0);
    assert_int_equal(count_files(&stage), 3);
    assert_int_equal(calls_in_all(&stage, "depth 0"), 1);
    assert_int_equal(calls_in_all(&stage, "depth 1"), 1);
    assert_int_equal(calls_in_all(&stage, "depth 2"), 1);
    stage_close(&stage);
}

static int silent_between(void *arg)
{
    return in_child(record_in_child, arg);
}

static void test_a_grandchild_of_a_silent_child(void **state)
{
    struct stage stage;
    (void)state;
    stage_open(&stage);
    entry_in(stage.recording, "parent");
    assert_int_equal(in_child(silent_between, &stage), 0);
    assert_int_equal(count_files(&stage), 2);
    assert_int_equal(calls_in_all(&stage, "child"), 1);
    stage_close(&stage);
}

/* A clone by system call runs no handlers at all. */
static int in_raw_clone(int (*body)(void *arg), void *arg)
{
    int status;
    long pid = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    assert_true(pid >= 0);
    if (pid == 0) {
        alarm(60);
        _exit(body(arg));
    }
    assert_int_equal(waitpid((pid_t)pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void test_the_child_of_a_raw_clone(void **state)
{
    struct stage stage;
    struct readback rb;
    struct entry open;
    (void)state;
    if (SANITIZED_THREADS) skip();
    stage_open(&stage);
    open = begin_in(stage.recording, "parent");
    assert_int_equal(in_raw_clone(record_in_child, &stage), 0);
    assert_int_equal(in_raw_clone(silent_between, &stage), 0);
    end_of(open);
    assert_int_equal(count_files(&stage), 3);
    assert_int_equal(calls_in_all(&stage, "child"), 2);
    stage_read(&stage, &rb);
    assert_int_equal(node_count(&rb), 2);
    assert_int_equal(phase_at(&rb, "parent").calls, 1);
    readback_release(&rb);
    stage_close(&stage);
}

/* Another thread of the parent may be holding any lock at that moment. */
static void test_a_raw_clone_while_locks_are_held(void **state)
{
    struct stage stage;
    int rc;
    (void)state;
    if (SANITIZED_THREADS) skip();
    stage_open(&stage);
    entry_in(stage.recording, "parent");
    pthread_mutex_lock(&stage.recording->lock);
    pthread_mutex_lock(&stage.recording->store.lock);
    pthread_mutex_lock(&stage.recording->copy_lock);
    lp__name_lock();
    rc = in_raw_clone(record_in_child, &stage);
    lp__name_unlock();
    pthread_mutex_unlock(&stage.recording->copy_lock);
    pthread_mutex_unlock(&stage.recording->store.lock);
    pthread_mutex_unlock(&stage.recording->lock);
    assert_int_equal(rc, 0); /* else it waited until the alarm */
    assert_int_equal(calls_in_all(&stage, "child"), 1);
    stage_close(&stage);
}

/* -- threads and forks ------------------------------------------------------------------------------------------- */

static void *one_entry(void *arg)
{
    struct stage *stage = arg;
    entry_in(stage->recording, "child");
    return NULL;
}

static int four_at_once(void *arg)
{
    pthread_t threads[4];
    int i;
    for (i = 0; i < 4; i++)
        if (pthread_create(&threads[i], NULL, one_entry, arg)) return 1;
    for (i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

static void test_threads_of_a_child_that_record_first_together(void **state)
{
    struct stage stage;
    int round;
    (void)state;
    stage_open(&stage);
    entry_in(stage.recording, "parent");
    for (round = 0; round < 30; round++)
        assert_int_equal(in_child(four_at_once, &stage), 0);
    assert_int_equal(count_files(&stage), 31);
    assert_int_equal(calls_in_all(&stage, "child"), 120);
    stage_close(&stage);
}

struct busy {
    struct stage *stage;
    atomic_bool stop;
    atomic_uint forked;
};

/* Records all it can: new paths, counters, and short-lived threads' states. */
static void *keep_busy(void *arg)
{
    struct busy *busy = arg;
    char name[32];
    unsigned i;
    for (i = 0; !atomic_load(&busy->stop); i++) {
        snprintf(name, sizeof name, "busy %u", i % 3000);
        entry_in(busy->stage->recording, name);
        count_in(busy->stage->recording, name, i);
        if (i % 64 == 0) lp__recording_snapshot(busy->stage->recording);
    }
    return NULL;
}

static void *fork_often(void *arg)
{
    struct busy *busy = arg;
    int i;
    for (i = 0; i < 25; i++) {
        int status = 0;
        pid_t pid = fork();
        if (pid == 0) {
            alarm(60); /* a deadlock ends here, with a signal */
            entry_in(busy->stage->recording, "child");
            _exit(0);
        }
        /* valgrind gives other exit codes: what threads that the child does not have were about is lost to it */
        if (pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status)) atomic_fetch_add(&busy->forked, 1);
    }
    return NULL;
}

static void *open_and_close(void *arg)
{
    struct busy *busy = arg;
    while (!atomic_load(&busy->stop)) {
        struct stage stage;
        stage_open(&stage);
        entry_in(stage.recording, "short");
        stage_close(&stage);
    }
    return NULL;
}

static void test_forks_in_threads_while_others_record(void **state)
{
    struct stage stage;
    struct busy busy = {.stage = &stage};
    pthread_t recorders[2], opener, forkers[2];
    int i;
    (void)state;
    alarm(100);
    stage_open(&stage);
    for (i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&recorders[i], NULL, keep_busy, &busy), 0);
    assert_int_equal(pthread_create(&opener, NULL, open_and_close, &busy), 0);
    for (i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&forkers[i], NULL, fork_often, &busy), 0);
    for (i = 0; i < 2; i++)
        pthread_join(forkers[i], NULL);
    atomic_store(&busy.stop, true);
    for (i = 0; i < 2; i++)
        pthread_join(recorders[i], NULL);
    pthread_join(opener, NULL);
    assert_int_equal(atomic_load(&busy.forked), 50);
    assert_int_equal(count_files(&stage), 51);
    assert_int_equal(calls_in_all(&stage, "child"), 50);
    stage_close(&stage);
    alarm(0);
}

/* -- the end ----------------------------------------------------------------------------------------------------- */

static int exit_without_close(void *arg)
{
    struct stage *stage = arg;
    entry_in(stage->recording, "child");
    (void)begin_in(stage->recording, "open");
    exit(0);
}

static void test_exit_is_a_close(void **state)
{
    struct stage stage;
    struct readback rb;
    (void)state;
    stage_open(&stage);
    assert_int_equal(in_child(exit_without_close, &stage), 0);
    read_file_with(&stage, "child", &rb);
    assert_int_equal(rb.image.header.state, LP_STATE_FINISHED);
    assert_int_equal(phase_at(&rb, "open").begun, 1);
    assert_int_equal(phase_at(&rb, "open").calls, 0);
    readback_release(&rb);
    stage_close(&stage);
}

static int exit_while_others_record(void *arg)
{
    struct busy *busy = arg;
    pthread_t threads[3];
    int i;
    for (i = 0; i < 3; i++)
        if (pthread_create(&threads[i], NULL, keep_busy, busy)) return 1;
    for (i = 0; i < 200; i++)
        entry_in(busy->stage->recording, "child");
    exit(0);
}

static void test_exit_while_others_record(void **state)
{
    struct stage stage;
    struct busy busy = {.stage = &stage};
    struct readback rb;
    (void)state;
    stage_open(&stage);
    assert_int_equal(in_child(exit_while_others_record, &busy), 0);
    read_file_with(&stage, "child", &rb);
    assert_int_equal(rb.image.header.state, LP_STATE_FINISHED);
    assert_int_equal(phase_at(&rb, "child").calls, 200);
    readback_release(&rb);
    stage_close(&stage);
}

/* -- walking the list -------------------------------------------------------------------------------------------- */

static void note_visit(struct lp_recording *recording, void *arg)
{
    struct lp_recording ***at = arg;
    *(*at)++ = recording;
    lp__recording_close(recording); /* a visit may change the list */
}

static void test_each_recording_is_visited_once(void **state)
{
    struct stage stages[3];
    struct lp_recording *seen[4] = {NULL}, **at = seen;
    int i;
    (void)state;
    for (i = 0; i < 3; i++)
        stage_open(&stages[i]);
    lp__process_each(note_visit, &at);
    assert_int_equal(at - seen, 3);
    assert_ptr_equal(seen[0], stages[2].recording);
    assert_ptr_equal(seen[2], stages[0].recording);
    lp__process_each(note_visit, &at);
    assert_int_equal(at - seen, 3); /* closed ones are not in it */
    assert_false(lp__process_retain(stages[1].recording));
    for (i = 0; i < 3; i++)
        stage_close(&stages[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_background_thread_is_not_noticed),
        cmocka_unit_test(test_it_beats),
        cmocka_unit_test(test_a_child_has_a_file_of_its_own),
        cmocka_unit_test(test_ends_of_inherited_phases_are_ignored_and_counted),
        cmocka_unit_test(test_what_was_counted_before_the_file_is_in_it_in_the_end),
        cmocka_unit_test(test_a_child_that_records_nothing_leaves_nothing),
        cmocka_unit_test(test_grandchildren),
        cmocka_unit_test(test_a_grandchild_of_a_silent_child),
        cmocka_unit_test(test_the_child_of_a_raw_clone),
        cmocka_unit_test(test_a_raw_clone_while_locks_are_held),
        cmocka_unit_test(test_threads_of_a_child_that_record_first_together),
        cmocka_unit_test(test_forks_in_threads_while_others_record),
        cmocka_unit_test(test_exit_is_a_close),
        cmocka_unit_test(test_exit_while_others_record),
        cmocka_unit_test(test_each_recording_is_visited_once),
    };
    /* Handlers run last registered first: this one must find the thread stopped. */
    pthread_atfork(look_before_fork, NULL, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
